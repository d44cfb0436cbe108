/*
 * latch.c: what the explorer knows of the latch. b, a and p wait; d counts its size down; w arrives
 * and waits, and f waits: both call what the C face inlines, and w then runs the step, as the other
 * half does. The configuration says which count the latch is made with.
 */
#include <lockword/latch.h>

#include "callers.h"

enum { WAIT, COUNT_DOWN, COUNT_DOWN_TOO_MUCH, COUNT, FACE_WAIT, FACE_ARRIVE, FACE_ARRIVE_LATE };

/* A caller's own flags. */
enum {
    ARRIVED = FIRST_OWN_FLAG,      /* has counted down, and is to wait */
    CHANGED = FIRST_OWN_FLAG * 2,  /* during its call */
    RELEASED = FIRST_OWN_FLAG * 4, /* during its call: has brought the count to 0 */
};

/* More than any configuration begins with. */
#define TOO_MUCH (LW_LATCH_MAX + 1)

CALL(count_down, lw_latch_count_down_step(words, a))
CALL(count, lw_latch_count(words))

SLOW_HALF(lw_latch_wait_slow, lw_latch)

CALL(face_wait, lw_latch_wait((lw_latch *)words) == 0)
CALL(face_arrive, lw_latch_arrive_and_wait((lw_latch *)words) == 0)
CALL(face_arrive_late, lw_latch_arrive_and_wait((lw_latch *)words) == EINVAL)

static const struct function functions[] = {
    [WAIT] = STEP("latch_wait_step", "wait", lw_latch_wait_step),
    [COUNT_DOWN] = FUNCTION("latch_count_down_step", "count down", 1, count_down),
    [COUNT_DOWN_TOO_MUCH] = FUNCTION("latch_count_down_step", "count down too much", 1, count_down),
    [COUNT] = FUNCTION("latch_count", "count", 0, count),
    [FACE_WAIT] = FACE("latch_wait", "need not wait", face_wait),
    [FACE_ARRIVE] = FACE("latch_arrive_and_wait", "arrive", face_arrive),
    [FACE_ARRIVE_LATE] = FACE("latch_arrive_and_wait", "arrive late", face_arrive_late),
};

static uint32_t count_in(const struct state *state)
{
    return state->words[LW_LATCH_STATE] & LW_LATCH_MAX;
}

static void begin(struct state *state)
{
    state->words[LW_LATCH_STATE] = model_configuration->first;
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const char letter = model_letter(agent, caller);
    if (c->rounds == 0)
        return 0;
    if (model_is_one_of_many && strchr("dw", letter) && !(c->flags & ARRIVED) &&
        count_in(state) < model_size(agent, caller))
        return 0;
    if (letter == 'f') {
        choices[0] = (struct choice){.function = FACE_WAIT};
        choices[1] = (struct choice){.function = FACE_ARRIVE_LATE};
        return model_configuration->with & STRAYS && count_in(state) == 0 ? 2 : 1;
    }
    if ((letter != 'w' && letter != 'd') || c->flags & ARRIVED) {
        choices[0] = (struct choice){.function = WAIT};
        return 1;
    }
    choices[0] = letter == 'w'
                     ? (struct choice){.function = FACE_ARRIVE}
                     : (struct choice){.function = COUNT_DOWN, .a = model_size(agent, caller)};
    if (!(model_configuration->with & STRAYS))
        return 1;
    choices[1] = (struct choice){.function = COUNT_DOWN_TOO_MUCH, .a = TOO_MUCH};
    choices[2] =
        (struct choice){.function = COUNT_DOWN_TOO_MUCH, .a = model_configuration->first + 1};
    choices[3] = (struct choice){.function = COUNT};
    return 4;
}

static const char *changed(struct state *state, int agent, const struct operation *operation)
{
    struct caller *c = operator_of(state, agent);
    const uint32_t function = state->agents[agent].function;
    const uint32_t before = operation->a & LW_LATCH_MAX;
    const uint32_t after = operation->b & LW_LATCH_MAX;
    if (before == after)
        return function == WAIT ? NULL : "writes, and changes nothing";
    if (c->flags & CHANGED)
        return "counts down twice";
    if ((function != COUNT_DOWN && function != FACE_ARRIVE) ||
        before - after != model_size(agent, state->agents[agent].caller))
        return "takes off what it was not asked to take off";
    c->flags |= CHANGED;
    if (after == 0)
        c->flags |= RELEASED;
    if (model_letter(agent, state->agents[agent].caller) == 'w')
        c->flags |= ARRIVED;
    else
        use_up_round(c);
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    if (operation->kind == NOTIFY)
        return NULL;
    if (operator_of(state, agent)->flags & RELEASED)
        return "touches the latch after it has released the waiters";
    if (operation->word == LW_LATCH_GATE)
        return "touches the gate";
    return has_changed(operation, result) ? changed(state, agent, operation) : NULL;
}

