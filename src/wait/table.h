/*
 * table.h: waiting, for systems on which a notify cannot tell how many threads it wakes, or a
 * thread cannot sleep on several words. table.c has lw_wait, lw_wait_many and lw_notify for these.
 * Each thread sleeps on a word of its own, in the way that the system's file knows.
 */
#ifndef LOCKWORD_TABLE_H
#define LOCKWORD_TABLE_H

#include "platform.h"

/* A lock that a bucket of the table has, and what else a thread needs in order to sleep. */
#ifdef _WIN32
typedef void *lw_table_lock; /* a slim reader/writer lock, which begins as zero */
typedef uint32_t lw_bed;     /* nothing */
#else
#include <pthread.h>
typedef pthread_mutex_t lw_table_lock;
typedef struct lw_bed {
    pthread_mutex_t mutex;
    pthread_cond_t notified;
} lw_bed;
#endif

/*
 * A platform sleeps for at most so long at once. So every time fits into a time_t of 32 bits, and
 * no system has to add up far ones.
 */
#define LONGEST_NAP_NS (100000 * (int64_t)NS_PER_S)

/* A thread that sleeps, on its own stack. */
struct lw_sleeper {
    lw_word is_notified;
    lw_bed bed;
};

#pragma GCC visibility push(hidden)

/* Empties all buckets, and makes their locks anew. For the system's first wait, and after a fork.
 */
void lw_table_reset(void);

/*
 * The system's part, besides platform.h's. lw_table_begin is called before each use of the table.
 * On POSIX systems pthreads.c has the first four, and lw_yield, and calls lw_bed_begin once.
 */
void lw_table_begin(void);
void lw_table_make(lw_table_lock *lock);
void lw_table_enter(lw_table_lock *lock);
void lw_table_leave(lw_table_lock *lock);
void lw_bed_begin(void);
void lw_bed_make(lw_bed *bed);
void lw_bed_remove(lw_bed *bed);

/* Sleeps until is_notified is not 0, or the deadline has passed. May be early or late for both. */
void lw_sleep(struct lw_sleeper *sleeper, lw_deadline deadline);

/* Ends lw_sleep. is_notified has been set. The sleeper's memory stays until this returns. */
void lw_rouse(struct lw_sleeper *sleeper);

#pragma GCC visibility pop

#endif
