/* measure.h: one measurement each, and the median of several. Choosing rounds and interleaving
 * peers is up to the caller. */
#ifndef LOCKWORD_BENCH_MEASURE_H
#define LOCKWORD_BENCH_MEASURE_H

#include <stddef.h>
#include <stdio.h>

#include "../bench.h"

#define BENCH_MUTEX_SIZE BENCH_OBJECT_SIZE
#define BENCH_MAX_THREADS 64
#define MAX_ROUNDS 1000

/* Units of time that the other functions need, measured once, on the thread's own CPU. */
struct bench_units {
    double ns_per_tick; /* of bench_stamp */
    double ns_per_step; /* of bench_work */
};

struct bench_units bench_calibrate(void);

/* Reorders the samples. */
double bench_median(double *samples, int n);

/* Says what is wrong, and ends the benchmark; or does so unless all is well. */
_Noreturn void bench_die(const char *what);
void bench_must(bool well, const char *what);

/*
 * The options of the programs besides lockword-bench: --quick, and --json FILE. Returns that file,
 * or one that forgets, and how many other arguments there are (NULL: none may be), which are the
 * last ones of argv.
 */
FILE *bench_options(int argc, char **argv, bool *quick, int *others);

/* Returns the table with room for one more entry than it has, of so many bytes each. A table
 * starts as NULL. */
void *bench_room(void *table, int count, size_t size);

/* Memory for so many entries of so many bytes each, zeroed. */
void *bench_zeroed(size_t count, size_t size);

/* The monotonic clock, ns. */
double bench_now(void);
void bench_sleep(double seconds);

/* How many CPUs this process may use, and the pinning of the calling thread to one: the k-th of
 * them, counted round and round. */
int bench_cpus(void);
void bench_pin(int k);

/*
 * ns for one uncontended lock and unlock, with nothing or with an increment between them, over a
 * round of so many. Where the mutex and the counter lie changes the latter by several per cent:
 * each round has places of its own, the same for all peers.
 */
struct bench_pair {
    double empty;
    double increment;
};

struct bench_pair bench_pair(const struct bench_peer *peer, uint64_t pairs, int round);

/*
 * From now on the process has two threads, one of them asleep. glibc's locks use no atomic
 * operation while there is only one, which is not what a lock is for.
 */
void bench_have_threads(void);

/* Between these, another thread computes on each of so many CPUs. */
void bench_begin_busy(int cpus);
void bench_end_busy(int cpus);

/* So long lockword remembers, at most, that CPUs were busy. */
#define BENCH_BUSY_S 1.2

/* How one operation of the family is measured. */
struct bench_effort {
    int threads; /* if it takes several: the CPUs get them in turn */
    uint64_t turns;
    bool busy; /* on every CPU another thread computes meanwhile */
};

/* ns for one operation of the family, over a round, at the round's place. */
double bench_operate(const struct bench_operation *operation, struct bench_effort effort,
                     int round);

/* The same for one that two threads do at once, each at its own pace for so long: ns for a turn of
 * either. */
double bench_operate_together(const struct bench_operation *operation, double seconds, int round);

struct bench_run {
    int threads;
    uint64_t steps; /* of work inside and outside the section */
    bool stamped;   /* measure waits; costs two time stamps a turn */
    bool busy;      /* on every CPU of theirs another thread computes meanwhile */
    double seconds;
};

struct bench_contention {
    double mops;   /* million turns a second, of all threads */
    double share;  /* turns of the luckiest thread for each of the unluckiest */
    double p50_ns; /* of all waits; 0 unless stamped */
    double p99_ns;
    double longest_ns;
    double cpus; /* CPU time used, in seconds a second */
};

struct bench_contention bench_contend(const struct bench_peer *peer, struct bench_run run,
                                      struct bench_units units);

/*
 * What of a longest wait may be the machine's: the longest time, in ns, between two looks at the
 * clock by threads that do nothing else, one on each CPU that such a run uses, for as long.
 * Whatever stops them there, would have stopped a lock's holder.
 */
double bench_longest_gap(struct bench_run run, struct bench_units units);

/* ns for a word to go from one CPU's cache to another's and back. 0 where there is one CPU. */
double bench_round_trip(void);

#endif
