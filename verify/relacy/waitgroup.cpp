/*
 * waitgroup.cpp: src/core/waitgroup.c under C++'s memory model: what was done before each done is
 * seen after the wait.
 */
#include "orders.h"

#include "../../src/core/waiters.c"
#include "../../src/core/waitgroup.c"

#include "announcement.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

struct group {
    static constexpr unsigned words = LW_WAITGROUP_WORDS;
    static constexpr lw_step *wait = lw_waitgroup_wait_step;

    static uint32_t initial(unsigned announcers)
    {
        return announcers;
    }

    static void announce(lw_word *group)
    {
        RL_ASSERT(lw_waitgroup_done_step(group, 1));
    }
};

const test tests[] = {
    {"one has to be done", of<announcement<group, 1, blocking>>},
    {"two have to be done", of<announcement<group, 2, blocking>>},
    {"two have to be done, with deadlines", of<announcement<group, 2, timed>>},
    {"two have to be done, for an event loop", of<announcement<group, 2, async>>},
};

} // namespace

int main()
{
    return check("wait group", tests, waiters_spares);
}
