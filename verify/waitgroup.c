/*
 * waitgroup.c: what the explorer knows of the wait group. b, a and p wait; w adds its size and
 * takes it off; d takes its size off what is there from the first: so much the configuration begins
 * with. f asks, as the C face's inlined half does, whether it need wait.
 */
#include <lockword/waitgroup.h>

#include "callers.h"

enum { STATE, WAIT, ADD, DONE, ADD_TOO_MUCH, DONE_TOO_MUCH, COUNT, FACE_WAIT };

/* A caller's own flags. */
enum {
    KNOWS = FIRST_OWN_FLAG,         /* has read the state, and is to wait */
    MAY_PASS = FIRST_OWN_FLAG * 2,  /* the count has been 0 since */
    ADDED = FIRST_OWN_FLAG * 4,     /* is to take off again what it has added */
    CHANGED = FIRST_OWN_FLAG * 8,   /* during its call */
    RELEASED = FIRST_OWN_FLAG * 16, /* during its call: has brought the count to 0 */
    SAW_SOME = FIRST_OWN_FLAG * 32, /* during this step: a count other than 0 */
};

/* More than anyone can take off. */
#define TOO_MUCH 16

CALL(state_of, lw_waitgroup_state(words))
CALL(add, lw_waitgroup_add_step(words, a))
CALL(done, lw_waitgroup_done_step(words, a))
CALL(count, lw_waitgroup_count(words))

SLOW_HALF(lw_waitgroup_wait_slow, lw_waitgroup)

CALL(face_wait, lw_waitgroup_wait((lw_waitgroup *)words) == 0)

static const struct function functions[] = {
    [STATE] = FUNCTION("waitgroup_state", "state", 0, state_of),
    [WAIT] = STEP("waitgroup_wait_step", "wait", lw_waitgroup_wait_step),
    [ADD] = PREDICATE("waitgroup_add_step", "add", 1, add),
    [DONE] = PREDICATE("waitgroup_done_step", "done", 1, done),
    [ADD_TOO_MUCH] = PREDICATE("waitgroup_add_step", "add too much", 1, add),
    [DONE_TOO_MUCH] = PREDICATE("waitgroup_done_step", "done too much", 1, done),
    [COUNT] = FUNCTION("waitgroup_count", "count", 0, count),
    [FACE_WAIT] = FACE("waitgroup_wait", "need not wait", face_wait),
};

static void begin(struct state *state)
{
    const uint32_t count = model_is_one_of_many ? 0 : model_configuration->first;
    state->words[LW_WAITGROUP_STATE] = LW_WAITGROUP_ROUND | count; /* the next round wraps */
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const char letter = model_letter(agent, caller);
    const bool adds = letter == 'w' && !(c->flags & ADDED);
    if (c->rounds == 0)
        return 0;
    if (letter == 'f') {
        choices[0] = (struct choice){.function = FACE_WAIT};
        return 1;
    }
    if (letter != 'w' && letter != 'd') {
        choices[0] = c->flags & KNOWS ? (struct choice){.function = WAIT, .a = c->wanted}
                                      : (struct choice){.function = STATE};
        return 1;
    }
    choices[0] = (struct choice){.function = adds ? ADD : DONE, .a = model_size(agent, caller)};
    if (!(model_configuration->with & STRAYS))
        return 1;
    choices[1] = (struct choice){.function = ADD_TOO_MUCH, .a = LW_WAITGROUP_MAX + 1};
    choices[2] = (struct choice){.function = DONE_TOO_MUCH, .a = TOO_MUCH};
    choices[3] = (struct choice){.function = COUNT};
    if (adds)
        return 4;
    choices[4] = (struct choice){.function = ADD_TOO_MUCH, .a = LW_WAITGROUP_MAX};
    return 5;
}

