/* barrier.c: the barrier's C interface: the functions that wait. */
#include <lockword/barrier.h>

#include "blocking.h"

_Static_assert(sizeof(lw_barrier) == 12, "docs/layout.md: a barrier is three words");

enum lw_barrier_outcome lw_barrier_arrive(lw_barrier *barrier, uint32_t *state)
{
    enum lw_barrier_outcome outcome;
    do {
        *state = lw_barrier_state(barrier->word);
        outcome = lw_barrier_arrive_step(barrier->word, *state);
        /*
         * If there are more threads than parties, others may end a cycle between the load and the
         * arrival.
         */
    } while (outcome == LW_BARRIER_BROKE && !lw_barrier_is_broken(barrier));
    return outcome;
}

/* A step for spinning. The wait's own step would break the barrier when its time is up. */
static lw_answer look_step(lw_word *barrier, uint32_t state, uint32_t why, uint32_t phase)
{
    (void)why, (void)phase;
    const uint32_t seen = lw_barrier_state(barrier);
    const bool waits = ((seen ^ state) & LW_BARRIER_GENERATION) == 0 && !(seen & LW_BARRIER_BROKEN);
    return lw_answer_of(waits ? LW_GAVE_UP : LW_DONE, 0, 0, seen);
}

enum lw_barrier_outcome lw_barrier_wait_slow(lw_barrier *barrier, lw_deadline deadline,
                                             lw_cancel *cancel, enum lw_ending *ending)
{
    uint32_t state;
    const enum lw_barrier_outcome outcome = lw_barrier_arrive(barrier, &state);
    if (outcome != LW_BARRIER_WAITS)
        return outcome;
    struct lw_end end;
    if (!lw_spin((struct lw_operation){look_step, barrier->word, state}, deadline, &end))
        end = lw_block((struct lw_operation){lw_barrier_wait_step, barrier->word, state}, deadline,
                       cancel);
    *ending = end.ending;
    return lw_barrier_broke(state, end.result) ? LW_BARRIER_BROKE : LW_BARRIER_TRIPPED;
}
