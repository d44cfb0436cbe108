/*
 * cond.c: the explorer's model of the condition, explored with its mutex. Callers b, a and p wait
 * under the mutex until there is something, and take it. Callers n and u make as many things as
 * their size and notify as many waiters, n after it has unlocked the mutex, u before. Size 9 is
 * 'all'. Caller f is like n, but notifies by the C interface, half of which is inlined.
 */
#include <lockword/cond.h>

#include "explorer/places.h"
#include "holder.h"

enum { ENTER, WAIT, NOTIFY_SOME, NOTIFY_NONE, LOCK, UNLOCK, FACE_NOTIFY };

#define MUTEX LW_COND_WORDS

/* A caller's own flags. */
enum {
    GAVE_UP = FIRST_OWN_FLAG,         /* its last wait did: it leaves without another look */
    CHANGED = FIRST_OWN_FLAG * 2,     /* during this call */
    SAW_WAITERS = FIRST_OWN_FLAG * 4, /* during this call */
    CLEARED = FIRST_OWN_FLAG * 8,     /* during this call: what was left behind */
    TOKEN = FIRST_OWN_FLAG * 16,      /* proofs: it sees to one of the things */
};

/* Where a caller is in its program: own[PLACE]. */
enum { OUTSIDE, IS_TO_ENTER, IS_TO_GIVE_UP, IS_TO_WAIT, IS_TO_LOCK, IS_TO_UNLOCK, IS_TO_NOTIFY };
#define PLACE 0
#define FOUND 1 /* by its notify */

/* Ghosts. */
enum { ITEMS, MADE, INSIDE, FREED, TOKENS, MOVED };

/* A configuration's first. */
#define STAYS 1     /* a thing stays there when it is taken */
#define AFTER_ALL 2 /* the notify before was for all */
#define FOR_ONE 4   /* a proof: there are notifies of one */
#define ALL 9

/* In a proof a caller makes one thing, or none if there are so many. */
#define ROOM 2

/*
 * A proof has to know that there are as many on their way to a thing as there are things. So it has
 * tokens. Who makes a thing holds one, unless there are enough. Its notify passes that to the agent
 * that it wakes, and that agent takes a thing. If nobody waits, the token is gone. Whoever looks
 * and finds nothing may sleep: then nobody holds a token, and the ghost MOVED, that the sequence
 * was moved while there was something, is not set.
 */

CALL(enter, lw_cond_enter_step(words))
CALL(notify, lw_cond_notify_step(words, a))
CALL(face_notify, lw_cond_notify((lw_cond *)words, a))
CALL(unlock, lw_mutex_unlock_step(words, a))

static const struct function functions[] = {
    [ENTER] = FUNCTION("cond_enter_step", "enter", 0, enter),
    [WAIT] = {.name = "cond_wait_step",
              .label = "wait",
              .is_step = true,
              .stands_alone = true,
              .arguments = 3,
              .call = lw_cond_wait_step},
    [NOTIFY_SOME] = FUNCTION("cond_notify_step", "notify", 1, notify),
    [NOTIFY_NONE] = FUNCTION("cond_notify_step", "notify none", 1, notify),
    [LOCK] = {.name = "mutex_lock_step",
              .label = "lock",
              .is_step = true,
              .is_known = true,
              .first_word = MUTEX,
              .arguments = 3,
              .call = lw_mutex_lock_step},
    [UNLOCK] = {.name = "mutex_unlock_step",
                .label = "unlock",
                .first_word = MUTEX,
                .arguments = 1,
                .answers_bool = true,
                .gives_back = true,
                .call = unlock},
    [FACE_NOTIFY] = INLINED("cond_notify", "notify by the face", face_notify),
};

static char letter_of(int agent, int caller)
{
    const char letter = model_letter(agent, caller);
    return letter == 'f' ? 'n' : letter;
}

static bool is_notify(uint32_t function)
{
    return function == NOTIFY_SOME || function == FACE_NOTIFY;
}

static bool waits(int agent, int caller)
{
    const char letter = letter_of(agent, caller);
    return letter != 'n' && letter != 'u';
}

static uint32_t owner_of(const struct state *state)
{
    return state->words[MUTEX + LW_MUTEX_STATE] & LW_MUTEX_OWNER;
}

