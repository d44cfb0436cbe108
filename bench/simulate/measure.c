/* measure.c: see measure.h. */
#define _GNU_SOURCE
#include "measure.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../include/lockword/compiler.h" /* a real pause */

#define ROUNDS 50
#define REPEATS 500
#define WAKES 100
#define ASLEEP_NS 100000 /* until a thread that falls asleep does, and its CPU is idle */

static _Alignas(128) uint32_t word;
static _Alignas(128) uint32_t stop;
static _Alignas(128) double woken_at;

static double real_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void pin(size_t k)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(k, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static size_t cpu[2]; /* two that this process may use */

static void find_cpus(void)
{
    cpu_set_t allowed;
    int found = 0;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (size_t k = 0; k < CPU_SETSIZE && found < 2; k++) {
        if (CPU_ISSET(k, &allowed))
            cpu[found++] = k;
    }
    if (found < 2) {
        fputs("lockword-simulate: --measure needs two CPUs\n", stderr);
        exit(2);
    }
}

static long futex(int operation, uint32_t value)
{
    return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void lock_word(void)
{
    __atomic_fetch_add(&word, 1, __ATOMIC_ACQ_REL);
}

static void relax(void)
{
    LW_RELAX();
}

static void read_clock(void)
{
    real_now();
}

static void yield(void)
{
    sched_yield();
}

static void call(void)
{
    futex(FUTEX_WAKE, 1);
}

static void wait_for_another(void)
{
    futex(FUTEX_WAIT, word + 1);
}

/* The least time that one of them takes, when it is done again and again. */
static double least_of(void (*act)(void))
{
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const double before = real_now();
        for (int k = 0; k < REPEATS; k++)
            act();
        const double ns = (real_now() - before) / REPEATS;
        least = ns < least ? ns : least;
    }
    return least;
}

static uint32_t peek(const uint32_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void *bounce_back(void *unused)
{
    pin(cpu[1]);
    while (!peek(&stop)) {
        if (peek(&word) == 1)
            __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
    }
    return unused;
}

/* A word's way to the other CPU: it is read there, and written, and the same back. */
static void bounce(void)
{
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    while (peek(&word) != 0)
        ;
}

static void *yield_back(void *unused)
{
    pin(cpu[0]);
    while (!peek(&stop))
        sched_yield();
    return unused;
}

static void *sleep_again(void *unused)
{
    pin(cpu[1]);
    for (uint32_t seen = 0; !peek(&stop); seen = peek(&word)) {
        while (peek(&word) == seen)
            futex(FUTEX_WAIT, seen);
        double now = real_now();
        __atomic_store(&woken_at, &now, __ATOMIC_RELEASE);
    }
    return unused;
}

static pthread_t start(void *(*run)(void *))
{
    pthread_t thread;
    word = stop = 0;
    if (pthread_create(&thread, NULL, run, NULL))
        abort();
    return thread;
}

static void finish(pthread_t thread)
{
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&word, 1, __ATOMIC_RELEASE);
    futex(FUTEX_WAKE, 1);
    pthread_join(thread, NULL);
}

static void spin_for(double ns)
{
    const double until = real_now() + ns;
    while (real_now() < until)
        ;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *samples, size_t n)
{
    qsort(samples, n, sizeof *samples, compare);
    return samples[n / 2];
}

static void measure_wakes(struct sim_costs *costs)
{
    double for_waker[WAKES], until_woken[WAKES];
    const pthread_t sleeper = start(sleep_again);
    for (int k = 0; k < WAKES; k++) {
        double woken;
        spin_for(ASLEEP_NS);
        const double before = real_now();
        __atomic_fetch_add(&word, 1, __ATOMIC_RELEASE);
        futex(FUTEX_WAKE, 1);
        for_waker[k] = real_now() - before;
        spin_for(ASLEEP_NS);
        __atomic_load(&woken_at, &woken, __ATOMIC_ACQUIRE);
        until_woken[k] = woken - before;
    }
    finish(sleeper);
    costs->wake = median(for_waker, WAKES) - costs->call;
    costs->idle = median(until_woken, WAKES) - costs->call;
}

void measure_costs(struct sim_costs *costs)
{
    find_cpus();
    pin(cpu[0]);
    costs->locked = least_of(lock_word);
    costs->pause = least_of(relax);
    costs->clock = least_of(read_clock);
    costs->yield = least_of(yield);
    costs->call = least_of(call);
    costs->wait = least_of(wait_for_another);
    pthread_t other = start(bounce_back);
    costs->move = least_of(bounce) / 4;
    finish(other);
    other = start(yield_back);
    costs->change = least_of(yield) / 2 - costs->yield;
    finish(other);
    measure_wakes(costs);
}
