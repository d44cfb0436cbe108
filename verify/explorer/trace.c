/* trace.c: see trace.h. */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "symmetry.h"

static const char *const WHY[] = {"START", "OK",    "NOT_EQUAL", "TIMED_OUT",
                                  "SLICE", "AGAIN", "?",         "CANCELLED"};
static const char *const WHAT[] = {"DONE", "GAVE_UP",   "DEADLOCK",   "OVERFLOW", "NOT_OWNER",
                                   "WAIT", "WAIT_IDLE", "WAIT_BRIEF", "QUEUE",    "RETRY"};

/*
 * The way to a state. Of those that are alike, states are stored with any one in the place of
 * another (symmetry.h). Here each has its own name all the way.
 */
struct way {
    const struct store *store;
    struct state state;          /* on the way */
    unsigned char *packed;       /* what it may lead to */
    const unsigned char *wanted; /* as it is stored; NULL: */
    const char *error;           /* what goes wrong next */
    bool found;
    struct step {
        struct state state;
        struct event event;
        permutation places; /* where its agents are as it is stored */
    } next;
};

static void compare(void *context, const struct state *next, const struct event *event)
{
    struct way *way = context;
    if (way->found || event->error != way->error)
        return;
    if (way->wanted) {
        way->next.places = symmetry_pack(next, way->packed);
    }
    if (!way->wanted || memcmp(way->packed, way->wanted, way->store->size) == 0) {
        way->found = true;
        way->next.state = *next;
        way->next.event = *event;
    }
}

static void print_name(FILE *out, int agent, int caller)
{
    char name[16];
    if (caller >= 0 && model_callers[agent] > 1)
        snprintf(name, sizeof name, "%s.%d", model_name(agent), caller + 1);
    else
        snprintf(name, sizeof name, "%s", model_name(agent));
    fprintf(out, "%-5s", name);
}

static const char *word_name(uint32_t word)
{
    return word < model_primitive->words ? model_primitive->word_names[word] : "?";
}

void trace_print_value(FILE *out, uint32_t word, uint32_t value)
{
    char text[80];
    model_primitive->describe_word(text, sizeof text, word, value);
    fputs(text, out);
}

static void print_woken(FILE *out, uint32_t woken)
{
    if (!woken)
        fputs("nobody", out);
    for (int i = 0; i < model_agents; i++) {
        if (woken >> i & 1)
            fprintf(out, "%s wakes", model_name(i));
        if (woken >> (i + MAX_AGENTS) & 1)
            fprintf(out, "%s will be told", model_name(i));
    }
}

static void print_operation(FILE *out, const struct event *event)
{
    const struct operation *o = &event->operation;
    const char *word = word_name(o->word);
    switch (o->kind) {
    case LOAD:
        fprintf(out, "load %s: ", word);
        trace_print_value(out, o->word, event->result);
        break;
    case STORE:
        fprintf(out, "store %s: ", word);
        trace_print_value(out, o->word, o->a);
        break;
    case CAS:
        fprintf(out, "cas %s: ", word);
        trace_print_value(out, o->word, o->a);
        fputs(" → ", out);
        trace_print_value(out, o->word, o->b);
        if (event->result == o->a) {
            fputs("  ok", out);
        } else {
            fputs("  fails: ", out);
            trace_print_value(out, o->word, event->result);
        }
        break;
    default:
        fprintf(out, "notify %s, %u: ", word, o->a);
        print_woken(out, event->woken);
    }
}

static void print_call(FILE *out, const struct event *event)
{
    const struct function *f = &model_primitive->functions[event->function];
    char call[48];
    if (!event->starts_call)
        snprintf(call, sizeof call, "  …");
    else if (f->is_step)
        snprintf(call, sizeof call, "%s(%s%s)", f->label, WHY[event->why & LW_WHY],
                 event->why & LW_QUEUED ? ", queued" : "");
    else
        snprintf(call, sizeof call, "%s()", f->label);
    fprintf(out, event->starts_call ? "%-24s" : "%-26s",
            call); /* '…' is three bytes and one column */
}

static void print_answer(FILE *out, const struct event *event)
{
    const struct function *f = &model_primitive->functions[event->function];
    if (f->is_step) {
        const uint32_t what = lw_answer_what(event->answer);
        fprintf(out, "  ⇒ %s", what <= LW_RETRY ? WHAT[what] : "?");
    } else if (f->answers_bool) {
        fprintf(out, "  ⇒ %s", event->answer ? "true" : "false");
    }
}

