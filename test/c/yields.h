/*
 * yields.h: for a test that is linked with LINKER:--wrap= of the functions below. A waiter that
 * yields calls a hook instead: what other threads do meanwhile. Time passes by looks at the clock,
 * what a hook lets pass, and sleeps, so a busy machine does not change what a thread does next.
 */
#ifndef LOCKWORD_TEST_YIELDS_H
#define LOCKWORD_TEST_YIELDS_H

#include <stdbool.h>

#include <lockword/wait.h>

static int yields; /* how often the waiter has yielded, */
static int sleeps; /* and how often it has slept */
static void (*hook)(void);

static int64_t clock_ns = 1000000000;
static _Thread_local bool is_asleep;

void __wrap_lw_yield(void);
int64_t __real_lw_now(void);
int64_t __wrap_lw_now(void);
lw_woken __real_lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline);
lw_woken __wrap_lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline);

static int64_t pass_ns(int64_t ns)
{
    return __atomic_add_fetch(&clock_ns, ns, __ATOMIC_RELAXED);
}

void __wrap_lw_yield(void)
{
    yields++;
    if (hook)
        hook();
}

int64_t __wrap_lw_now(void)
{
    return is_asleep ? __real_lw_now() : pass_ns(100);
}

lw_woken __wrap_lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline)
{
    sleeps++;
    const int64_t began = __real_lw_now();
    const int64_t left = deadline - pass_ns(0);
    const int64_t ns = deadline == LW_FOREVER || left < 0 ? 0 : left;
    is_asleep = true;
    const lw_woken woken =
        __real_lw_wait(word, expected, deadline == LW_FOREVER ? LW_FOREVER : began + ns);
    is_asleep = false;
    pass_ns(woken == LW_TIMED_OUT ? ns : __real_lw_now() - began);
    return woken;
}

#endif
