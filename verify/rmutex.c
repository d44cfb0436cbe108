/*
 * rmutex.c: the explorer's model of the recursive mutex. Each caller takes it, again and again up
 * to its size, and gives it back. Caller b is a thread, f a thread that uses the C interface, whose
 * inlined halves go before the steps, a is a task of an event loop and p one whose engine polls. A
 * configuration may begin with the first agent holding the mutex, which has then taken it this
 * often already.
 */
#include <lockword/rmutex.h>

#include "holder.h"
#include "mutex.h"

enum { LOCK, LOCK_TASK, REENTER, UNLOCK, DEPTH, FACE_LOCK, FACE_TRYLOCK, FACE_UNLOCK };

/* A caller's own flags. */
enum {
    HOLDS = FIRST_OWN_FLAG,     /* is to give it back */
    TOOK = FIRST_OWN_FLAG * 2,  /* during its call */
    FREED = FIRST_OWN_FLAG * 4, /* during its call */
    CHANGED_DEPTH =
        FIRST_OWN_FLAG * 8, /* during its call: has taken it once more, or given it back once */
    SAW_IT_HELD = FIRST_OWN_FLAG * 16, /* during this step */
};

/* More ghosts: which of the owner's callers has the mutex, and how often. */
#define OWNER_CALLER 1
#define TIMES 2 /* besides the ones with which the configuration begins */

/* The depth that a holder has left behind that died, before the program began. */
#define LEFT_BEHIND 2

/* The step, and what its driver does when it has succeeded. */
static lw_answer lock_as(lw_word *words, uint32_t self, uint32_t why, uint32_t phase, uint32_t task)
{
    const lw_answer answer = lw_mutex_lock_step(words, self, why, phase);
    if (lw_answer_what(answer) == LW_DONE)
        lw_rmutex_entered_step(words, self | task, 0);
    return answer;
}

SLOW_HALF(lw_rmutex_lock_slow, lw_rmutex)

static lw_rmutex *seen_by(uint32_t self, lw_word *words)
{
    runs_self = self;
    return (lw_rmutex *)words;
}

CALL(lock, lock_as(words, a, b, c, 0))
CALL(lock_task, lock_as(words, a, b, c, LW_RMUTEX_TASK))
CALL(reenter, lw_rmutex_reenter_step(words, a))
CALL(unlock, lw_rmutex_free(words, a) || lw_rmutex_free_step(words, a))
CALL(depth, lw_rmutex_depth(words))
CALL(face_lock, (uint32_t)lw_rmutex_lock(seen_by(a, words)))
CALL(face_trylock, (uint32_t)lw_rmutex_trylock(seen_by(a, words)))
CALL(face_unlock, lw_rmutex_unlock(seen_by(a, words)) == 0)

static const struct function functions[] = {
    [LOCK] = INLINED_STEP("rmutex_lock", "lock", lock),
    [LOCK_TASK] = INLINED_STEP("rmutex_lock", "lock", lock_task),
    [REENTER] = FUNCTION("rmutex_reenter_step", "reenter", 1, reenter),
    [UNLOCK] = {.name = "rmutex_free_step",
                .label = "unlock",
                .arguments = 1,
                .answers_bool = true,
                .gives_back = true,
                .inlined = true,
                .call = unlock},
    [DEPTH] = FUNCTION("rmutex_depth", "depth", 0, depth),
    [FACE_LOCK] = INLINED("rmutex_lock", "lock at once", face_lock),
    [FACE_TRYLOCK] = INLINED("rmutex_trylock", "trylock", face_trylock),
    [FACE_UNLOCK] = FACE("rmutex_unlock", "unlock", face_unlock),
};

/* What `task` is for this caller. */
static uint32_t task_of(int agent, int caller)
{
    return model_is_async(agent, caller) ? LW_RMUTEX_TASK : 0;
}

/* What the word of the holder names. */
static uint32_t holder_of(int agent, int caller)
{
    return model_id(agent) | task_of(agent, caller);
}

/* How often its holder has taken it again. */
static uint32_t again(const struct state *state)
{
    return model_configuration->first + state->ghosts[TIMES] - 1;
}

static void begin(struct state *state)
{
    if (model_configuration->first == 0) {
        state->words[LW_RMUTEX_DEPTH] = LEFT_BEHIND;
        return;
    }
    state->words[LW_MUTEX_STATE] = model_id(0);
    state->words[LW_RMUTEX_DEPTH] = model_configuration->first;
    state->words[LW_RMUTEX_HOLDER] = holder_of(0, 0);
    state->ghosts[OWNER_AGENT] = state->ghosts[TIMES] = 1;
    state->agents[0].callers[0].flags = HOLDS;
}

