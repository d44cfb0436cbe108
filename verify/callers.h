/*
 * callers.h: what the primitives' files say in the same way about their functions and their
 * callers.
 */
#ifndef CALLERS_H
#define CALLERS_H

#include <lockword/core/waiters.h>

#include <stdio.h>
#include <string.h>

#include "explorer/explorer.h"

#define UNRELIABLE (SPURIOUS | TIMEOUTS | CANCELS | SLICES)

/* The same where a step may ask for a brief wait; and without what makes the most states. */
#define ANYTHING (UNRELIABLE | BRIEFS)
#define ALMOST (TIMEOUTS | CANCELS | BRIEFS)

/* What ends a native wait besides its notify, if nothing re-checks. */
#define NATIVE (SPURIOUS | TIMEOUTS | CANCELS)

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/*
 * A function of the core, or of a face, as the step machine calls it: an expression of words, a, b
 * and c.
 */
#define CALL(name, expression)                                                                     \
    static uint64_t name(lw_word *words, uint32_t a, uint32_t b, uint32_t c)                       \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return (expression);                                                                       \
    }

/*
 * What a primitive's table says of a function: its name, its name in traces, how many of a, b and c
 * it takes, and what calls it. It returns a number; a PREDICATE returns whether it succeeded. One
 * that GIVES_BACK frees what those in line wait for. A FACE is a predicate that a C face inlines;
 * what is INLINED otherwise returns a number.
 */
#define FUNCTION(full_name, short_name, count, wrapper)                                            \
    {                                                                                              \
        .name = full_name, .label = short_name, .arguments = count, .call = wrapper                \
    }
#define STEP(full_name, short_name, step)                                                          \
    {                                                                                              \
        .name = full_name, .label = short_name, .is_step = true, .arguments = 3, .call = step      \
    }
#define INLINED_STEP(full_name, short_name, step)                                                  \
    {                                                                                              \
        .name = full_name, .label = short_name, .is_step = true, .arguments = 3, .inlined = true,  \
        .call = step                                                                               \
    }
#define PREDICATE(full_name, short_name, count, wrapper)                                           \
    {                                                                                              \
        .name = full_name, .label = short_name, .arguments = count, .answers_bool = true,          \
        .call = wrapper                                                                            \
    }
#define GIVES_BACK(full_name, short_name, count, wrapper)                                          \
    {                                                                                              \
        .name = full_name, .label = short_name, .arguments = count, .answers_bool = true,          \
        .gives_back = true, .call = wrapper                                                        \
    }
#define FACE(full_name, short_name, wrapper)                                                       \
    {                                                                                              \
        .name = full_name, .label = short_name, .arguments = 1, .answers_bool = true,              \
        .inlined = true, .call = wrapper                                                           \
    }
#define INLINED(full_name, short_name, wrapper)                                                    \
    {                                                                                              \
        .name = full_name, .label = short_name, .arguments = 1, .inlined = true, .call = wrapper   \
    }

/* The half of a C face that waits is explored as a step: here it ends the call. */
#define SLOW_HALF(function, type)                                                                  \
    enum lw_ending function(type *it, lw_deadline deadline, lw_cancel *cancel)                     \
    {                                                                                              \
        (void)it, (void)deadline, (void)cancel;                                                    \
        return LW_ENDED_TIMED_OUT;                                                                 \
    }

/*
 * The program: a primitive of so many words, of what its file defines under these names, and of
 * what else is said.
 */
#define EXPLORE(primitive_name, word_count, ...)                                                   \
    static const struct primitive primitive = {                                                    \
        .name = primitive_name,                                                                    \
        .words = word_count,                                                                       \
        .word_names = word_names,                                                                  \
        .functions = functions,                                                                    \
        .function_count = COUNT_OF(functions),                                                     \
        .configurations = configurations,                                                          \
        .configuration_count = COUNT_OF(configurations),                                           \
        .choices = choices,                                                                        \
        .operated = operated,                                                                      \
        .ended = ended,                                                                            \
        .invariant = invariant,                                                                    \
        .is_needed = is_needed,                                                                    \
        .describe_word = describe_word,                                                            \
        __VA_ARGS__,                                                                               \
    };                                                                                             \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return explorer_main(&primitive, argc, argv);                                              \
    }

LW_INLINE void use_up_round(struct caller *caller)
{
    if (caller->rounds != ENDLESS)
        caller->rounds--;
}

/* The caller that makes this operation. */
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

/* Whether the caller's letter is one of these. */
LW_INLINE bool is_one_of(int agent, int caller, const char *letters)
{
    return strchr(letters, model_letter(agent, caller)) != NULL;
}

/* Whether a caller of this agent has this flag. */
LW_INLINE bool any_has(const struct state *state, int agent, uint8_t flag)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (state->agents[agent].callers[caller].flags & flag)
            return true;
    }
    return false;
}

/* Whether this caller waits, and its step will not run next of itself. */
LW_INLINE bool is_waiting(const struct state *state, int agent, int caller)
{
    const struct agent *a = &state->agents[agent];
    if (a->doing != IDLE && a->caller == caller)
        return a->doing == ASLEEP;
    return model_is_in_line(a, caller) && !(a->to_run >> caller & 1);
}

/* Whether a caller of this agent that is one of these letters has something left to do. */
LW_INLINE bool has_work(const struct state *state, int agent, const char *letters)
{
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        if (is_one_of(agent, caller, letters) && state->agents[agent].callers[caller].rounds > 0)
            return true;
    }
    return false;
}

/* Whether a call may give up for this reason: said here again, since mutants change the core's. */
LW_INLINE bool may_give_up(uint32_t why)
{
    return why == LW_TIMED_OUT || why == LW_CANCELLED;
}

/* A step has returned neither LW_DONE nor, as it may, LW_GAVE_UP. */
LW_INLINE const char *wrong_end(const struct state *state, int agent, uint32_t what)
{
    if (what != LW_GAVE_UP)
        return "ends in a way that it has not";
    return may_give_up(state->agents[agent].why) ? NULL : "gives up for no reason";
}

/* The marks in a word that holds them, for people. */
LW_INLINE const char *waiters_in(uint32_t word, uint32_t value)
{
    static const char *const names[] = {"", "+ASYNC", "+BLOCKED", "+ASYNC+BLOCKED"};
    return names[word == LW_WAITERS_STATE ? value >> 30 : 0];
}

LW_INLINE void describe_waiters(char *text, size_t size, uint32_t value)
{
    snprintf(text, size, "%s%s", value & LW_ASYNC_WAITERS ? "+ASYNC" : "",
             value & LW_BLOCKED_WAITERS ? "+BLOCKED" : "");
}

/* All other callers within a call have lost a turn, if they come to know of it. */
LW_INLINE void overtake(struct state *state, int taker)
{
    for (int agent = 0; model_configuration->most_lost && agent < model_agents; agent++) {
        for (int caller = 0; caller < model_callers[agent]; caller++) {
            struct caller *c = &state->agents[agent].callers[caller];
            if (agent != taker && c->rounds && c->rounds != ENDLESS)
                c->flags |= OVERTAKEN;
        }
    }
}

#endif