static void begin(struct state *state)
{
    const uint32_t to_all = model_configuration->first & AFTER_ALL ? LW_COND_TO_ALL : 0;
    state->words[LW_COND_SEQUENCE] = (LW_COND_TO_ALL - 1) | to_all; /* the next notify wraps */
}

/* How often a caller fails to get the mutex is checked for the mutex: here no caller starves. */
static uint16_t same_phase(uint16_t phase)
{
    return phase & 3;
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t self = model_id(agent);
    switch (c->own[PLACE]) {
    case OUTSIDE:
        /* One that its own agent keeps out would be told of a deadlock. */
        if (c->rounds == 0 || (owner_of(state) == self && !model_is_async(agent, caller)))
            return 0;
        choices[0] = (struct choice){.function = LOCK, .a = self};
        choices[1] = (struct choice){.function = NOTIFY_NONE, .a = 0};
        return model_configuration->with & STRAYS ? 2 : 1;
    case IS_TO_ENTER:
        choices[0] = (struct choice){.function = ENTER};
        return 1;
    case IS_TO_WAIT:
        choices[0] = (struct choice){.function = WAIT, .a = c->wanted};
        return 1;
    case IS_TO_LOCK:
        choices[0] = (struct choice){.function = LOCK, .a = self};
        return 1;
    case IS_TO_NOTIFY:
        choices[0] = (struct choice){
            .function = model_letter(agent, caller) == 'f' ? FACE_NOTIFY : NOTIFY_SOME,
            .a = model_size(agent, caller) == ALL ? LW_ALL : model_size(agent, caller)};
        return 1;
    default:
        choices[0] = (struct choice){.function = UNLOCK, .a = self};
        return 1;
    }
}

/*
 * The last waiter holds the mutex, all things were made, and were notified under the mutex. No
 * notify is to come, and this waiter may free the memory. It may not if there is an n, which
 * notifies after it has given up the mutex.
 */
static bool may_free(const struct state *state, int agent, int caller)
{
    uint32_t all = 0;
    for (int i = 0; i < model_agents; i++) {
        for (int k = 0; k < model_callers[i]; k++) {
            const uint8_t rounds = state->agents[i].callers[k].rounds;
            if (letter_of(i, k) == 'n' || (waits(i, k) && rounds > (i == agent && k == caller)))
                return false;
            all += waits(i, k) ? 0 : model_configuration->rounds;
        }
    }
    return state->ghosts[MADE] == all;
}

static const char *changed(struct state *state, int agent, const struct operation *operation)
{
    const uint32_t function = state->agents[agent].function;
    struct caller *c = operator_of(state, agent);
    const uint32_t by = operation->b - operation->a;
    if (operation->word == LW_COND_WAITERS && by == LW_COND_LEFT_BEHIND) {
        if (operation->a & LW_COND_LEFT_BEHIND) {
            const bool is_due = function == NOTIFY_SOME && c->flags & CHANGED;
            c->flags |= CLEARED;
            return is_due ? NULL : "forgets what was left behind, and is no notify";
        }
        return function == WAIT && may_give_up(state->agents[agent].why) &&
                       model_is_async(agent, state->agents[agent].caller)
                   ? NULL
                   : "leaves nothing behind";
    }
    if (c->flags & CHANGED)
        return "changes it twice";
    c->flags |= CHANGED;
    if (operation->word == LW_COND_SEQUENCE) {
        state->ghosts[MOVED] = model_configuration->first & FOR_ONE && state->ghosts[ITEMS];
        if (!is_notify(function) || (by & ~LW_COND_TO_ALL) != 1)
            return "only a notify moves the sequence, by one";
        if (!(c->flags & SAW_WAITERS))
            return "moves the sequence although nobody waits";
        const bool is_for_all = model_size(agent, state->agents[agent].caller) == ALL;
        return !(operation->b & LW_COND_TO_ALL) == !is_for_all
                   ? NULL
                   : "does not say whether it was for all";
    }
    if (function == ENTER ? by != 1 : function != WAIT || by != UINT32_MAX)
        return "counts wrong";
    if (!model_is_one_of_many)
        state->ghosts[INSIDE] += (uint8_t)by;
    return NULL;
}

static void lose_token(struct state *state, struct caller *caller)
{
    if (caller->flags & TOKEN)
        state->ghosts[TOKENS]--;
    caller->flags &= (uint8_t)~TOKEN;
}

