/*
 * core/rwlock.h: the read-write lock's four words.
 *
 *     word 0, state   bits 0-21   READERS       how many agents read
 *                     bit 22      LEAVING       an agent is about to wake those on word 3
 *                     bit 23      MIXED         not only writers may be asleep on this word
 *                     bit 24      UPGRADABLE    one agent reads, and may become the writer; no
 *                                               other agent writes in between
 *                     bit 25      WRITER        one agent writes: no READERS, not UPGRADABLE
 *                     bit 26      WRITERS_TURN  a writer waits: readers that come now let it go
 *                                               first
 *                     bit 27      READERS_TURN  a reader waited while an agent wrote: writers let
 *                                               a reader go first
 *                     bit 28      RESERVED      a future owner starves: the next owner must have
 *                                               waited
 *                     bit 29      BLOCKED_READERS  threads may be asleep on word 3
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 *     word 2, owner   the agent that writes or reads upgradably; only that agent writes this word
 *     word 3, generation  moves before the threads on it are woken, modulo 2^32
 *
 * An owner is an agent that writes or reads upgradably: there is at most one at a time. A place
 * among the READERS is kept for an upgradable reader, so that it can always become a reader. So
 * there are at most as many readers as these bits can count, and one fewer beside an upgradable
 * reader.
 *
 * The lock is phase-fair. A writer waits for the readers that have the lock, and for the readers
 * that waited during the last writer. A reader waits for the writer that it found. An agent that
 * was overtaken too often reserves the lock, or reads although it is a writer's turn. An event loop
 * reserves the lock as soon as it waits to write. A claim (a turn, or the reservation) belongs to
 * agents that wait, and ends with them: an agent that claimed and takes the lock, or gives up,
 * clears its claims. A claim of an agent that died ends after a brief wait.
 *
 * Threads that wait to write sleep on the state, and an unlock wakes one of them. All others sleep
 * on the generation, and an unlock wakes all of them. It wakes a writer and the others only if a
 * thread began to wait between its two compare-and-swaps: core/rwlock.c.
 */
#ifndef LOCKWORD_CORE_RWLOCK_H
#define LOCKWORD_CORE_RWLOCK_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_RWLOCK_STATE = 0,
    LW_RWLOCK_GATE = 1,
    LW_RWLOCK_OWNER = 2,
    LW_RWLOCK_GENERATION = 3,
    LW_RWLOCK_WORDS = 4,
};

#define LW_RWLOCK_READERS 0x003fffffu
#define LW_RWLOCK_READER 0x00000001u
#define LW_RWLOCK_LEAVING 0x00400000u
#define LW_RWLOCK_MIXED 0x00800000u
#define LW_RWLOCK_UPGRADABLE 0x01000000u
#define LW_RWLOCK_WRITER 0x02000000u
#define LW_RWLOCK_WRITERS_TURN 0x04000000u
#define LW_RWLOCK_READERS_TURN 0x08000000u
#define LW_RWLOCK_RESERVED 0x10000000u
#define LW_RWLOCK_BLOCKED_READERS 0x20000000u

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The fast paths of the steps: what they do if no agent waits. They return false, with nothing
 * changed, if the step has to be called.
 *
 * They guess the state rather than load it, since the load would cost nearly half of the
 * compare-and-swap after it. A guess that fails returns the state, and brings the cache line here
 * for another try. To begin a read, one more is enough: threads that fail twice are many, and had
 * better back off.
 */
LW_INLINE bool lw_rwlock_take_read(lw_word *rwlock)
{
    const uint32_t seen = lw_cas(&rwlock[LW_RWLOCK_STATE], 0, LW_RWLOCK_READER, lw_acquire);
    /* Less than READERS: no other bit is set, and there is a place for one more. */
    return seen == 0 ||
           (seen < LW_RWLOCK_READERS &&
            lw_cas(&rwlock[LW_RWLOCK_STATE], seen, seen + LW_RWLOCK_READER, lw_acquire) == seen);
}

LW_INLINE bool lw_rwlock_free_read(lw_word *rwlock)
{
    uint32_t seen = LW_RWLOCK_READER;
    do {
        const uint32_t state = seen;
        seen = lw_cas(&rwlock[LW_RWLOCK_STATE], state, state - LW_RWLOCK_READER, lw_release);
        if (seen == state)
            return true;
    } while (seen != 0 && seen <= LW_RWLOCK_READERS);
    return false;
}

LW_INLINE bool lw_rwlock_take_write(lw_word *rwlock, uint32_t self)
{
    if (lw_cas(&rwlock[LW_RWLOCK_STATE], 0, LW_RWLOCK_WRITER, lw_acquire) != 0)
        return false;
    lw_store(&rwlock[LW_RWLOCK_OWNER], self, lw_unordered);
    return true;
}

LW_INLINE bool lw_rwlock_free_write(lw_word *rwlock, uint32_t self)
{
    if (lw_load(&rwlock[LW_RWLOCK_OWNER], lw_unordered) != self)
        return false;
    /*
     * This precedes the swap that frees the lock: after it, the next owner may come, and the memory
     * may be gone.
     */
    lw_store(&rwlock[LW_RWLOCK_OWNER], 0, lw_unordered);
    if (lw_cas(&rwlock[LW_RWLOCK_STATE], LW_RWLOCK_WRITER, 0, lw_release) == LW_RWLOCK_WRITER)
        return true;
    lw_store(&rwlock[LW_RWLOCK_OWNER], self, lw_unordered);
    return false;
}

/* Return the state of this moment, and the agent that writes or reads upgradably (0: none). */
uint32_t lw_rwlock_state(const lw_word *rwlock);
uint32_t lw_rwlock_owner(const lw_word *rwlock);

/*
 * Steps: read, read upgradably, write; and become the writer, for the upgradable reader. The first
 * two return LW_OVERFLOW if there are too many readers. The last returns LW_NOT_OWNER, on any call,
 * if self does not read upgradably, or not any more, since another caller of the same agent has
 * given that up or has become the writer.
 */
lw_answer lw_rwlock_read_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase);
lw_answer lw_rwlock_upread_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase);
lw_answer lw_rwlock_write_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase);
lw_answer lw_rwlock_upgrade_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase);

/*
 * Goes from `before` (0, or LW_RWLOCK_UPGRADABLE, which the caller must have) to `after`
 * (LW_RWLOCK_READER, LW_RWLOCK_UPGRADABLE or LW_RWLOCK_WRITER) if no holder excludes that, whatever
 * claims waiters have. Returns whether it did.
 */
bool lw_rwlock_try_step(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t self);

/*
 * Goes from LW_RWLOCK_WRITER or LW_RWLOCK_UPGRADABLE to something less (0 is nothing), and wakes.
 * Returns false, with nothing changed, if self does not have `before`.
 */
bool lw_rwlock_become_step(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t self);

/* Gives up a read, and wakes. Returns false, with nothing changed, if no agent reads. */
bool lw_rwlock_unread_step(lw_word *rwlock);

#ifdef __cplusplus
}
#endif

#endif
