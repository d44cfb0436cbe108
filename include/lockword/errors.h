/*
 * errors.h: what the functions answer, as errno codes of whatever C library the caller has. liblockword itself knows none: in
 * WebAssembly one archive serves users of several C libraries, which number their codes differently, or of none.
 */
#ifndef LOCKWORD_ERRORS_H
#define LOCKWORD_ERRORS_H

#include <lockword/core/step.h>

#if __has_include(<errno.h>)
#include <errno.h>
#else
#define EPERM 1
#define EBUSY 16
#define EDEADLK 35
#define ETIMEDOUT 110
#endif

/* The code for how a step ended. */
static inline int lw_error_of(enum lw_what what)
{
    return what == LW_DONE ? 0 : what == LW_DEADLOCK ? EDEADLK : ETIMEDOUT;
}

#endif