/* There is one thing more; or one less, and whoever finds none may sleep. */
static void make_one(struct state *state, struct caller *caller)
{
    if (state->ghosts[ITEMS] < ROOM)
        state->ghosts[ITEMS]++;
    if (state->ghosts[TOKENS] < state->ghosts[ITEMS] && model_configuration->first & FOR_ONE) {
        caller->flags |= TOKEN;
        state->ghosts[TOKENS]++;
    }
}

static void take_one(struct state *state, struct caller *caller)
{
    state->ghosts[ITEMS]--;
    lose_token(state, caller);
    if (state->ghosts[ITEMS] == 0)
        state->ghosts[TOKENS] = state->ghosts[MOVED] = 0;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    const uint32_t function = state->agents[agent].function;
    struct caller *c = operator_of(state, agent);
    if (function == NOTIFY_NONE)
        return "notifies nobody, and touches the words";
    if (operation->kind == NOTIFY) {
        const uint32_t most = model_size(agent, state->agents[agent].caller);
        c->own[FOUND] = (uint8_t)(result < most ? result : most);
        if (operation->word != LW_COND_SEQUENCE)
            return NULL;
        if (result == 0 || most == ALL)
            lose_token(state, c);
        c->flags &= (uint8_t)~TOKEN;
        if (operation->a == LW_ALL && most != ALL && !(c->flags & CLEARED))
            return "wakes everybody, and has not forgotten what was left behind";
        return NULL;
    }
    if (operation->word >= MUTEX)
        return NULL;
    if (state->ghosts[FREED])
        return "touches what may have been freed";
    if (has_changed(operation, result))
        return changed(state, agent, operation);
    if (operation->word == LW_COND_WAITERS && result & ~LW_COND_LEFT_BEHIND)
        c->flags |= SAW_WAITERS;
    return NULL;
}

/* It holds the mutex: under it, something is made, or taken, or there is nothing to be had. */
static void go_in(struct state *state, int agent, int caller)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t size = model_size(agent, caller);
    if (!waits(agent, caller)) {
        if (!model_is_one_of_many) {
            state->ghosts[ITEMS] += (uint8_t)size;
            state->ghosts[MADE]++;
        } else {
            make_one(state, c);
        }
        c->own[PLACE] = letter_of(agent, caller) == 'u' ? IS_TO_NOTIFY : IS_TO_UNLOCK;
        return;
    }
    state->ghosts[FREED] =
        may_free(state, agent, caller) && (c->flags & GAVE_UP || state->ghosts[ITEMS]);
    if (c->flags & GAVE_UP) {
        c->own[PLACE] = IS_TO_UNLOCK;
    } else if (state->ghosts[ITEMS] == 0) {
        c->own[PLACE] = IS_TO_ENTER;
    } else {
        if (!(model_configuration->first & STAYS))
            take_one(state, c);
        c->own[PLACE] = IS_TO_UNLOCK;
    }
}

static const char *wait_ended(struct state *state, int agent, int caller, uint64_t answer,
                              bool has_left)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint32_t what = lw_answer_what(answer);
    c->own[PLACE] = IS_TO_LOCK;
    if (!has_left)
        return "stays counted";
    if (what == LW_DONE)
        return NULL;
    c->flags |= GAVE_UP;
    return wrong_end(state, agent, what);
}

/* After the unlock, or the notify, that comes last. */
static void go_out(struct caller *c)
{
    c->own[PLACE] = OUTSIDE;
    c->flags &= (uint8_t)~GAVE_UP;
    use_up_round(c);
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const uint8_t place = c->own[PLACE];
    const uint8_t found = c->own[FOUND];
    const bool has_changed_it = c->flags & CHANGED;
    c->own[FOUND] = 0;
    c->flags &= (uint8_t) ~(CHANGED | SAW_WAITERS | CLEARED);
    switch (function) {
    case ENTER:
        c->own[PLACE] = IS_TO_GIVE_UP;
        c->wanted = (uint32_t)result;
        return has_changed_it ? NULL : "does not count itself";
    case WAIT:
        return wait_ended(state, agent, caller, result, has_changed_it);
    case NOTIFY_SOME:
    case FACE_NOTIFY:
        lose_token(state, c);
        if (letter_of(agent, caller) == 'u')
            c->own[PLACE] = IS_TO_UNLOCK;
        else
            go_out(c);
        return result == found ? NULL : "does not know how many it found";
    case LOCK:
        if (lw_answer_what(result) != LW_DONE || owner_of(state) != model_id(agent))
            return "goes on without the mutex";
        go_in(state, agent, caller);
        return NULL;
    case UNLOCK:
        if (place == IS_TO_GIVE_UP)
            c->own[PLACE] = IS_TO_WAIT;
        else if (letter_of(agent, caller) == 'n')
            c->own[PLACE] = IS_TO_NOTIFY;
        else
            go_out(c);
        return result ? NULL : "cannot unlock";
    default:
        return result ? "finds somebody, and was to notify nobody" : NULL;
    }
}

