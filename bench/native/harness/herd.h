/* herd.h: what it costs to wake one of many blocked threads. */
#ifndef LOCKWORD_BENCH_HERD_H
#define LOCKWORD_BENCH_HERD_H

#include <stdio.h>

#include "asleep.h"

#define HERDS 4
#define HERD_ROUNDS 9

/*
 * Released: a release with so many blocked threads. Of a permit, or a notify: for one of them,
 * which comes back at once; another release follows. Of a lock: each passes it on to the next.
 * Sleeping: each thread takes turn after turn, and sleeps in it, while all others are blocked.
 */
enum bench_herd_kind { BENCH_RELEASED, BENCH_SLEEPING, BENCH_HERD_KINDS };

/*
 * For each turn of any thread; CPU time and switches are the whole process's. Served: the part of
 * the threads that had a turn at all.
 */
struct bench_turn_cost {
    double ns, cpu_ns, switches, served;
};

struct bench_herd {
    const struct bench_wait *waits[MAX_WAITS];
    int count;
    int rounds;
    double seconds; /* of sleeping turns, a round */
    struct bench_turn_cost costs[MAX_WAITS][BENCH_HERD_KINDS][HERDS][HERD_ROUNDS];
};

void bench_herd_add(struct bench_herd *herd, const struct bench_wait *wait);
void bench_herd_measure(struct bench_herd *herd);
void bench_print_herd(struct bench_herd *herd, FILE *out);
void bench_print_herd_json(struct bench_herd *herd, FILE *out);

#endif
