/* once.c: the once's C interface: the functions that wait. */
#include <lockword/once.h>

#include "blocking.h"

_Static_assert(sizeof(lw_once) == 8, "docs/layout.md: a once is two words");

enum lw_ending lw_once_begin_slow(lw_once *once, lw_deadline deadline, lw_cancel *cancel, bool *run)
{
    const struct lw_end end = lw_spin_then_block(
        (struct lw_operation){lw_once_begin_step, once->word, lw_self()}, deadline, cancel);
    *run = end.ending == LW_ENDED_DONE && end.result != 0;
    return end.ending;
}
