/*
 * sem.c: the explorer's model of the semaphore. Each caller acquires as many permits as its size
 * and releases them; t only tries, f does so by the C interface, whose inlined halves go before the
 * steps; l looks, as a caller does that is awake yet. Caller r buries agents that have died, as a
 * region does; q tries as t does, and buries an agent that is none of these while it holds permits.
 * The configuration gives the number of permits at first.
 */
#include <lockword/sem.h>

#include "callers.h"
#include "holder.h"
#include "mutex.h"

/* The highest phase of its step: the mutex's counts, or a ticket, above four flags. */
#define SEM_LAST_PHASE (MUTEX_LAST_PHASE | 0xff)

enum {
    ACQUIRE,
    TRY_ACQUIRE,
    LOOK,
    TAKE,
    RELEASE,
    RELEASE_NONE,
    RELEASE_TOO_MUCH,
    PERMITS,
    FACE_ACQUIRE,
    FACE_RELEASE,
    FACE_RELEASE_TOO_MUCH,
    BURY
};

/* A caller's own flags. */
enum {
    HOLDS = FIRST_OWN_FLAG,           /* has its permits, and is to release them */
    TOOK = FIRST_OWN_FLAG * 2,        /* during its call */
    GAVE = FIRST_OWN_FLAG * 4,        /* during its call; what there was before is in `wanted` */
    SAW_TOO_FEW = FIRST_OWN_FLAG * 8, /* during this step; or those that there were, were kept */
    SAW = FIRST_OWN_FLAG * 16,        /* and above: how many permits this step saw last */
};

/* Ghost: how many threads may still be woken in vain by the releases so far. */
#define CREDIT 1

/* Ghost: a claim stands, and is marked in the state. */
#define MARKED 2

#define BURIED 3 /* ghost: agents whose burial has ended, one bit each */

/*
 * Of a caller that has its permits: the low byte of how many it left; of one that waits briefly
 * behind a claim: that claim, by its ticket plus one; of one that buries: whether it last saw a
 * claim, or its line.
 */
#define LEFT 0
#define WAITS_BESIDE 0

/*
 * The same of a claim that was seen last, if there were enough permits for its owner and for the
 * caller; or, in a release, whether it has yet to wake one in line.
 */
#define SAW_BESIDE 1
#define WAKES_LINE 1

/* The phase of a waiter that has claimed, that waited behind a claim, or at the state. */
#define CLAIMS 0x4
#define BEHIND 0x8
#define WAITS 0x10

#define HELD 0 /* ghost: how many permits are held, by what was done */

#define IS_CLAIMED (LW_SEM_NEED | LW_SEM_LINE)

#define KEPT (LW_SEM_CLAIMED | LW_SEM_RESERVED)

/* More than anyone can hold. */
#define TOO_MUCH 8

/* What a region does: src/region/bury.c. */
static uint32_t bury_all(lw_word *words, uint32_t dead)
{
    lw_sem_bury_step(words);
    lw_notify(&words[LW_SEM_STATE], LW_ALL);
    lw_notify(&words[LW_SEM_CLAIM], LW_ALL);
    lw_notify_async(&words[LW_SEM_GATE], LW_ALL);
    return dead;
}

CALL(try_acquire, lw_sem_try_step(words, a))
CALL(look, lw_answer_what(lw_sem_acquire_step(words, a, LW_TIMED_OUT, 0)) == LW_DONE)
CALL(take, lw_sem_take(words, a))
CALL(release, lw_sem_release_step(words, a))
CALL(permits, lw_sem_permits(words))
CALL(face_acquire, lw_sem_tryacquire((lw_sem *)words, a) == 0)
CALL(face_release, lw_sem_release((lw_sem *)words, a) == 0)
CALL(bury, bury_all(words, a))

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
    [LOOK] = {.name = "sem_acquire_step",
              .label = "look",
              .arguments = 1,
              .answers_bool = true,
              .call = look},
    [TAKE] =
        {.name = "sem_take", .label = "take", .arguments = 1, .answers_bool = true, .call = take},
    [RELEASE_NONE] = {.name = "sem_release_step",
                      .label = "release none",
                      .arguments = 1,
                      .call = release},
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
    [BURY] = INLINED("sem_bury_all", "bury", bury),
};

