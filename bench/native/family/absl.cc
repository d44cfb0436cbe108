/* Abseil's reader-writer mutex, without its deadlock detection, call_once and condition. */
#include <new>

#include "absl/base/call_once.h"
#include "absl/synchronization/mutex.h"

#include "family.h"

#define NAME "absl"

static void mutex_init(void *mutex)
{
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    new (mutex) absl::Mutex;
}

ACTION(mutex_destroy, absl::Mutex, it->~Mutex())
OPERATION(rw_read, absl::Mutex, it->ReaderLock(); it->ReaderUnlock())
OPERATION(rw_write, absl::Mutex, it->Lock(); it->Unlock())
OPERATION(done, absl::once_flag, absl::call_once(*it, [] {}))

static void run_once(void *once)
{
    done(new (once) absl::once_flag);
}

static void cond_init(void *cond)
{
    new (cond) absl::CondVar;
}

ACTION(cond_destroy, absl::CondVar, it->~CondVar())
OPERATION(notify, absl::CondVar, it->Signal())

struct rally {
    absl::Mutex mutex;
    absl::CondVar cond;
    uint32_t turn = 0;
};

static inline void lock(absl::Mutex *mutex)
{
    mutex->Lock();
}

static inline void unlock(absl::Mutex *mutex)
{
    mutex->Unlock();
}

static inline void wait(absl::CondVar *cond, absl::Mutex *mutex)
{
    cond->Wait(mutex);
}

FAMILY_RALLY(lock, unlock, wait, notify)

static void rally_init(void *object)
{
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    new (object) rally;
}

ACTION(rally_destroy, rally, it->~rally())

BENCH_FAMILY bench_family_absl[];
const struct bench_operation bench_family_absl[] = {
    {BENCH_READ, NAME, false, mutex_init, mutex_destroy, rw_read_turns, nullptr},
    {BENCH_READERS, NAME, false, mutex_init, mutex_destroy, rw_read_turns, rw_read_turns},
    {BENCH_WRITE, NAME, false, mutex_init, mutex_destroy, rw_write_turns, nullptr},
    {BENCH_DONE, NAME, false, run_once, nullptr, done_turns, nullptr},
    {BENCH_NOTIFY, NAME, false, cond_init, cond_destroy, notify_turns, nullptr},
    {BENCH_RALLY, NAME, false, rally_init, rally_destroy, rally_turns, rally_partner},
    {BENCH_RALLY_HELD, NAME, false, rally_init, rally_destroy, rally_held_turns,
     rally_held_partner},
    {BENCH_SUBJECTS, nullptr, false, nullptr, nullptr, nullptr, nullptr},
};
