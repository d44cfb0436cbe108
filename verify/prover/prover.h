/* prover.h: `explore-NAME --prove`: the primitive, for any number of agents. */
#ifndef PROVER_H
#define PROVER_H

#include "../explorer/model.h"

/*
 * Makes the primitive's proofs that are not larger than `most`, and prints a table, with the reason
 * if one fails. Returns whether all hold. If it is quiet, it ends with the first that fails, and
 * prints one line about that. What proof N rests on is written to the file CERTIFICATES-N, if that
 * is not NULL: certificate.h.
 */
bool prove(const struct primitive *primitive, int most, bool is_quiet, const char *certificates);

#endif
