/* main.c: lockword-simulate: which machines, which cells; and the table. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"
#include "measure.h"
#include "policies.h"

#define MOST 16 /* numbers in a list */
#define POLICIES 16
#define WARM_UP 0.2  /* of a run, which is not counted */
#define OUTSIDE_NS 2 /* what a thread does between two turns if it has no work there */

static struct {
    const struct policy *policy;
    double section, from;
    _Alignas(128) uint32_t count;
    uint32_t expected;
    uint64_t moves_before, sleeps_before, calls_before;
    uint64_t turns[SIM_MAX_THREADS];
    double asked[SIM_MAX_THREADS]; /* 0: it does not wait */
    double longest;
} run;

/* What threads do besides. */
static struct {
    bool busy;           /* a thread on each CPU computes, and takes no lock */
    double sleep;        /* in each section, ns */
    double visit, every; /* another program runs for so long on each CPU, so often, ns; 0: none */
} besides;

static double outside = -1; /* the work there, ns; -1: as much as inside */

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "lockword-simulate: %s\n", what);
    exit(2);
}

/* The constants of the waiting policy that --scale can change, between bars: CMakeLists.txt. */
#ifndef SIM_CONSTANTS
#define SIM_CONSTANTS ""
#endif

/* The one that is another than the sources say. */
static struct {
    char name[32];
    double factor;
} scaled;

double sim_constant(const char *name, double value)
{
    return strcmp(name, scaled.name) == 0 ? value * scaled.factor : value;
}

static void scale(const char *setting)
{
    char between[sizeof scaled.name + 2];
    if (!*SIM_CONSTANTS || sscanf(setting, "%31[A-Z_]=%lf", scaled.name, &scaled.factor) != 2)
        die("--scale NAME=FACTOR: for lockword-simulate-tune");
    snprintf(between, sizeof between, "|%s|", scaled.name);
    if (!strstr(SIM_CONSTANTS, between))
        die("--scale: the constants are " SIM_CONSTANTS);
}

static uint32_t nobody_wakes;

static void note_wait(double asked, double got)
{
    if (got > run.from && got - asked > run.longest)
        run.longest = got - asked;
}

static void compute(int number, void *unused)
{
    (void)number, (void)unused;
    for (;;)
        sim_work(1000);
}

/* Another program, which stops the CPU's threads wherever they are. */
static void visit(int number, void *unused)
{
    (void)number, (void)unused;
    for (;;) {
        const double pause = besides.every * (0.5 + sim_random(1000) / 1000.0);
        sim_futex_wait(&nobody_wakes, 0, sim_now() + pause);
        sim_work(besides.visit);
    }
}

static void contend(int number, void *unused)
{
    (void)unused;
    for (;;) {
        run.asked[number] = sim_now();
        run.policy->lock(number);
        note_wait(run.asked[number], sim_now());
        run.asked[number] = 0;
        const uint32_t before = run.expected++;
        sim_add_unlocked(&run.count, 1);
        sim_work(run.section);
        if (besides.sleep > 0)
            sim_futex_wait(&nobody_wakes, 0, sim_now() + besides.sleep);
        if (run.count != before + 1 && !run.policy->shares)
            die("two threads held a mutex at once");
        if (run.moves_before == 0 && sim_now() > run.from) {
            run.moves_before = sim_moves(run.policy->line) + 1;
            run.sleeps_before = sim_sleeps();
            run.calls_before = sim_calls();
        }
        if (sim_now() > run.from)
            run.turns[number]++;
        run.policy->unlock(number);
        const double rest = outside >= 0 ? outside : run.section;
        sim_work(rest > 0 ? rest : OUTSIDE_NS);
    }
}

struct result {
    double mops, share, longest, moves, sleeps, calls;
};

