/* permits.c: the half of the permits' C face that waits. */
#include <lockword/permits.h>

#include "blocking.h"

_Static_assert(sizeof(lw_permits) == 1024, "docs/layout.md: permits are 256 words");

enum lw_ending lw_permits_acquire_slow(lw_permits *permits, uint32_t *which, lw_deadline deadline,
                                       lw_cancel *cancel)
{
    const struct lw_end end = lw_spin_then_block(
        (struct lw_operation){lw_permits_acquire_step, permits->word, lw_self()}, deadline, cancel);
    if (which && lw_error_of(end.ending) == 0)
        *which = end.result;
    return end.ending;
}
