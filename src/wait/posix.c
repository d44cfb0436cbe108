/*
 * posix.c: waiting on any POSIX system, with pthreads alone. For systems that have no file of their
 * own, and on Linux with LOCKWORD_PORTABLE. A thread sleeps at a condition of its own; table.c says
 * for which words.
 */
#define _POSIX_C_SOURCE 200809L
#include "table.h"

#include <time.h>
#include <unistd.h>

static pthread_condattr_t monotonic;
void lw_bed_begin(void)
{
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
}

void lw_bed_make(lw_bed *bed)
{
    pthread_mutex_init(&bed->mutex, NULL);
    pthread_cond_init(&bed->notified, &monotonic);
}

void lw_bed_remove(lw_bed *bed)
{
    pthread_cond_destroy(&bed->notified);
    pthread_mutex_destroy(&bed->mutex);
}

/* POSIX numbers no threads: self.c counts them. */
uint64_t lw_thread_id(void)
{
    return 0;
}

bool lw_has_one_cpu(void)
{
#ifdef _SC_NPROCESSORS_ONLN
    return sysconf(_SC_NPROCESSORS_ONLN) == 1;
#else
    return false;
#endif
}

int64_t lw_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/*
 * A wait does not end by pthread_cancel: the sleeper's places would stay in the table. Android has
 * no such call. Returns what the second function needs.
 */
static int begin_to_refuse_cancels(void)
{
    int before = 0;
#ifndef __ANDROID__
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
#endif
    return before;
}

static void end_to_refuse_cancels(int before)
{
#ifndef __ANDROID__
    pthread_setcancelstate(before, NULL);
#else
    (void)before;
#endif
}

/*
 * The notifier sets is_notified before it takes the mutex: the sleeper has either seen that, or
 * waits already when the condition is signalled.
 */
void lw_sleep(struct lw_sleeper *sleeper, lw_deadline deadline)
{
    lw_bed *bed = &sleeper->bed;
    const int cancelable = begin_to_refuse_cancels();
    pthread_mutex_lock(&bed->mutex);
    if (__atomic_load_n(&sleeper->is_notified, __ATOMIC_SEQ_CST) == 0) {
        if (deadline == LW_FOREVER) {
            pthread_cond_wait(&bed->notified, &bed->mutex);
        } else {
            const int64_t now = lw_now();
            const int64_t until = deadline - now < LONGEST_NAP_NS ? deadline : now + LONGEST_NAP_NS;
            const struct timespec time = {.tv_sec = (time_t)(until / NS_PER_S),
                                          .tv_nsec = (long)(until % NS_PER_S)};
            pthread_cond_timedwait(&bed->notified, &bed->mutex, &time);
        }
    }
    pthread_mutex_unlock(&bed->mutex);
    end_to_refuse_cancels(cancelable);
}

void lw_rouse(struct lw_sleeper *sleeper)
{
    pthread_mutex_lock(&sleeper->bed.mutex);
    pthread_cond_signal(&sleeper->bed.notified);
    pthread_mutex_unlock(&sleeper->bed.mutex);
}
