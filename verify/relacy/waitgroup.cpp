/*
 * waitgroup.cpp: src/core/waitgroup.c under C++'s memory model: what was done before each done is
 * seen after the wait.
 */
#include <lockword/core/word.h>

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
    {"one has to be done", rl::simulate<announcement<group, 1, blocking>>},
    {"two have to be done", rl::simulate<announcement<group, 2, blocking>>},
    {"two have to be done, with deadlines", rl::simulate<announcement<group, 2, timed>>},
    {"two have to be done, for an event loop", rl::simulate<announcement<group, 2, async>>},
};

/*
 * Both order a notify after the wait for which it is meant. The critical sections of the list do so
 * already: see mutex.cpp. Besides, the last done need not acquire what the others released: the
 * waiter reads what it wrote, and so acquires from all of them.
 */
const spare spares[] = {
    {"lw_waiters_wait", lw_release, lw_relaxed},
    {"lw_waiters_change", lw_acq_rel, lw_release},
};

} // namespace

int main()
{
    puts("The wait group as it is written, under a weak memory:");
    check_as_written(tests, 100000);
    puts("\nWith one memory order weakened, what finds it:");
    check_weakenings(tests, spares, 50000);
    return finish();
}
