/*
 * sem.cpp: src/core/sem.c under C++'s memory model: one permit, handed from agent to agent with the
 * data that it guards.
 */
#include <lockword/core/word.h>

#include "orders.h"

/* Few enough that executions of a few rounds reach a reservation. */
#define MAX_FAILED_WAITS 1u
#include "../../src/core/sem.c"
#include "../../src/core/waiters.c"

#include "handover.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

struct permit : all_write {
    static constexpr unsigned words = LW_SEM_WORDS;
    static constexpr uint32_t initial = 1;

    static bool is_free(uint32_t state)
    {
        return (state & LW_SEM_MAX) == 1;
    }

    static bool take(lw_word *sem, uint32_t, agent &self, kind kind, bool)
    {
        return kind == trying ? lw_sem_try_step(sem, 1)
                              : run(lw_sem_acquire_step, sem, 1, self, kind);
    }

    static void give(lw_word *sem, uint32_t, bool)
    {
        RL_ASSERT(lw_sem_release_step(sem, 1) != LW_SEM_OVERFLOW);
    }
};

/* The same with two permits, of which each agent needs both: they claim. */
struct both : permit {
    static constexpr uint32_t initial = 2;

    static bool is_free(uint32_t state)
    {
        return (state & LW_SEM_MAX) == 2;
    }

    static bool take(lw_word *sem, uint32_t, agent &self, kind kind, bool)
    {
        return kind == trying ? lw_sem_try_step(sem, 2)
                              : run(lw_sem_acquire_step, sem, 2, self, kind);
    }

    static void give(lw_word *sem, uint32_t, bool)
    {
        RL_ASSERT(lw_sem_release_step(sem, 2) != LW_SEM_OVERFLOW);
    }
};

const test tests[] = {
    {"two that block, two rounds", of<handover<permit, 2, blocking, blocking>>},
    {"three that block", of<handover<permit, 1, blocking, blocking, blocking>>},
    {"one that blocks, one with deadlines, one tries",
     of<handover<permit, 2, blocking, timed, trying>>},
    {"event loop, abort and one that blocks", of<handover<permit, 2, async, aborting, blocking>>},
    {"both permits: three that block", of<handover<both, 1, blocking, blocking, blocking>>},
    {"both permits: one blocks, one with deadlines, one tries",
     of<handover<both, 2, blocking, timed, trying>>},
    {"both permits: event loop, abort and one that blocks",
     of<handover<both, 1, async, aborting, blocking>>},
};

/*
 * All of these order a notify after the wait for which it is meant. The critical sections of the
 * list do so already: see mutex.cpp. Those of `end` and `wake_loops` are for an event loop whose
 * claim another agent has replaced within its step: a claim that is taken over is too rare here.
 * The explorer has it, without weak memory.
 */
const spare spares[] = {
    {"lw_sem_acquire_step", lw_release, lw_relaxed},
    {"lw_sem_release_step", lw_acq_rel, lw_release},
    {"end", lw_acq_rel, lw_acquire},
    {"end", lw_acq_rel, lw_release},
    {"end", lw_acq_rel, lw_relaxed},
    {"wake_loops", lw_acquire, lw_relaxed},
};

} // namespace

int main()
{
    return check("semaphore", tests, spares);
}
