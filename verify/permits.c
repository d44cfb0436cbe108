/*
 * permits.c: the explorer's model of permits that have owners. Callers acquire a permit and release
 * it; t only tries; l only looks, as a caller does that is awake yet; h has a permit at first, and
 * only releases it. The configuration gives the number of permits.
 *
 * Callers w and d use them as a region's table does (src/region/table.c): they take the
 * door first, here the word for the writer. A writer, w or the async v, then drains, and frees the
 * door when it has written. A reader, d or e, takes a permit and frees the door; e is async. Caller
 * r buries agents that have died.
 */
#include <lockword/core/permits.h>

#include "holder.h"
#include "mutex.h"

enum { ACQUIRE, TRY_ACQUIRE, LOOK, RELEASE, FIND, COUNT, ENTER, DRAIN, LEAVE, BURY };

/* A caller's own flags. */
enum {
    HOLDS = FIRST_OWN_FLAG,            /* has a permit, and is to release it */
    TOOK = FIRST_OWN_FLAG * 2,         /* during its call */
    GAVE = FIRST_OWN_FLAG * 4,         /* during its call */
    SAW_NONE = FIRST_OWN_FLAG * 8,     /* during this step it saw none that is free, or a bar */
    INSIDE = FIRST_OWN_FLAG * 16,      /* has the door */
    HAS_DRAINED = FIRST_OWN_FLAG * 32, /* and all permits are free */
};

/*
 * Of a caller: which permit it has; and whether its call last saw the permits reserved, or has to
 * end that now.
 */
#define WHICH 0
#define SAW_RESERVED 1
#define IS_TO_END 2

#define BURIED 0 /* ghost: agents whose burial has ended, one bit each */

/* The highest phase of the step: the mutex's, with the flag that it waits. */
#define PERMITS_LAST_PHASE (MUTEX_LAST_PHASE | 4)

/* Ghost, in proofs: a permit has become free since the state's sequence moved. */
#define UNSAID 2

/* As CMakeLists.txt builds src/core/permits.c. */
#ifndef GENERATIONS
#define GENERATIONS LW_PERMITS_SEQUENCE
#endif

/* Ghost: how many threads may still be woken in vain by the releases so far. */
#define CREDIT 1

/* A burial's result: whom it has buried, and above that, how many permits were that agent's. */
#define FREED 32

static bool enter(lw_word *words, uint32_t self)
{
    return lw_cas(&words[LW_PERMITS_WRITER], 0, self, lw_acquire) == 0;
}

static uint64_t bury_all(lw_word *words, uint32_t dead)
{
    const uint64_t freed = lw_permits_bury_step(words, dead);
    lw_cas(&words[LW_PERMITS_WRITER], dead, 0, lw_acq_rel);
    return dead | freed << FREED;
}

static uint32_t look_for(lw_word *words, uint32_t self)
{
    const lw_answer looked = lw_permits_acquire_step(words, self, LW_TIMED_OUT, 0);
    return lw_answer_what(looked) == LW_DONE ? lw_answer_expected(looked) : LW_PERMITS_NONE;
}

CALL(look, look_for(words, a))
CALL(try_acquire, lw_permits_try_step(words, a))
CALL(release, lw_permits_release_step(words, a, b))
CALL(find, lw_permits_find(words, a))
CALL(count, lw_permits_of(words, a))
CALL(enter_door, enter(words, a))
CALL(leave_door, (lw_store(&words[LW_PERMITS_WRITER], 0, lw_release), 1))
CALL(bury, bury_all(words, a))

static const struct function functions[] = {
    [ACQUIRE] = STEP("permits_acquire_step", "acquire", lw_permits_acquire_step),
    [TRY_ACQUIRE] = FUNCTION("permits_try_step", "try", 1, try_acquire),
    [LOOK] = INLINED("permits_look", "look", look),
    [RELEASE] = GIVES_BACK("permits_release_step", "release", 2, release),
    [FIND] = FUNCTION("permits_find", "find", 1, find),
    [COUNT] = FUNCTION("permits_of", "count", 1, count),
    [ENTER] = FACE("permits_enter", "enter", enter_door),
    [DRAIN] = STEP("permits_drain_step", "drain", lw_permits_drain_step),
    [LEAVE] = FACE("permits_leave", "leave", leave_door),
    [BURY] = INLINED("permits_bury_all", "bury", bury),
};

