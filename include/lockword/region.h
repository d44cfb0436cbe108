/*
 * region.h: named locks that processes share, and that outlive any holder. On Linux.
 *
 *     lw_region *region;
 *     lw_region_mutex accounts;
 *     struct table *table;
 *     int error = lw_region_open(&region, "/dev/shm/bank", LW_REGION_CREATE, 0600, 0);
 *     if (!error)
 *         error = lw_region_mutex_named(region, "accounts", &accounts);
 *     if (!error)
 *         error = lw_region_bytes(region, "table", sizeof(struct table), (void **)&table);
 *
 *     switch (lw_region_mutex_lock(&accounts)) {
 *     case EOWNERDEAD:                    // held; its last holder died while it held the mutex
 *         mend(table);
 *         // fall through
 *     case 0:
 *         change(table);
 *         lw_region_mutex_unlock(&accounts);
 *     }
 *
 * A region is a file, a memfd, or memory that is mapped shared. Every process that opens it finds
 * the same names: mutexes, lockword's other primitives, and ranges of bytes for the data. Mutexes
 * are those of mutex.h, with the same fairness, deadlines and cancellation; but the holder is a
 * thread of any process.
 *
 * What it promises. A process may end at any instruction: by exit, exec, or SIGKILL, together with
 * any others. The mutexes that its threads held become free as soon as another process that has the
 * region open runs, or when a process opens it next, also after a reboot; if more than 128
 * processes have it open, it may take a second. The next thread to take such a mutex gets
 * EOWNERDEAD, and holds it. A thread that exits is treated in the same way. So is one that dies
 * while it makes the mutex's name or removes it: for a moment it holds the mutex. A mutex is never
 * taken from a holder that lives, stopped ones (SIGSTOP) included, nor from one whose core is being
 * dumped: it is dead after that. A process that is stopped while it frees what a dead one held
 * keeps that locked until it goes on.
 *
 * To tell a reboot takes the kernel's /proc/sys/kernel/random/boot_id. A process may not have it:
 * there is no /proc, or a container has another file there, as those of systemd-nspawn and LXC. It
 * does not bury those of another boot; and if it has the region open when the machine goes down,
 * what it held stays held in a file that is still there afterwards.
 *
 * One exception: processes of two PID namespaces share a region, and their watching threads happen
 * to have the same thread id, each in its namespace. If one of these processes is killed at a
 * certain instruction while it joins or leaves the region, the other one can be taken for dead.
 *
 * What EOWNERDEAD means. The data that the mutex guards may be half written. The new holder looks
 * at it and mends it; to unlock the mutex declares the data sound. It finds what the dead one had
 * stored, in the order of its atomic stores; the compiler may reorder others. So have an atomic
 * word say how far a change has come, or which of two copies counts (docs/primitives.md). If the
 * data cannot be mended, lw_region_mutex_abandon instead of unlock: from then on nobody gets the
 * mutex (ENOTRECOVERABLE), until lw_region_mutex_reset.
 *
 * What else a death means. A once whose runner died is run by the next thread that begins it.
 * Permits that have owners (lw_region_permits) are free again, and so is a read-write lock with a
 * table of its readers (lw_region_rwtable), whose next holders are told if a writer died. The other
 * primitives know counts and no owners, and a death corrects no count: permits that a dead thread
 * had acquired stay acquired, its read or write lock stays locked, a party of a barrier stays
 * missing, and an event that it should have set stays unset. For what has to survive a death, use a
 * mutex, or permits or a table of readers. But no thread sleeps on because the thread that was to
 * wake it died: after a death all waiters look again.
 *
 * What is illegal. To unmap the memory of an open region, or to shrink its file: the next access is
 * a SIGBUS. To use a region that another thread closes. To use one in a signal handler. To unload
 * the library, or a plugin that contains it, before its regions are closed.
 *
 * After fork() the child has the region open, holds nothing of it, and counts as a process of its
 * own from its first call on. A program that the process executes does not have the region open.
 *
 * No copy of the file is a region to use, not even one of a backup: what was held when it was made
 * stays held in it, by nobody that could die, until the machine boots again.
 *
 * What it trusts. A process that can write the file can overwrite the data, or hold a mutex for
 * ever. That includes the mutex that guards the names, for which no call has a deadline. It can
 * shrink the file, unless that is a sealed memfd: then the others end by SIGBUS. By what it writes
 * it cannot make another process crash: what is read from the file is checked first.
 *
 * Functions return 0 or an errno code. None sets errno, prints or aborts, or is a cancellation
 * point (pthread_cancel). Besides those that are named, a function that uses a mutex may return
 * EAGAIN: the region has no room for one more process (1023 at a time) or thread (4096 at a time),
 * the thread that watches the other processes cannot be started, the process has no thread-specific
 * key left, or memory is short.
 */
