/* family.c: rounds, medians and the table. Ratios are taken within a round, to the fastest of the peers that can be waited for. */
#include "family.h"

#include <stdlib.h>
#include <string.h>

#define REFERENCE "lockword"

/* Turns in one round: a fraction of a millisecond for one thread, about ten for two. */
#define TURNS 10000
#define TURNS_OF_TWO 200

/* For what two threads do at once. */
#define SECONDS 0.004

static const char *const subjects[BENCH_SUBJECTS] = {
    [BENCH_HOLD] = "recursive mutex: lock, unlock",
    [BENCH_RECURSION] = "recursive mutex: lock, lock, unlock, unlock",
    [BENCH_PERMIT] = "semaphore: acquire, release",
    [BENCH_READ] = "read-write lock: read, unlock",
    [BENCH_READERS] = "read-write lock: two threads read, unlock, at once",
    [BENCH_WRITE] = "read-write lock: write, unlock",
    [BENCH_DONE] = "once: has been run",
    [BENCH_NOTIFY] = "condition: notify nobody",
    [BENCH_SET] = "event: set, reset",
    [BENCH_IS_SET] = "event: wait for what is set",
    [BENCH_WAITGROUP] = "wait group: add, done, of a count above 0",
    [BENCH_COUNTER] = "counter: up, down",
    [BENCH_RALLY] = "mutex and condition: the turn to another thread and back",
    [BENCH_RALLY_HELD] = "mutex and condition: the same, notified under the mutex",
    [BENCH_MEET] = "barrier: two threads meet",
};

void bench_family_add(struct bench_family *family, const struct bench_operation *operation)
{
    if (family->count == MAX_OPERATIONS)
        abort();
    family->operations[family->count++] = operation;
}

/* Every round starts with another one, so that none always follows the same one. */
void bench_family_measure(struct bench_family *family)
{
    bench_have_threads();
    for (int r = 0; r < family->rounds; r++) {
        for (int k = 0; k < family->count; k++) {
            const int o = (r + k) % family->count;
            const struct bench_operation *operation = family->operations[o];
            bench_pin(operation->partner ? 0 : bench_cpus() - 1);
            if (operation->subject == BENCH_READERS)
                family->ns[o][r] = bench_operate_together(operation, SECONDS, r);
            else
                family->ns[o][r] = bench_operate(operation, operation->partner ? TURNS_OF_TWO : TURNS, r);
        }
    }
}

static double median_ns(const struct bench_family *family, int o)
{
    double samples[MAX_ROUNDS];
    memcpy(samples, family->ns[o], sizeof samples);
    return bench_median(samples, family->rounds);
}

/* The fastest peer of a subject; where lockword has none, the floor. */
static int base_of(const struct bench_family *family, enum bench_subject subject)
{
    int base = -1;
    for (int o = 0; o < family->count; o++) {
        const struct bench_operation *operation = family->operations[o];
        if (operation->subject != subject || strcmp(operation->peer, REFERENCE) == 0)
            continue;
        const bool better =
            base < 0 || family->operations[base]->floor || (!operation->floor && median_ns(family, o) < median_ns(family, base));
        if (better && !(base >= 0 && operation->floor))
            base = o;
    }
    return base;
}

static double median_ratio(const struct bench_family *family, int o, int base)
{
    double samples[MAX_ROUNDS];
    for (int r = 0; r < family->rounds; r++)
        samples[r] = base < 0 ? 1 : family->ns[o][r] / family->ns[base][r];
    return bench_median(samples, family->rounds);
}

static void print_subject(const struct bench_family *family, enum bench_subject subject, FILE *out)
{
    const int base = base_of(family, subject);
    bool first = true;
    for (int o = 0; o < family->count; o++) {
        const struct bench_operation *operation = family->operations[o];
        if (operation->subject != subject)
            continue;
        if (first)
            fprintf(out, "\n  %s\n  %-24s %10s %10s\n", subjects[subject], "", "ns", "x fastest");
        first = false;
        const double ns = median_ns(family, o);
        fprintf(out, "  %-24s %10.*f %10.3f%s\n", operation->peer, ns < 100 ? 2 : 0, ns, median_ratio(family, o, base),
                operation->floor ? "  (floor)" : "");
    }
}

void bench_print_family(const struct bench_family *family, FILE *out)
{
    if (family->count == 0)
        return;
    fprintf(out, "\nThe rest of the family: one thread, or two pinned to two CPUs; medians of %d rounds; less is better\n",
            family->rounds);
    fprintf(out, "  ns: one turn; of two threads at once, the time in which either does one\n");
    fprintf(out, "  x fastest: ratio to the fastest of lockword's peers; where it has none, to the floor\n");
    for (int subject = 0; subject < BENCH_SUBJECTS; subject++)
        print_subject(family, (enum bench_subject)subject, out);
}

void bench_print_family_json(const struct bench_family *family, FILE *out)
{
    for (int o = 0; o < family->count; o++) {
        const struct bench_operation *operation = family->operations[o];
        fprintf(out, "%s\n    {\"operation\": \"%s\", \"peer\": \"%s\", \"floor\": %s, \"ns\": %.3f, \"ratio\": %.4f}",
                o ? "," : "", subjects[operation->subject], operation->peer, operation->floor ? "true" : "false",
                median_ns(family, o), median_ratio(family, o, base_of(family, operation->subject)));
    }
}
