/* main.c: which peers, which cells, how many rounds; and the interleaving. */
#define _GNU_SOURCE
#include "asleep.h"
#include "fair.h"
#include "family.h"
#include "herd.h"
#include "report.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef _WIN32
#include <dlfcn.h>
#endif

#include "peers.h" /* generated: the peers that this build has, and why it has no others */

/*
 * The contended cells, unless they are chosen: from a lock held for an increment to one held for
 * the time of a short system call; under load, where the scheduler's slices of milliseconds decide,
 * the ends and the middle are enough.
 */
static const struct {
    const char *threads, *sections;
    bool busy;
} plan[] = {
    {"1,2,4,16", "0,180,400,1000,1400,15000", false},
    {"2,4,16", "0,180,15000", true},
};

/* The cells of the semaphore and the read-write lock: threads that spin, and threads that sleep. */
#define FAIR_THREADS "2,4,16"
#define FAIR_SECTIONS "1000,100000"

#define PAIRS 50000 /* in one round: about half a millisecond, seldom interrupted */

static struct bench_family family;
static struct bench_asleep asleep;
static struct bench_herd herd;
static struct bench_contest fair[FAIR_CONTESTS];
static struct bench_results results = {
    .mutex = {.what = "mutex"},
    .fair = fair,
    .family = &family,
    .asleep = &asleep,
    .herd = &herd,
};

static void usage(int status)
{
    fputs("usage: lockword-bench [--quick | --smoke] [--json FILE] [--only "
          "uncontended,family,asleep,herd,fair,contended]\n"
          "                      [--peers NAME,...] [--threads N,...] [--section NS,...] [--busy]\n"
          "                      [--rounds N] [--seconds S] [--plugin FILE.so]...\n"
          "\n"
          "  --quick     three minutes; without it, about fifteen\n"
          "  --smoke     seconds: that everything runs; the figures mean nothing\n"
          "  --threads, --section, --busy    these contended cells alone; busy: a thread that "
          "computes competes for each CPU\n"
          "  --plugin    a shared object that defines one more peer (bench/native/tune.cmake "
          "builds some)\n",
          status ? stderr : stdout);
    exit(status);
}

#ifdef _WIN32

static void add_plugin(const char *file)
{
    (void)file;
    bench_die("there are no plug-ins on Windows");
}

#else

static void add_plugin(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const struct bench_peer *peer = library ? dlsym(library, "bench_lockword") : NULL;
    const struct bench_operation *operation = peer ? dlsym(library, "bench_family_lockword") : NULL;
    if (!operation)
        bench_die(dlerror());
    bench_enter(&results.mutex, peer);
    /* What one thread does alone is the same with all constants. */
    for (; operation->peer; operation++) {
        if (operation->partner)
            bench_family_add(&family, operation);
    }
}

#endif

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

