/* latch.cpp: src/core/latch.c under C++'s memory model: what was done before each count down is
 * seen after the wait. */
#include <lockword/core/word.h>

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
    {"one has to count down", rl::simulate<announcement<latch, 1, blocking>>},
    {"two have to count down", rl::simulate<announcement<latch, 2, blocking>>},
    {"two have to count down, with deadlines", rl::simulate<announcement<latch, 2, timed>>},
    {"two have to count down, for an event loop", rl::simulate<announcement<latch, 2, async>>},
};

/*
 * The notify after the wait that it is for: the critical sections of the list order that already,
 * see mutex.cpp. Nor does the last count down have to acquire what the others released: the waiter
 * reads what it wrote, and so acquires from all of them.
 */
const spare spares[] = {
    {"lw_waiters_wait", lw_release, lw_relaxed},
    {"lw_waiters_change", lw_acq_rel, lw_release},
};

} // namespace

int main()
{
    puts("The latch as it is written, under a weak memory:");
    check_as_written(tests, 100000);
    puts("\nWith one memory order weakened, what finds it:");
    check_weakenings(tests, spares, 50000);
    return finish();
}
