/*
 * barrier.c: the explorer's model of the barrier. Callers b, a and p arrive and wait, d arrives and
 * drops out, r resets the barrier, k makes it with as many parties as its size and then does what b
 * does. The configuration gives the number of parties at first; 0: a caller has to make the
 * barrier.
 */
#include <lockword/core/barrier.h>

#include "callers.h"

enum { ARRIVE, WAIT, DROP, RESET, MAKE };

/* A caller's own flags. */
enum {
    ARRIVED = FIRST_OWN_FLAG,      /* others were missing: it is to wait */
    PREPARED = FIRST_OWN_FLAG * 2, /* has dropped out, or made it */
    ENDED = FIRST_OWN_FLAG * 4,    /* during its call: has ended the cycle, or broken it */
    SAW_NEW = FIRST_OWN_FLAG * 8,  /* during its call: a cycle in which no party had arrived */
    OVER = FIRST_OWN_FLAG * 16,    /* the cycle in which it has arrived has ended */
    BROKE = FIRST_OWN_FLAG * 32,   /* and did not trip */
};

/* Ghosts: what was done, not what the words say. */
enum {
    PARTIES,    /* of the cycles to come */
    EXPECTED,   /* in this one */
    COME,       /* in this one */
    GONE,       /* of those: have dropped out, so that nobody waits */
    BROKEN,     /* this one */
    LAST_BROKE, /* the one before did not trip; 0 once anything has changed since */
};

/* The generation of the first cycle: the next one wraps. */
#define FIRST_GENERATION LW_BARRIER_GENERATION

CALL(arrive, lw_barrier_arrive_step(words))
CALL(drop, (lw_barrier_drop_step(words), 0))
CALL(reset, (lw_barrier_reset_step(words), 0))
CALL(make, (lw_barrier_make_step(words, a), 0))

static const struct function functions[] = {
    [ARRIVE] = {.name = "barrier_arrive_step", .label = "arrive", .answers = true, .call = arrive},
    [WAIT] = STEP("barrier_wait_step", "wait", lw_barrier_wait_step),
    [DROP] = FUNCTION("barrier_drop_step", "drop", 0, drop),
    [RESET] = FUNCTION("barrier_reset_step", "reset", 0, reset),
    [MAKE] = FUNCTION("barrier_make_step", "make", 1, make),
};

static void begin(struct state *state)
{
    const uint32_t parties = model_configuration->first;
    state->words[LW_BARRIER_STATE] = FIRST_GENERATION | parties;
    state->words[LW_BARRIER_PARTIES] = parties;
    state->ghosts[PARTIES] = state->ghosts[EXPECTED] = (uint8_t)parties;
}

/* Whether a caller is dropping out, or resetting it: one is illegal during the other. */
static bool any_is_at(const struct state *state, char letter)
{
    for (int agent = 0; agent < model_agents; agent++) {
        const struct agent *a = &state->agents[agent];
        const bool has_dropped_out =
            letter == 'd' && a->callers[0].flags & PREPARED && a->callers[0].rounds > 0;
        if (model_letter(agent, 0) == letter && (a->doing != IDLE || has_dropped_out))
            return true;
    }
    return false;
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const char letter = model_letter(agent, caller);
    if (c->rounds == 0 || (letter == 'r' && any_is_at(state, 'd')) ||
        (letter == 'd' && !(c->flags & PREPARED) && any_is_at(state, 'r')))
        return 0;
    if (letter == 'r')
        choices[0] = (struct choice){.function = RESET};
    else if (letter == 'k' && !(c->flags & PREPARED))
        choices[0] = (struct choice){.function = MAKE, .a = model_size(agent, caller)};
    else if (letter == 'd' && !(c->flags & PREPARED))
        choices[0] = (struct choice){.function = DROP};
    else if (c->flags & ARRIVED)
        choices[0] = (struct choice){.function = WAIT, .a = c->wanted};
    else
        choices[0] = (struct choice){.function = ARRIVE};
    return 1;
}

/* Nobody who waits has arrived, and nobody has given up. */
static bool is_new(const struct state *state)
{
    return state->ghosts[COME] == state->ghosts[GONE] && !state->ghosts[BROKEN];
}