static const char *changed(struct state *state, int agent, const struct operation *operation)
{
    struct caller *c = operator_of(state, agent);
    const uint32_t n = model_size(agent, state->agents[agent].caller);
    const uint32_t function = state->agents[agent].function;
    const uint32_t before = operation->a & LW_WAITGROUP_MAX;
    const uint32_t after = operation->b & LW_WAITGROUP_MAX;
    if ((operation->a ^ operation->b) & LW_WAITGROUP_ROUND && !(function == ADD && before == 0))
        return "begins a round that does not begin";
    if (before == after)
        return function == WAIT ? NULL : "writes, and changes nothing";
    if (c->flags & CHANGED)
        return "adds, or takes off, twice";
    c->flags |= CHANGED;
    c->flags ^= model_letter(agent, state->agents[agent].caller) == 'w' ? ADDED : 0;
    if (after > before)
        return function == ADD && after - before == n ? NULL : "adds what it was not asked to add";
    if (function != DONE || before - after != n)
        return "takes off what it was not asked to take off";
    use_up_round(c);
    if (after == 0) {
        c->flags |= RELEASED;
        flag_all(state, KNOWS, MAY_PASS);
    }
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY)
        return NULL;
    if (c->flags & RELEASED)
        return "touches the group after it has released the waiters";
    if (operation->word == LW_WAITGROUP_GATE)
        return "touches the gate";
    if (has_changed(operation, result))
        return changed(state, agent, operation);
    if (result & LW_WAITGROUP_MAX)
        c->flags |= SAW_SOME;
    return NULL;
}

static const char *wait_ended(struct state *state, int agent, struct caller *caller, uint32_t what)
{
    const uint8_t flags = caller->flags;
    caller->flags = 0;
    use_up_round(caller);
    if (what == LW_DONE)
        return flags & MAY_PASS ? NULL : "passes, and the count has not been 0 since it came";
    if (flags & MAY_PASS)
        return "gives up although the count has been 0 since it came";
    return flags & SAW_SOME ? wrong_end(state, agent, what) : "gives up at 0";
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const bool changed = c->flags & CHANGED;
    switch (function) {
    case STATE:
        c->flags = KNOWS;
        c->wanted = (uint32_t)result;
        if ((state->words[LW_WAITGROUP_STATE] & LW_WAITGROUP_MAX) == 0)
            c->flags |= MAY_PASS;
        return NULL;
    case WAIT:
        return wait_ended(state, agent, c, lw_answer_what(result));
    case FACE_WAIT:
        c->flags = 0;
        use_up_round(c);
        return result == ((state->words[LW_WAITGROUP_STATE] & LW_WAITGROUP_MAX) == 0)
                   ? NULL
                   : "does not know whether it need wait";
    case ADD:
        c->flags &= ADDED;
        return changed && result ? NULL : "has not added";
    case DONE:
        c->flags = 0;
        return changed && result ? NULL : "has taken nothing off";
    case COUNT:
        c->flags &= ADDED;
        return result == (state->words[LW_WAITGROUP_STATE] & LW_WAITGROUP_MAX)
                   ? NULL
                   : "does not know the count";
    default:
        c->flags &= ADDED;
        return result ? "adds, or takes off, too much" : NULL;
    }
}

/* What this agent has added and not taken off. */
static uint32_t held(const struct state *state, int agent)
{
    uint32_t held = 0;
    for (int caller = 0; caller < model_callers[agent]; caller++)
        held +=
            state->agents[agent].callers[caller].flags & ADDED && model_letter(agent, caller) == 'w'
                ? model_size(agent, caller)
                : 0;
    return held;
}

static uint32_t held_by_all(const struct state *state)
{
    return state->words[LW_WAITGROUP_STATE] & LW_WAITGROUP_MAX;
}

static const char *invariant(const struct state *state)
{
    if (model_is_one_of_many)
        return held(state, 0) <= held_by_all(state) ? NULL
                                                    : "the count is less than what is not done";
    uint32_t count = model_configuration->first;
    for (int agent = 0; agent < model_agents; agent++) {
        for (int caller = 0; caller < model_callers[agent]; caller++) {
            const struct caller *c = &state->agents[agent].callers[caller];
            const char letter = model_letter(agent, caller);
            count -= letter == 'd'
                         ? (model_configuration->rounds - c->rounds) * model_size(agent, caller)
                         : 0u;
            count += letter == 'w' && c->rounds && c->flags & ADDED ? model_size(agent, caller) : 0;
        }
    }
    return count == (state->words[LW_WAITGROUP_STATE] & LW_WAITGROUP_MAX)
               ? NULL
               : "the count is not what is not done";
}

