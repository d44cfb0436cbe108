/* counter.c: the counter's steps. The meaning of the words is in core/counter.h. */
#include <lockword/core/counter.h>
#include <lockword/core/waiters.h>

uint32_t lw_counter_value(const lw_word *counter)
{
    return lw_load(&counter[LW_COUNTER_STATE], lw_acquire) & LW_COUNTER_MAX;
}

uint32_t lw_counter_add_step(lw_word *counter, int32_t n)
{
    uint32_t seen = lw_load(&counter[LW_COUNTER_STATE], lw_unordered);
    uint32_t state;
    do {
        state = seen;
        /*
         * The sum is between -2^31 and 2^30 - 1 + 2^31. As an unsigned number, every sum that is
         * out of range is too large.
         */
        const uint32_t sum = (state & LW_COUNTER_MAX) + (uint32_t)n;
        if (sum > LW_COUNTER_MAX)
            return LW_COUNTER_OVERFLOW;
        seen = lw_waiters_change(counter, state, sum);
    } while (seen != state);
    return state & LW_COUNTER_MAX;
}

/* What a waiter waits for the value to be. */
enum wanted {
    OTHER_THAN,
    AT_LEAST,
    AT_MOST,
};

static bool satisfies(uint32_t value, enum wanted wanted, uint32_t n)
{
    return wanted == OTHER_THAN ? value != n : wanted == AT_LEAST ? value >= n : value <= n;
}

static lw_answer wait_step(lw_word *counter, enum wanted wanted, uint32_t n, uint32_t why)
{
    const uint32_t state = lw_load(&counter[LW_COUNTER_STATE], lw_acquire);
    if (satisfies(state & LW_COUNTER_MAX, wanted, n))
        return lw_answer_of(LW_DONE, 0, 0, state & LW_COUNTER_MAX);
    return lw_waiters_wait(counter, state, 0, LW_WAIT_IDLE, why, 0);
}

lw_answer lw_counter_change_step(lw_word *counter, uint32_t value, uint32_t why, lw_phase phase)
{
    (void)phase;
    return wait_step(counter, OTHER_THAN, value, why);
}

lw_answer lw_counter_at_least_step(lw_word *counter, uint32_t value, uint32_t why, lw_phase phase)
{
    (void)phase;
    return wait_step(counter, AT_LEAST, value, why);
}

lw_answer lw_counter_at_most_step(lw_word *counter, uint32_t value, uint32_t why, lw_phase phase)
{
    (void)phase;
    return wait_step(counter, AT_MOST, value, why);
}
