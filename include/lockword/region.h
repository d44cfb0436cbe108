/*
 * region.h: named mutexes that processes share, and that outlive any holder. On Linux.
 *
 *     lw_region *region;
 *     lw_region_mutex accounts;
 *     int error = lw_region_open(&region, "/dev/shm/bank", LW_REGION_CREATE, 0600, 0);
 *     if (!error)
 *         error = lw_region_mutex_named(region, "accounts", &accounts);
 *
 *     switch (lw_region_mutex_lock(&accounts)) {
 *     case EOWNERDEAD:                    // held; its last holder died while it held the mutex
 *         mend_the_accounts();
 *         // fall through
 *     case 0:
 *         change_the_accounts();
 *         lw_region_mutex_unlock(&accounts);
 *     }
 *
 * A region is a file, a memfd, or memory that is mapped shared. Every process that opens it finds
 * the same names. Its mutexes are those of mutex.h, with the same fairness, deadlines and
 * cancellation; but the holder is a thread of any process.
 *
 * What it promises. A process may end at any instruction: by exit, exec, or SIGKILL, together with
 * any others. The mutexes that its threads held become free as soon as another process that has the
 * region open runs, or when a process opens it next, also after a reboot. The next thread to take
 * such a mutex gets EOWNERDEAD, and holds it. A thread that exits is treated in the same way. A
 * mutex is never taken from a holder that lives, stopped ones (SIGSTOP) included. (But for this:
 * where processes of different PID namespaces share a region, and the threads that watch over two
 * of them have the same id, each in its own namespace, then a process that is killed at a certain
 * instruction while it joins the region can make the other one look dead.) A process that is
 * stopped while it frees what a dead one held keeps that locked until it goes on.
 *
 * What EOWNERDEAD means. The data that the mutex guards may be half written. The new holder looks
 * at it and mends it; to unlock the mutex declares the data sound. If it cannot be mended,
 * lw_region_mutex_abandon instead of unlock: from then on nobody gets the mutex (ENOTRECOVERABLE),
 * until lw_region_mutex_reset.
 *
 * What is illegal. To unmap the memory of an open region, or to shrink its file: the next access is
 * a SIGBUS. To use a region that another thread closes. To use one in a signal handler.
 *
 * After fork() the child has the region open, holds nothing of it, and counts as a process of its
 * own from its first call on. A program that the process executes does not have the region open.
 *
 * Whom it trusts. All who can write the file can hold a mutex for ever, the one that guards the
 * names included, for which no call has a deadline; or overwrite the data. None of them can make
 * another process crash: what is read from the file is checked first.
 *
 * Functions return 0 or an errno code. None sets errno, prints or aborts. Besides those that are
 * named, a function that uses a mutex may return EAGAIN: the region has no room for one more
 * process (128 at a time) or thread (4096 at a time), or the thread that watches the other
 * processes cannot be started.
 */
#ifndef LOCKWORD_REGION_H
#define LOCKWORD_REGION_H

#include <stddef.h>
#include <stdint.h>

#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/errors.h>
#include <lockword/wait.h>

#if LW_ENGINE
#error "lockword: regions are memory that processes share; in an engine there are none"
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
    uint32_t fate;
} lw_region_mutex;

/* The longest name, without the 0 at its end. */
#define LW_REGION_NAME_MAX 55

/* How to open. */
enum {
    LW_REGION_CREATE = 1,    /* makes the region if there is none yet */
    LW_REGION_EXCLUSIVE = 2, /* with LW_REGION_CREATE: EEXIST if there is one */
    LW_REGION_ANY_OWNER = 4, /* opens a file that belongs to another user, too */
};

/*
 * Opens the region in the file at this path, on any file system that can map files shared. A new
 * file gets this mode, less the umask, and so many bytes: they limit the number of names, about 128
 * bytes each beside 268 KiB; 0: 2048 names. A file appears at the path once it is
 * complete. A symbolic link at the path is not followed.
 *
 * Returns 0; EPERM: the file belongs to another user, and not LW_REGION_ANY_OWNER; EBADMSG: it is
 * no region, or a damaged one; EPROTO: it is a region of another version of lockword; EINVAL: the
 * file is not a regular one, or the size is out of range; EMFILE: this process has 64 regions open
 * already; EAGAIN; ENOMEM; or what open(2), fallocate(2) or mmap(2) say: ENOENT, EACCES, ELOOP,
 * ENOSPC.
 */
int lw_region_open(lw_region **region, const char *path, unsigned flags, unsigned mode,
                   size_t size);

/*
 * Opens the region in an open file: a memfd, or any file. With LW_REGION_CREATE an empty one is
 * made a region of this size. The descriptor stays the caller's, who may close it at once. A memfd
 * is sealed against shrinking, if it can be. Returns what lw_region_open returns.
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
 * ENOSPC: the region has no room for another name; EAGAIN.
 */
int lw_region_mutex_named(lw_region *region, const char *name, lw_region_mutex *mutex);

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
int lw_region_mutex_lock_cancel(const lw_region_mutex *mutex, lw_deadline deadline,
                                lw_cancel *cancel);
int lw_region_mutex_lock_until(const lw_region_mutex *mutex, lw_deadline deadline);
int lw_region_mutex_lock(const lw_region_mutex *mutex);

/*
 * Takes the mutex if it is free; never waits. Returns 0, EOWNERDEAD, ENOTRECOVERABLE, EIDRM or
 * EAGAIN as above; EBUSY: a thread holds it, perhaps the caller.
 */
int lw_region_mutex_trylock(const lw_region_mutex *mutex);

/*
 * Frees the mutex, and declares that what it guards is sound. Returns 0; EPERM: the caller does not
 * hold it, and nothing was changed.
 */
int lw_region_mutex_unlock(const lw_region_mutex *mutex);

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
 * Removes the name, and frees its place. Whoever has it as an lw_region_mutex gets EIDRM. Returns
 * 0; ENOENT: there is no such name; EBUSY: a thread holds the mutex; EINVAL; EAGAIN.
 */
int lw_region_remove(lw_region *region, const char *name);

/* What is known of a name. All of it may be outdated when the caller looks at it. */
struct lw_region_info {
    char name[LW_REGION_NAME_MAX + 1];
    uint32_t fate;         /* 0; EOWNERDEAD or ENOTRECOVERABLE: what the next to lock it gets */
    uint32_t holder_pid;   /* the process that holds it; 0: it is free */
    uint32_t holder_tid;   /* the thread that holds it, as the kernel counts it */
    char holder[32];       /* that thread's name */
    uint32_t waiters;      /* how many threads wait for it */
    int64_t longest_ms;    /* how long the first of them has waited */
    uint32_t acquisitions; /* how often it was taken, modulo 2^32 */
    uint32_t contended;    /* how often its taker had to wait or to spin */
    uint32_t recoveries;   /* how often a holder died */
};

/*
 * Tells of one name after another: *cursor is 0 at first, and is moved. Names that are made or
 * removed meanwhile may be left out. Returns 0; ENOENT: there are no more.
 */
int lw_region_next(lw_region *region, uint32_t *cursor, struct lw_region_info *info);

/* Tells of this name. Returns 0, ENOENT or EINVAL. */
int lw_region_describe(lw_region *region, const char *name, struct lw_region_info *info);

#ifdef __cplusplus
}
#endif

#endif
