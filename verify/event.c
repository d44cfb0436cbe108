/*
 * event.c: the explorer's model of the event. Callers b, a and p wait; s sets the event, r resets
 * it, u does one after the other. Caller f asks whether it needs to wait, as the inlined half of
 * the C interface does. The configuration says whether the event resets itself.
 */
#include <lockword/event.h>

#include "callers.h"

enum { STATE, WAIT, SET, RESET, FACE_WAIT };

/* A caller's own flags. */
enum {
    KNOWS = FIRST_OWN_FLAG,            /* has read the state, and is to wait */
    MAY_PASS = FIRST_OWN_FLAG * 2,     /* manual: it has been set since */
    CHANGED = FIRST_OWN_FLAG * 4,      /* during its call: has set it, or reset it */
    SAW_IT_RESET = FIRST_OWN_FLAG * 8, /* during this step */
    IS_TO_RESET = FIRST_OWN_FLAG * 16, /* has set it, and is to reset it */
};

CALL(state_of, lw_event_state(words))
CALL(set, (lw_event_set_step(words), 0))
CALL(reset, lw_event_reset_step(words))

SLOW_HALF(lw_event_wait_slow, lw_event)

CALL(face_wait, lw_event_wait((lw_event *)words) == 0)

static const struct function functions[] = {
    [STATE] = FUNCTION("event_state", "state", 0, state_of),
    [WAIT] = STEP("event_wait_step", "wait", lw_event_wait_step),
    [SET] = {.name = "event_set_step", .label = "set", .gives_back = true, .call = set},
    [RESET] = PREDICATE("event_reset_step", "reset", 0, reset),
    [FACE_WAIT] = FACE("event_wait", "need not wait", face_wait),
};

static bool is_auto(void)
{
    return model_configuration->first & LW_EVENT_AUTO;
}

static void begin(struct state *state)
{
    state->words[LW_EVENT_STATE] = model_configuration->first;
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    if (c->rounds == 0)
        return 0;
    switch (model_letter(agent, caller)) {
    case 's':
        choices[0] = (struct choice){.function = SET};
        break;
    case 'r':
        choices[0] = (struct choice){.function = RESET};
        break;
    case 'f':
        choices[0] = (struct choice){.function = FACE_WAIT};
        break;
    case 'u':
        choices[0] = (struct choice){.function = c->flags & IS_TO_RESET ? RESET : SET};
        break;
    default:
        choices[0] = c->flags & KNOWS ? (struct choice){.function = WAIT, .a = c->wanted}
                                      : (struct choice){.function = STATE};
    }
    return 1;
}

static const char *changed(struct state *state, int agent, const struct operation *operation)
{
    struct caller *c = operator_of(state, agent);
    const uint32_t before = operation->a;
    const uint32_t after = operation->b;
    const uint32_t function = state->agents[agent].function;
    if ((before ^ after) & LW_EVENT_AUTO)
        return "manual or automatic: that was decided when it was made";
    if (function == SET) {
        if (!(after & LW_EVENT_SET) || c->flags & CHANGED)
            return "does not set it, or does it twice";
        flag_all(state, KNOWS, MAY_PASS);
        c->flags |= CHANGED;
        use_up_round(c);
        return NULL;
    }
    if ((before ^ after) & LW_EVENT_GENERATION)
        return "only a set is another generation";
    if (!((before ^ after) & LW_EVENT_SET))
        return function == WAIT ? NULL : "writes, and changes nothing";
    if (after & LW_EVENT_SET || c->flags & CHANGED || (function == WAIT && !is_auto()))
        return "sets or resets what it must not";
    c->flags |= CHANGED;
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY)
        return NULL;
    if (operation->word == LW_EVENT_GATE)
        return "touches the gate";
    if (has_changed(operation, result))
        return changed(state, agent, operation);
    if (!(result & LW_EVENT_SET))
        c->flags |= SAW_IT_RESET;
    return NULL;
}

static const char *wait_ended(struct state *state, int agent, struct caller *caller, uint32_t what)
{
    const uint8_t flags = caller->flags;
    const bool may_pass = flags & (is_auto() ? CHANGED : MAY_PASS);
    caller->flags = 0;
    use_up_round(caller);
    if (what == LW_DONE)
        return may_pass ? NULL : "passes, and nobody has set it since it came";
    if (may_pass || !(flags & SAW_IT_RESET))
        return "gives up although it may pass";
    return wrong_end(state, agent, what);
}

static const char *reset_ended(struct caller *caller, bool result)
{
    const bool changed = caller->flags & CHANGED;
    const bool saw_it_reset = caller->flags & SAW_IT_RESET;
    if (!(caller->flags & IS_TO_RESET))
        use_up_round(caller);
    caller->flags = 0;
    return result != changed           ? "does not know whether it has reset it"
           : !changed && !saw_it_reset ? "does not reset what is set"
                                       : NULL;
}

static const char *face_wait_ended(const struct state *state, struct caller *caller, bool result)
{
    const bool is_set = state->words[LW_EVENT_STATE] & LW_EVENT_SET;
    caller->flags = 0;
    use_up_round(caller);
    return result == (is_set && !is_auto()) ? NULL : "does not know whether it need wait";
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    switch (function) {
    case STATE:
        c->flags = KNOWS;
        if (state->words[LW_EVENT_STATE] & LW_EVENT_SET)
            c->flags |= MAY_PASS;
        c->wanted = (uint32_t)result;
        return result == state->words[LW_EVENT_STATE] ? NULL : "does not know its state";
    case WAIT:
        return wait_ended(state, agent, c, lw_answer_what(result));
    case FACE_WAIT:
        return face_wait_ended(state, c, result);
    case SET:
        if (!(c->flags & CHANGED))
            return "has not set it";
        c->flags = model_letter(agent, caller) == 'u' ? IS_TO_RESET : 0;
        return NULL;
    default:
        return reset_ended(c, result);
    }
}

