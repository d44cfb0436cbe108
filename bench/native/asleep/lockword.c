/* lockword's threads, blocked. */
#include <lockword/lockword.h>

#include "asleep.h"

#define NAME "lockword"

static inline void nothing(void *zeroed)
{
    (void)zeroed;
}

ASLEEP_AT(mutex, lw_mutex, nothing, lw_mutex_lock, lw_mutex_unlock)
ASLEEP_AT(recursive, lw_rmutex, nothing, lw_rmutex_lock, lw_rmutex_unlock)
ASLEEP_AT(write, lw_rwlock, nothing, lw_rwlock_wrlock, lw_rwlock_unlock)
ASLEEP_AT_READ(lw_rwlock, lw_rwlock_rdlock, lw_rwlock_unlock)

static inline void one_permit(lw_sem *sem)
{
    *sem = (lw_sem)LW_SEM_INIT(1);
}

static inline void acquire(lw_sem *sem)
{
    lw_sem_acquire(sem, 1);
}

static inline void release(lw_sem *sem)
{
    lw_sem_release(sem, 1);
}
ASLEEP_AT(permit, lw_sem, one_permit, acquire, release)

static inline void finish(lw_once *once)
{
    lw_once_finish(once, false);
}
ASLEEP_AT(once, lw_once, nothing, lw_once_begin, finish)

struct waited {
    lw_mutex mutex;
    lw_cond cond;
    int go;
};
ASLEEP_AT_CONDITION(nothing, lw_mutex_lock, lw_mutex_unlock, lw_cond_wait, lw_cond_notify_all)

static void hold_barrier(void *barrier, int waiters)
{
    lw_barrier_init(barrier, (uint32_t)waiters + 1);
}

static void wait_barrier(void *barrier)
{
    lw_barrier_wait(barrier);
}

static void hold_group(void *group, int waiters)
{
    (void)waiters;
    lw_waitgroup_add(group, 1);
}

static void wait_group(void *group)
{
    lw_waitgroup_wait(group);
}

static void release_group(void *group)
{
    lw_waitgroup_done(group);
}

static void hold_nothing(void *object, int waiters)
{
    (void)object, (void)waiters;
}

static void wait_event(void *event)
{
    lw_event_wait(event);
}

static void release_event(void *event)
{
    lw_event_set(event);
}

static void wait_counter(void *counter)
{
    lw_counter_wait_at_least(counter, 1, LW_FOREVER, NULL);
}

static void release_counter(void *counter)
{
    lw_counter_add(counter, 1, NULL);
}

BENCH_WAITS bench_asleep_lockword[];
const struct bench_wait bench_asleep_lockword[] = {
    {BENCH_AT_MUTEX, NAME, hold_mutex, wait_mutex, release_mutex},
    {BENCH_AT_RECURSIVE, NAME, hold_recursive, wait_recursive, release_recursive},
    {BENCH_AT_CONDITION, NAME, hold_condition, wait_condition, release_condition},
    {BENCH_AT_PERMIT, NAME, hold_permit, wait_permit, release_permit},
    {BENCH_AT_READ, NAME, hold_write, wait_read, release_write},
    {BENCH_AT_WRITE, NAME, hold_write, wait_write, release_write},
    {BENCH_AT_BARRIER, NAME, hold_barrier, wait_barrier, wait_barrier},
    {BENCH_AT_GROUP, NAME, hold_group, wait_group, release_group},
    {BENCH_AT_EVENT, NAME, hold_nothing, wait_event, release_event},
    {BENCH_AT_ONCE, NAME, hold_once, wait_once, release_once},
    {BENCH_AT_COUNTER, NAME, hold_nothing, wait_counter, release_counter},
    {BENCH_BLOCKS, NULL, NULL, NULL, NULL},
};
