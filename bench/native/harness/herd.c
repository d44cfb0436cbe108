/* herd.c: see herd.h. */
#define _GNU_SOURCE
#include "herd.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define MOST 256
#define STACK_BYTES 65536
#define SECTION_S 100e-6
#define SETTLED_S 5e-3 /* until the threads sleep */
#define WARM_UP_S 30e-3

static const int sizes[HERDS] = {4, 16, 64, MOST};
static const char *const kinds[BENCH_HERD_KINDS] = {"release", "sleeping sections"};

/* What the threads do next. The words that they wait for have cache lines of their own. */
static struct {
    _Alignas(BENCH_OBJECT_SIZE) char object[BENCH_OBJECT_SIZE];
    _Alignas(BENCH_OBJECT_SIZE) uint32_t round; /* moves when there is something to do */
    const struct bench_wait *wait;              /* NULL: the threads end */
    enum bench_herd_kind kind;
    uint32_t size;
    bool repeats; /* the threads come back until told to stop */
    _Alignas(BENCH_OBJECT_SIZE) uint32_t arrived, finished, served, stop;
} task;

static struct {
    _Alignas(BENCH_OBJECT_SIZE) uint64_t turns;
    pthread_t thread;
} threads[MOST];

static void await_change(const uint32_t *word, uint32_t from)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == from)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, from, NULL);
}

static void await_all(const uint32_t *count)
{
    uint32_t seen;
    while ((seen = __atomic_load_n(count, __ATOMIC_ACQUIRE)) != task.size)
        syscall(SYS_futex, count, FUTEX_WAIT_PRIVATE, seen, NULL);
}

static void wake_all(const uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, MOST);
}

static void count_me(uint32_t *count)
{
    if (__atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL) == task.size)
        wake_all(count);
}

static bool stopped(void)
{
    return __atomic_load_n(&task.stop, __ATOMIC_RELAXED);
}

static bool section(void *turns)
{
    const bool sleeps = task.kind == BENCH_SLEEPING;
    if (sleeps && !stopped())
        bench_sleep(SECTION_S);
    __atomic_add_fetch((uint64_t *)turns, 1, __ATOMIC_RELAXED);
    if (sleeps || !task.repeats)
        return true;
    __atomic_add_fetch(&task.served, 1, __ATOMIC_RELEASE);
    wake_all(&task.served);
    return false;
}

static void *take_part(void *argument)
{
    const uint32_t number = (uint32_t)(size_t)argument;
    bench_pin((int)number);
    for (uint32_t seen = 0;;) {
        await_change(&task.round, seen);
        seen++;
        if (!task.wait)
            return NULL;
        if (number >= task.size)
            continue;
        count_me(&task.arrived);
        do
            task.wait->turn(task.object, section, &threads[number].turns);
        while (task.repeats && !stopped());
        count_me(&task.finished);
    }
}

static bool is_permit(const struct bench_wait *wait)
{
    return wait->block == BENCH_AT_PERMIT || wait->block == BENCH_AT_CONDITION;
}

static void start_round(const struct bench_wait *wait, enum bench_herd_kind kind, int size)
{
    task.wait = wait;
    task.kind = kind;
    task.size = (uint32_t)size;
    task.repeats = wait && (kind == BENCH_SLEEPING || is_permit(wait));
    task.arrived = task.finished = task.served = task.stop = 0;
    for (int k = 0; k < MOST; k++)
        threads[k].turns = 0;
    if (wait) {
        memset(task.object, 0, sizeof task.object);
        wait->hold(task.object, size);
    }
    __atomic_add_fetch(&task.round, 1, __ATOMIC_RELEASE);
    wake_all(&task.round);
}

