/*
 * barrier.cpp: src/core/barrier.c under C++'s memory model. All parties see after a cycle what each
 * party did before it arrived, and do not wait for a party that has dropped out.
 */
#include <lockword/core/word.h>

#include "orders.h"

#include "../../src/core/barrier.c"
#include "../../src/core/waiters.c"

#include "agents.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

/* The first agent drops out in the first cycle, if there is one that does. */
template <bool drops, kind a, kind b, kind c = none> struct meeting : scenario {
    static constexpr unsigned threads = c == none ? 2 : 3;

    lw_word words[LW_BARRIER_WORDS];
    rl::var<unsigned> parts[threads];
    agent everyone[threads];
    list waiting[2];

    void before() override
    {
        words[LW_BARRIER_STATE].value.store(threads, rl::mo_relaxed, $);
        words[LW_BARRIER_GATE].value.store(0, rl::mo_relaxed, $);
        words[LW_BARRIER_PARTIES].value.store(threads, rl::mo_relaxed, $);
        for (rl::var<unsigned> &part : parts)
            part($) = 0;
        make_lists(waiting, words);
    }

    bool leads(uint32_t *cycle)
    {
        const lw_answer arrival = lw_barrier_arrive_step(words);
        const uint32_t outcome = lw_answer_what(arrival);
        *cycle = lw_answer_expected(arrival);
        RL_ASSERT(outcome == LW_BARRIER_LEADS || outcome == LW_BARRIER_WAITS);
        return outcome == LW_BARRIER_LEADS;
    }

    void meet(unsigned index, kind kind)
    {
        uint32_t cycle;
        if (!leads(&cycle))
            RL_ASSERT(run(lw_barrier_wait_step, words, cycle, everyone[index], kind));
    }

    void thread(unsigned index) override
    {
        static const kind kinds[] = {a, b, c};
        uint32_t cycle;
        parts[index]($) = 1;
        if (drops && index == 0) {
            lw_barrier_drop_step(words);
            leads(&cycle);
            return;
        }
        meet(index, kinds[index]);
        unsigned sum = 0;
        for (rl::var<unsigned> &part : parts)
            sum += part($);
        RL_ASSERT(sum == threads);
        meet(index, kinds[index]);
        parts[index]($) = 2;
        end(&words[LW_BARRIER_GATE], everyone[index]);
    }
};

const test tests[] = {
    {"two that block", of<meeting<false, blocking, blocking>>},
    {"three that block", of<meeting<false, blocking, blocking, blocking>>},
    {"one drops out, two that block", of<meeting<true, blocking, blocking, blocking>>},
    {"an event loop and one that blocks", of<meeting<false, async, blocking>>},
    {"one drops out, an event loop and one that blocks",
     of<meeting<true, blocking, async, blocking>>},
};

} // namespace

int main()
{
    return check("barrier", tests, waiters_spares);
}
