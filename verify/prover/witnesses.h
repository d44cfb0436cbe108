/*
 * witnesses.h: why no waiter is stranded, if there are any number of agents.
 *
 * At each word, of all pairs (pairs.h):
 *
 *   sleepers  wait there, and do nothing unless they are helped
 *   actors    will do something without help
 *   covered   sleepers that the words themselves protect, for example because the mutex is held and
 *             marked
 *   obliged   actors that will, whatever else happens, end a wait at this word
 *
 * What is proved: in every state, all sleepers at the word are covered, or an agent is obliged (it
 * is a witness). The sets are the largest for which every transition keeps that true. They begin as
 * all actors, and all sleepers where the primitive says that they may be covered (is_owed). A pair
 * leaves them if a transition from it would break the claim. The proof fails if an agent that is
 * not obliged can become a sleeper that is not covered.
 *
 * Spurious wake-ups, timeouts, cancellations and re-checks may happen at any time, but no agent
 * counts on them. If the ends of brief waits are counted on, a brief sleeper is an actor.
 */
#ifndef PROVER_WITNESSES_H
#define PROVER_WITNESSES_H

#include "pairs.h"

enum {
    SLEEPER = 1,
    ACTOR = 2,
    COVERED = 4,
    OBLIGED = 8,
};

struct witnesses {
    uint32_t word;
    unsigned char *marks; /* of each pair: bits of the above */
    struct fall *falls;   /* why a pair was taken from a set */
    uint32_t rounds;
    const char *error;
    size_t move; /* which move breaks the claim */
};

/* Why a pair left a set: by a move, or by a reaction. */
struct fall {
    uint32_t move, reaction; /* plus one; 0: none */
    uint32_t round;          /* 0: it is in the set, or never was */
};

/*
 * The pledge: while the primitive's words are pledged (is_pledged; the mutex is reserved), there is
 * a keeper: an agent within a call that will end this. Returns of each pair whether it is a keeper,
 * or NULL if there need not be one.
 */
unsigned char *witnesses_keepers(struct pairs *pairs);

/*
 * Returns whether the word has sleepers at all. Those that are no keepers may be covered by the
 * pledge, if there are `keepers`.
 */
bool witnesses_find(struct witnesses *witnesses, struct pairs *pairs, uint32_t word,
                    const unsigned char *keepers, bool briefs_end);
void witnesses_close(struct witnesses *witnesses);

/*
 * Whether an agent can run for ever, alone and without help, in no call that ends; other than by
 * polling where is_owed. Returns what is wrong, or NULL; and the pair.
 */
const char *witnesses_alone(struct pairs *pairs, uint32_t *pair);

/* Writes why the proof fails. */
void witnesses_print(FILE *out, const struct witnesses *witnesses, struct pairs *pairs);

#endif
