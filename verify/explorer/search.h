/*
 * search.h: all states, breadth first, and what must hold of them. Of states that differ only in
 * which of several agents does what, one is explored for all (symmetry.h).
 *
 *   - The primitive's invariants hold, in each state and for each transition.
 *   - Every caller can finish, from every state, by transitions on which it can count. Spurious
 *     wake-ups, timeouts, cancels and re-checks are none of these: they would hide a lost wake.
 *     Where an agent may have died, only re-checks are left: there they count. An agent that blocks
 *     while it has a caller in line makes its own event loop busy: where there is one, brief waits
 *     count.
 *   - Every call ends or comes to rest: no execution goes on without end while no call ends, except
 *     by spurious wake-ups and by re-checks that only engines make.
 *   - If chance decides which agent goes on, a waiter loses more turns than the bound allows at
 *     most once in a million times.
 *   - The second rule still holds if any set of event loops is frozen, of which none holds, or was
 *     given, what others wait for: the other agents can finish. Brief waits count here.
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

/*
 * Explores the current model. Writes the trace of a failure to `out`, if that is not NULL. Gives up
 * beyond this many states.
 */
struct verdict search(uint32_t most_states, FILE *out);

#endif
