/* asleep.h: what blocked threads cost while their holder does nothing, and how late one of them
 * runs after it was released. */
#ifndef LOCKWORD_BENCH_ASLEEP_H
#define LOCKWORD_BENCH_ASLEEP_H

#include <stdio.h>

#include "../bench.h"

#define MAX_WAITS 64
#define CROWDS 3
#define MAX_WAKES 101

/* Of all waiters of a crowd together. */
struct bench_rest {
    double cpu;     /* CPU time, in seconds a second */
    double wakings; /* a second: voluntary context switches */
};

/* From the release to the section of the one that waited for it, beside busy threads, ns. */
struct bench_late {
    double median, p90, mean;
};

struct bench_asleep {
    const struct bench_wait *waits[MAX_WAITS];
    int count;
    double seconds;
    struct bench_rest rests[MAX_WAITS][CROWDS];
    int wakes; /* of one waiter, beside busy threads */
    struct bench_late late[MAX_WAITS];
};

/* What threads wait for, in words. NULL: threads of these do not merely sleep. */
extern const char *const bench_blocks[BENCH_BLOCKS];

void bench_asleep_add(struct bench_asleep *asleep, const struct bench_wait *wait);
/* All crowds at once: threads that sleep do not disturb each other. Then one wake-up at a time. */
void bench_asleep_measure(struct bench_asleep *asleep);
void bench_print_asleep(const struct bench_asleep *asleep, FILE *out);
void bench_print_asleep_json(const struct bench_asleep *asleep, FILE *out);

#endif
