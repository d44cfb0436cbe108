/* once.c: the once's steps. The meaning of the words is in core/once.h. */
#include <lockword/core/once.h>
#include <lockword/core/waiters.h>

uint32_t lw_once_runner(const lw_word *once)
{
    return lw_load(&once[LW_ONCE_STATE], lw_relaxed) & LW_ONCE_RUNNER;
}

lw_answer lw_once_begin_step(lw_word *once, uint32_t self, uint32_t why, lw_phase phase)
{
    /* Acquire: pairs with the end of the run, as in lw_once_ran. */
    const uint32_t state = lw_load(&once[LW_ONCE_STATE], lw_acquire);
    if (state & LW_ONCE_RAN)
        return lw_answer_of(LW_DONE, 0, 0, 0);
    /*
     * Acquire: pairs with the end of a run that failed. If another agent wins this race, the next
     * look at the state must acquire, too.
     */
    if ((state & LW_ONCE_RUNNER) == 0)
        return lw_answer_of(lw_cas(&once[LW_ONCE_STATE], state, state | self, lw_acquire) == state
                                ? LW_DONE
                                : LW_RETRY,
                            0, 0, self);
    if ((state & LW_ONCE_RUNNER) == self && !(why & LW_ASYNC))
        return lw_answer_of(LW_DEADLOCK, 0, 0, 0);
    return lw_waiters_wait(once, state, 0, LW_WAIT_IDLE, why, phase);
}

bool lw_once_end_step(lw_word *once, uint32_t runner, bool ran)
{
    uint32_t seen = lw_load(&once[LW_ONCE_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        if ((state & LW_ONCE_RUNNER) != runner || runner == 0)
            return false;
        seen = lw_waiters_change(once, state, ran ? LW_ONCE_RAN : 0);
    } while (seen != state);
    return true;
}
