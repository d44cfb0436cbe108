/*
 * openbsd.c: waiting on OpenBSD, by futex(2), which takes one word. A thread sleeps on a word of
 * its own; table.c says for which words.
 */
#include "table.h"

#include <sys/time.h>
#include <sys/types.h>

#include <sys/futex.h>

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

uint64_t lw_thread_id(void)
{
    return (uint64_t)getthrid();
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

/* The time is from now. */
void lw_sleep(struct lw_sleeper *sleeper, lw_deadline deadline)
{
    const int64_t left_ns = deadline - lw_now();
    const int64_t nap_ns = left_ns < LONGEST_NAP_NS ? left_ns : LONGEST_NAP_NS;
    if (deadline != LW_FOREVER && nap_ns <= 0)
        return;
    const struct timespec time = {.tv_sec = (time_t)(nap_ns / NS_PER_S),
                                  .tv_nsec = (long)(nap_ns % NS_PER_S)};
    futex((volatile uint32_t *)&sleeper->is_notified, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0,
          deadline == LW_FOREVER ? NULL : &time, NULL);
}

void lw_rouse(struct lw_sleeper *sleeper)
{
    futex((volatile uint32_t *)&sleeper->is_notified, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL,
          NULL);
}