static bool is_try(uint32_t function)
{
    return function == TRY_ACQUIRE || function == FACE_ACQUIRE;
}

static bool is_release(uint32_t function)
{
    return function == RELEASE || function == FACE_RELEASE;
}

/* The first claim has ticket 0, so that tickets wrap. */
static void begin(struct state *state)
{
    state->words[LW_SEM_STATE] = model_configuration->first;
    state->words[LW_SEM_CLAIM] = LW_SEM_TICKET;
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
    if (model_letter(agent, caller) == 'r')
        return burials(state, BURY, state->ghosts[BURIED], choices);
    if (model_letter(agent, caller) == 'q' && holds && !(state->ghosts[BURIED] & 1 << agent))
        choices[count++] = (struct choice){.function = BURY, .a = model_id(agent)};
    const uint8_t get = by_face                              ? FACE_ACQUIRE
                        : is_one_of(agent, caller, "tq")     ? TRY_ACQUIRE
                        : model_letter(agent, caller) == 'l' ? LOOK
                                                             : ACQUIRE;
    const uint8_t give = by_face ? FACE_RELEASE : RELEASE;
    choices[count++] = (struct choice){.function = holds ? give : get, .a = n};
    if (get == LOOK && !holds)
        choices[count++] = (struct choice){.function = TAKE, .a = n};
    if (model_configuration->with & STRAYS) {
        choices[count++] = (struct choice){.function = PERMITS};
        choices[count++] = (struct choice){.function = RELEASE_NONE};
        choices[count++] = (struct choice){.function = too_much, .a = LW_SEM_MAX + 1};
        if (model_configuration->first == LW_SEM_MAX)
            choices[count++] = (struct choice){.function = too_much, .a = TOO_MUCH};
    }
    return count;
}

/*
 * Whether a wake at the state is due to a release, and to nothing else, such as a withdrawal, or a
 * claimant that was replaced.
 */
static bool wakes_count(void)
{
    return !(model_configuration->with & (UNRELIABLE | BRIEFS | DEATHS | BURIALS)) &&
           model_configuration->rounds == 1 && !model_configuration->most_lost;
}

/*
 * No herd: a release of n permits leads to at most n threads that are woken at the state and find
 * too few permits. While a claim stands, the claimant may be such a thread besides.
 */
#define VAIN_WAKES(n, state) ((n) * ((state)&LW_SEM_CLAIMED ? 2 : 1))

/* A step sees too few permits for the first time. */
static const char *sees_too_few(struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    if (!wakes_count() || a->function != ACQUIRE || a->why != LW_OK ||
        model_is_async(agent, a->caller) || a->callers[a->caller].phase & BEHIND)
        return NULL;
    return state->ghosts[CREDIT]-- > 0 ? NULL : "a herd: one more thread is woken in vain";
}

