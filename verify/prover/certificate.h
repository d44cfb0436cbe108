/*
 * certificate.h: writes what a proof rests on, so that check.js can verify it.
 *
 * A certificate is the length of a JSON text, that text, and arrays of 32-bit numbers, all in the
 * machine's byte order. The text tells the proof's terms, which columns the arrays have, how many
 * rows, and the table of steps (runs_write). The arrays say
 *
 *   of the model      the words and the agents' states, each once; the states of one agent among
 *                     others, as numbers of those; what such an agent can do next; and which flags
 *                     its callers get, and what its run forgets, when others change the words
 *   of the invariant  which of these states are pairs, and their marks
 */
#ifndef PROVER_CERTIFICATE_H
#define PROVER_CERTIFICATE_H

#include "pairs.h"

/*
 * What the proof claims of a pair: that it is one, and which pledges it keeps; by which claims of
 * each word (enum claim, one bit each) it is covered, and obliged.
 */
struct mark {
    uint32_t is, covered, obliged;
};
enum { IN_INVARIANT = 1, KEEPS = 2 };

/* Which claims it makes: as those of marks, and whether pledges have keepers. */
struct claims {
    uint32_t made;
    bool are_keepers;
};

/* Returns whether it could be written. */
bool certificate_write(const char *file, const struct pairs *pairs, const struct mark *marks,
                       struct claims claims);

#endif
