/* search.c: see search.h. */
#include "search.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chances.h"
#include "links.h"
#include "memory.h"
#include "trace.h"

struct question {
    const char *failure;
    struct reliance reliance;
};

/* One for each set of agents that may be frozen. */
#define MAX_QUESTIONS (1 << MAX_AGENTS)

/* So unlikely is it at most that a bound by chance is exceeded. */
#define UNLIKELY 1e-6

struct exploration {
    struct store store;
    struct chances chances;
    struct links links;
    const struct question *questions;
    int question_count;
    unsigned char *packed;
    uint32_t current;
    uint64_t transitions;
    bool asks_for_rest;
    struct links
        motion; /* what can happen natively and for a reason, other than that a call ends */
    bool failed;
    struct event failure;
};

static bool is_frozen(const struct question *question, int agent)
{
    return question->reliance.frozen >> agent & 1;
}

/* A frozen event loop was given what others wait for. */
static bool was_chosen(const struct question *question, const struct state *state)
{
    for (int agent = 0; agent < model_agents && model_primitive->was_chosen; agent++) {
        if (is_frozen(question, agent) && model_primitive->was_chosen(state, agent))
            return true;
    }
    return false;
}

/* States in which the question is answered well. */
static bool is_goal(const struct question *question, const struct state *state)
{
    if (was_chosen(question, state))
        return true;
    for (int agent = 0; agent < model_agents; agent++) {
        if (!is_frozen(question, agent) && !model_has_finished(state, agent))
            return false;
    }
    return true;
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
    const bool by_chance = model_configuration->with & BY_CHANCE;
    if (by_chance && event->error == model_starves) {
        chances_add(&e->chances, e->current, TOO_MANY, event->agent);
        return;
    }
    if (event->error) {
        e->failed = true;
        e->failure = *event;
        return;
    }
    model_pack(next, e->packed);
    const uint32_t number = store_add(&e->store, e->packed, e->current);
    if (by_chance)
        chances_add(&e->chances, e->current, number, event->agent);
    if (number == e->current)
        return;
    links_add(&e->links, (struct link){e->current, number, (uint16_t)(event->help & HELP),
                                       (uint16_t)event->agent});
    if (e->asks_for_rest && !(event->help & (SPURIOUS | RECHECK)) && !ends_call(event))
        links_add(&e->motion, (struct link){.from = e->current, .to = number});
}

static uint32_t length_of(const struct store *store, uint32_t state)
{
    uint32_t length = 0;
    for (; state; state = store->parents[state])
        length++;
    return length;
}

/*
 * The first state from which the question's goals are out of reach; best one that is a dead end.
 * UINT32_MAX: none.
 */
static uint32_t find_lost(const struct exploration *e, const struct question *question,
                          unsigned char *lost)
{
    const uint32_t states = e->store.count;
    unsigned char *marked = allocate(states, 1);
    unsigned char *ends = allocate(states, 1);
    struct state state;
    for (uint32_t s = 0; s < states; s++) {
        model_unpack(store_get(&e->store, s), &state);
        marked[s] = is_goal(question, &state);
    }
    links_spread_backwards(&e->links, question->reliance, marked, states);
    links_mark_ends(&e->links, question->reliance, ends, states);
    uint32_t first = UINT32_MAX, end = UINT32_MAX;
    for (uint32_t s = states; s-- > 0;) {
        lost[s] = !marked[s];
        if (marked[s])
            continue;
        model_unpack(store_get(&e->store, s), &state);
        if (is_exempt(question, &state))
            continue;
        first = s;
        if (ends[s])
            end = s;
    }
    free(marked);
    free(ends);
    return end != UINT32_MAX ? end : first;
}

static void explore(struct exploration *e, struct verdict *verdict, uint32_t most_states)
{
    struct state state;
    model_first(&state);
    model_pack(&state, e->packed);
    store_add(&e->store, e->packed, 0);
    for (e->current = 0; e->current < e->store.count; e->current++) {
        model_unpack(store_get(&e->store, e->current), &state);
        model_successors(&state, discover, e);
        if (e->failed) {
            verdict->error = e->failure.error;
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
}

static void ask(struct exploration *e, struct verdict *verdict, FILE *out)
{
    unsigned char *lost = allocate(e->store.count, 1);
    links_sort(&e->links, e->store.count);
    for (int i = 0; i < e->question_count && !verdict->error; i++) {
        const uint32_t state = find_lost(e, &e->questions[i], lost);
        if (state == UINT32_MAX)
            continue;
        verdict->error = e->questions[i].failure;
        verdict->trace = length_of(&e->store, state);
        if (out) {
            trace_print(out, &e->store, state, NULL, lost);
            trace_explain(out, store_get(&e->store, state));
        }
    }
    free(lost);
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
        size_t i = 0;
        while (links->all[i].from != state || !marked[links->all[i].to])
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
    links_sort(&e->motion, e->store.count);
    links_mark_circles(&e->motion, marked, e->store.count);
    while (state < e->store.count && !marked[state])
        state++;
    if (state < e->store.count) {
        uint32_t length;
        uint32_t *circle = find_circle(&e->motion, marked, state, e->store.count, &length);
        verdict->error = "does not come to rest: somebody polls";
        verdict->trace = length_of(&e->store, circle[0]) + length;
        if (out) {
            trace_print(out, &e->store, circle[0], NULL, NULL);
            trace_print_circle(out, &e->store, circle, length);
        }
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
    e->packed = allocate(1, e->store.size);
    explore(e, verdict, most_states);
    if (!verdict->error) {
        ask(e, verdict, out);
        if (!verdict->error && e->asks_for_rest)
            ask_for_rest(e, verdict, out);
        if (!verdict->error && model_configuration->with & BY_CHANCE)
            judge_by_chance(e, verdict);
    } else if (e->failed) {
        verdict->trace = length_of(&e->store, e->current) + 1;
        if (out)
            trace_print(out, &e->store, e->current, &e->failure, NULL);
    }
    verdict->states = e->store.count;
    verdict->transitions = e->transitions;
    links_close(&e->links);
    links_close(&e->motion);
    chances_close(&e->chances);
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
                                .asks_for_rest = is_to_rest()};
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
