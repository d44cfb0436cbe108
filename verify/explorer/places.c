/*
 * places.c: see places.h. A place is a byte: its kind, its agent and its caller. The places in the
 * queue come first, in the order in which they came. The others follow in an order without meaning,
 * chosen so that equal states look equal.
 */
#include "places.h"

#include <string.h>

#define KIND 0xe0u

_Static_assert(NOBODY < 8 && MAX_AGENTS <= 4, "a place is a byte");

static uint8_t place_of(int agent, int caller, enum place place)
{
    return (uint8_t)((unsigned)place | (unsigned)agent << 3 | (unsigned)caller);
}

static int find(const struct state *state, int agent, int caller)
{
    for (int i = 0; i < MAX_PLACES && state->places[i]; i++) {
        if ((state->places[i] & ~KIND) == place_of(agent, caller, NO_PLACE))
            return i;
    }
    return -1;
}

static void remove_at(struct state *state, int index)
{
    memmove(state->places + index, state->places + index + 1, (size_t)(MAX_PLACES - 1 - index));
    state->places[MAX_PLACES - 1] = 0;
}

/* Behind all that wait; among the others, in numerical order. */
static const char *insert(struct state *state, uint8_t place)
{
    const bool waits = (place & KIND) == PLACE_WAITS;
    int index = 0;
    if (state->places[MAX_PLACES - 1])
        return "more wait than the model has room for";
    while ((state->places[index] & KIND) == PLACE_WAITS ||
           (!waits && state->places[index] && state->places[index] < place))
        index++;
    memmove(state->places + index + 1, state->places + index, (size_t)(MAX_PLACES - 1 - index));
    state->places[index] = place;
    return NULL;
}

enum place places_of(const struct state *state, int agent, int caller)
{
    const int index = find(state, agent, caller);
    return index < 0 ? NO_PLACE : (enum place)(state->places[index] & KIND);
}

const char *places_add(struct state *state, int agent, int caller, enum place place)
{
    return insert(state, place_of(agent, caller, place));
}

void places_remove(struct state *state, int agent, int caller)
{
    const int index = find(state, agent, caller);
    if (index >= 0)
        remove_at(state, index);
}

bool places_remove_one(struct state *state, int agent, int caller, enum place place)
{
    const uint8_t *found = memchr(state->places, place_of(agent, caller, place), MAX_PLACES);
    if (found)
        remove_at(state, (int)(found - state->places));
    return found;
}

void places_remove_agent(struct state *state, int agent)
{
    for (int caller = 0; caller <= NOBODY; caller++) {
        while (find(state, agent, caller) >= 0)
            places_remove(state, agent, caller);
    }
}

void places_abandon(struct state *state, int agent, int caller)
{
    const int index = find(state, agent, caller);
    if (index < 0)
        return;
    if ((state->places[index] & KIND) == PLACE_WAITS)
        state->places[index] = place_of(agent, NOBODY, PLACE_WAITS);
    else
        remove_at(state, index);
}

void places_tell(struct state *state, int agent, int caller)
{
    places_remove(state, agent, caller);
    insert(state, place_of(agent, caller, PLACE_TOLD));
}

bool places_is_told(const struct state *state, int agent)
{
    for (int i = 0; i < MAX_PLACES; i++) {
        if ((state->places[i] & KIND) == PLACE_TOLD && (state->places[i] >> 3 & 3) == agent)
            return true;
    }
    return false;
}

int places_first(const struct state *state, int *caller)
{
    const uint8_t first = state->places[0];
    *caller = first & 7;
    return (first & KIND) == PLACE_WAITS ? first >> 3 & 3 : -1;
}
