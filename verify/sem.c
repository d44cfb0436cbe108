/*
 * sem.c: the explorer's model of the semaphore. Each caller acquires as many permits as its size
 * and releases them; t only tries, f does so by the C interface, whose inlined halves go before the
 * steps. The configuration gives the number of permits at first.
 */
#include <lockword/sem.h>

#include "callers.h"

enum {
    ACQUIRE,
    TRY_ACQUIRE,
    RELEASE,
    RELEASE_TOO_MUCH,
    PERMITS,
    FACE_ACQUIRE,
    FACE_RELEASE,
    FACE_RELEASE_TOO_MUCH
};

/* A caller's own flags. */
enum {
    HOLDS = FIRST_OWN_FLAG,           /* has its permits, and is to release them */
    TOOK = FIRST_OWN_FLAG * 2,        /* during its call */
    GAVE = FIRST_OWN_FLAG * 4,        /* during its call; what there was before is in `wanted` */
    SAW_TOO_FEW = FIRST_OWN_FLAG * 8, /* during this step */
};

#define HELD 0 /* ghost: how many permits are held, by what was done */

/* More than anyone can hold. */
#define TOO_MUCH 8

CALL(try_acquire, lw_sem_try_step(words, a))
CALL(release, lw_sem_release_step(words, a))
CALL(permits, lw_sem_permits(words))
CALL(face_acquire, lw_sem_tryacquire((lw_sem *)words, a) == 0)
CALL(face_release, lw_sem_release((lw_sem *)words, a) == 0)

static const struct function functions[] = {
    [ACQUIRE] = {.name = "sem_acquire_step",
                 .label = "acquire",
                 .is_step = true,
                 .arguments = 3,
                 .call = lw_sem_acquire_step},
    [TRY_ACQUIRE] = {.name = "sem_try_step",
                     .label = "try",
                     .arguments = 1,
                     .answers_bool = true,
                     .call = try_acquire},
    [RELEASE] = {.name = "sem_release_step",
                 .label = "release",
                 .arguments = 1,
                 .gives_back = true,
                 .call = release},
    [RELEASE_TOO_MUCH] = {.name = "sem_release_step",
                          .label = "release too much",
                          .arguments = 1,
                          .call = release},
    [PERMITS] = {.name = "sem_permits", .label = "permits", .arguments = 0, .call = permits},
    [FACE_ACQUIRE] = FACE("sem_tryacquire", "tryacquire", face_acquire),
    [FACE_RELEASE] = FACE("sem_release", "release", face_release),
    [FACE_RELEASE_TOO_MUCH] = FACE("sem_release", "release too much", face_release),
};

static bool is_try(uint32_t function)
{
    return function == TRY_ACQUIRE || function == FACE_ACQUIRE;
}

static bool is_release(uint32_t function)
{
    return function == RELEASE || function == FACE_RELEASE;
}

static void begin(struct state *state)
{
    state->words[LW_SEM_STATE] = model_configuration->first;
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t n = model_size(agent, caller);
    const bool holds = c->flags & HOLDS;
    const bool by_face = model_letter(agent, caller) == 'f';
    const uint8_t too_much = by_face ? FACE_RELEASE_TOO_MUCH : RELEASE_TOO_MUCH;
    int count = 0;
    if (!holds && c->rounds == 0)
        return 0;
    const uint8_t get = by_face                              ? FACE_ACQUIRE
                        : model_letter(agent, caller) == 't' ? TRY_ACQUIRE
                                                             : ACQUIRE;
    const uint8_t give = by_face ? FACE_RELEASE : RELEASE;
    choices[count++] = (struct choice){.function = holds ? give : get, .a = n};
    if (model_configuration->with & STRAYS) {
        choices[count++] = (struct choice){.function = PERMITS};
        choices[count++] = (struct choice){.function = too_much, .a = LW_SEM_MAX + 1};
        if (model_configuration->first == LW_SEM_MAX)
            choices[count++] = (struct choice){.function = too_much, .a = TOO_MUCH};
    }
    return count;
}

