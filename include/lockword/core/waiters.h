/*
 * core/waiters.h: what every primitive does about its waiters. The core of the core.
 *
 * Whatever else a word means, two of its bits mean the same everywhere:
 *
 *     bit 30  LW_ASYNC_WAITERS    async waiters may be queued at the gate
 *     bit 31  LW_BLOCKED_WAITERS  blocking waiters may be asleep on this word
 *
 * This word is a primitive's first. The second is the gate. It is always 0 and never written: it is
 * only an address at which async waiters queue. If threads and event loops queued at one address, a
 * notify could go to an event loop that is busy, while threads sleep behind it.
 *
 * The mutex wakes one waiter at a time, and a wake obliges the waiter to pass it on (core/mutex.c).
 * Every other primitive wakes all waiters whenever it changes in a way that could matter to them,
 * and needs no such care:
 *
 *   1. A waiter marks the word with its bit before it waits, and waits only while the word holds
 *      the value that it marked.
 *   2. An agent that changes the word to a waiter's advantage clears both bits with the same
 *      operation, and then wakes all waiters that the bits stood for.
 *   3. So a waiter asleep for good would need a word that changed after its mark without rule 2. A
 *      bit that is left behind by a waiter that gave up costs one notify, and no waiter owes
 *      another one anything.
 */
#ifndef LOCKWORD_CORE_WAITERS_H
#define LOCKWORD_CORE_WAITERS_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

/* The words with which all primitives begin. */
enum {
    LW_WAITERS_STATE = 0,
    LW_WAITERS_GATE = 1,
};

#define LW_ASYNC_WAITERS 0x40000000u
#define LW_BLOCKED_WAITERS 0x80000000u
#define LW_WAITERS (LW_ASYNC_WAITERS | LW_BLOCKED_WAITERS)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rule 1, the end of every step: marks the state, which was seen to hold `seen`, with the waiter's
 * bit and the bits of `mark`, and returns what to do. That is to wait in this `way`, after LW_QUEUE
 * if the caller is async and not queued; LW_RETRY if the state holds another value by now;
 * LW_GAVE_UP if that is the reason.
 */
lw_answer lw_waiters_wait(lw_word *words, uint32_t seen, uint32_t mark, uint32_t way, uint32_t why,
                          lw_phase phase);

/*
 * Rule 2: changes the state from `seen` to `next` without the waiters' bits, and wakes all waiters
 * that `seen` stands for. Returns the value that the state held: if it is not `seen`, nothing has
 * changed.
 */
uint32_t lw_waiters_change(lw_word *words, uint32_t seen, uint32_t next);

#ifdef __cplusplus
}
#endif

#endif
