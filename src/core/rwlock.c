/*
 * rwlock.c: the read-write lock's steps. The meaning of the words is in core/rwlock.h.
 *
 * Threads that wait to write sleep on the state. One can go on at a time, so a wake obliges
 * (core/waiters.h). All others sleep on the generation: readers, upgradable readers, and an owner
 * that upgrades. All of them are woken at once. An unlock wakes one kind, as the turn says:
 *
 *   1. After a writer, the threads on the generation are woken; after readers, one writer. If a
 *      mark is outdated and none of that kind is asleep, the other kind is woken.
 *   2. An agent that wakes the threads on the generation clears their mark first, then moves the
 *      generation, then frees the lock. From that moment on the memory may be gone. A thread loads
 *      the generation before it marks the state. So if the mark was cleared after that, the thread
 *      is asleep by the notify, or finds that the generation has moved. Until the lock is free, it
 *      is LEAVING: threads that come now sleep on the state, whatever they wait for, and set MIXED.
 *      Then all that sleep there are woken. (If they set the mark again, an agent could be kept
 *      from freeing the lock for ever.)
 *   3. A thread that sleeps does not claim its turn again after another writer's turn has ended. So
 *      a reader that comes, and finds no claim but the mark of writers, wakes one of them, which
 *      claims. The unlock of a writer that wakes readers ends all writers' claims, so that these
 *      readers may go on.
 *   4. A thread that may have been woken for a turn, and gives up, wakes as an unlock does.
 *   5. An event loop reserves the lock as soon as it waits to write, since it runs later than a
 *      thread that was woken with it (docs/experiments.md, 'When an event loop reserves').
 */
#include <lockword/core/rwlock.h>
#include <lockword/core/waiters.h>

#define HOLDERS (LW_RWLOCK_READERS | LW_RWLOCK_UPGRADABLE | LW_RWLOCK_WRITER)
#define CLAIMS (LW_RWLOCK_READERS_TURN | LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_RESERVED)

/* The phase's own bits. */
#define WAITED_FOR_WRITER 0x0004u /* waited while an agent wrote: reads first after that writer */
#define CLAIMED 0x0008u           /* may have set a claim */

/* The generation's bits. Fewer are explored, so that there are fewer states. */
#ifndef GENERATIONS
#define GENERATIONS 0xffffffffu
#endif

/*
 * What a caller asks for is given by what it has before (0 or UPGRADABLE) and after (READER,
 * UPGRADABLE or WRITER). This function returns the holders that exclude that. It has several
 * callers, all on slow paths, as has is_full: inlined in all of them, the two would make the code
 * larger.
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

/* Returns whether the caller has to let others go first, although no holder excludes it. */
static bool is_barred(uint32_t state, uint32_t after, lw_phase phase)
{
    if (after != LW_RWLOCK_READER && state & LW_RWLOCK_RESERVED && !(phase & LW_ENTITLED))
        return true;
    if (after == LW_RWLOCK_WRITER)
        return state & LW_RWLOCK_READERS_TURN;
    return state & LW_RWLOCK_WRITERS_TURN && !(state & LW_RWLOCK_READERS_TURN) &&
           !(phase & WAITED_FOR_WRITER) && !lw_waiters_starves(phase);
}

/* Returns whether there is no place for one more reader, of either kind. */
__attribute__((noinline)) static bool is_full(uint32_t state, uint32_t after)
{
    const uint32_t kept = state & LW_RWLOCK_UPGRADABLE ? 1 : 0;
    return after != LW_RWLOCK_WRITER && (state & LW_RWLOCK_READERS) + kept >= LW_RWLOCK_READERS;
}

/* Takes the lock, and returns what the word held: `state`, or a newer value to look at. */
static uint32_t take(lw_word *rwlock, uint32_t state, uint32_t next, uint32_t after, uint32_t self)
{
    const uint32_t seen = lw_cas(&rwlock[LW_RWLOCK_STATE], state, next, lw_acquire);
    if (seen == state && after != LW_RWLOCK_READER)
        lw_store(&rwlock[LW_RWLOCK_OWNER], self, lw_unordered);
    return seen;
}

/*
 * Moves the generation, unless another agent does so at the same time. Release: a thread that loads
 * the new one also finds that its mark was cleared.
 */
static void move_generation(lw_word *rwlock)
{
    const uint32_t generation = lw_load(&rwlock[LW_RWLOCK_GENERATION], lw_relaxed);
    lw_cas(&rwlock[LW_RWLOCK_GENERATION], generation, (generation + 1) & GENERATIONS, lw_release);
}

/*
 * Goes from `before` to `after` (0 is nothing), ends these claims, sets the mark that is owed, and
 * wakes those who may go on: rules 1 and 2. Returns false, with nothing changed, if `before` is
 * READER and no agent reads.
 */
