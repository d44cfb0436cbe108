/* search.c: see search.h. */
#include "search.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chances.h"
#include "links.h"
#include "memory.h"
#include "symmetry.h"
#include "trace.h"

struct question {
    const char *failure;
    struct reliance reliance;
};

/* One for each set of agents that may be frozen. */
#define MAX_QUESTIONS (1 << MAX_AGENTS)

/* So unlikely is it at most that a bound by chance is exceeded. */
#define UNLIKELY 1e-6

/* In one of so many states, it is checked that agents which are alike are treated so. */
#define CHECK_EVERY 32

/* Agents in a state, one bit each. */
struct standing {
    uint8_t finished, chosen;
};

/* A successor of the current state, which is yet to be looked up. */
struct found {
    struct link link; /* with no number as yet; or TOO_MANY */
    uint32_t hash;
    bool is_same; /* as the current state, with no agents in one another's places */
};

struct exploration {
    struct store store;
    struct standing *standings; /* of each state */
    uint32_t standing_capacity;
    struct chances chances;
    struct links links;
    const struct question *questions;
    int question_count;
    struct found *found;
    unsigned char *packed; /* those that were found */
    uint32_t found_count, found_capacity;
    uint32_t current;
    uint64_t transitions;
    bool asks_for_rest;
    bool any_alike;
    bool failed;
    struct event failure;
};

static bool is_frozen(const struct question *question, int agent)
{
    return question->reliance.frozen >> agent & 1;
}

static struct standing standing_of(const struct state *state)
{
    struct standing standing = {0};
    for (int agent = 0; agent < model_agents; agent++) {
        standing.finished |= (uint8_t)(model_has_finished(state, agent) << agent);
        if (model_primitive->was_chosen)
            standing.chosen |= (uint8_t)(model_primitive->was_chosen(state, agent) << agent);
    }
    return standing;
}

/*
 * States in which the question is answered well: all others have finished, or a frozen event loop
 * was given what others wait for.
 */
static bool is_goal(const struct question *question, struct standing standing)
{
    const unsigned frozen = question->reliance.frozen;
    const unsigned all = (1u << model_agents) - 1;
    return standing.chosen & frozen || (standing.finished | frozen) == all;
}

/*
 * States in which the question is not asked: a frozen event loop is within a step, or others have
 * to wait for it anyway.
 */
static bool is_exempt(const struct question *question, const struct state *state)
{
    for (int agent = 0; agent < model_agents; agent++) {
        if (is_frozen(question, agent) && state->agents[agent].doing != DEAD &&
            (state->agents[agent].doing != IDLE || model_primitive->is_needed(state, agent)))
            return true;
    }
    return false;
}

/* Whether a caller's call has ended, other than in a wait. */
static bool ends_call(const struct event *event)
{
    const struct function *function = &model_primitive->functions[event->function];
    return event->ended && (!function->is_step || lw_answer_what(event->answer) < LW_WAIT);
}

static void discover(void *context, const struct state *next, const struct event *event)
{
    struct exploration *e = context;
    e->transitions++;
    if (e->failed)
        return;
    const bool starves = model_configuration->with & BY_CHANCE && event->error == model_starves;
    if (event->error && !starves) {
        e->failed = true;
        e->failure = *event;
        return;
    }
    if (e->found_count == e->found_capacity) {
        e->found_capacity = e->found_capacity ? e->found_capacity * 2 : 64;
        e->found = reallocate(e->found, e->found_capacity, sizeof *e->found);
        e->packed = reallocate(e->packed, e->found_capacity, e->store.size);
    }
    unsigned char *packed = e->packed + e->found_count * e->store.size;
    struct found *found = &e->found[e->found_count++];
    found->link =
        (struct link){starves ? TOO_MANY : 0, (uint8_t)(event->help & HELP), (uint8_t)event->agent,
                      SAME_PLACES, !(event->help & (SPURIOUS | RECHECK)) && !ends_call(event)};
    if (!starves) {
        found->link.places = symmetry_pack(next, packed);
        found->is_same = found->link.places == SAME_PLACES &&
                         memcmp(packed, store_get(&e->store, e->current), e->store.size) == 0;
        found->hash = store_hash(&e->store, packed);
    }
}

/* Adds the states that were found. */
static void add_found(struct exploration *e)
{
    for (uint32_t i = 0; i < e->found_count; i++)
        store_fetch(&e->store, e->found[i].hash);
    for (uint32_t i = 0; i < e->found_count; i++) {
        struct link *link = &e->found[i].link;
        if (link->to != TOO_MANY)
            link->to = store_add_hashed(&e->store, e->packed + i * e->store.size, e->found[i].hash,
                                        e->current);
        if (model_configuration->with & BY_CHANCE)
            chances_add(&e->chances, e->current, link->to, link->agent);
        if (link->to != TOO_MANY && !e->found[i].is_same)
            links_add(&e->links, *link);
    }
    e->found_count = 0;
}