#ifndef LOCKWORD_REGION_H
#define LOCKWORD_REGION_H

#include <stddef.h>
#include <stdint.h>

#include <lockword/api.h>
#include <lockword/barrier.h>
#include <lockword/cancel.h>
#include <lockword/compiler.h>
#include <lockword/cond.h>
#include <lockword/core/permits.h>
#include <lockword/core/robust.h>
#include <lockword/counter.h>
#include <lockword/errors.h>
#include <lockword/event.h>
#include <lockword/latch.h>
#include <lockword/once.h>
#include <lockword/rwlock.h>
#include <lockword/sem.h>
#include <lockword/wait.h>
#include <lockword/waitgroup.h>

#if !LW_LINUX
#error "lockword/region.h is for Linux only"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An open region. */
typedef struct lw_region lw_region;

/* A mutex of a region, as lw_region_mutex_named sets it. Any threads may use or copy it. */
typedef struct lw_region_mutex {
    lw_region *region;
    lw_word *words;
    uint64_t serial;
    uint32_t fate;
} lw_region_mutex;

/* The same of a recursive mutex, a once and a read-write lock. */
typedef struct lw_region_rmutex {
    lw_region_mutex mutex;
} lw_region_rmutex;

typedef struct lw_region_once {
    lw_region *region;
    lw_word *words;
} lw_region_once;

typedef struct lw_region_rwlock {
    lw_region *region;
    lw_word *words;
} lw_region_rwlock;

/* The same of permits that have owners, and of a read-write lock with a table of its readers. */
typedef struct lw_region_permits {
    lw_region *region;
    lw_word *words;
    uint32_t busy;
} lw_region_permits;

typedef struct lw_region_rwtable {
    lw_region_mutex mutex;
    lw_region_permits readers;
} lw_region_rwtable;

/* What a name is the name of. */
enum lw_region_kind {
    LW_REGION_MUTEX = 1,
    LW_REGION_RMUTEX,
    LW_REGION_ONCE,
    LW_REGION_RWLOCK,
    LW_REGION_EVENT,
    LW_REGION_SEM,
    LW_REGION_COUNTER,
    LW_REGION_WAITGROUP,
    LW_REGION_LATCH,
    LW_REGION_BARRIER,
    LW_REGION_COND,
    LW_REGION_BYTES,
    LW_REGION_PERMITS,
    LW_REGION_RWTABLE,
    LW_REGION_KINDS, /* one more than the last */
};

/* The longest name, without the 0 at its end. */
#define LW_REGION_NAME_MAX 55

/* How to open. */
enum {
    LW_REGION_CREATE = 1,    /* makes the region if there is none yet */
    LW_REGION_EXCLUSIVE = 2, /* only with LW_REGION_CREATE: EEXIST if there is one */
    LW_REGION_ANY_OWNER = 4, /* opens a file that belongs to another user, too */
};

