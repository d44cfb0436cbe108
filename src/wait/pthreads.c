/*
 * pthreads.c: what all POSIX systems do alike for table.c: locks of buckets, and a fork. The
 * system's own file, or posix.c, has the rest.
 */
#define _POSIX_C_SOURCE 200809L
#include "table.h"

#include <sched.h>

static pthread_once_t begun = PTHREAD_ONCE_INIT;

/*
 * A forked child has its parent's memory, but one thread, with another id. The threads that the
 * table names, and those that have locked it, are not there.
 */
static void forget_threads(void)
{
    lw_self_forget();
    lw_table_reset();
}

static void begin(void)
{
    lw_table_reset();
    lw_bed_begin();
    pthread_atfork(NULL, NULL, forget_threads);
}

void lw_table_begin(void)
{
    pthread_once(&begun, begin);
}

/* Another constructor may wait earlier; a program that never waits may fork. */
LW_CONSTRUCTOR static void begin_early(void)
{
    lw_table_begin();
}

void lw_table_make(lw_table_lock *lock)
{
    pthread_mutex_init(lock, NULL);
}

void lw_table_enter(lw_table_lock *lock)
{
    pthread_mutex_lock(lock);
}

void lw_table_leave(lw_table_lock *lock)
{
    pthread_mutex_unlock(lock);
}

void lw_yield(void)
{
    sched_yield();
}
