/*
 * successors.c: everything that can happen next. The drivers, src/blocking.c and
 * js/src/{line,turn,crowd,condition}.js, as a model.
 */
#include <string.h>

#include "places.h"

bool model_is_one_of_many;

struct scene {
    emit *emit;
    void *context;
    const struct state *before;
};

static unsigned with(unsigned kinds)
{
    return model_configuration->with & kinds;
}

static void emit_event(const struct scene *scene, const struct state *next, struct event event)
{
    if (!event.error)
        event.error = model_primitive->invariant(next);
    scene->emit(scene->context, next, &event);
}

/* Nothing of a finished handler stays in the state, or equal states would look different. */
static void become_idle(struct agent *agent)
{
    agent->doing = IDLE;
    agent->value = 0;
    agent->function = agent->why = agent->caller = agent->word = agent->way = 0;
}

static void will_call(struct agent *agent, int caller, uint32_t function, uint32_t why)
{
    become_idle(agent);
    agent->doing = CALLING;
    agent->caller = (uint8_t)caller;
    agent->function = (uint8_t)function;
    agent->why = (uint8_t)why;
}

static void call_head(struct agent *agent, uint32_t why)
{
    will_call(agent, agent->line[0], agent->callers[agent->line[0]].function, why);
}

/*
 * Crowd: returns whether what both steps return depends on the words alone, so that if one has to
 * wait, so has the other.
 */
static bool are_alike(const struct caller *a, const struct caller *b)
{
    return a->function == b->function && a->wanted == b->wanted && a->phase == b->phase;
}

/* Crowd: which of these callers are like this one, one bit each. */
static uint8_t alike_among(const struct agent *agent, int caller, uint8_t callers)
{
    uint8_t alike = 0;
    for (int other = 0; other < MAX_CALLERS; other++) {
        if (other != caller && callers >> other & 1 &&
            are_alike(&agent->callers[caller], &agent->callers[other]))
            alike |= (uint8_t)(1 << other);
    }
    return alike;
}

/* Crowd: the callers in line that are like this one, if it came first. */
static uint8_t alike_behind(const struct agent *agent, int caller)
{
    uint8_t before = 0;
    uint8_t behind = 0;
    for (int i = 0; i < agent->in_line; i++) {
        uint8_t *side = memchr(agent->line, caller, (size_t)i + 1) ? &behind : &before;
        *side |= (uint8_t)(1 << agent->line[i]);
    }
    return alike_among(agent, caller, before) ? 0 : alike_among(agent, caller, behind);
}

/*
 * Crowd: the next caller in line whose step is still to run in this handler. If there is none, the
 * handler ends.
 */
static void call_next_of_crowd(struct agent *agent)
{
    agent->alike = 0;
    for (int i = 0; i < agent->in_line; i++) {
        const int caller = agent->line[i];
        if (agent->to_run >> caller & 1) {
            agent->to_run &= (uint8_t) ~(1 << caller);
            agent->alike = alike_among(agent, caller, agent->to_run);
            will_call(agent, caller, agent->callers[caller].function, agent->to_run_why);
            return;
        }
    }
    agent->to_run = agent->to_run_why = 0;
    agent->handing &= (uint8_t) ~(SERVED | IS_NEW);
}

static void call_crowd(struct agent *agent, uint32_t why)
{
    for (int i = 0; i < agent->in_line; i++)
        agent->to_run |= (uint8_t)(1 << agent->line[i]);
    agent->to_run_why = (uint8_t)why;
    call_next_of_crowd(agent);
}

static void call_line(struct agent *agent, uint32_t why)
{
    if (model_primitive->crowd)
        call_crowd(agent, why);
    else
        call_head(agent, why);
}

static const char *end_call(struct state *state, int agent, int caller, uint32_t function,
                            uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    c->phase = 0;
    c->lost = 0;
    c->function = 0;
    const char *error = model_primitive->ended(state, agent, caller, function, result);
    c->flags &= (uint8_t) ~(HAS_WAITED | OVERTAKEN);
    if (model_primitive->functions[function].is_step)
        c->wanted = 0;
    return error;
}

