/*
 * symmetry.h: agents of the same letters and sizes are alike: what one can do, each can. So a state
 * and the one in which two of them have changed places lead to the same failures, and one of the
 * two is explored for both: of all such states the one that is least, compared as bytes.
 *
 *   - What names an agent in a state names it by its place. So words, ghosts, expected values and
 *     runs change, too. Where the primitive does not say which arguments of a call are ids, or
 *     where waiters have places in a queue, no agents are alike.
 *   - A way on from a state is one from the other, with the names changed. So what is out of reach
 *     stays so. While some agents are frozen, each link says where it takes them. A circle leads,
 *     after some rounds, back to the agent with which it began.
 *   - A transition keeps the number of its agent in the state that it leaves, and two that lead to
 *     the same state stay two. So chances are as they were.
 *
 * That the model and the primitive do treat such agents alike is checked in some states of each
 * exploration.
 */
#ifndef EXPLORER_SYMMETRY_H
#define EXPLORER_SYMMETRY_H

#include "model.h"

/* Where each agent goes: two bits each, agent 0 in the lowest. */
typedef uint8_t permutation;

#define SAME_PLACES 0xe4

_Static_assert(MAX_AGENTS <= 4, "a permutation is a byte");

/* Finds out which agents of the current model are alike. Returns whether any are. */
bool symmetry_begin(void);

/*
 * Packs the state, or what it becomes if agents that are alike change places so that this is least.
 * Returns where each has gone.
 */
permutation symmetry_pack(const struct state *state, unsigned char *packed);

/* Where these agents have gone, one bit each. */
unsigned symmetry_places(permutation places, unsigned agents);

/*
 * Has agents that are alike change places, in a way that depends on the number. Returns whether the
 * successors are the same but for this, and so is what the questions ask of the agents.
 */
bool symmetry_holds(const struct state *state, uint32_t number);

#endif