void trace_print_event(FILE *out, const struct event *event)
{
    print_name(out, event->agent, event->caller);
    switch (event->kind) {
    case OPERATES:
        print_call(out, event);
        print_operation(out, event);
        break;
    case RETURNS_AT_ONCE:
        print_call(out, event);
        break;
    case FALLS_ASLEEP:
        fprintf(out, "falls asleep on %s: ", word_name(event->operation.word));
        trace_print_value(out, event->operation.word, event->operation.a);
        break;
    case DOES_NOT_SLEEP:
        fprintf(out, "does not sleep: %s is no longer ", word_name(event->operation.word));
        trace_print_value(out, event->operation.word, event->operation.a);
        break;
    case ARMS:
        fprintf(out, "is now queued at %s", word_name(event->operation.word));
        break;
    case STANDS_IN_LINE:
        fputs("stands in line", out);
        break;
    case LEAVES_LINE:
        fputs("leaves the line", out);
        break;
    case LET_GO:
        fputs("nobody needs what it waited for, or was about to do", out);
        if (event->woken) {
            fputs(": ", out);
            print_woken(out, event->woken);
        }
        break;
    case WAKES:
        fprintf(out, "its wait ends: %s", WHY[event->why]);
        break;
    case DIES:
        fputs("dies", out);
        break;
    }
    if (event->ended)
        print_answer(out, event);
    if (event->help & HELP)
        fputs("   (help)", out);
    fputc('\n', out);
}

/* The way goes on to a stored state, or to what goes wrong. */
static const struct step *go_on(struct way *way, const unsigned char *wanted, const char *error)
{
    way->wanted = wanted;
    way->error = error;
    way->found = false;
    model_successors(&way->state, compare, way);
    way->state = way->next.state;
    return &way->next;
}

/* Goes from the first state to this one. Returns the steps. */
static struct step *find_way(struct way *way, const struct store *store, const uint32_t *path,
                             uint32_t length)
{
    struct step *steps = allocate(length + 1, sizeof *steps);
    way->store = store;
    way->packed = allocate(1, store->size);
    model_unpack(store_get(store, 0), &way->state);
    steps[0].places = SAME_PLACES;
    for (uint32_t i = 1; i <= length; i++)
        steps[i] = *go_on(way, store_get(store, path[i]), NULL);
    return steps;
}

/* Those who will be in these places after the last step, by the names that they have on the way. */
static unsigned by_name(const struct step *last, unsigned agents)
{
    unsigned named = 0;
    for (int agent = 0; agent < model_agents; agent++) {
        if (symmetry_places(last->places, 1u << agent) & agents)
            named |= 1u << agent;
    }
    return named;
}

/* Returns how many transitions lead there. */
static uint32_t print_way(FILE *out, struct way *way, const struct store *store, uint32_t state,
                          const frozen_sets *marked, unsigned frozen)
{
    uint32_t length = 0;
    for (uint32_t s = state; s; s = store->parents[s])
        length++;
    uint32_t *path = allocate(length + 1, sizeof *path);
    for (uint32_t s = state, i = length; s; s = store->parents[s])
        path[i--] = s;
    struct step *steps = find_way(way, store, path, length);
    const unsigned named = by_name(&steps[length], frozen);
    bool told = false;
    for (uint32_t i = 1; i <= length; i++) {
        fprintf(out, "%5u  ", i);
        trace_print_event(out, &steps[i].event);
        if (marked && !(marked[path[i]] >> symmetry_places(steps[i].places, named) & 1) && !told) {
            told = true;
            if (i < length)
                fprintf(out, "       --- too late from here on ---\n");
        }
    }
    free(steps);
    free(path);
    return length;
}

void trace_print_failure(FILE *out, const struct store *store, uint32_t state, const char *error)
{
    struct way way;
    fprintf(out, "%5u  ", print_way(out, &way, store, state, NULL, 0) + 1);
    trace_print_event(out, &go_on(&way, NULL, error)->event);
    fprintf(out, "       !!! %s\n", error);
    free(way.packed);
}

void trace_print_circle(FILE *out, const struct store *store, const uint32_t *circle,
                        uint32_t length)
{
    struct way way;
    print_way(out, &way, store, circle[0], NULL, 0);
    const struct state first = way.state;
    fprintf(out, "       --- and then, again and again: ---\n");
    for (uint32_t i = 0; i < length; i++) {
        fprintf(out, "       ");
        trace_print_event(out,
                          &go_on(&way, store_get(store, circle[(i + 1) % length]), NULL)->event);
    }
    if (memcmp(&first, &way.state, sizeof first) != 0)
        fprintf(out, "       --- each time with agents in one another's places ---\n");
    free(way.packed);
}

static void explain(FILE *out, const struct state *state)
{
    static const char *const DOING[] = {
        "in no call",     "about to go on", "within a call", "about to queue",
        "about to sleep", "asleep",         "dead"};
    fputs("       Then:", out);
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        fprintf(out, " %s is ", word_name(word));
        trace_print_value(out, word, state->words[word]);
        fputc(';', out);
    }
    for (int agent = 0; agent < model_agents; agent++) {
        const struct agent *a = &state->agents[agent];
        fputc(' ', out);
        fprintf(out, "%s ", model_name(agent));
        fputs(model_has_finished(state, agent) ? "has finished" : DOING[a->doing], out);
        if (a->in_line)
            fprintf(out, ", %d in line", a->in_line);
        if (a->pending)
            fputs(a->pending == QUEUED ? ", queued" : ", to be told of a notify", out);
        fputc(agent + 1 < model_agents ? ';' : '.', out);
    }
    fputc('\n', out);
}

void trace_print_end(FILE *out, const struct store *store, uint32_t state,
                     const frozen_sets *marked, unsigned frozen)
{
    struct way way;
    print_way(out, &way, store, state, marked, frozen);
    explain(out, &way.state);
    free(way.packed);
}
