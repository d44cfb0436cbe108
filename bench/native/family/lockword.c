/* lockword's family, with its fast paths inlined as in any user's code. */
#include <lockword/lockword.h>

#include "family.h"

#ifndef PEER_NAME
#define PEER_NAME "lockword"
#endif
#define NAME PEER_NAME

static inline void hold(lw_rmutex *rmutex)
{
    lw_rmutex_lock(rmutex);
    lw_rmutex_unlock(rmutex);
}
FAMILY_TURNS(hold, lw_rmutex)

static inline void recursion(lw_rmutex *rmutex)
{
    lw_rmutex_lock(rmutex);
    lw_rmutex_lock(rmutex);
    lw_rmutex_unlock(rmutex);
    lw_rmutex_unlock(rmutex);
}
FAMILY_TURNS(recursion, lw_rmutex)

static void permit_init(void *sem)
{
    *(lw_sem *)sem = (lw_sem)LW_SEM_INIT(1);
}

static inline void permit(lw_sem *sem)
{
    lw_sem_acquire(sem, 1);
    lw_sem_release(sem, 1);
}
FAMILY_TURNS(permit, lw_sem)

/* Elsewhere, since they are larger than an object. */
static lw_permits pool;

static void number_init(void *unused)
{
    (void)unused;
    pool = (lw_permits)LW_PERMITS_INIT(4);
}

static inline void number(uint32_t *unused)
{
    (void)unused;
    uint32_t which;
    lw_permits_acquire(&pool, &which);
    lw_permits_release(&pool, which);
}
FAMILY_TURNS(number, uint32_t)

static inline void rw_read(lw_rwlock *rwlock)
{
    lw_rwlock_rdlock(rwlock);
    lw_rwlock_unlock(rwlock);
}
FAMILY_TURNS(rw_read, lw_rwlock)

static inline void rw_write(lw_rwlock *rwlock)
{
    lw_rwlock_wrlock(rwlock);
    lw_rwlock_unlock(rwlock);
}
FAMILY_TURNS(rw_write, lw_rwlock)

static void run_once(void *once)
{
    if (lw_once_begin(once) == LW_ONCE_RUN)
        lw_once_finish(once, true);
}

static inline void done(lw_once *once)
{
    if (lw_once_begin(once) != 0)
        __builtin_trap();
}
FAMILY_TURNS(done, lw_once)

static inline void notify(lw_cond *cond)
{
    lw_cond_notify_one(cond);
}
FAMILY_TURNS(notify, lw_cond)

static inline void set(lw_event *event)
{
    lw_event_set(event);
    lw_event_reset(event);
}
FAMILY_TURNS(set, lw_event)

static void event_init_set(void *event)
{
    lw_event_set(event);
}

static inline void is_set(lw_event *event)
{
    lw_event_wait(event);
}
FAMILY_TURNS(is_set, lw_event)

static void group_init(void *group)
{
    lw_waitgroup_add(group, 1);
}

static inline void group(lw_waitgroup *group)
{
    lw_waitgroup_add(group, 1);
    lw_waitgroup_done(group);
}
FAMILY_TURNS(group, lw_waitgroup)

static inline void counter(lw_counter *counter)
{
    lw_counter_add(counter, 1, NULL);
    lw_counter_add(counter, -1, NULL);
}
FAMILY_TURNS(counter, lw_counter)

struct rally {
    lw_mutex mutex;
    lw_cond cond;
    uint32_t turn;
};
FAMILY_RALLY(lw_mutex_lock, lw_mutex_unlock, lw_cond_wait, lw_cond_notify_one)

static void meet_init(void *barrier)
{
    lw_barrier_init(barrier, 2);
}

static void meet_four_init(void *barrier)
{
    lw_barrier_init(barrier, 4);
}

static void meet_sixteen_init(void *barrier)
{
    lw_barrier_init(barrier, 16);
}

static inline void meet(lw_barrier *barrier)
{
    lw_barrier_wait(barrier);
}
FAMILY_TURNS(meet, lw_barrier)

BENCH_FAMILY bench_family_lockword[];
const struct bench_operation bench_family_lockword[] = {
    {BENCH_HOLD, NAME, false, NULL, NULL, hold_turns, NULL},
    {BENCH_RECURSION, NAME, false, NULL, NULL, recursion_turns, NULL},
    {BENCH_PERMIT, NAME, false, permit_init, NULL, permit_turns, NULL},
    {BENCH_NUMBER, NAME, false, number_init, NULL, number_turns, NULL},
    {BENCH_NUMBERS, NAME, false, number_init, NULL, number_turns, number_turns},
    {BENCH_READ, NAME, false, NULL, NULL, rw_read_turns, NULL},
    {BENCH_READERS, NAME, false, NULL, NULL, rw_read_turns, rw_read_turns},
    {BENCH_WRITE, NAME, false, NULL, NULL, rw_write_turns, NULL},
    {BENCH_DONE, NAME, false, run_once, NULL, done_turns, NULL},
    {BENCH_NOTIFY, NAME, false, NULL, NULL, notify_turns, NULL},
    {BENCH_SET, NAME, false, NULL, NULL, set_turns, NULL},
    {BENCH_IS_SET, NAME, false, event_init_set, NULL, is_set_turns, NULL},
    {BENCH_WAITGROUP, NAME, false, group_init, NULL, group_turns, NULL},
    {BENCH_COUNTER, NAME, false, NULL, NULL, counter_turns, NULL},
    {BENCH_RALLY, NAME, false, NULL, NULL, rally_turns, rally_partner},
    {BENCH_RALLY_HELD, NAME, false, NULL, NULL, rally_held_turns, rally_held_partner},
    {BENCH_MEET, NAME, false, meet_init, NULL, meet_turns, meet_turns},
    {BENCH_MEET_FOUR, NAME, false, meet_four_init, NULL, meet_turns, meet_turns},
    {BENCH_MEET_SIXTEEN, NAME, false, meet_sixteen_init, NULL, meet_turns, meet_turns},
    {BENCH_MEET_FOUR_BUSY, NAME, false, meet_four_init, NULL, meet_turns, meet_turns},
    {BENCH_MEET_SIXTEEN_BUSY, NAME, false, meet_sixteen_init, NULL, meet_turns, meet_turns},
    {BENCH_SUBJECTS, NULL, false, NULL, NULL, NULL, NULL},
};
