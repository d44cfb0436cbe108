/*
 * yields.h: for a test that is linked with LINKER:--wrap=lw_yield,--wrap=lw_wait. A waiter that
 * yields calls a hook instead: what other threads do meanwhile.
 */
#ifndef LOCKWORD_TEST_YIELDS_H
#define LOCKWORD_TEST_YIELDS_H

#include <lockword/wait.h>

static int yields; /* how often the waiter has yielded, */
static int sleeps; /* and how often it has slept */
static void (*hook)(void);

void __wrap_lw_yield(void);
lw_woken __real_lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline);
lw_woken __wrap_lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline);

void __wrap_lw_yield(void)
{
    yields++;
    if (hook)
        hook();
}

lw_woken __wrap_lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline)
{
    sleeps++;
    return __real_lw_wait(word, expected, deadline);
}

#endif
