/*
 * wait.h: sleeps on a word until it changes, and wakes sleepers. All primitives are made of it.
 *
 * The meaning is that of ECMAScript's Atomics.wait and Atomics.notify: a waiter compares the word
 * and falls asleep in one indivisible step, so that a notify after the comparison always finds it.
 *
 *     while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 0)
 *         lw_wait(&flag, 0, LW_FOREVER);
 *
 *     __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);       // in another thread
 *     lw_notify(&flag, LW_ALL);
 *
 * Natively the word may be any 4-byte aligned memory of this process; in WebAssembly, of a shared
 * memory.
 */
#ifndef LOCKWORD_WAIT_H
#define LOCKWORD_WAIT_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A point in time on the monotonic clock, in nanoseconds. Setting the wall clock does not move it.
 */
typedef int64_t lw_deadline;

#define LW_FOREVER INT64_MAX /* never */
#define LW_NOW 0             /* long past: do not wait at all */

/*
 * Returns the deadline that lies this many nanoseconds or milliseconds ahead. A negative one has
 * passed already; one that would overflow is LW_FOREVER.
 */
lw_deadline lw_after_ns(int64_t ns);
lw_deadline lw_after_ms(int64_t ms);

/* How a wait ended: LW_OK, LW_NOT_EQUAL or LW_TIMED_OUT. */
typedef enum lw_why lw_woken;

/*
 * Sleeps while *word holds expected, until notified or until the deadline.
 *
 * Returns LW_OK: notified, or a spurious wake-up (check your condition again); LW_NOT_EQUAL: *word
 * held something else, which takes precedence over LW_TIMED_OUT: the deadline has passed, and no
 * notify was consumed. Signal handlers run meanwhile and do not end the wait. In WebAssembly, on an
 * agent that may not block, such as a page's main thread, the engine traps.
 */
lw_woken lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline);

/*
 * Declared in core/word.h: uint32_t lw_notify(uint32_t *word, uint32_t n) wakes up to n sleepers
 * (LW_ALL: all) and returns how many it woke.
 */

#ifdef __cplusplus
}
#endif

#endif