static bool owns_door(const struct state *state, int agent)
{
    return state->words[LW_PERMITS_WRITER] == model_id(agent);
}

static void begin(struct state *state)
{
    state->words[LW_PERMITS_COUNT] = model_configuration->first;
    uint32_t held = 0;
    for (int agent = 0; agent < model_agents; agent++) {
        if (model_letter(agent, 0) != 'h')
            continue;
        struct caller *c = &state->agents[agent].callers[0];
        state->words[LW_PERMITS_FIRST + held] = model_id(agent);
        c->flags = HOLDS;
        c->own[WHICH] = (uint8_t)held;
        held++;
    }
}

static uint8_t ids_of_call(uint32_t function)
{
    return function == RELEASE ? 2 : 1;
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t self = model_id(agent);
    const bool holds = c->flags & HOLDS;
    const bool is_inside = c->flags & INSIDE;
    const bool has_door = is_one_of(agent, caller, "wvde");
    int count = 0;
    if (model_letter(agent, caller) == 'r')
        return c->rounds ? burials(state, BURY, state->ghosts[BURIED], choices) : 0;
    if (!holds && !is_inside && c->rounds == 0)
        return 0;
    if (has_door && !holds && !is_inside) {
        if (state->words[LW_PERMITS_WRITER] == 0)
            choices[count++] = (struct choice){.function = ENTER, .a = self};
        return count;
    }
    /* A call that has given up leaves the door, too: it is inside with nothing to wait for. */
    if (is_inside && (holds || c->flags & HAS_DRAINED || c->rounds == 0)) {
        choices[count++] = (struct choice){.function = LEAVE, .a = self};
        return count;
    }
    if (holds) {
        choices[count++] = (struct choice){.function = RELEASE, .a = c->own[WHICH], .b = self};
        if (model_configuration->with & STRAYS && !has_door) {
            choices[count++] = (struct choice){.function = COUNT, .a = self};
            choices[count++] = (struct choice){.function = FIND, .a = self};
        }
        return count;
    }
    choices[count++] = (struct choice){.function = is_one_of(agent, caller, "wv")  ? DRAIN
                                                   : is_one_of(agent, caller, "t") ? TRY_ACQUIRE
                                                   : is_one_of(agent, caller, "l") ? LOOK
                                                                                   : ACQUIRE,
                                       .a = self};
    if (model_configuration->with & STRAYS && !has_door) {
        choices[count++] = (struct choice){.function = COUNT, .a = self};
        choices[count++] = (struct choice){.function = FIND, .a = self};
        for (uint32_t which = 0; which <= model_configuration->first; which++) {
            if (state->words[LW_PERMITS_FIRST + which] != self)
                choices[count++] = (struct choice){.function = RELEASE, .a = which, .b = self};
        }
    }
    return count;
}

/* Whether a wake at the state is due to a release, and to nothing else. */
static bool wakes_count(void)
{
    return !(model_configuration->with & (SPURIOUS | SLICES | CANCELS | DEATHS)) &&
           model_configuration->rounds == 1;
}

/*
 * No herd: a release leads to at most one thread that is woken, finds no permit and waits again.
 */
static const char *waits(struct state *state, int agent, uint32_t way)
{
    (void)way;
    const struct agent *a = &state->agents[agent];
    if (!wakes_count() || a->function != ACQUIRE || a->why != LW_OK ||
        model_is_async(agent, a->caller))
        return NULL;
    return state->ghosts[CREDIT]-- > 0 ? NULL : "a herd: one more thread is woken in vain";
}

static const char *took_permit(struct state *state, int agent, const struct operation *operation)
{
    const uint32_t function = state->agents[agent].function;
    struct caller *c = operator_of(state, agent);
    if (operation->a != 0)
        return "takes a permit from its owner";
    if ((function != ACQUIRE && function != TRY_ACQUIRE && function != LOOK) ||
        operation->b != model_id(agent) || c->flags & TOOK)
        return "takes a permit that it was not asked to take";
    if (c->own[SAW_RESERVED] && !(function == ACQUIRE && c->flags & HAS_WAITED))
        return "takes a permit that is reserved for waiters";
    if (function == ACQUIRE && c->own[SAW_RESERVED] &&
        ends_reservation(c, state->agents[agent].why))
        c->own[SAW_RESERVED] = IS_TO_END;
    c->flags |= TOOK;
    c->own[WHICH] = (uint8_t)(operation->word - LW_PERMITS_FIRST);
    overtake(state, agent);
    return NULL;
}

