/*
 * mutex.c: the explorer's model of the mutex. The rules are those of include/lockword/core/mutex.h.
 * Caller r buries agents that have died. Caller f blocks as the interfaces do: it calls the inlined
 * half first, and the step if that fails.
 */
#include <lockword/core/mutex.h>

#include "holder.h"
#include "mutex.h"

enum { LOCK, TRY_LOCK, UNLOCK, TAKE, FREE, OWNER, BURY };

/* A caller's own flags. */
enum {
    HOLDS = FIRST_OWN_FLAG,           /* has locked, and is to unlock */
    TOOK = FIRST_OWN_FLAG * 2,        /* during its call: the word became its agent's */
    FREED = FIRST_OWN_FLAG * 4,       /* during its call: the word became free */
    SAW_IT_HELD = FIRST_OWN_FLAG * 8, /* during this step */
    TRIED = FIRST_OWN_FLAG * 16,      /* its inlined half has failed: the step is next */
};

CALL(try_lock, lw_mutex_try_step(words, a))
CALL(unlock, lw_mutex_unlock_step(words, a))
CALL(take, lw_mutex_take(words, a))
CALL(free_it, lw_mutex_free(words, a))
CALL(owner, lw_mutex_owner(words))
CALL(bury, (lw_mutex_bury_step(words, a), 0))

static const struct function functions[] = {
    [LOCK] = STEP("mutex_lock_step", "lock", lw_mutex_lock_step),
    [TRY_LOCK] = PREDICATE("mutex_try_step", "try", 1, try_lock),
    [UNLOCK] = GIVES_BACK("mutex_unlock_step", "unlock", 1, unlock),
    [TAKE] = PREDICATE("mutex_take", "take", 1, take),
    [FREE] = GIVES_BACK("mutex_free", "free", 1, free_it),
    [OWNER] = FUNCTION("mutex_owner", "owner", 0, owner),
    [BURY] = FUNCTION("mutex_bury_step", "bury", 1, bury),
};

static uint8_t ids_of_call(uint32_t function)
{
    return function == OWNER ? 0 : 1;
}

/* Returns the agent that has died, or -1. */
static int dead_agent(const struct state *state)
{
    for (int agent = 0; agent < model_agents; agent++) {
        if (is_dead(state, agent))
            return agent;
    }
    return -1;
}

/* Returns whether the agent may free the mutex: it is the holder, or it buries the holder. */
static bool may_unlock(const struct state *state, int agent)
{
    const int dead = dead_agent(state);
    return state->agents[agent].function == BURY ? dead >= 0 && owns(state, dead)
                                                 : owns(state, agent);
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t self = model_id(agent);
    const bool strays = model_configuration->with & STRAYS;
    const bool tries = model_letter(agent, caller) == 't';
    const bool holds = c->flags & HOLDS;
    int count = 0;
    if (!holds && c->rounds == 0)
        return 0;
    if (model_letter(agent, caller) == 'r') {
        const int dead = dead_agent(state);
        if (dead >= 0)
            choices[count++] = (struct choice){.function = BURY, .a = model_id(dead)};
        return count;
    }
    if (model_letter(agent, caller) == 'f' && !(c->flags & TRIED)) {
        choices[count++] = (struct choice){.function = holds ? FREE : TAKE, .a = self};
        return count;
    }
    choices[count++] = (struct choice){.function = holds   ? UNLOCK
                                                   : tries ? TRY_LOCK
                                                           : LOCK,
                                       .a = self};
    if (!strays)
        return count;
    choices[count++] = (struct choice){.function = OWNER};
    choices[count++] = (struct choice){.function = holds ? FREE : UNLOCK, .a = self};
    if (!holds && !tries && model_configuration->with & ANY_CALL)
        choices[count++] = (struct choice){.function = TRY_LOCK, .a = self};
    if (holds || !tries)
        choices[count++] = (struct choice){.function = holds ? TRY_LOCK : TAKE, .a = self};
    if (holds && model_letter(agent, caller) == 'b')
        choices[count++] = (struct choice){.function = LOCK, .a = self};
    return count;
}

/* Whether the wait that this step follows may have consumed a notify that was for one thread. */
static bool may_owe(const struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    return !model_is_async(agent, a->caller) &&
           (a->why == LW_OK || a->why == LW_SLICE || a->why == LW_CANCELLED);
}

