/* The C library's POSIX primitives. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>

#include "asleep.h"

static inline void init_mutex(pthread_mutex_t *mutex)
{
    pthread_mutex_init(mutex, NULL);
}
ASLEEP_AT(mutex, pthread_mutex_t, init_mutex, pthread_mutex_lock, pthread_mutex_unlock)

static inline void init_recursive(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}
ASLEEP_AT(recursive, pthread_mutex_t, init_recursive, pthread_mutex_lock, pthread_mutex_unlock)

static inline void init_sem(sem_t *sem)
{
    sem_init(sem, 0, 1);
}
ASLEEP_AT(permit, sem_t, init_sem, sem_wait, sem_post)

static inline void init_rwlock(pthread_rwlock_t *rwlock)
{
    pthread_rwlock_init(rwlock, NULL);
}
ASLEEP_AT(write, pthread_rwlock_t, init_rwlock, pthread_rwlock_wrlock, pthread_rwlock_unlock)
ASLEEP_AT_READ(pthread_rwlock_t, pthread_rwlock_rdlock, pthread_rwlock_unlock)

struct waited {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int go;
};

static inline void init_waited(struct waited *waited)
{
    pthread_mutex_init(&waited->mutex, NULL);
    pthread_cond_init(&waited->cond, NULL);
}
ASLEEP_AT_CONDITION(init_waited, pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_wait, pthread_cond_broadcast)

static void hold_barrier(void *barrier, int waiters)
{
    pthread_barrier_init(barrier, NULL, (unsigned)waiters + 1);
}

static void wait_barrier(void *barrier)
{
    pthread_barrier_wait(barrier);
}

BENCH_WAITS bench_asleep_pthread[];
const struct bench_wait bench_asleep_pthread[] = {
    {BENCH_AT_MUTEX, "pthread_mutex", hold_mutex, wait_mutex, release_mutex},
    {BENCH_AT_RECURSIVE, "pthread_mutex, recursive", hold_recursive, wait_recursive, release_recursive},
    {BENCH_AT_CONDITION, "pthread_cond", hold_condition, wait_condition, release_condition},
    {BENCH_AT_PERMIT, "sem_t", hold_permit, wait_permit, release_permit},
    {BENCH_AT_READ, "pthread_rwlock", hold_write, wait_read, release_write},
    {BENCH_AT_WRITE, "pthread_rwlock", hold_write, wait_write, release_write},
    {BENCH_AT_BARRIER, "pthread_barrier", hold_barrier, wait_barrier, wait_barrier},
    {BENCH_BLOCKS, NULL, NULL, NULL, NULL},
};
