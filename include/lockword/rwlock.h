/*
 * rwlock.h: many readers, or one writer.
 *
 *     static lw_rwlock lock = LW_RWLOCK_INIT;             // or any zeroed memory
 *
 *     lw_rwlock_rdlock(&lock);                            // any number at a time
 *     value = lookup(key);
 *     lw_rwlock_unlock(&lock);
 *
 *     lw_rwlock_uplock(&lock);                            // one at a time, beside readers
 *     if (!lookup(key)) {
 *         lw_rwlock_upgrade(&lock);                       // waits for the readers to leave, and lets no writer in between
 *         insert(key);
 *     }
 *     lw_rwlock_unlock(&lock);
 *
 * Neither side starves the other: a writer that waits holds back readers that come later, and readers that waited while it wrote
 * go before the next writer. A turn that nobody comes for ends when the lock has been free for half a millisecond. Among writers,
 * and among those who read upgradably, the fastest wins, until one has been woken eight times in vain: then newcomers stand back.
 * Who gives up leaves nothing behind that would hold anybody back. The try forms take whatever is free, whoever's turn it is.
 *
 * What is illegal. Reading again while reading, except by lw_rwlock_tryrdlock: a writer that waits in between would hold back the
 * reader that holds it back. Asking for anything but upgrade or downgrade while writing or reading upgradably (EDEADLK). Upgrading
 * what was only rdlocked (EPERM): two readers that did would wait for each other, which is why one has to say beforehand that it
 * might.
 *
 * The lock knows its writer and its upgradable reader, but not its readers: unlocking somebody else's rdlock cannot be told from
 * unlocking one's own. What was written is seen by all who read or write after, and what was read before an unlock was read before
 * the next writer writes. 2^24 - 1 readers at a time, an upgradable one among them (EOVERFLOW); any number may wait. No count
 * wraps.
 */
#ifndef LOCKWORD_RWLOCK_H
#define LOCKWORD_RWLOCK_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/rwlock.h>
#include <lockword/errors.h>
#include <lockword/self.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_rwlock {
    lw_word word[LW_RWLOCK_WORDS];
} lw_rwlock;

/* clang-format off */
#define LW_RWLOCK_INIT {{0}}
/* clang-format on */

/* The halves of the functions below that wait; call those. */
enum lw_ending lw_rwlock_slow(lw_rwlock *rwlock, lw_step *step, lw_deadline deadline, lw_cancel *cancel);
enum lw_ending lw_rwlock_read_slow(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel);

/*
 * The halves of the functions below that are inlined: what the steps do if nobody waits; false, with nothing changed: call them.
 * They guess the state rather than look at it, since the look would be all but half as dear as the compare-and-swap after it. A
 * guess that fails has told the state, and has the word's cache line here for another try. One more is enough: those who fail twice
 * are many, and had better stand back.
 */
static inline bool lw_rwlock_enter_read(lw_rwlock *rwlock)
{
    lw_word *word = &rwlock->word[LW_RWLOCK_STATE];
    uint32_t state = 0;
    return __builtin_expect(lw_cas(word, &state, LW_RWLOCK_READER, lw_acquire), 1) ||
           (state < LW_RWLOCK_READERS && lw_cas(word, &state, state + LW_RWLOCK_READER, lw_acquire));
}

static inline bool lw_rwlock_leave_read(lw_rwlock *rwlock)
{
    uint32_t state = LW_RWLOCK_READER;
    do {
        if (__builtin_expect(lw_cas(&rwlock->word[LW_RWLOCK_STATE], &state, state - LW_RWLOCK_READER, lw_release), 1))
            return true;
    } while (LW_RWLOCK_READER < state && state <= LW_RWLOCK_READERS);
    return false;
}

