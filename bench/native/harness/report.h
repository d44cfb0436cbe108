/* report.h: medians of what has been measured, as tables for a person and as JSON for
 * bench/plot.js. */
#ifndef LOCKWORD_BENCH_REPORT_H
#define LOCKWORD_BENCH_REPORT_H

#include <stdio.h>

#include "measure.h"

#define MAX_CELLS 64

/* One column of the benchmark: so many threads, sections of such a length. */
struct bench_cell {
    int threads;
    double section_ns; /* of work inside, and as much outside; 0: the increment alone */
    bool busy;         /* a thread that computes competes for each CPU */
};

/* Peers that compete in the same cells. */
struct bench_contest {
    const char *what;                /* in words */
    const struct bench_peer **peers; /* bench_enter */
    int peer_count;
    struct bench_cell cells[MAX_CELLS];
    int cell_count;
    int rounds;
    double seconds; /* a cell and round */
    struct bench_contention (*contend)(const struct bench_peer *peer, struct bench_run run,
                                       struct bench_units units);
    struct bench_contention *samples; /* bench_sample */
};

/* One more peer. */
static inline void bench_enter(struct bench_contest *contest, const struct bench_peer *peer)
{
    contest->peers = bench_room(contest->peers, contest->peer_count, sizeof *contest->peers);
    contest->peers[contest->peer_count++] = peer;
}

/* Where a cell's figures of one round are. */
static inline struct bench_contention *bench_sample(const struct bench_contest *contest, int peer,
                                                    int cell, int round)
{
    return &contest->samples[(peer * contest->cell_count + cell) * contest->rounds + round];
}

struct bench_family;
struct bench_asleep;
struct bench_herd;

struct bench_results {
    struct bench_contest mutex;
    struct bench_contest *fair; /* harness/fair.h; all in the same cells */
    int fair_count;

    int pair_rounds;
    struct bench_pair (*pairs)[MAX_ROUNDS]; /* of each peer of the mutex */
    double gap_ns[MAX_CELLS][MAX_ROUNDS];   /* the machine's: bench_longest_gap */
    double round_trip_ns[MAX_ROUNDS];

    const struct bench_family *family; /* harness/family.h */
    const struct bench_asleep *asleep; /* harness/asleep.h */
    struct bench_herd *herd;           /* harness/herd.h */
};

void bench_print(const struct bench_results *results, FILE *out);
void bench_print_json(const struct bench_results *results, FILE *out);

#endif
