/* permits.c: the half of the permits' C face that waits. */
#include <lockword/permits.h>

#include "blocking.h"

_Static_assert(sizeof(lw_permits) == 1024, "docs/layout.md: permits are 256 words");

enum lw_ending lw_permits_acquire_slow(lw_permits *permits, uint32_t *which, lw_deadline deadline,
                                       lw_cancel *cancel)
{
    const uint32_t self = lw_self();
    /* As a caller that only looks: it can neither consume a notify nor owe one. To spin costs more.
     */
    const lw_answer looked = lw_permits_acquire_step(permits->word, self, LW_TIMED_OUT, 0);
    struct lw_end end = {LW_ENDED_DONE, 0, lw_answer_expected(looked)};
    if (lw_answer_what(looked) != LW_DONE)
        end = lw_spin_then_block(
            (struct lw_operation){lw_permits_acquire_step, permits->word, self}, deadline, cancel);
    if (which && lw_error_of(end.ending) == 0)
        *which = end.result;
    return end.ending;
}
