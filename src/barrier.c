/* barrier.c: the half of the barrier's C face that waits. */
#include <lockword/barrier.h>

#include "blocking.h"

_Static_assert(sizeof(lw_barrier) == 12, "docs/layout.md: a barrier is three words");

enum lw_barrier_outcome lw_barrier_arrive(lw_barrier *barrier, uint32_t *state)
{
    enum lw_barrier_outcome outcome;
    do {
        *state = lw_barrier_state(barrier->word);
        outcome = lw_barrier_arrive_step(barrier->word, *state);
        /* Where there are more threads than parties, others may end a cycle between the look and the arrival. */
    } while (outcome == LW_BARRIER_BROKE && !lw_barrier_is_broken(barrier));
    return outcome;
}

enum lw_barrier_outcome lw_barrier_wait_slow(lw_barrier *barrier, lw_deadline deadline, lw_cancel *cancel, enum lw_ending *ending)
{
    uint32_t state;
    const enum lw_barrier_outcome outcome = lw_barrier_arrive(barrier, &state);
    if (outcome != LW_BARRIER_WAITS)
        return outcome;
    const struct lw_end end = lw_block((struct lw_operation){lw_barrier_wait_step, barrier->word, state}, deadline, cancel);
    *ending = end.ending;
    return lw_barrier_broke(state, end.result) ? LW_BARRIER_BROKE : LW_BARRIER_TRIPPED;
}
