/* quiet.h: calls of libc that the caller of the library does not notice. */
#ifndef LOCKWORD_QUIET_H
#define LOCKWORD_QUIET_H

#include <errno.h>
#include <pthread.h>

/*
 * Between these two, what libc is called for leaves the caller's errno alone, and does not end its
 * thread (pthread_cancel), which would leave a lock or a file behind.
 */
struct lw_quiet {
    int error, cancel;
};

static inline struct lw_quiet lw_begin_quietly(void)
{
    struct lw_quiet before = {.error = errno};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.cancel);
    return before;
}

static inline void lw_end_quietly(struct lw_quiet before)
{
    pthread_setcancelstate(before.cancel, NULL);
    errno = before.error;
}

#endif
