/* report.c: ratios are taken within a round, where peers ran side by side, and only then the median
 * of the rounds. */
#include "report.h"

#include "asleep.h"
#include "family.h"
#include "herd.h"

#include <string.h>

#define REFERENCE "lockword"
#define FLOOR "raw cas+exchange"
#define OWNED_FLOOR "raw cas+cas"

/* The index of a peer, to whose figures ratios are taken; if it does not run, of the first peer. */
static int named(const struct bench_contest *contest, const char *name)
{
    for (int p = 0; p < contest->peer_count; p++) {
        if (strcmp(contest->peers[p]->name, name) == 0)
            return p;
    }
    return 0;
}

/* Of a section with nothing in it, or with an increment: ns, and ratios to both floors. */
struct pair_summary {
    double ns, floor_ratio, owned_ratio;
};

static double pair_ns(const struct bench_results *results, int peer, bool increment, int round)
{
    const struct bench_pair *pair = &results->pairs[peer][round];
    return increment ? pair->increment : pair->empty;
}

static struct pair_summary summarise_pair(const struct bench_results *results, int peer,
                                          bool increment)
{
    static double ns[MAX_ROUNDS], floor[MAX_ROUNDS], owned[MAX_ROUNDS];
    const int n = results->pair_rounds;
    for (int r = 0; r < n; r++) {
        ns[r] = pair_ns(results, peer, increment, r);
        floor[r] = ns[r] / pair_ns(results, named(&results->mutex, FLOOR), increment, r);
        owned[r] = ns[r] / pair_ns(results, named(&results->mutex, OWNED_FLOOR), increment, r);
    }
    return (struct pair_summary){bench_median(ns, n), bench_median(floor, n),
                                 bench_median(owned, n)};
}

enum metric { MOPS, RATIO, SHARE, P50, P99, LONGEST, CPUS, METRICS };

struct cell_summary {
    double metric[METRICS];
    double worst_ns; /* the longest wait of all rounds */
};

static struct cell_summary summarise_cell(const struct bench_contest *contest, int peer, int cell)
{
    double samples[METRICS][MAX_ROUNDS];
    struct cell_summary summary = {0};
    const int reference = named(contest, REFERENCE);
    for (int r = 0; r < contest->rounds; r++) {
        const struct bench_contention *c = bench_sample(contest, peer, cell, r);
        samples[MOPS][r] = c->mops;
        samples[RATIO][r] = c->mops / bench_sample(contest, reference, cell, r)->mops;
        samples[SHARE][r] = c->share;
        samples[P50][r] = c->p50_ns;
        samples[P99][r] = c->p99_ns;
        samples[LONGEST][r] = c->longest_ns;
        samples[CPUS][r] = c->cpus;
        if (c->longest_ns > summary.worst_ns)
            summary.worst_ns = c->longest_ns;
    }
    for (int m = 0; m < METRICS; m++)
        summary.metric[m] = bench_median(samples[m], contest->rounds);
    return summary;
}

static void print_time(FILE *out, int width, double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s "};
    int unit = 0;
    while (ns >= 999.5 && unit < 3) {
        ns /= 1000;
        unit++;
    }
    fprintf(out, "%*.*f %s", width - 3,
            ns >= 99.95 || unit == 0 ? 0
            : ns >= 9.995            ? 1
                                     : 2,
            ns, units[unit]);
}

static void print_pairs(const struct bench_results *results, FILE *out)
{
    fprintf(out,
            "\nUncontended: one thread locks and unlocks, pinned, in a process of two; medians of "
            "%d rounds; less is better\n\n",
            results->pair_rounds);
    fprintf(out, "  %-24s %27s %29s\n", "", "nothing between", "an increment between");
    fprintf(out, "  %-24s %7s %9s %9s %9s %9s %9s\n", "", "ns", "x floor", "x cas+cas", "ns",
            "x floor", "x cas+cas");
    for (int p = 0; p < results->mutex.peer_count; p++) {
        fprintf(out, "  %-24s", results->mutex.peers[p]->name);
        for (int increment = 0; increment < 2; increment++) {
            const struct pair_summary s = summarise_pair(results, p, increment);
            fprintf(out, increment ? " %9.2f %9.3f %9.3f" : " %7.2f %9.3f %9.3f", s.ns,
                    s.floor_ratio, s.owned_ratio);
        }
        fprintf(out, "\n");
    }
    fprintf(out, "  x floor: ratio to cas+exchange; x cas+cas: to the floor of a lock whose unlock "
                 "refuses strangers\n");
}

