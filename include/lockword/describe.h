/*
 * describe.h: describes a primitive's state in words.
 *
 *     char line[LW_DESCRIBE_MAX];
 *
 *     lw_mutex_describe(&lock, line, sizeof line);
 *     puts(line);                     // Mutex { held by thread 4711, threads wait }
 *
 * JavaScript describes it in the same words after `import 'lockword/inspect'`. This is for logs and
 * debuggers: a program that does not call it does not contain it, and the words may change in any
 * version.
 *
 * The state is that of one moment, and may be old when you read it. Every word is read once;
 * reading changes nothing. Only a condition knows how many agents wait. The others know in which
 * way agents wait; where one says that threads or event loops wait, all of them may have given up
 * since. A thread appears as the system's id of it, an agent of a JavaScript engine as its id in
 * hexadecimal.
 *
 * All functions write at most `size` bytes, of which the last is 0 unless size is 0. They return
 * how long the whole text is without that 0, as snprintf does. They need no C library.
 */
#ifndef LOCKWORD_DESCRIBE_H
#define LOCKWORD_DESCRIBE_H

#include <lockword/lockword.h>

/* Enough for any text. */
#define LW_DESCRIBE_MAX 200

#ifdef __cplusplus
extern "C" {
#endif

size_t lw_mutex_describe(const lw_mutex *mutex, char *buffer, size_t size);
size_t lw_rmutex_describe(const lw_rmutex *rmutex, char *buffer, size_t size);
size_t lw_cond_describe(const lw_cond *cond, char *buffer, size_t size);
size_t lw_sem_describe(const lw_sem *sem, char *buffer, size_t size);
size_t lw_permits_describe(const lw_permits *permits, char *buffer, size_t size);
size_t lw_rwlock_describe(const lw_rwlock *rwlock, char *buffer, size_t size);
size_t lw_barrier_describe(const lw_barrier *barrier, char *buffer, size_t size);
size_t lw_waitgroup_describe(const lw_waitgroup *group, char *buffer, size_t size);
size_t lw_latch_describe(const lw_latch *latch, char *buffer, size_t size);
size_t lw_event_describe(const lw_event *event, char *buffer, size_t size);
size_t lw_once_describe(const lw_once *once, char *buffer, size_t size);
size_t lw_counter_describe(const lw_counter *counter, char *buffer, size_t size);
size_t lw_cancel_describe(const lw_cancel *cancel, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
