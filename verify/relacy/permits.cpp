/*
 * permits.cpp: src/core/permits.c under C++'s memory model: one permit, handed from agent to agent
 * with the data that it guards. The explorer has several permits, and agents that wait for all.
 */
#include <lockword/core/word.h>

#include "orders.h"

/* Few enough that executions of a few rounds reach a reservation. */
#define MAX_FAILED_WAITS 1u
#include "../../src/core/permits.c"
#include "../../src/core/waiters.c"

#include "handover.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

struct permit : all_write {
    static constexpr unsigned words = LW_PERMITS_FIRST + 1;
    static constexpr unsigned first = LW_PERMITS_COUNT;
    static constexpr bool late = true;
    static constexpr uint32_t initial = 1;

    static bool is_free(uint32_t state)
    {
        return !(state & LW_PERMITS_RESERVED);
    }

    static bool take(lw_word *permits, uint32_t id, agent &self, kind kind, bool)
    {
        return kind == trying ? lw_permits_try_step(permits, id) == 0
                              : run(lw_permits_acquire_step, permits, id, self, kind);
    }

    static void give(lw_word *permits, uint32_t id, bool)
    {
        RL_ASSERT(lw_permits_release_step(permits, 0, id));
    }
};

const test tests[] = {
    {"two that block, two rounds", of<handover<permit, 2, blocking, blocking>>},
    {"three that block", of<handover<permit, 1, blocking, blocking, blocking>>},
    {"one that blocks, one with deadlines, one tries",
     of<handover<permit, 2, blocking, timed, trying>>},
    {"event loop, abort and one that blocks", of<handover<permit, 2, async, aborting, blocking>>},
};

/*
 * The first two order a notify after the wait for which it is meant. The critical sections of the
 * list do so already: see mutex.cpp. The third is for agents that wait until all permits are free,
 * as a writer of a region does. Here there is none: the explorer has them.
 */
const spare spares[] = {
    {"announce", lw_acq_rel, lw_release},
    {"lw_permits_acquire_step", lw_release, lw_relaxed},
    {"lw_permits_of", lw_acquire, lw_relaxed},
};

} // namespace

int main()
{
    return check("permits", tests, spares);
}