/* The machine's own longest gaps meanwhile: the median of the rounds, and the longest. */
struct gaps {
    double median, worst;
};

static struct gaps summarise_gaps(const struct bench_results *results, int cell)
{
    double gaps[MAX_ROUNDS];
    memcpy(gaps, results->gap_ns[cell], sizeof gaps);
    const double median = bench_median(gaps, results->mutex.rounds);
    return (struct gaps){median, gaps[results->mutex.rounds - 1]};
}

static void print_cell(const struct bench_contest *contest, int cell, FILE *out)
{
    const struct bench_cell *c = &contest->cells[cell];
    fprintf(out, "\n  %2d thread%s, ", c->threads, c->threads > 1 ? "s" : " ");
    if (c->section_ns > 0)
        fprintf(out, "%.0f ns inside and %.0f outside", c->section_ns, c->section_ns);
    else
        fprintf(out, "an increment inside, nothing outside");
    fprintf(out, "%s\n  %-24s %8s %10s %9s %10s %10s %10s %10s %6s %10s\n",
            c->busy ? "; a busy thread on each CPU besides" : "", "", "Mops/s", "x lockword",
            "share", "p50 wait", "p99 wait", "longest", "worst", "CPUs", "CPU/turn");
    for (int p = 0; p < contest->peer_count; p++) {
        if (!contest->peers[p]->contends)
            continue;
        struct cell_summary s = summarise_cell(contest, p, cell);
        fprintf(out, "  %-24s %8.*f %10.2f %9.*f", contest->peers[p]->name,
                s.metric[MOPS] < 1 ? 4 : 2, s.metric[MOPS], s.metric[RATIO],
                s.metric[SHARE] < 100 ? 1 : 0, s.metric[SHARE]);
        print_time(out, 11, s.metric[P50]);
        print_time(out, 11, s.metric[P99]);
        print_time(out, 11, s.metric[LONGEST]);
        print_time(out, 11, s.worst_ns);
        fprintf(out, " %6.2f", s.metric[CPUS]);
        print_time(out, 11, s.metric[CPUS] / s.metric[MOPS] * 1e3);
        fprintf(out, "\n");
    }
}

static void print_gaps(const struct bench_results *results, int cell, FILE *out)
{
    const struct gaps gaps = summarise_gaps(results, cell);
    fprintf(out, "  %-24s %8s %10s %9s %10s %10s", "(the machine: no lock)", "", "", "", "", "");
    print_time(out, 11, gaps.median);
    print_time(out, 11, gaps.worst);
    fprintf(out, "\n");
}

static void print_fair(const struct bench_results *results, FILE *out)
{
    if (results->fair_count == 0)
        return;
    const struct bench_contest *first = results->fair;
    fprintf(out,
            "\nFair: turns of every thread, as in the contended cells below; medians of %d rounds "
            "of %.2f s\n",
            first->rounds, first->seconds);
    for (int f = 0; f < results->fair_count; f++) {
        fprintf(out, "\n  %s\n", results->fair[f].what);
        for (int cell = 0; cell < results->fair[f].cell_count; cell++)
            print_cell(&results->fair[f], cell, out);
    }
}

static void print_contended(const struct bench_results *results, FILE *out)
{
    const struct bench_contest *mutex = &results->mutex;
    if (mutex->cell_count == 0)
        return;
    double trips[MAX_ROUNDS];
    memcpy(trips, results->round_trip_ns, sizeof trips);
    double middle = bench_median(trips, mutex->rounds);
    fprintf(
        out,
        "\nContended: every thread pinned, to %d CPU%s in turn; medians of %d rounds of %.2f s\n",
        bench_cpus(), bench_cpus() > 1 ? "s" : "", mutex->rounds, mutex->seconds);
    fprintf(out, "  Mops/s and x lockword: more is better (but see CPUs: one thread that hogs the "
                 "lock while the rest sleep uses 1)\n");
    fprintf(out, "  share: turns of the luckiest thread for each of the unluckiest's; 1 is fair\n");
    fprintf(out, "  p50, p99, longest: waits for one acquisition, of all threads; worst: the "
                 "longest of all rounds; less is better\n");
    fprintf(out, "  the machine: the longest gap between two looks at the clock, by a thread on "
                 "each CPU that does nothing else\n");
    fprintf(out,
            "  a word's round trip between two CPUs meanwhile: median %.0f ns, from %.0f to %.0f\n",
            middle, trips[0], trips[mutex->rounds - 1]);
    for (int cell = 0; cell < mutex->cell_count; cell++) {
        print_cell(mutex, cell, out);
        print_gaps(results, cell, out);
    }
}