/* Another caller of its agent holds it in the same way: the words cannot tell the two apart. */
static bool is_mistaken_for_holder(const struct state *state, int agent, int caller)
{
    return owns(state, agent) &&
           task_of(agent, caller) == task_of(agent, state->ghosts[OWNER_CALLER]);
}

/* What is illegal, or pointless. */
static int strays(const struct state *state, int agent, int caller, struct choice *choices,
                  int count)
{
    const uint32_t holder = holder_of(agent, caller);
    choices[count++] = (struct choice){.function = DEPTH};
    if (is_mistaken_for_holder(state, agent, caller))
        return count;
    choices[count++] = (struct choice){.function = REENTER, .a = holder};
    choices[count++] = (struct choice){.function = UNLOCK, .a = holder};
    if (!model_is_async(agent, caller))
        choices[count++] = (struct choice){.function = FACE_UNLOCK, .a = holder};
    return count;
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t self = model_id(agent);
    const uint32_t task = task_of(agent, caller);
    const bool by_face = model_letter(agent, caller) == 'f';
    const bool holds = c->flags & HOLDS;
    const bool locks = !holds || state->ghosts[TIMES] < model_size(agent, caller);
    int count = 0;
    if (c->rounds == 0)
        return 0;
    if (locks && by_face) {
        choices[count++] = (struct choice){.function = FACE_LOCK, .a = self};
        choices[count++] = (struct choice){.function = FACE_TRYLOCK, .a = self};
    } else if (locks) {
        choices[count++] = (struct choice){.function = holds  ? REENTER
                                                       : task ? LOCK_TASK
                                                              : LOCK,
                                           .a = holds ? self | task : self};
    }
    if (holds && (state->ghosts[TIMES] > 1 || model_configuration->first == 0))
        choices[count++] = (struct choice){.function = by_face ? FACE_UNLOCK : UNLOCK,
                                           .a = by_face ? self : self | task};
    return model_configuration->with & STRAYS ? strays(state, agent, caller, choices, count)
                                              : count;
}

static bool is_unlock(uint32_t function)
{
    return function == UNLOCK || function == FACE_UNLOCK;
}

static const char *changed_owner(struct state *state, int agent, const struct operation *operation)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = operator_of(state, agent);
    const uint32_t before = operation->a & LW_MUTEX_OWNER;
    const uint32_t after = operation->b & LW_MUTEX_OWNER;
    if (before == after)
        return NULL;
    if (before == 0) {
        if (is_unlock(a->function) || after != model_id(agent))
            return "takes it for somebody else";
        state->ghosts[OWNER_AGENT] = (uint8_t)(agent + 1);
        state->ghosts[OWNER_CALLER] = a->caller;
        state->ghosts[TIMES] = 1;
        c->flags |= TOOK;
        return NULL;
    }
    if (after != 0 || !is_unlock(a->function) || !(c->flags & HOLDS))
        return "takes it from its holder";
    if (again(state) > 0)
        return "frees what it has taken more than once";
    state->ghosts[OWNER_AGENT] = state->ghosts[OWNER_CALLER] = state->ghosts[TIMES] = 0;
    c->flags = (c->flags | FREED) & (uint8_t)~HOLDS;
    return NULL;
}

static const char *changed_depth(struct state *state, int agent, uint32_t depth)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = operator_of(state, agent);
    if (!owns(state, agent) || !(c->flags & (HOLDS | TOOK)))
        return "changes the depth, and does not hold it";
    if (c->flags & TOOK)
        return depth == 0 ? NULL : "begins with another depth";
    if (c->flags & CHANGED_DEPTH)
        return "takes it, or gives it back, twice";
    c->flags |= CHANGED_DEPTH;
    if (is_unlock(a->function))
        state->ghosts[TIMES]--;
    else
        state->ghosts[TIMES]++;
    return depth == again(state) ? NULL : "does not count how often it has it";
}