static const char *changed(struct state *state, int agent, const struct operation *operation)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = operator_of(state, agent);
    const uint32_t n = model_size(agent, a->caller);
    const uint32_t before = operation->a & LW_SEM_MAX;
    const uint32_t after = operation->b & LW_SEM_MAX;
    if (after == before)
        return a->function == ACQUIRE ? NULL : "writes, and changes nothing";
    if (c->flags & (TOOK | GAVE))
        return "takes or gives twice";
    if (after < before) {
        if ((a->function != ACQUIRE && !is_try(a->function)) || before - after != n)
            return "takes permits that it was not asked to take";
        state->ghosts[HELD] += (uint8_t)n;
        c->flags |= TOOK;
        return NULL;
    }
    if (!is_release(a->function) || after - before != n)
        return "gives permits that it was not asked to give";
    state->ghosts[HELD] -= (uint8_t)n;
    c->wanted = before;
    c->flags = (c->flags | GAVE) & (uint8_t)~HOLDS;
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY)
        return NULL;
    if (c->flags & GAVE)
        return "touches the semaphore after it has released";
    if (operation->word == LW_SEM_GATE)
        return "touches the gate";
    if (has_changed(operation, result))
        return changed(state, agent, operation);
    if ((result & LW_SEM_MAX) < model_size(agent, state->agents[agent].caller))
        c->flags |= SAW_TOO_FEW;
    return NULL;
}

static const char *acquire_ended(struct state *state, int agent, struct caller *caller,
                                 lw_answer answer)
{
    const uint32_t what = lw_answer_what(answer);
    const bool took = caller->flags & TOOK;
    const bool saw_too_few = caller->flags & SAW_TOO_FEW;
    caller->flags = took ? HOLDS : 0;
    if (what == LW_DONE && !took)
        return "says that it has its permits, and has not";
    if (what == LW_DONE)
        return lw_answer_expected(answer) == (state->words[LW_SEM_STATE] & LW_SEM_MAX)
                   ? NULL
                   : "does not know how many it left";
    use_up_round(caller);
    if (took)
        return "gives up with permits in its hand";
    return saw_too_few ? wrong_end(state, agent, what) : "gives up beside enough permits";
}

static const char *try_ended(struct caller *caller, bool result)
{
    const bool took = caller->flags & TOOK;
    const bool saw_too_few = caller->flags & SAW_TOO_FEW;
    caller->flags = took ? HOLDS : 0;
    if (!took)
        use_up_round(caller);
    return result != took          ? "does not know whether it took permits"
           : !took && !saw_too_few ? "try refuses beside enough"
                                   : NULL;
}

static const char *release_ended(struct caller *caller, bool says_before, uint32_t result)
{
    const bool gave = caller->flags & GAVE;
    const uint32_t before = caller->wanted;
    caller->flags = 0;
    caller->wanted = 0;
    use_up_round(caller);
    if (!gave)
        return "has not released";
    return result == (says_before ? before : 1) ? NULL : "does not know what it released";
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    switch (function) {
    case ACQUIRE:
        return acquire_ended(state, agent, c, result);
    case TRY_ACQUIRE:
    case FACE_ACQUIRE:
        return try_ended(c, result);
    case RELEASE:
    case FACE_RELEASE:
        return release_ended(c, function == RELEASE, (uint32_t)result);
    case RELEASE_TOO_MUCH:
    case FACE_RELEASE_TOO_MUCH:
        c->flags &= HOLDS;
        return result == (function == RELEASE_TOO_MUCH ? LW_SEM_OVERFLOW : 0) ? NULL
                                                                              : "releases too much";
    default:
        c->flags &= HOLDS;
        return result != (state->words[LW_SEM_STATE] & LW_SEM_MAX)
                   ? "does not know how many permits there are"
                   : NULL;
    }
}

static const char *invariant(const struct state *state)
{
    const uint32_t there = state->words[LW_SEM_STATE] & LW_SEM_MAX;
    return there + state->ghosts[HELD] == model_configuration->first
               ? NULL
               : "permits are lost, or made from nothing";
}

static bool is_needed(const struct state *state, int agent)
{
    return any_has(state, agent, HOLDS);
}

/* How many permits the agent's callers hold, and how many all agents' do. */
static uint32_t held(const struct state *state, int agent)
{
    uint32_t permits = 0;
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (state->agents[agent].callers[caller].flags & (HOLDS | TOOK))
            permits += model_size(agent, caller);
    }
    return permits;
}