static bool give(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t claims, uint32_t owed)
{
    uint32_t readers_mark = 0; /* if this function has cleared it */
    uint32_t seen = lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed);
    for (;;) {
        const uint32_t state = seen;
        if (before == LW_RWLOCK_READER && !(state & LW_RWLOCK_READERS))
            return false;
        const uint32_t remains = (((state | owed) & ~claims) - before) + after;
        /* Only the last reader to leave makes room for another agent. */
        const bool wakes = !(remains & LW_RWLOCK_WRITER) &&
                           !(before == LW_RWLOCK_READER && remains & LW_RWLOCK_READERS);
        if (wakes && state & LW_RWLOCK_BLOCKED_READERS) {
            const uint32_t cleared = (state & ~LW_RWLOCK_BLOCKED_READERS) | LW_RWLOCK_LEAVING;
            /* Acquire: the generation that is loaded next is the one of the last clearing. */
            seen = lw_cas(&rwlock[LW_RWLOCK_STATE], state, cleared, lw_acquire);
            if (seen == state) {
                move_generation(rwlock);
                readers_mark = LW_RWLOCK_BLOCKED_READERS;
                seen = cleared;
            }
            continue;
        }
        const bool writer_sleeps = wakes && !(remains & LW_RWLOCK_MIXED) && !(remains & HOLDERS) &&
                                   remains & LW_BLOCKED_WAITERS;
        const bool writer_first =
            writer_sleeps && before != LW_RWLOCK_WRITER && !(remains & LW_RWLOCK_READERS_TURN);
        const uint32_t mark_again = writer_first ? readers_mark : 0;
        uint32_t ends = LW_RWLOCK_LEAVING;
        if (wakes)
            ends |= LW_ASYNC_WAITERS | LW_RWLOCK_MIXED;
        const bool wakes_mixed = wakes && remains & LW_RWLOCK_MIXED;
        if (wakes_mixed || (writer_sleeps && (writer_first || readers_mark == 0)))
            ends |= LW_BLOCKED_WAITERS;
        if (before == LW_RWLOCK_WRITER && readers_mark != 0)
            ends |= LW_RWLOCK_WRITERS_TURN;
        /* Acquire: pairs with the marks, so that the notifies come after the waits. */
        seen = lw_cas(&rwlock[LW_RWLOCK_STATE], state, (remains & ~ends) | mark_again, lw_acq_rel);
        if (seen != state)
            continue;
        /*
         * From here on the memory may be gone. Event loops are first, since one that is woken after
         * a thread often waits for that thread's CPU.
         */
        if (wakes && remains & LW_ASYNC_WAITERS)
            lw_notify_async(&rwlock[LW_RWLOCK_GATE], LW_ALL);
        uint32_t woken = 0;
        if (writer_first)
            woken = lw_notify(&rwlock[LW_RWLOCK_STATE], 1);
        /* Also if another agent has come in between: the threads whose mark is gone look again. */
        if (woken == 0 && readers_mark != 0)
            woken = lw_notify(&rwlock[LW_RWLOCK_GENERATION], LW_ALL);
        if (wakes_mixed || (woken == 0 && writer_sleeps && !writer_first))
            lw_notify(&rwlock[LW_RWLOCK_STATE], wakes_mixed ? LW_ALL : 1);
        return true;
    }
}

/* Returns the phase of a caller that was resumed for this reason. */
static lw_phase resume(lw_phase phase, uint32_t why, bool writes)
{
    /*
     * A caller that has not waited has phase 0: that its time is up entitles it to nothing. Readers
     * that starve pass a writer whose turn it is, so a loop's first wake-up in vain does not make a
     * reader starve. One that waits to write starves anyway.
     */
    if (phase == 0 || (why & LW_WHY) == LW_AGAIN)
        return phase;
    /* Only writers re-check for fairness, so only they starve by a re-check. */
    const bool rechecks = (why & LW_WHY) == LW_SLICE && !writes;
    return lw_waiters_resume(phase, rechecks ? LW_OK | (why & LW_ASYNC) : why);
}

