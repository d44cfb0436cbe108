/* pauses.h: for a test that is linked with LINKER:--wrap=lw_pause,--wrap=lw_wait: what it lets others do in between is a hook. */
#ifndef LOCKWORD_TEST_PAUSES_H
#define LOCKWORD_TEST_PAUSES_H

#include <lockword/wait.h>

static int pauses; /* how often others were let run, */
static int sleeps; /* and how often it slept */
static void (*hook)(void);

void __wrap_lw_pause(void);
lw_woken __real_lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline);
lw_woken __wrap_lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline);

void __wrap_lw_pause(void)
{
    pauses++;
    if (hook)
        hook();
}

lw_woken __wrap_lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline)
{
    sleeps++;
    return __real_lw_wait(word, expected, deadline);
}

#endif
