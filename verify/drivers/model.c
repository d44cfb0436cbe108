/* model.c: prints the rows (drivers.h) that the explorer's model of the drivers allows. */
#include "drivers.h"

#include "../callers.h"
#include "../explorer/store.h"

#include <stdlib.h>

/* Caller b blocks, a and p are async; p's engine polls. Caller E tells the step what to return. */
enum { STEP_AS_TOLD, TELL, TELL_AND_NOTIFY };

/* A caller's own bytes: its last call, plus one, and what this returned. */
enum { LAST_WHY, LAST_WHAT };

/* A caller's own flag: it has slept since then, or tried to. */
enum { HAS_SLEPT = FIRST_OWN_FLAG };

static lw_answer step(lw_word *words, uint32_t wanted, uint32_t why, lw_phase phase)
{
    (void)wanted;
    return answer_as_told(lw_load(&words[WORD], lw_relaxed), why, phase);
}

static uint32_t tell(lw_word *words, uint32_t what, bool notifies)
{
    lw_store(&words[WORD], what, lw_relaxed);
    return notifies ? lw_notify(&words[WORD], LW_ALL) + lw_notify(&words[GATE], LW_ALL) : 0;
}

CALL(tell_it, tell(words, a, false))
CALL(tell_and_notify, tell(words, a, true))

static const struct function functions[] = {
    [STEP_AS_TOLD] = STEP("step", "step", step),
    [TELL] = FUNCTION("tell", "tell", 1, tell_it),
    [TELL_AND_NOTIFY] = FUNCTION("tell", "tell and notify", 1, tell_and_notify),
};

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    if (model_letter(agent, caller) != 'E') {
        /* In the crowd no two callers are alike: each runs its own step. */
        choices[0] = (struct choice){.function = STEP_AS_TOLD, .a = (uint32_t)caller + 1};
        return state->agents[agent].callers[caller].rounds > 0;
    }
    int count = 0;
    for (uint32_t i = 0; i < TOLD; i++) {
        if (told[i] != state->words[WORD])
            choices[count++] = (struct choice){.function = TELL, .a = told[i]};
    }
    choices[count++] = (struct choice){.function = TELL_AND_NOTIFY, .a = state->words[WORD]};
    return count;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    const struct agent *a = &state->agents[agent];
    if (a->function != STEP_AS_TOLD || operation->kind != LOAD)
        return NULL;
    struct caller *c = operator_of(state, agent);
    c->flags &= (uint8_t)~HAS_SLEPT;
    uint32_t why = a->why;
    if (model_is_async(agent, a->caller))
        why |= LW_ASYNC | (a->pending != NOT_QUEUED ? (uint32_t)LW_QUEUED : 0);
    c->own[LAST_WHY] = (uint8_t)(why + 1);
    c->own[LAST_WHAT] = (uint8_t)lw_answer_what(answer_as_told(result, why, c->phase));
    return NULL;
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    (void)function, (void)result;
    use_up_round(&state->agents[agent].callers[caller]);
    return NULL;
}

static const char *invariant(const struct state *state)
{
    (void)state;
    return NULL;
}

static bool is_needed(const struct state *state, int agent)
{
    (void)state, (void)agent;
    return false;
}

struct search {
    const char *driver;
    const struct state *state;
    struct store store;
    uint32_t number;
    bool rechecks;
};

static void found(void *context, const struct state *next, const struct event *event)
{
    struct search *search = context;
    if (!search->rechecks && event->help & RECHECK)
        return;
    if (event->error) {
        fprintf(stderr, "%s: %s\n", search->driver, event->error);
        exit(1);
    }
    const bool calls = event->starts_call && event->function == STEP_AS_TOLD;
    if (calls || event->kind == LEAVES_LINE) {
        const struct caller *c = &search->state->agents[event->agent].callers[event->caller];
        print_row(search->driver, c->own[LAST_WHY] - 1u,
                  c->own[LAST_WHAT] | (c->flags & HAS_SLEPT ? WAITED : 0),
                  calls ? event->why : NO_CALL);
    }
    struct state after = *next;
    if (event->kind == FALLS_ASLEEP || event->kind == DOES_NOT_SLEEP)
        after.agents[event->agent].callers[event->caller].flags |= HAS_SLEPT;
    unsigned char packed[sizeof after];
    model_pack(&after, packed);
    store_add(&search->store, packed, search->number);
}

/* The drivers, and what may happen to them. */
static const struct {
    const char *name;
    bool crowd;
    bool queues_later;
    bool rechecks; /* the waits of an engine do not last for ever */
    struct configuration configuration;
} drivers[] = {
    {"src/blocking.c", false, false, false, {"b,E", 1, ANYTHING, 0, SMALL, 0}},
    {"js/src/blocking.js", false, false, true, {"b,E", 1, ANYTHING & ~CANCELS, 0, SMALL, 0}},
    {"js/src/turn.js", false, false, true, {"aa,E", 1, ANYTHING, 0, SMALL, 0}},
    {"js/src/turn.js, polling", false, false, true, {"pp,E", 1, ANYTHING, 0, SMALL, 0}},
    {"js/src/crowd.js", true, false, true, {"aa,E", 1, ANYTHING, 0, SMALL, 0}},
    {"js/src/crowd.js, polling", true, false, true, {"pp,E", 1, ANYTHING, 0, SMALL, 0}},
    {"js/src/crowd.js, later", true, true, true, {"aa,E", 1, ANYTHING, 0, SMALL, 0}},
    {"js/src/crowd.js, later, polling", true, true, true, {"pp,E", 1, ANYTHING, 0, SMALL, 0}},
};

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(drivers); i++) {
        const struct primitive primitive = {
            .name = "driver",
            .words = WORDS,
            .functions = functions,
            .function_count = COUNT_OF(functions),
            .crowd = drivers[i].crowd,
            .queues_later = drivers[i].queues_later,
            .last_phase = 3,
            .choices = choices,
            .operated = operated,
            .ended = ended,
            .invariant = invariant,
            .is_needed = is_needed,
        };
        struct state state;
        unsigned char packed[sizeof state];
        struct search search = {
            .driver = drivers[i].name, .state = &state, .rechecks = drivers[i].rechecks};
        model_use(&primitive, &drivers[i].configuration);
        runs_reset(functions, WORDS);
        store_open(&search.store, model_packed_size());
        model_first(&state);
        model_pack(&state, packed);
        store_add(&search.store, packed, 0);
        for (; search.number < search.store.count; search.number++) {
            model_unpack(store_get(&search.store, search.number), &state);
            model_successors(&state, found, &search);
        }
        fprintf(stderr, "%s: %u states\n", search.driver, search.store.count);
        store_close(&search.store);
    }
    return 0;
}
