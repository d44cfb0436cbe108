/*
 * once.cpp: src/core/once.c under C++'s memory model. A run that fails comes before one that
 * succeeds; each goes on with what the last one left. The agents that pass read the result.
 */
#include "orders.h"

#include "../../src/core/once.c"
#include "../../src/core/waiters.c"

#include "agents.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

/* Attempts until one succeeds. */
enum { attempts = 2 };

template <kind a, kind b, kind c> struct attempted : scenario {
    static constexpr unsigned threads = 3;

    lw_word words[LW_ONCE_WORDS];
    rl::var<unsigned> done;
    agent everyone[threads];
    list waiting[2];

    void before() override
    {
        for (lw_word &word : words)
            word.value.store(0, rl::mo_relaxed, $);
        done($) = 0;
        make_lists(waiting, words);
    }

    /* Returns whether it has been run. */
    bool runs(uint32_t id, agent &self, kind kind)
    {
        if (kind == trying)
            return lw_once_ran(words);
        if (!run(lw_once_begin_step, words, id, self, kind))
            return false;
        if (lw_once_runner(words) != id)
            return true;
        done($) = done($) + 1;
        const bool succeeds = done($) == attempts;
        RL_ASSERT(lw_once_end_step(words, id, succeeds));
        return succeeds;
    }

    void thread(unsigned index) override
    {
        static const kind kinds[] = {a, b, c};
        const bool insists = kinds[index] == blocking || kinds[index] == async;
        bool passes;
        do
            passes = runs(index + 1, everyone[index], kinds[index]);
        while (insists && !passes);
        end(&words[LW_ONCE_GATE], everyone[index]);
        RL_ASSERT(!passes || done($) == attempts);
    }
};

const test tests[] = {
    {"two that block, one that looks", of<attempted<blocking, blocking, trying>>},
    {"three that block", of<attempted<blocking, blocking, blocking>>},
    {"one that blocks, one with deadlines, one looks", of<attempted<blocking, timed, trying>>},
    {"event loop, abort and one that blocks", of<attempted<async, aborting, blocking>>},
};

} // namespace

int main()
{
    return check("once", tests, waiters_spares);
}
