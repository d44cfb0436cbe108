/* symmetry.c: see symmetry.h. */
#include "symmetry.h"

#include <string.h>

#include "memory.h"

/* Of each agent: the last one before it that is like it, or -1; and its record in packed states. */
static int previous[MAX_AGENTS];
static size_t records[MAX_AGENTS], sizes[MAX_AGENTS];

/* What is found, added up, so that the order in which it comes makes no difference. */
struct tally {
    permutation places;
    uint64_t sum;
};

static bool names_agents(void)
{
    bool any = model_primitive->agents_ghosts || model_primitive->fair_word;
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

bool symmetry_begin(void)
{
    const bool none = names_agents();
    bool any = false;
    for (int agent = 0; agent < model_agents; agent++) {
        previous[agent] = none ? -1 : agent - 1;
        while (previous[agent] >= 0 && !are_alike(agent, previous[agent]))
            previous[agent]--;
        any |= previous[agent] >= 0;
        records[agent] = model_packed_agent(agent);
        sizes[agent] = model_packed_agent(agent + 1) - records[agent];
    }
    return any;
}

static void exchange(int *order, int place, int other)
{
    const int agent = order[place];
    order[place] = order[other];
    order[other] = agent;
}

static int place_of(permutation places, int agent)
{
    return places >> 2 * agent & 3;
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

/* The permutation whose inverse has the agents in this order. */
static permutation inverse_of(const int *order)
{
    unsigned places = 0;
    for (int place = 0; place < MAX_AGENTS; place++)
        places |= (unsigned)place << 2 * order[place];
    return (permutation)places;
}

permutation symmetry_sort(unsigned char *packed)
{
    unsigned char record[sizeof(struct agent)];
    int order[MAX_AGENTS] = {0, 1, 2, 3};
    for (int agent = 1; agent < model_agents; agent++) {
        int place = agent;
        for (int other = previous[agent]; other >= 0; other = previous[other]) {
            unsigned char *here = packed + records[place];
            unsigned char *there = packed + records[other];
            if (memcmp(there, here, sizes[agent]) <= 0)
                break;
            memcpy(record, there, sizes[agent]);
            memcpy(there, here, sizes[agent]);
            memcpy(here, record, sizes[agent]);
            exchange(order, place, other);
            place = other;
        }
    }
    return inverse_of(order);
}

static struct state permute(const struct state *state, permutation places)
{
    struct state other = *state;
    for (int agent = 0; agent < model_agents; agent++)
        other.agents[place_of(places, agent)] = state->agents[agent];
    return other;
}

static void count(void *context, const struct state *next, const struct event *event)
{
    struct tally *tally = context;
    const struct state state = permute(next, tally->places);
    unsigned char packed[sizeof state];
    const uint64_t what[] = {(uint64_t)place_of(tally->places, event->agent),
                             (uint64_t)event->kind,
                             event->help,
                             event->ended,
                             event->answer,
                             event->function,
                             (uintptr_t)event->error};
    model_pack(&state, packed);
    tally->sum += hash_bytes(packed, model_packed_size(), hash_bytes(what, sizeof what, 0));
}

static uint64_t sum_of(const struct state *state, permutation places)
{
    struct tally tally = {places, 0};
    model_successors(state, count, &tally);
    for (int agent = 0; agent < model_agents; agent++) {
        const bool what[] = {
            model_has_finished(state, agent), model_primitive->is_needed(state, agent),
            model_primitive->was_chosen && model_primitive->was_chosen(state, agent)};
        tally.sum += hash_bytes(what, sizeof what, (uint64_t)place_of(places, agent));
    }
    return tally.sum;
}

bool symmetry_holds(const struct state *state, uint32_t number)
{
    int order[MAX_AGENTS] = {0, 1, 2, 3};
    for (int agent = 1; agent < model_agents; agent++) {
        int other = agent;
        for (; previous[other] >= 0 && number % 2; number /= 2)
            other = previous[other];
        number /= 2;
        exchange(order, agent, other);
    }
    const permutation places = inverse_of(order);
    const struct state other = permute(state, places);
    return sum_of(state, places) == sum_of(&other, SAME_PLACES);
}
