/*
 * lease.h: named locks that machines share, as leases on an etcd cluster. On Linux, in a library of
 * its own, liblockword-lease, which needs libcurl and libcjson.
 *
 *     static void stop(void *job) { ... }     // in another thread: end the work now
 *
 *     lw_lease *lease;
 *     const struct lw_lease_options options = {
 *         .deadline = LW_FOREVER, .lost = stop, .context = job};
 *     const char *servers = "etcd://a:2379,b:2379,c:2379";
 *     int error = lw_lease_lock(&lease, servers, "accounts", &options);
 *     if (!error) {
 *         write_accounts(job, lw_lease_token(lease));
 *         error = lw_lease_unlock(lease);         // ESTALE: it was lost before that
 *     }
 *
 * First come, first served: each waiter has a key of its own in etcd, and sleeps until etcd tells
 * of the deletion of the key before it. A thread renews the lease of the key. If a holder or a
 * waiter dies, etcd deletes its key when the lease has run out.
 *
 * What it promises. A lease is lost if its renewals fail for so long that etcd could give the lock
 * to another holder. The holder is told before that moment, by the clock of its own machine
 * (CLOCK_BOOTTIME, which counts while the machine sleeps; setting the wall clock does not move it):
 * `lost` is called when 5/8 of the time-to-live have passed since the last renewal that succeeded
 * was sent. Until 7/8 of it the holder can stop. The last eighth is for clocks that run at
 * different speed. A renewal counts only if the same leader led the cluster before it and after it:
 * one that was deposed, and does not know, cannot renew a lease.
 *
 * With libcurl before 7.87, or without its threaded or c-ares resolver, nothing is told while the
 * look-up of a host name hangs: give the servers by addresses there, or by names in /etc/hosts.
 *
 * What it cannot promise. A process that is stopped in the middle of a write, for longer than the
 * time-to-live, goes on with that write when it wakes up. So pass the token on with what is
 * written: each holder of a name has a greater token than all before it. What is written to keeps
 * the greatest token it has seen, and refuses smaller ones.
 *
 * The tokens are etcd's: if its data are lost, or restored from a copy, they begin anew, and what
 * has seen greater ones refuses them.
 *
 * What is illegal. To use a lease after lw_lease_unlock; to call lw_lease_unlock in a callback. A
 * child of fork() must not use the leases of its parent. Some versions of libcurl, such as 7.88,
 * have descriptors that a program inherits which such a child executes: close them before.
 *
 * Functions return 0 or an errno code. None sets errno, prints or aborts. None is a cancellation
 * point (pthread_cancel): else a thread that ends in one would leave its place in the line behind,
 * for ever.
 */
#ifndef LOCKWORD_LEASE_H
#define LOCKWORD_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A lock that is held. */
typedef struct lw_lease lw_lease;

/* The longest name, without the 0 at its end; and so the longest text about a holder, and the
 * longest name of a machine, that others get to read. */
#define LW_LEASE_NAME_MAX 55
#define LW_LEASE_HOLDER_MAX 255
#define LW_LEASE_HOST_MAX 64

struct lw_lease_options {
    /* Until when to wait. Set it: 0 is LW_NOW, which does not wait for other holders. */
    lw_deadline deadline;

    /* After so many seconds without a renewal etcd frees the lock; 0: 10. From 2 to 3600; etcd may
     * make it longer. */
    uint32_t ttl;

    /* The wait ends (ECANCELED) when this descriptor becomes readable: an eventfd, a signalfd or a
     * pipe. 0 or negative: none. */
    int cancel_fd;

    /* Any text about the holder, for others to read: lw_lease_list. What is longer than
     * LW_LEASE_HOLDER_MAX is cut. It is copied. NULL: none. */
    const char *holder;

    /* Called once, by another thread, if the lease is lost: the holder has to stop. May be NULL. */
    void (*lost)(void *context);

    /* Called by the thread that waits or another one: the lease has been renewed. It will be lost
     * at `stop`, and the holder has to have stopped at `end`, in ns of CLOCK_BOOTTIME; both are 0
     * if the lease is gone already, as when its key was deleted. May be NULL. */
    void (*renewed)(void *context, int64_t stop, int64_t end);

