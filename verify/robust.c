/*
 * robust.c: the explorer's model of the robust mutex, which agents hold while they die. The rules
 * are those of include/lockword/core/robust.h; those of the mutex itself are explored by mutex.c.
 *
 * Callers b and a unlock, as if the data were sound; x abandons it, and s resets an abandoned
 * mutex. Callers r bury agents that have died, one caller at a time, and may die in the middle;
 * then another one begins again.
 */
#include <lockword/core/robust.h>

#include "holder.h"
#include "mutex.h"

enum { LOCK, UNLOCK, ABANDON, RESET, LEAVE, BURY };

/* A caller's own flags. */
enum {
    HOLDS = FIRST_OWN_FLAG,     /* has locked, and is to unlock */
    TOOK = FIRST_OWN_FLAG * 2,  /* during its call: the word became its agent's */
    FREED = FIRST_OWN_FLAG * 4, /* during its call: the word became free */
};

/* More ghosts. */
#define FATE 1   /* what the next holder has to be told */
#define BURIED 2 /* agents whose burial has ended, one bit each */

/* Which object it is; and what may be said of it besides. */
#define NAMED LW_ROBUST_ONE_NAME
#define DIED (NAMED | LW_ROBUST_OWNER_DIED)
#define GIVEN_UP (NAMED | LW_ROBUST_ABANDONED)

/* The step, and what its driver looks at when it has succeeded. */
static lw_answer lock_and_look(lw_word *words, uint32_t self, uint32_t why, uint32_t phase)
{
    const lw_answer answer = lw_mutex_lock_step(words, self, why, phase);
    return lw_answer_what(answer) == LW_DONE ? lw_answer_of(LW_DONE, 0, 0, lw_robust_fate(words))
                                             : answer;
}

CALL(lock, lock_and_look(words, a, b, c))
CALL(unlock, lw_robust_unlock(words, a))
CALL(abandon, (lw_robust_decide(words, GIVEN_UP), lw_robust_unlock(words, a)))
CALL(reset, (lw_robust_decide(words, DIED), 1))
CALL(leave, lw_mutex_unlock_step(words, a))
CALL(bury, (lw_robust_bury(words, a), a))

static const struct function functions[] = {
    [LOCK] = INLINED_STEP("robust_lock", "lock", lock),
    [UNLOCK] = {.name = "robust_unlock",
                .label = "unlock",
                .arguments = 1,
                .answers_bool = true,
                .gives_back = true,
                .inlined = true,
                .call = unlock},
    [ABANDON] = FACE("robust_abandon", "abandon", abandon),
    [RESET] = FACE("robust_reset", "reset", reset),
    [LEAVE] = FACE("mutex_unlock_step", "leave", leave),
    [BURY] = INLINED("robust_bury", "bury", bury),
};

/* Returns whether an agent that lives is burying. */
static bool is_busy(const struct state *state)
{
    for (int agent = 0; agent < model_agents; agent++) {
        const struct agent *a = &state->agents[agent];
        if (a->doing != DEAD && a->doing != IDLE && a->function == BURY)
            return true;
    }
    return false;
}

/* Returns whether the agent may write: it is the holder, or it buries the holder. */
static bool may_write(const struct state *state, int agent)
{
    const int owner = state->ghosts[OWNER_AGENT] - 1;
    return owner == agent ||
           (state->agents[agent].function == BURY && owner >= 0 && is_dead(state, owner));
}

static void begin(struct state *state)
{
    state->words[LW_ROBUST_FATE] = NAMED;
    state->ghosts[FATE] = NAMED;
}

/* All calls say who makes them, or whom they bury. */
static uint8_t ids_of_call(uint32_t function)
{
    (void)function;
    return 1;
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t self = model_id(agent);
    const uint8_t fate = state->ghosts[FATE];
    int count = 0;
    if (model_letter(agent, caller) == 'r')
        return is_busy(state) ? 0 : burials(state, BURY, state->ghosts[BURIED], choices);
    if (c->flags & HOLDS) {
        const char letter = model_letter(agent, caller);
        const uint8_t leaving = letter == 's' ? RESET : LEAVE;
        choices[count++] = (struct choice){.function = fate == GIVEN_UP ? leaving
                                                       : letter == 'x'  ? ABANDON
                                                                        : UNLOCK,
                                           .a = self};
        return count;
    }
    if (c->rounds == 0)
        return 0;
    choices[count++] = (struct choice){.function = LOCK, .a = self};
    if (model_configuration->with & STRAYS && !owns(state, agent))
        choices[count++] = (struct choice){.function = UNLOCK, .a = self};
    return count;
}

