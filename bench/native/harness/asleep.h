/* asleep.h: what blocked threads cost while their holder does nothing. */
#ifndef LOCKWORD_BENCH_ASLEEP_H
#define LOCKWORD_BENCH_ASLEEP_H

#include <stdio.h>

#include "../bench.h"

#define MAX_WAITS 64
#define CROWDS 3

/* Of all waiters of a crowd together. */
struct bench_rest {
    double cpu;     /* CPU time, in seconds a second */
    double wakings; /* a second: voluntary context switches */
};

struct bench_asleep {
    const struct bench_wait *waits[MAX_WAITS];
    int count;
    double seconds;
    struct bench_rest rests[MAX_WAITS][CROWDS];
};

/* What threads wait for, in words. NULL: threads of these do not merely sleep. */
extern const char *const bench_blocks[BENCH_BLOCKS];

void bench_asleep_add(struct bench_asleep *asleep, const struct bench_wait *wait);
/* All at once: threads that sleep do not disturb each other. */
void bench_asleep_measure(struct bench_asleep *asleep);
void bench_print_asleep(const struct bench_asleep *asleep, FILE *out);
void bench_print_asleep_json(const struct bench_asleep *asleep, FILE *out);

#endif
