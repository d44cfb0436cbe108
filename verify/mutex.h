/*
 * mutex.h: the constants of src/core/waiters.c, as CMakeLists.txt builds with them: as shipped, or
 * small, so that what happens after eight failed waits happens after one, among fewer states. And
 * what a waiter counts where a wake obliges: said here again, since mutants change the core's.
 */
#ifndef MUTEX_H
#define MUTEX_H

#include "callers.h"

#ifndef MAX_FAILED_WAITS
#define MAX_FAILED_WAITS 8
#endif
#ifndef MAX_RECHECKS
#define MAX_RECHECKS 7
#endif

/* The highest phase of the mutex's step: the highest count, above two flags. */
#define MUTEX_LAST_PHASE ((MAX_FAILED_WAITS + 1 + MAX_RECHECKS) << 8 | 3)

/* What a waiter counts when it begins to starve, and when it has made all its re-checks. */
#define STARVES_FROM (MAX_FAILED_WAITS + 1)
#define RESTS_FROM (STARVES_FROM + MAX_RECHECKS)

/* Returns what a caller of this phase counts when it is resumed for this reason. */
LW_INLINE uint32_t count_of(uint32_t phase, uint32_t why)
{
    const uint32_t count = phase / LW_ONE_FAILED_WAIT;
    if (why == LW_START || may_give_up(why) || (why == LW_AGAIN && count == 0))
        return count;
    /* By LW_AGAIN, an event loop goes on that was woken in vain. */
    if (count < STARVES_FROM)
        return why == LW_SLICE || why == LW_AGAIN ? STARVES_FROM : count + 1;
    return why == LW_SLICE && count < RESTS_FROM ? count + 1 : count;
}

LW_INLINE bool starves(const struct caller *caller, uint32_t why)
{
    return count_of(caller->phase, why) >= STARVES_FROM;
}

/*
 * Returns whether a caller that takes what is reserved ends the reservation: it starves, or it
 * polls.
 */
LW_INLINE bool ends_reservation(const struct caller *caller, uint32_t why)
{
    return why == LW_NOT_EQUAL || starves(caller, why);
}

/* Whether a step that has asked its caller to wait has counted the wait that had ended. */
LW_INLINE const char *counts(uint16_t before, uint32_t why, uint16_t after)
{
    return after / LW_ONE_FAILED_WAIT == count_of(before, why)
               ? NULL
               : "miscounts its failed waits or its re-checks";
}

#endif
