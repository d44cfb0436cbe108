/* event.c: the event's C interface: the functions that wait. */
#include <lockword/event.h>

#include "blocking.h"

_Static_assert(sizeof(lw_event) == 8, "docs/layout.md: an event is two words");

enum lw_ending lw_event_wait_slow(lw_event *event, lw_deadline deadline, lw_cancel *cancel)
{
    const uint32_t state = lw_event_state(event->word);
    return lw_spin_then_block((struct lw_operation){lw_event_wait_step, event->word, state},
                              deadline, cancel)
        .ending;
}