/*
 * Opens the region in the file at this path, on any file system that can map files shared. A new
 * file gets this mode, less the umask, and so many bytes. Of what exceeds 324 KiB, one half is for
 * names, 128 bytes each, at most 65536 of them; the rest is for named ranges of bytes. 0: 2048
 * names, and 256 KiB for ranges. A file appears at the path once it is complete. A symbolic link at
 * the path is not followed. From /dev/shm systemd removes a user's files when that user's last
 * session ends, unless told otherwise: docs/command.md.
 *
 * Returns 0; EPERM: the file belongs to another user, and not LW_REGION_ANY_OWNER; EBADMSG: it is
 * no region, or a damaged one; EPROTO: it is a region of another version of lockword; EINVAL: the
 * file is not a regular one, the size is neither 0 nor from 332,032 to 2^32 - 4096, or
 * LW_REGION_EXCLUSIVE stands without LW_REGION_CREATE; EMFILE: this process has 64 regions open
 * already, or no descriptor left; EAGAIN; ENOMEM; or what open(2), fallocate(2) or mmap(2) say:
 * ENOENT (also: the folder does not exist, such as /dev/shm), EACCES, EROFS, ELOOP, EISDIR, ENOSPC,
 * EFBIG (also: a new file would exceed RLIMIT_FSIZE; no SIGXFSZ is sent), EOPNOTSUPP (also: the
 * file system can neither link a file nor rename it without replacing another one).
 */
int lw_region_open(lw_region **region, const char *path, unsigned flags, unsigned mode,
                   size_t size);

/*
 * Opens the region in an open file: a memfd, or any file. With LW_REGION_CREATE an empty one is
 * made a region of this size, and one that is all zeros a region as long as it is. The caller keeps
 * the descriptor, and may close it at once. A memfd is sealed against shrinking, if it can be.
 * Returns what lw_region_open returns.
 */
int lw_region_open_fd(lw_region **region, int fd, unsigned flags, size_t size);

/*
 * Opens the region in memory that the caller has mapped, shared, at a multiple of 64. With
 * LW_REGION_CREATE zeroed memory is made a region; any number of processes may do so at once. The
 * memory has to stay mapped until the region is closed. Returns what lw_region_open returns.
 */
int lw_region_open_memory(lw_region **region, void *memory, size_t size, unsigned flags);

/*
 * Closes the region for this process. No other thread may use it meanwhile or later. What this
 * process's threads hold is treated as after their death. Returns 0.
 */
int lw_region_close(lw_region *region);

/*
 * Gives the calling thread a name in this region, of up to 31 bytes, which lw_region_next tells. By
 * default it is the name that the system has of the thread. Returns 0, EINVAL or EAGAIN.
 */
int lw_region_name_thread(lw_region *region, const char *name);

/*
 * Finds the mutex of this name, or makes it. Returns 0; EINVAL: the name is empty; ENAMETOOLONG;
 * EEXIST: the name is that of something else than a mutex; ENOSPC: the region has no room for
 * another name; EAGAIN.
 */
int lw_region_mutex_named(lw_region *region, const char *name, lw_region_mutex *mutex);

/* For the functions that are inlined: the calling thread's id in the region that it used last. */
struct lw_region_agent {
    uint64_t serial; /* the region's; 0: none */
    uint32_t id;
};
extern LW_AGENT_LOCAL struct lw_region_agent lw_region_last_agent;

/* Where beside a mutex's words the region counts how often it was taken. Only the holder writes. */
#define LW_REGION_ACQUISITIONS 4
/* And where, how often `lockword run` has held it while a command ran that ended with 0. */
#define LW_REGION_RUNS 7

/* The halves of the functions below that are not inlined. Call those functions instead. */
int lw_region_mutex_lock_slow(const lw_region_mutex *mutex, lw_deadline deadline,
                              lw_cancel *cancel);
int lw_region_mutex_trylock_slow(const lw_region_mutex *mutex);
int lw_region_mutex_unlock_slow(const lw_region_mutex *mutex);
int lw_region_mutex_judge(const lw_region_mutex *mutex);

/* Takes the mutex if it is free, and no thread waits. Sets *error to what lock returns. */
static inline bool lw_region_mutex_take(const lw_region_mutex *mutex, int *error)
{
    if (__builtin_expect(lw_region_last_agent.serial != mutex->serial, 0) ||
        __builtin_expect(!lw_mutex_take(mutex->words, lw_region_last_agent.id), 0))
        return false;
    *error = 0;
    if (__builtin_expect(lw_robust_fate(mutex->words) == mutex->fate, 1)) {
        lw_word *count = &mutex->words[LW_REGION_ACQUISITIONS];
        lw_store(count, lw_load(count, lw_relaxed) + 1, lw_relaxed);
    } else {
        *error = lw_region_mutex_judge(mutex);
    }
    return true;
}