/* Whether the agent is counted as a waiter. */
static uint32_t held(const struct state *state, int agent)
{
    const struct caller *c = &state->agents[agent].callers[0];
    const uint8_t place = c->own[PLACE];
    return place == IS_TO_GIVE_UP || place == IS_TO_WAIT ||
           (place == IS_TO_ENTER && c->flags & CHANGED);
}

/* Two stands for any number. */
static uint32_t held_by_all(const struct state *state)
{
    const uint32_t waiters = state->words[LW_COND_WAITERS] & ~LW_COND_LEFT_BEHIND;
    return waiters < 2 ? waiters : UINT32_MAX / 2;
}

static const char *invariant(const struct state *state)
{
    if (model_is_one_of_many)
        return held(state, 0) <= held_by_all(state) ? NULL : "a waiter is not counted";
    const uint32_t waiters = state->words[LW_COND_WAITERS] & ~LW_COND_LEFT_BEHIND;
    return waiters == state->ghosts[INSIDE] ? NULL : "the waiters are not who waits";
}

/* No caller can make a thing for this waiter, and nothing is there. */
static bool may_wait(const struct state *state, int agent, int caller)
{
    return state->agents[agent].callers[caller].function == WAIT && state->ghosts[ITEMS] == 0;
}

/* Nothing is there, or another agent has a token; or another agent has the mutex. */
static bool is_owed(const struct state *state, int agent)
{
    return state->agents[agent].word == LW_COND_SEQUENCE
               ? state->ghosts[ITEMS] == 0 || state->ghosts[TOKENS]
               : owner_of(state) != 0;
}

/* An agent with a token waits for the mutex, whose holder does not wait meanwhile. */
static bool may_sleep(const struct state *state, int agent)
{
    return state->agents[agent].word >= MUTEX && owner_of(state) != model_id(agent);
}

/* Those who are notified one at a time have tokens. */
static bool is_woken_with_all(const struct state *state, int agent)
{
    const uint8_t place = state->agents[agent].callers[0].own[PLACE];
    return !(model_configuration->first & FOR_ONE) &&
           (place == IS_TO_GIVE_UP || place == IS_TO_WAIT);
}

static bool is_marked(const struct state *state, int agent)
{
    (void)agent;
    return state->ghosts[ITEMS] == 0;
}

/* Unless the sequence is moved, it will sleep, or give up. */
static bool is_bound_to_sleep(const struct state *state, int agent)
{
    return is_woken_with_all(state, agent) &&
           state->agents[agent].callers[0].wanted == state->words[LW_COND_SEQUENCE];
}

static bool is_needed(const struct state *state, int agent)
{
    if (model_is_one_of_many)
        return owner_of(state) == model_id(agent) ||
               state->agents[agent].callers[0].flags & TOKEN ||
               (state->agents[agent].doing == IDLE &&
                state->agents[agent].callers[0].own[PLACE] != OUTSIDE);
    return owner_of(state) == model_id(agent) || has_work(state, agent, "nuf");
}

/* There is nothing: no agent holds a token. */
static void others_changed(struct state *state, uint32_t turned)
{
    (void)turned;
    if (state->ghosts[ITEMS] == 0)
        state->agents[0].callers[0].flags &= (uint8_t)~TOKEN;
}

/* It has had the notify that others might wait for. */
static bool was_chosen(const struct state *state, int agent)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        const struct caller *c = &state->agents[agent].callers[caller];
        if (c->own[PLACE] == IS_TO_LOCK && !(c->flags & GAVE_UP))
            return true;
    }
    return places_is_told(state, agent);
}

/* Only engines re-check: with each re-check a waiter goes to the end of the queue. */
static const char *waits_idly(struct state *state, int agent, uint32_t way)
{
    return state->agents[agent].function == WAIT && way != LW_WAIT_IDLE ? "waits impatiently"
                                                                        : NULL;
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    if (word == MUTEX + LW_MUTEX_STATE)
        describe_mutex(text, size, value);
    else
        snprintf(text, size, "%d", (int)value);
}

