/*
 * core/rwlock.h: the read-write lock's three words.
 *
 *     word 0, state   bits 0-23   READERS        how many read
 *                     bit 24      UPGRADABLE     one agent reads, and may become the writer without letting another in between
 *                     bit 25      WRITER         one agent writes: no READERS, not UPGRADABLE
 *                     bit 26      WRITERS_TURN   a writer waits: readers that come now let it go first
 *                     bit 27      READERS_TURN   a reader waited while somebody wrote: writers let a reader go first
 *                     bit 28      RESERVED       an owner to be was overtaken too often: the next owner must have waited
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 *     word 2, owner   the agent that writes, or reads upgradably; written by itself alone
 *
 * An owner is who writes or reads upgradably: there is one at a time. An upgradable reader has its place among the READERS kept, so
 * that it can always become one: there are at most as many readers as these bits can count, one fewer beside an upgradable one.
 *
 * Phase-fair: a writer waits for the readers that are in, and for those that waited through the last writer; a reader waits for the
 * writer that it found, and at most eight wakes for others that were quicker. Among owners the fastest wins, until one has been
 * woken eight times in vain and reserves the lock: then those who have not waited stand back. What they claim is claimed by those
 * who wait, and goes with them: who takes the lock, or gives up, clears its own turn. One that is claimed by nobody alive lets go
 * after a brief wait.
 */
#ifndef LOCKWORD_CORE_RWLOCK_H
#define LOCKWORD_CORE_RWLOCK_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_RWLOCK_STATE = 0,
    LW_RWLOCK_GATE = 1,
    LW_RWLOCK_OWNER = 2,
    LW_RWLOCK_WORDS = 3,
};

#define LW_RWLOCK_READERS 0x00ffffffu
#define LW_RWLOCK_READER 0x00000001u
#define LW_RWLOCK_UPGRADABLE 0x01000000u
#define LW_RWLOCK_WRITER 0x02000000u
#define LW_RWLOCK_WRITERS_TURN 0x04000000u
#define LW_RWLOCK_READERS_TURN 0x08000000u
#define LW_RWLOCK_RESERVED 0x10000000u

#ifdef __cplusplus
extern "C" {
#endif

/* Reads, or writes, if nobody waits and nobody is in the way. The fast halves of the steps. */
LW_INLINE bool lw_rwlock_take_read(lw_word *rwlock)
{
    uint32_t seen = lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed);
    while (seen < LW_RWLOCK_READERS) {
        const uint32_t state = seen;
        seen = lw_cas(&rwlock[LW_RWLOCK_STATE], state, state + LW_RWLOCK_READER, lw_acquire);
        if (seen == state)
            return true;
    }
    return false;
}

LW_INLINE bool lw_rwlock_take_write(lw_word *rwlock, uint32_t self)
{
    if (lw_cas(&rwlock[LW_RWLOCK_STATE], 0, LW_RWLOCK_WRITER, lw_acquire) != 0)
        return false;
    lw_store(&rwlock[LW_RWLOCK_OWNER], self, lw_relaxed);
    return true;
}

/* The state right now, and the agent that writes or reads upgradably; 0: none. */
uint32_t lw_rwlock_state(const lw_word *rwlock);
uint32_t lw_rwlock_owner(const lw_word *rwlock);

/*
 * Steps: read, read upgradably, write; and become the writer, for the upgradable reader. LW_OVERFLOW, of the first two: there are
 * too many readers. LW_NOT_OWNER, of the last, whenever it is called: self does not read upgradably, or not any more, since another
 * caller of the same agent has given that up, or has become the writer.
 */
lw_answer lw_rwlock_read_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase);
lw_answer lw_rwlock_upread_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase);
lw_answer lw_rwlock_write_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase);
lw_answer lw_rwlock_upgrade_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase);

/*
 * Goes from having `before` (0, or LW_RWLOCK_UPGRADABLE, which must be the caller's) to `after` (LW_RWLOCK_READER,
 * LW_RWLOCK_UPGRADABLE or LW_RWLOCK_WRITER) if nobody is in the way, whoever's turn it is. Answers whether it did.
 */
bool lw_rwlock_try_step(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t self);

/*
 * Goes from LW_RWLOCK_WRITER or LW_RWLOCK_UPGRADABLE to something less, 0 being nothing, and wakes. Answers false, with nothing
 * changed, if self does not have it.
 */
bool lw_rwlock_become_step(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t self);

/* Gives up a read, and wakes. Answers false, with nothing changed, if nobody reads. */
bool lw_rwlock_unread_step(lw_word *rwlock);

#ifdef __cplusplus
}
#endif

#endif
