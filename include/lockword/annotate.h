/*
 * annotate.h: tells tools that look for data races what the functions of these headers do.
 *
 * ThreadSanitizer sees the atomic operations that a program inlines, but not those of a library
 * that it has not instrumented. Without annotations it would report races on data that these locks
 * guard. In a program that is built with -fsanitize=thread, each function announces what it
 * acquires and releases. This is also how the sanitizer learns of locks that are taken in different
 * orders. -DLOCKWORD_VALGRIND makes each function tell Helgrind and DRD the same. Any other build
 * contains no annotations. docs/building.md, 'Looking for data races'.
 *
 * A source file that defines LW_ANNOTATE as 0 before it includes a header of lockword has no
 * annotations.
 */
#ifndef LOCKWORD_ANNOTATE_H
#define LOCKWORD_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>

#ifndef LW_ANNOTATE
#if defined(__SANITIZE_THREAD__)
#define LW_ANNOTATE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LW_ANNOTATE 1
#endif
#endif
#endif

#ifndef LW_ANNOTATE
#ifdef LOCKWORD_VALGRIND
#define LW_ANNOTATE 2
#else
#define LW_ANNOTATE 0
#endif
#endif

/* In which way something is locked; flags to be or-ed. */
enum lw_note {
    LW_NOTE_WRITE = 0,   /* by one agent at a time */
    LW_NOTE_READ = 1,    /* beside other readers */
    LW_NOTE_TRY = 2,     /* with a limited wait, or none: it is no part of a deadlock */
    LW_NOTE_NOTHING = 4, /* no news for the tool: the caller has it already, or keeps it */
};

#define LW_NOTE_WAIT(deadline, cancel)                                                             \
    ((deadline) == LW_FOREVER && !(cancel) ? LW_NOTE_WRITE : LW_NOTE_TRY)

#if LW_ANNOTATE == 1

#include <sanitizer/tsan_interface.h>

/* The tools' functions take pointers that are not const. */
static inline void *lw_note_address(const void *address)
{
    union {
        const void *in;
        void *out;
    } same;
    same.in = address;
    return same.out;
}

static inline unsigned lw_note_flags(int how)
{
    return (how & LW_NOTE_READ ? __tsan_mutex_read_lock : 0) |
           (how & LW_NOTE_TRY ? __tsan_mutex_try_lock : 0);
}

static inline void lw_note_locking(void *words, int how)
{
    if (!(how & LW_NOTE_NOTHING))
        __tsan_mutex_pre_lock(words, lw_note_flags(how));
}

static inline void lw_note_locked(void *words, int how, bool success)
{
    if (!(how & LW_NOTE_NOTHING))
        __tsan_mutex_post_lock(
            words, lw_note_flags(how) | (success ? 0 : __tsan_mutex_try_lock_failed), 0);
}

static inline void lw_note_unlocking(void *words, int how)
{
    if (!(how & LW_NOTE_NOTHING))
        __tsan_mutex_pre_unlock(words, lw_note_flags(how));
}

static inline void lw_note_unlocked(void *words, int how)
{
    if (!(how & LW_NOTE_NOTHING))
        __tsan_mutex_post_unlock(words, lw_note_flags(how));
}

#define LW_NOTE_USE(words) ((void)(words))
#define LW_NOTE_ACQUIRE(words) __tsan_acquire(lw_note_address(words))
#define LW_NOTE_RELEASE(words) __tsan_release(lw_note_address(words))
#define LW_NOTE_LOCKING(words, how) lw_note_locking(words, how)
#define LW_NOTE_LOCKED(words, how, success) lw_note_locked(words, how, success)
#define LW_NOTE_UNLOCKING(words, how) lw_note_unlocking(words, how)
#define LW_NOTE_UNLOCKED(words, how) lw_note_unlocked(words, how)
#define LW_NOTE_GONE(words) __tsan_mutex_destroy(words, 0)

#elif LW_ANNOTATE == 2

#include <valgrind/helgrind.h>
/* All but one of Helgrind's requests are also DRD's. */
#include <valgrind/drd.h>

/* Atomic operations change the words themselves. Neither tool tells these from others. */
static inline void lw_note_use(const void *words, size_t size)
{
    VALGRIND_HG_DISABLE_CHECKING(words, size);
    VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DRD_START_SUPPRESSION, words, size, 0, 0, 0);
}

static inline void lw_note_acquire(const void *words)
{
    ANNOTATE_HAPPENS_AFTER(words);
}

static inline void lw_note_release(const void *words, size_t size)
{
    lw_note_use(words, size);
    ANNOTATE_HAPPENS_BEFORE(words);
}

static inline void lw_note_locked(const void *words, int how, bool success)
{
    if (how & LW_NOTE_NOTHING || !success)
        return;
    ANNOTATE_RWLOCK_ACQUIRED(words, !(how & LW_NOTE_READ));
}

static inline void lw_note_unlocking(const void *words, int how)
{
    if (how & LW_NOTE_NOTHING)
        return;
    ANNOTATE_RWLOCK_RELEASED(words, !(how & LW_NOTE_READ));
}

#define LW_NOTE_USE(words) lw_note_use(words, sizeof(words))
#define LW_NOTE_ACQUIRE(words) lw_note_acquire(words)
#define LW_NOTE_RELEASE(words) lw_note_release(words, sizeof(words))
#define LW_NOTE_LOCKING(words, how) ((void)(how), lw_note_use(words, sizeof(words)))
#define LW_NOTE_LOCKED(words, how, success) lw_note_locked(words, how, success)
#define LW_NOTE_UNLOCKING(words, how) lw_note_unlocking(words, how)
#define LW_NOTE_UNLOCKED(words, how) ((void)(words), (void)(how))
#define LW_NOTE_GONE(words) ((void)(words))

#else

#define LW_NOTE_USE(words) ((void)(words))
#define LW_NOTE_ACQUIRE(words) ((void)(words))
#define LW_NOTE_RELEASE(words) ((void)(words))
#define LW_NOTE_LOCKING(words, how) ((void)(words), (void)(how))
#define LW_NOTE_LOCKED(words, how, success) ((void)(words), (void)(how), (void)(success))
#define LW_NOTE_UNLOCKING(words, how) ((void)(words), (void)(how))
#define LW_NOTE_UNLOCKED(words, how) ((void)(words), (void)(how))
#define LW_NOTE_GONE(words) ((void)(words))

#endif

/* After a wait: a caller that was cancelled sees what was written before the cancel. */
#define LW_NOTE_ENDED(error, cancel)                                                               \
    do {                                                                                           \
        if (LW_ANNOTATE && (error) == ECANCELED)                                                   \
            LW_NOTE_ACQUIRE((cancel)->word);                                                       \
    } while (0)

/*
 * The same for a primitive that is no lock: a caller whose wait succeeded also sees what was
 * released at these words.
 */
#define LW_NOTE_WAITED(words, error, cancel)                                                       \
    do {                                                                                           \
        if ((error) == 0)                                                                          \
            LW_NOTE_ACQUIRE(words);                                                                \
        LW_NOTE_ENDED(error, cancel);                                                              \
    } while (0)

#endif
