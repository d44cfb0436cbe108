/*
 * lot.h: the parking lot, where the waits of event loops stand natively; and the loops' inboxes.
 *
 * Threads sleep in the kernel, which finds them by the address of a word. Event loops cannot, so
 * this does the same for them in user space: from an address to the waits that are parked there. An
 * address belongs to one of LW_BUCKETS buckets by its hash, so that the memory is bounded. What
 * waits is linked through the requests, which are the users' memory.
 *
 *   line    the waiters of one loop that wait for the same thing at one word, or for more and more
 *           of a counter, or less and less, in the order in which they came. The first is its head:
 *           only the head stands in the bucket, and only its step runs. So a bucket contains as
 *           many entries as there are loops and words, however many wait in each line
 *   parked  a head whose wait a notify ends. The notifier puts the head into the inbox of its loop
 *           and wakes the loop; the loop runs the step, and parks the head again or serves it
 *
 * Which thread changes what: only a waiter's own loop's thread puts it into a line or takes it out,
 * with one exception. A condition's notify of one waiter takes that waiter out of its line. Heads,
 * and the lines of conditions, change under the bucket's lock, inboxes under their loop's. The
 * locks are taken in this order. A notifier has both while it puts a head into an inbox, so a
 * loop's thread that has either knows whether its head is there.
 *
 * Why no notify is missed. A step queues, which here is to park, before it looks at its word for
 * the last time. If the notifier locked the bucket earlier, and found nobody parked, then the step
 * sees what the notifier changed before: the lock orders the two.
 *
 * Why the word's memory may be gone when it is notified: a notify uses its address, and no more.
 */
#ifndef LOCKWORD_LOT_H
#define LOCKWORD_LOT_H

#include <lockword/loop.h>

/* These are no symbols of the shared library. */
#pragma GCC visibility push(hidden)

#define LW_CONTAINER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void lw_link_init(lw_link *ring)
{
    ring->next = ring->before = ring;
}

static inline bool lw_link_is_alone(const lw_link *link)
{
    return link->next == link;
}

/* Puts a link before another one; before a ring's own: at its end. */
static inline void lw_link_put(lw_link *link, lw_link *before)
{
    link->next = before;
    link->before = before->before;
    before->before->next = link;
    before->before = link;
}

static inline void lw_link_remove(lw_link *link)
{
    link->before->next = link->next;
    link->next->before = link->before;
    lw_link_init(link);
}

/* To be called before the lot is used. */
void lw_lot_open(void);

/* How many forks the process descends from, since it has used the lot. */
uint32_t lw_lot_forks(void);

/*
 * Puts a waiter that is in no line into its line. Returns whether it has become the head: then it
 * is parked already, and its step has to run.
 */
bool lw_lot_join(lw_waiter *waiter);

/*
 * Parks a head; or puts a waiter into its line again that a notify has taken out. Returns false if
 * it stands behind another one: then its step runs when it is the head.
 */
bool lw_lot_park(lw_waiter *waiter);

/*
 * Takes a waiter out of its line, if it is in one, and out of its loop's inbox. Returns the line's
 * new head, if there is one: its step has to run.
 */
lw_waiter *lw_lot_leave(lw_waiter *waiter);

bool lw_lot_is_parked(const lw_waiter *waiter);

/* Of a waiter that is in a line. */
bool lw_lot_is_of_region(const lw_waiter *waiter);

/*
 * Tells up to n waiters that hear of this word, and all that wait for anything but a condition of
 * this process. Returns how many lines it has told.
 */
uint32_t lw_lot_notify(lw_word *word, uint32_t n);

/*
 * Puts a waiter into its loop's inbox, for this reason. Returns whether the loop has to be rung by
 * the caller, who then calls lw_inbox_ring.
 */
bool lw_inbox_put(lw_waiter *waiter, uint32_t why);

/* Takes the first waiter out, with the reason; or returns NULL. */
lw_waiter *lw_inbox_take(lw_loop *loop, uint32_t *why);

/* Says that the loop runs, and need not be rung. */
void lw_inbox_wake(lw_loop *loop);

/*
 * Says that the loop has nothing to do, so that the next one to put something in rings. Returns
 * false if there is something.
 */
bool lw_inbox_rest(lw_loop *loop);

/* Returns whether the caller has to ring the loop. */
bool lw_inbox_claim_ring(lw_loop *loop);
void lw_inbox_ring(lw_loop *loop);

/* Waits until no other thread will touch the loop. It has no waiter in the lot any more. */
void lw_inbox_close(lw_loop *loop);

/*
 * The alarm: what the system supplies, in one C file each. A descriptor that becomes readable when
 * it is rung, from any thread, or at a time.
 */
int lw_alarm_open(int *fds);
void lw_alarm_close(const int *fds);
void lw_alarm_ring(const int *fds);
/* Takes back all rings so far. */
void lw_alarm_hush(const int *fds);
/* Sets the time; LW_FOREVER: none. */
void lw_alarm_set(const int *fds, lw_deadline deadline);

#pragma GCC visibility pop

#endif