static void leave_line(struct agent *agent, int caller)
{
    int kept = 0;
    for (int i = 0; i < agent->in_line; i++) {
        if (agent->line[i] != caller)
            agent->line[kept++] = agent->line[i];
    }
    agent->in_line = (uint8_t)kept;
    agent->in_brief &= (uint8_t) ~(1 << caller);
    memset(agent->line + kept, 0, (size_t)(MAX_CALLERS - kept));
}

const char model_starves[] = "starves: it has lost more turns than the bound allows";

/* A caller that has returned from a wait and finds that it was overtaken has lost a turn. */
static const char *count_lost_turn(struct caller *caller, uint32_t why)
{
    const uint8_t most = model_configuration->most_lost;
    const bool lost = caller->flags & OVERTAKEN && why != LW_START;
    caller->flags &= (uint8_t)~OVERTAKEN;
    if (!lost || most == 0 || caller->rounds == ENDLESS)
        return NULL;
    return ++caller->lost > most ? model_starves : NULL;
}

static const struct function *function_of(const struct agent *agent)
{
    return &model_primitive->functions[agent->function];
}

static bool is_fair(uint32_t word)
{
    return model_primitive->fair_word == word + 1 && !model_is_one_of_many;
}

/* Which of these kinds of help a wait of this function may get. */
static unsigned help_for(uint32_t function, unsigned kinds)
{
    const bool is_known = model_primitive->functions[function].is_known;
    return with(kinds) & (!is_known ? HELP : with(DEATHS) ? SLICES | BRIEFS : 0);
}

/* A step has answered. */
static const char *answered(struct state *state, int agent, uint64_t answer)
{
    struct agent *a = &state->agents[agent];
    const int caller = a->caller;
    const uint32_t function = a->function;
    const bool in_line = model_is_async(agent, caller) && !function_of(a)->stands_alone;
    const uint32_t first_word = function_of(a)->first_word;
    const uint32_t why = a->why;
    const bool last_try = lw_gives_up(why);
    const uint32_t what = lw_answer_what(answer);
    const bool goes_on = what >= LW_WAIT && what != LW_RETRY;
    const uint16_t before = a->callers[caller].phase;
    const uint16_t phase = (uint16_t)lw_answer_phase(answer);
    a->callers[caller].phase =
        model_primitive->same_phase ? model_primitive->same_phase(phase) : phase;
    if (a->callers[caller].phase > model_primitive->last_phase)
        return "counts on beyond its last phase";
    if (what >= LW_WAIT)
        a->callers[caller].flags &= (uint8_t)~model_primitive->flags_of_a_step;
    if (goes_on && last_try)
        return "would go on although its time is up";
    const char *error =
        goes_on && model_primitive->resumed ? model_primitive->resumed(before, why, phase) : NULL;
    if (error)
        return error;
    switch (what) {
    case LW_WAIT:
    case LW_WAIT_IDLE:
    case LW_WAIT_BRIEF:
        error = model_primitive->waits ? model_primitive->waits(state, agent, what) : NULL;
        if (error)
            return error;
        become_idle(a);
        if (!in_line) {
            a->doing = GOING_TO_SLEEP;
            a->caller = (uint8_t)caller;
            a->function = (uint8_t)function;
            a->word = (uint8_t)(first_word + lw_answer_word(answer));
            a->value = lw_answer_expected(answer);
            a->way = (uint8_t)what;
            if (a->word >= model_primitive->words)
                return "would wait for a word that there is not";
        } else {
            a->in_brief |= (uint8_t)((what == LW_WAIT_BRIEF) << caller);
            a->to_run &= (uint8_t)~a->alike;
            if (model_primitive->crowd)
                call_next_of_crowd(a);
        }
        return count_lost_turn(&a->callers[caller], why);
    case LW_QUEUE:
        if (!in_line)
            return "asks to queue, and has no line to stand in";
        if (a->pending != NOT_QUEUED)
            return "asks to be queued twice";
        become_idle(a);
        if (a->handing & (SERVED | IS_NEW | IS_TO_TURN | HAS_GIVEN) && model_primitive->crowd) {
            a->handing |= IS_TO_TURN;
            a->to_run &= (uint8_t)~a->alike;
            call_next_of_crowd(a);
            return count_lost_turn(&a->callers[caller], why);
        }
        a->doing = ARMING;
        a->caller = (uint8_t)caller;
        a->function = (uint8_t)function;
        a->word = (uint8_t)(first_word + lw_answer_word(answer));
        if (a->word >= model_primitive->words)
            return "would queue at a word that there is not";
        return NULL;
    case LW_RETRY:
        will_call(a, caller, function, why);
        return NULL;
    case LW_DONE:
    case LW_GAVE_UP:
    case LW_DEADLOCK:
    case LW_OVERFLOW:
    case LW_NOT_OWNER:
        error = end_call(state, agent, caller, function, answer);
        places_abandon(state, agent, caller);
        become_idle(a);
        if (in_line) {
            leave_line(a, caller);
            /* A caller that gives up has also waited for the callers behind it. */
            if (last_try)
                a->to_run = a->alike;
            else if (what == LW_DONE && model_primitive->crowd)
                a->handing |= SERVED;
            if (model_primitive->crowd)
                call_next_of_crowd(a);
            else if (a->in_line && what == LW_DONE)
                a->handing |= IS_TO_TURN;
            else if (a->in_line)
                call_head(a, LW_START);
        }
        return error;
    default:
        return "answers what means nothing";
    }
}

