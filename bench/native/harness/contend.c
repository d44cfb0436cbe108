/* contend.c: the measurements. */
#include "measure.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUSY_STEPS 10000 /* some 15 us: how late a busy thread may be to stop */
#define CACHE_LINES 128  /* two of 64 bytes: the prefetcher fetches pairs */

/* How long the sections of each run are increments first: a lock that adapts has to adapt again. */
#define INCREMENTS_S 0.01

_Static_assert(BENCH_MUTEX_SIZE >= CACHE_LINES, "nothing shares a mutex's cache lines");

/* One place for all peers, so that none is luckier with its address. */
static struct {
    _Alignas(CACHE_LINES) char mutex[BENCH_MUTEX_SIZE];
    _Alignas(CACHE_LINES) uint64_t count;
    _Alignas(CACHE_LINES) uint32_t stop;
    _Alignas(CACHE_LINES) uint32_t stop_increments;
} shared;

#define PLACES 256

/* As many turns go unnoticed by the clock, and by the thread that stops them. */
#define TURNS_TOGETHER 100

struct bench_pair bench_pair(const struct bench_peer *peer, uint64_t pairs, int round)
{
    static _Alignas(4096) char mutexes[PLACES][BENCH_MUTEX_SIZE], counts[PLACES][CACHE_LINES];
    /* Multiples of odd numbers visit every place before they repeat. */
    void *mutex = mutexes[round * 37 % PLACES];
    uint64_t *count = (uint64_t *)(void *)counts[round * 101 % PLACES];
    memset(mutex, 0, BENCH_MUTEX_SIZE);
    peer->init(mutex);
    peer->pairs(mutex, pairs / 10);
    double start = bench_now();
    peer->pairs(mutex, pairs);
    double between = bench_now();
    peer->increments(mutex, pairs, count);
    double end = bench_now();
    peer->destroy(mutex);
    return (struct bench_pair){(between - start) / (double)pairs, (end - between) / (double)pairs};
}

/* An operation's object, at the round's place. */
static void *ready(const struct bench_operation *operation, int round)
{
    static _Alignas(4096) char objects[PLACES][BENCH_OBJECT_SIZE];
    void *object = objects[round * 37 % PLACES];
    memset(object, 0, BENCH_OBJECT_SIZE);
    if (operation->init)
        operation->init(object);
    return object;
}

/* A program that has nothing to do with the lock, on one CPU. */
struct stranger {
    pthread_barrier_t *start;
    int cpu;
    pthread_t thread;
};

static void *compute(void *argument)
{
    const struct stranger *stranger = argument;
    bench_pin(stranger->cpu);
    pthread_barrier_wait(stranger->start);
    while (!__atomic_load_n(&shared.stop, __ATOMIC_RELAXED))
        bench_work(BUSY_STEPS);
    return NULL;
}

static struct stranger strangers[BENCH_MAX_THREADS];

/* They begin at the barrier, and end when told to stop. */
static void start_strangers(int count, pthread_barrier_t *start)
{
    for (int k = 0; k < count; k++) {
        strangers[k] = (struct stranger){.start = start, .cpu = k};
        if (pthread_create(&strangers[k].thread, NULL, compute, &strangers[k]))
            abort();
    }
}

static void join_strangers(int count)
{
    for (int k = 0; k < count; k++)
        pthread_join(strangers[k].thread, NULL);
}

void bench_begin_busy(int cpus)
{
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)cpus + 1);
    shared.stop = 0;
    start_strangers(cpus, &start);
    pthread_barrier_wait(&start);
    pthread_barrier_destroy(&start);
}

void bench_end_busy(int cpus)
{
    __atomic_store_n(&shared.stop, 1, __ATOMIC_RELAXED);
    join_strangers(cpus);
}

struct partner {
    const struct bench_operation *operation;
    void *object;
    uint64_t turns;
    int cpu;
    pthread_t thread;
};

static void *accompany(void *argument)
{
    const struct partner *partner = argument;
    bench_pin(partner->cpu);
    partner->operation->partner(partner->object, partner->turns);
    return NULL;
}