static uint32_t length_of(const struct store *store, uint32_t state)
{
    uint32_t length = 0;
    for (; state; state = store->parents[state])
        length++;
    return length;
}

/* Marks the states from which the goals of these questions are in reach. */
static void mark_ways(const struct exploration *e, const struct question *questions, int count,
                      frozen_sets *marked)
{
    frozen_sets sets = 0;
    for (int i = 0; i < count; i++) {
        const frozen_sets set = (frozen_sets)(1 << questions[i].reliance.frozen);
        sets |= set;
        for (uint32_t s = 0; s < e->store.count; s++)
            marked[s] |= is_goal(&questions[i], e->standings[s]) ? set : 0;
    }
    links_spread_backwards(&e->links, questions->reliance.help, sets, marked);
}

/* A state from which a question's goals are out of reach. */
struct lost {
    uint32_t state; /* UINT32_MAX: there is none */
    const struct question *question;
};

/*
 * The first one of these questions; best one that is a dead end. Questions whose frozen agents are
 * alike have to be looked at together, since each of these states is stored once.
 */
static struct lost find_lost(const struct exploration *e, const struct question *questions,
                             int count, const frozen_sets *marked)
{
    struct lost first = {UINT32_MAX, NULL};
    struct lost end = first;
    for (uint32_t i = e->store.count * (uint32_t)count; i-- > 0;) {
        const struct lost lost = {i / (uint32_t)count, &questions[i % (uint32_t)count]};
        if (marked[lost.state] >> lost.question->reliance.frozen & 1)
            continue;
        struct state state;
        model_unpack(store_get(&e->store, lost.state), &state);
        if (is_exempt(lost.question, &state))
            continue;
        first = lost;
        if (!links_lead_on(&e->links, lost.question->reliance, lost.state))
            end = lost;
    }
    return end.question ? end : first;
}

static void note_standing(struct exploration *e, const struct state *state)
{
    if (e->current == e->standing_capacity) {
        e->standing_capacity = e->store.capacity;
        e->standings = reallocate(e->standings, e->standing_capacity, sizeof *e->standings);
    }
    e->standings[e->current] = standing_of(state);
}

static void explore(struct exploration *e, struct verdict *verdict, uint32_t most_states)
{
    struct state state;
    unsigned char *packed = allocate(1, e->store.size);
    model_first(&state);
    symmetry_pack(&state, packed);
    store_add(&e->store, packed, 0);
    free(packed);
    for (e->current = 0; e->current < e->store.count; e->current++) {
        model_unpack(store_get(&e->store, e->current), &state);
        note_standing(e, &state);
        links_begin_state(&e->links);
        model_successors(&state, discover, e);
        add_found(e);
        if (e->failed) {
            verdict->error = e->failure.error;
            return;
        }
        if (e->any_alike && e->current % CHECK_EVERY == 0 &&
            !symmetry_holds(&state, e->current / CHECK_EVERY)) {
            verdict->error = "tells agents apart that are alike";
            return;
        }
        if (runs_endless || runs_differ) {
            verdict->error = runs_endless ? "a call does operations without end"
                                          : "what a call does depends on failed attempts";
            return;
        }
        if (e->store.count > most_states) {
            verdict->error = "too many states";
            return;
        }
    }
    links_end(&e->links);
}

/* These questions count on the same help. */
static void ask(struct exploration *e, const struct question *questions, int count,
                struct verdict *verdict, FILE *out)
{
    frozen_sets *marked = allocate(e->store.count, sizeof *marked);
    mark_ways(e, questions, count, marked);
    const struct lost lost = find_lost(e, questions, count, marked);
    if (lost.question) {
        verdict->error = lost.question->failure;
        verdict->trace = length_of(&e->store, lost.state);
        if (out)
            trace_print_end(out, &e->store, lost.state, marked, lost.question->reliance.frozen);
    }
    free(marked);
}

/*
 * The circle that is found from this state on, of those marked, as an array of states; and how many
 * they are. Each is linked to another one.
 */
static uint32_t *find_circle(const struct links *links, const unsigned char *marked, uint32_t state,
                             uint32_t states, uint32_t *length)
{
    uint32_t *path = allocate(states, sizeof *path);
    uint32_t *place = allocate(states, sizeof *place); /* in the path, plus one */
    *length = 0;
    while (place[state] == 0) {
        path[*length] = state;
        place[state] = ++*length;
        size_t i = links->first[state];
        while (!links->all[i].is_motion || !marked[links->all[i].to])
            i++;
        state = links->all[i].to;
    }
    const uint32_t begin = place[state] - 1;
    *length -= begin;
    memmove(path, path + begin, *length * sizeof *path);
    free(place);
    return path;
}