/* The cycle is over for all who have arrived in it. */
static void end_cycle(struct state *state)
{
    for (int agent = 0; agent < model_agents; agent++) {
        for (int caller = 0; caller < model_callers[agent]; caller++) {
            uint8_t *flags = &state->agents[agent].callers[caller].flags;
            if ((*flags & (ARRIVED | OVER)) == ARRIVED)
                *flags |= state->ghosts[LAST_BROKE] ? OVER | BROKE : OVER;
        }
    }
}

static void begin_cycle(struct state *state, bool broke)
{
    state->ghosts[LAST_BROKE] = broke;
    end_cycle(state);
    state->ghosts[EXPECTED] = state->ghosts[PARTIES];
    state->ghosts[COME] = state->ghosts[GONE] = state->ghosts[BROKEN] = 0;
}

/* The word says that one more cycle has ended, and whether it tripped; nothing else about cycles.
 */
static bool is_next_cycle(uint32_t before, uint32_t after, bool broke)
{
    const uint32_t history = (before & LW_BARRIER_HISTORY) << 1 | broke * LW_BARRIER_BROKE_LAST;
    const uint32_t generation = (before & LW_BARRIER_GENERATION) + LW_BARRIER_ONE_GENERATION;
    return (after & LW_BARRIER_HISTORY) == (history & LW_BARRIER_HISTORY) &&
           (after & LW_BARRIER_GENERATION) == (generation & LW_BARRIER_GENERATION);
}

/* An arrival that counts wrong breaks the invariant. */
static const char *changed_state(struct state *state, int agent, const struct operation *operation)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = operator_of(state, agent);
    const bool ends_cycle = (operation->a ^ operation->b) & LW_BARRIER_GENERATION;
    const bool breaks = operation->b & ~operation->a & LW_BARRIER_BROKEN;
    state->ghosts[LAST_BROKE] = 0;
    if (((operation->a ^ operation->b) & ~LW_WAITERS) == 0)
        return a->function == WAIT ? NULL : "writes, and changes nothing";
    if (a->function == WAIT ? !breaks || !may_give_up(a->why) : breaks)
        return "breaks it for no reason, or does more than that";
    if ((a->function == WAIT && c->flags & OVER) ||
        (a->function != RESET && a->function != MAKE && state->ghosts[BROKEN]))
        return "does something to a cycle that it was not meant for";
    if ((a->function == RESET || a->function == MAKE) && !ends_cycle)
        return "does not begin a new cycle";
    if (ends_cycle ? !is_next_cycle(operation->a, operation->b, a->function != ARRIVE)
                   : (operation->a ^ operation->b) & LW_BARRIER_HISTORY)
        return "the word does not say which cycles broke";
    if (ends_cycle || breaks)
        c->flags |= ENDED;
    if (breaks) {
        state->ghosts[BROKEN] = 1;
    } else if (a->function != ARRIVE) {
        if (is_new(state) &&
            state->ghosts[EXPECTED] - state->ghosts[COME] == state->ghosts[PARTIES])
            return "resets what is as good as new";
        begin_cycle(state, true);
    } else if (state->ghosts[COME] + 1 < state->ghosts[EXPECTED]) {
        state->ghosts[COME]++;
        if (model_letter(agent, a->caller) == 'd')
            state->ghosts[GONE]++;
        c->wanted = operation->b & LW_BARRIER_GENERATION;
        c->flags |= ARRIVED;
    } else {
        begin_cycle(state, false);
    }
    return NULL;
}

static const char *changed_parties(struct state *state, int agent, uint32_t before, uint32_t after)
{
    const uint32_t function = state->agents[agent].function;
    const uint32_t asked_for =
        function == MAKE ? model_size(agent, state->agents[agent].caller) : before - 1;
    if ((function != MAKE && function != DROP) || after != asked_for || after > LW_BARRIER_MAX)
        return "is of another number of parties, and nobody said so";
    if (operator_of(state, agent)->flags & PREPARED)
        return "drops out twice, or makes it twice";
    operator_of(state, agent)->flags |= PREPARED;
    state->ghosts[PARTIES] = (uint8_t)after;
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY)
        return NULL;
    if (c->flags & ENDED)
        return "touches it after it has let others go";
    if (operation->word == LW_BARRIER_GATE)
        return "touches the gate";
    if (operation->word == LW_BARRIER_PARTIES && operation->kind == STORE)
        return changed_parties(state, agent, 0, operation->a);
    if (operation->kind == STORE)
        return "stores what it has to change";
    if (operation->word == LW_BARRIER_PARTIES)
        return has_changed(operation, result)
                   ? changed_parties(state, agent, operation->a, operation->b)
                   : NULL;
    if (has_changed(operation, result))
        return changed_state(state, agent, operation);
    if (is_new(state))
        c->flags |= SAW_NEW;
    return NULL;
}