/* The totals so far. */
static struct bench_turn_cost used(double *turns)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *turns = 0;
    for (int k = 0; k < MOST; k++)
        *turns += (double)__atomic_load_n(&threads[k].turns, __ATOMIC_RELAXED);
    const struct timeval user = usage.ru_utime, kernel = usage.ru_stime;
    return (struct bench_turn_cost){
        bench_now(),
        ((double)(user.tv_sec + kernel.tv_sec) * 1e6 + (double)(user.tv_usec + kernel.tv_usec)) *
            1e3,
        (double)(usage.ru_nvcsw + usage.ru_nivcsw), 1};
}

/* Of the first `size` threads, the part that has had a turn since `before` was copied. */
static double served_since(const uint64_t *before, int size)
{
    int served = 0;
    for (int k = 0; k < size; k++)
        served += __atomic_load_n(&threads[k].turns, __ATOMIC_RELAXED) != before[k];
    return (double)served / size;
}

static void release_singly(const struct bench_wait *wait, double seconds)
{
    const double end = bench_now() + seconds * 1e9;
    while (bench_now() < end) {
        const uint32_t served = task.served;
        wait->release(task.object);
        await_change(&task.served, served);
    }
}

static struct bench_turn_cost measure(const struct bench_wait *wait, enum bench_herd_kind kind,
                                      int size, double seconds)
{
    double before_turns, turns;
    uint64_t turns_of[MOST];
    struct bench_turn_cost before, after;
    start_round(wait, kind, size);
    await_all(&task.arrived);
    bench_sleep(SETTLED_S);
    if (kind == BENCH_SLEEPING) {
        wait->release(task.object);
        bench_sleep(WARM_UP_S);
    }
    for (int k = 0; k < size; k++)
        turns_of[k] = __atomic_load_n(&threads[k].turns, __ATOMIC_RELAXED);
    before = used(&before_turns);
    if (kind == BENCH_SLEEPING)
        bench_sleep(seconds);
    else if (task.repeats)
        release_singly(wait, seconds);
    else
        wait->release(task.object);
    if (!task.repeats)
        await_all(&task.finished);
    after = used(&turns);
    after.served = kind == BENCH_SLEEPING ? served_since(turns_of, size) : 1;
    __atomic_store_n(&task.stop, 1, __ATOMIC_RELAXED);
    for (int k = 0; task.repeats && kind == BENCH_RELEASED && k < size; k++)
        wait->release(task.object);
    await_all(&task.finished);
    turns = turns > before_turns ? turns - before_turns : 1;
    return (struct bench_turn_cost){(after.ns - before.ns) / turns,
                                    (after.cpu_ns - before.cpu_ns) / turns,
                                    (after.switches - before.switches) / turns, after.served};
}

/* Readers do not wait for each other. */
static bool applies(const struct bench_wait *wait, int kind)
{
    return kind == BENCH_RELEASED || wait->block != BENCH_AT_READ;
}

void bench_herd_add(struct bench_herd *herd, const struct bench_wait *wait)
{
    switch (wait->block) {
    case BENCH_AT_MUTEX:
    case BENCH_AT_CONDITION:
    case BENCH_AT_PERMIT:
    case BENCH_AT_READ:
    case BENCH_AT_WRITE:
        herd->waits[herd->count++] = wait;
        break;
    default:
        break;
    }
}

void bench_herd_measure(struct bench_herd *herd)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    bench_pin(0);
    for (size_t k = 0; k < MOST; k++) {
        if (pthread_create(&threads[k].thread, &attributes, take_part, (void *)k))
            abort();
    }
    pthread_attr_destroy(&attributes);
    for (int r = 0; r < herd->rounds; r++) {
        for (int i = 0; i < herd->count * BENCH_HERD_KINDS * HERDS; i++) {
            const int w = (r + i) % herd->count, kind = i / herd->count % BENCH_HERD_KINDS,
                      s = i / herd->count / BENCH_HERD_KINDS;
            if (applies(herd->waits[w], kind))
                herd->costs[w][kind][s][r] =
                    measure(herd->waits[w], (enum bench_herd_kind)kind, sizes[s], herd->seconds);
        }
    }
    start_round(NULL, BENCH_RELEASED, 0);
    for (int k = 0; k < MOST; k++)
        pthread_join(threads[k].thread, NULL);
}