static const char *changed_holder(struct state *state, int agent, uint32_t holder)
{
    const struct agent *a = &state->agents[agent];
    const struct caller *c = operator_of(state, agent);
    if (!owns(state, agent) || !(c->flags & (HOLDS | TOOK)))
        return "says who holds it, and does not hold it";
    /* An unlock that cannot free it says so again. */
    if (holder == holder_of(agent, a->caller))
        return NULL;
    return holder == 0 && is_unlock(a->function) && again(state) == 0
               ? NULL
               : "says that another one holds it";
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY)
        return NULL;
    if (c->flags & FREED)
        return "touches it after it has freed it";
    if (operation->kind == STORE)
        return operation->word == LW_RMUTEX_DEPTH    ? changed_depth(state, agent, operation->a)
               : operation->word == LW_RMUTEX_HOLDER ? changed_holder(state, agent, operation->a)
                                                     : "stores what it has to change";
    if (operation->kind == CAS && operation->word != LW_MUTEX_STATE)
        return "changes another word than the state";
    if (has_changed(operation, result))
        return changed_owner(state, agent, operation);
    if (operation->word == LW_MUTEX_STATE && result & LW_MUTEX_OWNER)
        c->flags |= SAW_IT_HELD;
    return NULL;
}

static const char *lock_ended(struct state *state, int agent, int caller, uint32_t what)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const bool async = model_is_async(agent, caller);
    const bool took = c->flags & TOOK;
    c->flags = took ? HOLDS : 0;
    if (what == LW_DONE)
        return took ? NULL : "says that it holds it, and does not";
    use_up_round(c);
    if (took)
        return "does not know that it holds it";
    if (what == LW_DEADLOCK)
        return owns(state, agent) && !async ? NULL : "sees a deadlock where none is";
    return async ? NULL : wrong_end(state, agent, what);
}

static const char *reenter_ended(struct state *state, struct caller *caller, bool changed,
                                 uint64_t result)
{
    if (!(caller->flags & HOLDS))
        return result != LW_REENTRY_NO ? "says that it holds it, and does not" : NULL;
    if (changed)
        return result != LW_REENTRY_YES ? "does not know that it has taken it once more" : NULL;
    return result != LW_REENTRY_OVERFLOW || again(state) != LW_RMUTEX_AGAIN
               ? "does not let its holder take it again"
               : NULL;
}

static const char *face_lock_ended(struct state *state, struct caller *caller, uint8_t flags,
                                   uint32_t function, uint64_t result)
{
    if (flags & TOOK || flags & CHANGED_DEPTH) {
        caller->flags = HOLDS;
        return result ? "does not know that it holds it" : NULL;
    }
    if (caller->flags & HOLDS)
        return result != EOVERFLOW || again(state) != LW_RMUTEX_AGAIN
                   ? "does not let its holder take it again"
                   : NULL;
    use_up_round(caller);
    if (result != (function == FACE_TRYLOCK ? EBUSY : ETIMEDOUT))
        return "ends in a way that it has not";
    return function == FACE_TRYLOCK && !(flags & SAW_IT_HELD) ? "refuses what is free" : NULL;
}

static const char *unlock_ended(struct caller *caller, uint8_t flags, bool result)
{
    const bool held = flags & (HOLDS | FREED);
    const bool gave_back = flags & (FREED | CHANGED_DEPTH);
    if (flags & FREED || (gave_back && model_configuration->first))
        use_up_round(caller);
    return result != gave_back ? "does not know whether it gave it back"
           : held != gave_back ? "does not give back what it holds"
                               : NULL;
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint8_t flags = c->flags;
    if (function == LOCK || function == LOCK_TASK)
        return lock_ended(state, agent, caller, lw_answer_what(result));
    c->flags &= HOLDS;
    switch (function) {
    case REENTER:
        return reenter_ended(state, c, flags & CHANGED_DEPTH, result);
    case UNLOCK:
    case FACE_UNLOCK:
        return unlock_ended(c, flags, result);
    case DEPTH:
        if ((result > 0) != (bool)(flags & SAW_IT_HELD))
            return "does not know whether anybody has it";
        return owns(state, agent) && result != again(state) + 1
                   ? "does not know how often it has it"
                   : NULL;
    default:
        return face_lock_ended(state, c, flags, function, result);
    }
}

static const char *invariant(const struct state *state)
{
    const int agent = state->ghosts[OWNER_AGENT] - 1;
    const char *const error = names_no_holder(state);
    if (error)
        return error;
    const uint32_t holder = state->words[LW_RMUTEX_HOLDER];
    /* In a proof, whether another agent is a task is not known. */
    const uint32_t known = model_is_one_of_many && agent > 0 ? LW_MUTEX_OWNER : UINT32_MAX;
    const bool is_holder =
        agent >= 0 && ((holder ^ holder_of(agent, state->ghosts[OWNER_CALLER])) & known) == 0;
    if (holder != 0 && !is_holder)
        return "an agent that does not hold it may take it again";
    /* Between its operations; in a proof, what another agent does is not known. */
    if (agent < 0 || state->agents[agent].doing != IDLE || (model_is_one_of_many && agent > 0))
        return NULL;
    if (!is_holder)
        return "its holder may not take it again";
    return state->words[LW_RMUTEX_DEPTH] == again(state)
               ? NULL
               : "the depth is not how often its holder has it";
}