static const char *returned(struct state *state, int agent, run_id run)
{
    struct agent *a = &state->agents[agent];
    const uint32_t function = runs_function(run);
    const uint64_t result = runs_next(run)->result;
    if (model_primitive->functions[function].is_step)
        return answered(state, agent, result);
    const char *error = end_call(state, agent, a->caller, function, result);
    become_idle(a);
    if (model_primitive->functions[function].gives_back && a->in_line &&
        (result || !model_primitive->functions[function].answers_bool))
        a->handing |= DUE | HAS_GIVEN;
    return error;
}

/*
 * It is about to sleep on the word that it has just read or changed, but not while that stays as it
 * is.
 */
static bool is_blind(const struct agent *agent, const struct operation *last, const uint32_t *words)
{
    return agent->doing == GOING_TO_SLEEP && (last->kind == LOAD || last->kind == CAS) &&
           last->word == agent->word && words[agent->word] != agent->value;
}

/* The run's operation was done on `next`, with this result. */
static void go_on(const struct scene *scene, struct state *next, run_id run, uint32_t result,
                  struct event event)
{
    const struct operation operation = *runs_next(run);
    const run_id to = runs_advance(run, result);
    struct agent *a = &next->agents[event.agent];
    event.operation = operation;
    event.run = run + 1;
    event.result = result;
    event.error = model_primitive->operated(next, event.agent, &operation, result);
    a->doing = RUNNING;
    a->value = to;
    if (runs_next(to)->kind == RETURNED) {
        event.ended = true;
        event.answer = runs_next(to)->result;
        const char *error = returned(next, event.agent, to);
        event.error = event.error ? event.error : error;
        if (!event.error && is_blind(a, &operation, next->words))
            event.error = "would wait for a value that it has just seen gone";
    }
    emit_event(scene, next, event);
}

static bool sleeps_on(const struct agent *agent, uint32_t word)
{
    return agent->doing == ASLEEP && agent->word == word;
}

static bool is_queued_at(const struct agent *agent, uint32_t word)
{
    return agent->doing != DEAD && agent->pending == QUEUED && agent->pending_word == word;
}

/* Bit i: agent i sleeps on the word. Bit i + MAX_AGENTS: it is queued there. */
static uint32_t waiters_of(const struct state *state, uint32_t word)
{
    uint32_t waiters = 0;
    for (int i = 0; i < model_agents; i++) {
        if (sleeps_on(&state->agents[i], word))
            waiters |= 1u << i;
        if (is_queued_at(&state->agents[i], word) && !model_polls(i))
            waiters |= 1u << (i + MAX_AGENTS);
    }
    return waiters;
}

static void wake(struct state *state, uint32_t woken)
{
    for (int i = 0; i < model_agents; i++) {
        struct agent *agent = &state->agents[i];
        if (woken >> i & 1)
            will_call(agent, agent->caller, agent->function, LW_OK);
        if (woken >> (i + MAX_AGENTS) & 1)
            agent->pending = NOTIFIED;
    }
}

