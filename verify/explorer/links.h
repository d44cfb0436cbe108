/*
 * links.h: the transitions that the questions of liveness are about, and which states can reach
 * which by them.
 */
#ifndef EXPLORER_LINKS_H
#define EXPLORER_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symmetry.h"

struct link {
    uint32_t to;
    uint8_t help; /* kinds of HELP that it needs */
    uint8_t agent;
    permutation places; /* where the agents are to be found in the state that it leads to */
    bool is_motion;     /* happens for a reason, and ends no call */
};

_Static_assert(HELP <= UINT8_MAX, "a link has room for all kinds of help");

/* Those from state s are all[first[s]] to all[first[s + 1] - 1]. */
struct links {
    size_t count, capacity;
    struct link *all;
    size_t *first;
    uint32_t states, state_capacity;
};

/*
 * The transitions that a question counts on: those that need no other help, and are made by no
 * frozen agent.
 */
struct reliance {
    unsigned help;
    unsigned frozen; /* agents, one bit each */
};

/* The links that are added next come from the state after the last one. */
void links_begin_state(struct links *links);
void links_add(struct links *links, struct link link);
/* To be called once all are there. */
void links_end(struct links *links);
void links_close(struct links *links);

/*
 * Sets of agents that are frozen, one bit each: bit n is for the set whose agents are the bits of
 * n.
 */
typedef uint16_t frozen_sets;

/*
 * For each of these sets, marks all states from which a marked one can be reached with this help
 * while that set is frozen.
 */
void links_spread_backwards(const struct links *links, unsigned help, frozen_sets sets,
                            frozen_sets *marked);

/* Marks all states on a circle of motions, and those between two circles. */
void links_mark_circles(const struct links *links, unsigned char *marked);

/* Whether a link leads on from the state. */
bool links_lead_on(const struct links *links, struct reliance reliance, uint32_t state);

#endif
