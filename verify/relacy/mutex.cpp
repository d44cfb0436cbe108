/*
 * mutex.cpp: src/core/mutex.c under C++'s memory model, by Relacy: data written under the mutex,
 * waits, timeouts and event loops, in random executions with every value that a weak machine may
 * read. Then each memory order that the core asks for is weakened, one at a time, and Relacy must
 * notice.
 */
#include "orders.h"

/* Few enough that executions of a few rounds reach a reservation. */
#define MAX_FAILED_WAITS 1u
#include "../../src/core/mutex.c"
#include "../../src/core/waiters.c"

#include "handover.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

struct held : all_write {
    static constexpr unsigned words = LW_MUTEX_WORDS;
    static constexpr uint32_t initial = 0;

    static bool is_free(uint32_t state)
    {
        return state == 0;
    }

    static bool take(lw_word *mutex, uint32_t id, agent &self, kind kind, bool)
    {
        if (lw_mutex_take(mutex, id))
            return true;
        return kind == trying ? lw_mutex_try_step(mutex, id)
                              : run(lw_mutex_lock_step, mutex, id, self, kind);
    }

    static void give(lw_word *mutex, uint32_t id, bool)
    {
        if (!lw_mutex_free(mutex, id))
            RL_ASSERT(lw_mutex_unlock_step(mutex, id));
    }
};

const test tests[] = {
    {"two that block, two rounds", of<handover<held, 2, blocking, blocking>>},
    {"three that block", of<handover<held, 1, blocking, blocking, blocking>>},
    {"two that block, one that tries", of<handover<held, 2, blocking, blocking, trying>>},
    {"one that blocks, two with deadlines", of<handover<held, 2, blocking, timed, timed>>},
    {"two event loops, one that blocks", of<handover<held, 2, blocking, async, async>>},
    {"event loop, abort and deadline", of<handover<held, 2, async, aborting, timed>>},
};

/*
 * Orders that the mutex could do without. All three order a notify after the wait for which it is
 * meant, and the critical sections of the list do so already. A waiter that marks has joined the
 * list, or joins it only while the word still holds the mark. If the notify's critical section had
 * come first, the wait's would have seen what the notifier wrote before it. These orders stay,
 * since they cost nothing on today's machines, and since they make the mutex right for lists that
 * promise less.
 */
const spare spares[] = {
    {"lw_mutex_lock_step", lw_release, lw_relaxed},
    {"lw_mutex_unlock_step", lw_acq_rel, lw_release},
    {"withdraw", lw_acquire, lw_relaxed},
};

/* What the platform promises, and this test needs: without it, Relacy must notice. */
void check_that_it_needs(bool &promise, const test &test, const char *without, unsigned iterations)
{
    promise = false;
    const verdict verdict = by_chance(test, iterations);
    promise = true;
    printf("  %-60s %s, execution %lu%s\n", without, verdict.error, verdict.iterations,
           verdict.ok ? ": SURVIVES" : "");
    report(!verdict.ok);
}

} // namespace

int main()
{
    puts("The mutex as it is written, under a weak memory:");
    check_as_written(tests, 20000);
    puts("\nWith one memory order weakened, what finds it:");
    check_weakenings(tests, spares, 20000);
    /*
     * A woken waiter owes a notify until it has marked the mutex again, and takes a mark that it
     * only reads for its own. Suppose that it could still read the mark which was cleared by the
     * unlock that woke it. It would then take its debt for paid, and strand the next waiter.
     */
    check_that_it_needs(wakes_order, tests[1], "a wake that orders nothing", 100000);
    /* The unlock could clear the mark, and notify, between the comparison and the sleep. */
    check_that_it_needs(joins_at_once, tests[0], "a wait that compares first, and joins then",
                        100000);
    return finish();
}