/* The first agent holds it for good. */
static bool may_wait(const struct state *state, int agent, int caller)
{
    (void)state, (void)agent, (void)caller;
    return model_configuration->first;
}

static bool is_needed(const struct state *state, int agent)
{
    return owns(state, agent);
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    const int agent = model_agent_of(value & LW_MUTEX_OWNER);
    if (word == LW_RMUTEX_DEPTH)
        snprintf(text, size, "%u", value);
    else if (word == LW_RMUTEX_HOLDER)
        snprintf(text, size, "%s%s", agent >= 0 ? model_name(agent) : "0",
                 value & LW_RMUTEX_TASK ? "+TASK" : "");
    else
        describe_mutex(text, size, value);
}

#define FULL (LW_RMUTEX_AGAIN - 1) /* there is room for one */

static const struct configuration configurations[] = {
    {"b2,b", 1, 0, 0, SMALL, 0},
    {"f2,f", 1, 0, 0, SMALL, 0},
    {"b2,b", 1, STRAYS, 0, SMALL, 0},
    {"f3,b", 1, STRAYS, 0, SMALL, FULL},
    {"b3,f", 1, STRAYS, 0, SMALL, FULL},
    {"a3,f", 1, STRAYS, 0, SMALL, FULL},
    {"a3b,f", 1, STRAYS, 0, SMALL, FULL},
    {"f2,b", 2, STRAYS, 0, SMALL, 0},
    {"f2,f2", 2, 0, 0, SMALL, 0},
    {"a2,b", 2, STRAYS | BRIEFS, 0, SMALL, 0},
    {"a2f2,b", 1, STRAYS | BRIEFS, 0, SMALL, 0},
    {"b2,f2,a2", 1, 0, 0, SMALL, 0},
    {"b2,f2", 2, NATIVE, 0, SMALL, 0},
    {"b2,b2", 2, ANYTHING, 0, SMALL, 0},
    {"a2,f2", 2, ANYTHING | STRAYS, 0, SMALL, 0},
    {"a2b2,b", 1, ANYTHING, 0, SMALL, 0},
    {"a2a,b", 1, ANYTHING, 0, SMALL, 0},
    {"p2,f2", 2, ANYTHING, 0, SMALL, 0},
    {"b2,f2,a2", 1, TIMEOUTS | CANCELS | BRIEFS, 0, SMALL, 0},
    {"b2,f,a", 1, SLICES | TIMEOUTS | BRIEFS | DEATHS, 0, SMALL, 0},
    {"f2,f2,f2", 2, 0, 0, MEDIUM, 0},
    {"a2f2,b2,b", 1, TIMEOUTS | CANCELS | BRIEFS, 0, MEDIUM, 0},
    {"b2,f2,a2", 1, ANYTHING | DEATHS, 0, LARGE, 0},
    {"b2,f2,a2", 2, TIMEOUTS | CANCELS | BRIEFS, 0, LARGE, 0},
};

static const struct configuration proofs[] = {
    {"b2,f2", 0, ANYTHING | STRAYS, 0, SMALL, 0},
    {"b2,a2a2a2", 0, ANYTHING, 0, SMALL, 0},
    {"b2,a2a2a2,p2p2p2", 0, ANYTHING, 0, MEDIUM, 0},
};

static const char *const word_names[] = {"state", "gate", "depth", "holder"};

EXPLORE("rmutex", LW_RMUTEX_WORDS, .begin = begin, .may_wait = may_wait,
        .last_phase = MUTEX_LAST_PHASE, .flags_of_a_step = SAW_IT_HELD, .proofs = proofs,
        .proof_count = COUNT_OF(proofs),
        .ids = {[LW_MUTEX_STATE] = LW_MUTEX_OWNER, [LW_RMUTEX_HOLDER] = LW_MUTEX_OWNER},
        .agents_ghosts = 1 << OWNER_AGENT, .is_owed = unlock_is_owed, .pledges = reservation,
        .wakes_one = LW_MUTEX_STATE + 1)
