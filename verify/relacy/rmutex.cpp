/*
 * rmutex.cpp: src/core/rmutex.c, and what its header inlines, under C++'s memory model: data
 * written while the mutex is held twice, and a depth that goes from holder to holder with no order
 * of its own. All orders are the mutex's: mutex.cpp weakens them.
 */
#include "orders.h"

#define MAX_FAILED_WAITS 1u
#include "../../src/core/mutex.c"
#include "../../src/core/rmutex.c"
#include "../../src/core/waiters.c"
#include <lockword/rmutex.h>

#include "handover.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

lw_rmutex *seen_by(uint32_t id, lw_word *words)
{
    caller = id;
    return reinterpret_cast<lw_rmutex *>(words);
}

/*
 * Threads use the C interface, tasks the steps. Every agent takes the mutex twice.
 */
struct held_twice : all_write {
    static constexpr unsigned words = LW_RMUTEX_WORDS;
    static constexpr uint32_t initial = 0;

    static bool is_free(uint32_t state)
    {
        return state == 0;
    }

    static bool take(lw_word *rmutex, uint32_t id, agent &self, kind kind, bool)
    {
        const bool is_task = kind == async || kind == aborting;
        const uint32_t holder = id | (is_task ? uint32_t(LW_RMUTEX_TASK) : 0);
        if (is_task || lw_rmutex_trylock(seen_by(id, rmutex)) != 0) {
            if (kind == trying || !run(lw_mutex_lock_step, rmutex, id, self, kind))
                return false;
            lw_rmutex_entered_step(rmutex, holder, 0);
        }
        if (is_task)
            RL_ASSERT(lw_rmutex_reenter_step(rmutex, holder) == LW_REENTRY_YES);
        else
            RL_ASSERT(lw_rmutex_trylock(seen_by(id, rmutex)) == 0);
        RL_ASSERT(lw_rmutex_depth(rmutex) == 2);
        return true;
    }

    static void give(lw_word *rmutex, uint32_t id, bool)
    {
        for (int i = 0; i < 2; i++) {
            if (lw_rmutex_unlock(seen_by(id, rmutex)) != 0)
                RL_ASSERT(lw_rmutex_give(seen_by(id, rmutex), id | uint32_t(LW_RMUTEX_TASK)) == 0);
        }
    }
};

const test tests[] = {
    {"two that block, two rounds", of<handover<held_twice, 2, blocking, blocking>>},
    {"two that block, one that tries", of<handover<held_twice, 2, blocking, blocking, trying>>},
    {"one that blocks, two with deadlines", of<handover<held_twice, 2, blocking, timed, timed>>},
    {"event loop, abort and one that blocks",
     of<handover<held_twice, 2, async, aborting, blocking>>},
};

} // namespace

int main()
{
    puts("The recursive mutex as it is written, under a weak memory:");
    check_as_written(tests, 20000);
    return finish();
}