/* Whose permit it is, the invariant says. */
static const char *freed_permit(struct state *state, int agent, const struct operation *operation)
{
    const uint32_t function = state->agents[agent].function;
    struct caller *c = operator_of(state, agent);
    if (operation->a != 0 || (function != BURY && (function != RELEASE || c->flags & GAVE)))
        return "writes a permit that it was not asked to free";
    if (function == RELEASE)
        c->flags = (c->flags | GAVE) & (uint8_t)~HOLDS;
    if (function == BURY && !model_is_one_of_many)
        c->own[WHICH]++;
    state->ghosts[CREDIT] += wakes_count();
    state->ghosts[UNSAID] = model_is_one_of_many;
    return NULL;
}

/* What a call may make of the state, besides marks of those who wait. */
static const char *changed_state(const struct state *state, int agent, const struct caller *c,
                                 const struct operation *operation)
{
    const struct agent *a = &state->agents[agent];
    const uint32_t before = operation->a, after = operation->b;
    const bool withdraws = before & ~after & LW_PERMITS_RESERVED;
    const bool moves = (before ^ after) & LW_PERMITS_SEQUENCE;
    if ((after & LW_PERMITS_SEQUENCE) > GENERATIONS)
        return "the sequence grows beyond its bits";
    if (moves && a->function != RELEASE && a->function != BURY)
        return "moves the sequence, and has freed no permit";
    if (a->function == BURY)
        return after & ~LW_PERMITS_SEQUENCE ? "a burial leaves what the dead may have set" : NULL;
    if (a->function == DRAIN && !(c->flags & INSIDE))
        return "drains without the door";
    if (~before & after & LW_PERMITS_RESERVED && !starves(c, a->why))
        return "reserves, and does not starve";
    if (withdraws && !ends_reservation(c, a->why))
        return "ends a reservation, and does not starve";
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    const uint32_t function = state->agents[agent].function;
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY)
        return NULL;
    if (operation->word >= LW_PERMITS_FIRST + model_configuration->first)
        return "touches what is no permit";
    const bool writes = operation->kind == STORE || has_changed(operation, result);
    if (operation->word >= LW_PERMITS_FIRST && writes)
        return operation->kind == STORE ? freed_permit(state, agent, operation)
                                        : took_permit(state, agent, operation);
    if (operation->word == LW_PERMITS_STATE) {
        const uint32_t now = writes ? operation->b : result;
        if (c->own[SAW_RESERVED] == IS_TO_END)
            c->own[SAW_RESERVED] = now & LW_PERMITS_RESERVED ? IS_TO_END : 0;
        else if ((function == ACQUIRE || function == LOOK) && operation->kind == LOAD)
            c->own[SAW_RESERVED] = (now & LW_PERMITS_RESERVED) != 0;
        if (c->own[SAW_RESERVED])
            c->flags |= SAW_NONE;
        if (writes && (operation->a ^ operation->b) & LW_PERMITS_SEQUENCE)
            state->ghosts[UNSAID] = 0;
        return writes ? changed_state(state, agent, c, operation) : NULL;
    }
    if (operation->word >= LW_PERMITS_FIRST && result != 0 && !(c->flags & SAW_NONE)) {
        c->flags |= SAW_NONE;
        if (function == DRAIN && wakes_count() && state->agents[agent].why == LW_OK)
            return "is woken while another agent has a permit";
    }
    return writes && operation->word != LW_PERMITS_WRITER ? "writes what does not change" : NULL;
}

/* How many of the permits name this agent; of -1: how many are free. */
static uint32_t named(const struct state *state, int agent)
{
    uint32_t n = 0;
    for (uint32_t at = 0; at < model_configuration->first; at++)
        n += state->words[LW_PERMITS_FIRST + at] == (agent < 0 ? 0 : model_id(agent));
    return n;
}

