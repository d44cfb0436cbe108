/*
 * announcement.h: some agents each write a part of the data and announce it. One agent waits for
 * all of them, reads, and frees the memory. `what` supplies the words, their first state, announce,
 * and the step that waits.
 */
#ifndef LOCKWORD_RELACY_ANNOUNCEMENT_H
#define LOCKWORD_RELACY_ANNOUNCEMENT_H

#include "agents.h"
#include "simulate.h"

namespace agents
{

template <class what, unsigned announcers, kind reader> struct announcement : harness::scenario {
    static constexpr unsigned threads = announcers + 1;

    struct shared {
        lw_word words[what::words];
        rl::var<unsigned> parts[announcers];
    };

    shared *memory;
    agent self;
    list waiting[2];

    void before() override
    {
        memory = new shared;
        for (lw_word &word : memory->words)
            word.value.store(0, rl::mo_relaxed, $);
        memory->words[0].value.store(what::initial(announcers), rl::mo_relaxed, $);
        for (rl::var<unsigned> &part : memory->parts)
            part($) = 0;
        make_lists(waiting, memory->words);
    }

    void thread(unsigned index) override
    {
        if (index < announcers) {
            memory->parts[index]($) = 1;
            what::announce(memory->words);
            return;
        }
        const uint32_t since = what::initial(announcers);
        while (!run(what::wait, memory->words, since, self, reader)) {
        }
        unsigned sum = 0;
        for (rl::var<unsigned> &part : memory->parts)
            sum += part($);
        RL_ASSERT(sum == announcers);
        delete memory;
    }
};

} // namespace agents

#endif