static lw_answer lock_step(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t self,
                           uint32_t why, lw_phase phase)
{
    const bool async = why & LW_ASYNC;
    /*
     * An upgrade is neither of these. Its caller is an owner already: it waits for readers only,
     * beside those that sleep on the generation, and no claim bars it.
     */
    const bool writes = !before && after == LW_RWLOCK_WRITER;
    const bool will_own = !before && after != LW_RWLOCK_READER;
    phase = resume(phase, why, writes);
    const bool starves = (writes && async) || lw_waiters_starves(phase);
    /* Before the state: rule 2. */
    const uint32_t generation =
        async || writes ? 0 : lw_load(&rwlock[LW_RWLOCK_GENERATION], lw_acquire);
    uint32_t seen = lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed);
    for (;;) {
        const uint32_t state = seen;
        const bool is_free = !(state & HOLDERS);
        /* The lock stayed free through a brief wait: those who claim it do not come. */
        const bool is_stale = is_free && (why & LW_WHY) == LW_SLICE;
        const uint32_t owed = writes && phase & LW_OWES ? LW_BLOCKED_WAITERS : 0;
        const uint32_t turn = phase & CLAIMED ? turn_of(after) : 0;
        const uint32_t refused = before && !has(rwlock, state, before, self) ? LW_NOT_OWNER
                                 : is_full(state, after)                     ? LW_OVERFLOW
                                                                             : 0;
        if (!refused && !(state & excluded_by(before, after)) &&
            (before || is_stale || !is_barred(state, after, phase))) {
            /* Rule 3. */
            const bool wakes_writer = after != LW_RWLOCK_WRITER && !(phase & LW_ENTITLED) &&
                                      state & LW_BLOCKED_WAITERS &&
                                      !(state & (LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_MIXED));
            const bool unreserves = will_own && (starves || lw_waiters_unreserves(phase, why));
            const uint32_t claims = turn | (unreserves ? LW_RWLOCK_RESERVED : 0);
            const uint32_t ended =
                (is_stale ? CLAIMS : claims) | (wakes_writer ? LW_BLOCKED_WAITERS : 0);
            const uint32_t next = ((state & ~ended) | owed) - before + after;
            seen = take(rwlock, state, next, after, self);
            if (seen != state)
                continue;
            if (wakes_writer)
                lw_notify(&rwlock[LW_RWLOCK_STATE], 1);
            return lw_answer_of(LW_DONE, 0, 0, 0);
        }
        if (refused || lw_gives_up(why)) {
            /* A caller that starves, but has claimed nothing, has not reserved either. */
            const uint32_t claims = turn | (turn && will_own && starves ? LW_RWLOCK_RESERVED : 0);
            if (phase & (CLAIMED | LW_OWES))
                give(rwlock, 0, 0, claims, owed);
            return lw_answer_of(refused ? refused : (uint32_t)LW_GAVE_UP, 0, 0, 0);
        }
        if (!before && !async && lw_rwlock_owner(rwlock) == self)
            return lw_answer_of(LW_DEADLOCK, 0, 0, 0);
        const lw_phase waited = phase | (state & LW_RWLOCK_WRITER ? WAITED_FOR_WRITER : 0);
        if (async && !(why & LW_QUEUED))
            return lw_answer_of(LW_QUEUE, LW_RWLOCK_GATE, waited, 0);

        /* Nobody claims a free lock: those whose turn it is are on their way. */
        uint32_t claim = 0;
        if (!is_free) {
            if (after == LW_RWLOCK_WRITER || state & LW_RWLOCK_WRITER)
                claim = turn_of(after);
            if (will_own && starves)
                claim |= LW_RWLOCK_RESERVED;
        }
        const bool at_state = writes || state & LW_RWLOCK_LEAVING;
        const uint32_t mark = async      ? LW_ASYNC_WAITERS
                              : writes   ? LW_BLOCKED_WAITERS
                              : at_state ? LW_BLOCKED_WAITERS | LW_RWLOCK_MIXED
                                         : LW_RWLOCK_BLOCKED_READERS;
        const uint32_t marked = state | claim | mark;
        /* Release: an agent that sees the mark also sees the wait that was queued before it. */
        if (marked != state) {
            seen = lw_cas(&rwlock[LW_RWLOCK_STATE], state, marked, lw_release);
            if (seen != state)
                continue;
        }
        const uint32_t way =
            writes || is_free ? lw_waiters_way(phase, is_free) : (uint32_t)LW_WAIT_IDLE;
        return lw_answer_of(way,
                            async      ? LW_RWLOCK_GATE
                            : at_state ? LW_RWLOCK_STATE
                                       : LW_RWLOCK_GENERATION,
                            (waited & ~LW_OWES) | LW_ENTITLED | (claim ? CLAIMED : 0),
                            async      ? 0
                            : at_state ? marked
                                       : generation);
    }
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
        seen = take(rwlock, state, state - before + after, after, self);
        if (seen == state)
            return true;
    }
    return false;
}

bool lw_rwlock_unread_step(lw_word *rwlock)
{
    return give(rwlock, LW_RWLOCK_READER, 0, 0, 0);
}

bool lw_rwlock_become_step(lw_word *rwlock, uint32_t before, uint32_t after, uint32_t self)
{
    if (!has(rwlock, lw_load(&rwlock[LW_RWLOCK_STATE], lw_relaxed), before, self))
        return false;
    if (after != LW_RWLOCK_UPGRADABLE)
        lw_store(&rwlock[LW_RWLOCK_OWNER], 0, lw_unordered);
    return give(rwlock, before, after, 0, 0);
}