double bench_operate(const struct bench_operation *operation, struct bench_effort effort, int round)
{
    static struct partner partners[BENCH_MAX_THREADS];
    void *object = ready(operation, round);
    const uint64_t first =
        (effort.turns + 9) /
        10; /* not measured: the partners have yet to start, and caches to fill */
    const int busy = effort.busy ? bench_cpus() : 0;
    bench_begin_busy(busy);
    for (int k = 1; k < effort.threads; k++) {
        partners[k] = (struct partner){
            .operation = operation, .object = object, .turns = first + effort.turns, .cpu = k};
        if (pthread_create(&partners[k].thread, NULL, accompany, &partners[k]))
            abort();
    }
    operation->turns(object, first);
    const double before = bench_now();
    operation->turns(object, effort.turns);
    const double ns = bench_now() - before;
    for (int k = 1; k < effort.threads; k++)
        pthread_join(partners[k].thread, NULL);
    bench_end_busy(busy);
    if (operation->destroy)
        operation->destroy(object);
    return ns / (double)effort.turns;
}

struct companion {
    const struct bench_operation *operation;
    void *object;
    pthread_barrier_t start;
    uint64_t turns;
};

static void *operate_until_stopped(void *argument)
{
    struct companion *companion = argument;
    bench_pin(1);
    pthread_barrier_wait(&companion->start);
    for (; !__atomic_load_n(&shared.stop, __ATOMIC_RELAXED); companion->turns += TURNS_TOGETHER)
        companion->operation->partner(companion->object, TURNS_TOGETHER);
    return NULL;
}

double bench_operate_together(const struct bench_operation *operation, double seconds, int round)
{
    struct companion companion = {.operation = operation, .object = ready(operation, round)};
    pthread_t thread;
    shared.stop = 0;
    pthread_barrier_init(&companion.start, NULL, 2);
    if (pthread_create(&thread, NULL, operate_until_stopped, &companion))
        abort();
    pthread_barrier_wait(&companion.start);
    uint64_t turns = 0;
    const double start = bench_now();
    double ns;
    do {
        operation->turns(companion.object, TURNS_TOGETHER);
        turns += TURNS_TOGETHER;
        ns = bench_now() - start;
    } while (ns < seconds * 1e9);
    __atomic_store_n(&shared.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&companion.start);
    if (operation->destroy)
        operation->destroy(companion.object);
    return ns / (double)(turns + companion.turns);
}

static void *sleep_for_ever(void *unused)
{
    for (;;)
        bench_sleep(3600);
    return unused;
}

void bench_have_threads(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleep_for_ever, NULL))
        abort();
}

struct worker {
    _Alignas(CACHE_LINES) struct bench_thread turns;
    uint64_t increments; /* turns before those that are measured */
    const struct bench_peer *peer;
    pthread_barrier_t *increment, *start;
    int cpu;
    double began; /* bench_now */
    double cpu_ns;
    pthread_t thread;
};

static double cpu_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct bench_thread increments = worker->turns;
    increments.stop = &shared.stop_increments;
    increments.steps = increments.stamped = 0;
    bench_pin(worker->cpu);
    pthread_barrier_wait(worker->increment);
    worker->peer->contend(&increments);
    worker->increments = increments.turns;
    pthread_barrier_wait(worker->start);
    worker->began = bench_now();
    double before = cpu_time();
    worker->peer->contend(&worker->turns);
    worker->cpu_ns = cpu_time() - before;
    return NULL;
}

/* The wait, in ticks, that at most this share of all waits exceed. */
static double exceeded_by(double share, const struct worker *workers, int threads)
{
    uint64_t waits[BENCH_BUCKETS] = {0};
    uint64_t all = 0;
    for (int k = 0; k < threads; k++) {
        for (int b = 0; b < BENCH_BUCKETS; b++) {
            waits[b] += workers[k].turns.waits[b];
            all += workers[k].turns.waits[b];
        }
    }
    uint64_t longer = 0;
    unsigned b = BENCH_BUCKETS;
    while (b > 0 && (double)longer <= (double)all * share)
        longer += waits[--b];
    return b < 8 ? (double)b : (double)((8ull + b % 8) << (b / 8 - 1));
}

static struct bench_contention summarise(const struct worker *workers, struct bench_run run,
                                         struct bench_units units, double ns)
{
    struct bench_contention result = {0};
    uint64_t all = 0, most = 0, least = UINT64_MAX, longest = 0;
    for (int k = 0; k < run.threads; k++) {
        uint64_t turns = workers[k].turns.turns;
        all += turns;
        most = turns > most ? turns : most;
        least = turns < least ? turns : least;
        longest = workers[k].turns.longest > longest ? workers[k].turns.longest : longest;
        result.cpus += workers[k].cpu_ns / ns;
    }
    result.mops = (double)all / ns * 1e3;
    result.share = (double)most / (double)(least ? least : 1);
    if (run.stamped) {
        result.p50_ns = exceeded_by(0.5, workers, run.threads) * units.ns_per_tick;
        result.p99_ns = exceeded_by(0.01, workers, run.threads) * units.ns_per_tick;
    }
    result.longest_ns = (double)longest * units.ns_per_tick;
    return result;
}

