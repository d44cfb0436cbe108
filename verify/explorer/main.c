/* main.c: the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../prover/prover.h"
#include "explorer.h"
#include "search.h"

#define MOST_STATES 20000000u
#define MAX_CONFIGURATIONS 100

/* With --kill one failure is enough: configurations of more states are put off until the others are
 * explored; with --few, left out.
 */
static const uint32_t limits[] = {3000, 30000, MOST_STATES};
#define LIMITS (sizeof limits / sizeof *limits)

struct options {
    bool deep, kill, few, prove;
    int only;
    const char *dump, *certificates;
};

static bool read_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){0};
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (strcmp(argv[i], "--deep") == 0)
            options->deep = true;
        else if (strcmp(argv[i], "--kill") == 0)
            options->kill = true;
        else if (strcmp(argv[i], "--prove") == 0)
            options->prove = true;
        else if (strcmp(argv[i], "--certificates") == 0 && more)
            options->certificates = argv[++i];
        else if (strcmp(argv[i], "--few") == 0)
            options->kill = options->few = true;
        else if (strcmp(argv[i], "--only") == 0 && more)
            options->only = atoi(argv[++i]);
        else if (strcmp(argv[i], "--dump") == 0 && more)
            options->dump = argv[++i];
        else
            return false;
    }
    return true;
}

/* 'b,b,aa ×2', with what it has besides. */
static void describe(const struct configuration *configuration, char *text, size_t size)
{
    static const char *const KINDS[] = {"spurious", "timeouts", "cancels", "slices",   "briefs",
                                        "death",    "strays",   "burial",  "by chance"};
    int used = snprintf(text, size, "%s ×%d", configuration->agents, configuration->rounds);
    /* Columns, not bytes: × has one of the former and two of the latter. */
    used += snprintf(text + used, size - (size_t)used, "%*s", used < 15 ? 15 - used : 1, "");
    const char *separator = "";
    for (unsigned kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++) {
        if (KINDS[kind] && configuration->with >> kind & 1) {
            used += snprintf(text + used, size - (size_t)used, "%s%s", separator, KINDS[kind]);
            separator = " ";
        }
    }
    if (configuration->most_lost)
        snprintf(text + used, size - (size_t)used, "%sat most %d turns lost", separator,
                 configuration->most_lost);
}

enum outcome { HOLDS, FAILS, TOO_LARGE };

static enum outcome explore(const struct primitive *primitive, uint32_t number,
                            const struct options *options, uint32_t most_states)
{
    const struct configuration *configuration = &primitive->configurations[number];
    char text[160];
    describe(configuration, text, sizeof text);
    model_use(primitive, configuration);
    if (!options->kill) {
        printf("%3u  %-72s", number + 1, text);
        fflush(stdout);
    }
    FILE *trace = options->kill ? NULL : tmpfile();
    const struct verdict verdict = search(most_states, trace);
    if (verdict.states > most_states && most_states < MOST_STATES)
        return TOO_LARGE;
    if (!options->kill) {
        printf("%9u %10llu %6.2f  %s", verdict.states, (unsigned long long)verdict.transitions,
               verdict.seconds, verdict.error ? "FAILS" : "holds");
        printf(verdict.chance > 0 ? ", but for %.1g\n" : "\n", verdict.chance);
    }
    if (verdict.error && options->kill)
        printf("%u\t%u\t%s\n", number + 1, verdict.trace, verdict.error);
    else if (verdict.error)
        printf("\n     %s:\n", verdict.error);
    if (trace) {
        rewind(trace);
        for (int c; (c = fgetc(trace)) != EOF;)
            putchar(c);
        fclose(trace);
    }
    return verdict.error ? FAILS : HOLDS;
}

static bool dump(const char *file)
{
    FILE *out = fopen(file, "w");
    if (!out) {
        perror(file);
        return false;
    }
    runs_dump(out);
    return fclose(out) == 0;
}

int explorer_main(const struct primitive *primitive, int argc, char **argv)
{
    struct options options;
    if (!read_options(&options, argc, argv)) {
        fprintf(stderr,
                "usage: explore-%s [--deep] [--only N] [--dump FILE] [--kill | --few]\n"
                "                    [--prove [--certificates PREFIX]]\n",
                primitive->name);
        return 2;
    }
    runs_reset(primitive->functions, primitive->words);
    if (!options.kill && !options.prove)
        printf("  #  %-71s   states transitions    s  verdict\n",
               "agents ×rounds and what may happen");
    const int most = options.kill ? SMALL : options.deep ? LARGE : MEDIUM;
    if (options.prove)
        return prove(primitive, options.few ? SMALL : most, options.kill, options.certificates) ? 0
                                                                                                : 1;
    bool all_hold = true;
    bool is_done[MAX_CONFIGURATIONS] = {false};
    const unsigned passes = options.few ? LIMITS - 1 : LIMITS;
    for (unsigned pass = options.kill ? 0 : LIMITS - 1; pass < passes; pass++) {
        for (uint32_t i = 0; i < primitive->configuration_count; i++) {
            if (options.only ? (uint32_t)options.only != i + 1
                             : (int)primitive->configurations[i].size > most)
                continue;
            const enum outcome outcome =
                is_done[i] ? HOLDS : explore(primitive, i, &options, limits[pass]);
            is_done[i] = outcome != TOO_LARGE;
            all_hold &= outcome != FAILS;
            if (!all_hold && options.kill)
                return 1;
        }
    }
    if (options.dump && !dump(options.dump))
        return 2;
    return all_hold ? 0 : 1;
}
