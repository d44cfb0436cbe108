/* cond.c: the half of the condition's C face that waits. */
#include <lockword/cond.h>

#include "blocking.h"

_Static_assert(sizeof(lw_cond) == 8, "docs/layout.md: a condition is two words");

enum lw_ending lw_cond_wait_slow(lw_cond *cond, lw_mutex *mutex, lw_deadline deadline, lw_cancel *cancel)
{
    const uint32_t sequence = lw_cond_enter_step(cond->word);
    lw_mutex_unlock(mutex);
    const struct lw_end end = lw_block((struct lw_operation){lw_cond_wait_step, cond->word, sequence}, deadline, cancel);
    lw_cond_leave_step(cond->word);
    lw_mutex_lock(mutex);
    return end.ending;
}
