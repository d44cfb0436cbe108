/*
 * counter.c: the explorer's model of the counter. Callers b and a wait until the value is at least
 * their size, m and n until it is less, c and d until it changes. The second of each pair waits
 * without blocking. So does p, which is otherwise like a. Caller i adds its size, o subtracts it; f
 * and g do the same by the C interface, whose inlined half goes before the step. The configuration
 * gives the first value.
 */
#include <lockword/counter.h>

#include "callers.h"

enum { AT_LEAST, AT_MOST, CHANGE, VALUE, ADD, ADD_TOO_MUCH, FACE_ADD, FACE_ADD_TOO_MUCH };

/* A caller's own flags. */
enum {
    KNOWS = FIRST_OWN_FLAG,     /* has read the value, and is to wait for another */
    ADDED = FIRST_OWN_FLAG * 2, /* during its call; what was there before is in `wanted` */
};

#define ADDED_SO_FAR 0 /* ghost, modulo 256: by what was done */

/* More than there is ever, or than there is ever room for. */
#define TOO_MUCH 16u

/* The highest value that the proofs speak of. */
#define MOST 4

CALL(value, lw_counter_value(words))
CALL(add, lw_counter_add_step(words, (int32_t)a))

/* Returns as the step does. */
static uint64_t face_add(lw_word *words, uint32_t n, uint32_t b, uint32_t c)
{
    (void)b, (void)c;
    uint32_t old;
    if (lw_counter_add((lw_counter *)words, (int32_t)n, &old) != 0)
        return LW_COUNTER_OVERFLOW;
    return old & LW_COUNTER_MAX; /* never what says that it failed */
}

static const struct function functions[] = {
    [AT_LEAST] = STEP("counter_at_least_step", "at least", lw_counter_at_least_step),
    [AT_MOST] = STEP("counter_at_most_step", "at most", lw_counter_at_most_step),
    [CHANGE] = STEP("counter_change_step", "change", lw_counter_change_step),
    [VALUE] = FUNCTION("counter_value", "value", 0, value),
    [ADD] = FUNCTION("counter_add_step", "add", 1, add),
    [ADD_TOO_MUCH] = FUNCTION("counter_add_step", "add too much", 1, add),
    [FACE_ADD] = INLINED("counter_add", "add by the face", face_add),
    [FACE_ADD_TOO_MUCH] = INLINED("counter_add", "add too much", face_add),
};

static uint32_t value_of(const struct state *state)
{
    return state->words[LW_COUNTER_STATE] & LW_COUNTER_MAX;
}

static void begin(struct state *state)
{
    state->words[LW_COUNTER_STATE] = model_configuration->first;
}

/* What an adder adds. */
static uint32_t sum_of(int agent, int caller)
{
    return is_one_of(agent, caller, "og") ? -model_size(agent, caller) : model_size(agent, caller);
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t size = model_size(agent, caller);
    const bool by_face = is_one_of(agent, caller, "fg");
    int count = 0;
    if (c->rounds == 0)
        return 0;
    if (is_one_of(agent, caller, "bap"))
        choices[count++] = (struct choice){.function = AT_LEAST, .a = size};
    else if (is_one_of(agent, caller, "mn"))
        choices[count++] = (struct choice){.function = AT_MOST, .a = size - 1};
    else if (is_one_of(agent, caller, "cd"))
        choices[count++] = c->flags & KNOWS ? (struct choice){.function = CHANGE, .a = c->wanted}
                                            : (struct choice){.function = VALUE};
    else
        choices[count++] =
            (struct choice){.function = by_face ? FACE_ADD : ADD, .a = sum_of(agent, caller)};
    if (model_configuration->with & STRAYS) {
        const uint8_t too_much = by_face ? FACE_ADD_TOO_MUCH : ADD_TOO_MUCH;
        choices[count++] = (struct choice){.function = too_much, .a = LW_COUNTER_MAX + 1};
        choices[count++] = (struct choice){.function = too_much, .a = 1u << 31};
        choices[count++] =
            (struct choice){.function = too_much,
                            .a = model_configuration->first < TOO_MUCH ? -TOO_MUCH : TOO_MUCH};
    }
    return count;
}

static const char *changed(struct state *state, int agent, const struct operation *operation)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = operator_of(state, agent);
    const uint32_t before = operation->a & LW_COUNTER_MAX;
    const uint32_t after = operation->b & LW_COUNTER_MAX;
    const bool adds = a->function == ADD || a->function == FACE_ADD;
    if (before == after)
        return a->function <= CHANGE ? NULL : "writes, and changes nothing";
    if (!adds || after - before != sum_of(agent, a->caller))
        return "adds what it was not asked to add";
    state->ghosts[ADDED_SO_FAR] += (uint8_t)sum_of(agent, a->caller);
    c->flags |= ADDED;
    c->wanted = before;
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY)
        return NULL;
    if (c->flags & ADDED)
        return "touches the counter after it has changed it";
    if (operation->word == LW_COUNTER_GATE)
        return "touches the gate";
    return has_changed(operation, result) ? changed(state, agent, operation) : NULL;
}

static bool satisfies(uint32_t value, uint32_t function, uint32_t wanted)
{
    return function == AT_LEAST  ? value >= wanted
           : function == AT_MOST ? value <= wanted
                                 : value != wanted;
}