static const char *changed(struct state *state, int agent, const struct operation *operation)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = operator_of(state, agent);
    const uint32_t n = model_size(agent, a->caller);
    const uint32_t before = operation->a & LW_SEM_MAX;
    const uint32_t after = operation->b & LW_SEM_MAX;
    const uint32_t why = a->why & LW_WHY;
    if (operation->a & ~operation->b & LW_SEM_RESERVED &&
        (a->function != ACQUIRE || c->phase & BEHIND ||
         !(c->phase & CLAIMS ? why == LW_SLICE : ends_reservation(c, a->why))))
        return "ends a reservation, and does not starve";
    if (~operation->a & operation->b & LW_SEM_RESERVED && !starves(c, a->why))
        return "reserves, and does not starve";
    if (after == before)
        return a->function == ACQUIRE || n == 0 ? NULL : "writes, and changes nothing";
    if (c->flags & (TOOK | GAVE))
        return "takes or gives twice";
    if (after < before) {
        /* Another waiter may claim instead: the claimant may have died. */
        if (state->ghosts[MARKED] && !(model_configuration->with & (SLICES | BRIEFS | BURIALS)) &&
            !is_try(a->function) && !(c->phase & (LW_ENTITLED | CLAIMS | BEHIND)) &&
            !(c->phase & WAITS && c->flags & HAS_WAITED))
            return "overtakes a claim";
        if (a->function == ACQUIRE && c->phase & CLAIMS && why == LW_OK &&
            operation->a & LW_SEM_RESERVED)
            return "a claimant that was just woken takes what is reserved";
        const bool looks = a->function == LOOK || a->function == TAKE;
        if ((a->function != ACQUIRE && !looks && !is_try(a->function)) || before - after != n)
            return "takes permits that it was not asked to take";
        if (a->function == ACQUIRE && operation->b & LW_SEM_RESERVED && !(c->phase & BEHIND) &&
            (c->phase & CLAIMS ? why == LW_SLICE : ends_reservation(c, a->why)))
            return "leaves a reservation that it should end";
        if (looks && operation->a & KEPT)
            return "takes permits that are kept for waiters";
        if (!looks && !is_try(a->function) && operation->a & LW_SEM_RESERVED &&
            !(c->flags & HAS_WAITED))
            return "takes what is reserved without having waited";
        state->ghosts[HELD] += (uint8_t)n;
        c->flags |= TOOK;
        c->own[LEFT] = (uint8_t)after;
        overtake(state, agent);
        return NULL;
    }
    if (!is_release(a->function) || after - before != n)
        return "gives permits that it was not asked to give";
    state->ghosts[HELD] -= (uint8_t)n;
    state->ghosts[CREDIT] += (uint8_t)(wakes_count() ? VAIN_WAKES(n, operation->a) : 0);
    c->wanted = before;
    /* The claimant may be a busy event loop, which a thread in line finds out. */
    c->own[WAKES_LINE] = operation->a & LW_SEM_CLAIMED && operation->a & LW_ASYNC_WAITERS;
    c->flags = (c->flags | GAVE) & (uint8_t)~HOLDS;
    return NULL;
}

/* No caller of a configuration asks for more. */
#define MOST_SEEN 3

static void see(struct caller *caller, uint32_t word)
{
    const uint32_t there = word & LW_SEM_MAX;
    const uint32_t seen = there < MOST_SEEN ? there : MOST_SEEN;
    caller->flags = (uint8_t)((caller->flags & (SAW - 1)) | seen * SAW);
}

/*
 * Returns the ticket plus one of the claim that the word holds, or held last, if the caller saw
 * enough permits for its owner and for itself; else 0.
 */
static uint8_t beside_enough(const struct caller *caller, uint32_t n, uint32_t claim)
{
    const uint32_t seen = caller->flags / SAW;
    return seen >= n && seen >= (claim & LW_SEM_NEED)
               ? (uint8_t)(1 + (claim & LW_SEM_TICKET) / LW_SEM_ONE_TICKET)
               : 0;
}

/* Whether a claimant that goes on moves its ticket. */
static bool renews(const struct caller *caller, const struct operation *operation)
{
    return caller->phase & CLAIMS && operation->a & LW_SEM_NEED &&
           ((operation->a ^ operation->b) & ~LW_SEM_TICKET) == 0;
}

/*
 * Whether a waiter takes a claim over, and did not wait briefly beside it to the end; or there are
 * too few permits by now.
 */
static bool takes_over_too_soon(const struct caller *caller, uint32_t why, uint32_t n,
                                const struct operation *operation)
{
    const uint8_t beside = beside_enough(caller, n, operation->a);
    return operation->a & LW_SEM_NEED && (operation->a ^ operation->b) & LW_SEM_TICKET &&
           (beside == 0 || beside != caller->own[WAITS_BESIDE] || why != LW_SLICE);
}

