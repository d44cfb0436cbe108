/* rwlock.c: the read-write lock's steps. The meaning of the words is in core/rwlock.h. */
#include <lockword/core/rwlock.h>
#include <lockword/core/waiters.h>

#define HOLDERS (LW_RWLOCK_READERS | LW_RWLOCK_UPGRADABLE | LW_RWLOCK_WRITER)
#define CLAIMS (LW_RWLOCK_READERS_TURN | LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_RESERVED)

/* The phase: what a locker remembers from one call to the next. */
#define WAITED_FOR_WRITER 0x1u /* waited while an agent wrote */
#define CLAIMED 0x2u           /* may have set a claim */
#define ENTITLED 0x4u          /* the lock stayed free through a brief wait: the claims are stale */
#define ONE_WAKE 0x8u          /* bits from here on: waits without success, up to MAX_WAKES */

/*
 * A reader that saw a writer while it waited goes first after that writer. A reader that was woken
 * this often, and was never fast enough to see one, goes first all the same. A future owner that
 * was woken this often reserves the lock.
 */
#ifndef MAX_WAKES
#define MAX_WAKES 8u
#endif
#define WOKEN_OFTEN (MAX_WAKES * ONE_WAKE)

/*
 * A way to lock is given by what the caller has before (0 or UPGRADABLE) and after (READER,
 * UPGRADABLE or WRITER). This function returns the holders that exclude it. Not inlined, like two
 * more functions below, since they have several callers.
 */
__attribute__((noinline)) static uint32_t excluded_by(uint32_t before, uint32_t after)
{
    if (after == LW_RWLOCK_READER)
        return LW_RWLOCK_WRITER;
    if (after == LW_RWLOCK_UPGRADABLE)
        return LW_RWLOCK_WRITER | LW_RWLOCK_UPGRADABLE;
    return before ? LW_RWLOCK_READERS : HOLDERS;
}

/* Returns the turn that a caller may claim. */
static uint32_t turn_of(uint32_t after)
{
    return after == LW_RWLOCK_WRITER ? LW_RWLOCK_WRITERS_TURN : LW_RWLOCK_READERS_TURN;
}

/*
 * Returns all claims that a caller may set while it waits, and that it clears. An owner that
 * upgrades reserves nothing: it is the owner already, and takes from no future owner.
 */
__attribute__((noinline)) static uint32_t claims_of(uint32_t before, uint32_t after)
{
    return turn_of(after) | (before || after == LW_RWLOCK_READER ? 0 : LW_RWLOCK_RESERVED);
}

uint32_t lw_rwlock_state(const lw_word *rwlock)
{
    return lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed);
}

uint32_t lw_rwlock_owner(const lw_word *rwlock)
{
    return lw_load(&rwlock[LW_RWLOCK_OWNER], lw_relaxed);
}

/*
 * Returns whether the caller has `before`, from which it wants to become something else. Each step
 * checks this whenever it is resumed: an agent has several callers, and another one may have given
 * up meanwhile what this one had when its wait began.
 */
static bool has(const lw_word *rwlock, uint32_t state, uint32_t before, uint32_t self)
{
    return state & before && lw_rwlock_owner(rwlock) == self;
}

static bool was_woken_often(lw_phase phase)
{
    return phase >= WOKEN_OFTEN;
}

/* Returns whether the caller has to let others go first, although no holder excludes it. */
static bool is_barred(uint32_t state, uint32_t after, lw_phase phase)
{
    if (phase & ENTITLED)
        return false;
    if (after != LW_RWLOCK_READER && state & LW_RWLOCK_RESERVED && phase < ONE_WAKE)
        return true;
    if (after == LW_RWLOCK_WRITER)
        return state & LW_RWLOCK_READERS_TURN;
    return state & LW_RWLOCK_WRITERS_TURN && !(state & LW_RWLOCK_READERS_TURN) &&
           !(phase & WAITED_FOR_WRITER) && !was_woken_often(phase);
}

/* Returns whether there is no place for one more reader, of either kind. */
__attribute__((noinline)) static bool is_full(uint32_t state, uint32_t after)
{
    const uint32_t kept = state & LW_RWLOCK_UPGRADABLE ? 1 : 0;
    return after != LW_RWLOCK_WRITER && (state & LW_RWLOCK_READERS) + kept >= LW_RWLOCK_READERS;
}

/*
 * Takes the lock, and returns what the word held: `state`, or a newer value to look at. An entitled
 * caller ends all claims, since they are stale.
 */