static const char *acquire_ended(const struct state *state, int agent, struct caller *c,
                                 lw_answer answer)
{
    const uint32_t what = lw_answer_what(answer);
    const bool took = c->flags & TOOK;
    const bool saw_none = c->flags & SAW_NONE;
    c->flags = (took ? HOLDS : 0) | (c->flags & INSIDE);
    if (what == LW_DONE)
        return !took ? "says that it has a permit, and has not"
               : lw_answer_expected(answer) != c->own[WHICH] ? "does not know which permit it has"
                                                             : NULL;
    use_up_round(c);
    if (took)
        return "gives up with a permit in its hand";
    return saw_none || state->agents[agent].why == LW_CANCELLED ? wrong_end(state, agent, what)
                                                                : "gives up beside a free permit";
}

static const char *drain_ended(const struct state *state, int agent, struct caller *c,
                               uint32_t what)
{
    const bool saw_none = c->flags & SAW_NONE;
    c->flags &= INSIDE;
    if (what == LW_DONE) {
        c->flags |= HAS_DRAINED;
        return NULL;
    }
    use_up_round(c);
    return saw_none || state->agents[agent].why == LW_CANCELLED ? wrong_end(state, agent, what)
                                                                : "gives up, and all are free";
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint8_t kept = c->flags & (HOLDS | INSIDE);
    const bool took = c->flags & TOOK;
    const bool gave = c->flags & GAVE;
    const bool is_to_end = c->own[SAW_RESERVED] == IS_TO_END;
    c->own[SAW_RESERVED] = 0;
    if (is_to_end)
        return "leaves a reservation that it should end";
    switch (function) {
    case ACQUIRE:
        return acquire_ended(state, agent, c, result);
    case DRAIN:
        return drain_ended(state, agent, c, lw_answer_what(result));
    case TRY_ACQUIRE:
    case LOOK: {
        const bool saw_none = c->flags & SAW_NONE;
        c->flags = took ? HOLDS : 0;
        if (!took)
            use_up_round(c);
        return (uint32_t)result != (took ? c->own[WHICH] : LW_PERMITS_NONE)
                   ? "does not know which permit it took"
               : !took && !saw_none ? "try refuses beside a free permit"
                                    : NULL;
    }
    case RELEASE:
        c->flags = kept;
        if (gave) {
            use_up_round(c);
            c->own[WHICH] = 0;
        }
        return result != gave ? "does not know whether it released" : NULL;
    case ENTER:
        c->flags = kept | (result ? INSIDE : 0);
        return NULL;
    case LEAVE:
        if (c->flags & HAS_DRAINED)
            use_up_round(c);
        c->flags = kept & (uint8_t)~INSIDE;
        return NULL;
    case BURY: {
        const int dead = model_agent_of((uint32_t)result);
        const bool knows = result >> FREED == c->own[WHICH];
        c->flags = 0;
        c->own[WHICH] = 0;
        use_up_round(c);
        state->ghosts[BURIED] |= (uint8_t)(is_dead(state, dead) << dead);
        return knows || model_is_one_of_many ? NULL : "does not know how many it freed";
    }
    case FIND: {
        uint32_t first = 0;
        while (first < model_configuration->first &&
               state->words[LW_PERMITS_FIRST + first] != model_id(agent))
            first++;
        c->flags = kept;
        return result != (first < model_configuration->first ? first : LW_PERMITS_NONE)
                   ? "does not find its permit"
                   : NULL;
    }
    default:
        c->flags = kept;
        return result != named(state, agent) ? "does not know how many it has" : NULL;
    }
}

static uint32_t held(const struct state *state, int agent)
{
    uint32_t n = 0;
    for (int caller = 0; caller < model_callers[agent]; caller++)
        n += (state->agents[agent].callers[caller].flags & (HOLDS | TOOK)) != 0;
    return n;
}

/*
 * While no agent is within a step or about to make one, no thread sleeps beside a permit that it
 * could have. A brief wait ends by itself.
 */
static bool is_at_rest(const struct state *state)
{
    if (model_is_one_of_many)
        return false;
    for (int agent = 0; agent < model_agents; agent++) {
        const uint8_t doing = state->agents[agent].doing;
        if (doing != IDLE && doing != ASLEEP && doing != DEAD)
            return false;
    }
    return true;
}

/* In a proof the dead are buried by themselves. */
static bool has_died(const struct state *state, int agent)
{
    return is_dead(state, agent) || (model_is_one_of_many && state->agents[agent].function == BURY);
}

