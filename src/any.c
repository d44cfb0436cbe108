/* any.c: waiting for any of several sources: the function that waits. */
#include <lockword/any.h>

#include "blocking.h"

_Static_assert(LW_ANY_MAX < LW_BLOCK_MAX, "an lw_cancel is one more operation");

enum lw_ending lw_wait_any_slow(const lw_source *sources, uint32_t n, lw_deadline deadline,
                                lw_cancel *cancel, uint32_t *which)
{
    struct lw_operation operations[LW_BLOCK_MAX];
    for (uint32_t i = 0; i < n; i++)
        operations[i] = (struct lw_operation){sources[i].step, sources[i].words, sources[i].wanted};
    const struct lw_end end = lw_block_any(operations, n, deadline, cancel);
    if (end.ending == LW_ENDED_DONE) {
        *which = end.index;
        if (sources[end.index].number)
            *sources[end.index].number = end.result;
    }
    return end.ending;
}
