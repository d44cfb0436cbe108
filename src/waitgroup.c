/* waitgroup.c: the wait group's C interface: the functions that wait. */
#include <lockword/waitgroup.h>

#include "blocking.h"

_Static_assert(sizeof(lw_waitgroup) == 8, "docs/layout.md: a wait group is two words");

enum lw_ending lw_waitgroup_wait_slow(lw_waitgroup *group, lw_deadline deadline, lw_cancel *cancel)
{
    const uint32_t since = lw_waitgroup_state(group->word);
    return lw_spin_then_block((struct lw_operation){lw_waitgroup_wait_step, group->word, since},
                              deadline, cancel)
        .ending;
}