static uint32_t count_bits(uint32_t bits)
{
    uint32_t count = 0;
    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

bool model_waits_at(const struct state *state, int agent, uint32_t word)
{
    return waiters_of(state, word) >> agent & (1u | 1u << MAX_AGENTS);
}

void model_wake_at(struct state *state, int agent, uint32_t word)
{
    wake(state, waiters_of(state, word) & (1u << agent | 1u << (agent + MAX_AGENTS)));
}

/* How many others a notify may have woken, as far as a step could tell apart. */
static uint32_t most_others(uint32_t n, uint32_t count)
{
    return !model_is_one_of_many ? 0 : n == LW_ALL ? 2 : n - count;
}

/* These waiters are woken, and so many others. */
static void notify_these(const struct scene *scene, const struct state *state, run_id run,
                         struct event event, uint32_t others)
{
    struct state next = *state;
    wake(&next, event.woken);
    go_on(scene, &next, run, count_bits(event.woken) + others, event);
}

/* Every choice of the agents that are woken. */
static void notify(const struct scene *scene, const struct state *state, run_id run,
                   struct event event)
{
    const uint32_t n = runs_next(run)->a;
    const uint32_t waiters = waiters_of(state, runs_next(run)->word);
    for (uint32_t woken = waiters;; woken = (woken - 1) & waiters) {
        const uint32_t count = count_bits(woken);
        event.woken = woken;
        for (uint32_t others = 0; count <= n && others <= most_others(n, count); others++) {
            if (woken == waiters || count + others == n)
                notify_these(scene, state, run, event, others);
        }
        if (woken == 0)
            return;
    }
}

/*
 * The fair word: wakes the agents that came first, and returns how many. Sets a bit of `woken` for
 * each.
 */
static uint32_t wake_in_order(struct state *state, uint32_t most, uint32_t *woken)
{
    uint32_t count = 0;
    for (int agent, caller; count < most && (agent = places_first(state, &caller)) >= 0; count++) {
        struct agent *a = &state->agents[agent];
        if (caller != NOBODY && !model_is_async(agent, caller)) {
            places_remove(state, agent, caller);
            will_call(a, caller, a->function, LW_OK);
            *woken |= 1u << agent;
        } else if (caller == NOBODY) {
            places_remove(state, agent, NOBODY);
        } else {
            places_tell(state, agent, caller);
            *woken |= 1u << (agent + MAX_AGENTS);
        }
    }
    return count;
}

static void notify_in_order(const struct scene *scene, const struct state *state, run_id run,
                            struct event event)
{
    struct state next = *state;
    const uint32_t count = wake_in_order(&next, runs_next(run)->a, &event.woken);
    go_on(scene, &next, run, count, event);
}

/* Does the run's next operation, in every way that it can go. */
static void operate(const struct scene *scene, const struct state *state, run_id run,
                    struct event event)
{
    struct state next = *state;
    const struct operation operation = *runs_next(run);
    event.kind = OPERATES;
    event.function = runs_function(run);
    if (operation.kind != RETURNED && operation.word >= model_primitive->words) {
        event.operation = operation;
        event.error = "touches what is not one of its words";
        emit_event(scene, &next, event);
        return;
    }
    switch (operation.kind) {
    case LOAD:
        go_on(scene, &next, run, next.words[operation.word], event);
        return;
    case CAS: {
        const uint32_t old = next.words[operation.word];
        if (old == operation.a)
            next.words[operation.word] = operation.b;
        go_on(scene, &next, run, old, event);
        return;
    }
    case STORE:
        next.words[operation.word] = operation.a;
        go_on(scene, &next, run, operation.a, event);
        return;
    case NOTIFY:
        if (is_fair(operation.word))
            notify_in_order(scene, state, run, event);
        else
            notify(scene, state, run, event);
        return;
    default:
        event.kind = RETURNS_AT_ONCE;
        event.ended = true;
        event.answer = operation.result;
        event.error = returned(&next, event.agent, run);
        emit_event(scene, &next, event);
    }
}

/* Calls the step that the agent is about to call, up to and with its first operation. */
static void call_step(const struct scene *scene, struct state *state, struct event event)
{
    struct agent *a = &state->agents[event.agent];
    struct caller *caller = &a->callers[a->caller];
    uint32_t why = a->why;
    a->in_brief &= (uint8_t) ~(1 << a->caller);
    event.caller = a->caller;
    event.starts_call = true;
    if (why >= LW_OK && why <= LW_SLICE)
        caller->flags |= HAS_WAITED;
    if (model_is_async(event.agent, a->caller) && !function_of(a)->stands_alone)
        why |= LW_ASYNC | (a->pending != NOT_QUEUED ? (uint32_t)LW_QUEUED : 0);
    if (function_of(a)->stands_alone && lw_gives_up(why) &&
        places_of(state, event.agent, a->caller))
        why |= LW_QUEUED;
    event.why = why;
    operate(scene, state, runs_begin(a->function, caller->wanted, why, caller->phase), event);
}

static struct event event_of(int agent)
{
    return (struct event){.agent = agent, .caller = -1};
}

static void call_with(const struct scene *scene, int agent, int caller, uint32_t function,
                      uint32_t why, unsigned help)
{
    struct state next = *scene->before;
    struct agent *a = &next.agents[agent];
    will_call(a, caller, function, why);
    if (model_primitive->crowd && lw_gives_up(why) && model_is_in_line(a, caller))
        a->alike = alike_behind(a, caller);
    struct event event = event_of(agent);
    event.help = help;
    call_step(scene, &next, event);
}

/* A caller begins a call of its program. */
static void start(const struct scene *scene, int agent, int caller, struct choice choice)
{
    struct state next = *scene->before;
    struct agent *a = &next.agents[agent];
    struct event event = event_of(agent);
    event.caller = caller;
    if (!model_primitive->functions[choice.function].is_step) {
        will_call(a, caller, choice.function, LW_START);
        event.starts_call = true;
        operate(scene, &next, runs_begin(choice.function, choice.a, choice.b, choice.c), event);
        return;
    }
    will_call(a, caller, choice.function, choice.b);
    a->callers[caller].function = (uint8_t)choice.function;
    a->callers[caller].wanted = choice.a;
    if (model_is_async(agent, caller) && !function_of(a)->stands_alone) {
        a->line[a->in_line++] = (uint8_t)caller;
        const bool is_head = a->in_line == 1;
        if (model_primitive->queues_later)
            a->handing |= IS_NEW;
        /* In a crowd: behind those that have handed over until the event loop has to turn. */
        const bool may_stand = model_primitive->crowd
                                   ? !is_head && a->handing & (IS_TO_TURN | HAS_GIVEN)
                                   : !is_head || model_primitive->is_needed(scene->before, agent);
        if (may_stand) {
            struct state standing = next;
            struct event stands = event;
            become_idle(&standing.agents[agent]);
            standing.agents[agent].handing &= (uint8_t)~IS_NEW;
            standing.agents[agent].handing |= is_head || model_primitive->crowd ? IS_TO_TURN : 0;
            stands.kind = STANDS_IN_LINE;
            emit_event(scene, &standing, stands);
        }
        /*
         * While its agent holds the lock, js/src/worker-mutex.js calls the head's step
         * nevertheless.
         */
        if (!model_primitive->crowd && !is_head)
            return;
    }
    call_step(scene, &next, event);
}

/*
 * The pending wait ends: with LW_OK if it was notified, with LW_NOT_EQUAL if it is a poll that
 * looks again.
 */
static void fire(const struct scene *scene, int agent, uint32_t why)
{
    struct state next = *scene->before;
    struct agent *a = &next.agents[agent];
    struct event event = event_of(agent);
    a->pending = NOT_QUEUED;
    a->pending_word = 0;
    if (a->in_line) {
        call_line(a, why);
        call_step(scene, &next, event);
    } else {
        event.kind = LET_GO;
        emit_event(scene, &next, event);
    }
}

/* A re-check, or a brief wait's timer: the pending wait goes on, and a notify may still end it. */
static void look_again(const struct scene *scene, int agent, unsigned help)
{
    struct state next = *scene->before;
    struct event event = event_of(agent);
    event.help = help;
    call_line(&next.agents[agent], LW_SLICE);
    call_step(scene, &next, event);
}

/* No caller needs the pending wait any more. A notify ends it, and all other waits at the word. */
static void flush(const struct scene *scene, int agent)
{
    struct state next = *scene->before;
    struct event event = event_of(agent);
    event.kind = LET_GO;
    event.help = SLICES | RECHECK;
    event.operation = (struct operation){NOTIFY, next.agents[agent].pending_word, LW_ALL, 0, 0};
    event.woken = waiters_of(&next, event.operation.word);
    wake(&next, event.woken);
    emit_event(scene, &next, event);
}

/*
 * The head's step is run, or those of the crowd: by the microtask that hands over, or after a turn
 * of the event loop.
 */
static void run_line(const struct scene *scene, int agent, uint8_t reason)
{
    struct state next = *scene->before;
    struct agent *a = &next.agents[agent];
    struct event event = event_of(agent);
    a->handing &= (uint8_t)~reason;
    if (reason == IS_TO_TURN)
        a->handing &= (uint8_t)~HAS_GIVEN;
    if (a->in_line == 0) {
        event.kind = LET_GO;
        emit_event(scene, &next, event);
        return;
    }
    if (reason == DUE)
        a->handing |= IS_TO_TURN;
    call_line(a, LW_START);
    call_step(scene, &next, event);
}

/* No step runs: the callers are told of a notify, as all that wait are, or try after a turn. */
static void run_nothing(const struct scene *scene, int agent, uint8_t reason)
{
    struct state next = *scene->before;
    struct event event = event_of(agent);
    event.kind = LET_GO;
    next.agents[agent].handing &= (uint8_t)~reason;
    emit_event(scene, &next, event);
}

/* A caller that is not the head leaves the line, which has no effect on others. */
static void leave(const struct scene *scene, int agent, int caller, unsigned help)
{
    struct state next = *scene->before;
    struct event event = event_of(agent);
    event.kind = LEAVES_LINE;
    event.caller = caller;
    event.help = help;
    leave_line(&next.agents[agent], caller);
    event.error =
        end_call(&next, agent, caller, next.agents[agent].callers[caller].function, LW_GAVE_UP);
    emit_event(scene, &next, event);
}

/* The wait of an async caller that stands alone ends for this reason. */
static void end_place(const struct scene *scene, int agent, int caller, uint32_t why, unsigned help)
{
    struct state next = *scene->before;
    struct agent *a = &next.agents[agent];
    struct event event = event_of(agent);
    event.help = help;
    places_remove(&next, agent, caller);
    will_call(a, caller, a->callers[caller].function, why);
    call_step(scene, &next, event);
}

static void tell_for_no_reason(const struct scene *scene, int agent, int caller)
{
    struct state next = *scene->before;
    struct event event = event_of(agent);
    event.kind = WAKES;
    event.caller = caller;
    event.why = LW_OK;
    event.help = SPURIOUS;
    places_tell(&next, agent, caller);
    emit_event(scene, &next, event);
}

/* What may become of the wait of an async caller that stands alone. */
static void wait_alone(const struct scene *scene, int agent, int caller)
{
    const enum place place = places_of(scene->before, agent, caller);
    for (unsigned help = TIMEOUTS; help <= CANCELS; help <<= 1) {
        if (with(help))
            call_with(scene, agent, caller, scene->before->agents[agent].callers[caller].function,
                      help == TIMEOUTS ? LW_TIMED_OUT : LW_CANCELLED, help);
    }
    if (place == PLACE_TOLD)
        end_place(scene, agent, caller, LW_OK, 0);
    if (place == PLACE_TIMER)
        end_place(scene, agent, caller, LW_NOT_EQUAL, 0);
    /* A re-check that finds that others were notified: it leaves the wait behind. */
    const struct caller *c = &scene->before->agents[agent].callers[caller];
    if (place == PLACE_WAITS && with(SLICES) &&
        scene->before->words[model_primitive->fair_word - 1] != c->wanted)
        call_with(scene, agent, caller, c->function, LW_TIMED_OUT, SLICES | RECHECK);
    if (place == PLACE_WAITS && with(SPURIOUS))
        tell_for_no_reason(scene, agent, caller);
}

/* The fair word: a notify ends a wait that was left behind, and all others. */
static void flush_places(const struct scene *scene, int agent)
{
    struct state next = *scene->before;
    struct event event = event_of(agent);
    event.kind = LET_GO;
    event.help = SLICES | RECHECK;
    if (with(SLICES) && places_remove_one(&next, agent, NOBODY, PLACE_WAITS)) {
        wake_in_order(&next, LW_ALL, &event.woken);
        emit_event(scene, &next, event);
    }
}

static void idle(const struct scene *scene, int agent)
{
    const struct agent *a = &scene->before->agents[agent];
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (places_of(scene->before, agent, caller)) {
            wait_alone(scene, agent, caller);
            continue;
        }
        if (model_is_in_line(a, caller))
            continue;
        struct choice choices[MAX_CHOICES];
        const int count = model_primitive->choices(scene->before, agent, caller, choices);
        for (int i = 0; i < count; i++)
            start(scene, agent, caller, choices[i]);
    }
    if (a->handing & DUE) {
        run_line(scene, agent, DUE);
        /* There is no microtask if other agents wait, or these have handed over for long enough. */
        run_nothing(scene, agent, DUE);
        return;
    }
    if (a->handing & IS_TO_TURN)
        run_line(scene, agent, IS_TO_TURN);
    else if (a->handing & HAS_GIVEN)
        run_nothing(scene, agent, HAS_GIVEN); /* the event loop has turned */
    flush_places(scene, agent);
    for (int i = 0; i < a->in_line; i++) {
        for (unsigned help = TIMEOUTS; help <= CANCELS; help <<= 1) {
            if (!help_for(a->callers[a->line[i]].function, help))
                continue;
            if (i == 0 || model_primitive->crowd)
                call_with(scene, agent, a->line[i], a->callers[a->line[i]].function,
                          help == TIMEOUTS ? LW_TIMED_OUT : LW_CANCELLED, help);
            else
                leave(scene, agent, a->line[i], help);
        }
    }
    const unsigned help = a->in_line ? help_for(a->callers[a->line[0]].function, HELP) : with(HELP);
    if (a->in_brief && help & BRIEFS)
        look_again(scene, agent, BRIEFS);
    if (a->pending == NOTIFIED)
        fire(scene, agent, LW_OK);
    /* Of an engine that polls: the timer of a brief wait, after which the caller waited again. */
    if (a->pending == QUEUED && help & SLICES) {
        if (a->in_line)
            look_again(scene, agent, SLICES | RECHECK);
        else if (!model_polls(agent))
            flush(scene, agent);
    }
    if (a->pending == QUEUED && model_polls(agent))
        fire(scene, agent, LW_NOT_EQUAL);
    if (a->pending == QUEUED && help & SPURIOUS && !model_polls(agent)) {
        struct state next = *scene->before;
        struct event event = event_of(agent);
        event.kind = WAKES;
        event.why = LW_OK;
        event.help = SPURIOUS;
        next.agents[agent].pending = NOTIFIED;
        emit_event(scene, &next, event);
    }
}