/* Whether a thread that was not in line claims before those that are. */
static bool overtakes_the_line(const struct state *state, int agent,
                               const struct operation *operation)
{
    const struct agent *a = &state->agents[agent];
    return (operation->a & LW_SEM_LINE) && !(operation->a & LW_SEM_NEED) &&
           (operation->b & LW_SEM_NEED) && !model_is_async(agent, a->caller) &&
           !(a->callers[a->caller].phase & BEHIND);
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    struct caller *c = operator_of(state, agent);
    if (operation->kind == NOTIFY) {
        if (operation->word == LW_SEM_CLAIM && operation->a != 0)
            c->own[WAKES_LINE] = 0;
        return NULL;
    }
    if (c->flags & GAVE)
        return "touches the semaphore after it has released";
    if (operation->word == LW_SEM_GATE)
        return "touches the gate";
    if (operation->word == LW_SEM_CLAIM) {
        const struct agent *a = &state->agents[agent];
        const uint32_t n = model_size(agent, a->caller);
        c->own[SAW_BESIDE] = a->function == ACQUIRE ? beside_enough(c, n, result) : 0;
        if (a->function == BURY)
            c->own[LEFT] =
                ((has_changed(operation, result) ? operation->b : result) & IS_CLAIMED) != 0;
        if (!has_changed(operation, result))
            return NULL;
        if (renews(c, operation))
            return NULL;
        if ((operation->a ^ operation->b) & (LW_SEM_NEED | LW_SEM_TICKET))
            state->ghosts[MARKED] = 0;
        if (a->function == BURY)
            return NULL;
        if (takes_over_too_soon(c, a->why & LW_WHY, n, operation))
            return "takes a claim over too soon";
        return overtakes_the_line(state, agent, operation) ? "overtakes the line" : NULL;
    }
    if (has_changed(operation, result)) {
        const char *wrong = changed(state, agent, operation);
        if (operation->b & LW_SEM_CLAIMED && state->words[LW_SEM_CLAIM] & LW_SEM_NEED)
            state->ghosts[MARKED] = 1;
        else if (c->phase & CLAIMS)
            state->ghosts[MARKED] = 0;
        return wrong;
    }
    if (state->agents[agent].function == ACQUIRE)
        see(c, result);
    const bool too_few = (result & LW_SEM_MAX) < model_size(agent, state->agents[agent].caller);
    const bool is_first = too_few && !(c->flags & SAW_TOO_FEW);
    if (too_few || (!is_try(state->agents[agent].function) && result & KEPT) ||
        (state->agents[agent].function == TAKE && operation->kind == CAS))
        c->flags |= SAW_TOO_FEW;
    return is_first ? sees_too_few(state, agent) : NULL;
}

static const char *acquire_ended(struct state *state, int agent, struct caller *caller, uint32_t n,
                                 lw_answer answer)
{
    const uint32_t what = lw_answer_what(answer);
    const bool took = caller->flags & TOOK;
    const bool saw_too_few = caller->flags & SAW_TOO_FEW;
    caller->flags = took ? HOLDS : 0;
    const uint8_t left = caller->own[LEFT];
    caller->own[LEFT] = caller->own[SAW_BESIDE] = 0;
    if (what == LW_DONE && n != 0 && !took)
        return "says that it has its permits, and has not";
    const uint32_t says = lw_answer_expected(answer);
    if (what == LW_DONE && n != 0)
        return says <= LW_SEM_MAX && (says & 0xff) == left ? NULL
                                                           : "does not know how many it left";
    use_up_round(caller);
    if (took)
        return "gives up with permits in its hand";
    return what == LW_DONE ? NULL
           : saw_too_few || state->agents[agent].why == LW_CANCELLED
               ? wrong_end(state, agent, what)
               : "gives up beside enough permits";
}