/* Nothing lies between the step's look at the count and its end. */
static const char *wait_ended(struct state *state, int agent, struct caller *caller, uint32_t what)
{
    caller->flags = 0;
    use_up_round(caller);
    if (what == LW_DONE)
        return count_in(state) == 0 ? NULL : "passes, and the count is not 0";
    return count_in(state) == 0 ? "gives up at 0" : wrong_end(state, agent, what);
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t n = model_size(agent, caller);
    const bool changed = c->flags & CHANGED;
    const bool released = c->flags & RELEASED;
    switch (function) {
    case WAIT:
        return wait_ended(state, agent, c, lw_answer_what(result));
    case FACE_WAIT:
        c->flags = 0;
        use_up_round(c);
        return result == (count_in(state) == 0) ? NULL : "does not know whether it needs to wait";
    case FACE_ARRIVE_LATE:
        c->flags = 0;
        use_up_round(c);
        return result && !changed ? NULL : "arrives when the latch is open";
    case COUNT_DOWN:
        c->flags = 0;
        /* Of any number of agents, some count down too late. */
        if (!changed && result < n && model_is_one_of_many)
            return NULL;
        if (!changed || result < n)
            return "has not counted down";
        return released == (result == n) ? NULL : "does not know whether it has opened the latch";
    case FACE_ARRIVE:
        c->flags = result ? 0 : ARRIVED;
        if (result)
            use_up_round(c);
        if (!changed)
            return model_is_one_of_many ? NULL : "has not arrived";
        return result == (count_in(state) == 0) ? NULL : "does not know whether it needs to wait";
    case COUNT:
        return result == count_in(state) ? NULL : "does not know the count";
    default:
        if (changed)
            return "counts down too much";
        return result <= model_configuration->first ? NULL
                                                    : "does not know that it counts down too much";
    }
}

static const char *invariant(const struct state *state)
{
    uint32_t count = model_configuration->first;
    if (model_is_one_of_many)
        return NULL; /* it takes all agents to say how many have counted down */
    for (int agent = 0; agent < model_agents; agent++) {
        for (int caller = 0; caller < model_callers[agent]; caller++) {
            const struct caller *c = &state->agents[agent].callers[caller];
            const char letter = model_letter(agent, caller);
            if (letter != 'd' && letter != 'w')
                continue;
            count -= (model_configuration->rounds - c->rounds) * model_size(agent, caller);
            count -= c->flags & ARRIVED ? model_size(agent, caller) : 0;
        }
    }
    return count == count_in(state) ? NULL : "the count is not what has yet to be counted down";
}

/* One that has arrived owes nothing. */
static bool is_needed(const struct state *state, int agent)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        const struct caller *c = &state->agents[agent].callers[caller];
        const char letter = model_letter(agent, caller);
        if ((letter == 'd' || letter == 'w') && c->rounds > 0 && !(c->flags & ARRIVED))
            return true;
    }
    return false;
}

/* Waiters wait for those who have yet to count down. */
static bool is_owed(const struct state *state, int agent)
{
    (void)agent;
    return count_in(state) > 0;
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    snprintf(text, size, "%u%s", value & LW_LATCH_MAX, waiters_in(word, value));
}

static const struct configuration configurations[] = {
    {"b,d", 1, STRAYS, 0, SMALL, 1},
    {"a,d", 1, STRAYS, 0, SMALL, 1},
    {"f,d", 2, STRAYS, 0, SMALL, 2},
    {"w,w", 1, STRAYS, 0, SMALL, 2},
    {"b,d2,w", 1, STRAYS, 0, SMALL, 3},
    {"d", 1, STRAYS, 0, SMALL, 1},
    {"b,b,d", 2, NATIVE, 0, SMALL, 2},
    {"w,w,w", 1, NATIVE, 0, SMALL, 3},
    {"b,d2,w", 1, UNRELIABLE, 0, SMALL, 3},
    {"b,b,d", 2, UNRELIABLE, 0, SMALL, 2},
    {"b,a,w", 1, UNRELIABLE, 0, SMALL, 1},
    {"a,a,d", 2, UNRELIABLE, 0, SMALL, 2},
    {"aa,b,d", 1, UNRELIABLE, 0, SMALL, 1},
    {"aa,w,d", 1, UNRELIABLE, 0, SMALL, 2},
    {"w,w,d", 1, UNRELIABLE, 0, SMALL, 3},
    {"p,b,d", 1, UNRELIABLE, 0, SMALL, 1},
    {"ad,b,d", 1, UNRELIABLE, 0, SMALL, 2},
    {"b,b,d", 1, UNRELIABLE | DEATHS, 0, SMALL, 1},
    {"b,a,d", 1, UNRELIABLE | DEATHS, 0, SMALL, 1},
    {"b,a,w,d", 1, TIMEOUTS | CANCELS, 0, SMALL, 2},
    {"b,b,aa,d", 1, TIMEOUTS, 0, MEDIUM, 1},
    {"b,a,w,d", 1, UNRELIABLE, 0, LARGE, 2},
};

static const struct configuration proofs[] = {
    {"b,d,d2", 0, UNRELIABLE, 0, SMALL, 9},
    {"b,w,aa,d", 0, UNRELIABLE, 0, SMALL, 5},
    {"b,aa,pp,d", 0, UNRELIABLE, 0, SMALL, 5},
};

static const char *const word_names[] = {"count", "gate"};

EXPLORE("latch", LW_LATCH_WORDS, .crowd = true, .begin = begin, .proofs = proofs,
        .proof_count = COUNT_OF(proofs), .is_owed = is_owed)
