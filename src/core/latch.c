/* latch.c: the latch's steps. The meaning of the words is in core/latch.h. */
#include <lockword/core/latch.h>
#include <lockword/core/waiters.h>

uint32_t lw_latch_count(const lw_word *latch)
{
    return lw_load(&latch[LW_LATCH_STATE], lw_acquire) & LW_LATCH_MAX;
}

uint32_t lw_latch_count_down_step(lw_word *latch, uint32_t n)
{
    uint32_t seen = lw_load(&latch[LW_LATCH_STATE], lw_unordered);
    uint32_t state;
    do {
        state = seen;
        const uint32_t count = state & LW_LATCH_MAX;
        if (n > count)
            return count;
        /* Both release: a load that acquires, and reads 0, sees what was written before each. */
        if (n == count)
            seen = lw_waiters_change(latch, state, 0);
        else
            seen = lw_cas(&latch[LW_LATCH_STATE], state, state - n, lw_release);
    } while (seen != state);
    return state & LW_LATCH_MAX;
}

lw_answer lw_latch_wait_step(lw_word *latch, uint32_t unused, uint32_t why, lw_phase phase)
{
    (void)unused;
    const uint32_t state = lw_load(&latch[LW_LATCH_STATE], lw_acquire);
    if ((state & LW_LATCH_MAX) == 0)
        return lw_answer_of(LW_DONE, 0, 0, 0);
    return lw_waiters_wait(latch, state, 0, LW_WAIT_IDLE, why, phase);
}
