/*
 * once.c: the explorer's model of the once. Callers b, a and p begin, and the runner succeeds or
 * fails, in every choice. Callers f and g (async) always fail. Caller r reports that a runner has
 * died.
 */
#include <lockword/core/once.h>

#include "callers.h"

enum { BEGIN, SUCCEED, FAIL, ABANDON, END_OF_NONE, RAN, RUNNER };

/* A caller's own flags. */
enum {
    RUNS = FIRST_OWN_FLAG,                 /* has to run it, and then to end */
    TOOK = FIRST_OWN_FLAG * 2,             /* during its call: became the runner */
    ENDED = FIRST_OWN_FLAG * 4,            /* during its call: ended a run */
    SAW_A_RUNNER = FIRST_OWN_FLAG * 8,     /* during this step */
    SAW_THAT_IT_RAN = FIRST_OWN_FLAG * 16, /* during this step */
};

/* Ghosts: what was done, not what the word says. */
#define RUNNING 0 /* the agent that runs it, plus one; 0: none */
#define HAS_RUN 1

CALL(end, lw_once_end_step(words, a, b))
CALL(ran, lw_once_ran(words))
CALL(runner, lw_once_runner(words))

#define END(what)                                                                                  \
    {                                                                                              \
        .name = "once_end_step", .label = what, .arguments = 2, .answers_bool = true, .call = end  \
    }

static const struct function functions[] = {
    [BEGIN] = STEP("once_begin_step", "begin", lw_once_begin_step),
    [SUCCEED] = END("succeed"),
    [FAIL] = END("fail"),
    [ABANDON] = END("abandon"),
    [END_OF_NONE] = END("end of none"),
    [RAN] = PREDICATE("once_ran", "ran", 0, ran),
    [RUNNER] = FUNCTION("once_runner", "runner", 0, runner),
};

static bool runs(const struct state *state, int agent)
{
    return state->ghosts[RUNNING] == agent + 1;
}

static bool is_end(uint32_t function)
{
    return function == SUCCEED || function == FAIL || function == ABANDON;
}

/*
 * Calls that are illegal or pointless, or for another caller to make: only another caller of the
 * same agent, or one that takes the runner for dead, may end a run.
 */
static int strays(const struct state *state, int agent, const struct caller *caller,
                  struct choice *choices, int count)
{
    const int running = state->ghosts[RUNNING] - 1;
    if (running == agent && !(caller->flags & RUNS)) {
        choices[count++] = (struct choice){.function = FAIL, .a = model_id(agent)};
        choices[count++] = (struct choice){.function = SUCCEED, .a = model_id(agent), .b = true};
    } else if (running >= 0 && running != agent) {
        choices[count++] = (struct choice){.function = ABANDON, .a = model_id(running)};
    }
    choices[count++] = (struct choice){.function = RAN};
    choices[count++] = (struct choice){.function = RUNNER};
    choices[count++] = (struct choice){.function = END_OF_NONE, .a = 0, .b = true};
    if (!runs(state, agent))
        choices[count++] =
            (struct choice){.function = END_OF_NONE, .a = model_id(agent), .b = true};
    return count;
}

/* All calls that have an argument say who runs it. */
static uint8_t ids_of_call(uint32_t function)
{
    (void)function;
    return 1;
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const char letter = model_letter(agent, caller);
    const uint32_t self = model_id(agent);
    const int running = state->ghosts[RUNNING] - 1;
    int count = 0;
    if (c->rounds == 0)
        return 0;
    if (letter == 'r') {
        if (running < 0 || state->agents[running].doing != DEAD)
            return 0;
        choices[count++] = (struct choice){.function = ABANDON, .a = model_id(running)};
        return count;
    }
    if (c->flags & RUNS) {
        choices[count++] = (struct choice){.function = FAIL, .a = self};
        if (letter != 'f' && letter != 'g')
            choices[count++] = (struct choice){.function = SUCCEED, .a = self, .b = true};
    }
    const bool deadlocks =
        c->flags & RUNS && model_configuration->with & STRAYS && !model_is_async(agent, caller);
    if (!(c->flags & RUNS) || deadlocks)
        choices[count++] = (struct choice){.function = BEGIN, .a = self};
    return model_configuration->with & STRAYS ? strays(state, agent, c, choices, count) : count;
}

