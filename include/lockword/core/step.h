/*
 * step.h: how an algorithm and the driver that waits for it talk.
 *
 * An operation that may wait is a function that never waits, a *step*:
 *
 *     lw_answer step(lw_word *words, uint32_t self, uint32_t why, uint32_t phase);
 *
 * It does a few atomic operations and answers what its caller has to do before it calls again, with the phase of the answer
 * and the reason why it calls. The first call has phase 0 and LW_START. Everything that an operation remembers is in the
 * words, in the phase (16 bits) and in the reason: a step has no memory of its own.
 *
 * The blocking drivers, the promises of JavaScript and the explorer all run the same steps.
 */
#ifndef LOCKWORD_CORE_STEP_H
#define LOCKWORD_CORE_STEP_H

#include <lockword/core/word.h>

/* Why a step is called. The first four tell what became of the wait that it asked for. */
enum lw_why {
    LW_START = 0,     /* the first call */
    LW_OK = 1,        /* woken: a notify was, or may have been, consumed */
    LW_NOT_EQUAL = 2, /* the word did not hold the expected value: nothing was consumed */
    LW_TIMED_OUT = 3, /* the deadline has passed: nothing was consumed, try once more, then give up */
    LW_SLICE = 4,     /* a re-check before the deadline: heals a wake that died with another agent */
    LW_CANCELLED = 5, /* give up now; a blocking wait may have consumed a notify, an async one has not */
    LW_AGAIN = 6,     /* what LW_QUEUE or LW_PAUSE asked for is done */
    LW_WHY = 0xf,     /* mask of the reason */

    /* What the driver can do, or-ed to every reason. */
    LW_ASYNC = 0x10,  /* waits at the gate and is told of a notify later, when its event loop gets to it */
    LW_QUEUED = 0x20, /* async only: a wait at the gate is pending now */
    LW_PAUSES = 0x40, /* a pause costs little here: LW_PAUSE may be answered */
};

/* What the caller has to do. */
enum lw_what {
    LW_DONE = 0,       /* nothing: the operation has succeeded */
    LW_GAVE_UP = 1,    /* nothing: it timed out or was cancelled, and has left no trace that could strand anybody */
    LW_DEADLOCK = 2,   /* nothing: the caller would wait for itself */
    LW_WAIT = 3,       /* wait while word k holds `expected`; async: stay queued */
    LW_WAIT_BRIEF = 4, /* the same, for a few milliseconds at most, then call with LW_SLICE */
    LW_QUEUE = 5,      /* async: make sure that one wait on word k (which is always 0) is pending, then call again at once */
    LW_PAUSE = 6,      /* let others run for a moment, then call again */
};

/* bits 0-7 what, 8-15 word k, 16-31 phase, 32-63 expected: it travels in registers, and as two numbers in JavaScript. */
typedef uint64_t lw_answer;

typedef lw_answer lw_step(lw_word *words, uint32_t self, uint32_t why, uint32_t phase);

static inline lw_answer lw_answer_of(uint32_t what, uint32_t word, uint32_t phase, uint32_t expected)
{
    return (lw_answer)expected << 32 | (lw_answer)(phase << 16 | word << 8 | what);
}

static inline uint32_t lw_answer_what(lw_answer answer)
{
    return (uint32_t)answer & 0xff;
}

static inline uint32_t lw_answer_word(lw_answer answer)
{
    return (uint32_t)answer >> 8 & 0xff;
}

static inline uint32_t lw_answer_phase(lw_answer answer)
{
    return (uint32_t)answer >> 16;
}

static inline uint32_t lw_answer_expected(lw_answer answer)
{
    return (uint32_t)(answer >> 32);
}

#endif
