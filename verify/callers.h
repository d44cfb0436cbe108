/* callers.h: what the primitives' files, other than the mutex's, say about their callers in the same way. */
#ifndef CALLERS_H
#define CALLERS_H

#include <lockword/core/waiters.h>

#include <stdio.h>

#include "explorer/explorer.h"

#define UNRELIABLE (SPURIOUS | TIMEOUTS | CANCELS | SLICES)

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

LW_INLINE void use_up_round(struct caller *caller)
{
    if (caller->rounds != ENDLESS)
        caller->rounds--;
}

/* Who makes this operation. */
LW_INLINE struct caller *operator_of(struct state *state, int agent)
{
    return &state->agents[agent].callers[state->agents[agent].caller];
}

LW_INLINE bool has_changed(const struct operation *operation, uint32_t result)
{
    return operation->kind == CAS && result == operation->a;
}

/* Sets a flag of all callers that have another one. */
LW_INLINE void flag_all(struct state *state, uint8_t having, uint8_t flag)
{
    for (int agent = 0; agent < model_agents; agent++) {
        for (int caller = 0; caller < model_callers[agent]; caller++) {
            struct caller *c = &state->agents[agent].callers[caller];
            if (c->flags & having)
                c->flags |= flag;
        }
    }
}

/* Whether a caller of this agent that is one of these letters has something left to do. */
LW_INLINE bool has_work(const struct state *state, int agent, const char *letters)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        for (const char *letter = letters; *letter; letter++) {
            if (model_letter(agent, caller) == *letter && state->agents[agent].callers[caller].rounds > 0)
                return true;
        }
    }
    return false;
}

/* A step has answered neither LW_DONE nor, as it may, LW_GAVE_UP. */
LW_INLINE const char *wrong_end(const struct state *state, int agent, uint32_t what)
{
    if (what != LW_GAVE_UP)
        return "ends in a way that it has not";
    return lw_gives_up(state->agents[agent].why) ? NULL : "gives up for no reason";
}

LW_INLINE void describe_waiters(char *text, size_t size, uint32_t value)
{
    snprintf(text, size, "%s%s", value & LW_ASYNC_WAITERS ? "+ASYNC" : "", value & LW_BLOCKED_WAITERS ? "+BLOCKED" : "");
}

#endif