/*
 * Takes the mutex, waiting until the deadline (LW_FOREVER: without limit), or until `cancel` fires
 * (NULL: never). Returns
 *
 *     0                held
 *     EOWNERDEAD       held; a holder died, and none has unlocked the mutex since
 *     ENOTRECOVERABLE  not held: a holder has abandoned it
 *     EIDRM            not held: its name has been removed
 *     EDEADLK          the caller holds it already
 *     ETIMEDOUT        the deadline passed, after one more attempt
 *     ECANCELED        `cancel` fired
 *     EAGAIN           as above
 */
LW_API int lw_region_mutex_lock_cancel(const lw_region_mutex *mutex, lw_deadline deadline,
                                       lw_cancel *cancel)
{
    int error;
    return __builtin_expect(lw_region_mutex_take(mutex, &error), 1)
               ? error
               : lw_region_mutex_lock_slow(mutex, deadline, cancel);
}

/* The same without a cancel: all of these but ECANCELED. */
LW_API int lw_region_mutex_lock_until(const lw_region_mutex *mutex, lw_deadline deadline)
{
    return lw_region_mutex_lock_cancel(mutex, deadline, LW_NULL);
}

/* The same without a limit: all of these but ECANCELED and ETIMEDOUT. */
LW_API int lw_region_mutex_lock(const lw_region_mutex *mutex)
{
    return lw_region_mutex_lock_until(mutex, LW_FOREVER);
}

/*
 * Takes the mutex if it is free; never waits. Returns 0, EOWNERDEAD, ENOTRECOVERABLE, EIDRM or
 * EAGAIN as above; EBUSY: a thread holds it, perhaps the caller.
 */
LW_API int lw_region_mutex_trylock(const lw_region_mutex *mutex)
{
    int error;
    return __builtin_expect(lw_region_mutex_take(mutex, &error), 1)
               ? error
               : lw_region_mutex_trylock_slow(mutex);
}

/*
 * Frees the mutex, and declares that what it guards is sound. Returns 0; EPERM: the caller does not
 * hold it, and nothing was changed.
 */
LW_API int lw_region_mutex_unlock(const lw_region_mutex *mutex)
{
    return __builtin_expect(lw_region_last_agent.serial == mutex->serial, 1) &&
                   __builtin_expect(lw_robust_fate(mutex->words) == mutex->fate, 1) &&
                   __builtin_expect(lw_mutex_free(mutex->words, lw_region_last_agent.id), 1)
               ? 0
               : lw_region_mutex_unlock_slow(mutex);
}

/*
 * Frees the mutex, and declares nothing: if its holder got EOWNERDEAD, so does the next one. For a
 * holder that could not finish mending. Returns 0; EPERM: the caller does not hold it.
 */
int lw_region_mutex_leave(const lw_region_mutex *mutex);

/*
 * Frees the mutex, and declares that what it guards is lost: from now on nobody gets it. Returns 0;
 * EPERM: the caller does not hold it.
 */
int lw_region_mutex_abandon(const lw_region_mutex *mutex);

/*
 * Takes an abandoned mutex, so that the caller can make what it guards anew. Returns 0: held, and
 * no longer abandoned, which unlock makes known; EALREADY: it was not abandoned, and is not held;
 * or EDEADLK, EIDRM, EAGAIN. If the caller dies before it unlocks, the next holder gets EOWNERDEAD.
 */
int lw_region_mutex_reset(const lw_region_mutex *mutex);

/*
 * is_locked returns whether a thread or an event loop holds it right now; by the time the caller
 * looks at the result it may be old. is_mine returns whether the caller holds it. Both return false
 * once its name has been removed. For a recursive mutex, pass the one in it.
 */
bool lw_region_mutex_is_locked(const lw_region_mutex *mutex);
bool lw_region_mutex_is_mine(const lw_region_mutex *mutex);

