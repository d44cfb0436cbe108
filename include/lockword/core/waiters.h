/*
 * core/waiters.h: what all primitives but the condition do about their waiters. The core of the
 * core.
 *
 * Whatever else a word means, two of its bits mean the same in all of these primitives:
 *
 *     bit 30  LW_ASYNC_WAITERS    async waiters may be queued at the gate
 *     bit 31  LW_BLOCKED_WAITERS  blocking waiters may be asleep on this word
 *
 * This word is a primitive's first. The second is the gate. It is always 0 and never written: it is
 * only an address at which async waiters queue. If threads and event loops queued at one address, a
 * notify could go to an event loop that is busy, while threads sleep behind it. (A condition has
 * neither these bits nor a gate: core/cond.h.)
 *
 * There are two disciplines.
 *
 * *Wake all.* This is right where all waiters can go on. A primitive wakes all waiters whenever it
 * changes in a way that could matter to them:
 *
 *   1. A waiter marks the word with its bit before it waits, and waits only while the word holds
 *      the value that it marked.
 *   2. An agent that changes the word to a waiter's advantage clears both bits with the same
 *      operation, and then wakes all waiters that the bits stood for.
 *   3. So a waiter asleep for good would need a word that changed after its mark without rule 2. A
 *      bit that is left behind by a waiter that gave up costs one notify, and no waiter owes
 *      another one anything.
 *
 * *Wake as many as can go on, and a wake obliges.* The mutex, the semaphore, permits that have
 * owners and, for its writers, the read-write lock do this, where a crowd of woken threads would
 * find nothing. Rule 1 holds, and instead of rules 2 and 3 these do. (Permits that have owners keep
 * the mark for threads, and have rules of their own: core/permits.c.)
 *
 *   2. An agent that frees the word clears both bits with the same operation. Then it notifies as
 *      many threads as it serves, if the bit says that threads wait, and all event loops. An event
 *      loop runs when its own work lets it. If only one were notified, and it were busy, the others
 *      would wait for it.
 *   3. The bit stood for all threads, but the notify woke only some. So a thread that may have
 *      consumed a notify owes one: it takes what it waits for with the bit set again, or it sets
 *      the bit before it waits again, or it notifies another thread. A wake orders memory, in
 *      ECMAScript and in the kernel: the woken thread never reads the bit that was cleared by the
 *      operation which woke it. An event loop owes nothing: the notify that ended its wait ended
 *      all waits at the gate.
 *   4. A waiter that was overtaken too often starves, and reserves the word. For an event loop,
 *      once is too often: it runs later than a thread that was woken with it. (One that waits to
 *      write starves as soon as it waits: core/rwlock.c.) From then on only agents that have
 *      returned from a wait are entitled to it, whatever ended that wait. Suppose that only a
 *      notify entitled them: a waiter reserves the word, finds it changed when it would sleep, and
 *      no notify is on its way. Then nobody could take the word, the waiter included. The
 *      reservation lasts until a waiter that starves takes the word, or gives up and withdraws it;
 *      or until a waiter takes it whose wait ended with LW_NOT_EQUAL (lw_waiters_unreserves). If
 *      the next entitled waiter ended it, it would serve those that sleep ahead of the starving
 *      waiter, and not the starving waiter. If no waiter comes for a free, reserved word (its event
 *      loop is busy, or it died), a newcomer's brief wait ends. Then the newcomer is entitled, and
 *      starves, too.
 *
 * What a waiter owes, whether it is entitled, and how often it waited in vain is its phase, which
 * lw_waiters_resume keeps.
 */
#ifndef LOCKWORD_CORE_WAITERS_H
#define LOCKWORD_CORE_WAITERS_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

/* The words with which all these primitives begin. */
enum {
    LW_WAITERS_STATE = 0,
    LW_WAITERS_GATE = 1,
};

#define LW_ASYNC_WAITERS 0x40000000u
#define LW_BLOCKED_WAITERS 0x80000000u
#define LW_WAITERS (LW_ASYNC_WAITERS | LW_BLOCKED_WAITERS)

/*
 * The phase of a waiter whose wake obliges. Bits 2 to 7 are the primitive's own. The bits from 8 on
 * count waits without success, and re-checks.
 */
#define LW_OWES 0x0001u     /* may have consumed a notify, and has not passed it on */
#define LW_ENTITLED 0x0002u /* has returned from a wait */
#define LW_ONE_FAILED_WAIT 0x0100u

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rule 1, the end of each step whose waiters are all woken at once: marks the state, which was seen
 * to hold `seen`, with the waiter's bit and the bits of `mark`, and returns what to do. That is to
 * wait in this `way`, after LW_QUEUE if the caller is async and not queued; LW_RETRY if the state
 * holds another value by now; LW_GAVE_UP if that is the reason.
 */
lw_answer lw_waiters_wait(lw_word *words, uint32_t seen, uint32_t mark, uint32_t way, uint32_t why,
                          lw_phase phase);

/*
 * Rule 2 of *wake all*: changes the state from `seen` to `next` without the waiters' bits, and
 * wakes all waiters that `seen` stands for. Returns the value that the state held: if it is not
 * `seen`, nothing has changed.
 */
uint32_t lw_waiters_change(lw_word *words, uint32_t seen, uint32_t next);

/*
 * Wakes the waiters that the bits of `state` stand for: so many threads, and all event loops. May
 * be called when the words are gone: it uses only their addresses.
 */
void lw_waiters_notify(lw_word *words, uint32_t state, uint32_t threads);

/*
 * Where a wake obliges: returns the phase of a caller that was resumed for this reason. A wait that
 * has begun paid what was owed before it. The count grows with each wait without success until the
 * waiter starves, then with each re-check until it has made all of them. An event loop that queues
 * for its second wait starves. The primitive's own bits stay.
 */
lw_phase lw_waiters_resume(lw_phase phase, uint32_t why);

/* Where a wake obliges: returns whether the waiter was overtaken so often that it reserves. */
bool lw_waiters_starves(lw_phase phase);

/*
 * Where a wake obliges: returns whether a waiter that takes the word now ends the reservation: it
 * starves, or its wait ended with LW_NOT_EQUAL. The latter is for an event loop that polls, which
 * looks before its brief wait can end. If it did not end a reservation for which no waiter comes,
 * each later lock of such a loop would take a poll.
 *
 * LW_NOT_EQUAL also ends the wait of a thread that found the word changed before it slept, and each
 * wait of a driver that sleeps at another word (lw_wait_ringing). These may end a reservation too
 * early. No waiter is stranded by that: whoever takes the word leaves the waiters' bits in it, or
 * notifies those that they stand for; and a waiter that starves reserves again if it is woken in
 * vain.
 */
bool lw_waiters_unreserves(lw_phase phase, uint32_t why);

/*
 * Where a wake obliges: returns how to wait. A brief wait is for what `is_free`, but reserved, and
 * for a caller that has not waited yet. So each operation makes at most one brief wait.
 */
uint32_t lw_waiters_way(lw_phase phase, bool is_free);

#ifdef __cplusplus
}
#endif

#endif
