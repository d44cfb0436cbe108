/*
 * same.c: which mutants are mutants. Calls each function of a primitive with arguments and results
 * of operations that are drawn by chance, as it is and mutated, and prints the number of each
 * mutant, and
 *
 *   differs  it does another operation, or returns something else, somewhere
 *   same     it never does
 *   missed   no call came to the place that is mutated
 *
 * What is drawn are the constants of the sources (POOL), the arguments, and what was seen before,
 * or-ed, or one more or less.
 */
#include "mutant.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "../explorer/explorer.h"

#define MOST_OPERATIONS 24u
#define MOST_SEEN 64u

#ifndef MUTANTS
#define MUTANTS 0
#define TRIES 0
#define POOL 0
#endif

int lw_mutant;
bool lw_reached;
unsigned lw_turns;
uint32_t runs_self;

static const uint32_t pool[] = {POOL};
static lw_word words[MAX_WORDS];
static jmp_buf end;
static uint64_t chance;
static uint32_t seen[MOST_SEEN];
static unsigned seen_count;

/* What a call did. */
static struct operation trace[MOST_OPERATIONS + 1];
static unsigned length;

static uint32_t draw(uint32_t below)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (uint32_t)((chance >> 16) % below);
}

static uint32_t remember(uint32_t value)
{
    seen[seen_count++ % MOST_SEEN] = value;
    return value;
}

static uint32_t some_value(void)
{
    const unsigned known = seen_count < MOST_SEEN ? seen_count : MOST_SEEN;
    uint32_t value = known && draw(3) ? seen[draw(known)] : pool[draw(sizeof pool / sizeof *pool)];
    switch (draw(8)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return value & pool[draw(sizeof pool / sizeof *pool)];
    case 3:
    case 4:
        return value | pool[draw(sizeof pool / sizeof *pool)];
    default:
        return value;
    }
}

static void note(enum operation_kind kind, const lw_word *word, uint32_t a, uint32_t b)
{
    if (length == MOST_OPERATIONS)
        lw_stop("operations without end");
    trace[length++] = (struct operation){kind, (uint32_t)(word - words), a, b, 0};
}

uint32_t runs_load(const lw_word *word)
{
    note(LOAD, word, 0, 0);
    return remember(some_value());
}

void runs_store(lw_word *word, uint32_t value)
{
    note(STORE, word, value, 0);
}

uint32_t runs_cas(lw_word *word, uint32_t expected, uint32_t desired)
{
    note(CAS, word, expected, desired);
    return remember(draw(2) ? expected : some_value());
}

uint32_t runs_notify(lw_word *word, uint32_t n)
{
    note(NOTIFY, word, n, 0);
    return draw(3);
}

/* Whatever ended the call: it is one more thing that it did. */
void lw_stop(const char *why)
{
    (void)why;
    longjmp(end, 1);
}

/* What of a result its caller reads. */
static uint64_t read_of(const struct function *function, uint64_t result)
{
    if (!function->is_step)
        return function->answers_bool ? result != 0 : result;
    const uint32_t what = lw_answer_what(result);
    if (what < LW_WAIT)
        return lw_answer_of(what, 0, 0, what == LW_DONE ? lw_answer_expected(result) : 0);
    if (what == LW_RETRY || what == LW_QUEUE)
        return lw_answer_of(what, what == LW_QUEUE ? lw_answer_word(result) : 0,
                            lw_answer_phase(result), 0);
    return result;
}

/* A call: the same number draws the same arguments and results. */
static void call(const struct primitive *primitive, unsigned number, int mutant)
{
    chance = 0x9e3779b97f4a7c15u * (number + 1);
    draw(2);
    seen_count = length = lw_turns = 0;
    lw_mutant = mutant;
    const struct function *function = &primitive->functions[draw(primitive->function_count)];
    runs_self = remember(draw(2) ? 1 + draw(3) : 0x10000001u);
    uint32_t a = remember(draw(3) ? runs_self : draw(2) ? draw(4) : some_value());
    uint32_t b =
        function->is_step ? draw(8) | (draw(2) ? LW_ASYNC | draw(2) * LW_QUEUED : 0) : some_value();
    uint32_t c = function->is_step ? draw(primitive->last_phase + 1) : some_value();
    /* Not a plain variable: it is set between setjmp and longjmp. */
    static volatile uint64_t result;
    result = UINT64_MAX;
    if (setjmp(end) == 0)
        result = read_of(function, function->call(words + function->first_word, a, b, c));
    trace[length] = (struct operation){RETURNED, 0, 0, 0, result};
}

static const char *judge(const struct primitive *primitive, int mutant)
{
    struct operation mutated[MOST_OPERATIONS + 1];
    bool reached = false;
    for (unsigned number = 0; number < TRIES; number++) {
        lw_reached = false;
        call(primitive, number, mutant);
        if (!lw_reached)
            continue;
        reached = true;
        const unsigned count = length;
        memcpy(mutated, trace, sizeof *trace * (count + 1));
        call(primitive, number, 0);
        if (length != count || memcmp(mutated, trace, sizeof *trace * (count + 1)) != 0)
            return "differs";
    }
    return reached ? "same" : "missed";
}

int explorer_main(const struct primitive *primitive, int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int mutant = 1; mutant <= MUTANTS; mutant++)
        printf("%d %s\n", mutant, judge(primitive, mutant));
    return 0;
}