#define WAKES (SPURIOUS | SLICES)
#define GIVING_UP (TIMEOUTS | CANCELS)
#define UNTIMELY (WAKES | GIVING_UP)
#define HEALS (SLICES | BRIEFS)

static const struct configuration configurations[] = {
    {"b,n", 1, STRAYS, 0, SMALL, 0},
    {"a,n", 1, 0, 0, SMALL, 0},
    {"b,u", 2, 0, 0, SMALL, 0},
    {"b,b,n", 1, 0, 0, SMALL, 0},
    {"b,b,n9", 1, 0, 0, SMALL, STAYS},
    {"b,b,n2", 1, 0, 0, SMALL, 0},
    {"a,b,n9", 1, 0, 0, SMALL, STAYS},
    {"b,f", 2, 0, 0, SMALL, 0},
    {"b,b,f9", 1, 0, 0, SMALL, STAYS},
    {"b,b,n", 1, UNTIMELY, 0, SMALL, 0},
    {"b,b,u", 1, UNTIMELY, 0, SMALL, 0},
    {"b,a,n", 1, CANCELS, 0, SMALL, AFTER_ALL},
    {"a,a,n", 1, CANCELS, 0, SMALL, 0},
    {"aa,n2", 1, UNTIMELY, 0, SMALL, 0},
    {"b,p,n", 1, UNTIMELY, 0, SMALL, 0},
    {"b,b,n", 2, 0, 0, SMALL, 0},
    {"aa,u,u", 1, SLICES, 0, SMALL, 0},
    {"b,b,n", 1, HEALS | TIMEOUTS | DEATHS, 0, MEDIUM, 0},
    {"b,a,u", 1, HEALS | DEATHS, 0, MEDIUM, 0},
    {"b,a,n", 1, UNTIMELY, 0, MEDIUM, 0},
    {"a,a,n", 1, WAKES, 0, MEDIUM, 0},
    {"b,b,n9", 1, UNTIMELY, 0, MEDIUM, STAYS},
    {"b,b,n,n", 1, 0, 0, MEDIUM, 0},
    {"b,a,n", 2, CANCELS, 0, LARGE, 0},
    {"b,b,n", 2, GIVING_UP, 0, LARGE, 0},
    {"b,b,b,n", 1, TIMEOUTS, 0, LARGE, 0},
    {"b,a,n,n", 1, CANCELS, 0, LARGE, 0},
    {"aa,b,n", 1, GIVING_UP, 0, LARGE, 0},
    {"a,a,n", 1, UNTIMELY, 0, LARGE, 0},
    {"b,a,u", 1, UNTIMELY | HEALS | DEATHS, 0, LARGE, 0},
};

static const struct configuration proofs[] = {
    {"b,n9,u9,f9", 0, UNTIMELY, 0, SMALL, STAYS | AFTER_ALL},
    {"b,n9,u9,f9", 0, UNTIMELY, 0, SMALL, AFTER_ALL},
    {"b,n,u,f", 0, UNTIMELY, 0, SMALL, FOR_ONE},
    {"b,n,u,f9", 0, UNTIMELY, 0, LARGE, FOR_ONE},
};

static const char *const word_names[] = {"sequence", "waiters", "mutex", "gate"};

EXPLORE("cond", MUTEX + LW_MUTEX_WORDS, .begin = begin, .may_wait = may_wait,
        .was_chosen = was_chosen, .waits = waits_idly, .fair_word = LW_COND_SEQUENCE + 1,
        .same_phase = same_phase, .last_phase = 3, .proofs = proofs,
        .proof_count = COUNT_OF(proofs), .ids = {[MUTEX + LW_MUTEX_STATE] = LW_MUTEX_OWNER},
        .generations = {[LW_COND_SEQUENCE] = LW_COND_TO_ALL - 1},
        .counts = {[LW_COND_WAITERS] = ~LW_COND_LEFT_BEHIND}, .held = held,
        .held_by_all = held_by_all, .is_owed = is_owed, .is_woken_with_all = is_woken_with_all,
        .is_marked = is_marked, .is_bound_to_sleep = is_bound_to_sleep, .may_sleep = may_sleep,
        .others_changed = others_changed, .token = TOKEN, .tokens = TOKENS)
