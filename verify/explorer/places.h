/*
 * places.h: the waiters at a primitive's fair word, which are woken in the order in which they
 * came: threads, and async callers that have a wait of their own there. An async caller that gives
 * up leaves its wait behind; it then belongs to no caller.
 */
#ifndef EXPLORER_PLACES_H
#define EXPLORER_PLACES_H

#include "model.h"

enum place {
    NO_PLACE = 0,
    PLACE_WAITS = 0x80, /* in the queue */
    PLACE_TOLD = 0xc0,  /* async: notified, and its event loop has not got to it yet */
    PLACE_TIMER = 0xa0, /* async: not in the queue, but looks again later */
};

/* No caller's: a wait that was left behind. */
#define NOBODY MAX_CALLERS

enum place places_of(const struct state *state, int agent, int caller);

/* The last to come. Returns what is wrong, or NULL. */
const char *places_add(struct state *state, int agent, int caller, enum place place);

/* Leaves; or does nothing, if it has no place. */
void places_remove(struct state *state, int agent, int caller);
/*
 * The same for one of this kind, of which NOBODY may have several. Returns whether there was one.
 */
bool places_remove_one(struct state *state, int agent, int caller, enum place place);
void places_remove_agent(struct state *state, int agent);

/*
 * The caller's call has ended: if it has a wait in the queue, that wait belongs to no caller from
 * now on.
 */
void places_abandon(struct state *state, int agent, int caller);

/* Async: the caller is told of a notify, if only for no reason. */
void places_tell(struct state *state, int agent, int caller);

/* Whether one of its callers has been told of a notify, and has not gone on yet. */
bool places_is_told(const struct state *state, int agent);

/* Returns the agent whose wait has been longest in the queue, or -1; and the caller. */
int places_first(const struct state *state, int *caller);

#endif
