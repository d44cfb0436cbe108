/* prover.c: the table of proofs. */
#include "prover.h"

#include <stdlib.h>
#include <time.h>

#include "witnesses.h"

#define MOST_PAIRS 4000000u

/* Several times those of the original, with small constants. */
#define MOST_PAIRS_OF_A_MUTANT 400000u

/* What one proof has shown. */
struct outcome {
    const char *error;
    FILE *out; /* why it fails; may be NULL */
};

static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* No waiter at any of the words is stranded. */
static const char *find_witnesses(struct pairs *pairs, bool briefs_end, FILE *out)
{
    const char *error = NULL;
    unsigned char *keepers = briefs_end ? NULL : witnesses_keepers(pairs);
    for (uint32_t word = 0; word < model_primitive->words && !error; word++) {
        struct witnesses witnesses;
        witnesses_find(&witnesses, pairs, word, keepers, briefs_end);
        error = witnesses.error;
        if (error && out)
            witnesses_print(out, &witnesses, pairs);
        witnesses_close(&witnesses);
    }
    free(keepers);
    return error;
}

static void judge(struct pairs *pairs, struct outcome *outcome)
{
    uint32_t alone;
    outcome->error = pairs->error;
    if (outcome->error) {
        if (outcome->out)
            pairs_print(outcome->out, pairs, pairs->failed);
        return;
    }
    outcome->error = witnesses_alone(pairs, &alone);
    if (outcome->error && outcome->out)
        pairs_print(outcome->out, pairs, alone);
    if (!outcome->error)
        outcome->error = find_witnesses(pairs, pairs->proof->with & BRIEFS_END, outcome->out);
}

static bool prove_one(uint32_t number, bool is_quiet)
{
    const struct configuration *proof = &model_primitive->proofs[number];
    struct pairs pairs;
    struct outcome outcome = {.out = is_quiet ? NULL : tmpfile()};
    const double start = now();
    if (!is_quiet) {
        printf("%3u  %-24s", number + 1, proof->agents);
        fflush(stdout);
    }
    pairs_find(&pairs, proof, is_quiet ? MOST_PAIRS_OF_A_MUTANT : MOST_PAIRS);
    judge(&pairs, &outcome);
    if (is_quiet && outcome.error)
        printf("%u\t%u\t%s\n", number + 1, pairs.store.count, outcome.error);
    else if (!is_quiet)
        printf("%9u %10zu %6.2f  %s\n", pairs.store.count, pairs.move_count + pairs.reaction_count,
               now() - start,
               outcome.error              ? outcome.error
               : proof->with & BRIEFS_END ? "proved, if brief waits end"
                                          : "proved");
    if (outcome.out) {
        rewind(outcome.out);
        for (int c; (c = fgetc(outcome.out)) != EOF;)
            putchar(c);
        fclose(outcome.out);
    }
    pairs_close(&pairs);
    return !outcome.error;
}

bool prove(const struct primitive *primitive, int most, bool is_quiet)
{
    bool all_hold = true;
    model_primitive = primitive;
    if (!is_quiet)
        printf("  #  any number of each            pairs transitions   s  verdict\n");
    for (uint32_t i = 0; i < primitive->proof_count && (all_hold || !is_quiet); i++) {
        if ((int)primitive->proofs[i].size <= most)
            all_hold &= prove_one(i, is_quiet);
    }
    return all_hold;
}

static void write_pair(FILE *out, const struct pairs *pairs, uint32_t pair, unsigned marks)
{
    struct state state;
    pairs_get(pairs, pair, &state);
    const struct agent *a = &state.agents[0];
    fprintf(out, "[%u,%u,\"%s\",%u,%u,%u,%u,%u,%u]", state.words[0], a->doing,
            a->doing == IDLE ? "" : model_primitive->functions[a->function].label, a->why,
            a->callers[0].phase, a->value, a->word, a->way, marks);
}

/* Bit 0: covered. Bit 1: obliged. Bit 2: a keeper. */
static unsigned marks_of(unsigned marks, bool is_keeper)
{
    return (marks & COVERED ? 1u : 0) | (marks & OBLIGED ? 2u : 0) | (is_keeper ? 4u : 0);
}

static void write_certificate(FILE *out, const struct pairs *pairs,
                              const struct witnesses *witnesses, const unsigned char *keepers)
{
    fprintf(out, "{\"primitive\":\"%s\",\"pairs\":[\n", model_primitive->name);
    for (uint32_t pair = 0; pair < pairs->store.count; pair++) {
        fputs(pair ? ",\n" : "", out);
        write_pair(out, pairs, pair, marks_of(witnesses->marks[pair], keepers && keepers[pair]));
    }
    fputs("\n],\"runs\":", out);
    runs_write(out);
    fputs("}\n", out);
}

bool certify(const struct primitive *primitive, const char *file)
{
    struct pairs pairs;
    struct witnesses witnesses;
    FILE *out = fopen(file, "w");
    if (!out) {
        perror(file);
        return false;
    }
    model_primitive = primitive;
    pairs_find(&pairs, &primitive->proofs[0], MOST_PAIRS);
    bool holds = !pairs.error;
    if (holds) {
        unsigned char *keepers = witnesses_keepers(&pairs);
        witnesses_find(&witnesses, &pairs, 0, keepers, false);
        holds = !witnesses.error;
        write_certificate(out, &pairs, &witnesses, keepers);
        witnesses_close(&witnesses);
        free(keepers);
    }
    pairs_close(&pairs);
    return fclose(out) == 0 && holds;
}