void bench_print(const struct bench_results *results, FILE *out)
{
    if (results->pair_rounds)
        print_pairs(results, out);
    bench_print_family(results->family, out);
    bench_print_asleep(results->asleep, out);
    bench_print_herd(results->herd, out);
    print_fair(results, out);
    print_contended(results, out);
}

static void print_contest_json(const struct bench_contest *contest, const char **comma, FILE *out)
{
    for (int cell = 0; cell < contest->cell_count; cell++) {
        const struct bench_cell *c = &contest->cells[cell];
        for (int p = 0; p < contest->peer_count; p++) {
            if (!contest->peers[p]->contends)
                continue;
            struct cell_summary s = summarise_cell(contest, p, cell);
            fprintf(out,
                    "%s\n    {\"operation\": \"%s\", \"peer\": \"%s\", \"threads\": %d, "
                    "\"section_ns\": %g, \"busy\": %s, ",
                    *comma, contest->what, contest->peers[p]->name, c->threads, c->section_ns,
                    c->busy ? "true" : "false");
            fprintf(out,
                    "\"mops\": %.4g, \"ratio\": %.4g, \"share\": %.4g, \"p50_ns\": %.4g, "
                    "\"p99_ns\": %.4g, ",
                    s.metric[MOPS], s.metric[RATIO], s.metric[SHARE], s.metric[P50], s.metric[P99]);
            fprintf(out, "\"longest_ns\": %.6g, \"worst_ns\": %.6g, \"cpus_used\": %.3g}",
                    s.metric[LONGEST], s.worst_ns, s.metric[CPUS]);
            *comma = ",";
        }
    }
}

void bench_print_json(const struct bench_results *results, FILE *out)
{
    fprintf(out, "{\n  \"cpus\": %d, \"rounds\": %d, \"seconds\": %g, \"pair_rounds\": %d,\n",
            bench_cpus(), results->mutex.rounds, results->mutex.seconds, results->pair_rounds);
    fprintf(out, "  \"round_trip_ns\": [");
    for (int r = 0; r < results->mutex.rounds; r++)
        fprintf(out, "%s%.1f", r ? ", " : "", results->round_trip_ns[r]);
    fprintf(out, "],\n  \"uncontended\": [");
    for (int p = 0; p < results->mutex.peer_count && results->pair_rounds; p++) {
        const struct pair_summary empty = summarise_pair(results, p, false),
                                  increment = summarise_pair(results, p, true);
        fprintf(out, "%s\n    {\"peer\": \"%s\", \"floor\": %s, ", p ? "," : "",
                results->mutex.peers[p]->name,
                results->mutex.peers[p]->contends ? "false" : "true");
        fprintf(out, "\"ns\": %.3f, \"ratio\": %.4f, \"owned_ratio\": %.4f, ", empty.ns,
                empty.floor_ratio, empty.owned_ratio);
        fprintf(
            out,
            "\"increment_ns\": %.3f, \"increment_ratio\": %.4f, \"increment_owned_ratio\": %.4f}",
            increment.ns, increment.floor_ratio, increment.owned_ratio);
    }
    fprintf(out, "\n  ],\n  \"family\": [");
    bench_print_family_json(results->family, out);
    fprintf(out, "\n  ],\n  \"asleep\": [");
    bench_print_asleep_json(results->asleep, out);
    fprintf(out, "\n  ],\n  \"herd\": [");
    bench_print_herd_json(results->herd, out);
    fprintf(out, "\n  ],\n  \"gaps\": [");
    for (int cell = 0; cell < results->mutex.cell_count; cell++) {
        const struct bench_cell *c = &results->mutex.cells[cell];
        const struct gaps gaps = summarise_gaps(results, cell);
        fprintf(out,
                "%s\n    {\"threads\": %d, \"section_ns\": %g, \"busy\": %s, \"longest_ns\": %.6g, "
                "\"worst_ns\": %.6g}",
                cell ? "," : "", c->threads, c->section_ns, c->busy ? "true" : "false", gaps.median,
                gaps.worst);
    }
    const char *comma = "";
    fprintf(out, "\n  ],\n  \"fair\": [");
    for (int f = 0; f < results->fair_count; f++)
        print_contest_json(&results->fair[f], &comma, out);
    comma = "";
    fprintf(out, "\n  ],\n  \"contended\": [");
    print_contest_json(&results->mutex, &comma, out);
    fprintf(out, "\n  ]\n}\n");
}
