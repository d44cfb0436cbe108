/*
 * core/cond.h: the condition's two words.
 *
 *     word 0, sequence  bits 0-30  NOTIFIES     moves with each notify that finds a waiter counted,
 *                                               modulo 2^31; several at once may move it by one
 *                       bit 31     TO_ALL       the last of them was for all
 *     word 1, waiters   bits 0-30  WAITERS      how many have begun to wait and not yet returned
 *                       bit 31     LEFT_BEHIND  async waiters that gave up may have left waits in
 *                                               the queue
 *
 * Waiters wait on the sequence. A waiter that died stays counted, which costs useless notifies.
 *
 * A waiter reads the sequence while it holds the mutex under which the condition changes. An agent
 * that makes the condition true later notifies later still, so that its notify is not missed: it
 * moves the sequence, which a waiter that is not asleep yet sees, and it wakes a waiter that is
 * asleep. Waiters of both kinds queue at the sequence, first come, first served. Each async waiter
 * has a wait of its own there, since each notify is for one waiter. A waiter that re-checks (in an
 * engine, once a second) goes to the end of the queue.
 *
 * A notify that finds LEFT_BEHIND clears it and wakes all waiters. A notify of one waiter might end
 * nothing but a wait that no async waiter needs any more.
 */
#ifndef LOCKWORD_CORE_COND_H
#define LOCKWORD_CORE_COND_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_COND_SEQUENCE = 0,
    LW_COND_WAITERS = 1,
    LW_COND_WORDS = 2,
};

#define LW_COND_TO_ALL 0x80000000u
#define LW_COND_LEFT_BEHIND 0x80000000u

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begins a wait: counts a waiter, which holds the mutex, and returns the sequence to pass to
 * lw_cond_wait_step. Then the caller unlocks the mutex, however often it holds it, runs that step
 * to its end, and locks the mutex again, as often.
 */
uint32_t lw_cond_enter_step(lw_word *cond);

/*
 * A step, for a caller that does not hold the mutex: waits for a notify since `sequence` was read.
 * When it ends, it takes the caller off the count; until then it changes nothing. An async waiter
 * that gives up while its wait is pending passes LW_QUEUED, and leaves that wait behind.
 */
lw_answer lw_cond_wait_step(lw_word *cond, uint32_t sequence, uint32_t why, lw_phase phase);

/*
 * Wakes n waiters (LW_ALL: all), or more if waits were left behind. Returns how many of them were
 * asleep, at most n. Waiters that are not asleep yet see the new sequence before they sleep.
 */
uint32_t lw_cond_notify_step(lw_word *cond, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
