/*
 * permits.cpp: src/core/permits.c under C++'s memory model: one permit, handed from agent to agent
 * with the data that it guards; and two permits, whose owners release them while an agent waits for
 * all, as a writer of a region does.
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

template <kind who> struct drain : scenario {
    static constexpr unsigned threads = 3;

    lw_word words[LW_PERMITS_FIRST + 2];
    rl::var<unsigned> parts[2];
    agent writer;
    list waiting[2];

    void before() override
    {
        for (lw_word &word : words)
            word.value.store(0, rl::mo_relaxed, $);
        words[LW_PERMITS_COUNT].value.store(2, rl::mo_relaxed, $);
        for (unsigned which = 0; which < 2; which++) {
            words[LW_PERMITS_FIRST + which].value.store(which + 1, rl::mo_relaxed, $);
            parts[which]($) = 0;
        }
        make_lists(waiting, words);
    }

    void thread(unsigned index) override
    {
        if (index < 2) {
            parts[index]($) = 1;
            RL_ASSERT(lw_permits_release_step(words, index, index + 1));
            return;
        }
        run(lw_permits_drain_step, words, 3, writer, who);
        RL_ASSERT(parts[0]($) + parts[1]($) == 2);
    }
};

const test tests[] = {
    {"two that block, two rounds", of<handover<permit, 2, blocking, blocking>>},
    {"three that block", of<handover<permit, 1, blocking, blocking, blocking>>},
    {"one that blocks, one with deadlines, one tries",
     of<handover<permit, 2, blocking, timed, trying>>},
    {"event loop, abort and one that blocks", of<handover<permit, 2, async, aborting, blocking>>},
    {"two release, one that blocks waits for both", of<drain<blocking>>},
    {"two release, an event loop waits for both", of<drain<async>>},
};

/*
 * They order a notify after the wait for which it is meant. The critical sections of the list do so
 * already: see mutex.cpp.
 */
const spare spares[] = {
    {"announce", lw_acq_rel, lw_release},
    {"lw_permits_acquire_step", lw_release, lw_relaxed},
    {"lw_waiters_wait", lw_release, lw_relaxed},
};

} // namespace

int main()
{
    return check("permits", tests, spares);
}