/* All of the dead are buried. */
static bool is_buried(const struct state *state)
{
    for (int agent = 0; agent < model_agents; agent++) {
        if (is_dead(state, agent) && !(state->ghosts[BURIED] & 1 << agent))
            return false;
    }
    return true;
}

static const char *invariant(const struct state *state)
{
    bool writes = false;
    const int agents = model_is_one_of_many ? 1 : model_agents;
    for (int agent = 0; agent < agents; agent++) {
        if (!has_died(state, agent) && named(state, agent) != held(state, agent))
            return "the words do not name the owners";
        writes |= !is_dead(state, agent) && any_has(state, agent, HAS_DRAINED);
    }
    if (writes && named(state, -1) != model_configuration->first)
        return "writes while another agent reads";
    if (!is_at_rest(state) || !is_buried(state))
        return NULL;
    for (int agent = 0; agent < model_agents; agent++) {
        const struct agent *a = &state->agents[agent];
        const bool drains = a->callers[a->caller].function == DRAIN;
        if (a->doing == ASLEEP && a->way != LW_WAIT_BRIEF && named(state, -1) > 0 &&
            !(state->words[0] & LW_PERMITS_RESERVED) &&
            (!drains || named(state, -1) == model_configuration->first))
            return "sleeps beside a permit that it could have";
    }
    return NULL;
}

static bool is_needed(const struct state *state, int agent)
{
    return any_has(state, agent, HOLDS | TOOK) || owns_door(state, agent);
}

/* Any agent but the one that buries. */
static bool may_die(const struct state *state, int agent)
{
    (void)state;
    return model_letter(agent, 0) != 'r';
}

/* All permits are held, and their owners will release them. */
static bool is_owed(const struct state *state, int agent)
{
    (void)agent;
    return named(state, -1) == 0;
}

static uint32_t pledges(const struct state *state)
{
    return (state->words[LW_PERMITS_STATE] & LW_PERMITS_RESERVED ? 1u : 0) |
           (state->ghosts[UNSAID] ? 2u : 0);
}

/* An agent that has freed a permit moves the sequence; for a dead one, its burial does. */
static uint32_t may_keep(const struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    const bool moves = a->doing == RUNNING && (a->function == RELEASE || a->function == BURY);
    return 1 | (moves || a->doing == DEAD ? 2u : 0);
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    char waiters[24] = "";
    const int agent = model_agent_of(value);
    if (word == LW_PERMITS_STATE) {
        describe_waiters(waiters, sizeof waiters, value);
        snprintf(text, size, "#%u%s%s%s", value & LW_PERMITS_SEQUENCE,
                 value & LW_PERMITS_DRAINS ? "+DRAINS" : "",
                 value & LW_PERMITS_RESERVED ? "+RESERVED" : "", waiters);
    } else if (word != LW_PERMITS_COUNT && agent >= 0) {
        snprintf(text, size, "%s", model_name(agent));
    } else {
        snprintf(text, size, "%u", value);
    }
}

/*
 * How many turns a thread may lose: one more than the waits in vain before it starves. An event
 * loop loses one more, while it hears of the notify. Four rounds are more than that, and too few
 * for the sequence to come round: so no caller is endless.
 */
#define BOUND (MAX_FAILED_WAITS + 1)
#define LOOPS_BOUND 2

