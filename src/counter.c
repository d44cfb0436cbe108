/* counter.c: the counter's C interface: the functions that wait. */
#include <lockword/counter.h>

#include "blocking.h"

_Static_assert(sizeof(lw_counter) == 8, "docs/layout.md: a counter is two words");

enum lw_ending lw_counter_wait_slow(lw_counter *counter, lw_step *step, uint32_t value,
                                    lw_deadline deadline, lw_cancel *cancel)
{
    return lw_spin_then_block((struct lw_operation){step, counter->word, value}, deadline, cancel)
        .ending;
}