/*
 * A mutex that its holder can take again; it has to unlock it as often. Only threads wait for it:
 * to a region, all requests of an event loop would be one holder. What the functions return means
 * what it means for a mutex:
 *
 *     named        what lw_region_mutex_named returns
 *     lock_cancel  0, EOWNERDEAD, ENOTRECOVERABLE, EIDRM, ETIMEDOUT, ECANCELED, EAGAIN; EOVERFLOW:
 *                  the caller cannot take it once more. To take it once more is 0, also after
 *                  EOWNERDEAD
 *     lock_until   the same without ECANCELED
 *     lock         the same without ECANCELED and ETIMEDOUT
 *     trylock      what lock returns; EBUSY: another thread holds it
 *     unlock       0, EPERM, EAGAIN
 *     leave        0, EPERM, EAGAIN
 *     abandon      0, EPERM, EAGAIN
 *     reset        0, EALREADY, EIDRM, EAGAIN; EDEADLK: the caller holds it
 */
int lw_region_rmutex_named(lw_region *region, const char *name, lw_region_rmutex *rmutex);
int lw_region_rmutex_lock_cancel(const lw_region_rmutex *rmutex, lw_deadline deadline,
                                 lw_cancel *cancel);
int lw_region_rmutex_lock_until(const lw_region_rmutex *rmutex, lw_deadline deadline);
int lw_region_rmutex_lock(const lw_region_rmutex *rmutex);
int lw_region_rmutex_trylock(const lw_region_rmutex *rmutex);
int lw_region_rmutex_unlock(const lw_region_rmutex *rmutex);
/* The same, but the last one declares nothing, as lw_region_mutex_leave. */
int lw_region_rmutex_leave(const lw_region_rmutex *rmutex);
/* Frees it however often the caller has it. */
int lw_region_rmutex_abandon(const lw_region_rmutex *rmutex);
int lw_region_rmutex_reset(const lw_region_rmutex *rmutex);

/*
 * A once, as in once.h. If the runner dies, the next caller of begin has to run it, from its start.
 * The functions return
 *
 *     named         what lw_region_mutex_named returns
 *     begin_cancel  0: it has been run; LW_ONCE_RUN: the caller has to run it, and then to call
 *                   finish; EDEADLK: the caller is running it; ETIMEDOUT, ECANCELED, EAGAIN
 *     begin_until   the same without ECANCELED
 *     begin         the same without ECANCELED and ETIMEDOUT
 *     finish        0, EAGAIN; EPERM: the caller was not running it
 *     is_done       whether it has been run
 */
int lw_region_once_named(lw_region *region, const char *name, lw_region_once *once);
int lw_region_once_begin_cancel(const lw_region_once *once, lw_deadline deadline,
                                lw_cancel *cancel);
int lw_region_once_begin_until(const lw_region_once *once, lw_deadline deadline);
int lw_region_once_begin(const lw_region_once *once);
int lw_region_once_finish(const lw_region_once *once, bool success);
bool lw_region_once_is_done(const lw_region_once *once);

/*
 * Permits that have owners: at most n threads have one at a time, and a permit whose owner dies is
 * free again. Any thread can have several. They have numbers, from 0 to n - 1, and *which tells the
 * number of the one that was taken (NULL: nobody asks): so it can stand for a port, a GPU or a
 * folder. Only 0 changes *which. A waiter that was overtaken too often goes first. The functions
 * return
 *
 *     named           what lw_region_mutex_named returns; EEXIST: also, there is another number of
 *                     permits; EINVAL: also, n is not 1 to LW_PERMITS_MAX (252); ENOSPC: also,
 *                     among the ranges of bytes there is no room for 1024 more, which permits take,
 *                     as do tables (below); EBADMSG: the file is damaged
 *     acquire_cancel  0, ETIMEDOUT, ECANCELED, EAGAIN
 *     acquire_until   0, ETIMEDOUT, EAGAIN
 *     acquire         0, EAGAIN
 *     tryacquire      0, EAGAIN; EBUSY: none was free
 *     release         0, EAGAIN; EPERM: it is not the caller's permit
 *     available       how many are free
 */
int lw_region_permits_named(lw_region *region, const char *name, uint32_t n,
                            lw_region_permits *permits);