/* The wait ends, for this reason. */
static void wake_up(const struct scene *scene, int agent, uint32_t why, unsigned help)
{
    struct state next = *scene->before;
    struct agent *a = &next.agents[agent];
    struct event event = event_of(agent);
    event.kind = WAKES;
    event.caller = a->caller;
    event.why = why;
    event.help = help;
    if (is_fair(a->word))
        places_remove(&next, agent, a->caller);
    will_call(a, a->caller, a->function, why);
    emit_event(scene, &next, event);
}

/*
 * A thread compares and sleeps; an async caller that stands alone compares and queues, or looks
 * again later.
 */
static void sleep_or_not(const struct scene *scene, int agent)
{
    struct state next = *scene->before;
    struct agent *a = &next.agents[agent];
    struct event event = event_of(agent);
    const int caller = a->caller;
    const bool async = model_is_async(agent, caller);
    const bool sleeps = next.words[a->word] == a->value && !(async && model_polls(agent));
    event.caller = caller;
    event.operation = (struct operation){LOAD, a->word, a->value, 0, 0};
    event.kind = !sleeps ? DOES_NOT_SLEEP : async ? ARMS : FALLS_ASLEEP;
    if (is_fair(a->word) && (sleeps || async))
        event.error = places_add(&next, agent, caller, sleeps ? PLACE_WAITS : PLACE_TIMER);
    if (async) {
        become_idle(a);
    } else if (sleeps) {
        a->doing = ASLEEP;
        a->value = 0;
    } else {
        will_call(a, caller, a->function, LW_NOT_EQUAL);
    }
    emit_event(scene, &next, event);
}