static struct result simulate(const struct policy *policy, const struct sim_machine *machine,
                              int threads, double section, double ns)
{
    memset(&run, 0, sizeof run);
    run.policy = policy;
    run.section = section;
    policy->reset();
    sim_build(machine);
    for (int k = 0; k < threads; k++)
        sim_add(contend, NULL);
    for (int k = 0; besides.busy && k < machine->cpus; k++)
        sim_add(compute, NULL);
    for (int k = 0; besides.visit > 0 && k < machine->cpus; k++)
        sim_add(visit, NULL);
    run.from = sim_start() + WARM_UP * ns;
    sim_run(ns);
    const double end = sim_start() + ns;
    uint64_t sum = 0, least = UINT64_MAX, most = 0;
    for (int k = 0; k < threads; k++) {
        const uint64_t turns = run.turns[k];
        sum += turns;
        least = turns < least ? turns : least;
        most = turns > most ? turns : most;
        if (run.asked[k] > 0)
            note_wait(run.asked[k], end);
    }
    if (sum == 0)
        die("no thread had a turn: longer runs, or a lost wake-up");
    return (struct result){
        (double)sum / ((1 - WARM_UP) * ns) * 1e3,
        (double)most / (double)(least > 0 ? least : 1),
        run.longest,
        (double)(sim_moves(policy->line) + 1 - run.moves_before) / (double)sum,
        (double)(sim_sleeps() - run.sleeps_before) / (double)sum,
        (double)(sim_calls() - run.calls_before) / (double)sum,
    };
}

/*
 * A cell's policies are simulated at once, each in a process of its own: what the shipped sources
 * keep in static memory starts anew.
 */
struct apart {
    pid_t child;
    int result; /* a pipe */
};

static struct apart begin_apart(const struct policy *policy, const struct sim_machine *machine,
                                int threads, double section, double ns)
{
    int ends[2];
    fflush(NULL);
    const pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child < 0)
        die(strerror(errno));
    if (child == 0) {
        const struct result result = simulate(policy, machine, threads, section, ns);
        _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 2);
    }
    close(ends[1]);
    return (struct apart){child, ends[0]};
}

static struct result end_apart(const struct apart *apart)
{
    struct result result;
    int status;
    const bool whole = read(apart->result, &result, sizeof result) == sizeof result;
    close(apart->result);
    if (waitpid(apart->child, &status, 0) != apart->child || status != 0 || !whole)
        exit(2);
    return result;
}

static int parse(const char *list, double *numbers)
{
    int n = 0;
    while (*list && n < MOST) {
        char *end;
        numbers[n++] = strtod(list, &end);
        if (end == list || (*end && *end != ','))
            die("a list of numbers is like 2,4,16");
        list = *end ? end + 1 : end;
    }
    return n;
}

static const struct {
    const char *name;
    size_t at;
} costs[] = {
#define COST(name)                                                                                 \
    {                                                                                              \
#name, offsetof(struct sim_costs, name)                                                    \
    }
    COST(hit),   COST(locked), COST(move),  COST(far),    COST(copy),    COST(keep),
    COST(pause), COST(clock),  COST(yield), COST(change), COST(call),    COST(wait),
    COST(wake),  COST(idle),   COST(slice), COST(jitter), COST(forfeit),
};

static double *cost_at(struct sim_costs *of, size_t k)
{
    return (double *)((char *)of + costs[k].at);
}

static void set_cost(struct sim_costs *of, const char *setting)
{
    const char *equals = strchr(setting, '=');
    for (size_t k = 0; equals && k < sizeof costs / sizeof *costs; k++) {
        const size_t length = strlen(costs[k].name);
        if (length == (size_t)(equals - setting) && strncmp(setting, costs[k].name, length) == 0) {
            *cost_at(of, k) = atof(equals + 1);
            return;
        }
    }
    die("--cost NAME=NS: see machine.h for the names");
}

/* The policies to simulate: those that exclude, unless --policy names some. */
static const struct policy *named[POLICIES];
static int named_count;