/* The caller's arrival, or its wait, is over. */
static void end_round(struct caller *caller, char letter)
{
    use_up_round(caller);
    if (letter == 'd')
        caller->rounds = 0;
    caller->flags &= PREPARED;
    caller->wanted = 0;
}

/* Its last operation has told it what to return, and nothing was done since. */
static const char *arrive_ended(const struct state *state, struct caller *caller, char letter,
                                uint64_t answer)
{
    const uint8_t flags = caller->flags;
    const uint32_t cycle = caller->wanted;
    const uint32_t outcome = flags & ENDED                  ? LW_BARRIER_LEADS
                             : flags & ARRIVED              ? LW_BARRIER_WAITS
                             : state->ghosts[BROKEN]        ? LW_BARRIER_BROKE
                             : state->ghosts[EXPECTED] == 0 ? LW_BARRIER_UNMADE
                                                            : LW_DONE;
    caller->flags &= (uint8_t)~SAW_NEW;
    if (!(flags & ARRIVED) || letter == 'd')
        end_round(caller, letter);
    if (outcome == LW_DONE)
        return "has not arrived, and could";
    return answer == lw_answer_of(outcome, 0, 0, cycle) ? NULL : "does not know how it has arrived";
}

static const char *wait_ended(struct state *state, int agent, int caller, uint64_t answer)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t outcome = lw_answer_expected(answer);
    const uint8_t flags = c->flags;
    const bool has_broken_it = flags & ENDED;
    const uint32_t ago = ((state->words[LW_BARRIER_STATE] - c->wanted) & LW_BARRIER_GENERATION) /
                         LW_BARRIER_ONE_GENERATION;
    end_round(c, model_letter(agent, caller));
    if (lw_answer_what(answer) != LW_DONE)
        return has_broken_it ? wrong_end(state, agent, lw_answer_what(answer))
                             : "gives up, and leaves others waiting for it";
    if (has_broken_it)
        return "does not know that it has broken it";
    if (!(flags & OVER) && !state->ghosts[BROKEN])
        return "passes, and others are missing";
    const bool broke = !(flags & OVER) || flags & BROKE;
    if (ago <= 5 ? outcome != (broke ? LW_BARRIER_BROKE : LW_BARRIER_TRIPPED)
                 : outcome != LW_BARRIER_BROKE && outcome != LW_BARRIER_TRIPPED)
        return "does not know whether its cycle broke";
    return NULL;
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint8_t flags = c->flags;
    switch (function) {
    case ARRIVE:
        return arrive_ended(state, c, model_letter(agent, caller), result);
    case WAIT:
        return wait_ended(state, agent, caller, result);
    case RESET:
        end_round(c, 'r');
        return flags & (ENDED | SAW_NEW) ? NULL : "has not reset it";
    default:
        c->flags = PREPARED;
        if (function == DROP && state->ghosts[PARTIES] == 0 && !(flags & PREPARED))
            return NULL;
        return flags & PREPARED && !!(flags & ENDED) == (function == MAKE)
                   ? NULL
                   : "has not dropped out, or not made it";
    }
}

static const char *invariant(const struct state *state)
{
    const uint32_t word = state->words[LW_BARRIER_STATE];
    if ((word & LW_BARRIER_MISSING) != (uint32_t)state->ghosts[EXPECTED] - state->ghosts[COME])
        return "the word does not say how many are missing";
    return !(word & LW_BARRIER_BROKEN) != !state->ghosts[BROKEN]
               ? "the word does not say whether it is broken"
               : NULL;
}

/* Others are missing. */
static bool may_wait(const struct state *state, int agent, int caller)
{
    return !(state->agents[agent].callers[caller].flags & OVER) && !state->ghosts[BROKEN];
}

/* No party owes another one an arrival. */
static bool is_needed(const struct state *state, int agent)
{
    (void)state, (void)agent;
    return false;
}

/* Others have ended the cycle. */
static void others_changed(struct state *state, uint32_t turned)
{
    if (turned)
        end_cycle(state);
}