static const char *try_ended(struct caller *caller, bool result)
{
    caller->own[LEFT] = 0;
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
    const bool wakes_line = caller->own[WAKES_LINE];
    caller->flags = 0;
    caller->wanted = 0;
    caller->own[WAKES_LINE] = 0;
    use_up_round(caller);
    if (!gave)
        return "has not released";
    if (wakes_line)
        return "wakes nobody in line, although the claimant may be a busy event loop";
    return result == (says_before ? before : 1) ? NULL : "does not know what it released";
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    switch (function) {
    case ACQUIRE:
        return acquire_ended(state, agent, c, model_size(agent, caller), result);
    case TRY_ACQUIRE:
    case LOOK:
    case TAKE:
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
    case BURY: {
        const bool leaves = c->own[LEFT];
        if (!(c->flags & HOLDS))
            use_up_round(c);
        c->flags &= HOLDS;
        c->own[LEFT] = 0;
        state->ghosts[BURIED] |= (uint8_t)(1 << model_agent_of((uint32_t)result));
        return leaves ? "a burial leaves a claim, or its line" : NULL;
    }
    default:
        c->flags &= HOLDS;
        return result != (state->words[LW_SEM_STATE] & LW_SEM_MAX)
                   ? "does not know how many permits there are"
                   : NULL;
    }
}

/*
 * A thread in line waits briefly beside enough permits for the claimant and for itself. Else it
 * re-checks, since the thread before it may have no CPU; but not for ever. An event loop behind a
 * claim waits briefly after a re-check only, which engines make.
 */
static const char *waits(struct state *state, int agent, uint32_t way)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = operator_of(state, agent);
    const bool async = model_is_async(agent, a->caller);
    const bool rechecks = (a->why & LW_WHY) == LW_SLICE;
    const bool briefly = c->own[SAW_BESIDE] && (!async || rechecks);
    const uint32_t right = briefly ? LW_WAIT_BRIEF : async || rechecks ? LW_WAIT_IDLE : LW_WAIT;
    const bool is_behind = c->phase & BEHIND;
    c->own[WAITS_BESIDE] = is_behind && briefly ? c->own[SAW_BESIDE] : 0;
    c->own[SAW_BESIDE] = 0;
    if (!(c->phase & (CLAIMS | BEHIND | WAITS)))
        return "waits at the state, and does not know that later";
    return is_behind && way != right ? "does not wait in line as it should" : NULL;
}

/* Whether the agent sleeps, and would get its permits if it were woken. */
static bool sleeps_beside_permits(const struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    const uint32_t word = state->words[LW_SEM_STATE];
    if (a->doing != ASLEEP || (word & LW_SEM_MAX) < model_size(agent, a->caller))
        return false;
    if (model_size(agent, a->caller) == 0)
        return true;
    /* No claim bars a waiter at the state: it was there before, or it is the claimant. */
    return a->word == LW_SEM_CLAIM ? !(state->words[LW_SEM_CLAIM] & LW_SEM_NEED)
                                   : !(word & LW_SEM_RESERVED);
}

/*
 * While no agent is within a step or about to make one, no thread sleeps beside permits that it
 * could have: those that hold permits may keep them for long. A dead agent may have taken a notify
 * with it, until it is buried. A proof knows one agent, and not what the others do.
 */
static bool is_at_rest(const struct state *state)
{
    if (model_is_one_of_many)
        return false;
    for (int agent = 0; agent < model_agents; agent++) {
        const uint8_t doing = state->agents[agent].doing;
        if (doing == DEAD ? !(state->ghosts[BURIED] & 1 << agent)
                          : doing != IDLE && doing != ASLEEP)
            return false;
    }
    return true;
}

static const char *invariant(const struct state *state)
{
    const uint32_t there = state->words[LW_SEM_STATE] & LW_SEM_MAX;
    if (there + state->ghosts[HELD] != model_configuration->first)
        return "permits are lost, or made from nothing";
    for (int agent = 0; agent < model_agents && is_at_rest(state); agent++) {
        if (sleeps_beside_permits(state, agent))
            return "sleeps beside permits that it could have";
    }
    return NULL;
}

/* A claim is for one waiter: it may belong to a busy event loop. */
static bool was_chosen(const struct state *state, int agent)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (state->agents[agent].callers[caller].phase & CLAIMS)
            return true;
    }
    return false;
}

static bool is_needed(const struct state *state, int agent)
{
    return any_has(state, agent, HOLDS | TOOK);
}