static void name_policy(const char *name)
{
    const struct policy *policy = policies;
    while (policy->name && strcmp(policy->name, name) != 0)
        policy++;
    if (!policy->name || named_count == POLICIES)
        die("no such policy");
    named[named_count++] = policy;
}

static bool is_wanted(const struct policy *policy)
{
    for (int k = 0; k < named_count; k++) {
        if (named[k] == policy)
            return true;
    }
    return named_count == 0 && !policy->is_extra;
}

static void usage(int status)
{
    fputs("usage: lockword-simulate [--cpus N,...] [--sockets N,...] [--threads N,...]\n"
          "                         [--section NS,...] [--outside NS]\n"
          "                         [--busy] [--visit NS,EVERY] [--sleep NS] [--policy NAME]...\n"
          "                         [--ms MS] [--seed N] [--measure] [--cost NAME=NS]...\n"
          "\n"
          "  --threads   for each CPU\n"
          "  --section   of work inside and outside; 0: an increment inside, nothing outside\n"
          "  --outside   work there, if not as much as inside\n"
          "  --busy      a thread computes on each CPU besides\n"
          "  --visit     another program runs on each CPU for NS, about every EVERY ns\n"
          "  --sleep     in each section, besides its work\n"
          "  --ms        of virtual time, for each cell and policy\n"
          "  --measure   costs of the machine at hand, which has to be quiet\n"
          "  --cost      another cost than machine.c's\n"
          "  --scale     a constant of lockword's policy (NAME=FACTOR; lockword-simulate-tune)\n",
          status ? stderr : stdout);
    exit(status);
}

