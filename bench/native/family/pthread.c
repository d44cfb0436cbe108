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

static void mutex_destroy(void *mutex)
{
    pthread_mutex_destroy(mutex);
}

static inline void hold(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
}
FAMILY_TURNS(hold, pthread_mutex_t)

static inline void recursion(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    pthread_mutex_unlock(mutex);
}
FAMILY_TURNS(recursion, pthread_mutex_t)

static void permit_init(void *sem)
{
    sem_init(sem, 0, 1);
}

static void permit_destroy(void *sem)
{
    sem_destroy(sem);
}

static inline void permit(sem_t *sem)
{
    sem_wait(sem);
    sem_post(sem);
}
FAMILY_TURNS(permit, sem_t)

/* Counts permits, and does not say which. */
static void count_init(void *sem)
{
    sem_init(sem, 0, 4);
}

/* What people write by hand. */
struct numbers {
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    char taken[4];
};

static void number_init(void *object)
{
    struct numbers *numbers = object;
    pthread_mutex_init(&numbers->mutex, NULL);
    pthread_cond_init(&numbers->freed, NULL);
}

static void number_destroy(void *object)
{
    struct numbers *numbers = object;
    pthread_cond_destroy(&numbers->freed);
    pthread_mutex_destroy(&numbers->mutex);
}

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

static void rw_init(void *rwlock)
{
    pthread_rwlock_init(rwlock, NULL);
}

static void rw_destroy(void *rwlock)
{
    pthread_rwlock_destroy(rwlock);
}

static inline void rw_read(pthread_rwlock_t *rwlock)
{
    pthread_rwlock_rdlock(rwlock);
    pthread_rwlock_unlock(rwlock);
}
FAMILY_TURNS(rw_read, pthread_rwlock_t)

static inline void rw_write(pthread_rwlock_t *rwlock)
{
    pthread_rwlock_wrlock(rwlock);
    pthread_rwlock_unlock(rwlock);
}
FAMILY_TURNS(rw_write, pthread_rwlock_t)

static void do_nothing(void)
{
}

static inline void done(pthread_once_t *once)
{
    pthread_once(once, do_nothing);
}
FAMILY_TURNS(done, pthread_once_t)

static void run_once(void *once)
{
    *(pthread_once_t *)once = (pthread_once_t)PTHREAD_ONCE_INIT;
    pthread_once(once, do_nothing);
}

static void cond_init(void *cond)
{
    pthread_cond_init(cond, NULL);
}

static void cond_destroy(void *cond)
{
    pthread_cond_destroy(cond);
}

static inline void notify(pthread_cond_t *cond)
{
    pthread_cond_signal(cond);
}
FAMILY_TURNS(notify, pthread_cond_t)

struct rally {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    uint32_t turn;
};
FAMILY_RALLY(pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_wait, pthread_cond_signal)

static void rally_init(void *object)
{
    struct rally *rally = object;
    pthread_mutex_init(&rally->mutex, NULL);
    pthread_cond_init(&rally->cond, NULL);
}

static void rally_destroy(void *object)
{
    struct rally *rally = object;
    pthread_cond_destroy(&rally->cond);
    pthread_mutex_destroy(&rally->mutex);
}

static void meet_init(void *barrier)
{
    pthread_barrier_init(barrier, NULL, 2);
}

static void meet_four_init(void *barrier)
{
    pthread_barrier_init(barrier, NULL, 4);
}

static void meet_sixteen_init(void *barrier)
{
    pthread_barrier_init(barrier, NULL, 16);
}

static void meet_destroy(void *barrier)
{
    pthread_barrier_destroy(barrier);
}

static inline void meet(pthread_barrier_t *barrier)
{
    pthread_barrier_wait(barrier);
}
FAMILY_TURNS(meet, pthread_barrier_t)

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
