/* explorer.h: what the file of a primitive includes, and the program that it becomes. */
#ifndef EXPLORER_H
#define EXPLORER_H

#include "model.h"

/*
 * Explores the primitive's configurations and prints a table; the exit status is 1 if anything
 * fails.
 *
 *   --deep          the large configurations, too: minutes, and gigabytes
 *   --only N        configuration N alone
 *   --dump FILE     writes what every call did, as JSON lines
 *   --kill          the small configurations, up to the first failure, and one line about it: for
 *                   mutants.js
 *   --prove         instead, the proofs for any number of agents (../prover); with --deep or
 *                   --kill, those that are large, or the small ones quietly
 *   --certificates PREFIX  writes what proof N rests on to the file PREFIX-N
 */
int explorer_main(const struct primitive *primitive, int argc, char **argv);

#endif
