/*
 * core/once.h: the once's two words.
 *
 *     word 0, state   bits 0-28   RUNNER  the agent that runs the initializer now; 0: none
 *                     bit 29      RAN     the initializer has run: this state is final
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

/*
 * Returns whether the initializer has run. A caller that gets true sees all that the runner wrote.
 */
LW_INLINE bool lw_once_ran(const lw_word *once)
{
    return (lw_load(&once[LW_ONCE_STATE], lw_acquire) & LW_ONCE_RAN) != 0;
}

/* Returns the id of the agent that runs the initializer now; 0: none. */
uint32_t lw_once_runner(const lw_word *once);

/*
 * A step: waits until the initializer has run, or until it is the caller's turn to run it. The
 * `expected` of LW_DONE tells which: 0 if it has run; self if it is the caller's turn. In the
 * latter case the caller must call lw_once_end_step.
 */
lw_answer lw_once_begin_step(lw_word *once, uint32_t self, uint32_t why, lw_phase phase);

/*
 * Ends the runner's turn. `ran` tells whether the initializer succeeded; if not, the turn is the
 * next caller's. Returns false, with nothing changed, if `runner` is not the runner.
 */
bool lw_once_end_step(lw_word *once, uint32_t runner, bool ran);

#ifdef __cplusplus
}
#endif

#endif