static uint32_t take(lw_word *rwlock, uint32_t state, uint32_t before, uint32_t after,
                     uint32_t self, lw_phase phase)
{
    const uint32_t ended = phase & ENTITLED ? CLAIMS : claims_of(before, after);
    const uint32_t seen =
        lw_cas(&rwlock[LW_RWLOCK_STATE], state, (state & ~ended) - before + after, lw_acquire);
    if (seen == state && after != LW_RWLOCK_READER)
        lw_store(&rwlock[LW_RWLOCK_OWNER], self, lw_relaxed);
    return seen;
}

/*
 * Takes the claims back, and wakes the agents that they kept waiting. Other waiters with the same
 * claim set it again.
 */
static void withdraw(lw_word *rwlock, uint32_t claims)
{
    uint32_t seen = lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed);
    while (seen & claims) {
        const uint32_t state = seen;
        seen = lw_waiters_change(rwlock, state, state & ~claims);
        if (seen == state)
            return;
    }
}

static lw_phase resume(lw_phase phase, uint32_t why, uint32_t state)
{
    const uint32_t reason = why & LW_WHY;
    if (reason == LW_SLICE && !(state & HOLDERS))
        return phase | ENTITLED;
    return (reason == LW_OK || reason == LW_NOT_EQUAL) && !was_woken_often(phase) ? phase + ONE_WAKE
                                                                                  : phase;
}

static lw_answer lock_step(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t self,
                           uint32_t why, lw_phase phase)
{
    const uint32_t state = lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed);
    const uint32_t refused = before && !has(rwlock, state, before, self) ? LW_NOT_OWNER
                             : is_full(state, after)                     ? LW_OVERFLOW
                                                                         : 0;
    phase = resume(phase, why, state);
    if (!refused && !(state & excluded_by(before, after)) &&
        (before || !is_barred(state, after, phase)))
        return lw_answer_of(take(rwlock, state, before, after, self, phase) == state ? LW_DONE
                                                                                     : LW_RETRY,
                            0, phase, 0);
    if (phase & CLAIMED && (refused || lw_gives_up(why)))
        withdraw(rwlock, claims_of(before, after));
    if (refused)
        return lw_answer_of(refused, 0, 0, 0);
    if (!before && !(why & LW_ASYNC) && lw_rwlock_owner(rwlock) == self)
        return lw_answer_of(LW_DEADLOCK, 0, 0, 0);

    uint32_t claim = 0;
    if (after == LW_RWLOCK_WRITER || state & LW_RWLOCK_WRITER)
        claim = turn_of(after);
    if (was_woken_often(phase))
        claim |= claims_of(before, after) & LW_RWLOCK_RESERVED;
    if (claim)
        phase |= CLAIMED;
    if (state & LW_RWLOCK_WRITER)
        phase |= WAITED_FOR_WRITER;
    return lw_waiters_wait(rwlock, state, claim, state & HOLDERS ? LW_WAIT_IDLE : LW_WAIT_BRIEF,
                           why, phase & ~ENTITLED);
}

lw_answer lw_rwlock_read_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase)
{
    return lock_step(rwlock, 0, LW_RWLOCK_READER, self, why, phase);
}

lw_answer lw_rwlock_upread_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase)
{
    return lock_step(rwlock, 0, LW_RWLOCK_UPGRADABLE, self, why, phase);
}

lw_answer lw_rwlock_write_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase)
{
    return lock_step(rwlock, 0, LW_RWLOCK_WRITER, self, why, phase);
}

lw_answer lw_rwlock_upgrade_step(lw_word *rwlock, uint32_t self, uint32_t why, lw_phase phase)
{
    return lock_step(rwlock, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER, self, why, phase);
}

bool lw_rwlock_try_step(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t self)
{
    uint32_t seen = lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed);
    if (before && !has(rwlock, seen, before, self))
        return false;
    while (!(seen & excluded_by(before, after)) && !is_full(seen, after)) {
        const uint32_t state = seen;
        seen = take(rwlock, state, before, after, self, 0);
        if (seen == state)
            return true;
    }
    return false;
}

bool lw_rwlock_unread_step(lw_word *rwlock)
{
    uint32_t seen = lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        const uint32_t readers = state & LW_RWLOCK_READERS;
        if (readers == 0)
            return false;
        /* Only the last reader to leave makes room for another agent. */
        if (readers == 1)
            seen = lw_waiters_change(rwlock, state, state - 1);
        else
            seen = lw_cas(&rwlock[LW_RWLOCK_STATE], state, state - 1, lw_release);
    } while (seen != state);
    return true;
}

bool lw_rwlock_become_step(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t self)
{
    uint32_t seen = lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed);
    if (!has(rwlock, seen, before, self))
        return false;
    if (after != LW_RWLOCK_UPGRADABLE)
        lw_store(&rwlock[LW_RWLOCK_OWNER], 0, lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        seen = lw_waiters_change(rwlock, state, state - before + after);
    } while (seen != state);
    return true;
}
