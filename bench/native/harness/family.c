/* family.c: rounds, medians and the table. Ratios are taken within a round, to the fastest of the
 * peers that can be waited for. */
#include "family.h"

#include <string.h>

#define REFERENCE "lockword"

/* For what two threads do at once. */
#define SECONDS 0.004

/* A round takes a fraction of a millisecond for one thread, some ten for several, and a hundred
 * beside busy ones. */
static const struct {
    const char *what;
    struct bench_effort effort;
} subjects[BENCH_SUBJECTS] = {
    [BENCH_HOLD] = {"recursive mutex: lock, unlock", {1, 10000, false}},
    [BENCH_RECURSION] = {"recursive mutex: lock, lock, unlock, unlock", {1, 10000, false}},
    [BENCH_PERMIT] = {"semaphore: acquire, release", {1, 10000, false}},
    [BENCH_NUMBER] = {"four permits with numbers: acquire one, release", {1, 10000, false}},
    [BENCH_NUMBERS] = {"four permits with numbers: two threads acquire one, release, at once",
                       {1, 10000, false}},
    [BENCH_READ] = {"read-write lock: read, unlock", {1, 10000, false}},
    [BENCH_READERS] = {"read-write lock: two threads read, unlock, at once", {1, 10000, false}},
    [BENCH_WRITE] = {"read-write lock: write, unlock", {1, 10000, false}},
    [BENCH_DONE] = {"once: has been run", {1, 10000, false}},
    [BENCH_NOTIFY] = {"condition: notify nobody", {1, 10000, false}},
    [BENCH_SET] = {"event: set, reset", {1, 10000, false}},
    [BENCH_IS_SET] = {"event: wait for what is set", {1, 10000, false}},
    [BENCH_WAITGROUP] = {"wait group: add, done, of a count above 0", {1, 10000, false}},
    [BENCH_COUNTER] = {"counter: up, down", {1, 10000, false}},
    [BENCH_RALLY] = {"mutex and condition: the turn to another thread and back", {2, 200, false}},
    [BENCH_RALLY_HELD] = {"mutex and condition: the same, notified under the mutex",
                          {2, 200, false}},
    [BENCH_MEET] = {"barrier: two threads meet", {2, 200, false}},
    [BENCH_MEET_FOUR] = {"barrier: four threads meet", {4, 100, false}},
    [BENCH_MEET_SIXTEEN] = {"barrier: sixteen threads meet", {16, 50, false}},
    [BENCH_MEET_FOUR_BUSY] = {"barrier: four threads meet, CPUs busy", {4, 1000, true}},
    [BENCH_MEET_SIXTEEN_BUSY] = {"barrier: sixteen threads meet, CPUs busy", {16, 1000, true}},
};

void bench_family_add(struct bench_family *family, const struct bench_operation *operation)
{
    family->operations = bench_room(family->operations, family->count, sizeof *family->operations);
    family->operations[family->count++] = operation;
}

/* Beside busy threads fewer: what the scheduler does then repeats within one. */
static int rounds_of(const struct bench_family *family, int o)
{
    return subjects[family->operations[o]->subject].effort.busy ? (family->rounds + 19) / 20
                                                                : family->rounds;
}

/* Every round starts with another one, so that none always follows the same one. */
static void measure(struct bench_family *family, bool busy)
{
    for (int r = 0; r < family->rounds; r++) {
        for (int k = 0; k < family->count; k++) {
            const int o = (r + k) % family->count;
            const struct bench_operation *operation = family->operations[o];
            struct bench_effort effort = subjects[operation->subject].effort;
            if (family->most_turns && family->most_turns < effort.turns)
                effort.turns = family->most_turns;
            if (effort.busy != busy || r >= rounds_of(family, o))
                continue;
            bench_pin(operation->partner ? 0 : bench_cpus() - 1);
            if (operation->subject == BENCH_READERS || operation->subject == BENCH_NUMBERS)
                family->ns[o][r] = bench_operate_together(operation, SECONDS, r);
            else
                family->ns[o][r] = bench_operate(operation, effort, r);
        }
    }
}

/* Those beside busy threads last: lockword remembers for a while that there were some. */
void bench_family_measure(struct bench_family *family)
{
    family->ns = bench_zeroed((size_t)family->count, sizeof *family->ns);
    bench_have_threads();
    measure(family, false);
    measure(family, true);
}

static double median_ns(const struct bench_family *family, int o)
{
    double samples[MAX_ROUNDS];
    memcpy(samples, family->ns[o], sizeof samples);
    return bench_median(samples, rounds_of(family, o));
}

/* The fastest peer of a subject; where lockword has none, the floor. */
static int base_of(const struct bench_family *family, enum bench_subject subject)
{
    int base = -1;
    for (int o = 0; o < family->count; o++) {
        const struct bench_operation *operation = family->operations[o];
        if (operation->subject != subject || strcmp(operation->peer, REFERENCE) == 0)
            continue;
        const bool better = base < 0 || family->operations[base]->floor ||
                            (!operation->floor && median_ns(family, o) < median_ns(family, base));
        if (better && !(base >= 0 && operation->floor))
            base = o;
    }
    return base;
}

static double median_ratio(const struct bench_family *family, int o, int base)
{
    double samples[MAX_ROUNDS];
    for (int r = 0; r < rounds_of(family, o); r++)
        samples[r] = base < 0 ? 1 : family->ns[o][r] / family->ns[base][r];
    return bench_median(samples, rounds_of(family, o));
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
            fprintf(out, "\n  %s\n  %-24s %10s %10s\n", subjects[subject].what, "", "ns",
                    "x fastest");
        first = false;
        const double ns = median_ns(family, o);
        fprintf(out, "  %-24s %10.*f %10.3f%s\n", operation->peer, ns < 100 ? 2 : 0, ns,
                median_ratio(family, o, base), operation->floor ? "  (floor)" : "");
    }
}

void bench_print_family(const struct bench_family *family, FILE *out)
{
    if (family->count == 0)
        return;
    fprintf(out,
            "\nThe rest of the family: one thread, or two pinned to two CPUs; medians of %d "
            "rounds; less is better\n",
            family->rounds);
    fprintf(out, "  ns: one turn; of two threads at once, the time in which either does one\n");
    fprintf(
        out,
        "  x fastest: ratio to the fastest of lockword's peers; where it has none, to the floor\n");
    for (int subject = 0; subject < BENCH_SUBJECTS; subject++)
        print_subject(family, (enum bench_subject)subject, out);
}

void bench_print_family_json(const struct bench_family *family, FILE *out)
{
    for (int o = 0; o < family->count; o++) {
        const struct bench_operation *operation = family->operations[o];
        fprintf(out,
                "%s\n    {\"operation\": \"%s\", \"peer\": \"%s\", \"floor\": %s, \"ns\": %.3f, "
                "\"ratio\": %.4f}",
                o ? "," : "", subjects[operation->subject].what, operation->peer,
                operation->floor ? "true" : "false", median_ns(family, o),
                median_ratio(family, o, base_of(family, operation->subject)));
    }
}
