/*
 * agents.h: what surrounds a step, under Relacy: agents that block, give up, or wait at a gate, and
 * the lists on which they wait. A list promises what ECMAScript and the kernel do, and no more. To
 * compare the word and join the list is one critical section, a notify is another, and a woken
 * agent passes through a third. So a notify finds the agents that joined before it. An agent that
 * joins after it sees what was written before it, and so does an agent that it woke.
 */
#ifndef LOCKWORD_RELACY_AGENTS_H
#define LOCKWORD_RELACY_AGENTS_H

#include <lockword/core/step.h>

namespace agents
{

enum { most = 4 };

enum kind {
    none,
    blocking, /* waits as long as it takes */
    timed,    /* gives up, by chance */
    trying,   /* never waits */
    async,    /* waits at the gate */
    aborting, /* the same, and cancels, by chance */
};

struct agent {
    rl::waitset<most> bed;
    bool notified = false;
    bool pending = false;   /* async: waits at the gate */
    bool abandoned = false; /* async: a wait that no agent needs any more */
};

/* By address, like a kernel's or an engine's, so that it outlives the word. */
struct list {
    const void *address;
    rl::mutex lock;
    agent *waiters[most];
    unsigned size = 0;

    list();
    ~list();
    bool remove(agent *who);
};

/* Set by the test before its threads run. */
extern list *lists;

/* The lists of the words at which anybody waits. */
template <unsigned n> void make_lists(list (&waiting)[n], lw_word *words)
{
    for (unsigned i = 0; i < n; i++)
        waiting[i].address = &words[i];
    lists = waiting;
}

/*
 * Whether a woken agent sees what was written before its notify. False is no platform that we know:
 * it shows what leans on it.
 */
extern bool wakes_order;

/*
 * Whether an agent that falls asleep compares the word and joins the list at once. False is no
 * platform either.
 */
extern bool joins_at_once;

/* Runs a step to its end, as the agent's kind does. */
bool run(lw_step *step, lw_word *words, uint32_t wanted, agent &self, kind kind);

/*
 * An agent that ends leaves its wait behind: a notify that reached this wait, or will, belongs to
 * another agent.
 */
void end(lw_word *gate, agent &self);

} // namespace agents

#endif
