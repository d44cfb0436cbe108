/*
 * core/robust.h: the robust mutex's three words: a mutex (core/mutex.h), and what became of the
 * data that it guards.
 *
 *     words 0-1  the mutex
 *     word 2, fate    bit 0      OWNER_DIED  a holder died, and no later holder has declared the
 *                                            data sound
 *                     bit 1      ABANDONED   a holder has given the data up
 *                     bits 2-31  NAME        which object this is: the words are used again after
 *                                            a removal, with another number
 *
 * Only the holder writes the fate, or the agent that buries the holder, before it frees the mutex.
 * So the mutex orders all writes of the fate, and locking is the mutex's own lock, unchanged: its
 * caller looks at the fate once it holds the mutex.
 *
 *     fate               the next holder        who changes it, and how
 *     NAME               is told nothing        a burial: + OWNER_DIED
 *     NAME + OWNER_DIED  is told, and may mend  its holder: - OWNER_DIED when it unlocks, or
 *                        the data               ABANDONED instead of it
 *     NAME + ABANDONED   frees it at once       a holder that resets it: OWNER_DIED instead
 */
#ifndef LOCKWORD_CORE_ROBUST_H
#define LOCKWORD_CORE_ROBUST_H

#include <lockword/core/mutex.h>

enum {
    LW_ROBUST_FATE = LW_MUTEX_WORDS,
    LW_ROBUST_WORDS,
};

#define LW_ROBUST_OWNER_DIED 0x00000001u
#define LW_ROBUST_ABANDONED 0x00000002u
#define LW_ROBUST_NAME 0xfffffffcu
/* The names' numbers are multiples of this. */
#define LW_ROBUST_ONE_NAME 0x00000004u

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the fate. The caller holds the mutex; if not, the result may be outdated. */
LW_INLINE uint32_t lw_robust_fate(const lw_word *robust)
{
    return lw_load(&robust[LW_ROBUST_FATE], lw_relaxed);
}

/* Sets the fate. The caller holds the mutex. */
LW_INLINE void lw_robust_decide(lw_word *robust, uint32_t fate)
{
    lw_store(&robust[LW_ROBUST_FATE], fate, lw_relaxed);
}

/*
 * Frees the mutex if self holds it, notifies, and returns true: then the data is declared sound,
 * unless it is abandoned. Returns false, with nothing changed, if self does not hold the mutex.
 * Should the caller die between the two operations, it is buried as the holder.
 */
LW_INLINE bool lw_robust_unlock(lw_word *robust, uint32_t self)
{
    const uint32_t fate = lw_robust_fate(robust);
    if (fate & LW_ROBUST_OWNER_DIED) {
        if (lw_mutex_owner(robust) != self)
            return false;
        lw_robust_decide(robust, fate & ~LW_ROBUST_OWNER_DIED);
    }
    return lw_mutex_free(robust, self) || lw_mutex_unlock_step(robust, self);
}

/* Notes that the holder has died, while no agent can take the mutex. */
void lw_robust_mourn(lw_word *robust);

/*
 * lw_mutex_bury_step, which also notes that the holder has died. If the agent that buries dies in
 * the middle, another one buries again. Illegal while another live agent buries the same agent.
 */
void lw_robust_bury(lw_word *robust, uint32_t dead);

#ifdef __cplusplus
}
#endif

#endif