/* Every call ends or waits for good: there is no execution without end in which no call ends. */
static void ask_for_rest(struct exploration *e, struct verdict *verdict, FILE *out)
{
    unsigned char *marked = allocate(e->store.count, 1);
    uint32_t state = 0;
    links_mark_circles(&e->links, marked);
    while (state < e->store.count && !marked[state])
        state++;
    if (state < e->store.count) {
        uint32_t length;
        uint32_t *circle = find_circle(&e->links, marked, state, e->store.count, &length);
        verdict->error = "does not come to rest: somebody polls";
        verdict->trace = length_of(&e->store, circle[0]) + length;
        if (out)
            trace_print_circle(out, &e->store, circle, length);
        free(circle);
    }
    free(marked);
}

/* Where those who stop have not yet begun; where they have done all they had to do. */
static void mark_waiting(const struct state *state, unsigned char *begins, unsigned char *ends)
{
    *begins = *ends = 1;
    for (int agent = 0; agent < model_agents; agent++) {
        const struct caller *c = &state->agents[agent].callers[0];
        if (c->rounds == ENDLESS)
            continue;
        *begins &= state->agents[agent].doing == IDLE && c->wanted == 0 &&
                   c->rounds == model_configuration->rounds;
        *ends &= c->rounds == 0;
    }
}

static void judge_by_chance(struct exploration *e, struct verdict *verdict)
{
    unsigned char *begins = allocate(e->store.count, 1);
    unsigned char *ends = allocate(e->store.count, 1);
    struct state state;
    for (uint32_t s = 0; s < e->store.count; s++) {
        model_unpack(store_get(&e->store, s), &state);
        mark_waiting(&state, &begins[s], &ends[s]);
    }
    verdict->chance = chances_of_too_many(&e->chances, begins, ends, e->store.count);
    if (verdict->chance > UNLIKELY)
        verdict->error = "starves: it loses more turns than the bound allows too often";
    free(begins);
    free(ends);
}

static void search_once(struct exploration *e, struct verdict *verdict, uint32_t most_states,
                        FILE *out)
{
    store_open(&e->store, model_packed_size());
    explore(e, verdict, most_states);
    if (!verdict->error) {
        ask(e, e->questions, 1, verdict, out);
        if (!verdict->error && e->question_count > 1)
            ask(e, e->questions + 1, e->question_count - 1, verdict, out);
        if (!verdict->error && e->asks_for_rest)
            ask_for_rest(e, verdict, out);
        if (!verdict->error && model_configuration->with & BY_CHANCE)
            judge_by_chance(e, verdict);
    } else if (e->failed) {
        verdict->trace = length_of(&e->store, e->current) + 1;
        if (out)
            trace_print_failure(out, &e->store, e->current, e->failure.error);
    }
    verdict->states = e->store.count;
    verdict->transitions = e->transitions;
    links_close(&e->links);
    chances_close(&e->chances);
    free(e->standings);
    free(e->found);
    free(e->packed);
    store_close(&e->store);
}

static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Whether each call has to end or come to rest: no engine polls, and no count is forgotten. */
static bool is_to_rest(void)
{
    bool any_polls = false;
    for (int agent = 0; agent < model_agents; agent++)
        any_polls |= model_polls(agent);
    return !any_polls && !(model_primitive->same_phase && model_configuration->with & SLICES);
}

/* Everyone can finish; and, without what is frozen, the others, for each set of event loops. */
static int choose_questions(struct question *questions)
{
    const bool deaths = model_configuration->with & DEATHS;
    const bool burials = model_configuration->with & BURIALS;
    /* What was reserved for the dead, and what wake they took along. */
    const unsigned heals = (deaths ? BRIEFS : 0) | (deaths && !burials ? SLICES : 0);
    unsigned async = 0;
    bool mixed = false;
    for (int agent = 0; agent < model_agents; agent++) {
        async |= (unsigned)model_has_async(agent) << agent;
        mixed |= model_is_mixed(agent);
    }
    int count = 0;
    questions[count++] =
        (struct question){"not everyone can finish", {heals | (mixed ? BRIEFS : 0), 0}};
    if (model_configuration->most_lost)
        return count;
    for (unsigned frozen = async; frozen; frozen = (frozen - 1) & async)
        questions[count++] = (struct question){"others wait for an event loop that is busy",
                                               {heals | BRIEFS, frozen}};
    return count;
}

struct verdict search(uint32_t most_states, FILE *out)
{
    struct question questions[MAX_QUESTIONS];
    struct verdict verdict = {0};
    const double start = now();
    runs_shorten = true;
    for (;;) {
        struct exploration e = {.questions = questions,
                                .question_count = choose_questions(questions),
                                .asks_for_rest = is_to_rest(),
                                .any_alike = symmetry_begin()};
        verdict = (struct verdict){0};
        search_once(&e, &verdict, most_states, out);
        if (!runs_differ)
            break;
        runs_shorten = false;
        runs_reset(model_primitive->functions, model_primitive->words);
    }
    verdict.seconds = now() - start;
    return verdict;
}
