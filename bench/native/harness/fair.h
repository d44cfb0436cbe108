/* fair.h: contended cells of the semaphore and the read-write lock, as contests of their peers. */
#ifndef LOCKWORD_BENCH_FAIR_H
#define LOCKWORD_BENCH_FAIR_H

#include "report.h"

#define FAIR_CONTESTS 8

/* Fills in what is contested, and the peers that have it. The list of waits ends with NULL. */
void bench_fair_enter(struct bench_contest contests[FAIR_CONTESTS],
                      const struct bench_wait *const waits[]);

/* bench_contend for a peer of these contests. */
struct bench_contention bench_fair_contend(const struct bench_peer *peer, struct bench_run run,
                                           struct bench_units units);

#endif
