/* asleep.c: see asleep.h. */
#define _GNU_SOURCE
#include "asleep.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define BEGINNING_S 1.0 /* in which waiters may look, and fall asleep */
#define STACK_BYTES 65536
#define HELD_S 0.01 /* how long one waits beside busy threads */

static const int crowds[CROWDS] = {1, 16, 64};

const char *const bench_blocks[BENCH_BLOCKS] = {
    [BENCH_AT_MUTEX] = "mutex: lock",          [BENCH_AT_RECURSIVE] = "recursive mutex: lock",
    [BENCH_AT_CONDITION] = "condition: wait",  [BENCH_AT_PERMIT] = "semaphore: acquire",
    [BENCH_AT_READ] = "read-write lock: read", [BENCH_AT_WRITE] = "read-write lock: write",
    [BENCH_AT_BARRIER] = "barrier: wait",      [BENCH_AT_GROUP] = "wait group: wait",
    [BENCH_AT_EVENT] = "event: wait",          [BENCH_AT_ONCE] = "once: begin",
    [BENCH_AT_COUNTER] = "counter: wait",
};

struct waiter {
    const struct bench_wait *wait;
    void *object;
    pthread_t thread;
    pid_t tid;  /* atomic; 0 until it is known */
    int cpu;    /* to which it is pinned, or -1 */
    double got; /* when it had what it waited for */
};

struct crowd {
    void *object;
    struct waiter *waiters;
    int size;
};

void bench_asleep_add(struct bench_asleep *asleep, const struct bench_wait *wait)
{
    if (!bench_blocks[wait->block])
        return;
    if (asleep->count == MAX_WAITS)
        bench_die("too many ways to wait");
    asleep->waits[asleep->count++] = wait;
}

static bool note_time(void *argument)
{
    ((struct waiter *)argument)->got = bench_now();
    return true;
}

