/*
 * mutex.cpp: src/core/mutex.c under C++'s memory model, by Relacy: data written under the mutex,
 * waits, timeouts and event loops, in random executions with every value that a weak machine may
 * read. Then each memory order that the core asks for is weakened, one at a time, and Relacy must
 * notice.
 */
#include <lockword/core/word.h>

#include "orders.h"

/* Few enough that executions of a few rounds reach a reservation. */
#define MAX_FAILED_WAITS 1u
#include "../../src/core/mutex.c"

#include "agents.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

struct shared {
    lw_word words[LW_MUTEX_WORDS];
    rl::var<unsigned> count;
    rl::var<unsigned> users;
};

/*
 * Agents of these kinds each lock, count and unlock so many times. The last one to leave frees the
 * mutex.
 */
template <int rounds, kind a, kind b, kind c = none>
struct contention : rl::test_suite<contention<rounds, a, b, c>, c == none ? 2 : 3> {
    static constexpr unsigned threads = c == none ? 2 : 3;

    shared *memory;
    agent everyone[threads];
    list waiting[LW_MUTEX_WORDS];
    unsigned counted; /* Relacy's threads are fibers: this is no race */

    void before()
    {
        memory = new shared;
        for (unsigned i = 0; i < LW_MUTEX_WORDS; i++) {
            memory->words[i].value.store(0, rl::mo_relaxed, $);
            waiting[i].address = &memory->words[i];
            waiting[i].size = 0;
        }
        for (agent &one : everyone)
            one.notified = one.pending = one.abandoned = false;
        memory->count($) = 0;
        memory->users($) = threads;
        counted = 0;
        lists = waiting;
    }

    bool lock(uint32_t id, agent &self, kind kind)
    {
        lw_word *words = memory->words;
        if (lw_mutex_take(words, id))
            return true;
        return kind == trying ? lw_mutex_try_step(words, id)
                              : run(lw_mutex_lock_step, words, id, self, kind);
    }

    void unlock(uint32_t id)
    {
        lw_word *words = memory->words;
        if (!lw_mutex_free(words, id))
            RL_ASSERT(lw_mutex_unlock_step(words, id));
    }

    void thread(unsigned index)
    {
        static const kind kinds[] = {a, b, c};
        agent &self = everyone[index];
        for (int i = 0; i < rounds; i++) {
            if (!lock(index + 1, self, kinds[index]))
                continue;
            memory->count($) = memory->count($) + 1;
            counted++;
            unlock(index + 1);
        }
        leave_for_good(index + 1, self);
    }

    void leave_for_good(uint32_t id, agent &self)
    {
        end(&memory->words[LW_MUTEX_GATE], self);
        while (!lock(id, self, blocking)) {
        }
        const unsigned left = memory->users($) - 1;
        memory->users($) = left;
        if (left == 0) {
            RL_ASSERT(memory->count($) == counted);
        }
        unlock(id);
        if (left == 0) {
            RL_ASSERT(memory->words[LW_MUTEX_STATE].value.load(rl::mo_relaxed, $) == 0);
            delete memory;
        }
    }
};

const test tests[] = {
    {"two that block, two rounds", rl::simulate<contention<2, blocking, blocking>>},
    {"three that block", rl::simulate<contention<1, blocking, blocking, blocking>>},
    {"two that block, one that tries", rl::simulate<contention<2, blocking, blocking, trying>>},
    {"one that blocks, two with deadlines", rl::simulate<contention<2, blocking, timed, timed>>},
    {"two event loops, one that blocks", rl::simulate<contention<2, blocking, async, async>>},
    {"event loop, abort and deadline", rl::simulate<contention<2, async, aborting, timed>>},
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

/*
 * A woken waiter owes a notify until it has marked the mutex again, and takes a mark that it only
 * reads for its own. Suppose that it could still read the mark which was cleared by the unlock that
 * woke it. It would then take its debt for paid, and strand the next waiter.
 */
void check_that_wakes_must_order(unsigned iterations)
{
    wakes_order = false;
    const verdict verdict = simulate(tests[1], iterations);
    wakes_order = true;
    printf("  %-60s %s, execution %lu%s\n", "a wake that orders nothing", verdict.error,
           verdict.iterations, verdict.ok ? ": SURVIVES" : "");
    report(!verdict.ok);
}

} // namespace

int main()
{
    puts("The mutex as it is written, under a weak memory:");
    check_as_written(tests, 500000);
    puts("\nWith one memory order weakened, what finds it:");
    check_weakenings(tests, spares, 100000);
    check_that_wakes_must_order(100000);
    return finish();
}
