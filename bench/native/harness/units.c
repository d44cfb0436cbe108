/* units.c: what every loop calls, the units it is reckoned in, and the median. */
#include "measure.h"

#include <getopt.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define CALIBRATION_NS 20e6
#define CALIBRATION_STEPS 10000

_Noreturn void bench_die(const char *what)
{
    fprintf(stderr, "lockword-bench: %s\n", what);
    exit(2);
}

void bench_must(bool well, const char *what)
{
    if (!well)
        bench_die(what);
}

FILE *bench_options(int argc, char **argv, bool *quick, int *others)
{
    static const struct option options[] = {
        {"quick", no_argument, NULL, 'q'}, {"json", required_argument, NULL, 'j'}, {0}};
    const char *path = "/dev/null";
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == '?')
            bench_die("usage: [--quick] [--json FILE]");
        *quick |= option == 'q';
        path = option == 'j' ? optarg : path;
    }
    FILE *json = fopen(path, "w");
    bench_must(json, path);
    bench_must(others || optind == argc, "unexpected arguments");
    if (others)
        *others = argc - optind;
    return json;
}

/* A full table has a power of two of entries, and gets twice as many. */
void *bench_room(void *table, int count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return table;
    table = realloc(table, (count > 0 ? 2 * (size_t)count : 1) * size);
    if (!table)
        bench_die("no memory");
    return table;
}

void *bench_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (!memory)
        bench_die("no memory");
    return memory;
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void bench_sleep(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0)
        ;
}

/* Not fenced: on x86-64 it follows a lock's locked instruction, which is as good; elsewhere it may
 * be off by a few ns. */
uint64_t bench_stamp(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (uint64_t)bench_now();
#endif
}

void bench_work(uint64_t steps)
{
    uint64_t value = steps;
    for (uint64_t i = 0; i < steps; i++) {
        value *= 0x9e3779b97f4a7c15u;
        __asm__ volatile("" : "+r"(value));
    }
}

static unsigned bucket_of(uint64_t ticks)
{
    if (ticks < 8)
        return (unsigned)ticks;
    unsigned power = 63u - (unsigned)__builtin_clzll(ticks);
    return (power - 2) * 8 + (unsigned)(ticks >> (power - 3) & 7);
}

void bench_waited(struct bench_thread *thread, uint64_t asked, uint64_t got)
{
    /* Stamps of one thread on one CPU do not run backwards, but nothing here shall depend on it. */
    uint64_t ticks = got > asked ? got - asked : 0;
    thread->waits[bucket_of(ticks)]++;
    if (ticks > thread->longest)
        thread->longest = ticks;
}

struct bench_units bench_calibrate(void)
{
    double start = bench_now();
    uint64_t start_stamp = bench_stamp();
    double fastest = 1e9;
    double now;
    do {
        double before = bench_now();
        bench_work(CALIBRATION_STEPS);
        now = bench_now();
        /* The fastest, since an interrupt only ever adds. */
        if (now - before < fastest)
            fastest = now - before;
    } while (now - start < CALIBRATION_NS);
    return (struct bench_units){(now - start) / (double)(bench_stamp() - start_stamp),
                                fastest / CALIBRATION_STEPS};
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_median(double *samples, int n)
{
    qsort(samples, (size_t)n, sizeof *samples, compare);
    return n == 0 ? 0 : n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
}