static struct bench_turn_cost median_cost(struct bench_herd *herd, int w, int kind, int s)
{
    double ns[HERD_ROUNDS], cpu[HERD_ROUNDS], switches[HERD_ROUNDS], served[HERD_ROUNDS];
    for (int r = 0; r < herd->rounds; r++) {
        const struct bench_turn_cost *cost = &herd->costs[w][kind][s][r];
        ns[r] = cost->ns;
        cpu[r] = cost->cpu_ns;
        switches[r] = cost->switches;
        served[r] = cost->served;
    }
    return (struct bench_turn_cost){bench_median(ns, herd->rounds), bench_median(cpu, herd->rounds),
                                    bench_median(switches, herd->rounds),
                                    bench_median(served, herd->rounds)};
}

static void print_block(struct bench_herd *herd, int kind, enum bench_block block, FILE *out)
{
    bool first = true;
    for (int w = 0; w < herd->count; w++) {
        if (herd->waits[w]->block != block || !applies(herd->waits[w], kind))
            continue;
        if (first) {
            fprintf(out, "\n  %-24s", bench_blocks[block]);
            for (int s = 0; s < HERDS; s++)
                fprintf(out, " %6d: us  CPU, us switches   served", sizes[s]);
            fprintf(out, "\n");
        }
        first = false;
        fprintf(out, "  %-24s", herd->waits[w]->peer);
        for (int s = 0; s < HERDS; s++) {
            const struct bench_turn_cost cost = median_cost(herd, w, kind, s);
            fprintf(out, " %10.1f %8.1f %8.1f %6.0f %%", cost.ns / 1e3, cost.cpu_ns / 1e3,
                    cost.switches, cost.served * 100);
        }
        fprintf(out, "\n");
    }
}

void bench_print_herd(struct bench_herd *herd, FILE *out)
{
    static const char *const words[BENCH_HERD_KINDS] = {
        "so many threads are blocked; one permit or notify at a time, for a thread that comes "
        "back; or one unlock, and each passes the lock on",
        "each of so many threads takes turn after turn, and sleeps for 100 us in each; "
        "served: threads that had a turn",
    };
    if (herd->count == 0)
        return;
    fprintf(out,
            "\nHerd: time, CPU time and context switches per turn, of the whole process; every "
            "thread pinned; medians of %d rounds; less is better\n",
            herd->rounds);
    for (int kind = 0; kind < BENCH_HERD_KINDS; kind++) {
        fprintf(out, "\n  %s: %s\n", kinds[kind], words[kind]);
        for (int block = 0; block < BENCH_BLOCKS; block++)
            print_block(herd, kind, (enum bench_block)block, out);
    }
}

void bench_print_herd_json(struct bench_herd *herd, FILE *out)
{
    const char *comma = "";
    for (int i = 0; i < herd->count * BENCH_HERD_KINDS * HERDS; i++) {
        const int w = i / HERDS / BENCH_HERD_KINDS, kind = i / HERDS % BENCH_HERD_KINDS,
                  s = i % HERDS;
        if (!applies(herd->waits[w], kind))
            continue;
        const struct bench_turn_cost cost = median_cost(herd, w, kind, s);
        fprintf(out,
                "%s\n    {\"kind\": \"%s\", \"operation\": \"%s\", \"peer\": \"%s\", \"waiters\": "
                "%d, \"ns\": %.5g, \"cpu_ns\": %.5g, \"switches\": %.4g, \"served\": %.3g}",
                comma, kinds[kind], bench_blocks[herd->waits[w]->block], herd->waits[w]->peer,
                sizes[s], cost.ns, cost.cpu_ns, cost.switches, cost.served);
        comma = ",";
    }
}
