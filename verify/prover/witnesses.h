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
 * A notify may be meant for some sleepers, and wake others; and some sleep on a generation, which
 * an agent changes before it notifies. So where the primitive says that a notify wakes all of a
 * kind (is_woken_with_all), two claims come first. They are about sleepers of that kind whose mark
 * was cleared: they are due.
 *
 *   - One that is about to sleep on a generation will not: an agent is about to change that.
 *   - One that sleeps will be woken: an agent is about to notify all who sleep there.
 *
 * The claim above is then about the other sleepers, and about those who are about to sleep on a
 * generation. A notify may wake one that is due in place of one that it is meant for, since the
 * agent that will wake all is a witness. A notify that wakes nobody serves nobody: one that is
 * about to sleep has not heard it.
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
    NEEDLESS = 16, /* by the first two claims: here no sleeper is uncovered, so none is needed */
};

/*
 * The claims are proved one after the other. The first two are about those of whom a notify wakes
 * all, and whose mark is gone.
 */
enum claim {
    ABOUT_TO_SLEEP, /* so an agent will change the generation before they sleep, or they will not */
    ASLEEP_TOGETHER, /* so an agent will wake them all: they are due */
    ALL_SLEEPERS,    /* all but those that are due */
    CLAIMS
};

struct witnesses {
    uint32_t word;
    bool is_made;         /* the claim: it is about any pair, and holds */
    unsigned char *marks; /* of each pair: bits of the above */
    struct fall *falls;   /* why a pair was taken from a set */
    uint32_t rounds;
    const char *error;
    bool is_reaction;
    size_t move; /* which move breaks the claim; or reaction */
};

/* Why a pair left a set: by a move, or by a reaction. */
struct fall {
    uint32_t move, reaction; /* plus one; 0: none */
    uint32_t round;          /* 0: it is in the set, or never was */
};

/*
 * The pledges: while the primitive's words are pledged (`pledges`; the mutex is reserved), there is
 * a keeper: an agent within a call that will end this. Returns of each pair which pledges it keeps,
 * one bit each. Where a pledge need not have a keeper, it covers nobody: then all count as keepers.
 * If that is so of all pledges, this function returns NULL.
 */
unsigned char *witnesses_keepers(struct pairs *pairs);

/*
 * All claims about this word. The last must hold, and has an error otherwise; nobody is due by one
 * of the others that does not hold. If there are `keepers`, a sleeper that keeps neither a pledge
 * nor a later one (a higher bit) may be covered by it. So nobody waits in a circle.
 */
void witnesses_find(struct witnesses claims[CLAIMS], struct pairs *pairs, uint32_t word,
                    const unsigned char *keepers, bool briefs_end);
void witnesses_close(struct witnesses claims[CLAIMS]);

/*
 * Whether an agent can run for ever, alone and without help, in no call that ends; other than by
 * polling where is_owed. Returns what is wrong, or NULL; and the pair.
 */
const char *witnesses_alone(struct pairs *pairs, uint32_t *pair);

/* Writes why the proof fails. */
void witnesses_print(FILE *out, const struct witnesses *witnesses, struct pairs *pairs);

#endif
