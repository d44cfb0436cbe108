/* latch.cpp: src/core/latch.c under C++'s memory model: what was done before each count down is
 * seen after the wait. */
#include "orders.h"

#include "../../src/core/latch.c"
#include "../../src/core/waiters.c"

#include "announcement.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

struct latch {
    static constexpr unsigned words = LW_LATCH_WORDS;
    static constexpr lw_step *wait = lw_latch_wait_step;

    static uint32_t initial(unsigned announcers)
    {
        return announcers;
    }

    static void announce(lw_word *latch)
    {
        RL_ASSERT(lw_latch_count_down_step(latch, 1) >= 1);
    }
};

const test tests[] = {
    {"one has to count down", of<announcement<latch, 1, blocking>>},
    {"two have to count down", of<announcement<latch, 2, blocking>>},
    {"two have to count down, with deadlines", of<announcement<latch, 2, timed>>},
    {"two have to count down, for an event loop", of<announcement<latch, 2, async>>},
};

} // namespace

int main()
{
    return check("latch", tests, waiters_spares);
}
