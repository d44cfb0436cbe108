/* main.c: which peers, which cells, how many rounds; and the interleaving. */
#define _GNU_SOURCE
#include "asleep.h"
#include "family.h"
#include "report.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peers.h" /* generated: bench_peers, those that this build has, and bench_missing, why it has no others */

/*
 * The contended cells, unless they are chosen: from a lock held for an increment to one held for
 * the time of a short system call; under load, where the scheduler's slices of milliseconds decide,
 * the ends and the middle are enough.
 */
static const struct {
    const char *threads, *sections;
    bool busy;
} plan[] = {
    {"1,2,4,16", "0,180,1000,15000", false},
    {"2,4,16", "0,180,15000", true},
};

#define PAIRS 50000 /* in one round: about half a millisecond, seldom interrupted */

static struct bench_family family;
static struct bench_asleep asleep;
static struct bench_results results = {.family = &family, .asleep = &asleep};

static void die(const char *what)
{
    fprintf(stderr, "lockword-bench: %s\n", what);
    exit(2);
}

static void usage(int status)
{
    fputs("usage: lockword-bench [--quick] [--json FILE] [--only "
          "uncontended,family,asleep,contended] [--peers NAME,...]\n"
          "                      [--threads N,...] [--section NS,...] [--busy] [--rounds N] "
          "[--seconds S]\n"
          "                      [--plugin FILE.so]...\n"
          "\n"
          "  --quick     two minutes; without it, about twelve\n"
          "  --threads, --section, --busy    these contended cells alone; busy: a thread that "
          "computes competes for each CPU\n"
          "  --plugin    a shared object that defines one more peer (bench/native/tune.cmake "
          "builds some)\n",
          status ? stderr : stdout);
    exit(status);
}

static void add_peer(const struct bench_peer *peer)
{
    if (results.peer_count == MAX_PEERS)
        die("too many peers");
    results.peers[results.peer_count++] = peer;
}

static void add_plugin(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const struct bench_peer *peer = library ? dlsym(library, "bench_lockword") : NULL;
    const struct bench_operation *operation = peer ? dlsym(library, "bench_family_lockword") : NULL;
    if (!operation)
        die(dlerror());
    add_peer(peer);
    /* What one thread does alone is the same with all constants. */
    for (; operation->peer; operation++) {
        if (operation->partner)
            bench_family_add(&family, operation);
    }
}

/* Whether the comma-separated list has this very name. */
static bool lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length) {
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static int parse_numbers(const char *list, double *numbers, int max)
{
    int n = 0;
    while (*list && n < max) {
        char *end;
        numbers[n++] = strtod(list, &end);
        if (end == list || (*end && *end != ','))
            usage(2);
        list = *end ? end + 1 : end;
    }
    return n;
}

static void add_cells(const char *threads, const char *sections, bool busy)
{
    double thread_counts[MAX_CELLS], lengths[MAX_CELLS];
    int n = parse_numbers(threads, thread_counts, MAX_CELLS);
    int m = parse_numbers(sections, lengths, MAX_CELLS);
    for (int s = 0; s < m; s++) {
        for (int t = 0; t < n; t++) {
            if (results.cell_count == MAX_CELLS || thread_counts[t] < 1 ||
                thread_counts[t] > BENCH_MAX_THREADS)
                die("too many threads or cells");
            results.cells[results.cell_count++] =
                (struct bench_cell){(int)thread_counts[t], lengths[s], busy};
        }
    }
}

static void show_progress(const char *what, int round, int rounds)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r  %s: round %d of %d \033[K%s", what, round + 1, rounds,
                round + 1 == rounds ? "\r\033[K" : "");
}

static void add_operations(const char *peers)
{
    for (int k = 0; bench_families[k]; k++) {
        for (const struct bench_operation *operation = bench_families[k]; operation->peer;
             operation++) {
            if (!peers || lists(peers, operation->peer))
                bench_family_add(&family, operation);
        }
    }
}

static void add_waits(const char *peers)
{
    for (int k = 0; bench_waits[k]; k++) {
        for (const struct bench_wait *wait = bench_waits[k]; wait->peer; wait++) {
            if (!peers || lists(peers, wait->peer))
                bench_asleep_add(&asleep, wait);
        }
    }
}

/* Every round starts with another peer, so that none always follows the same one. */
static int peer_at(int round, int k)
{
    return (round + k) % results.peer_count;
}

static void measure_pairs(void)
{
    bench_have_threads();
    bench_pin(bench_cpus() - 1);
    for (int r = 0; r < results.pair_rounds; r++) {
        for (int k = 0; k < results.peer_count; k++) {
            int p = peer_at(r, k);
            results.pairs[p][r] = bench_pair(results.peers[p], PAIRS, r);
        }
    }
}

