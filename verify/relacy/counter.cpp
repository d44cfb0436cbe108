/*
 * counter.cpp: src/core/counter.c, and what its header inlines, under C++'s memory model. What was
 * written before a change is seen by the agents that wait for it, that read the value, and that
 * change it next.
 */
#include "orders.h"

#include "../../src/core/counter.c"
#include "../../src/core/waiters.c"
#include <lockword/counter.h>

#include "agents.h"
#include "announcement.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

template <bool by_face> uint32_t add(lw_word *counter, int32_t n)
{
    uint32_t old = 0;
    if (by_face)
        RL_ASSERT(lw_counter_add(reinterpret_cast<lw_counter *>(counter), n, &old) == 0);
    else
        old = lw_counter_add_step(counter, n);
    return old;
}

/* Counts the announcers down. */
template <bool by_face> struct countdown {
    static constexpr unsigned words = LW_COUNTER_WORDS;

    static uint32_t initial(unsigned announcers)
    {
        return announcers;
    }

    static void announce(lw_word *counter)
    {
        add<by_face>(counter, -1);
    }

    static lw_answer wait(lw_word *counter, uint32_t, uint32_t why, uint32_t phase)
    {
        return lw_counter_at_most_step(counter, 0, why, phase);
    }
};

/* Two agents write, and count themselves; the one that is second, and one that looks, read. */
template <bool by_face> struct second : scenario {
    static constexpr unsigned threads = 3;

    lw_word words[LW_COUNTER_WORDS];
    rl::var<unsigned> parts[2];
    list waiting[2];

    void before() override
    {
        for (lw_word &word : words)
            word.value.store(0, rl::mo_relaxed, $);
        for (rl::var<unsigned> &part : parts)
            part($) = 0;
        make_lists(waiting, words);
    }

    void thread(unsigned index) override
    {
        if (index < 2) {
            parts[index]($) = 1;
            if (add<by_face>(words, 1) == 1)
                RL_ASSERT(parts[1 - index]($) == 1);
        } else if (lw_counter_value(words) == 2) {
            RL_ASSERT(parts[0]($) + parts[1]($) == 2);
        }
    }
};

const test tests[] = {
    {"the second, and one that looks", of<second<false>>},
    {"the second, and one that looks, by the face", of<second<true>>},
    {"two count down", of<announcement<countdown<false>, 2, blocking>>},
    {"two count down by the face", of<announcement<countdown<true>, 2, blocking>>},
    {"two count down, with deadlines", of<announcement<countdown<false>, 2, timed>>},
    {"two count down, for an event loop", of<announcement<countdown<true>, 2, async>>},
};

/*
 * These order a notify after the wait for which it is meant. The critical sections of the list do
 * so already: see mutex.cpp.
 */
const spare spares[] = {
    {"lw_waiters_wait", lw_release, lw_relaxed},
};

} // namespace

int main()
{
    return check("counter", tests, spares);
}
