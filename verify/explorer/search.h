/*
 * search.h: all states, breadth first, and what must hold of them.
 *
 *   - the primitive's invariants, in each state and for each transition;
 *   - everyone can finish, from every state, by transitions that one can count on. Spurious wakes, timeouts, cancels and re-checks
 * are none of these: they would hide a wake that got lost. Where an agent may have died, re-checks are all that is left: there they
 * count. An agent that blocks while it has a caller in line makes its own event loop busy: where there is one, brief waits count;
 *   - every call ends or comes to rest: no execution goes on without end while no call ends, other than by spurious wakes and by
 * re-checks that only engines make;
 *   - where chance decides who goes on, a waiter loses more turns than the bound allows at most once in a million times;
 *   - the same if any set of event loops is frozen, of which none holds, or was given, what others wait for: the others can finish.
 * Brief waits count here.
 */
#ifndef EXPLORER_SEARCH_H
#define EXPLORER_SEARCH_H

#include "model.h"
#include "store.h"

struct verdict {
    const char *error; /* NULL: everything holds */
    uint32_t states;
    uint64_t transitions;
    double seconds;
    uint32_t trace; /* length of the trace to the failure */
    double chance;  /* of more lost turns than the bound allows, where chance decides */
};

/* Explores the model in force. A failure's trace is written to `out`, if that is not NULL. Gives up beyond so many states. */
struct verdict search(uint32_t most_states, FILE *out);

#endif