    void *context; /* of these functions */

    /* Gets the reason if the lock is not taken, in words, or "". NULL: it is not wanted. */
    char *reason;
    size_t reason_size;
};

/*
 * Takes the lock of this name. The servers are "etcd://HOST:PORT", and the others of the cluster
 * after it: ",HOST:PORT"; a port that is not given is 2379. If one does not respond, it asks the
 * next one. They have to be of one cluster.
 *
 * Returns 0; EBUSY: LW_NOW, and it is held; ETIMEDOUT; ECANCELED; EINVAL: these are no servers, no
 * name or no time-to-live; ENAMETOOLONG; EHOSTUNREACH: no server has responded for as long as the
 * time-to-live, or by the deadline, if it is not LW_NOW; EACCES: the cluster refuses; or ENOMEM or
 * EAGAIN: there is no memory or no thread. A waiter whose lease runs out, as it does if the machine
 * sleeps, joins the end of the queue again.
 */
int lw_lease_lock(lw_lease **lease, const char *servers, const char *name,
                  const struct lw_lease_options *options);

/* Returns the fencing token: the revision of etcd at which the key of the lock was created. */
int64_t lw_lease_token(const lw_lease *lease);

/* Returns whether `lost` has not been called yet, nor has to be. */
bool lw_lease_is_held(const lw_lease *lease);

/*
 * Frees the lock, and the lease: two requests, of which the first gives the lock to the next one.
 * Returns 0: it was held until now, and nobody else has had it: etcd has looked; ESTALE: the lease
 * had been lost before, or its key was deleted; or EHOSTUNREACH: etcd did not respond, and will
 * free the lock when the time-to-live has passed. If a response was lost, and etcd was asked again,
 * 0 also means: the lock is no longer held, by this unlock or another's doing.
 */
int lw_lease_unlock(lw_lease *lease);

/* One that holds a lock, or waits for it. */
struct lw_lease_info {
    char name[LW_LEASE_NAME_MAX + 1];
    uint32_t place;  /* in the line of this name: 0 holds the lock, 1 is next */
    int64_t token;   /* what lw_lease_token returns, or will */
    int64_t id;      /* of the lease in etcd; 0: the key has none */
    int64_t came_ms; /* since when it has been in the line: ms since 1970 by its machine's wall
                      * clock; 0: unknown */
    int64_t held_ms; /* since when it holds the lock, if it had to wait for it; 0: it has never
                      * waited, or has not said yet, as in its first second */
    int64_t ttl_s;   /* the time-to-live of the lease, in seconds; -1: unknown, or not asked for */
    int64_t left_s;  /* when etcd deletes it, unless it renews the lease; -1: as above */
    uint32_t pid;    /* of its process; 0: unknown */
    char host[LW_LEASE_HOST_MAX + 1]; /* its machine; "": unknown */
    char holder[LW_LEASE_HOLDER_MAX + 1];
};

/*
 * Who holds the lock of this name, and who waits for it: *all, for free(), in the order of their
 * turns; NULL if there are none. Without a name, all locks, sorted by names. The times of leases
 * are asked for of the first 16 in the line of a name, and of no others: each is one more request.
 * Of the options `deadline`, `cancel_fd` and `reason` count.
 *
 * Returns 0, or what lw_lease_lock does for the same reasons: with LW_NOW, too, it waits for
 * servers that do not respond, as long as the default time-to-live. What changes while it reads may
 * be there or not; what others have written into etcd may be there, too.
 */
int lw_lease_list(struct lw_lease_info **all, size_t *count, const char *servers, const char *name,
                  const struct lw_lease_options *options);

/*
 * Removes the holder or waiter that has this token. The next one gets the lock at once. The holder
 * learns of that when it renews its lease, within a quarter of its time-to-live: until then two of
 * them run. So end its process first, if it can be reached. A waiter joins the end of the line.
 *
 * Returns 0; ENOENT: nobody has this token any more; or what lw_lease_lock does.
 */
int lw_lease_break(const char *servers, const char *name, int64_t token,
                   const struct lw_lease_options *options);

#ifdef __cplusplus
}
#endif

#endif
