/* The C library's POSIX primitives, default attributes but for the recursive mutex. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>

#include "family.h"

static void recursion_init(void *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

ACTION(mutex_destroy, pthread_mutex_t, pthread_mutex_destroy(it))
OPERATION(hold, pthread_mutex_t, pthread_mutex_lock(it); pthread_mutex_unlock(it))
OPERATION(recursion, pthread_mutex_t, pthread_mutex_lock(it); pthread_mutex_lock(it);
          pthread_mutex_unlock(it); pthread_mutex_unlock(it))
ACTION(permit_init, sem_t, sem_init(it, 0, 1))
ACTION(permit_destroy, sem_t, sem_destroy(it))
OPERATION(permit, sem_t, sem_wait(it); sem_post(it))

/* Counts permits, and does not say which. */
ACTION(count_init, sem_t, sem_init(it, 0, 4))

/* What people write by hand. */
struct numbers {
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    char taken[4];
};

ACTION(number_init, struct numbers, pthread_mutex_init(&it->mutex, NULL);
       pthread_cond_init(&it->freed, NULL))
ACTION(number_destroy, struct numbers, pthread_cond_destroy(&it->freed);
       pthread_mutex_destroy(&it->mutex))

static inline uint32_t free_number(const struct numbers *numbers)
{
    uint32_t which = 0;
    while (which < 4 && numbers->taken[which])
        which++;
    return which;
}

static inline void number(struct numbers *numbers)
{
    uint32_t which;
    pthread_mutex_lock(&numbers->mutex);
    while ((which = free_number(numbers)) == 4)
        pthread_cond_wait(&numbers->freed, &numbers->mutex);
    numbers->taken[which] = 1;
    pthread_mutex_unlock(&numbers->mutex);
    pthread_mutex_lock(&numbers->mutex);
    numbers->taken[which] = 0;
    pthread_mutex_unlock(&numbers->mutex);
    pthread_cond_signal(&numbers->freed);
}
FAMILY_TURNS(number, struct numbers)

ACTION(rw_init, pthread_rwlock_t, pthread_rwlock_init(it, NULL))
ACTION(rw_destroy, pthread_rwlock_t, pthread_rwlock_destroy(it))
OPERATION(rw_read, pthread_rwlock_t, pthread_rwlock_rdlock(it); pthread_rwlock_unlock(it))
OPERATION(rw_write, pthread_rwlock_t, pthread_rwlock_wrlock(it); pthread_rwlock_unlock(it))

static void do_nothing(void)
{
}

OPERATION(done, pthread_once_t, pthread_once(it, do_nothing))
ACTION(run_once, pthread_once_t, *it = (pthread_once_t)PTHREAD_ONCE_INIT;
       pthread_once(it, do_nothing))
ACTION(cond_init, pthread_cond_t, pthread_cond_init(it, NULL))
ACTION(cond_destroy, pthread_cond_t, pthread_cond_destroy(it))
OPERATION(notify, pthread_cond_t, pthread_cond_signal(it))

struct rally {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    uint32_t turn;
};
FAMILY_RALLY(pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_wait, pthread_cond_signal)

ACTION(rally_init, struct rally, pthread_mutex_init(&it->mutex, NULL);
       pthread_cond_init(&it->cond, NULL))
ACTION(rally_destroy, struct rally, pthread_cond_destroy(&it->cond);
       pthread_mutex_destroy(&it->mutex))
ACTION(meet_init, pthread_barrier_t, pthread_barrier_init(it, NULL, 2))
ACTION(meet_four_init, pthread_barrier_t, pthread_barrier_init(it, NULL, 4))
ACTION(meet_sixteen_init, pthread_barrier_t, pthread_barrier_init(it, NULL, 16))
ACTION(meet_destroy, pthread_barrier_t, pthread_barrier_destroy(it))
OPERATION(meet, pthread_barrier_t, pthread_barrier_wait(it))

BENCH_FAMILY bench_family_pthread[];
const struct bench_operation bench_family_pthread[] = {
    {BENCH_HOLD, "pthread_mutex, recursive", false, recursion_init, mutex_destroy, hold_turns,
     NULL},
    {BENCH_RECURSION, "pthread_mutex, recursive", false, recursion_init, mutex_destroy,
     recursion_turns, NULL},
    {BENCH_PERMIT, "sem_t", false, permit_init, permit_destroy, permit_turns, NULL},
    {BENCH_NUMBER, "sem_t, without numbers", false, count_init, permit_destroy, permit_turns, NULL},
    {BENCH_NUMBER, "pthread_mutex, array", false, number_init, number_destroy, number_turns, NULL},
    {BENCH_NUMBERS, "sem_t, without numbers", false, count_init, permit_destroy, permit_turns,
     permit_turns},
    {BENCH_NUMBERS, "pthread_mutex, array", false, number_init, number_destroy, number_turns,
     number_turns},
    {BENCH_READ, "pthread_rwlock", false, rw_init, rw_destroy, rw_read_turns, NULL},
    {BENCH_READERS, "pthread_rwlock", false, rw_init, rw_destroy, rw_read_turns, rw_read_turns},
    {BENCH_WRITE, "pthread_rwlock", false, rw_init, rw_destroy, rw_write_turns, NULL},
    {BENCH_DONE, "pthread_once", false, run_once, NULL, done_turns, NULL},
    {BENCH_NOTIFY, "pthread_cond", false, cond_init, cond_destroy, notify_turns, NULL},
    {BENCH_RALLY, "pthread_cond", false, rally_init, rally_destroy, rally_turns, rally_partner},
    {BENCH_RALLY_HELD, "pthread_cond", false, rally_init, rally_destroy, rally_held_turns,
     rally_held_partner},
    {BENCH_MEET, "pthread_barrier", false, meet_init, meet_destroy, meet_turns, meet_turns},
    {BENCH_MEET_FOUR, "pthread_barrier", false, meet_four_init, meet_destroy, meet_turns,
     meet_turns},
    {BENCH_MEET_SIXTEEN, "pthread_barrier", false, meet_sixteen_init, meet_destroy, meet_turns,
     meet_turns},
    {BENCH_MEET_FOUR_BUSY, "pthread_barrier", false, meet_four_init, meet_destroy, meet_turns,
     meet_turns},
    {BENCH_MEET_SIXTEEN_BUSY, "pthread_barrier", false, meet_sixteen_init, meet_destroy, meet_turns,
     meet_turns},
    {BENCH_SUBJECTS, NULL, false, NULL, NULL, NULL, NULL},
};