int lw_region_permits_acquire_cancel(const lw_region_permits *permits, uint32_t *which,
                                     lw_deadline deadline, lw_cancel *cancel);
int lw_region_permits_acquire_until(const lw_region_permits *permits, uint32_t *which,
                                    lw_deadline deadline);
int lw_region_permits_acquire(const lw_region_permits *permits, uint32_t *which);
int lw_region_permits_tryacquire(const lw_region_permits *permits, uint32_t *which);
int lw_region_permits_release(const lw_region_permits *permits, uint32_t which);
uint32_t lw_region_permits_available(const lw_region_permits *permits);

/*
 * A read-write lock with a table of its readers, which is free again when a holder dies. At most
 * LW_PERMITS_MAX (252) readers have it at a time; more of them wait. All come in one line, in which
 * no thread is shut out: so a writer holds back those that come after it. A thread that reads may
 * read once more, which takes another place, and never waits.
 *
 * The holders that may have died are writers: a reader leaves the data as they are. At EOWNERDEAD a
 * reader, too, has the lock, and all readers and writers are told until a writer unlocks. Else what
 * the functions return means what it means for a mutex:
 *
 *     named          what lw_region_permits_named returns, but for the number of permits
 *     rdlock_cancel  0, EOWNERDEAD, ENOTRECOVERABLE, EIDRM, ETIMEDOUT, ECANCELED, EAGAIN; EDEADLK:
 *                    the caller writes; EOVERFLOW: it reads, and all places are taken
 *     wrlock_cancel  the same without EOVERFLOW; EDEADLK: the caller reads or writes
 *     ..._until      the same without ECANCELED
 *     rdlock,        the same without ECANCELED and ETIMEDOUT
 *     wrlock
 *     tryrdlock      0, EOWNERDEAD, ENOTRECOVERABLE, EIDRM, EAGAIN; EBUSY: a thread writes, or has
 *                    the lock for a moment, or there are as many readers as there can be
 *     trywrlock      the same; EBUSY: a thread reads or writes, perhaps the caller
 *     unlock, leave  0, EAGAIN; EPERM: the caller neither reads nor writes
 *     abandon        0, EAGAIN; EPERM: the caller does not write
 *     reset          a write lock, as of a mutex: 0, EALREADY, EIDRM, EAGAIN; EDEADLK: the caller
 *                    writes
 */
int lw_region_rwtable_named(lw_region *region, const char *name, lw_region_rwtable *lock);
int lw_region_rwtable_rdlock_cancel(const lw_region_rwtable *lock, lw_deadline deadline,
                                    lw_cancel *cancel);
int lw_region_rwtable_rdlock_until(const lw_region_rwtable *lock, lw_deadline deadline);
int lw_region_rwtable_rdlock(const lw_region_rwtable *lock);
int lw_region_rwtable_wrlock_cancel(const lw_region_rwtable *lock, lw_deadline deadline,
                                    lw_cancel *cancel);
int lw_region_rwtable_wrlock_until(const lw_region_rwtable *lock, lw_deadline deadline);
int lw_region_rwtable_wrlock(const lw_region_rwtable *lock);
int lw_region_rwtable_tryrdlock(const lw_region_rwtable *lock);
int lw_region_rwtable_trywrlock(const lw_region_rwtable *lock);
int lw_region_rwtable_unlock(const lw_region_rwtable *lock);
/* The same, but a writer that was told of a death leaves it to the next one to mend the data. */
int lw_region_rwtable_leave(const lw_region_rwtable *lock);
int lw_region_rwtable_abandon(const lw_region_rwtable *lock);
int lw_region_rwtable_reset(const lw_region_rwtable *lock);