static void asleep(const struct scene *scene, int agent)
{
    const struct agent *a = &scene->before->agents[agent];
    const unsigned help = help_for(a->function, HELP);
    if (help & SPURIOUS) {
        wake_up(scene, agent, LW_OK, SPURIOUS);
        wake_up(scene, agent, LW_NOT_EQUAL, SPURIOUS);
    }
    if (help & TIMEOUTS)
        wake_up(scene, agent, LW_TIMED_OUT, TIMEOUTS);
    if (help & CANCELS)
        wake_up(scene, agent, LW_CANCELLED, CANCELS);
    if (help & SLICES && a->way != LW_WAIT_BRIEF)
        wake_up(scene, agent, LW_SLICE, a->way == LW_WAIT ? SLICES : SLICES | RECHECK);
    if (help & BRIEFS && a->way == LW_WAIT_BRIEF)
        wake_up(scene, agent, LW_SLICE, BRIEFS);
}

static void arm(const struct scene *scene, int agent)
{
    struct state next = *scene->before;
    struct agent *a = &next.agents[agent];
    struct event event = event_of(agent);
    event.kind = ARMS;
    event.caller = a->caller;
    event.operation.word = a->word;
    if (next.words[a->word] != 0)
        event.error = "queues at a word that is not 0";
    a->pending = QUEUED;
    a->pending_word = a->word;
    will_call(a, a->caller, a->function, LW_AGAIN);
    emit_event(scene, &next, event);
}