static inline bool lw_rwlock_leave_write(lw_rwlock *rwlock, uint32_t self)
{
    uint32_t state = LW_RWLOCK_WRITER;
    if (lw_load(&rwlock->word[LW_RWLOCK_OWNER], lw_relaxed) != self)
        return false;
    /* Before the lock is free: the next owner may come at once, and the memory go. */
    lw_store(&rwlock->word[LW_RWLOCK_OWNER], 0, lw_relaxed);
    if (lw_cas(&rwlock->word[LW_RWLOCK_STATE], &state, 0, lw_release))
        return true;
    lw_store(&rwlock->word[LW_RWLOCK_OWNER], self, lw_relaxed);
    return false;
}

/*
 * What the tools of annotate.h are told when the caller gives up what it has for something else: first that it gives it up, and
 * which that was, then that it has the other. In between nobody but the library runs.
 */
static inline int lw_rwlock_note_change(lw_rwlock *rwlock)
{
    const int had = LW_ANNOTATE && lw_rwlock_owner(rwlock->word) == lw_self() && lw_rwlock_state(rwlock->word) & LW_RWLOCK_WRITER
                        ? LW_NOTE_WRITE
                        : LW_NOTE_READ;
    LW_NOTE_UNLOCKING(rwlock->word, had);
    return had;
}

static inline void lw_rwlock_note_changed(lw_rwlock *rwlock, int has)
{
    LW_NOTE_UNLOCKED(rwlock->word, has);
    LW_NOTE_LOCKING(rwlock->word, has | LW_NOTE_TRY);
    LW_NOTE_LOCKED(rwlock->word, has | LW_NOTE_TRY, true);
}

/* The try forms, for one who has nothing. */
static inline int lw_rwlock_try(lw_rwlock *rwlock, uint32_t after, uint32_t self, int how)
{
    LW_NOTE_LOCKING(rwlock->word, how);
    const bool taken = lw_rwlock_try_step(rwlock->word, 0, after, self);
    LW_NOTE_LOCKED(rwlock->word, how, taken);
    return taken ? 0 : EBUSY;
}

/*
 * Reads, beside other readers, waiting until the deadline, or until `cancel` (NULL: never) fires.
 * 0; EDEADLK: the caller writes, or reads upgradably and would have to wait; EOVERFLOW: there are 2^24 - 1 readers; ETIMEDOUT;
 * ECANCELED.
 */
