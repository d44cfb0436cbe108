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
 *         lw_rwlock_upgrade(&lock);                       // waits for the readers alone
 *         insert(key);
 *     }
 *     lw_rwlock_unlock(&lock);
 *
 * Neither side starves the other. A writer that waits holds back readers that come later, and
 * readers that waited while it wrote go before the next writer. A turn that nobody uses ends when
 * the lock has been free for half a millisecond. Writers, and upgradable readers, overtake each
 * other until one was woken in vain nine times, or a writer has slept for half a millisecond (in
 * WebAssembly, a second), or an event loop waits to write: then newcomers stand back. An unlock
 * wakes all readers that wait, or one writer. A waiter that gives up leaves nothing behind that
 * holds others back. The try forms take a lock that is free, whatever turn it is.
 *
 * What is illegal. To read again while reading, except by lw_rwlock_tryrdlock: a writer that waits
 * in between would hold back the very reader that it waits for. To ask for a write or an upgradable
 * read while having one of the two, or for a read while writing (EDEADLK; an upgradable reader gets
 * it from rdlock only if it would have to wait). To upgrade a plain read (EPERM): two
 * readers that upgraded would wait for each other, which is why a thread has to say beforehand that
 * it might.
 *
 * The lock knows its writer and its upgradable reader, but not its readers: it cannot tell whether
 * an unlock is of the caller's own read. Later readers and writers see what was written, and what
 * was read before an unlock was read before the next writer writes. At most 2^22 - 1 readers at a
 * time, including an upgradable one (EOVERFLOW); any number of threads may wait. No count wraps.
 * The lock may be freed as soon as no thread will use it any more: an unlock does not touch it once
 * another thread can have it.
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

/* The halves of the functions below that wait. Call those functions instead. */
enum lw_ending lw_rwlock_slow(lw_rwlock *rwlock, lw_step *step, lw_deadline deadline,
                              lw_cancel *cancel);
enum lw_ending lw_rwlock_read_slow(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel);

/*
 * Tells the tools of annotate.h that the caller exchanges what it holds for something else: first
 * that it gives it up, and what that was, then that it holds the other. Only the library runs in
 * between.
 */