static void die(const struct scene *scene, int agent)
{
    struct state next = *scene->before;
    struct event event = event_of(agent);
    event.kind = DIES;
    event.help = DEATHS;
    places_remove_agent(&next, agent);
    memset(&next.agents[agent], 0, sizeof next.agents[agent]);
    next.agents[agent].doing = DEAD;
    for (int caller = 0; model_is_one_of_many && caller < model_callers[agent]; caller++)
        next.agents[agent].callers[caller].rounds = ENDLESS;
    next.deaths += !model_is_one_of_many;
    emit_event(scene, &next, event);
}

/*
 * In a proof, what an agent does that buries another one is the last that the dead one does: it
 * depends on nothing but the dead one's id. Afterwards another agent may have this id.
 */
static void be_buried(const struct scene *scene, int agent)
{
    if (model_is_one_of_many && with(BURIALS))
        start(scene, agent, 0,
              (struct choice){.function = (uint8_t)(model_primitive->burial - 1),
                              .a = model_id(agent)});
}

/* In a proof any agent may, since it will be buried; and so may the one that buries it. */
static bool may_die(const struct state *state, int agent)
{
    if (model_is_one_of_many)
        return with(BURIALS);
    return model_primitive->may_die ? model_primitive->may_die(state, agent)
                                    : !model_primitive->is_needed(state, agent);
}

