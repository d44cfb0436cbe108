/*
 * darwin.c: waiting on macOS, by os_sync_wait_on_address, or before macOS 14.4 by pthreads. A
 * thread sleeps on a word, or at a condition, of its own; table.c says for which words.
 *
 * lw_now's clock stands still while the machine sleeps, as that of the waits does.
 */
#include "table.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<os/os_sync_wait_on_address.h>)
#include <os/clock.h>
#include <os/os_sync_wait_on_address.h>
#define HAS_SYNC __builtin_available(macOS 14.4, iOS 17.4, tvOS 17.4, watchOS 10.4, *)
#endif

void lw_bed_begin(void)
{
}

void lw_bed_make(lw_bed *bed)
{
    pthread_mutex_init(&bed->mutex, NULL);
    pthread_cond_init(&bed->notified, NULL);
}

void lw_bed_remove(lw_bed *bed)
{
    pthread_cond_destroy(&bed->notified);
    pthread_mutex_destroy(&bed->mutex);
}

uint64_t lw_thread_id(void)
{
    uint64_t id = 0;
    return pthread_threadid_np(NULL, &id) == 0 ? id : 0;
}

bool lw_has_one_cpu(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) == 1;
}

int64_t lw_now(void)
{
    return (int64_t)clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

/* As in posix.c, but that the time is from now: a condition has no other clock here. */
static void sleep_in_bed(struct lw_sleeper *sleeper, int64_t nap_ns)
{
    lw_bed *bed = &sleeper->bed;
    const struct timespec time = {.tv_sec = (time_t)(nap_ns / NS_PER_S),
                                  .tv_nsec = (long)(nap_ns % NS_PER_S)};
    int cancelable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
    pthread_mutex_lock(&bed->mutex);
    if (__atomic_load_n(&sleeper->is_notified, __ATOMIC_SEQ_CST) == 0)
        pthread_cond_timedwait_relative_np(&bed->notified, &bed->mutex, &time);
    pthread_mutex_unlock(&bed->mutex);
    pthread_setcancelstate(cancelable, NULL);
}

void lw_sleep(struct lw_sleeper *sleeper, lw_deadline deadline)
{
    const int64_t left_ns = deadline - lw_now();
    const int64_t nap_ns = left_ns < LONGEST_NAP_NS ? left_ns : LONGEST_NAP_NS;
    if (nap_ns <= 0)
        return;
#ifdef HAS_SYNC
    if (HAS_SYNC) {
        os_sync_wait_on_address_with_timeout(&sleeper->is_notified, 0, sizeof sleeper->is_notified,
                                             OS_SYNC_WAIT_ON_ADDRESS_NONE,
                                             OS_CLOCK_MACH_ABSOLUTE_TIME, (uint64_t)nap_ns);
        return;
    }
#endif
    sleep_in_bed(sleeper, nap_ns);
}

void lw_rouse(struct lw_sleeper *sleeper)
{
#ifdef HAS_SYNC
    if (HAS_SYNC) {
        os_sync_wake_by_address_any(&sleeper->is_notified, sizeof sleeper->is_notified,
                                    OS_SYNC_WAKE_BY_ADDRESS_NONE);
        return;
    }
#endif
    pthread_mutex_lock(&sleeper->bed.mutex);
    pthread_cond_signal(&sleeper->bed.notified);
    pthread_mutex_unlock(&sleeper->bed.mutex);
}
