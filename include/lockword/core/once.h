/*
 * core/once.h: the once's two words.
 *
 *     word 0, state   bits 0-28   RUNNER  the agent that runs it now; 0: nobody
 *                     bit 29      RAN     it has been run: this state is final
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 */
#ifndef LOCKWORD_CORE_ONCE_H
#define LOCKWORD_CORE_ONCE_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_ONCE_STATE = 0,
    LW_ONCE_GATE = 1,
    LW_ONCE_WORDS = 2,
};

#define LW_ONCE_RUNNER 0x1fffffffu
#define LW_ONCE_RAN 0x20000000u

#ifdef __cplusplus
extern "C" {
#endif

/* Whether it has been run. Whoever sees true sees all that the runner wrote. */
LW_INLINE bool lw_once_ran(const lw_word *once)
{
    return (lw_load(&once[LW_ONCE_STATE], lw_acquire) & LW_ONCE_RAN) != 0;
}

/* Who runs it right now; 0: nobody. */
uint32_t lw_once_runner(const lw_word *once);

/*
 * A step: waits until it has been run, or until it is the caller's turn to run it. The `expected` of LW_DONE tells which: 0, or
 * self; in the latter case the caller must call lw_once_end_step.
 */
lw_answer lw_once_begin_step(lw_word *once, uint32_t self, uint32_t why, lw_phase phase);

/* The runner's turn ends: with success, or leaving it to the next. Answers false, with nothing changed, if `runner` does not run
 * it. */
bool lw_once_end_step(lw_word *once, uint32_t runner, bool ran);

#ifdef __cplusplus
}
#endif

#endif