void model_moves(const struct state *state, int agent, emit *emit, void *context)
{
    const struct scene scene = {emit, context, state};
    const uint8_t most_deaths = model_primitive->most_deaths ? model_primitive->most_deaths : 1;
    const struct agent *a = &state->agents[agent];
    switch (a->doing) {
    case IDLE:
        idle(&scene, agent);
        break;
    case CALLING:
        call_with(&scene, agent, a->caller, a->function, a->why, 0);
        if (a->why == LW_OK && help_for(a->function, CANCELS) && !model_is_async(agent, a->caller))
            wake_up(&scene, agent, LW_CANCELLED, CANCELS);
        break;
    case RUNNING: {
        struct event event = event_of(agent);
        event.caller = a->caller;
        operate(&scene, state, a->value, event);
        break;
    }
    case ARMING:
        arm(&scene, agent);
        break;
    case GOING_TO_SLEEP:
        sleep_or_not(&scene, agent);
        /* src/blocking.c runs the lw_cancel's step after this one, and before the sleep. */
        if (help_for(a->function, CANCELS) && !model_is_async(agent, a->caller))
            wake_up(&scene, agent, LW_CANCELLED, CANCELS);
        break;
    case ASLEEP:
        asleep(&scene, agent);
        break;
    case DEAD:
        be_buried(&scene, agent);
        return;
    }
    if (with(DEATHS) && state->deaths < most_deaths && may_die(state, agent))
        die(&scene, agent);
}

void model_successors(const struct state *state, emit *emit, void *context)
{
    for (int agent = 0; agent < model_agents; agent++)
        model_moves(state, agent, emit, context);
}