static const char *changed(struct state *state, int agent, const struct operation *operation)
{
    struct caller *c = operator_of(state, agent);
    const uint32_t function = state->agents[agent].function;
    const uint32_t before = operation->a & ~LW_WAITERS;
    const uint32_t after = operation->b & ~LW_WAITERS;
    if (before == after)
        return function == BEGIN ? NULL : "writes, and changes nothing";
    if (function == BEGIN) {
        if (before != 0 || after != model_id(agent))
            return "takes what is not to be had, or for somebody else";
        c->flags |= TOOK;
        state->ghosts[RUNNING] = (uint8_t)(agent + 1);
        return NULL;
    }
    if (!is_end(function) || before != model_id(state->ghosts[RUNNING] - 1))
        return "ends what is not running";
    if (function != ABANDON && !runs(state, agent))
        return "ends the run of another";
    if (after != (function == SUCCEED ? LW_ONCE_RAN : 0))
        return "does not end it as it was told";
    for (int caller = 0; caller < MAX_CALLERS; caller++)
        state->agents[state->ghosts[RUNNING] - 1].callers[caller].flags &= (uint8_t)~RUNS;
    c->flags |= ENDED;
    state->ghosts[RUNNING] = 0;
    state->ghosts[HAS_RUN] = function == SUCCEED;
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY)
        return NULL;
    if (c->flags & ENDED)
        return "touches it after it has ended the run";
    if (operation->word == LW_ONCE_GATE)
        return "touches the gate";
    if (has_changed(operation, result))
        return changed(state, agent, operation);
    if (result & LW_ONCE_RUNNER)
        c->flags |= SAW_A_RUNNER;
    if (result & LW_ONCE_RAN)
        c->flags |= SAW_THAT_IT_RAN;
    return NULL;
}

static const char *begin_ended(struct state *state, int agent, int caller, uint64_t answer)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint8_t flags = c->flags;
    const uint32_t what = lw_answer_what(answer);
    const uint32_t result = lw_answer_expected(answer);
    c->flags = flags & TOOK ? RUNS : flags & RUNS;
    if (what == LW_DEADLOCK)
        return runs(state, agent) && !model_is_async(agent, caller)
                   ? NULL
                   : "sees a deadlock where none is";
    if (flags & RUNS)
        return "does not know that it runs it already";
    if (what == LW_DONE && flags & TOOK)
        return result == model_id(agent) ? NULL : "does not say that it has to run it";
    use_up_round(c);
    if (flags & TOOK)
        return "gives up, and was to run it";
    if (what == LW_DONE)
        return flags & SAW_THAT_IT_RAN && result == 0 ? NULL : "passes, and it has not been run";
    return flags & SAW_A_RUNNER ? wrong_end(state, agent, what)
                                : "gives up although nobody runs it";
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint8_t flags = c->flags;
    if (function == BEGIN)
        return begin_ended(state, agent, caller, result);
    c->flags &= RUNS;
    switch (function) {
    case END_OF_NONE:
        return result ? "ends what the caller does not run" : NULL;
    case RAN:
        return result == state->ghosts[HAS_RUN] ? NULL : "does not know whether it has been run";
    case RUNNER:
        return result == (state->ghosts[RUNNING] ? model_id(state->ghosts[RUNNING] - 1) : 0)
                   ? NULL
                   : "does not know the runner";
    default:
        c->flags &= RUNS;
        if (!(c->flags & RUNS))
            use_up_round(c);
        if (!(flags & ENDED) && (function == ABANDON || model_configuration->with &
                                                            STRAYS)) /* another caller was faster */
            return result ? "says that it ended a run" : NULL;
        return flags & ENDED && result ? NULL : "has not ended its run";
    }
}

static const char *invariant(const struct state *state)
{
    const int running = state->ghosts[RUNNING] - 1;
    const uint32_t word = running >= 0             ? model_id(running)
                          : state->ghosts[HAS_RUN] ? LW_ONCE_RAN
                                                   : 0;
    return (state->words[LW_ONCE_STATE] & ~LW_WAITERS) == word
               ? NULL
               : "the word does not say who runs it, or that it was run";
}

