/* lockword's family, with its fast paths inlined as in any user's code. */
#include <lockword/lockword.h>

#include "family.h"

#ifndef PEER_NAME
#define PEER_NAME "lockword"
#endif
#define NAME PEER_NAME

OPERATION(hold, lw_rmutex, lw_rmutex_lock(it); lw_rmutex_unlock(it))
OPERATION(recursion, lw_rmutex, lw_rmutex_lock(it); lw_rmutex_lock(it); lw_rmutex_unlock(it);
          lw_rmutex_unlock(it))
ACTION(permit_init, lw_sem, *it = (lw_sem)LW_SEM_INIT(1))
OPERATION(permit, lw_sem, lw_sem_acquire(it, 1); lw_sem_release(it, 1))

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

OPERATION(rw_read, lw_rwlock, lw_rwlock_rdlock(it); lw_rwlock_unlock(it))
OPERATION(rw_write, lw_rwlock, lw_rwlock_wrlock(it); lw_rwlock_unlock(it))
ACTION(run_once, lw_once, if (lw_once_begin(it) == LW_ONCE_RUN) lw_once_finish(it, true))

static inline void done(lw_once *once)
{
    if (lw_once_begin(once) != 0)
        __builtin_trap();
}
FAMILY_TURNS(done, lw_once)

OPERATION(notify, lw_cond, lw_cond_notify_one(it))
OPERATION(set, lw_event, lw_event_set(it); lw_event_reset(it))
ACTION(event_init_set, lw_event, lw_event_set(it))
OPERATION(is_set, lw_event, lw_event_wait(it))
ACTION(group_init, lw_waitgroup, lw_waitgroup_add(it, 1))
OPERATION(group, lw_waitgroup, lw_waitgroup_add(it, 1); lw_waitgroup_done(it))
OPERATION(counter, lw_counter, lw_counter_add(it, 1, NULL); lw_counter_add(it, -1, NULL))

struct rally {
    lw_mutex mutex;
    lw_cond cond;
    uint32_t turn;
};
FAMILY_RALLY(lw_mutex_lock, lw_mutex_unlock, lw_cond_wait, lw_cond_notify_one)

ACTION(meet_init, lw_barrier, lw_barrier_init(it, 2))
ACTION(meet_four_init, lw_barrier, lw_barrier_init(it, 4))
ACTION(meet_sixteen_init, lw_barrier, lw_barrier_init(it, 16))
OPERATION(meet, lw_barrier, lw_barrier_wait(it))

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