static struct bench_contention measure_cell(const struct bench_peer *peer, struct bench_cell cell,
                                            struct bench_units units)
{
    struct bench_run run = {cell.threads, (uint64_t)(cell.section_ns / units.ns_per_step), false,
                            cell.busy, results.seconds};
    bool apart =
        run.steps ==
        0; /* there, time stamps would cost more than the lock: throughput and waits are two runs */
    run.stamped = !apart;
    struct bench_contention result = bench_contend(peer, run, units);
    if (apart) {
        run.stamped = true;
        struct bench_contention stamped = bench_contend(peer, run, units);
        result.p50_ns = stamped.p50_ns;
        result.p99_ns = stamped.p99_ns;
        result.longest_ns = stamped.longest_ns;
    }
    return result;
}

static double measure_gap(struct bench_cell cell, struct bench_units units)
{
    return bench_longest_gap((struct bench_run){cell.threads, 0, true, cell.busy, results.seconds},
                             units);
}

static void measure_contention(void)
{
    bench_pin(0);
    struct bench_units units = bench_calibrate();
    for (int r = 0; r < results.rounds; r++) {
        show_progress("contended", r, results.rounds);
        results.round_trip_ns[r] = bench_round_trip();
        for (int cell = 0; cell < results.cell_count; cell++) {
            results.gap_ns[cell][r] = measure_gap(results.cells[cell], units);
            for (int k = 0; k < results.peer_count; k++) {
                int p = peer_at(r, k);
                if (results.peers[p]->contends)
                    results.contention[p][cell][r] =
                        measure_cell(results.peers[p], results.cells[cell], units);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"quick", no_argument, 0, 'q'},         {"json", required_argument, 0, 'j'},
        {"only", required_argument, 0, 'o'},    {"peers", required_argument, 0, 'p'},
        {"threads", required_argument, 0, 't'}, {"section", required_argument, 0, 's'},
        {"busy", no_argument, 0, 'b'},          {"rounds", required_argument, 0, 'r'},
        {"seconds", required_argument, 0, 'd'}, {"plugin", required_argument, 0, 'x'},
        {"help", no_argument, 0, 'h'},          {0, 0, 0, 0},
    };
    const char *json = NULL, *only = "uncontended,family,asleep,contended", *peers = NULL,
               *threads = NULL, *sections = NULL;
    bool busy = false;
    results.pair_rounds = 501;
    family.rounds = 301;
    results.rounds = 11;
    results.seconds = 0.2;
    asleep.seconds = 4;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'q':
            results.pair_rounds = 201;
            family.rounds = 75;
            results.rounds = 5;
            results.seconds = 0.06;
            asleep.seconds = 1;
            break;
        case 'j':
            json = optarg;
            break;
        case 'o':
            only = optarg;
            break;
        case 'p':
            peers = optarg;
            break;
        case 't':
            threads = optarg;
            break;
        case 's':
            sections = optarg;
            break;
        case 'b':
            busy = true;
            break;
        case 'r':
            results.rounds = atoi(optarg);
            break;
        case 'd':
            results.seconds = atof(optarg);
            break;
        case 'x':
            add_plugin(optarg);
            break;
        default:
            usage(option == 'h' ? 0 : 2);
        }
    }
    if (results.rounds < 1 || results.rounds > MAX_ROUNDS || !(results.seconds > 0))
        usage(2);
    for (int p = 0; bench_peers[p]; p++) {
        if (!peers || lists(peers, bench_peers[p]->name))
            add_peer(bench_peers[p]);
    }
    add_operations(peers);
    add_waits(peers);
    if (results.peer_count == 0 && family.count == 0)
        die("no such peer");
    for (int m = 0; bench_missing[m]; m++)
        printf("skipped: %s\n", bench_missing[m]);

    if (lists(only, "uncontended"))
        measure_pairs();
    else
        results.pair_rounds = 0;
    if (lists(only, "family"))
        bench_family_measure(&family);
    else
        family.count = 0;
    if (lists(only, "asleep"))
        bench_asleep_measure(&asleep);
    else
        asleep.count = 0;
    if (lists(only, "contended")) {
        const bool chosen = threads || sections || busy;
        for (size_t i = 0; i < sizeof plan / sizeof *plan; i++) {
            if (!chosen || busy == plan[i].busy)
                add_cells(threads ? threads : plan[i].threads,
                          sections ? sections : plan[i].sections, plan[i].busy);
        }
        measure_contention();
    }
    bench_print(&results, stdout);
    if (json) {
        FILE *out = fopen(json, "w");
        if (!out)
            die(strerror(errno));
        bench_print_json(&results, out);
        fclose(out);
    }
    return 0;
}
