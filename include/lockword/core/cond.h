/*
 * core/cond.h: the condition's two words.
 *
 *     word 0, sequence  how often somebody was notified, modulo 2^32: what waiters wait on
 *     word 1, waiters   bits 0-30  WAITERS      how many have begun to wait and not yet returned
 *                       bit 31     LEFT_BEHIND  async waiters that gave up may have left waits in the queue
 *
 * A waiter that died stays counted, which costs useless notifies.
 *
 * A waiter reads the sequence while it holds the mutex under which the condition changes, so that whoever makes the condition true
 * must notify after that, and is not missed: it moves the sequence, which a waiter that is not asleep yet sees, and wakes one that
 * is. Waiters of both kinds queue at the sequence, first come, first served; an async waiter has a wait there of its own, since
 * each notify is for one of them. A waiter that re-checks (in an engine, once a second) goes to the end of the queue.
 *
 * A notify that finds LEFT_BEHIND clears it and wakes everybody: it might end nothing but a wait that nobody waits for any more.
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

#define LW_COND_LEFT_BEHIND 0x80000000u

#ifdef __cplusplus
extern "C" {
#endif

/* Announces a waiter, which holds the mutex, and answers the sequence that lw_cond_wait_step has to be told. */
uint32_t lw_cond_enter_step(lw_word *cond);

/*
 * A step, without the mutex: waits for a notify since `sequence` was read. An async waiter that gives up while its wait is pending
 * says so by LW_QUEUED, and leaves that wait behind.
 */
lw_answer lw_cond_wait_step(lw_word *cond, uint32_t sequence, uint32_t why, lw_phase phase);

/* Ends what lw_cond_enter_step began. */
void lw_cond_leave_step(lw_word *cond);

/*
 * Wakes n waiters (LW_ALL: all), or more if waits were left behind. Returns how many it found asleep, at most n; others may see it
 * before they fall asleep.
 */
uint32_t lw_cond_notify_step(lw_word *cond, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
