/*
 * errors.h: what the functions return, as errno codes of the C library that the caller uses.
 * liblockword itself knows none: in WebAssembly one archive serves users of several C libraries,
 * which number their codes differently, or of none. Only the symbols of the archive for other
 * languages (lockword/api.h) have to choose: they return Linux's codes, those below.
 */
#ifndef LOCKWORD_ERRORS_H
#define LOCKWORD_ERRORS_H

#include <lockword/core/step.h>

#if __has_include(<errno.h>)
#include <errno.h>
#else
#define EPERM 1
#define EAGAIN 11
#define EBUSY 16
#define EINVAL 22
#define EPIPE 32
#define EDEADLK 35
#define EOVERFLOW 75
#define ETIMEDOUT 110
#define ECANCELED 125
#endif

/* How an operation that waits has ended: what its step returned, and what made it give up. */
enum lw_ending {
    LW_ENDED_DONE,
    LW_ENDED_DEADLOCK,
    LW_ENDED_OVERFLOW,
    LW_ENDED_NOT_OWNER,
    LW_ENDED_TIMED_OUT,
    LW_ENDED_CANCELLED,
};

/* Returns the ending of an operation whose step has returned this, and that was not cancelled. */
static inline enum lw_ending lw_ending_of(uint32_t what)
{
    return what == LW_DONE        ? LW_ENDED_DONE
           : what == LW_DEADLOCK  ? LW_ENDED_DEADLOCK
           : what == LW_OVERFLOW  ? LW_ENDED_OVERFLOW
           : what == LW_NOT_OWNER ? LW_ENDED_NOT_OWNER
                                  : LW_ENDED_TIMED_OUT;
}

/* Returns the code for an ending. */
static inline int lw_error_of(enum lw_ending ending)
{
    return ending == LW_ENDED_DONE        ? 0
           : ending == LW_ENDED_DEADLOCK  ? EDEADLK
           : ending == LW_ENDED_OVERFLOW  ? EOVERFLOW
           : ending == LW_ENDED_NOT_OWNER ? EPERM
           : ending == LW_ENDED_CANCELLED ? ECANCELED
                                          : ETIMEDOUT;
}

#endif