LW_API int lw_rwlock_rdlock_cancel(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    const int how = LW_NOTE_READ | LW_NOTE_WAIT(deadline, cancel);
    LW_NOTE_LOCKING(rwlock->word, how);
    const int error = lw_rwlock_enter_read(rwlock) ? 0 : lw_error_of(lw_rwlock_read_slow(rwlock, deadline, cancel));
    LW_NOTE_LOCKED(rwlock->word, how, error == 0);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/* The same, without a way to cancel it. */
LW_API int lw_rwlock_rdlock_until(lw_rwlock *rwlock, lw_deadline deadline)
{
    return lw_rwlock_rdlock_cancel(rwlock, deadline, LW_NULL);
}

/* The same, for as long as it takes. */
LW_API int lw_rwlock_rdlock(lw_rwlock *rwlock)
{
    return lw_rwlock_rdlock_until(rwlock, LW_FOREVER);
}

/* The same, if it can be had at once, whoever's turn it is. Never waits. 0; EBUSY. */
LW_API int lw_rwlock_tryrdlock(lw_rwlock *rwlock)
{
    return lw_rwlock_try(rwlock, LW_RWLOCK_READER, 0, LW_NOTE_READ | LW_NOTE_TRY);
}

/*
 * Reads upgradably, beside readers, waiting until the deadline, or until `cancel` (NULL: never) fires.
 * 0; EDEADLK: the caller writes or reads upgradably; EOVERFLOW: there are 2^24 - 1 readers; ETIMEDOUT; ECANCELED.
 */
LW_API int lw_rwlock_uplock_cancel(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    const int how = LW_NOTE_READ | LW_NOTE_WAIT(deadline, cancel);
    LW_NOTE_LOCKING(rwlock->word, how);
    const int error = lw_error_of(lw_rwlock_slow(rwlock, lw_rwlock_upread_step, deadline, cancel));
    LW_NOTE_LOCKED(rwlock->word, how, error == 0);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/* The same, without a way to cancel it. */
LW_API int lw_rwlock_uplock_until(lw_rwlock *rwlock, lw_deadline deadline)
{
    return lw_rwlock_uplock_cancel(rwlock, deadline, LW_NULL);
}

/* The same, for as long as it takes. */
LW_API int lw_rwlock_uplock(lw_rwlock *rwlock)
{
    return lw_rwlock_uplock_until(rwlock, LW_FOREVER);
}

/* The same, if it can be had at once, whoever's turn it is. Never waits. 0; EBUSY. */
LW_API int lw_rwlock_tryuplock(lw_rwlock *rwlock)
{
    return lw_rwlock_try(rwlock, LW_RWLOCK_UPGRADABLE, lw_self(), LW_NOTE_READ | LW_NOTE_TRY);
}

/*
 * Writes, waiting until the deadline, or until `cancel` (NULL: never) fires.
 * 0; EDEADLK: the caller writes or reads upgradably; ETIMEDOUT; ECANCELED.
 */
LW_API int lw_rwlock_wrlock_cancel(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    LW_NOTE_LOCKING(rwlock->word, LW_NOTE_WAIT(deadline, cancel));
    const int error = lw_rwlock_take_write(rwlock->word, lw_self())
                          ? 0
                          : lw_error_of(lw_rwlock_slow(rwlock, lw_rwlock_write_step, deadline, cancel));
    LW_NOTE_LOCKED(rwlock->word, LW_NOTE_WAIT(deadline, cancel), error == 0);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/* The same, without a way to cancel it. */
LW_API int lw_rwlock_wrlock_until(lw_rwlock *rwlock, lw_deadline deadline)
{
    return lw_rwlock_wrlock_cancel(rwlock, deadline, LW_NULL);
}

/* The same, for as long as it takes. */
LW_API int lw_rwlock_wrlock(lw_rwlock *rwlock)
{
    return lw_rwlock_wrlock_until(rwlock, LW_FOREVER);
}

/* The same, if it can be had at once, whoever's turn it is. Never waits. 0; EBUSY. */
LW_API int lw_rwlock_trywrlock(lw_rwlock *rwlock)
{
    return lw_rwlock_try(rwlock, LW_RWLOCK_WRITER, lw_self(), LW_NOTE_TRY);
}

/*
 * Turns the caller's upgradable read into a write: waits until all readers have left, lets none in meanwhile, and no other writer.
 * 0; EPERM: the caller does not read upgradably (in WebAssembly a task of its event loop may give that up while it waits);
 * ETIMEDOUT, ECANCELED: it still reads upgradably.
 */
LW_API int lw_rwlock_upgrade_cancel(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    if (LW_ANNOTATE && lw_rwlock_owner(rwlock->word) != lw_self())
        return EPERM;
    const int had = lw_rwlock_note_change(rwlock);
    const int error = lw_error_of(lw_rwlock_slow(rwlock, lw_rwlock_upgrade_step, deadline, cancel));
    lw_rwlock_note_changed(rwlock, error == 0 ? LW_NOTE_WRITE : had);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/* The same, without a way to cancel it. */
LW_API int lw_rwlock_upgrade_until(lw_rwlock *rwlock, lw_deadline deadline)
{
    return lw_rwlock_upgrade_cancel(rwlock, deadline, LW_NULL);
}

/* The same, for as long as it takes. */
LW_API int lw_rwlock_upgrade(lw_rwlock *rwlock)
{
    return lw_rwlock_upgrade_until(rwlock, LW_FOREVER);
}

/* The same, if nobody else reads. Never waits. 0; EBUSY: somebody does, or the caller does not read upgradably. */
LW_API int lw_rwlock_tryupgrade(lw_rwlock *rwlock)
{
    if (LW_ANNOTATE && lw_rwlock_owner(rwlock->word) != lw_self())
        return EBUSY;
    const int had = lw_rwlock_note_change(rwlock);
    const int error = lw_rwlock_try_step(rwlock->word, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER, lw_self()) ? 0 : EBUSY;
    lw_rwlock_note_changed(rwlock, error == 0 ? LW_NOTE_WRITE : had);
    return error;
}

/* Turns the caller's write, or upgradable read, into a read, letting nobody write in between. Never waits. 0; EPERM: the caller has
 * neither. */
LW_API int lw_rwlock_downgrade(lw_rwlock *rwlock)
{
    const uint32_t self = lw_self();
    if (LW_ANNOTATE && lw_rwlock_owner(rwlock->word) != self)
        return EPERM;
    lw_rwlock_note_change(rwlock);
    const bool became = lw_rwlock_become_step(rwlock->word, LW_RWLOCK_WRITER, LW_RWLOCK_READER, self) ||
                        lw_rwlock_become_step(rwlock->word, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_READER, self);
    lw_rwlock_note_changed(rwlock, LW_NOTE_READ);
    return became ? 0 : EPERM;
}

/* Turns the caller's write into an upgradable read, letting nobody write in between. Never waits. 0; EPERM: the caller does not
 * write. */
LW_API int lw_rwlock_downgrade_upgradable(lw_rwlock *rwlock)
{
    if (LW_ANNOTATE && lw_rwlock_owner(rwlock->word) != lw_self())
        return EPERM;
    lw_rwlock_note_change(rwlock);
    const bool became = lw_rwlock_become_step(rwlock->word, LW_RWLOCK_WRITER, LW_RWLOCK_UPGRADABLE, lw_self());
    lw_rwlock_note_changed(rwlock, LW_NOTE_READ);
    return became ? 0 : EPERM;
}

/* Gives up the caller's write or upgradable read; if it has neither, a read. Never waits. 0; EPERM: nobody reads, and the caller
 * has nothing. */
LW_API int lw_rwlock_unlock(lw_rwlock *rwlock)
{
    const uint32_t self = lw_self();
    if (LW_ANNOTATE && lw_rwlock_owner(rwlock->word) != self && !(lw_rwlock_state(rwlock->word) & LW_RWLOCK_READERS))
        return EPERM;
    const int had = lw_rwlock_note_change(rwlock);
    /* The owner, who is looked at first, is on the same cache line. */
    lw_will_change(&rwlock->word[LW_RWLOCK_STATE]);
    const bool left = lw_rwlock_leave_write(rwlock, self) || lw_rwlock_leave_read(rwlock) ||
                      lw_rwlock_become_step(rwlock->word, LW_RWLOCK_WRITER, 0, self) ||
                      lw_rwlock_become_step(rwlock->word, LW_RWLOCK_UPGRADABLE, 0, self) || lw_rwlock_unread_step(rwlock->word);
    LW_NOTE_UNLOCKED(rwlock->word, had);
    return left ? 0 : EPERM;
}

/* How many read right now, an upgradable reader not counted. By the time the caller looks at the result it may be old. */
LW_API uint32_t lw_rwlock_readers(const lw_rwlock *rwlock)
{
    LW_NOTE_USE(rwlock->word);
    return lw_rwlock_state(rwlock->word) & LW_RWLOCK_READERS;
}

/* Whether somebody writes right now. By the time the caller looks at the result it may be old. */
LW_API bool lw_rwlock_is_write_locked(const lw_rwlock *rwlock)
{
    LW_NOTE_USE(rwlock->word);
    return (lw_rwlock_state(rwlock->word) & LW_RWLOCK_WRITER) != 0;
}

/* Whether the caller writes, or reads upgradably. */
LW_API bool lw_rwlock_is_mine(const lw_rwlock *rwlock)
{
    LW_NOTE_USE(rwlock->word);
    return lw_rwlock_owner(rwlock->word) == lw_self();
}

#ifdef __cplusplus
}
#endif

#endif
