/* model.c: the agents and callers of a configuration, and how a state is stored. */
#include "places.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

const struct primitive *model_primitive;
const struct configuration *model_configuration;
int model_agents;
int model_callers[MAX_AGENTS];

static char letters[MAX_AGENTS][MAX_CALLERS];
static uint8_t sizes[MAX_AGENTS][MAX_CALLERS];
static char names[MAX_AGENTS][3];
static bool are_async[MAX_AGENTS][MAX_CALLERS];
static bool have_async[MAX_AGENTS], poll[MAX_AGENTS];

static void add_caller(int agent, char letter)
{
    const int caller = model_callers[agent]++;
    letters[agent][caller] = letter;
    sizes[agent][caller] = 1;
}

void model_use(const struct primitive *primitive, const struct configuration *configuration)
{
    model_primitive = primitive;
    model_configuration = configuration;
    model_agents = 1;
    memset(model_callers, 0, sizeof model_callers);
    for (const char *c = configuration->agents; *c; c++) {
        if (*c == ',')
            model_agents++;
        else if (isdigit((unsigned char)*c))
            sizes[model_agents - 1][model_callers[model_agents - 1] - 1] = (uint8_t)(*c - '0');
        else
            add_caller(model_agents - 1, *c);
    }
    const char *async = primitive->async_letters ? primitive->async_letters : "aAp";
    for (int agent = 0; agent < model_agents; agent++) {
        have_async[agent] = poll[agent] = false;
        for (int caller = 0; caller < model_callers[agent]; caller++) {
            const char letter = letters[agent][caller];
            are_async[agent][caller] = strchr(async, letter) != NULL;
            have_async[agent] |= are_async[agent][caller];
            poll[agent] |= letter == 'p';
        }
        names[agent][0] =
            model_is_mixed(agent) ? 'M' : (char)toupper((unsigned char)letters[agent][0]);
        names[agent][1] = (char)('1' + agent);
    }
}

const char *model_name(int agent)
{
    return names[agent];
}

char model_letter(int agent, int caller)
{
    return letters[agent][caller];
}

uint32_t model_size(int agent, int caller)
{
    return sizes[agent][caller];
}

bool model_is_async(int agent, int caller)
{
    return are_async[agent][caller];
}

bool model_polls(int agent)
{
    return poll[agent];
}

bool model_has_async(int agent)
{
    return have_async[agent];
}

bool model_is_mixed(int agent)
{
    bool blocks = false;
    for (int caller = 0; caller < model_callers[agent]; caller++)
        blocks |= !model_is_async(agent, caller);
    return blocks && model_has_async(agent);
}

/*
 * As in life: a JavaScript agent's id has bit 28 set, a thread's is small. In the prover agents of
 * all kinds are one another's others, and an id that is odd could hide a bit that does not belong.
 */
uint32_t model_id(int agent)
{
    if (model_is_one_of_many)
        return (uint32_t)agent + 2;
    return (uint32_t)(agent + 1) | (model_has_async(agent) ? 1u << 28 : 0);
}

int model_agent_of(uint32_t id)
{
    for (int agent = 0; agent < model_agents; agent++) {
        if (model_id(agent) == id)
            return agent;
    }
    return -1;
}

bool model_is_in_line(const struct agent *agent, int caller)
{
    return memchr(agent->line, caller, agent->in_line) != NULL;
}

void model_first(struct state *state)
{
    memset(state, 0, sizeof *state);
    for (int agent = 0; agent < model_agents; agent++) {
        for (int caller = 0; caller < model_callers[agent]; caller++)
            state->agents[agent].callers[caller].rounds =
                isupper((unsigned char)letters[agent][caller]) ? ENDLESS
                                                               : model_configuration->rounds;
    }
    if (model_primitive->begin)
        model_primitive->begin(state);
}

static bool may_wait(const struct state *state, int agent, int caller)
{
    return model_primitive->may_wait && model_primitive->may_wait(state, agent, caller);
}

static bool will_call_again(const struct state *state, int agent, int caller)
{
    struct choice unused[MAX_CHOICES];
    return state->agents[agent].callers[caller].rounds != ENDLESS &&
           model_primitive->choices(state, agent, caller, unused) > 0;
}

bool model_has_finished(const struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    if (a->doing == DEAD)
        return true;
    if (a->doing != IDLE && a->doing != ASLEEP)
        return false;
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        const bool waits = model_is_in_line(a, caller) || places_of(state, agent, caller) ||
                           (a->doing == ASLEEP && a->caller == caller);
        if (waits ? !may_wait(state, agent, caller) : will_call_again(state, agent, caller))
            return false;
    }
    return true;
}

/*
 * Copies all that is used between the state and its packed form, in the direction that `copy` has.
 */
static inline size_t transfer(struct state *state, unsigned char *packed,
                              void copy(void *part, unsigned char *packed, size_t size))
{
    size_t size = 0;
    copy(state->words, packed, model_primitive->words * sizeof *state->words);
    size += model_primitive->words * sizeof *state->words;
    copy(state->ghosts, packed + size, MAX_GHOSTS + 1);
    size += MAX_GHOSTS + 1;
    if (model_primitive->fair_word) {
        copy(state->places, packed + size, MAX_PLACES);
        size += MAX_PLACES;
    }
    for (int agent = 0; agent < model_agents; agent++) {
        const size_t used =
            offsetof(struct agent, callers) + (size_t)model_callers[agent] * sizeof(struct caller);
        copy(&state->agents[agent], packed + size, used);
        size += used;
    }
    return size;
}

_Static_assert(offsetof(struct state, deaths) == offsetof(struct state, ghosts) + MAX_GHOSTS,
               "packed with the ghosts");

static void put(void *part, unsigned char *packed, size_t size)
{
    memcpy(packed, part, size);
}

static void get(void *part, unsigned char *packed, size_t size)
{
    memcpy(part, packed, size);
}

static void skip(void *part, unsigned char *packed, size_t size)
{
    (void)part;
    (void)packed;
    (void)size;
}

size_t model_packed_size(void)
{
    struct state state;
    return transfer(&state, (unsigned char *)&state, skip);
}

void model_pack(const struct state *state, unsigned char *packed)
{
    transfer((struct state *)state, packed, put);
}

void model_unpack(const unsigned char *packed, struct state *state)
{
    memset(state, 0, sizeof *state);
    transfer(state, (unsigned char *)packed, get);
}