static void *block(void *argument)
{
    struct waiter *waiter = argument;
    __atomic_store_n(&waiter->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    if (waiter->cpu >= 0)
        bench_pin(waiter->cpu);
    waiter->wait->turn(waiter->object, note_time, waiter);
    return NULL;
}

static void *checked(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void begin(struct crowd *crowd, const struct bench_wait *wait, int size, int cpu)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    crowd->size = size;
    crowd->object = checked(aligned_alloc(BENCH_OBJECT_SIZE, BENCH_OBJECT_SIZE));
    memset(crowd->object, 0, BENCH_OBJECT_SIZE);
    crowd->waiters = checked(calloc((size_t)size, sizeof *crowd->waiters));
    wait->hold(crowd->object, size);
    for (int i = 0; i < size; i++) {
        crowd->waiters[i] = (struct waiter){.wait = wait, .object = crowd->object, .cpu = cpu};
        if (pthread_create(&crowd->waiters[i].thread, &attributes, block, &crowd->waiters[i]))
            abort();
    }
    pthread_attr_destroy(&attributes);
}

static double wakings_of(pid_t tid)
{
    static const char field[] = "\nvoluntary_ctxt_switches:";
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *file = fopen(path, "r");
    if (!file)
        abort();
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *found = strstr(text, field);
    if (!found)
        abort();
    return strtod(found + sizeof field - 1, NULL);
}

/* What the crowd's threads have used so far. */
static struct bench_rest used_by(const struct crowd *crowd)
{
    struct bench_rest used = {0, 0};
    for (int i = 0; i < crowd->size; i++) {
        clockid_t clock;
        struct timespec time;
        if (pthread_getcpuclockid(crowd->waiters[i].thread, &clock) || clock_gettime(clock, &time))
            abort();
        used.cpu += (double)time.tv_sec + (double)time.tv_nsec / 1e9;
        used.wakings += wakings_of(__atomic_load_n(&crowd->waiters[i].tid, __ATOMIC_ACQUIRE));
    }
    return used;
}

/* Returns how long after the release the last of them had what it waited for, ns. */
static double end(struct crowd *crowd, const struct bench_wait *wait)
{
    const double released = bench_now();
    double last = released;
    wait->release(crowd->object);
    for (int i = 0; i < crowd->size; i++) {
        pthread_join(crowd->waiters[i].thread, NULL);
        last = crowd->waiters[i].got > last ? crowd->waiters[i].got : last;
    }
    free(crowd->waiters);
    free(crowd->object);
    return last - released;
}

/* One waiter at a time, of each kind in turn. It has a CPU of its own, but for the busy thread. */
static void measure_wakes(struct bench_asleep *asleep)
{
    static double late[MAX_WAITS][MAX_WAKES];
    bench_pin(0);
    bench_begin_busy(bench_cpus());
    for (int r = 0; r < asleep->wakes; r++) {
        for (int k = 0; k < asleep->count; k++) {
            struct crowd one;
            begin(&one, asleep->waits[k], 1, 1);
            bench_sleep(HELD_S);
            late[k][r] = end(&one, asleep->waits[k]);
        }
    }
    bench_end_busy(bench_cpus());
    for (int k = 0; k < asleep->count; k++) {
        const double median = bench_median(late[k], asleep->wakes); /* sorts */
        double sum = 0;
        for (int r = 0; r < asleep->wakes; r++)
            sum += late[k][r];
        asleep->late[k] =
            (struct bench_late){median, late[k][asleep->wakes * 9 / 10], sum / asleep->wakes};
    }
    bench_sleep(BENCH_BUSY_S);
}

void bench_asleep_measure(struct bench_asleep *asleep)
{
    static struct crowd all[MAX_WAITS][CROWDS];
    static double starts[MAX_WAITS][CROWDS];
    for (int k = 0; k < asleep->count; k++) {
        for (int c = 0; c < CROWDS; c++)
            begin(&all[k][c], asleep->waits[k], crowds[c], -1);
    }
    bench_sleep(BEGINNING_S);
    for (int k = 0; k < asleep->count; k++) {
        for (int c = 0; c < CROWDS; c++) {
            asleep->rests[k][c] = used_by(&all[k][c]);
            starts[k][c] = bench_now();
        }
    }
    bench_sleep(asleep->seconds);
    for (int k = 0; k < asleep->count; k++) {
        for (int c = 0; c < CROWDS; c++) {
            const struct bench_rest before = asleep->rests[k][c], after = used_by(&all[k][c]);
            const double seconds = (bench_now() - starts[k][c]) / 1e9;
            asleep->rests[k][c] = (struct bench_rest){(after.cpu - before.cpu) / seconds,
                                                      (after.wakings - before.wakings) / seconds};
        }
    }
    for (int k = 0; k < asleep->count; k++) {
        for (int c = 0; c < CROWDS; c++)
            end(&all[k][c], asleep->waits[k]);
    }
    measure_wakes(asleep);
}

static void print_block(const struct bench_asleep *asleep, enum bench_block block, FILE *out)
{
    bool first = true;
    for (int k = 0; k < asleep->count; k++) {
        if (asleep->waits[k]->block != block)
            continue;
        if (first)
            fprintf(out, "\n  %s\n  %-24s %16s %16s %16s %26s\n", bench_blocks[block], "",
                    "1: wakes/s  CPU", "16: wakes/s  CPU", "64: wakes/s  CPU",
                    "late, us: p50   p90   mean");
        first = false;
        fprintf(out, "  %-24s", asleep->waits[k]->peer);
        for (int c = 0; c < CROWDS; c++)
            fprintf(out, " %8.0f %6.2f%%", asleep->rests[k][c].wakings,
                    asleep->rests[k][c].cpu * 100);
        fprintf(out, " %11.0f %6.0f %7.0f\n", asleep->late[k].median / 1e3,
                asleep->late[k].p90 / 1e3, asleep->late[k].mean / 1e3);
    }
}

void bench_print_asleep(const struct bench_asleep *asleep, FILE *out)
{
    if (asleep->count == 0)
        return;
    fprintf(out,
            "\nAsleep: 1, 16 and 64 threads behind a holder that does nothing, for %.1f s; less is "
            "better\n",
            asleep->seconds);
    fprintf(out, "  wakes/s: voluntary context switches of all of them; CPU: of one CPU, all of "
                 "them together\n"
                 "  late: from the release to the section of one waiter, beside a busy thread on "
                 "each CPU\n");
    for (int block = 0; block < BENCH_BLOCKS; block++)
        print_block(asleep, (enum bench_block)block, out);
}

void bench_print_asleep_json(const struct bench_asleep *asleep, FILE *out)
{
    const char *comma = "";
    for (int k = 0; k < asleep->count; k++) {
        const struct bench_late *late = &asleep->late[k];
        for (int c = 0; c < CROWDS; c++) {
            const struct bench_rest *rest = &asleep->rests[k][c];
            fprintf(out,
                    "%s\n    {\"operation\": \"%s\", \"peer\": \"%s\", \"waiters\": %d, \"cpu\": "
                    "%.6f, \"wakings\": %.2f, \"late_p50_ns\": %.0f, \"late_p90_ns\": %.0f, "
                    "\"late_mean_ns\": %.0f}",
                    comma, bench_blocks[asleep->waits[k]->block], asleep->waits[k]->peer, crowds[c],
                    rest->cpu, rest->wakings, late->median, late->p90, late->mean);
            comma = ",";
        }
    }
}