static const char *changed_state(struct state *state, int agent, const struct operation *operation)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = operator_of(state, agent);
    const uint32_t before = operation->a & LW_MUTEX_OWNER;
    const uint32_t after = operation->b & LW_MUTEX_OWNER;
    const bool unlocks = a->function == UNLOCK || a->function == FREE || a->function == BURY;
    if (unlocks && !may_unlock(state, agent))
        return "unlock by a stranger writes";
    if (operation->a & ~operation->b & LW_MUTEX_RESERVED &&
        !(a->function == LOCK && ends_reservation(c, a->why)))
        return "ends a reservation, and does not starve";
    if (~operation->a & operation->b & LW_MUTEX_RESERVED && !starves(c, a->why))
        return "reserves, and does not starve";
    if (before == after)
        return NULL;
    if (before == 0) {
        if (~operation->a & operation->b & LW_MUTEX_BLOCKED && !may_owe(state, agent))
            return "sets a mark that it does not owe";
        if (unlocks || after != model_id(agent))
            return "takes the mutex for somebody else";
        if (a->function == LOCK && operation->a & LW_MUTEX_RESERVED && !(c->flags & HAS_WAITED))
            return "a newcomer takes a mutex that is kept for waiters";
        if (a->function == LOCK && operation->b & LW_MUTEX_RESERVED && ends_reservation(c, a->why))
            return "leaves a reservation that it should end";
        state->ghosts[OWNER_AGENT] = (uint8_t)(agent + 1);
        c->flags |= TOOK;
        overtake(state, agent);
        return NULL;
    }
    if (after != 0)
        return "takes the mutex from its holder";
    if (!unlocks)
        return "frees the mutex, and is not unlock";
    for (int caller = 0; caller < model_callers[agent]; caller++)
        state->agents[agent].callers[caller].flags &= (uint8_t)~HOLDS;
    state->ghosts[OWNER_AGENT] = 0;
    c->flags |= FREED;
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY)
        return NULL;
    if (c->flags & FREED)
        return "touches the mutex after it has freed it";
    if (operation->kind == CAS && operation->word == LW_MUTEX_GATE)
        return "writes the gate";
    if (has_changed(operation, result))
        return changed_state(state, agent, operation);
    if (result & LW_MUTEX_OWNER)
        c->flags |= SAW_IT_HELD;
    return NULL;
}

static const char *lock_ended(struct state *state, int agent, int caller, uint32_t what)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t why = state->agents[agent].why;
    switch (what) {
    case LW_DONE:
        if (!(c->flags & TOOK))
            return "says that it holds the mutex, and does not";
        c->flags = HOLDS;
        return NULL;
    case LW_GAVE_UP:
        if (c->flags & TOOK)
            return "gives up with the mutex in its hand";
        if (why == LW_TIMED_OUT && !(c->flags & SAW_IT_HELD))
            return "gives up although the mutex was free";
        if (why != LW_TIMED_OUT && why != LW_CANCELLED && !model_is_async(agent, caller))
            return "gives up for no reason";
        c->flags &= HOLDS;
        use_up_round(c);
        return NULL;
    case LW_DEADLOCK:
        if (!owns(state, agent) || model_is_async(agent, caller))
            return "sees a deadlock where none is";
        if (!(c->flags & HOLDS))
            use_up_round(c);
        c->flags &= HOLDS;
        return NULL;
    default:
        return "returns what no lock returns";
    }
}

static const char *take_ended(struct caller *caller, bool result)
{
    const bool took = caller->flags & TOOK;
    if (result != took)
        return "does not know whether it took the mutex";
    caller->flags = took ? HOLDS : caller->flags & HOLDS;
    return NULL;
}

static const char *try_lock_ended(struct caller *caller, bool result)
{
    const bool took = caller->flags & TOOK;
    if (!took && !(caller->flags & SAW_IT_HELD))
        return "try_lock refuses a free mutex";
    if (!took && !(caller->flags & HOLDS))
        use_up_round(caller);
    return take_ended(caller, result);
}

static const char *unlock_ended(struct caller *caller, bool result)
{
    const bool freed = caller->flags & FREED;
    if (result != freed)
        return "does not know whether it freed the mutex";
    if (freed)
        use_up_round(caller);
    caller->flags &= HOLDS;
    return NULL;
}

/* An inlined half has ended, with this error or none. */
static const char *half_ended(struct caller *c, int agent, int caller, bool result,
                              const char *error)
{
    if (!result && model_letter(agent, caller) == 'f')
        c->flags |= TRIED;
    return error;
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    switch (function) {
    case LOCK:
        return lock_ended(state, agent, caller, lw_answer_what(result));
    case TRY_LOCK:
        return try_lock_ended(c, result);
    case TAKE:
        return half_ended(c, agent, caller, result, take_ended(c, result));
    case UNLOCK:
        return !result && owns(state, agent) ? "unlock by the holder fails"
                                             : unlock_ended(c, result);
    case FREE:
        return half_ended(c, agent, caller, result, unlock_ended(c, result));
    case BURY:
        c->flags = 0;
        use_up_round(c);
        return owns(state, dead_agent(state)) ? "the dead still holds it" : NULL;
    default:
        c->flags &= HOLDS;
        return result != (state->words[LW_MUTEX_STATE] & LW_MUTEX_OWNER) ? "does not know the owner"
                                                                         : NULL;
    }
}

