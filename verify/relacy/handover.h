/*
 * handover.h: agents of given kinds each take something, use plain data under it, and hand it on,
 * this many times. The last one to leave frees the memory. `lock` supplies the words, their first
 * state, take, give, which agents write, and which states are free.
 */
#ifndef LOCKWORD_RELACY_HANDOVER_H
#define LOCKWORD_RELACY_HANDOVER_H

#include "agents.h"
#include "simulate.h"

namespace agents
{

/* Which word the first state is of: lock::first, or 0. */
template <class lock> constexpr auto first_of(int) -> decltype(lock::first)
{
    return lock::first;
}

template <class lock> constexpr unsigned first_of(long)
{
    return 0;
}

/* Whether a give may still write when others can take: lock::late, or false. */
template <class lock> constexpr auto writes_late(int) -> decltype(lock::late)
{
    return lock::late;
}

template <class lock> constexpr bool writes_late(long)
{
    return false;
}

/* The part of a lock that all agents take to write. */
struct all_write {
    static bool writes(unsigned)
    {
        return true;
    }
};

template <class lock, int rounds, kind a, kind b, kind c = none>
struct handover : harness::scenario {
    static constexpr unsigned threads = c == none ? 2 : 3;

    struct shared {
        lw_word words[lock::words];
        rl::var<unsigned> count;
        rl::var<unsigned> users;
    };

    shared *memory;
    agent everyone[threads];
    list waiting[lock::words];
    unsigned counted; /* Relacy's threads are fibers: this is no race */

    void before() override
    {
        memory = new shared;
        for (lw_word &word : memory->words)
            word.value.store(0, rl::mo_relaxed, $);
        memory->words[first_of<lock>(0)].value.store(lock::initial, rl::mo_relaxed, $);
        memory->count($) = 0;
        memory->users($) = threads;
        counted = 0;
        make_lists(waiting, memory->words);
    }

    void thread(unsigned index) override
    {
        static const kind kinds[] = {a, b, c};
        agent &self = everyone[index];
        const bool writes = lock::writes(index);
        for (int i = 0; i < rounds; i++) {
            if (!lock::take(memory->words, index + 1, self, kinds[index], writes))
                continue;
            const unsigned count = memory->count($);
            if (writes) {
                memory->count($) = count + 1;
                counted++;
            }
            lock::give(memory->words, index + 1, writes);
        }
        leave_for_good(index + 1, self);
    }

    void leave_for_good(uint32_t id, agent &self)
    {
        end(&memory->words[1], self);
        while (!lock::take(memory->words, id, self, blocking, true)) {
        }
        const unsigned left = memory->users($) - 1;
        memory->users($) = left;
        if (left == 0) {
            RL_ASSERT(memory->count($) == counted);
        }
        lock::give(memory->words, id, true);
        if (left == 0) {
            RL_ASSERT(lock::is_free(memory->words[0].value.load(rl::mo_relaxed, $)));
            if (!writes_late<lock>(0))
                delete memory;
        }
    }

    void after() override
    {
        if (writes_late<lock>(0))
            delete memory;
    }
};

} // namespace agents

#endif
