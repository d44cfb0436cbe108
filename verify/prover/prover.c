/* prover.c: the table of proofs. */
#include "prover.h"

#include <stdlib.h>
#include <time.h>

#include "../explorer/memory.h"
#include "certificate.h"
#include "witnesses.h"

#define MOST_PAIRS 5000000u

/* Several times those of the original, with small constants. */
#define MOST_PAIRS_OF_A_MUTANT 400000u

/* What one proof has shown. */
struct outcome {
    const char *error;
    FILE *out;          /* why it fails; may be NULL */
    struct mark *marks; /* what the claims rest on, of each pair */
    struct claims claims;
};

static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void add_marks(struct outcome *outcome, const struct witnesses *witnesses, uint32_t bit,
                      uint32_t count)
{
    outcome->claims.made |= bit;
    for (uint32_t pair = 0; pair < count; pair++) {
        outcome->marks[pair].covered |= witnesses->marks[pair] & COVERED ? bit : 0;
        outcome->marks[pair].obliged |= witnesses->marks[pair] & OBLIGED ? bit : 0;
    }
}

/* No waiter at any of the words is stranded. */
static void find_witnesses(struct pairs *pairs, bool briefs_end, struct outcome *outcome)
{
    const uint32_t count = pairs->store.count;
    unsigned char *keepers = witnesses_keepers(pairs);
    outcome->marks = allocate(count, sizeof *outcome->marks);
    outcome->claims.are_keepers = keepers;
    for (uint32_t pair = 0; pair < count; pair++)
        outcome->marks[pair].is = IN_INVARIANT | (keepers ? keepers[pair] * KEEPS : 0u);
    for (uint32_t word = 0; word < model_primitive->words && !outcome->error; word++) {
        struct witnesses claims[CLAIMS];
        witnesses_find(claims, pairs, word, keepers, briefs_end);
        outcome->error = claims[ALL_SLEEPERS].error;
        if (outcome->error && outcome->out)
            witnesses_print(outcome->out, &claims[ALL_SLEEPERS], pairs);
        for (enum claim c = 0; c < CLAIMS; c++)
            if (claims[c].is_made)
                add_marks(outcome, &claims[c], 1u << (CLAIMS * word + c), count);
        witnesses_close(claims);
    }
    free(keepers);
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
        find_witnesses(pairs, pairs->proof->with & BRIEFS_END, outcome);
}

/* To the file PREFIX-NUMBER. */
static void certify(const struct pairs *pairs, const char *prefix, uint32_t number,
                    struct outcome *outcome)
{
    /* check.js does not know what runs remember. */
    if (model_primitive->remembers)
        return;
    char file[512];
    snprintf(file, sizeof file, "%s-%u", prefix, number);
    if (!certificate_write(file, pairs, outcome->marks, outcome->claims))
        outcome->error = "its certificate cannot be written";
}

static bool prove_one(uint32_t number, bool is_quiet, const char *certificates)
{
    const struct configuration *proof = &model_primitive->proofs[number];
    struct pairs pairs;
    struct outcome outcome = {.out = is_quiet ? NULL : tmpfile()};
    const double start = now();
    /* The certificate has the table of steps of this proof alone. */
    runs_reset(model_primitive->functions, model_primitive->words);
    if (!is_quiet) {
        printf("%3u  %-24s", number + 1, proof->agents);
        fflush(stdout);
    }
    pairs_find(&pairs, proof, is_quiet ? MOST_PAIRS_OF_A_MUTANT : MOST_PAIRS);
    judge(&pairs, &outcome);
    if (certificates && !outcome.error)
        certify(&pairs, certificates, number + 1, &outcome);
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
    fflush(stdout);
    free(outcome.marks);
    pairs_close(&pairs);
    return !outcome.error;
}

bool prove(const struct primitive *primitive, int most, bool is_quiet, const char *certificates)
{
    bool all_hold = true;
    model_primitive = primitive;
    runs_merge_ends = true;
    if (!is_quiet)
        printf("  #  any number of each            pairs transitions   s  verdict\n");
    for (uint32_t i = 0; i < primitive->proof_count && (all_hold || !is_quiet); i++) {
        if ((int)primitive->proofs[i].size <= most)
            all_hold &= prove_one(i, is_quiet, certificates);
    }
    return all_hold;
}
