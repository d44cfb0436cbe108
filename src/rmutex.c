/* rmutex.c: the recursive mutex's C interface: the functions that may wait. */
#include <lockword/rmutex.h>

#include "blocking.h"

_Static_assert(sizeof(lw_rmutex) == 16, "docs/layout.md: a recursive mutex is four words");

enum lw_ending lw_rmutex_lock_slow(lw_rmutex *rmutex, lw_deadline deadline, lw_cancel *cancel)
{
    const uint32_t self = lw_self();
    const enum lw_ending ending =
        lw_hold(&lw_held_mutex, (struct lw_operation){lw_mutex_lock_step, rmutex->word, self},
                deadline, cancel)
            .ending;
    if (ending == LW_ENDED_DONE)
        lw_rmutex_entered_step(rmutex->word, self, 0);
    return ending;
}