/*
 * A waiter that re-checks has waited long enough: from then on the mutex is reserved while an agent
 * holds it. Until it is, a wait must end in a re-check, and so must some of those after that. A
 * caller waits briefly only for a mutex that is free, and before it has waited.
 */
static const char *waits(struct state *state, int agent, uint32_t way)
{
    const uint32_t word = state->words[LW_MUTEX_STATE];
    const struct caller *c = operator_of(state, agent);
    if (way == LW_WAIT_IDLE && c->phase / LW_ONE_FAILED_WAIT < RESTS_FROM)
        return "waits without a re-check, and has not made all";
    if (way == LW_WAIT_IDLE && !(word & LW_MUTEX_RESERVED))
        return "waits without a re-check, and has not reserved the mutex";
    if (way == LW_WAIT_BRIEF && word & LW_MUTEX_OWNER)
        return "waits briefly for a mutex that is held";
    if (way == LW_WAIT_BRIEF && c->flags & HAS_WAITED)
        return "waits briefly, and has waited";
    if (state->agents[agent].why == LW_SLICE && word & LW_MUTEX_OWNER &&
        !(word & LW_MUTEX_RESERVED))
        return "waits again after a re-check, and has not reserved the mutex";
    return NULL;
}

static const char *invariant(const struct state *state)
{
    const uint32_t word = state->words[LW_MUTEX_STATE];
    if (!(word & LW_MUTEX_OWNER) && word != 0 && !(word & LW_MUTEX_RESERVED))
        return "free without RESERVED, yet not 0";
    return names_no_holder(state);
}

static bool is_needed(const struct state *state, int agent)
{
    return owns(state, agent);
}

/* All agents but the holder; or, if an agent buries the dead, all agents but that one. */
static bool may_die(const struct state *state, int agent)
{
    return model_configuration->with & BURIALS ? model_letter(agent, 0) != 'r'
                                               : !owns(state, agent);
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    if (word == LW_MUTEX_STATE)
        describe_mutex(text, size, value);
    else
        snprintf(text, size, "%u", value);
}

/*
 * How many turns a thread and an event loop may lose: one more than the wake-ups in vain before
 * they reserve, and one while the last one comes.
 */
#define BOUND (MAX_FAILED_WAITS + 2)
#define LOOPS_BOUND 2

/* With the constants as shipped these have many states: then they are explored when asked for. */
#define WITH_SMALL_CONSTANTS(size) (MAX_FAILED_WAITS == 1 ? (size) : LARGE)

