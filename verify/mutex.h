/*
 * mutex.h: the constants of src/core/waiters.c, as CMakeLists.txt builds with them: as shipped, or
 * small, so that what happens after eight failed waits happens after one, among fewer states.
 */
#ifndef MUTEX_H
#define MUTEX_H

#ifndef MAX_FAILED_WAITS
#define MAX_FAILED_WAITS 8
#endif
#ifndef MAX_RECHECKS
#define MAX_RECHECKS 7
#endif

/* The highest phase of the mutex's step: the highest count, above two flags. */
#define MUTEX_LAST_PHASE ((MAX_FAILED_WAITS + 1 + MAX_RECHECKS) << 8 | 3)

#endif