static void add_cells(struct bench_contest *contest, const char *threads, const char *sections,
                      bool busy)
{
    double thread_counts[MAX_CELLS], lengths[MAX_CELLS];
    int n = parse_numbers(threads, thread_counts, MAX_CELLS);
    int m = parse_numbers(sections, lengths, MAX_CELLS);
    for (int s = 0; s < m; s++) {
        for (int t = 0; t < n; t++) {
            if (contest->cell_count == MAX_CELLS || thread_counts[t] < 1 ||
                thread_counts[t] > BENCH_MAX_THREADS)
                bench_die("too many threads or cells");
            contest->cells[contest->cell_count++] =
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

/* Those of the waits that are asked for, to whatever measures them. */
static void add_waits(const char *peers)
{
    static const struct bench_wait *all[MAX_WAITS + 1];
    int count = 0;
    for (int k = 0; bench_waits[k]; k++) {
        for (const struct bench_wait *wait = bench_waits[k]; wait->peer; wait++) {
            if (peers && !lists(peers, wait->peer))
                continue;
            if (count == MAX_WAITS)
                bench_die("too many ways to wait");
            all[count++] = wait;
            bench_asleep_add(&asleep, wait);
            bench_herd_add(&herd, wait);
        }
    }
    bench_fair_enter(fair, all);
}

/* Every round starts with another peer, so that none always follows the same one. */
static int peer_at(const struct bench_contest *contest, int round, int k)
{
    return (round + k) % contest->peer_count;
}

static void measure_pairs(void)
{
    results.pairs = bench_zeroed((size_t)results.mutex.peer_count, sizeof *results.pairs);
    bench_have_threads();
    bench_pin(bench_cpus() - 1);
    for (int r = 0; r < results.pair_rounds; r++) {
        for (int k = 0; k < results.mutex.peer_count; k++) {
            int p = peer_at(&results.mutex, r, k);
            results.pairs[p][r] = bench_pair(results.mutex.peers[p], PAIRS, r);
        }
    }
}

/* Of a mutex. */
static struct bench_contention contend_mutex(const struct bench_peer *peer, struct bench_run run,
                                             struct bench_units units)
{
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

static struct bench_run run_of(const struct bench_contest *contest, int cell,
                               struct bench_units units)
{
    const struct bench_cell *c = &contest->cells[cell];
    return (struct bench_run){c->threads, (uint64_t)(c->section_ns / units.ns_per_step), true,
                              c->busy, contest->seconds};
}

static void prepare(struct bench_contest *contest)
{
    contest->samples = bench_zeroed((size_t)contest->peer_count * (size_t)contest->cell_count *
                                        (size_t)contest->rounds,
                                    sizeof *contest->samples);
}

/* One round, one cell, all peers. */
static void measure_cell(struct bench_contest *contest, int cell, int round,
                         struct bench_units units)
{
    for (int k = 0; k < contest->peer_count; k++) {
        const int p = peer_at(contest, round, k);
        if (contest->peers[p]->contends)
            *bench_sample(contest, p, cell, round) =
                contest->contend(contest->peers[p], run_of(contest, cell, units), units);
    }
}

static void measure_contention(void)
{
    struct bench_contest *mutex = &results.mutex;
    mutex->contend = contend_mutex;
    bench_pin(0);
    struct bench_units units = bench_calibrate();
    prepare(mutex);
    for (int r = 0; r < mutex->rounds; r++) {
        show_progress("contended", r, mutex->rounds);
        results.round_trip_ns[r] = bench_round_trip();
        for (int cell = 0; cell < mutex->cell_count; cell++) {
            struct bench_run idle = run_of(mutex, cell, units);
            idle.steps = 0;
            results.gap_ns[cell][r] = bench_longest_gap(idle, units);
            measure_cell(mutex, cell, r, units);
            if (mutex->cells[cell].busy && !mutex->cells[(cell + 1) % mutex->cell_count].busy)
                bench_sleep(BENCH_BUSY_S);
        }
    }
}

/* All contests of a cell in turn, so that the mutex's waits are those of the same minute. */
static void measure_fair(const char *threads, const char *sections, bool busy)
{
    bench_pin(0);
    struct bench_units units = bench_calibrate();
    for (int f = 0; f < FAIR_CONTESTS; f++) {
        fair[f].rounds = fair->rounds;
        fair[f].seconds = fair->seconds;
        fair[f].contend = bench_fair_contend;
        add_cells(&fair[f], threads, sections, busy);
        prepare(&fair[f]);
    }
    for (int r = 0; r < fair->rounds; r++) {
        show_progress("fair", r, fair->rounds);
        for (int cell = 0; cell < fair->cell_count; cell++) {
            for (int f = 0; f < FAIR_CONTESTS; f++)
                measure_cell(&fair[f], cell, r, units);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"quick", no_argument, 0, 'q'},
        {"smoke", no_argument, 0, 'm'},
        {"json", required_argument, 0, 'j'},
        {"only", required_argument, 0, 'o'},
        {"peers", required_argument, 0, 'p'},
        {"threads", required_argument, 0, 't'},
        {"section", required_argument, 0, 's'},
        {"busy", no_argument, 0, 'b'},
        {"rounds", required_argument, 0, 'r'},
        {"seconds", required_argument, 0, 'd'},
        {"plugin", required_argument, 0, 'x'},
        {"help", no_argument, 0, 'h'},
        {0, 0, 0, 0},
    };
    const char *json = NULL, *only = "uncontended,family,asleep,herd,fair,contended", *peers = NULL,
               *threads = NULL, *sections = NULL;
    bool busy = false;
    results.pair_rounds = 501;
    family.rounds = 301;
    results.mutex.rounds = 11;
    results.mutex.seconds = 0.2;
    asleep.seconds = 4;
    asleep.wakes = MAX_WAKES;
    herd.rounds = 3;
    herd.seconds = 0.15;
    fair->rounds = 3;
    fair->seconds = 0.15;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'q':
            results.pair_rounds = 201;
            family.rounds = 75;
            results.mutex.rounds = 5;
            results.mutex.seconds = 0.06;
            asleep.seconds = 1;
            asleep.wakes = 21;
            herd.rounds = 1;
            herd.seconds = 0.05;
            fair->seconds = 0.1;
            fair->rounds = 1;
            break;
        case 'm':
            results.pair_rounds = family.rounds = 1;
            family.most_turns = 10;
            asleep.wakes = 1;
            results.mutex.rounds = herd.rounds = fair->rounds = 1;
            results.mutex.seconds = asleep.seconds = herd.seconds = fair->seconds = 0.01;
            threads = "2";
            sections = "0";
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
            results.mutex.rounds = fair->rounds = atoi(optarg);
            herd.rounds = fair->rounds < HERD_ROUNDS ? fair->rounds : HERD_ROUNDS;
            break;
        case 'd':
            results.mutex.seconds = fair->seconds = herd.seconds = atof(optarg);
            break;
        case 'x':
            add_plugin(optarg);
            break;
        default:
            usage(option == 'h' ? 0 : 2);
        }
    }
    if (fair->rounds < 1 || results.mutex.rounds > MAX_ROUNDS || !(fair->seconds > 0))
        usage(2);
    for (int p = 0; bench_peers[p]; p++) {
        if (!peers || lists(peers, bench_peers[p]->name))
            bench_enter(&results.mutex, bench_peers[p]);
    }
    add_operations(peers);
    add_waits(peers);
    if (results.mutex.peer_count == 0 && family.count == 0)
        bench_die("no such peer");
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
    if (lists(only, "herd"))
        bench_herd_measure(&herd);
    else
        herd.count = 0;
    if (lists(only, "contended")) {
        const bool chosen = threads || sections || busy;
        for (size_t i = 0; i < sizeof plan / sizeof *plan; i++) {
            if (!chosen || busy == plan[i].busy)
                add_cells(&results.mutex, threads ? threads : plan[i].threads,
                          sections ? sections : plan[i].sections, plan[i].busy);
        }
        measure_contention();
    }
    if (lists(only, "fair")) {
        results.fair_count = FAIR_CONTESTS;
        measure_fair(threads ? threads : FAIR_THREADS, sections ? sections : FAIR_SECTIONS, busy);
    }
    bench_print(&results, stdout);
    if (json) {
        FILE *out = fopen(json, "w");
        if (!out)
            bench_die(strerror(errno));
        bench_print_json(&results, out);
        fclose(out);
    }
    return 0;
}