/* A waiter waits until its cycle is over, or broken; nobody has to arrive. */
static bool is_owed(const struct state *state, int agent)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (is_waiting(state, agent, caller) && state->agents[agent].callers[caller].flags & OVER)
            return false;
    }
    return !state->ghosts[BROKEN];
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    char waiters[24] = "";
    if (word == LW_BARRIER_PARTIES) {
        snprintf(text, size, "%u", value);
        return;
    }
    if (word == LW_BARRIER_STATE)
        describe_waiters(waiters, sizeof waiters, value);
    snprintf(text, size, "%u missing in %u%s%s", value & LW_BARRIER_MISSING,
             (value & LW_BARRIER_GENERATION) / LW_BARRIER_ONE_GENERATION,
             value & LW_BARRIER_BROKEN ? "+BROKEN" : "", waiters);
}

static const struct configuration configurations[] = {
    {"b,b", 2, 0, 0, SMALL, 2},
    {"a,b", 2, 0, 0, SMALL, 2},
    {"b,k2", 1, 0, 0, SMALL, 0},
    {"b,r", 2, 0, 0, SMALL, 1},
    {"b,r", 2, 0, 0, SMALL, 2},
    {"b,r", 6, 0, 0, SMALL, 2},
    {"d,b", 1, 0, 0, SMALL, 0},
    {"d", 1, 0, 0, SMALL, 1},
    {"b,d,d", 1, 0, 0, SMALL, 3},
    {"b,b,d", 2, 0, 0, SMALL, 3},
    {"b,b,b", 1, NATIVE, 0, SMALL, 3},
    {"b,b", 2, UNRELIABLE, 0, SMALL, 2},
    {"a,a", 2, UNRELIABLE, 0, SMALL, 2},
    {"aa,b", 1, UNRELIABLE, 0, SMALL, 3},
    {"p,b", 2, UNRELIABLE, 0, SMALL, 2},
    {"b,b,b", 1, TIMEOUTS | CANCELS, 0, SMALL, 3},
    {"b,a,d", 1, TIMEOUTS, 0, SMALL, 3},
    {"b,a,r", 1, UNRELIABLE, 0, SMALL, 2},
    {"b,d,r", 1, TIMEOUTS, 0, SMALL, 2},
    {"b,d,r", 2, TIMEOUTS | CANCELS, 0, SMALL, 2},
    {"b,b,b", 2, 0, 0, SMALL, 2},
    {"b,b,r", 3, 0, 0, SMALL, 1},
    {"b,b,r", 3, 0, 0, SMALL, 2},
    {"b,b,b", 1, UNRELIABLE | DEATHS, 0, SMALL, 2},
    {"b,b,r", 2, UNRELIABLE, 0, MEDIUM, 2},
    {"b,a,d", 1, UNRELIABLE, 0, LARGE, 3},
    {"b,a,a", 1, UNRELIABLE, 0, LARGE, 3},
    {"b,a,a", 1, TIMEOUTS | SLICES | DEATHS, 0, MEDIUM, 2},
    {"b,b,d", 2, TIMEOUTS, 0, MEDIUM, 3},
    {"b,b,a,r", 1, TIMEOUTS, 0, LARGE, 3},
    {"b,b,b", 2, UNRELIABLE, 0, LARGE, 3},
    {"b,b,b", 3, TIMEOUTS, 0, LARGE, 2},
};

static const struct configuration proofs[] = {
    {"b,r", 0, UNRELIABLE, 0, SMALL, 2},
    {"a,p,r", 0, UNRELIABLE, 0, MEDIUM, 2},
    {"b,r", 0, UNRELIABLE, 0, LARGE, 3},
    {"b,a,p,r", 0, UNRELIABLE, 0, LARGE, 2},
};

static const char *const word_names[] = {"state", "gate", "parties"};

EXPLORE("barrier", LW_BARRIER_WORDS, .crowd = true, .begin = begin, .may_wait = may_wait,
        .proofs = proofs, .proof_count = COUNT_OF(proofs),
        .generations = {[LW_BARRIER_STATE] = LW_BARRIER_GENERATION},
        .histories = {[LW_BARRIER_STATE] = LW_BARRIER_HISTORY}, .is_past = OVER, .was_noted = BROKE,
        .others_changed = others_changed, .is_owed = is_owed)