/* From small to large: a mutant's first failure is its shortest. */
static const struct configuration configurations[] = {
    {"b,b", 1, 0, 0, SMALL, 1},
    {"b,b", 2, STRAYS, 0, SMALL, 1},
    {"b,b", 1, STRAYS, 0, SMALL, 2},
    {"a,b", 1, STRAYS | BRIEFS, 0, SMALL, 1},
    {"b,b", 4, 0, BOUND, SMALL, 1},
    {"l,b", 4, 0, BOUND, SMALL, 1},
    {"a,b", 4, 0, BOUND + 1, SMALL, 1},
    {"b,a", 4, 0, LOOPS_BOUND, SMALL, 1},
    {"w,d", 1, 0, 0, SMALL, 1},
    {"w,d,d", 1, 0, 0, SMALL, 2},
    {"b,b", 2, ANYTHING, 0, SMALL, 1},
    {"a,a", 1, ANYTHING, 0, SMALL, 1},
    {"b,b,b", 1, 0, 0, SMALL, 1},
    {"b,b,b", 1, 0, 0, SMALL, 2},
    {"b,b,b", 1, TIMEOUTS | CANCELS, 0, SMALL, 1},
    {"b,b,b", 1, NATIVE, 0, LARGE, 1},
    {"b,b,b", 1, NATIVE, 0, SMALL, 2},
    {"b,b,a", 1, ALMOST, 0, SMALL, 1},
    {"b,b,a", 1, ANYTHING, 0, SMALL, 2},
    {"b,a,a", 1, ALMOST, 0, SMALL, 1},
    {"aa,b", 1, ANYTHING, 0, SMALL, 1},
    {"aa,b", 1, ANYTHING, 0, SMALL, 2},
    {"ab,b", 1, ANYTHING, 0, SMALL, 2},
    {"b,b,t", 1, SPURIOUS, 0, SMALL, 1},
    {"b,b,b,b", 1, 0, 0, LARGE, 2},
    {"h,b,b,t", 1, 0, 0, SMALL, 1},
    {"h,b,a", 1, SLICES | BRIEFS, 0, SMALL, 1},
    {"h,b,b", 1, SLICES, 0, SMALL, 1},
    {"w,h", 1, SLICES | BRIEFS, 0, SMALL, 1},
    {"w,h,h,d", 1, CANCELS, 0, SMALL, 2},
    {"w,h,h,h", 1, 0, 0, SMALL, 3},
    {"h,b,b,b", 1, CANCELS, 0, LARGE, 1},
    {"h,h,b", 1, NATIVE, 0, SMALL, 2},
    {"h,h,b,b", 1, CANCELS, 0, SMALL, 2},
    {"w,d,d", 1, NATIVE, 0, SMALL, 1},
    {"w,d,d", 1, NATIVE, 0, SMALL, 2},
    {"w,e,d", 1, NATIVE, 0, SMALL, 1},
    {"w,w,d", 1, NATIVE, 0, SMALL, 1},
    {"v,d,e", 1, NATIVE, 0, SMALL, 2},
    {"b,r", 1, DEATHS | BURIALS, 0, SMALL, 1},
    {"b,b,r", 1, DEATHS | BURIALS, 0, SMALL, 1},
    {"bb,b,r", 1, DEATHS | BURIALS, 0, SMALL, 2},
    {"b,b,b,r", 1, DEATHS | BURIALS, 0, SMALL, 1},
    {"a,a,r", 1, BRIEFS | DEATHS | BURIALS, 0, SMALL, 1},
    {"b,a,r", 1, BRIEFS | DEATHS | BURIALS, 0, SMALL, 1},
    {"b,b,r", 1, ANYTHING | DEATHS | BURIALS, 0, SMALL, 1},
    {"w,d,r", 1, DEATHS | BURIALS, 0, SMALL, 1},
    {"w,d,d,r", 1, DEATHS | BURIALS, 0, SMALL, 2},
};

static const struct configuration proofs[] = {
    {"b,t", 0, ANYTHING | STRAYS, 0, SMALL, 1},
    {"b,t", 0, ANYTHING | STRAYS | DEATHS | BURIALS | BRIEFS_END, 0, SMALL, 1},
    {"b,t", 0, ANYTHING | STRAYS, 0, LARGE, 2},
    {"b,t", 0, ANYTHING | STRAYS | DEATHS | BURIALS | BRIEFS_END, 0, LARGE, 2},
};

static const char *const word_names[] = {"state",    "gate",     "count",   "writer",
                                         "permit 0", "permit 1", "permit 2"};

EXPLORE("permits", LW_PERMITS_FIRST + 3, .crowd = true, .async_letters = "aAev", .begin = begin,
        .flags_of_a_step = SAW_NONE, .waits = waits, .last_phase = PERMITS_LAST_PHASE,
        .may_die = may_die, .proofs = proofs, .proof_count = COUNT_OF(proofs),
        .sets_ghosts = 1 << BURIED, .ids_of_call = ids_of_call,
        .ids = {[LW_PERMITS_WRITER] = LW_PERMITS_OWNER,
                LW_PERMITS_OWNER,
                LW_PERMITS_OWNER,
                LW_PERMITS_OWNER},
        .generations = {[LW_PERMITS_STATE] = GENERATIONS}, .remembers = true, .burial = BURY + 1,
        .is_owed = is_owed, .pledges = pledges, .may_keep = may_keep)
