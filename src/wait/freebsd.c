/*
 * freebsd.c: waiting on FreeBSD, by _umtx_op. A thread sleeps on a word of its own; table.c says
 * for which words: UMTX_OP_WAKE does not say how many threads it wakes.
 */
#include "table.h"

#include <sys/types.h>

#include <sys/umtx.h>

#include <pthread_np.h>
#include <time.h>
#include <unistd.h>

void lw_bed_begin(void)
{
}

void lw_bed_make(lw_bed *bed)
{
    (void)bed;
}

void lw_bed_remove(lw_bed *bed)
{
    (void)bed;
}

/* From 100001 on, as the kernel numbers them. */
uint64_t lw_thread_id(void)
{
    return (uint64_t)pthread_getthreadid_np();
}

bool lw_has_one_cpu(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) == 1;
}

int64_t lw_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The size of the time stands in the place of another argument. */
void lw_sleep(struct lw_sleeper *sleeper, lw_deadline deadline)
{
    const bool ends = deadline != LW_FOREVER;
    const int64_t now = ends ? lw_now() : 0;
    const int64_t until_ns = deadline - now < LONGEST_NAP_NS ? deadline : now + LONGEST_NAP_NS;
    struct _umtx_time until = {
        ._timeout = {.tv_sec = (time_t)(until_ns / NS_PER_S),
                     .tv_nsec = (long)(until_ns % NS_PER_S)},
        ._flags = UMTX_ABSTIME,
        ._clockid = CLOCK_MONOTONIC,
    };
    _umtx_op(&sleeper->is_notified, UMTX_OP_WAIT_UINT_PRIVATE, 0,
             ends ? (void *)sizeof until : NULL, ends ? &until : NULL);
}

void lw_rouse(struct lw_sleeper *sleeper)
{
    _umtx_op(&sleeper->is_notified, UMTX_OP_WAKE_PRIVATE, 1, NULL, NULL);
}