/*
 * A runner may die if a caller reports that. It must not be an event loop: threads may have to wait
 * for it as long as it lives.
 */
static bool is_needed(const struct state *state, int agent)
{
    for (int other = 0; other < model_agents && !model_has_async(agent); other++) {
        if (model_letter(other, 0) == 'r' && other != agent)
            return false;
    }
    return any_has(state, agent, RUNS);
}

/* The runner ends its run. */
static bool is_owed(const struct state *state, int agent)
{
    (void)agent;
    return state->words[LW_ONCE_STATE] & LW_ONCE_RUNNER;
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    const int agent = model_agent_of(value & LW_ONCE_RUNNER);
    snprintf(text, size, "%s%s%s", agent >= 0 ? model_name(agent) : "0",
             value & LW_ONCE_RAN ? "+RAN" : "", waiters_in(word, value));
}

static const struct configuration configurations[] = {
    {"b,b", 1, 0, 0, SMALL, 0},
    {"b,b", 2, STRAYS, 0, SMALL, 0},
    {"a,b", 1, STRAYS, 0, SMALL, 0},
    {"aa,b", 1, STRAYS, 0, SMALL, 0},
    {"f,f", 2, 0, 0, SMALL, 0},
    {"b,b,b", 1, NATIVE, 0, SMALL, 0},
    {"b,b,r", 1, SLICES | DEATHS, 0, SMALL, 0},
    {"b,b", 2, UNRELIABLE, 0, SMALL, 0},
    {"a,b", 2, UNRELIABLE, 0, SMALL, 0},
    {"ab,b", 1, UNRELIABLE | STRAYS, 0, SMALL, 0},
    {"aa,a", 1, UNRELIABLE, 0, SMALL, 0},
    {"b,b,b", 1, UNRELIABLE, 0, SMALL, 0},
    {"a,b,a", 1, UNRELIABLE, 0, SMALL, 0},
    {"aa,b,b", 1, UNRELIABLE, 0, MEDIUM, 0},
    {"p,b,a", 1, UNRELIABLE, 0, SMALL, 0},
    {"f,f,b", 1, UNRELIABLE, 0, SMALL, 0},
    {"g,f,a", 1, UNRELIABLE, 0, SMALL, 0},
    {"b,b,b", 1, UNRELIABLE | DEATHS, 0, SMALL, 0},
    {"b,a,a", 1, UNRELIABLE | DEATHS, 0, SMALL, 0},
    {"b,a,r", 1, UNRELIABLE | DEATHS, 0, SMALL, 0},
    {"b,b,r,r", 1, TIMEOUTS | SLICES | DEATHS, 0, SMALL, 0},
    {"b,a,a,b", 1, TIMEOUTS, 0, MEDIUM, 0},
    {"b,a,b", 2, UNRELIABLE, 0, LARGE, 0},
    {"f,f,b", 2, UNRELIABLE, 0, MEDIUM, 0},
    {"b,b,a,r", 1, UNRELIABLE | DEATHS, 0, MEDIUM, 0},
    {"g,f,a,b", 1, UNRELIABLE, 0, LARGE, 0},
};

static const struct configuration proofs[] = {
    {"b", 0, UNRELIABLE, 0, SMALL, 0},
    {"b,f,aa,g", 0, UNRELIABLE, 0, SMALL, 0},
    {"b,f,aa,pp", 0, UNRELIABLE, 0, SMALL, 0},
};

static const char *const word_names[] = {"state", "gate"};

EXPLORE("once", LW_ONCE_WORDS, .crowd = true, .async_letters = "agp",
        .flags_of_a_step = SAW_A_RUNNER | SAW_THAT_IT_RAN, .proofs = proofs,
        .proof_count = COUNT_OF(proofs), .ids = {LW_ONCE_RUNNER}, .agents_ghosts = 1 << RUNNING,
        .ids_of_call = ids_of_call, .is_owed = is_owed)
