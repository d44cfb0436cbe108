/*
 * holder.h: what the models say in the same way of a mutex in their first words, whose holder is a
 * ghost, and of agents that die and are buried.
 */
#ifndef HOLDER_H
#define HOLDER_H

#include <lockword/core/mutex.h>

#include "callers.h"

/* The first ghost: the holder by what was done, not by what the word says. */
#define OWNER_AGENT 0 /* plus one; 0: no agent */

LW_INLINE bool owns(const struct state *state, int agent)
{
    return state->ghosts[OWNER_AGENT] == agent + 1;
}

LW_INLINE const char *names_no_holder(const struct state *state)
{
    const uint32_t owner = state->words[LW_MUTEX_STATE] & LW_MUTEX_OWNER;
    const int agent = state->ghosts[OWNER_AGENT] - 1;
    return owner == (agent < 0 ? 0 : model_id(agent)) ? NULL : "the word does not name the holder";
}

/* The holder unlocks, and its last unlock notifies the waiters that the marks stand for. */
LW_INLINE bool unlock_is_owed(const struct state *state, int agent)
{
    (void)agent;
    return state->words[LW_MUTEX_STATE] & LW_MUTEX_OWNER;
}

LW_INLINE uint32_t reservation(const struct state *state)
{
    return (state->words[LW_MUTEX_STATE] & LW_MUTEX_RESERVED) != 0;
}

LW_INLINE void describe_mutex(char *text, size_t size, uint32_t value)
{
    const uint32_t owner = value & LW_MUTEX_OWNER;
    const int agent = model_agent_of(owner);
    char stranger[16];
    snprintf(stranger, sizeof stranger, "%#x", owner);
    snprintf(text, size, "%s%s%s%s",
             owner == 0   ? "free"
             : agent >= 0 ? model_name(agent)
                          : stranger,
             value & LW_MUTEX_RESERVED ? "+RESERVED" : "", value & LW_MUTEX_ASYNC ? "+ASYNC" : "",
             value & LW_MUTEX_BLOCKED ? "+BLOCKED" : "");
}

LW_INLINE bool is_dead(const struct state *state, int agent)
{
    return state->agents[agent].doing == DEAD;
}

/* Choices to call this function for each agent that has died and is not among the buried. */
LW_INLINE int burials(const struct state *state, uint8_t function, uint8_t buried,
                      struct choice *choices)
{
    int count = 0;
    for (int agent = 0; agent < model_agents; agent++) {
        if (is_dead(state, agent) && !(buried & 1 << agent))
            choices[count++] = (struct choice){.function = function, .a = model_id(agent)};
    }
    return count;
}

#endif