/* One cell, all policies. */
static void simulate_cell(const struct sim_machine *machine, int threads, double section, double ns,
                          FILE *json)
{
    static const char *comma = "";
    printf("\n  %d CPUs, %d socket%s, %d threads, ", machine->cpus, machine->sockets,
           machine->sockets > 1 ? "s" : "", threads);
    if (section > 0)
        printf("%g ns inside and %g outside\n", section, outside >= 0 ? outside : section);
    else
        printf("an increment inside, nothing outside\n");
    printf("  %-24s %10s %10s %12s %10s %10s %10s\n", "", "Mops/s", "share", "longest, us",
           "transfers", "sleeps", "calls");
    const struct policy *chosen[POLICIES];
    struct apart apart[POLICIES];
    int n = 0;
    for (const struct policy *policy = policies; policy->name; policy++) {
        if (!is_wanted(policy) || (!policy->sleeps && threads > machine->cpus))
            continue;
        if (n == POLICIES)
            die("POLICIES is too small");
        chosen[n] = policy;
        apart[n++] = begin_apart(policy, machine, threads, section, ns);
    }
    for (int k = 0; k < n; k++) {
        const struct policy *policy = chosen[k];
        const struct result r = end_apart(&apart[k]);
        printf("  %-24s %10.4f %10.1f %12.1f %10.2f %10.2f %10.2f\n", policy->name, r.mops, r.share,
               r.longest / 1e3, r.moves, r.sleeps, r.calls);
        fflush(stdout);
        if (!json)
            continue;
        fprintf(json,
                "%s\n    {\"peer\": \"%s\", \"cpus\": %d, \"sockets\": %d, \"threads\": %d, "
                "\"section_ns\": %g, ",
                comma, policy->name, machine->cpus, machine->sockets, threads, section);
        fprintf(json,
                "\"mops\": %.4g, \"share\": %.4g, \"longest_ns\": %.6g, \"transfers\": %.4g, "
                "\"sleeps\": %.4g, \"calls\": %.4g}",
                r.mops, r.share, r.longest, r.moves, r.sleeps, r.calls);
        comma = ",";
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"cpus", required_argument, 0, 'c'},
        {"sockets", required_argument, 0, 'k'},
        {"threads", required_argument, 0, 't'},
        {"section", required_argument, 0, 's'},
        {"outside", required_argument, 0, 'o'},
        {"policy", required_argument, 0, 'p'},
        {"ms", required_argument, 0, 'm'},
        {"seed", required_argument, 0, 'r'},
        {"cost", required_argument, 0, 'x'},
        {"help", no_argument, 0, 'h'},
        {"measure", no_argument, 0, 'q'},
        {"json", required_argument, 0, 'j'},
        {"busy", no_argument, 0, 'b'},
        {"sleep", required_argument, 0, 'l'},
        {"scale", required_argument, 0, 'f'},
        {"visit", required_argument, 0, 'v'},
        {0, 0, 0, 0},
    };
    struct sim_machine machine = {.costs = sim_default_costs, .seed = 1};
    double cpus[MOST] = {2, 4, 8, 16, 32, 64, 128}, per_cpu[MOST] = {1, 4},
           sections[MOST] = {0, 180, 1000, 5000}, sockets[MOST] = {1};
    int cpu_count = 7, per_cpu_count = 2, section_count = 4, socket_count = 1;
    double ms = 20;
    FILE *json = NULL;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'c':
            cpu_count = parse(optarg, cpus);
            break;
        case 'k':
            socket_count = parse(optarg, sockets);
            break;
        case 't':
            per_cpu_count = parse(optarg, per_cpu);
            break;
        case 's':
            section_count = parse(optarg, sections);
            break;
        case 'o':
            outside = atof(optarg);
            break;
        case 'p':
            name_policy(optarg);
            break;
        case 'm':
            ms = atof(optarg);
            break;
        case 'r':
            machine.seed = strtoull(optarg, NULL, 0);
            break;
        case 'b':
            besides.busy = true;
            break;
        case 'l':
            besides.sleep = atof(optarg);
            break;
        case 'v':
            if (sscanf(optarg, "%lf,%lf", &besides.visit, &besides.every) != 2)
                die("--visit NS,EVERY");
            break;
        case 'q':
            measure_costs(&machine.costs);
            break;
        case 'f':
            scale(optarg);
            break;
        case 'x':
            set_cost(&machine.costs, optarg);
            break;
        case 'j':
            json = fopen(optarg, "w");
            if (!json)
                die(strerror(errno));
            break;
        default:
            usage(option == 'h' ? 0 : 2);
        }
    }
    if (!(ms > 0))
        usage(2);
    printf("Costs, ns:");
    if (json)
        fprintf(json, "{\n  \"ms\": %g,\n  \"seed\": %" PRIu64 ",\n  \"costs\": {", ms,
                machine.seed);
    for (size_t k = 0; k < sizeof costs / sizeof *costs; k++) {
        const double cost = *cost_at(&machine.costs, k);
        printf(" %s %.4g", costs[k].name, cost);
        if (json)
            fprintf(json, "%s \"%s\": %.4g", k ? "," : "", costs[k].name, cost);
    }
    if (json)
        fputs(" },\n  \"cells\": [", json);
    printf(
        "\n\nSimulated, %g ms each. Mops/s: turns; share: turns of the luckiest thread for each of "
        "the unluckiest's;\ntransfers: of the mutex's cache line, per turn; sleeps: per turn\n",
        ms);
    for (int k = 0; k < socket_count; k++) {
        for (int c = 0; c < cpu_count; c++) {
            for (int t = 0; t < per_cpu_count; t++) {
                machine.sockets = (int)sockets[k];
                machine.cpus = (int)cpus[c];
                const int threads = (int)(cpus[c] * per_cpu[t]);
                if (threads < 1 || threads > SIM_MAX_THREADS)
                    die("too many threads");
                for (int s = 0; s < section_count; s++)
                    simulate_cell(&machine, threads, sections[s], ms * 1e6, json);
            }
        }
    }
    if (json) {
        fputs("\n  ]\n}\n", json);
        if (fclose(json) != 0)
            die(strerror(errno));
    }
    return 0;
}