static inline int lw_rwlock_note_change(lw_rwlock *rwlock)
{
    const int had = LW_ANNOTATE && lw_rwlock_owner(rwlock->word) == lw_self() &&
                            lw_rwlock_state(rwlock->word) & LW_RWLOCK_WRITER
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

/* The try forms, for a caller that holds nothing. */
static inline int lw_rwlock_try(lw_rwlock *rwlock, uint32_t after, uint32_t self, int how)
{
    LW_NOTE_LOCKING(rwlock->word, how);
    const bool taken = lw_rwlock_try_step(rwlock->word, 0, after, self);
    LW_NOTE_LOCKED(rwlock->word, how, taken);
    return taken ? 0 : EBUSY;
}

/*
 * Takes the lock for reading, beside other readers, waiting until the deadline, or until `cancel`
 * fires (NULL: never). Returns 0; EDEADLK: the caller writes, or reads upgradably and would have to
 * wait; EOVERFLOW: there are 2^22 - 1 readers; ETIMEDOUT; ECANCELED.
 */
LW_API int lw_rwlock_rdlock_cancel(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    const int how = LW_NOTE_READ | LW_NOTE_WAIT(deadline, cancel);
    LW_NOTE_LOCKING(rwlock->word, how);
    const int error = __builtin_expect(lw_rwlock_take_read(rwlock->word), 1)
                          ? 0
                          : lw_error_of(lw_rwlock_read_slow(rwlock, deadline, cancel));
    LW_NOTE_LOCKED(rwlock->word, how, error == 0);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/* The same without a cancel. Returns 0, EDEADLK, EOVERFLOW or ETIMEDOUT. */
LW_API int lw_rwlock_rdlock_until(lw_rwlock *rwlock, lw_deadline deadline)
{
    return lw_rwlock_rdlock_cancel(rwlock, deadline, LW_NULL);
}

/* The same without a limit. Returns 0, EDEADLK or EOVERFLOW. */
LW_API int lw_rwlock_rdlock(lw_rwlock *rwlock)
{
    return lw_rwlock_rdlock_until(rwlock, LW_FOREVER);
}

/* The same if the lock is free for it, whatever turn it is. Never waits. Returns 0 or EBUSY. */
LW_API int lw_rwlock_tryrdlock(lw_rwlock *rwlock)
{
    return lw_rwlock_try(rwlock, LW_RWLOCK_READER, 0, LW_NOTE_READ | LW_NOTE_TRY);
}

/*
 * Takes the lock for reading upgradably, beside readers, waiting until the deadline, or until
 * `cancel` fires (NULL: never). Returns 0; EDEADLK: the caller writes or reads upgradably;
 * EOVERFLOW: there are 2^22 - 1 readers; ETIMEDOUT; ECANCELED.
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

/* The same without a cancel. Returns 0, EDEADLK, EOVERFLOW or ETIMEDOUT. */
LW_API int lw_rwlock_uplock_until(lw_rwlock *rwlock, lw_deadline deadline)
{
    return lw_rwlock_uplock_cancel(rwlock, deadline, LW_NULL);
}

/* The same without a limit. Returns 0, EDEADLK or EOVERFLOW. */
LW_API int lw_rwlock_uplock(lw_rwlock *rwlock)
{
    return lw_rwlock_uplock_until(rwlock, LW_FOREVER);
}

/* The same if the lock is free for it, whatever turn it is. Never waits. Returns 0 or EBUSY. */
LW_API int lw_rwlock_tryuplock(lw_rwlock *rwlock)
{
    return lw_rwlock_try(rwlock, LW_RWLOCK_UPGRADABLE, lw_self(), LW_NOTE_READ | LW_NOTE_TRY);
}

/*
 * Takes the lock for writing, waiting until the deadline, or until `cancel` fires (NULL: never).
 * Returns 0; EDEADLK: the caller writes or reads upgradably; ETIMEDOUT; ECANCELED.
 */
LW_API int lw_rwlock_wrlock_cancel(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    LW_NOTE_LOCKING(rwlock->word, LW_NOTE_WAIT(deadline, cancel));
    const int error =
        lw_rwlock_take_write(rwlock->word, lw_self())
            ? 0
            : lw_error_of(lw_rwlock_slow(rwlock, lw_rwlock_write_step, deadline, cancel));
    LW_NOTE_LOCKED(rwlock->word, LW_NOTE_WAIT(deadline, cancel), error == 0);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/* The same without a cancel. Returns 0, EDEADLK or ETIMEDOUT. */
LW_API int lw_rwlock_wrlock_until(lw_rwlock *rwlock, lw_deadline deadline)
{
    return lw_rwlock_wrlock_cancel(rwlock, deadline, LW_NULL);
}

/* The same without a limit. Returns 0 or EDEADLK. */
LW_API int lw_rwlock_wrlock(lw_rwlock *rwlock)
{
    return lw_rwlock_wrlock_until(rwlock, LW_FOREVER);
}

/* The same if the lock is free for it, whatever turn it is. Never waits. Returns 0 or EBUSY. */
LW_API int lw_rwlock_trywrlock(lw_rwlock *rwlock)
{
    return lw_rwlock_try(rwlock, LW_RWLOCK_WRITER, lw_self(), LW_NOTE_TRY);
}

/*
 * Turns the caller's upgradable read into a write: waits until all readers have left, and lets no
 * reader and no other writer in meanwhile. Returns 0; EPERM: the caller does not read upgradably
 * (in WebAssembly a task of its event loop may unlock while it waits); ETIMEDOUT or ECANCELED: the
 * caller still reads upgradably.
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

/* The same without a cancel. Returns 0, EPERM or ETIMEDOUT. */
LW_API int lw_rwlock_upgrade_until(lw_rwlock *rwlock, lw_deadline deadline)
{
    return lw_rwlock_upgrade_cancel(rwlock, deadline, LW_NULL);
}

/* The same without a limit. Returns 0 or EPERM. */
LW_API int lw_rwlock_upgrade(lw_rwlock *rwlock)
{
    return lw_rwlock_upgrade_until(rwlock, LW_FOREVER);
}

/*
 * The same if there are no other readers. Never waits. Returns 0; EBUSY: there are, or the caller
 * does not read upgradably.
 */
LW_API int lw_rwlock_tryupgrade(lw_rwlock *rwlock)
{
    if (LW_ANNOTATE && lw_rwlock_owner(rwlock->word) != lw_self())
        return EBUSY;
    const int had = lw_rwlock_note_change(rwlock);
    const int error =
        lw_rwlock_try_step(rwlock->word, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER, lw_self()) ? 0
                                                                                            : EBUSY;
    lw_rwlock_note_changed(rwlock, error == 0 ? LW_NOTE_WRITE : had);
    return error;
}

/*
 * Turns the caller's write, or upgradable read, into a read, so that no other agent writes in
 * between. Never waits. Returns 0; EPERM: the caller has neither.
 */
LW_API int lw_rwlock_downgrade(lw_rwlock *rwlock)
{
    const uint32_t self = lw_self();
    if (LW_ANNOTATE && lw_rwlock_owner(rwlock->word) != self)
        return EPERM;
    lw_rwlock_note_change(rwlock);
    const bool became =
        lw_rwlock_become_step(rwlock->word, LW_RWLOCK_WRITER, LW_RWLOCK_READER, self) ||
        lw_rwlock_become_step(rwlock->word, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_READER, self);
    lw_rwlock_note_changed(rwlock, LW_NOTE_READ);
    return became ? 0 : EPERM;
}

/*
 * Turns the caller's write into an upgradable read, so that no other agent writes in between. Never
 * waits. Returns 0; EPERM: the caller does not write.
 */
LW_API int lw_rwlock_downgrade_upgradable(lw_rwlock *rwlock)
{
    if (LW_ANNOTATE && lw_rwlock_owner(rwlock->word) != lw_self())
        return EPERM;
    lw_rwlock_note_change(rwlock);
    const bool became =
        lw_rwlock_become_step(rwlock->word, LW_RWLOCK_WRITER, LW_RWLOCK_UPGRADABLE, lw_self());
    lw_rwlock_note_changed(rwlock, LW_NOTE_READ);
    return became ? 0 : EPERM;
}

/*
 * Gives up the caller's write or upgradable read; if it has neither, a read. Never waits. Returns
 * 0; EPERM: there are no readers, and the caller holds nothing.
 */
LW_API int lw_rwlock_unlock(lw_rwlock *rwlock)
{
    const uint32_t self = lw_self();
    if (LW_ANNOTATE && lw_rwlock_owner(rwlock->word) != self &&
        !(lw_rwlock_state(rwlock->word) & LW_RWLOCK_READERS))
        return EPERM;
    const int had = lw_rwlock_note_change(rwlock);
    /* The word of the owner, which is loaded first, is on the same cache line. */
    lw_will_change(&rwlock->word[LW_RWLOCK_STATE]);
    const bool left = lw_rwlock_free_write(rwlock->word, self) ||
                      lw_rwlock_free_read(rwlock->word) ||
                      lw_rwlock_become_step(rwlock->word, LW_RWLOCK_WRITER, 0, self) ||
                      lw_rwlock_become_step(rwlock->word, LW_RWLOCK_UPGRADABLE, 0, self) ||
                      lw_rwlock_unread_step(rwlock->word);
    LW_NOTE_UNLOCKED(rwlock->word, had);
    return left ? 0 : EPERM;
}

/*
 * Gives up a read, and never the caller's upgradable read, beside which it may have read by
 * lw_rwlock_tryrdlock. Never waits. Returns 0; EPERM: there are no readers.
 */
LW_API int lw_rwlock_rdunlock(lw_rwlock *rwlock)
{
    if (LW_ANNOTATE && !(lw_rwlock_state(rwlock->word) & LW_RWLOCK_READERS))
        return EPERM;
    LW_NOTE_UNLOCKING(rwlock->word, LW_NOTE_READ);
    const bool left = lw_rwlock_free_read(rwlock->word) || lw_rwlock_unread_step(rwlock->word);
    LW_NOTE_UNLOCKED(rwlock->word, LW_NOTE_READ);
    return left ? 0 : EPERM;
}

/*
 * Returns how many read right now, an upgradable reader not counted. By the time the caller looks
 * at the result it may be old.
 */
LW_API uint32_t lw_rwlock_readers(const lw_rwlock *rwlock)
{
    LW_NOTE_USE(rwlock->word);
    return lw_rwlock_state(rwlock->word) & LW_RWLOCK_READERS;
}

/*
 * Returns whether an agent writes right now. By the time the caller looks at the result it may be
 * old.
 */
LW_API bool lw_rwlock_is_write_locked(const lw_rwlock *rwlock)
{
    LW_NOTE_USE(rwlock->word);
    return (lw_rwlock_state(rwlock->word) & LW_RWLOCK_WRITER) != 0;
}

/* Returns whether the caller writes, or reads upgradably. */
LW_API bool lw_rwlock_is_mine(const lw_rwlock *rwlock)
{
    LW_NOTE_USE(rwlock->word);
    return lw_rwlock_owner(rwlock->word) == lw_self();
}

#ifdef __cplusplus
}
#endif

#endif
