/* symmetry.c: see symmetry.h. */
#include "symmetry.h"

#include <string.h>

#include "memory.h"

/* Of each agent: the last one before it that is like it, or -1; and its record in packed states. */
static int previous[MAX_AGENTS];
static size_t records[MAX_AGENTS], sizes[MAX_AGENTS];

struct permutation {
    int to[MAX_AGENTS];
};

/* What is found, added up, so that the order in which it comes makes no difference. */
struct tally {
    const struct permutation *permutation;
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
    if (model_callers[agent] != model_callers[other] || model_has_async(agent) ||
        model_has_async(other))
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

void symmetry_sort(unsigned char *packed)
{
    unsigned char record[sizeof(struct agent)];
    for (int agent = 1; agent < model_agents; agent++) {
        const size_t size = sizes[agent];
        unsigned char *here = packed + records[agent];
        for (int other = previous[agent]; other >= 0; other = previous[other]) {
            unsigned char *there = packed + records[other];
            if (memcmp(there, here, size) <= 0)
                break;
            memcpy(record, there, size);
            memcpy(there, here, size);
            memcpy(here, record, size);
            here = there;
        }
    }
}

static struct state permute(const struct state *state, const struct permutation *permutation)
{
    struct state other = *state;
    for (int agent = 0; agent < model_agents; agent++)
        other.agents[permutation->to[agent]] = state->agents[agent];
    return other;
}

static void count(void *context, const struct state *next, const struct event *event)
{
    struct tally *tally = context;
    const struct state state = permute(next, tally->permutation);
    unsigned char packed[sizeof state];
    const uint64_t what[] = {(uint64_t)tally->permutation->to[event->agent],
                             (uint64_t)event->kind,
                             event->help,
                             event->ended,
                             event->answer,
                             event->function,
                             (uintptr_t)event->error};
    model_pack(&state, packed);
    tally->sum += hash_bytes(packed, model_packed_size(), hash_bytes(what, sizeof what, 0));
}

static uint64_t sum_of(const struct state *state, const struct permutation *permutation)
{
    struct tally tally = {permutation, 0};
    model_successors(state, count, &tally);
    for (int agent = 0; agent < model_agents; agent++) {
        const bool what[] = {
            model_has_finished(state, agent), model_primitive->is_needed(state, agent),
            model_primitive->was_chosen && model_primitive->was_chosen(state, agent)};
        tally.sum += hash_bytes(what, sizeof what, (uint64_t)permutation->to[agent]);
    }
    return tally.sum;
}

bool symmetry_holds(const struct state *state, uint32_t number)
{
    struct permutation same, changed;
    for (int agent = 0; agent < model_agents; agent++)
        same.to[agent] = changed.to[agent] = agent;
    for (int agent = 1; agent < model_agents; agent++) {
        int other = agent;
        for (; previous[other] >= 0 && number % 2; number /= 2)
            other = previous[other];
        number /= 2;
        const int place = changed.to[agent];
        changed.to[agent] = changed.to[other];
        changed.to[other] = place;
    }
    const struct state other = permute(state, &changed);
    return sum_of(state, &changed) == sum_of(&other, &same);
}
