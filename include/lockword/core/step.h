/*
 * step.h: how an algorithm and the driver that waits for it talk.
 *
 * An operation that may wait is a function that never waits, a *step*:
 *
 *     lw_answer step(lw_word *words, uint32_t wanted, uint32_t why, lw_phase phase);
 *
 * `wanted` is the operation's argument: the caller's id, or how many permits it asks for. A step
 * does a few atomic operations and returns what its caller has to do before it calls again, with
 * the phase that was returned and the reason for the call. The first call has phase 0 and LW_START.
 * Everything that an operation remembers is in the words, in the phase (16 bits) and in the reason:
 * a step has no memory of its own.
 *
 * Most other operations that change the words end in _step, too, since the names without it are the
 * faces'. One that returns no lw_answer never has to wait: one call of it is the whole operation.
 *
 * The blocking drivers, the promises of JavaScript and the explorer all run the same steps.
 */
#ifndef LOCKWORD_CORE_STEP_H
#define LOCKWORD_CORE_STEP_H

#include <lockword/core/word.h>

/* A conversion without a warning in C and in C++. */
#ifdef __cplusplus
#define LW_CAST(type, value) static_cast<type>(value)
#else
#define LW_CAST(type, value) ((type)(value))
#endif

/* Why a step is called. LW_OK to LW_SLICE say how the wait that it asked for has ended. */
enum lw_why {
    LW_START = 0,     /* the first call */
    LW_OK = 1,        /* woken: a notify was, or may have been, consumed */
    LW_NOT_EQUAL = 2, /* the word did not hold the expected value: nothing was consumed */
    LW_TIMED_OUT = 3, /* the deadline has passed, nothing was consumed: try once, then give up */
    LW_SLICE = 4,     /* a re-check before the deadline: see LW_WAIT and the two after it */
    LW_AGAIN = 5,     /* the caller has done what LW_QUEUE asked for */
    /* 6 is no reason, so that LW_CANCELLED has all bits of LW_TIMED_OUT: see lw_gives_up. */
    LW_CANCELLED = 7, /* give up now; a notify may have been consumed */
    LW_WHY = 0xf,     /* mask of the reason */

    /* Properties of the driver, or-ed to every reason. */
    LW_ASYNC = 0x10,  /* waits at the gate, and learns of a notify when its event loop gets to it */
    LW_QUEUED = 0x20, /* async only: a wait at the gate is pending now */
};

/*
 * Returns whether this reason ends the operation if it cannot succeed now: LW_TIMED_OUT and
 * LW_CANCELLED do.
 */
LW_INLINE bool lw_gives_up(uint32_t why)
{
    /* LW_CANCELLED has all bits of LW_TIMED_OUT. No other reason has. */
    return (why & LW_TIMED_OUT) == LW_TIMED_OUT;
}

/* What the caller has to do. Values less than LW_WAIT end the operation. */
enum lw_what {
    LW_DONE = 0,      /* the operation has succeeded; `expected` is its result, if it has one */
    LW_GAVE_UP = 1,   /* it timed out or was cancelled, and left nothing that strands a waiter */
    LW_DEADLOCK = 2,  /* the caller would wait for itself; nothing was changed */
    LW_OVERFLOW = 3,  /* a count is at its limit; nothing was changed */
    LW_NOT_OWNER = 4, /* the caller does not have what it would change; nothing was changed */

    /*
     * Wait while word k holds `expected`; async: stay queued. If nothing else ends the wait, call
     * with LW_SLICE after a while:
     *
     *   LW_WAIT        for fairness. A step limits how often it asks for this in one operation, so
     *                  that a blocked waiter does not poll
     *   LW_WAIT_IDLE   only where an agent may die and take a notify with it, as in an engine.
     *                  Natively the wait lasts until it is notified
     *   LW_WAIT_BRIEF  after half a millisecond, or in JavaScript after 4 ms in an event loop, and
     *                  in a worker where event loops poll: what the caller waits for is free, but
     *                  reserved for another agent. A step asks for this again only if an agent took
     *                  and freed it meanwhile
     */
    LW_WAIT = 5,
    LW_WAIT_IDLE = 6,
    LW_WAIT_BRIEF = 7,
    /*
     * Async: keep one wait on word k (always 0) pending, then call again at once. Nothing was
     * changed: the caller may also begin anew, with LW_START.
     */
    LW_QUEUE = 8,
    LW_RETRY = 9, /* the word has just changed: call again at once, for the same reason */
};

/*
 * bits 0-7 what, 8-15 word k, 16-31 phase, 32-63 expected. In C it travels in registers; in
 * JavaScript it is an object.
 */
typedef uint64_t lw_answer;

/* What a step remembers from one call to the next: 16 bits. */
typedef uint32_t lw_phase;

typedef lw_answer lw_step(lw_word *words, uint32_t wanted, uint32_t why, lw_phase phase);

static inline lw_answer lw_answer_of(uint32_t what, uint32_t word, lw_phase phase,
                                     uint32_t expected)
{
    return LW_CAST(lw_answer, expected) << 32 | LW_CAST(lw_answer, phase << 16 | word << 8 | what);
}

static inline uint32_t lw_answer_what(lw_answer answer)
{
    return LW_CAST(uint32_t, answer) & 0xff;
}

static inline uint32_t lw_answer_word(lw_answer answer)
{
    return LW_CAST(uint32_t, answer) >> 8 & 0xff;
}

static inline uint32_t lw_answer_phase(lw_answer answer)
{
    return LW_CAST(uint32_t, answer) >> 16;
}

static inline uint32_t lw_answer_expected(lw_answer answer)
{
    return LW_CAST(uint32_t, answer >> 32);
}

#endif