/*
 * A read-write lock, as in rwlock.h, without upgradable reads. If a holder dies, the lock stays
 * locked: lw_region_rwtable, which takes longer, does not have this limit. The functions return
 *
 *     named          what lw_region_mutex_named returns
 *     rdlock_cancel  0, ETIMEDOUT, ECANCELED, EAGAIN; EDEADLK: the caller writes; EOVERFLOW: there
 *                    are 2^22 - 1 readers
 *     wrlock_cancel  0, ETIMEDOUT, ECANCELED, EAGAIN; EDEADLK: the caller writes
 *     ..._until      the same without ECANCELED
 *     rdlock,        the same without ECANCELED and ETIMEDOUT
 *     wrlock
 *     tryrdlock      0; EBUSY: a thread writes, or there are 2^22 - 1 readers
 *     trywrlock      0, EAGAIN; EBUSY: a thread reads or writes, perhaps the caller
 *     unlock         0, EAGAIN; EPERM: there are no readers, and the caller does not write
 */
int lw_region_rwlock_named(lw_region *region, const char *name, lw_region_rwlock *rwlock);
int lw_region_rwlock_rdlock_cancel(const lw_region_rwlock *rwlock, lw_deadline deadline,
                                   lw_cancel *cancel);
int lw_region_rwlock_rdlock_until(const lw_region_rwlock *rwlock, lw_deadline deadline);
int lw_region_rwlock_rdlock(const lw_region_rwlock *rwlock);
int lw_region_rwlock_wrlock_cancel(const lw_region_rwlock *rwlock, lw_deadline deadline,
                                   lw_cancel *cancel);
int lw_region_rwlock_wrlock_until(const lw_region_rwlock *rwlock, lw_deadline deadline);
int lw_region_rwlock_wrlock(const lw_region_rwlock *rwlock);
int lw_region_rwlock_tryrdlock(const lw_region_rwlock *rwlock);
int lw_region_rwlock_trywrlock(const lw_region_rwlock *rwlock);
int lw_region_rwlock_unlock(const lw_region_rwlock *rwlock);

/*
 * Finds what has this name, or makes it, with the value of `initial`, which is made by the
 * primitive's own initialiser; NULL: zeros. What exists keeps its value. The caller gets its
 * address, which is good until the region is closed, and uses it by the primitive's own header:
 *
 *     const lw_sem three = LW_SEM_INIT(3);
 *     lw_sem *printers;
 *     int error = lw_region_sem_named(region, "printers", &three, &printers);
 *     if (!error)
 *         error = lw_sem_acquire(printers, 1);
 *
 * Returns what lw_region_mutex_named returns. Threads wait for it by the blocking functions, event
 * loops by those of loop.h. A process that was forked has to call lw_region_name_thread, or wait,
 * before the others learn of its death; until then they go on after a second.
 */
int lw_region_event_named(lw_region *region, const char *name, const lw_event *initial,
                          lw_event **event);
int lw_region_sem_named(lw_region *region, const char *name, const lw_sem *initial, lw_sem **sem);
int lw_region_counter_named(lw_region *region, const char *name, const lw_counter *initial,
                            lw_counter **counter);
int lw_region_waitgroup_named(lw_region *region, const char *name, const lw_waitgroup *initial,
                              lw_waitgroup **waitgroup);
int lw_region_latch_named(lw_region *region, const char *name, const lw_latch *initial,
                          lw_latch **latch);
int lw_region_barrier_named(lw_region *region, const char *name, const lw_barrier *initial,
                            lw_barrier **barrier);
int lw_region_cond_named(lw_region *region, const char *name, const lw_cond *initial,
                         lw_cond **cond);

/*
 * Frees the mutex, waits for a notify of the condition (cond.h), and takes the mutex again. Returns
 * 0; ETIMEDOUT or ECANCELED; or, if lw_region_mutex_lock does not return 0, what it returns: at
 * EOWNERDEAD the mutex is held, and the caller may have been notified or not. EPERM: the caller
 * does not hold the mutex. As all unlocks do, this declares the data sound. For a recursive mutex,
 * pass the one in it.
 */
int lw_region_cond_wait_cancel(lw_cond *cond, const lw_region_mutex *mutex, lw_deadline deadline,
                               lw_cancel *cancel);
int lw_region_cond_wait_until(lw_cond *cond, const lw_region_mutex *mutex, lw_deadline deadline);
int lw_region_cond_wait(lw_cond *cond, const lw_region_mutex *mutex);

