/* barrier.c: the barrier's C interface: the functions that wait. */
#include <lockword/barrier.h>

#include "blocking.h"

_Static_assert(sizeof(lw_barrier) == 12, "docs/layout.md: a barrier is three words");

/* A step for spinning. The wait's own step would break the barrier when its time is up. */
static lw_answer look_step(lw_word *barrier, uint32_t cycle, uint32_t why, lw_phase phase)
{
    (void)why, (void)phase;
    const uint32_t outcome = lw_barrier_outcome_of(cycle, lw_barrier_state(barrier));
    return lw_answer_of(outcome == LW_BARRIER_WAITS ? LW_GAVE_UP : LW_DONE, 0, 0, outcome);
}

uint32_t lw_barrier_wait_slow(lw_barrier *barrier, lw_deadline deadline, lw_cancel *cancel,
                              enum lw_ending *ending)
{
    const lw_answer arrival = lw_barrier_arrive_step(barrier->word);
    if (lw_answer_what(arrival) != LW_BARRIER_WAITS)
        return lw_answer_what(arrival);
    const uint32_t cycle = lw_answer_expected(arrival);
    struct lw_end end;
    if (!lw_spin((struct lw_operation){look_step, barrier->word, cycle}, deadline, &end))
        end = lw_block((struct lw_operation){lw_barrier_wait_step, barrier->word, cycle}, deadline,
                       cancel);
    *ending = end.ending;
    return end.result;
}
