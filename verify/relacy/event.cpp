/*
 * event.cpp: src/core/event.c under C++'s memory model: an automatic event, which hands data from
 * agent to agent.
 */
#include "orders.h"

#include "../../src/core/event.c"
#include "../../src/core/waiters.c"

#include "announcement.h"
#include "handover.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

struct automatic : all_write {
    static constexpr unsigned words = LW_EVENT_WORDS;
    static constexpr uint32_t initial = LW_EVENT_AUTO | LW_EVENT_SET;

    static bool is_free(uint32_t state)
    {
        return state & LW_EVENT_SET;
    }

    static bool take(lw_word *event, uint32_t, agent &self, kind kind, bool)
    {
        return kind == trying ? lw_event_reset_step(event)
                              : run(lw_event_wait_step, event, 0, self, kind);
    }

    static void give(lw_word *event, uint32_t, bool)
    {
        lw_event_set_step(event);
    }
};

struct manual {
    static constexpr unsigned words = LW_EVENT_WORDS;
    static constexpr lw_step *wait = lw_event_wait_step;

    static uint32_t initial(unsigned)
    {
        return 0;
    }

    static void announce(lw_word *event)
    {
        lw_event_set_step(event);
    }
};

const test tests[] = {
    {"a manual event", of<announcement<manual, 1, blocking>>},
    {"two that block, two rounds", of<handover<automatic, 2, blocking, blocking>>},
    {"three that block", of<handover<automatic, 1, blocking, blocking, blocking>>},
    {"one blocks, one has deadlines, one resets",
     of<handover<automatic, 2, blocking, timed, trying>>},
    {"event loop, abort and one that blocks",
     of<handover<automatic, 2, async, aborting, blocking>>},
};

/*
 * The first two order a notify after the wait for which it is meant. The critical sections of the
 * list do so already: see mutex.cpp. The third is the release of a reset: it publishes nothing that
 * the agent which sets the event next does not publish, too.
 */
const spare spares[] = {
    {"lw_waiters_wait", lw_release, lw_relaxed},
    {"lw_waiters_change", lw_acq_rel, lw_release},
    {"lw_event_reset_step", lw_acq_rel, lw_acquire},
};

} // namespace

int main()
{
    return check("event", tests, spares);
}
