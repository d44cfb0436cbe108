/* blocking.h: runs steps until they end, and blocks the calling agent when they say so. */
#ifndef LOCKWORD_BLOCKING_H
#define LOCKWORD_BLOCKING_H

#include <lockword/cancel.h>
#include <lockword/cond.h>
#include <lockword/errors.h>
#include <lockword/wait.h>

#include "wait/awake.h"

/* These are no symbols of the shared library. */
#pragma GCC visibility push(hidden)

/* An operation that may wait. */
struct lw_operation {
    lw_step *step;
    lw_word *words;
    uint32_t wanted;
};

/* How a wait has ended. */
struct lw_end {
    enum lw_ending ending;
    uint32_t index;  /* the operation that ended it; meaningless if none did in time */
    uint32_t result; /* of that operation */
};

/* How many operations a call can wait for at once, an lw_cancel included. */
#define LW_BLOCK_MAX 64

/*
 * Runs n operations until one has ended: if several can end, the first one in the given order. Then
 * it cancels the others. If n is more than 1, they must be of kinds that take nothing when they are
 * cancelled, or that remember nothing (phase 0). cancel may be NULL; if not, the array must have
 * room for one more operation.
 */
struct lw_end lw_block_any(struct lw_operation *operations, uint32_t n, lw_deadline deadline,
                           lw_cancel *cancel);

/* Runs one operation. */
struct lw_end lw_block(struct lw_operation operation, lw_deadline deadline, lw_cancel *cancel);

/*
 * Tries the operation a few times, and yields in between (wait/awake.h). Returns whether it has
 * ended, with its outcome in *end. Each time the step is told that its time is up, so that it
 * leaves no mark.
 */
bool lw_spin(struct lw_operation operation, lw_deadline deadline, struct lw_end *end);

/* Spins, then blocks. */
struct lw_end lw_spin_then_block(struct lw_operation operation, lw_deadline deadline,
                                 lw_cancel *cancel);

/*
 * The same for an operation that ends when a holder gives back what it holds. Its result is told if
 * `take` tells it (wait/awake.h). C does not spin in an engine.
 */
#if LW_ENGINE
#define lw_hold(held, ...) lw_block(__VA_ARGS__)
#define lw_claim(held, ...) lw_block(__VA_ARGS__)
#else
extern const struct lw_held lw_held_mutex;
extern const struct lw_held lw_held_written; /* a read-write lock, to write */

/* Permits that have owners. The result is which was taken. */
const struct lw_held *lw_held_owned(const lw_word *permits);

struct lw_end lw_hold_slow(const struct lw_held *held, struct lw_operation operation,
                           lw_deadline deadline, lw_cancel *cancel);

static inline struct lw_end lw_hold(const struct lw_held *held, struct lw_operation operation,
                                    lw_deadline deadline, lw_cancel *cancel)
{
    struct lw_end end = {LW_ENDED_DONE, 0, 0};
    if (deadline != LW_NOW && lw_take_at_once(held, operation.words, operation.wanted, &end.result))
        return end;
    return lw_hold_slow(held, operation, deadline, cancel);
}

/* The same for a step that claims what it waits for: then newcomers cannot take it. */
struct lw_end lw_claim(const struct lw_held *held, struct lw_operation operation,
                       lw_deadline deadline, lw_cancel *cancel);
#endif

/* The middle of a condition's wait: the caller has entered it, and holds the mutex no more. */
enum lw_ending lw_cond_wait_for_notify(lw_cond *cond, uint32_t sequence, lw_deadline deadline,
                                       lw_cancel *cancel);

#pragma GCC visibility pop

#endif
