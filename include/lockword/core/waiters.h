/*
 * core/waiters.h: what every primitive does about those who wait. The core of the core.
 *
 * Whatever else a word means, two of its bits mean the same everywhere:
 *
 *     bit 30  LW_ASYNC_WAITERS    async waiters may be queued at the gate
 *     bit 31  LW_BLOCKED_WAITERS  blocking waiters may be asleep on this word
 *
 * The word is a primitive's first; the second is the gate, always 0 and never written: only an address at which async waiters
 * queue. Were threads and event loops to queue at one address, a notify could go to an event loop that is busy, while threads sleep
 * behind it.
 *
 * The mutex wakes one waiter at a time, and a wake obliges (core/mutex.c). Everything else wakes all who wait whenever it changes
 * in a way that could matter to them, which needs no such care:
 *
 *   1. A waiter marks the word with its bit before it waits, and waits only while the word holds what it marked.
 *   2. Whoever changes the word to somebody's advantage clears both bits with the same operation, and then wakes everybody they
 * named.
 *   3. So a waiter asleep for good would need a word that changed after its mark without rule 2. A bit that is left behind by a
 * waiter that gave up costs one notify, and nobody owes anybody anything.
 */
#ifndef LOCKWORD_CORE_WAITERS_H
#define LOCKWORD_CORE_WAITERS_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

/* The words that all primitives begin with. */
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
 * Rule 1, the end of every step: marks the state, which was seen to hold `seen`, with the waiter's bit and the bits of `mark`, and
 * answers what to do: to wait in this `way`, after LW_QUEUE if the caller is async and not queued; LW_RETRY if the state holds
 * something else by now; LW_GAVE_UP if that is the reason.
 */
lw_answer lw_waiters_wait(lw_word *words, uint32_t seen, uint32_t mark, uint32_t way, uint32_t why, lw_phase phase);

/* Rule 2: changes the state from `seen` to `next` less the waiters' bits, and wakes all whom `seen` names. Answers what it held:
 * `seen`, or look again. */
uint32_t lw_waiters_change(lw_word *words, uint32_t seen, uint32_t next);

#ifdef __cplusplus
}
#endif

#endif
