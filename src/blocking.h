/* blocking.h: runs steps to their end, blocking the calling agent as they say. */
#ifndef LOCKWORD_BLOCKING_H
#define LOCKWORD_BLOCKING_H

#include <lockword/cancel.h>
#include <lockword/errors.h>
#include <lockword/wait.h>

/* No symbols of the shared library. */
#pragma GCC visibility push(hidden)

/* An operation that may wait. */
struct lw_operation {
    lw_step *step;
    lw_word *words;
    uint32_t wanted;
};

/* How waiting has ended. */
struct lw_end {
    enum lw_ending ending;
    uint32_t index;  /* which operation ended it; of no meaning if none did in time */
    uint32_t result; /* with what */
};

/* How many operations, an lw_cancel included, can be waited for at once. */
#define LW_BLOCK_MAX 64

/*
 * Runs n operations until one has ended. The first that can, ends, in the order given. More than one: of kinds that need not be
 * withdrawn. cancel may be NULL; if not, operations has room for one more.
 */
struct lw_end lw_block_any(struct lw_operation *operations, uint32_t n, lw_deadline deadline, lw_cancel *cancel);

/* Runs one. */
struct lw_end lw_block(struct lw_operation operation, lw_deadline deadline, lw_cancel *cancel);

/*
 * Tries the operation a few times, and yields in between (wait/awake.h). Returns whether it has
 * ended, and how in *end. The step is told each time that its time is up, so it leaves no trace.
 */
bool lw_spin(struct lw_operation operation, lw_deadline deadline, struct lw_end *end);

/* Spins, and then blocks. */
struct lw_end lw_spin_then_block(struct lw_operation operation, lw_deadline deadline, lw_cancel *cancel);

#pragma GCC visibility pop

#endif