static void others_changed(struct state *state, uint32_t turned)
{
    (void)turned;
    if (held_by_all(state) == 0)
        flag_all(state, KNOWS, MAY_PASS);
}

/* A waiter waits for those who have added, and have not taken off. */
static bool is_owed(const struct state *state, int agent)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (is_waiting(state, agent, caller) &&
            state->agents[agent].callers[caller].flags & MAY_PASS)
            return false;
    }
    return held_by_all(state) > 0;
}

/* A proof says how high the count is at most. */
static bool is_within(const struct state *state)
{
    return held_by_all(state) <= model_configuration->first;
}

static bool is_needed(const struct state *state, int agent)
{
    if (model_is_one_of_many)
        return held(state, agent) > 0;
    return has_work(state, agent, "wd");
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    snprintf(text, size, "%u%s", value & LW_WAITGROUP_MAX, waiters_in(word, value));
}

static const struct configuration configurations[] = {
    {"b,d", 1, 0, 0, SMALL, 1},
    {"a,d", 1, 0, 0, SMALL, 1},
    {"f,d", 2, 0, 0, SMALL, 2},
    {"f,w", 2, 0, 0, SMALL, 0},
    {"b,w", 2, STRAYS, 0, SMALL, 0},
    {"b,w,w2", 1, STRAYS, 0, SMALL, 0},
    {"w2", 1, 0, 0, SMALL, LW_WAITGROUP_MAX - 2},
    {"b,b,d", 2, NATIVE, 0, SMALL, 2},
    {"b,d2,w", 1, UNRELIABLE, 0, SMALL, 2},
    {"b,b,d", 2, UNRELIABLE, 0, SMALL, 2},
    {"b,a,w", 2, UNRELIABLE, 0, SMALL, 0},
    {"a,a,d", 2, UNRELIABLE, 0, SMALL, 2},
    {"aa,b,d", 1, UNRELIABLE, 0, SMALL, 1},
    {"aa,w,d", 1, UNRELIABLE, 0, SMALL, 1},
    {"b,w,w", 2, UNRELIABLE, 0, SMALL, 0},
    {"a,w,w", 2, UNRELIABLE, 0, SMALL, 0},
    {"p,b,d", 1, UNRELIABLE, 0, SMALL, 1},
    {"ad,b,d", 1, UNRELIABLE, 0, SMALL, 2},
    {"b,b,d", 1, UNRELIABLE | DEATHS, 0, SMALL, 1},
    {"b,a,d", 1, UNRELIABLE | DEATHS, 0, SMALL, 1},
    {"b,a,w,d", 1, TIMEOUTS | CANCELS, 0, SMALL, 1},
    {"b,w,w,d", 1, TIMEOUTS, 0, SMALL, 1},
    {"b,b,aa,d", 1, TIMEOUTS, 0, MEDIUM, 1},
    {"b,a,w,d", 2, UNRELIABLE, 0, LARGE, 2},
};

static const struct configuration proofs[] = {
    {"b,f,w,w2", 0, UNRELIABLE, 0, SMALL, 6},
    {"b,a,p,w", 0, UNRELIABLE, 0, SMALL, 2},
    {"b,aa,pp,w", 0, UNRELIABLE, 0, MEDIUM, 2},
    {"b,aw,w2", 0, UNRELIABLE, 0, MEDIUM, 2},
};

static const char *const word_names[] = {"count", "gate"};

EXPLORE("waitgroup", LW_WAITGROUP_WORDS, .crowd = true, .begin = begin, .flags_of_a_step = SAW_SOME,
        .proofs = proofs, .proof_count = COUNT_OF(proofs),
        .generations = {[LW_WAITGROUP_STATE] = LW_WAITGROUP_ROUND},
        .others_changed = others_changed, .is_within = is_within, .is_owed = is_owed, .held = held,
        .held_by_all = held_by_all)
