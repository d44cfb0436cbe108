/* latch.c: the latch's C interface: the functions that wait. */
#include <lockword/latch.h>

#include "blocking.h"

_Static_assert(sizeof(lw_latch) == 8, "docs/layout.md: a latch is two words");

enum lw_ending lw_latch_wait_slow(lw_latch *latch, lw_deadline deadline, lw_cancel *cancel)
{
    return lw_spin_then_block((struct lw_operation){lw_latch_wait_step, latch->word, 0}, deadline,
                              cancel)
        .ending;
}