static uint32_t held_by_all(const struct state *state)
{
    return state->ghosts[HELD];
}

/* Agents that wait need more permits than there are. So others hold some, and will release them. */
static bool is_owed(const struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    const uint32_t there = state->words[LW_SEM_STATE] & LW_SEM_MAX;
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        const bool waits =
            model_is_in_line(a, caller) || (a->doing == ASLEEP && a->caller == caller);
        if (waits && a->callers[caller].wanted <= there)
            return false;
    }
    return true;
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    char waiters[24] = "";
    if (word == LW_SEM_STATE)
        describe_waiters(waiters, sizeof waiters, value);
    snprintf(text, size, "%u%s", value & LW_SEM_MAX, waiters);
}

static const struct configuration configurations[] = {
    {"b,b", 1, 0, 0, SMALL, 1},
    {"b,b", 2, STRAYS, 0, SMALL, 1},
    {"b,b2", 1, STRAYS, 0, SMALL, LW_SEM_MAX},
    {"f,b", 2, STRAYS, 0, SMALL, 1},
    {"f,f2", 1, STRAYS, 0, SMALL, LW_SEM_MAX},
    {"a,b", 1, STRAYS, 0, SMALL, 1},
    {"a,a", 2, UNRELIABLE, 0, SMALL, 1},
    {"a,b", 2, UNRELIABLE, 0, SMALL, 1},
    {"b2,b,b", 1, 0, 0, SMALL, 2},
    {"b3,b,b2", 1, NATIVE, 0, SMALL, 3},
    {"b3,b,b2", 1, UNRELIABLE, 0, SMALL, 3},
    {"a2,b,a", 1, UNRELIABLE, 0, SMALL, 2},
    {"aa2,b", 1, UNRELIABLE, 0, SMALL, 2},
    {"aa3,a2", 1, UNRELIABLE, 0, SMALL, 3},
    {"aaa,b2", 1, UNRELIABLE, 0, SMALL, 2},
    {"ab,b", 1, UNRELIABLE, 0, SMALL, 2},
    {"b,b,t", 2, SPURIOUS, 0, SMALL, 1},
    {"b2,a,f", 1, SPURIOUS, 0, SMALL, 2},
    {"b,f,f", 2, 0, 0, SMALL, 1},
    {"p2,b,b", 1, UNRELIABLE, 0, SMALL, 2},
    {"b,b2,b", 1, UNRELIABLE | DEATHS, 0, SMALL, 2},
    {"a,b2,a", 1, UNRELIABLE | DEATHS, 0, SMALL, 2},
    {"b3,b,a2", 2, TIMEOUTS | CANCELS, 0, SMALL, 3},
    {"b2,a,aa3", 1, TIMEOUTS | CANCELS, 0, SMALL, 3},
    {"b3,b,a2,a", 1, TIMEOUTS | CANCELS, 0, MEDIUM, 3},
    {"b2,b,b2,b", 1, TIMEOUTS, 0, MEDIUM, 2},
    {"b3,b,a2", 2, UNRELIABLE, 0, LARGE, 3},
};

static const struct configuration proofs[] = {
    {"b", 0, UNRELIABLE, 0, SMALL, 3},
    {"b,b2,b3", 0, UNRELIABLE, 0, SMALL, 3},
    {"b,t2,f2", 0, UNRELIABLE | STRAYS, 0, SMALL, 3},
    {"b,aa2", 0, UNRELIABLE, 0, SMALL, 2},
    {"b,b2,b3,b4", 0, UNRELIABLE, 0, MEDIUM, 12},
    {"b,b2,aa2", 0, UNRELIABLE, 0, MEDIUM, 3},
    {"b,b2,pp2", 0, UNRELIABLE, 0, MEDIUM, 3},
};

static const char *const word_names[] = {"permits", "gate"};

EXPLORE("sem", LW_SEM_WORDS, .crowd = true, .begin = begin, .flags_of_a_step = SAW_TOO_FEW,
        .proofs = proofs, .proof_count = COUNT_OF(proofs), .held = held, .held_by_all = held_by_all,
        .is_owed = is_owed)