static const char *changed_state(struct state *state, int agent, const struct operation *operation)
{
    struct caller *c = operator_of(state, agent);
    const uint32_t before = operation->a & LW_MUTEX_OWNER;
    const uint32_t after = operation->b & LW_MUTEX_OWNER;
    if (before == after)
        return NULL;
    if (before == 0) {
        if (after != model_id(agent))
            return "takes the mutex for somebody else";
        state->ghosts[OWNER_AGENT] = (uint8_t)(agent + 1);
        c->flags |= TOOK;
        return NULL;
    }
    if (after != 0 || !may_write(state, agent))
        return "takes the mutex from its holder";
    if (state->agents[agent].function != BURY)
        c->flags &= (uint8_t)~HOLDS;
    if (state->ghosts[FATE] != GIVEN_UP)
        state->ghosts[FATE] = state->agents[agent].function == BURY ? DIED : NAMED;
    state->ghosts[OWNER_AGENT] = 0;
    c->flags |= FREED;
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    const uint32_t function = state->agents[agent].function;
    if (operation->kind == NOTIFY)
        return NULL;
    if (operator_of(state, agent)->flags & FREED)
        return "touches the mutex after it has freed it";
    if (operation->kind == STORE) {
        if (operation->word != LW_ROBUST_FATE || !may_write(state, agent))
            return "decides the fate of a mutex that it does not hold";
        if (function == ABANDON || function == RESET)
            state->ghosts[FATE] = (uint8_t)operation->a;
        return NULL;
    }
    if (has_changed(operation, result))
        return operation->word == LW_MUTEX_STATE ? changed_state(state, agent, operation)
                                                 : "writes the gate or the fate";
    return NULL;
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const bool took = c->flags & TOOK;
    const bool freed = c->flags & FREED;
    c->flags &= HOLDS;
    switch (function) {
    case LOCK:
        if (took != (lw_answer_what(result) == LW_DONE))
            return "does not know whether it took the mutex";
        if (took && lw_answer_expected(result) != state->ghosts[FATE])
            return "is not told what became of the data";
        c->flags = took ? HOLDS : 0;
        if (!took)
            use_up_round(c);
        return NULL;
    case RESET:
        return NULL;
    case BURY: {
        const int dead = model_agent_of((uint32_t)result);
        c->flags = 0;
        state->ghosts[BURIED] |= (uint8_t)(is_dead(state, dead) << dead);
        return owns(state, dead) ? "the dead still holds it" : NULL;
    }
    default:
        if (result != freed)
            return "does not know whether it freed the mutex";
        if (freed)
            use_up_round(c);
        else if (owns(state, agent))
            return "unlock by the holder fails";
        return NULL;
    }
}

static const char *invariant(const struct state *state)
{
    if (state->ghosts[OWNER_AGENT] == 0 && state->words[LW_ROBUST_FATE] != state->ghosts[FATE])
        return "free, and the fate is not what it should be";
    return names_no_holder(state);
}

static bool is_needed(const struct state *state, int agent)
{
    return owns(state, agent);
}

/* As many agents as there are callers r; but one of these lives on. */
static bool may_die(const struct state *state, int agent)
{
    int buriers = 0;
    int alive = 0;
    for (int other = 0; other < model_agents; other++) {
        const bool is_burier = model_letter(other, 0) == 'r';
        buriers += is_burier;
        alive += is_burier && other != agent && !is_dead(state, other);
    }
    return state->deaths < buriers && alive > 0;
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    if (word == LW_MUTEX_STATE)
        describe_mutex(text, size, value);
    else
        snprintf(text, size, "%u", value);
}

/* From small to large: a mutant's first failure is its shortest. */
static const struct configuration configurations[] = {
    {"b,b", 1, STRAYS, 0, SMALL, 0},
    {"b,r", 2, DEATHS | BURIALS, 0, SMALL, 0},
    {"b,r,r,b", 1, STRAYS, 0, SMALL, 0}, /* the fourth agent's id is the name's number */
    {"b,b,r", 1, STRAYS | DEATHS | BURIALS, 0, SMALL, 0},
    {"b,a,r", 1, STRAYS | BRIEFS | DEATHS | BURIALS, 0, SMALL, 0},
    {"b,b,r", 2, DEATHS | BURIALS, 0, SMALL, 0},
    {"x,b,r", 2, STRAYS | DEATHS | BURIALS, 0, SMALL, 0},
    {"x,s,r", 2, DEATHS | BURIALS, 0, SMALL, 0},
    {"b,b,r,r", 1, DEATHS | BURIALS, 0, SMALL, 0},
    {"b,a,r,r", 1, BRIEFS | DEATHS | BURIALS, 0, MEDIUM, 0},
    {"x,b,r,r", 2, DEATHS | BURIALS, 0, MEDIUM, 0},
    {"x,s,r,r", 2, DEATHS | BURIALS, 0, MEDIUM, 0},
    {"b,b,b,r", 1, BRIEFS | DEATHS | BURIALS, 0, MEDIUM, 0},
    {"b,b,r,r", 1, ANYTHING | DEATHS | BURIALS, 0, MEDIUM, 0},
};

static const struct configuration proofs[] = {
    {"b,x,s", 0, ANYTHING | STRAYS | DEATHS | BURIALS | BRIEFS_END, 0, SMALL, 0},
    {"b,x,s,a", 0, ANYTHING | DEATHS | BURIALS | BRIEFS_END, 0, SMALL, 0},
    {"b,aaa,ppp", 0, ANYTHING | DEATHS | BURIALS | BRIEFS_END, 0, MEDIUM, 0},
};

static const char *const word_names[] = {"state", "gate", "fate"};

EXPLORE("robust", LW_ROBUST_WORDS, .last_phase = MUTEX_LAST_PHASE, .begin = begin,
        .may_die = may_die, .most_deaths = 2, .proofs = proofs, .proof_count = COUNT_OF(proofs),
        .ids = {LW_MUTEX_OWNER}, .agents_ghosts = 1 << OWNER_AGENT, .sets_ghosts = 1 << BURIED,
        .ids_of_call = ids_of_call, .burial = BURY + 1, .is_owed = unlock_is_owed)