/*
 * Finds the bytes of this name, or makes them: zeros, at a multiple of 64. *bytes is good until the
 * region is closed. A thread that dies leaves them half written: guard them by a mutex. Returns
 * what lw_region_mutex_named returns; EINVAL: also, the size is 0; EEXIST: the name is that of
 * something else, or of another number of bytes; ENOSPC: also, the region has no room for so many;
 * EBADMSG: the file is damaged.
 */
int lw_region_bytes(lw_region *region, const char *name, size_t size, void **bytes);

/*
 * Removes the name, and frees its place. A thread that uses a mutex, or a recursive one, by that
 * name gets EIDRM from then on, and has the mutex for a moment: while its process is stopped there,
 * the place gets no other name. Nor does it while a process is stopped that frees what a dead one
 * had there. All else must not be in use, nor be used afterwards: its place may get another name.
 * Returns 0; ENOENT: there is no such name; EBUSY: a thread holds it or, but for a mutex, waits for
 * it; EINVAL; EAGAIN.
 */
int lw_region_remove(lw_region *region, const char *name);

/* What is known of a name. All of it may be outdated when the caller looks at it. */
struct lw_region_info {
    char name[LW_REGION_NAME_MAX + 1];
    uint32_t fate;         /* 0; EOWNERDEAD or ENOTRECOVERABLE: what the next to lock it gets */
    uint32_t holder_pid;   /* the process that holds it; 0: none does, or several do */
    uint32_t holder_tid;   /* the thread that does, as the kernel counts it */
    char holder[32];       /* that thread's name */
    int64_t held_ms;       /* for how long at least: as long as a thread has waited for it */
    uint32_t waiters;      /* how many threads wait */
    int64_t longest_ms;    /* how long the first of them has waited */
    uint32_t acquisitions; /* how often a mutex was taken, modulo 2^32 */
    uint32_t contended;    /* how often its taker had to wait or to spin */
    uint32_t recoveries;   /* how often a holder died */
    uint32_t size;         /* of a range, bytes */
    uint32_t permits;      /* how many owned permits there are; of a table: how many may read */
    uint32_t held;         /* how many of them have owners */
    enum lw_region_kind kind;
};

/*
 * Tells of one name after another: *cursor is 0 at first, and is moved. Names that are made or
 * removed meanwhile may be left out. Returns 0; ENOENT: there are no more.
 */
int lw_region_next(lw_region *region, uint32_t *cursor, struct lw_region_info *info);

/* Tells of this name. Returns 0, ENOENT or EINVAL. */
int lw_region_describe(lw_region *region, const char *name, struct lw_region_info *info);

/* An agent that has a name: its holder, or an owner of permits, or one of many readers. */
struct lw_region_holder {
    uint32_t pid;
    uint32_t tid;    /* as the kernel counts it */
    uint32_t which;  /* the number of the permit, or of the place among the readers; else 0 */
    char thread[32]; /* its name */
};

/*
 * Tells of one holder of this name after another: *cursor is 0 at first, and is moved. Returns 0;
 * ENOENT: there are no more, or no such name; or EINVAL.
 */
int lw_region_next_holder(lw_region *region, const char *name, uint32_t *cursor,
                          struct lw_region_holder *holder);

/* A thread of a deadlock, and the name that it waits for. */
struct lw_region_link {
    uint32_t pid;
    uint32_t tid;    /* as the kernel counts it */
    char thread[32]; /* its name */
    char waits_for[LW_REGION_NAME_MAX + 1];
};

/*
 * Looks for threads that wait for each other in a cycle, each for what the next one holds, and the
 * last for what the first one holds: a mutex, a once, a write, all permits of a name; or, of a
 * table, the line, or to a writer the only read. A thread that waits for what several hold is in no
 * cycle. *found: how many they are, of which `links` gets at most `room`. Returns 0: they wait for
 * each other at one moment of this call, and go on only if a deadline, a cancel or a death ends a
 * wait; ENOENT: there are none; or ENOMEM.
 */
int lw_region_deadlock(lw_region *region, struct lw_region_link *links, uint32_t room,
                       uint32_t *found);

#ifdef __cplusplus
}
#endif

#endif
