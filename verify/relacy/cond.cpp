/*
 * cond.cpp: src/core/cond.c with its mutex under C++'s memory model. An agent makes things under
 * the mutex; others wait for them and take them. The condition asks for no order, since the mutex
 * has all of them. So the mutex's orders are weakened, one at a time, and Relacy must notice.
 */
#include <lockword/core/word.h>

#include "orders.h"

#define MAX_FAILED_WAITS 1u
#include "../../src/core/cond.c"
#include "../../src/core/mutex.c"
#include "../../src/core/waiters.c"

#include "agents.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

enum { mutex = LW_COND_WORDS, all_words = LW_COND_WORDS + LW_MUTEX_WORDS };

/* How the maker notifies; and a mistake: the sequence is read when the mutex has been given up. */
enum manner { after_the_unlock, under_the_mutex, read_late };

struct shared {
    lw_word words[all_words];
    rl::var<unsigned> made;
};

/* Two agents of these kinds take so many things each, which a third makes. */
template <int rounds, kind a, kind b, manner manner> struct exchange : scenario {
    static constexpr unsigned threads = 3;

    shared *memory;
    agent everyone[threads];
    list waiting[all_words];

    void before() override
    {
        memory = new shared;
        for (lw_word &word : memory->words)
            word.value.store(0, rl::mo_relaxed, $);
        memory->made($) = 0;
        make_lists(waiting, memory->words);
    }

    void after() override
    {
        delete memory;
    }

    void lock(unsigned index)
    {
        while (
            !run(lw_mutex_lock_step, &memory->words[mutex], index + 1, everyone[index], blocking)) {
        }
    }

    void unlock(unsigned index)
    {
        RL_ASSERT(lw_mutex_unlock_step(&memory->words[mutex], index + 1));
    }

    void wait_once(unsigned index, kind kind)
    {
        lw_word *words = memory->words;
        uint32_t sequence = lw_cond_enter_step(words);
        unlock(index);
        if (manner == read_late)
            sequence = words[LW_COND_SEQUENCE].value.load(rl::mo_relaxed, $);
        run(lw_cond_wait_step, words, sequence, everyone[index], kind);
        lock(index);
    }

    void take(unsigned index, kind kind)
    {
        lock(index);
        for (int i = 0; i < rounds; i++) {
            while (memory->made($) == 0)
                wait_once(index, kind);
            memory->made($) = memory->made($) - 1;
        }
        unlock(index);
    }

    void make(unsigned index)
    {
        for (int i = 0; i < 2 * rounds; i++) {
            lock(index);
            memory->made($) = memory->made($) + 1;
            if (manner == under_the_mutex)
                lw_cond_notify_step(memory->words, 1);
            unlock(index);
            if (manner != under_the_mutex)
                lw_cond_notify_step(memory->words, 1);
        }
    }

    void thread(unsigned index) override
    {
        if (index == 2)
            make(index);
        else
            take(index, index == 0 ? a : b);
    }
};

const test tests[] = {
    {"notified after the unlock", of<exchange<1, blocking, blocking, after_the_unlock>>},
    {"notified under the mutex", of<exchange<1, blocking, blocking, under_the_mutex>>},
    {"one with deadlines, two rounds", of<exchange<2, blocking, timed, under_the_mutex>>},
};

/* See mutex.cpp. */
const spare spares[] = {
    {"lw_mutex_lock_step", lw_release, lw_relaxed},
    {"lw_mutex_unlock_step", lw_acq_rel, lw_release},
};

const test late = {"late", of<exchange<1, blocking, blocking, read_late>>};

void check_that_the_sequence_must_be_read_under_the_mutex(unsigned iterations)
{
    const verdict verdict = by_chance(late, iterations);
    printf("  %-60s %s, execution %lu%s\n", "a sequence that is read after the unlock",
           verdict.error, verdict.iterations, verdict.ok ? ": SURVIVES" : "");
    report(!verdict.ok);
}

} // namespace

int main()
{
    puts("The condition as it is written, under a weak memory:");
    check_as_written(tests, 20000);
    puts("\nWith one memory order of its mutex weakened, what finds it:");
    check_weakenings(tests, spares, 20000);
    check_that_the_sequence_must_be_read_under_the_mutex(20000);
    return finish();
}
