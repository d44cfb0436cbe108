/* Abseil's threads. */
#include <new>

#include "absl/synchronization/mutex.h"

#include "asleep.h"

#define NAME "absl"

static inline void init_mutex(absl::Mutex *mutex)
{
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    new (mutex) absl::Mutex;
}

static inline void lock(absl::Mutex *mutex)
{
    mutex->Lock();
}

static inline void unlock(absl::Mutex *mutex)
{
    mutex->Unlock();
}
ASLEEP_AT(write, absl::Mutex, init_mutex, lock, unlock)

static inline void read_lock(absl::Mutex *mutex)
{
    mutex->ReaderLock();
}

static inline void read_unlock(absl::Mutex *mutex)
{
    mutex->ReaderUnlock();
}
ASLEEP_AT_READ(absl::Mutex, read_lock, read_unlock)

struct waited {
    absl::Mutex mutex;
    absl::CondVar cond;
    int go = 0;
};

static inline void init_waited(struct waited *waited)
{
    new (waited) struct waited;
}

static inline void wait(absl::CondVar *cond, absl::Mutex *mutex)
{
    cond->Wait(mutex);
}

static inline void notify_all(absl::CondVar *cond)
{
    cond->SignalAll();
}
ASLEEP_AT_CONDITION(init_waited, lock, unlock, wait, notify_all)

BENCH_WAITS bench_asleep_absl[];
const struct bench_wait bench_asleep_absl[] = {
    {BENCH_AT_MUTEX, NAME, hold_write, wait_write, release_write},
    {BENCH_AT_CONDITION, NAME, hold_condition, wait_condition, release_condition},
    {BENCH_AT_READ, NAME, hold_write, wait_read, release_write},
    {BENCH_AT_WRITE, NAME, hold_write, wait_write, release_write},
    {BENCH_BLOCKS, nullptr, nullptr, nullptr, nullptr},
};