struct bench_contention bench_contend(const struct bench_peer *peer, struct bench_run run,
                                      struct bench_units units)
{
    static struct worker workers[BENCH_MAX_THREADS];
    const int busy = !run.busy ? 0 : run.threads < bench_cpus() ? run.threads : bench_cpus();
    pthread_barrier_t increment, start;
    pthread_barrier_init(&increment, NULL, (unsigned)run.threads + 1);
    pthread_barrier_init(&start, NULL, (unsigned)(run.threads + busy + 1));
    memset(shared.mutex, 0, sizeof shared.mutex);
    peer->init(shared.mutex);
    shared.count = 0;
    shared.stop = shared.stop_increments = 0;
    for (int k = 0; k < run.threads; k++) {
        workers[k] =
            (struct worker){.peer = peer, .increment = &increment, .start = &start, .cpu = k};
        workers[k].turns.mutex = shared.mutex;
        workers[k].turns.count = &shared.count;
        workers[k].turns.stop = &shared.stop;
        workers[k].turns.steps = run.steps;
        workers[k].turns.stamped = run.stamped;
        workers[k].turns.number = k;
        if (pthread_create(&workers[k].thread, NULL, work, &workers[k]))
            abort();
    }
    start_strangers(busy, &start);
    pthread_barrier_wait(&increment);
    bench_sleep(INCREMENTS_S);
    __atomic_store_n(&shared.stop_increments, 1, __ATOMIC_RELAXED);
    pthread_barrier_wait(&start);
    bench_sleep(run.seconds);
    const double end = bench_now();
    __atomic_store_n(&shared.stop, 1, __ATOMIC_RELAXED);
    /* This thread may get a CPU only milliseconds after those that spin, so they tell the start. */
    double ns = 0;
    uint64_t turns = 0;
    for (int k = 0; k < run.threads; k++) {
        pthread_join(workers[k].thread, NULL);
        turns += workers[k].increments + workers[k].turns.turns;
        ns = end - workers[k].began > ns ? end - workers[k].began : ns;
    }
    join_strangers(busy);
    peer->destroy(shared.mutex);
    pthread_barrier_destroy(&increment);
    pthread_barrier_destroy(&start);
    /* A lock that does not exclude would be the fastest. */
    if (peer->contends && turns != shared.count)
        abort();
    return summarise(workers, run, units, ns);
}

static void do_nothing(void *mutex)
{
    (void)mutex;
}

static void watch_clock(struct bench_thread *thread)
{
    uint64_t last = bench_stamp();
    while (!__atomic_load_n(thread->stop, __ATOMIC_RELAXED)) {
        const uint64_t now = bench_stamp();
        bench_waited(thread, last, now);
        last = now;
    }
}

double bench_longest_gap(struct bench_run run, struct bench_units units)
{
    static const struct bench_peer clock = {
        .init = do_nothing, .destroy = do_nothing, .contend = watch_clock};
    run.threads = run.threads < bench_cpus() ? run.threads : bench_cpus();
    return bench_contend(&clock, run, units).longest_ns;
}

#define ROUND_TRIPS 2000

static void await(const uint32_t *word, uint32_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        ;
}

static void *bounce_back(void *word)
{
    bench_pin(1);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        await(word, 1);
        __atomic_store_n((uint32_t *)word, 0, __ATOMIC_RELEASE);
    }
    return NULL;
}

double bench_round_trip(void)
{
    pthread_t other;
    if (bench_cpus() < 2)
        return 0;
    bench_pin(0);
    shared.stop = 0;
    if (pthread_create(&other, NULL, bounce_back, &shared.stop))
        abort();
    double before = 0;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        __atomic_store_n(&shared.stop, 1, __ATOMIC_RELEASE);
        await(&shared.stop, 0);
        /* The first trip waited for the other thread to start. */
        if (i == 0)
            before = bench_now();
    }
    double ns = bench_now() - before;
    pthread_join(other, NULL);
    return ns / (ROUND_TRIPS - 1);
}