static const char *wait_ended(struct state *state, int agent, int caller, uint32_t function,
                              uint64_t answer)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t now = value_of(state);
    const bool satisfied = satisfies(now, function, c->wanted);
    c->flags = 0;
    use_up_round(c);
    if (lw_answer_what(answer) == LW_DONE)
        return satisfied && lw_answer_expected(answer) == now
                   ? NULL
                   : "passes, and the value is not what it waited for";
    return satisfied ? "gives up although the value is what it waited for"
                     : wrong_end(state, agent, lw_answer_what(answer));
}

static const char *add_ended(struct state *state, int agent, int caller, uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const bool added = c->flags & ADDED;
    const uint32_t before = c->wanted;
    c->flags = 0;
    c->wanted = 0;
    use_up_round(c);
    if (added)
        return result == before ? NULL : "does not know the value before";
    if (result != LW_COUNTER_OVERFLOW)
        return "says that it has added, and has not";
    return value_of(state) + sum_of(agent, caller) <= LW_COUNTER_MAX
               ? "refuses what there is room for"
               : NULL;
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    switch (function) {
    case VALUE:
        c->flags = KNOWS;
        c->wanted = (uint32_t)result;
        return result == value_of(state) ? NULL : "does not know the value";
    case ADD:
    case FACE_ADD:
        return add_ended(state, agent, caller, result);
    case ADD_TOO_MUCH:
    case FACE_ADD_TOO_MUCH:
        return result == LW_COUNTER_OVERFLOW ? NULL : "adds too much";
    default:
        return wait_ended(state, agent, caller, function, result);
    }
}

static const char *invariant(const struct state *state)
{
    const uint8_t added = (uint8_t)(value_of(state) - model_configuration->first);
    return added == state->ghosts[ADDED_SO_FAR] ? NULL
                                                : "the value is not the sum of what was added";
}

/* The value is not what this one waits for. */
static bool may_wait(const struct state *state, int agent, int caller)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    return !satisfies(value_of(state), c->function, c->wanted);
}

/* No caller owes a waiter a value. */
static bool is_needed(const struct state *state, int agent)
{
    (void)state, (void)agent;
    return false;
}

/* The value is not what any caller of this agent waits for. */
static bool is_owed(const struct state *state, int agent)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (is_waiting(state, agent, caller) && !may_wait(state, agent, caller))
            return false;
    }
    return true;
}

static bool is_within(const struct state *state)
{
    return value_of(state) <= MOST;
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    snprintf(text, size, "%u%s", value & LW_COUNTER_MAX, waiters_in(word, value));
}

static const struct configuration configurations[] = {
    {"b,i", 1, 0, 0, SMALL, 0},
    {"m,o", 1, 0, 0, SMALL, 1},
    {"m2,o", 1, 0, 0, SMALL, 2},
    {"c,i", 2, 0, 0, SMALL, 0},
    {"c,o", 1, 0, 0, SMALL, 1},
    {"b2,i", 2, STRAYS, 0, SMALL, 0},
    {"a2,f", 2, STRAYS, 0, SMALL, 0},
    {"i,o2", 1, STRAYS, 0, SMALL, 0},
    {"f,g2", 1, STRAYS, 0, SMALL, 0},
    {"i,f", 1, STRAYS, 0, SMALL, LW_COUNTER_MAX - 1},
    {"i,c", 2, STRAYS, 0, SMALL, LW_COUNTER_MAX - 1},
    {"b2,m,i", 2, NATIVE, 0, SMALL, 0},
    {"b2,m,i", 2, UNRELIABLE, 0, SMALL, 0},
    {"a2,n,i", 2, UNRELIABLE, 0, SMALL, 0},
    {"b2,n,g", 1, UNRELIABLE, 0, SMALL, 1},
    {"c,d,f", 2, UNRELIABLE, 0, SMALL, 0},
    {"b3,a2,i", 3, UNRELIABLE, 0, SMALL, 0},
    {"a2a,i", 1, 0, 0, SMALL, 0},
    {"an,b2,i", 2, UNRELIABLE, 0, SMALL, 0},
    {"ad,c,i", 1, UNRELIABLE, 0, SMALL, 0},
    {"p2,b,f", 2, UNRELIABLE, 0, SMALL, 0},
    {"ai,m,o", 1, UNRELIABLE, 0, SMALL, 1},
    {"b2,a,i2", 1, UNRELIABLE | DEATHS, 0, SMALL, 0},
    {"c,n,i", 1, UNRELIABLE | DEATHS, 0, SMALL, 1},
    {"b2,n,i,f", 1, TIMEOUTS | CANCELS, 0, SMALL, 0},
    {"b2,m,i,g", 2, TIMEOUTS, 0, MEDIUM, 0},
    {"b2,ad,f,o", 1, UNRELIABLE, 0, MEDIUM, 0},
    {"b3,an2,i,o", 2, TIMEOUTS | CANCELS, 0, LARGE, 0},
};

static const struct configuration proofs[] = {
    {"b3,m2,i,o2", 0, UNRELIABLE, 0, SMALL, 0},
    {"aa,a2a,i,g", 0, UNRELIABLE, 0, SMALL, 0},
    {"an2,pp,f,o", 0, UNRELIABLE, 0, SMALL, 0},
    {"ad,c,ai,g", 0, UNRELIABLE, 0, SMALL, 0},
};

static const char *const word_names[] = {"value", "gate"};

EXPLORE("counter", LW_COUNTER_WORDS, .crowd = true, .async_letters = "andp", .begin = begin,
        .may_wait = may_wait, .proofs = proofs, .proof_count = COUNT_OF(proofs),
        .is_within = is_within, .is_owed = is_owed)