/* From small to large: a mutant's first failure is its shortest. */
static const struct configuration configurations[] = {
    {"b,b", 1, 0, 0, SMALL, 0},
    {"b,b", 2, STRAYS, 0, SMALL, 0},
    {"a,b", 2, STRAYS | BRIEFS, 0, SMALL, 0},
    {"B,b", 1, 0, BOUND, SMALL, 0},
    {"B,b", 1, SLICES, BOUND, SMALL, 0},
    {"B,a", 1, 0, LOOPS_BOUND, SMALL, 0},
    {"B,a", 1, SLICES, LOOPS_BOUND, SMALL, 0},
    {"A,b", 1, 0, BOUND, SMALL, 0},
    {"A,a", 1, 0, LOOPS_BOUND, SMALL, 0},
    {"b,b", 2, ANYTHING, 0, SMALL, 0},
    {"a,a", 2, ANYTHING, 0, SMALL, 0},
    {"a,b", 2, ANYTHING | STRAYS, 0, SMALL, 0},
    {"aa,b", 1, BRIEFS | STRAYS, 0, SMALL, 0},
    {"ab,a", 1, BRIEFS | STRAYS, 0, SMALL, 0},
    {"ab,b", 1, ANYTHING, 0, SMALL, 0},
    {"ab,a", 1, ANYTHING, 0, SMALL, 0},
    {"aa,a", 1, ANYTHING, 0, SMALL, 0},
    {"aa,b", 1, ANYTHING, 0, SMALL, 0},
    {"b,b,b", 1, ANYTHING, 0, SMALL, 0},
    {"b,b,a", 1, ANYTHING, 0, MEDIUM, 0},
    {"b,a,a", 1, ANYTHING, 0, LARGE, 0},
    {"b,b,b", 1, ANYTHING | DEATHS, 0, WITH_SMALL_CONSTANTS(SMALL), 0},
    {"b,b,a", 1, ANYTHING | DEATHS, 0, WITH_SMALL_CONSTANTS(MEDIUM), 0},
    {"b,a,a", 1, ANYTHING | DEATHS, 0, WITH_SMALL_CONSTANTS(MEDIUM), 0},
    {"b,b,r", 1, DEATHS | BURIALS, 0, SMALL, 0},
    {"a,b,r", 1, DEATHS | BURIALS, 0, SMALL, 0},
    {"b,b,r", 1, ANYTHING | DEATHS | BURIALS, 0, SMALL, 0},
    {"b,a,r", 1, ANYTHING | DEATHS | BURIALS, 0, SMALL, 0},
    {"ab,b,r", 1, TIMEOUTS | SLICES | BRIEFS | DEATHS | BURIALS, 0, SMALL, 0},
    {"b,b,b,r", 1, BRIEFS | DEATHS | BURIALS, 0, SMALL, 0},
    {"b,b,a,r", 1, BRIEFS | DEATHS | BURIALS, 0, SMALL, 0},
    {"b,a,a,r", 1, BRIEFS | DEATHS | BURIALS, 0, SMALL, 0},
    {"aa,b,r", 1, ANYTHING | DEATHS | BURIALS, 0, SMALL, 0},
    {"b,b,a,r", 1, ANYTHING | DEATHS | BURIALS, 0, LARGE, 0},
    {"p,b", 2, ANYTHING, 0, SMALL, 0},
    {"p,a,b", 1, ANYTHING, 0, WITH_SMALL_CONSTANTS(MEDIUM), 0},
    {"pp,p", 2, ANYTHING, 0, WITH_SMALL_CONSTANTS(MEDIUM), 0},
    {"b,b,t", 2, SPURIOUS, 0, SMALL, 0},
    {"b,b,b", 2, 0, 0, SMALL, 0},
    {"b,b,b", 1, NATIVE, 0, SMALL, 0},
    {"b,b,b", 2, NATIVE, 0, LARGE, 0},
    {"b,b,b", 2, ALMOST, 0, MEDIUM, 0},
    {"b,b,a", 2, ALMOST, 0, WITH_SMALL_CONSTANTS(MEDIUM), 0},
    {"b,b,a,a", 1, ALMOST, 0, SMALL, 0},
    {"b,a,a", 2, ALMOST, 0, WITH_SMALL_CONSTANTS(MEDIUM), 0},
    {"aa,b,b", 1, ALMOST, 0, MEDIUM, 0},
    {"aaa,b", 1, ALMOST, 0, SMALL, 0},
    {"ab,a,b", 1, ALMOST, 0, MEDIUM, 0},
    {"b,b,b,b", 1, TIMEOUTS, 0, MEDIUM, 0},
    {"b,b,b", 2, ANYTHING, 0, LARGE, 0},
    {"a,b,t", 2, ANYTHING, 0, LARGE, 0},
    {"aa,b,b", 1, ANYTHING, 0, LARGE, 0},
    {"aa,aa", 2, ANYTHING, 0, LARGE, 0},
    {"b,b,b,b", 1, ANYTHING, 0, LARGE, 0},
    {"b,b,b,a", 1, SLICES | ALMOST, 0, LARGE, 0},
    {"b,a,a,a", 1, ALMOST, 0, MEDIUM, 0},
/*
 * Only in models with few states. The chances are those of a waiter that reserves after one failed
 * wait.
 */
#if MAX_FAILED_WAITS == 1
    {"B,B,b", 1, BY_CHANCE, 10, SMALL, 0},
    {"B,B,a", 1, BY_CHANCE, 10, SMALL, 0},
    {"F,F,f", 1, BY_CHANCE, 10, SMALL, 0},
    {"A,B,b", 1, BY_CHANCE, 10, LARGE, 0},
#endif
};

static const struct configuration proofs[] = {
    {"b", 0, ANYTHING | STRAYS | ANY_CALL, 0, SMALL, 0},
    {"b,aaa", 0, ANYTHING, 0, SMALL, 0},
    {"b,aaa,ppp", 0, ANYTHING, 0, MEDIUM, 0},
#if MAX_FAILED_WAITS == 1
    {"b,aaab", 0, ANYTHING | BRIEFS_END, 0, LARGE, 0},
#endif
};

static const char *const word_names[] = {"state", "gate"};

EXPLORE("mutex", LW_MUTEX_WORDS, .flags_of_a_step = SAW_IT_HELD, .last_phase = MUTEX_LAST_PHASE,
        .waits = waits, .resumed = counts, .may_die = may_die, .proofs = proofs,
        .proof_count = COUNT_OF(proofs), .ids = {LW_MUTEX_OWNER}, .agents_ghosts = 1 << OWNER_AGENT,
        .ids_of_call = ids_of_call, .is_owed = unlock_is_owed, .pledges = reservation,
        .wakes_one = LW_MUTEX_STATE + 1)
