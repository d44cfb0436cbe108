/* barrier.c: the barrier's steps. The meaning of the words is in core/barrier.h. */
#include <lockword/core/barrier.h>
#include <lockword/core/waiters.h>

#define GENERATION_SHIFT 12u
#define CYCLES_IN_HISTORY 5u

uint32_t lw_barrier_state(const lw_word *barrier)
{
    return lw_load(&barrier[LW_BARRIER_STATE], lw_acquire);
}

static uint32_t parties(const lw_word *barrier)
{
    return lw_load(&barrier[LW_BARRIER_PARTIES], lw_relaxed);
}

static uint32_t next_cycle(const lw_word *barrier, uint32_t state, uint32_t broke)
{
    const uint32_t history = ((state & LW_BARRIER_HISTORY) << 1 | broke) & LW_BARRIER_HISTORY;
    return history | ((state + LW_BARRIER_ONE_GENERATION) & LW_BARRIER_GENERATION) |
           parties(barrier);
}

void lw_barrier_make_step(lw_word *barrier, uint32_t n)
{
    /*
     * No agent uses the barrier yet, so that no other one changes this word. Arrivals look at the
     * state of the first cycle, which the reset begins.
     */
    lw_store(&barrier[LW_BARRIER_PARTIES], n, lw_relaxed);
    lw_barrier_reset_step(barrier);
}

lw_answer lw_barrier_arrive_step(lw_word *barrier)
{
    for (;;) {
        /*
         * Each look acquires: the last party to arrive must see the number of parties that earlier
         * arrivals left behind.
         */
        const uint32_t state = lw_barrier_state(barrier);
        const uint32_t missing = state & LW_BARRIER_MISSING;
        if (state & LW_BARRIER_BROKEN)
            return lw_answer_of(LW_BARRIER_BROKE, 0, 0, 0);
        if (missing == 0)
            return lw_answer_of(LW_BARRIER_UNMADE, 0, 0, 0);
        if (missing > 1) {
            /* Release: pairs with the end of the cycle. */
            if (lw_cas(&barrier[LW_BARRIER_STATE], state, state - 1, lw_release) == state)
                return lw_answer_of(LW_BARRIER_WAITS, 0, 0, state & LW_BARRIER_GENERATION);
        } else if (lw_waiters_change(barrier, state, next_cycle(barrier, state, 0)) == state) {
            return lw_answer_of(LW_BARRIER_LEADS, 0, 0, 0);
        }
    }
}

void lw_barrier_drop_step(lw_word *barrier)
{
    uint32_t seen = parties(barrier);
    while (seen != 0) {
        const uint32_t n = seen;
        seen = lw_cas(&barrier[LW_BARRIER_PARTIES], n, n - 1, lw_relaxed);
        if (seen == n)
            return;
    }
}

uint32_t lw_barrier_outcome_of(uint32_t cycle, uint32_t state)
{
    const uint32_t cycles = ((state - cycle) & LW_BARRIER_GENERATION) >> GENERATION_SHIFT;
    if (cycles == 0)
        return state & LW_BARRIER_BROKEN ? LW_BARRIER_BROKE : LW_BARRIER_WAITS;
    /*
     * The history may not reach back to this cycle. Then a guess: if no later cycle of the history
     * broke, this one tripped; if one broke, this one may have, too.
     */
    const uint32_t broke =
        state &
        (cycles > CYCLES_IN_HISTORY ? LW_BARRIER_HISTORY : LW_BARRIER_BROKE_LAST << (cycles - 1));
    return broke ? LW_BARRIER_BROKE : LW_BARRIER_TRIPPED;
}

lw_answer lw_barrier_wait_step(lw_word *barrier, uint32_t cycle, uint32_t why, lw_phase phase)
{
    const uint32_t seen = lw_barrier_state(barrier);
    const uint32_t outcome = lw_barrier_outcome_of(cycle, seen);
    if (outcome != LW_BARRIER_WAITS)
        return lw_answer_of(LW_DONE, 0, 0, outcome);
    if (lw_gives_up(why) && lw_waiters_change(barrier, seen, seen | LW_BARRIER_BROKEN) != seen)
        return lw_answer_of(LW_RETRY, 0, 0, 0);
    return lw_waiters_wait(barrier, seen, 0, LW_WAIT_IDLE, why, phase);
}

void lw_barrier_reset_step(lw_word *barrier)
{
    uint32_t seen = lw_load(&barrier[LW_BARRIER_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        /*
         * No party has arrived. One more reset would only push older cycles out of the history, of
         * which late waiters still have to learn.
         */
        if (!(state & LW_BARRIER_BROKEN) && (state & LW_BARRIER_MISSING) == parties(barrier))
            return;
        seen = lw_waiters_change(barrier, state, next_cycle(barrier, state, LW_BARRIER_BROKE_LAST));
    } while (seen != state);
}
