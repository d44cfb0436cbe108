/* symmetry.c: see symmetry.h. */
#include "symmetry.h"

#include <stddef.h>
#include <string.h>

#include "memory.h"

/* The permutations of agents that are alike. The first one leaves all in their places. */
static permutation group[MAX_RENAMINGS], inverses[MAX_RENAMINGS];
static int group_size;

/* What is found, added up, so that the order in which it comes makes no difference. */
struct tally {
    int number; /* of the permutation */
    uint64_t sum;
};

static bool names_agents(void)
{
    bool any = model_primitive->agents_ghosts || model_primitive->sets_ghosts;
    for (uint32_t word = 0; word < model_primitive->words; word++)
        any |= model_primitive->ids[word] != 0;
    return any;
}

static bool are_alike(int agent, int other)
{
    if (model_callers[agent] != model_callers[other])
        return false;
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (model_letter(agent, caller) != model_letter(other, caller) ||
            model_size(agent, caller) != model_size(other, caller))
            return false;
    }
    return true;
}

static int place_of(permutation places, int agent)
{
    return places >> 2 * agent & 3;
}

/* Whether it is a permutation, and each agent goes to the place of one that is like it. */
static bool is_in_group(unsigned places)
{
    unsigned taken = 0;
    for (int agent = 0; agent < MAX_AGENTS; agent++) {
        const int place = place_of((permutation)places, agent);
        if (agent < model_agents ? place >= model_agents || !are_alike(agent, place)
                                 : place != agent)
            return false;
        taken |= 1u << place;
    }
    return taken == (1u << MAX_AGENTS) - 1;
}

static permutation inverse_of(permutation places)
{
    unsigned inverse = 0;
    for (int agent = 0; agent < MAX_AGENTS; agent++)
        inverse |= (unsigned)agent << 2 * place_of(places, agent);
    return (permutation)inverse;
}

bool symmetry_begin(void)
{
    const bool none =
        model_primitive->fair_word || (names_agents() && !model_primitive->ids_of_call);
    group[0] = inverses[0] = SAME_PLACES;
    group_size = 1;
    for (unsigned places = 0; !none && places <= UINT8_MAX; places++) {
        if (places == SAME_PLACES || !is_in_group(places))
            continue;
        group[group_size] = (permutation)places;
        inverses[group_size++] = inverse_of((permutation)places);
    }
    runs_forget_renamings();
    return group_size > 1;
}

unsigned symmetry_places(permutation places, unsigned agents)
{
    unsigned there = 0;
    if (places == SAME_PLACES)
        return agents;
    for (int agent = 0; agent < MAX_AGENTS; agent++)
        there |= (agents >> agent & 1) << place_of(places, agent);
    return there;
}

static uint32_t rename_id(int number, uint32_t id)
{
    const int agent = model_agent_of(id);
    return agent < 0 ? id : model_id(place_of(group[number], agent));
}

static uint32_t rename_value(int number, uint32_t word, uint32_t value)
{
    const uint32_t bits = model_primitive->ids[word];
    return bits ? (value & ~bits) | rename_id(number, value & bits) : value;
}

static void rename_in(struct agent *agent, int number)
{
    const struct renaming renaming = {number, rename_id, model_primitive->ids_of_call,
                                      model_primitive->ids};
    if (agent->doing == RUNNING)
        agent->value = runs_rename(agent->value, &renaming);
    if (agent->doing == GOING_TO_SLEEP)
        agent->value = rename_value(number, agent->word, agent->value);
    for (int caller = 0; caller < MAX_CALLERS; caller++) {
        struct caller *c = &agent->callers[caller];
        if (c->wanted && model_primitive->ids_of_call(c->function) & 1)
            c->wanted = rename_id(number, c->wanted);
    }
}

/* All but the agents. */
static void permute_words(const struct state *state, int number, struct state *other)
{
    memcpy(other, state, offsetof(struct state, agents));
    for (uint32_t word = 0; word < model_primitive->words; word++)
        other->words[word] = rename_value(number, word, state->words[word]);
    for (int ghost = 0; ghost < MAX_GHOSTS; ghost++) {
        if (model_primitive->agents_ghosts >> ghost & 1 && state->ghosts[ghost])
            other->ghosts[ghost] = (uint8_t)(place_of(group[number], state->ghosts[ghost] - 1) + 1);
        if (model_primitive->sets_ghosts >> ghost & 1)
            other->ghosts[ghost] = (uint8_t)symmetry_places(group[number], state->ghosts[ghost]);
    }
}

static void permute_agent(const struct state *state, int number, int place, struct state *other)
{
    other->agents[place] = state->agents[place_of(inverses[number], place)];
    if (model_primitive->ids_of_call)
        rename_in(&other->agents[place], number);
}

static struct state permute(const struct state *state, int number)
{
    struct state other = *state;
    permute_words(state, number, &other);
    for (int place = 0; place < model_agents; place++)
        permute_agent(state, number, place, &other);
    return other;
}

/* Permutes the state, and returns whether it is less; or returns as soon as it is not. */
static bool permute_if_less(const struct state *state, int number, const struct state *than,
                            struct state *other)
{
    permute_words(state, number, other);
    int order = memcmp(other, than, offsetof(struct state, places));
    for (int place = 0; order <= 0 && place < model_agents; place++) {
        permute_agent(state, number, place, other);
        if (order == 0)
            order = memcmp(&other->agents[place], &than->agents[place], sizeof *other->agents);
    }
    return order < 0;
}

permutation symmetry_pack(const struct state *state, unsigned char *packed)
{
    struct state others[2];
    const struct state *least = state;
    int number = 0;
    for (int i = 1; i < group_size; i++) {
        struct state *other = &others[least == others];
        if (permute_if_less(state, i, least, other)) {
            least = other;
            number = i;
        }
    }
    model_pack(least, packed);
    return group[number];
}

static void count(void *context, const struct state *next, const struct event *event)
{
    struct tally *tally = context;
    const struct state state = permute(next, tally->number);
    unsigned char packed[sizeof state];
    const uint64_t what[] = {(uint64_t)place_of(group[tally->number], event->agent),
                             (uint64_t)event->kind,
                             event->help,
                             event->ended,
                             event->function,
                             (uintptr_t)event->error};
    model_pack(&state, packed);
    tally->sum += hash_bytes(packed, model_packed_size(), hash_bytes(what, sizeof what, 0));
}

static uint64_t sum_of(const struct state *state, int number)
{
    struct tally tally = {number, 0};
    model_successors(state, count, &tally);
    for (int agent = 0; agent < model_agents; agent++) {
        const bool what[] = {
            model_has_finished(state, agent), model_primitive->is_needed(state, agent),
            model_primitive->was_chosen && model_primitive->was_chosen(state, agent)};
        tally.sum += hash_bytes(what, sizeof what, (uint64_t)place_of(group[number], agent));
    }
    return tally.sum;
}

bool symmetry_holds(const struct state *state, uint32_t number)
{
    const int which = (int)(number % (uint32_t)group_size);
    const struct state other = permute(state, which);
    return sum_of(state, which) == sum_of(&other, 0);
}
