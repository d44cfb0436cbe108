/*
 * certificate.h: writes what a proof rests on, so that check.js can verify it.
 *
 * A certificate is the length of a JSON text, that text, and arrays of 32-bit numbers, all in the
 * machine's byte order. The text tells the proof's terms, which columns the arrays have, how many
 * rows, and the table of steps (runs_write). The arrays say
 *
 *   of the model      the words and the agents' states, each once; the states of one agent among
 *                     others, as numbers of those; what such an agent can do next; and which flags
 *                     its callers get when others change the words
 *   of the invariant  which of these states are pairs, and their marks
 */
#ifndef PROVER_CERTIFICATE_H
#define PROVER_CERTIFICATE_H

#include "pairs.h"

/* What the proof claims of a pair; IN_INVARIANT also that it is one. The last two of each word. */
enum { IN_INVARIANT = 1, MARKED_KEEPER = 2, MARKED_COVERED = 4, MARKED_OBLIGED = 8 };

/* Returns whether it could be written. `marks` are each pair's; the other two as in witnesses.h. */
bool certificate_write(const char *file, const struct pairs *pairs, const uint32_t *marks,
                       bool are_keepers);

#endif