/* No holder, whose permits would be lost, nor the one that buries. */
static bool may_die(const struct state *state, int agent)
{
    return !is_needed(state, agent) && model_letter(agent, 0) != 'r';
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

static uint32_t pledges(const struct state *state)
{
    return (state->words[LW_SEM_STATE] & LW_SEM_RESERVED) != 0;
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    char waiters[24] = "";
    if (word == LW_SEM_STATE)
        describe_waiters(waiters, sizeof waiters, value);
    if (word == LW_SEM_CLAIM)
        snprintf(text, size, "%u #%u%s", value & LW_SEM_NEED,
                 (value & LW_SEM_TICKET) / LW_SEM_ONE_TICKET, value & LW_SEM_LINE ? "+LINE" : "");
    else
        snprintf(text, size, "%u%s%s%s", value & LW_SEM_MAX,
                 value & LW_SEM_CLAIMED ? "+CLAIMED" : "",
                 value & LW_SEM_RESERVED ? "+RESERVED" : "", waiters);
}

#define ANY_END (UNRELIABLE | BRIEFS)

/* As a mutex's waiter: two more than the failed waits before it reserves. */
#define BOUND (MAX_FAILED_WAITS + 2)

/* From small to large: a mutant's first failure is its shortest. */
static const struct configuration configurations[] = {
    {"b,b2", 1, STRAYS, 0, SMALL, LW_SEM_MAX},
    {"a,b", 1, STRAYS, 0, SMALL, 1},
    {"b,b", 1, 0, 0, SMALL, 1},
    {"f,f2", 1, STRAYS, 0, SMALL, LW_SEM_MAX},
    {"B,b", 1, 0, BOUND, SMALL, 1},
    {"A,b", 1, 0, BOUND, SMALL, 1},
    {"A,a2", 1, 0, 1, SMALL, 2},
    {"A,a", 1, 0, BOUND, SMALL, 1},
    {"A,b2", 1, 0, 1, SMALL, 2},
    {"B2,b", 1, 0, BOUND, SMALL, 2},
    {"B,a2", 1, 0, 1, SMALL, 2},
    {"f,b", 2, STRAYS, 0, SMALL, 1},
    {"f,b2", 2, STRAYS, 0, SMALL, 2},
    {"b,b", 2, STRAYS, 0, SMALL, 1},
    {"B,a", 1, 0, BOUND, SMALL, 1},
    {"B,b2", 1, 0, 1, SMALL, 2},
    {"B,b", 1, SLICES, BOUND, SMALL, 1},
    {"B2,b2", 1, 0, 1, SMALL, 2},
    {"B2,a2", 1, 0, 1, SMALL, 2},
    {"A,b,b0", 1, 0, BOUND, SMALL, 1},
    {"b,b,b", 1, CANCELS, 0, SMALL, 1},
    {"ab,b", 1, ANY_END, 0, SMALL, 2},
    {"b3,b,b", 1, 0, 0, SMALL, 3},
    {"b2,b,b", 1, 0, 0, SMALL, 2},
    {"b,f,f", 2, 0, 0, SMALL, 1},
    {"b2,b,b", 1, CANCELS, 0, SMALL, 2},
    {"l,b,b", 2, 0, 0, SMALL, 1},
    {"b2,a,f", 1, SPURIOUS, 0, SMALL, 2},
    {"b,b,b,b", 1, 0, 0, SMALL, 2},
    {"b,b,b", 1, NATIVE, 0, SMALL, 1},
    {"A,A,b2", 1, 0, 2, SMALL, 2},
    {"b,b,b,b", 1, 0, 0, SMALL, 1},
    {"b2,b2,b", 1, CANCELS, 0, SMALL, 2},
    {"b2,b,t,t", 1, BRIEFS, 0, SMALL, 2},
    {"A,B,b2", 1, 0, 2, SMALL, 2},
    {"b3,b,a2", 1, TIMEOUTS | CANCELS, 0, SMALL, 3},
    {"b,b,b", 2, 0, 0, SMALL, 1},
    {"aa3,a2", 1, ANY_END, 0, SMALL, 3},
    {"b,b,t", 2, SPURIOUS, 0, SMALL, 1},
    {"b,b,b", 1, ANY_END, 0, SMALL, 1},
    {"B,B,b2", 1, 0, 2, SMALL, 2},
    {"B,B,b", 1, BY_CHANCE, 10, SMALL, 1},
    {"b,b,b", 1, ANY_END | DEATHS, 0, SMALL, 1},
    {"l,b2,b", 1, NATIVE, 0, SMALL, 2},
    {"a,a", 2, ANY_END, 0, SMALL, 1},
    {"aa2,b", 1, ANY_END, 0, SMALL, 2},
    {"B,B,a2", 1, 0, 2, SMALL, 2},
    {"b3,b,b2", 1, NATIVE, 0, SMALL, 3},
    {"a,b", 2, ANY_END, 0, SMALL, 1},
    {"B,B,a", 1, 0, 3, SMALL, 1},
    {"b,b2,b,b", 1, 0, 0, SMALL, 2},
    {"b3,b,b2", 1, ANY_END, 0, SMALL, 3},
    {"b,b2,b", 1, ANY_END | DEATHS, 0, SMALL, 2},
    {"b2,b2,b2", 1, NATIVE, 0, SMALL, 2},
    {"aa,b", 2, 0, 0, SMALL, 1},
    {"b2,b2,b", 1, ANY_END, 0, SMALL, 2},
    {"p2,b,b", 1, ANY_END, 0, SMALL, 2},
    {"a,b2,a", 1, ANY_END | DEATHS, 0, SMALL, 2},
    {"a2,b,a", 1, ANY_END, 0, SMALL, 2},
    {"b,b,a", 1, ANY_END, 0, SMALL, 1},
    {"aaa,b2", 1, TIMEOUTS | CANCELS | SLICES | BRIEFS, 0, MEDIUM, 2},
    {"b,a,a", 1, ANY_END, 0, SMALL, 1},
    {"b2,b2,tt", 1, BRIEFS, 0, SMALL, 2},
    {"b,b2,b,b", 1, CANCELS, 0, SMALL, 2},
    {"b,b,a", 1, ANY_END | DEATHS, 0, SMALL, 1},
    {"b2,b,b2,b", 1, 0, 0, LARGE, 2},
    {"b2,a2,tt", 1, BRIEFS | CANCELS, 0, SMALL, 2},
    {"b2,a2,tt", 1, BRIEFS | TIMEOUTS, 0, MEDIUM, 2},
    {"b2,b2,b2,b", 1, 0, 0, LARGE, 3},
    {"b,b,r", 1, DEATHS | BURIALS, 0, SMALL, 1},
    {"b2,b,r", 1, BRIEFS | DEATHS | BURIALS, 0, SMALL, 2},
    {"b2,b2,b,r", 1, BRIEFS | DEATHS | BURIALS, 0, SMALL, 2},
    {"a,b2,b,r", 1, BRIEFS | DEATHS | BURIALS, 0, SMALL, 2},
    {"a2,a,r", 1, ANY_END | DEATHS | BURIALS, 0, SMALL, 2},
    {"b2,b2,r", 1, ANY_END | DEATHS | BURIALS, 0, SMALL, 2},
    {"b2,a2,q", 1, BURIALS, 0, SMALL, 2},
    {"b2,a2,q", 1, CANCELS | BURIALS, 0, SMALL, 2},
    {"b2,b2,q", 1, BURIALS, 0, SMALL, 2},
};

static const struct configuration proofs[] = {
    {"b", 0, UNRELIABLE, 0, SMALL, 3},
    {"b,t,f,l", 0, UNRELIABLE | STRAYS, 0, SMALL, 3},
};

static const char *const word_names[] = {"permits", "gate", "claim"};

EXPLORE("sem", LW_SEM_WORDS, .crowd = true, .queues_later = true, .begin = begin,
        .flags_of_a_step = SAW_TOO_FEW | MOST_SEEN * SAW, .was_chosen = was_chosen, .waits = waits,
        .may_die = may_die, .sets_ghosts = 1 << BURIED, .last_phase = SEM_LAST_PHASE,
        .proofs = proofs, .proof_count = COUNT_OF(proofs), .held = held, .held_by_all = held_by_all,
        .is_owed = is_owed, .pledges = pledges)