static const char *invariant(const struct state *state)
{
    return state->words[LW_EVENT_GATE] ? "the gate is not 0" : NULL;
}

/* No caller has set the event for this waiter. */
static bool may_wait(const struct state *state, int agent, int caller)
{
    const bool is_set = state->words[LW_EVENT_STATE] & LW_EVENT_SET;
    return !is_set && (is_auto() || !(state->agents[agent].callers[caller].flags & MAY_PASS));
}

/* Every set is another generation. */
static void others_changed(struct state *state, uint32_t turned)
{
    if (turned)
        flag_all(state, KNOWS, MAY_PASS);
}

/* A waiter waits until the event is set; nobody has to set it. */
static bool is_owed(const struct state *state, int agent)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (!is_auto() && is_waiting(state, agent, caller) &&
            state->agents[agent].callers[caller].flags & MAY_PASS)
            return false;
    }
    return !(state->words[LW_EVENT_STATE] & LW_EVENT_SET);
}

static bool is_needed(const struct state *state, int agent)
{
    return has_work(state, agent, "su");
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    snprintf(text, size, "%s %u%s", value & LW_EVENT_SET ? "set" : "reset",
             (value & LW_EVENT_GENERATION) / LW_EVENT_ONE_GENERATION, waiters_in(word, value));
}

#define AUTO LW_EVENT_AUTO

#define LAST LW_EVENT_GENERATION /* the next set wraps */

static const struct configuration configurations[] = {
    {"b,s", 1, 0, 0, SMALL, 0},
    {"b,s", 1, 0, 0, SMALL, LW_EVENT_SET},
    {"b,s", 2, 0, 0, SMALL, AUTO},
    {"a,s", 1, 0, 0, SMALL, LAST},
    {"b,b,u", 2, NATIVE, 0, SMALL, 0},
    {"b,b,s", 2, NATIVE, 0, SMALL, AUTO},
    {"f,u", 2, 0, 0, SMALL, 0},
    {"f,b,u", 1, 0, 0, SMALL, LW_EVENT_SET},
    {"f,b,s", 2, 0, 0, SMALL, AUTO},
    {"b,b,s", 1, UNRELIABLE, 0, SMALL, 0},
    {"b,b,u", 1, UNRELIABLE, 0, SMALL, 0},
    {"b,b,u", 2, UNRELIABLE, 0, SMALL, LAST},
    {"b,a,u", 2, UNRELIABLE, 0, SMALL, 0},
    {"aa,a,u", 1, UNRELIABLE, 0, SMALL, 0},
    {"b,as,r", 1, UNRELIABLE, 0, SMALL, 0},
    {"b,s,r", 2, UNRELIABLE, 0, SMALL, 0},
    {"b,s,s", 1, UNRELIABLE, 0, SMALL, 0},
    {"p,b,u", 1, UNRELIABLE, 0, SMALL, 0},
    {"b,a,s", 1, UNRELIABLE | DEATHS, 0, SMALL, 0},
    {"b,b,s", 2, UNRELIABLE, 0, SMALL, AUTO},
    {"b,a,s", 2, UNRELIABLE, 0, SMALL, AUTO},
    {"aa,a,s", 1, UNRELIABLE, 0, SMALL, AUTO},
    {"b,s,r", 2, UNRELIABLE, 0, SMALL, AUTO | LAST},
    {"a,s,u", 2, UNRELIABLE, 0, SMALL, AUTO | LW_EVENT_SET},
    {"b,a,s", 1, UNRELIABLE | DEATHS, 0, SMALL, AUTO},
    {"b,a,s,u", 1, UNRELIABLE, 0, SMALL, 0},
    {"b,a,s,u", 1, UNRELIABLE, 0, SMALL, AUTO},
    {"b,b,aa,s", 1, TIMEOUTS, 0, LARGE, AUTO},
    {"b,b,aa,u", 1, TIMEOUTS | CANCELS, 0, MEDIUM, 0},
    {"b,a,s,u", 2, UNRELIABLE, 0, LARGE, 0},
    {"b,a,s,u", 2, UNRELIABLE, 0, LARGE, AUTO},
};

static const struct configuration proofs[] = {
    {"b,s,r", 0, UNRELIABLE, 0, SMALL, 0},      {"b,f,aa,u", 0, UNRELIABLE, 0, SMALL, 0},
    {"aa,pp,as,r", 0, UNRELIABLE, 0, SMALL, 0}, {"b,s,r", 0, UNRELIABLE, 0, SMALL, AUTO},
    {"b,f,a,u", 0, UNRELIABLE, 0, SMALL, AUTO}, {"aa,pp,as,r", 0, UNRELIABLE, 0, MEDIUM, AUTO},
};

static const char *const word_names[] = {"state", "gate"};

EXPLORE("event", LW_EVENT_WORDS, .crowd = true, .begin = begin, .may_wait = may_wait,
        .flags_of_a_step = SAW_IT_RESET, .proofs = proofs, .proof_count = COUNT_OF(proofs),
        .generations = {[LW_EVENT_STATE] = LW_EVENT_GENERATION}, .others_changed = others_changed,
        .is_owed = is_owed)
