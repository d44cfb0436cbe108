/* lot.c: the parking lot and the inboxes. What they are, and why that works: lot.h. */
#include "lot.h"

#include <lockword/core/waiters.h>

#include "../wait/platform.h"

#include <pthread.h>
#include <string.h>

_Static_assert((int)LW_MUTEX_GATE == (int)LW_WAITERS_GATE,
               "all event loops park at the second word");

/*
 * With ten thousand words that are waited for, a bucket has two or three entries. A power of two.
 */
#define LW_BUCKETS 4096u

/* How many loops a notifier remembers before it lets go of the bucket, to ring them. */
#define RINGS 16

/* How often the end of a loop looks whether somebody still rings it. */
#define CLOSE_NS 50000

static struct bucket {
    lw_mutex lock;
    lw_link heads;     /* in the order of parked_at */
    uint64_t parkings; /* how many there have been: one may stay parked during many others */
} buckets[LW_BUCKETS];

/*
 * How many waiters of conditions there are: whether lw_notify_both has to look for any. A waiter is
 * counted before it gives up its mutex, and until it has left its line: if a notify overlooked it
 * there, the next notify would find it, and not the waiter that this notify is for. A waiter that
 * was taken out, but finds nothing changed and parks again, counts meanwhile: a notify that comes
 * just then must lock the bucket, so that the waiter sees what was changed before it.
 */
static lw_word at_conditions;

static uint32_t forks;
static bool is_used;

/* A forked child has no loops. Another thread may have held these locks. */
static void empty_lot(void)
{
    if (!is_used)
        return;
    memset(buckets, 0, sizeof buckets);
    lw_store(&at_conditions, 0, lw_relaxed);
    forks++;
}

LW_CONSTRUCTOR static void empty_lot_in_forked_children(void)
{
    pthread_atfork(NULL, NULL, empty_lot);
}

void lw_lot_open(void)
{
    __atomic_store_n(&is_used, true, __ATOMIC_RELAXED);
}

uint32_t lw_lot_forks(void)
{
    return forks;
}

static lw_word *gate_of(const lw_waiter *waiter)
{
    return &waiter->words[waiter->gate];
}

bool lw_lot_is_of_region(const lw_waiter *waiter)
{
    return waiter->heard_at != gate_of(waiter);
}

/* The upper bits of a product depend on all bits of the address. */
static struct bucket *lock_bucket(const lw_word *address)
{
    const uint64_t hash = (uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    struct bucket *bucket = &buckets[hash >> 52 & (LW_BUCKETS - 1)];
    lw_mutex_lock(&bucket->lock);
    if (!bucket->heads.next)
        lw_link_init(&bucket->heads);
    return bucket;
}

static lw_waiter *next_head(const lw_link *link)
{
    return LW_CONTAINER(link->next, lw_waiter, lot);
}

/*
 * Whether each notify is for one waiter. A condition's waiters park at the sequence, and wait for
 * different values of it, in one line. All others park at a gate. A region's bell tells all.
 */
static bool is_notified_alone(const lw_waiter *waiter)
{
    return waiter->gate != LW_WAITERS_GATE && !lw_lot_is_of_region(waiter);
}

/*
 * Whether a waiter may stand behind another one: while that one has to wait, so has this one. A
 * program may wait for each of a counter's values. If each of these were a line, a new one would
 * look at all of them, and so would each change of the counter.
 */
static bool may_follow(const lw_waiter *last, const lw_waiter *waiter)
{
    if (last->step == lw_counter_at_least_step)
        return last->wanted <= waiter->wanted;
    if (last->step == lw_counter_at_most_step)
        return last->wanted >= waiter->wanted;
    return last->wanted == waiter->wanted || is_notified_alone(last);
}

/* Whether the waiter belongs into this head's line. Another loop's changes without the lock. */
static bool belongs_behind(const lw_waiter *head, const lw_waiter *waiter)
{
    return head->words == waiter->words && head->gate == waiter->gate &&
           head->step == waiter->step && head->request->loop == waiter->request->loop &&
           may_follow(LW_CONTAINER(head->line.before, lw_waiter, line), waiter);
}

static void set_parked(lw_waiter *waiter, bool parked)
{
    __atomic_store_n(&waiter->parked, parked, __ATOMIC_RELAXED);
}

bool lw_lot_is_parked(const lw_waiter *waiter)
{
    return __atomic_load_n(&waiter->parked, __ATOMIC_RELAXED);
}

/* Parks a head, or makes one: behind all others. */
static void park(struct bucket *bucket, lw_waiter *head)
{
    head->leads = true;
    head->parked_at = bucket->parkings++;
    set_parked(head, true);
    lw_link_remove(&head->lot);
    lw_link_put(&head->lot, &bucket->heads);
}

/* Adds n, modulo 2^32: UINT32_MAX takes one off. */
static void count_at_conditions(const lw_waiter *waiter, uint32_t n)
{
    if (is_notified_alone(waiter))
        __atomic_fetch_add(&at_conditions, n, __ATOMIC_RELAXED);
}

/* Puts a waiter that is in no line into its line, and returns whether it is the head. */
static bool join(struct bucket *bucket, lw_waiter *waiter)
{
    lw_waiter *head = next_head(&bucket->heads);
    while (&head->lot != &bucket->heads && !belongs_behind(head, waiter))
        head = next_head(&head->lot);
    const bool leads = &head->lot == &bucket->heads;
    if (leads) {
        park(bucket, waiter);
    } else {
        waiter->parked_at = bucket->parkings++;
        lw_link_put(&waiter->line, &head->line);
    }
    return leads;
}

bool lw_lot_join(lw_waiter *waiter)
{
    lw_link_init(&waiter->lot);
    lw_link_init(&waiter->line);
    lw_link_init(&waiter->ready);
    waiter->heard_at = lw_heard_at(gate_of(waiter));
    count_at_conditions(waiter, 1);
    struct bucket *bucket = lock_bucket(waiter->heard_at);
    const bool leads = join(bucket, waiter);
    lw_mutex_unlock(&bucket->lock);
    return leads;
}

bool lw_lot_park(lw_waiter *waiter)
{
    struct bucket *bucket = lock_bucket(waiter->heard_at);
    if (waiter->leads)
        park(bucket, waiter);
    /* One that a notify took out while it was in the inbox may be back in its line already. */
    const bool leads = waiter->leads || (lw_link_is_alone(&waiter->line) && join(bucket, waiter));
    lw_mutex_unlock(&bucket->lock);
    return leads;
}

/*
 * Returns where the line's next head stands in the bucket: in its predecessor's place, but for a
 * condition's waiters, whose order matters between lines, too.
 */
static lw_link *place_of(struct bucket *bucket, const lw_waiter *head, lw_waiter *next)
{
    lw_link *place = head->lot.next;
    if (is_notified_alone(head)) {
        while (place != &bucket->heads &&
               LW_CONTAINER(place, lw_waiter, lot)->parked_at < next->parked_at)
            place = place->next;
    } else {
        next->parked_at = head->parked_at;
    }
    return place;
}

/*
 * Takes a waiter out of its line. If it was the head, the next one in the line becomes the head,
 * and is returned.
 */
static lw_waiter *leave(struct bucket *bucket, lw_waiter *waiter)
{
    lw_waiter *next = NULL;
    if (waiter->leads) {
        if (!lw_link_is_alone(&waiter->line)) {
            next = LW_CONTAINER(waiter->line.next, lw_waiter, line);
            next->leads = true;
            set_parked(next, lw_lot_is_parked(waiter));
            lw_link_put(&next->lot, place_of(bucket, waiter, next));
        }
        waiter->leads = false;
        set_parked(waiter, false);
        lw_link_remove(&waiter->lot);
    }
    lw_link_remove(&waiter->line);
    return next;
}

lw_waiter *lw_lot_leave(lw_waiter *waiter)
{
    /* No notifier looks beyond the head of such a line. */
    if (!is_notified_alone(waiter) && !waiter->leads) {
        lw_link_remove(&waiter->line);
        return NULL;
    }
    struct bucket *bucket = lock_bucket(waiter->heard_at);
    lw_waiter *next = leave(bucket, waiter);
    count_at_conditions(waiter, UINT32_MAX);
    const bool is_ready = waiter->is_ready;
    lw_mutex_unlock(&bucket->lock);
    if (is_ready) {
        lw_loop *loop = waiter->request->loop;
        lw_mutex_lock(&loop->lock);
        lw_link_remove(&waiter->ready);
        waiter->is_ready = false;
        lw_mutex_unlock(&loop->lock);
    }
    return next;
}

/*
 * Ends the wait of a parked head, and returns the next place to look at. If the notify is for one
 * of a condition's waiters, the others of its line remain.
 */
static lw_link *notify(struct bucket *bucket, lw_waiter *head, uint32_t n)
{
    if (!is_notified_alone(head) || n == LW_ALL) {
        set_parked(head, false);
        return head->lot.next;
    }
    lw_link *before = head->lot.before;
    leave(bucket, head);
    return before->next;
}

uint32_t lw_lot_notify(lw_word *word, uint32_t n)
{
    lw_loop *to_ring[RINGS];
    uint32_t found = 0;
    struct bucket *bucket = lock_bucket(word);
    /* A loop that parks again meanwhile has seen what this notify is about. */
    const uint64_t end = bucket->parkings;
    for (bool more = true; more;) {
        uint32_t rings = 0;
        lw_link *link = bucket->heads.next;
        while (link != &bucket->heads && found < n && rings < RINGS) {
            lw_waiter *head = LW_CONTAINER(link, lw_waiter, lot);
            link = link->next;
            if (head->heard_at == word && lw_lot_is_parked(head) && head->parked_at < end) {
                link = notify(bucket, head, n);
                found++;
                if (lw_inbox_put(head, LW_OK))
                    to_ring[rings++] = head->request->loop;
            }
        }
        more = rings == RINGS;
        lw_mutex_unlock(&bucket->lock);
        while (rings > 0)
            lw_inbox_ring(to_ring[--rings]);
        if (more)
            lw_mutex_lock(&bucket->lock);
    }
    return found;
}

/* In a region its listener tells the loops of this process, too. */
uint32_t lw_notify_async(lw_word *word, uint32_t n)
{
    return lw_ring(word) ? 0 : lw_lot_notify(word, n);
}

/*
 * A condition's waiters of both kinds wait at one word, and which of them came first is not known:
 * n of each kind are notified. If one kind went first, it could be a waiter that came after the
 * condition's sequence had moved, and one that came before would wait on. Only this process's
 * waiters are counted: loops of other processes listen to the word's bell.
 */
uint32_t lw_notify_both(lw_word *word, uint32_t n)
{
    if (__builtin_expect(lw_load(&at_conditions, lw_relaxed) == 0, 1)) {
        lw_ring(word);
        return lw_notify(word, n);
    }
    const uint32_t threads = lw_notify(word, n);
    return threads + lw_notify_async(word, n);
}

/* Called with the loop's lock held. */
static bool claim_ring(lw_loop *loop)
{
    if (loop->is_rung)
        return false;
    loop->is_rung = true;
    loop->ringers++;
    return true;
}

bool lw_inbox_claim_ring(lw_loop *loop)
{
    lw_mutex_lock(&loop->lock);
    const bool claimed = claim_ring(loop);
    lw_mutex_unlock(&loop->lock);
    return claimed;
}

bool lw_inbox_put(lw_waiter *waiter, uint32_t why)
{
    lw_loop *loop = waiter->request->loop;
    lw_mutex_lock(&loop->lock);
    if (!waiter->is_ready) {
        lw_link_put(&waiter->ready, &loop->ready);
        waiter->is_ready = true;
        waiter->why = (uint8_t)why;
    } else if (why == LW_OK) {
        waiter->why = LW_OK;
    }
    const bool claimed = claim_ring(loop);
    lw_mutex_unlock(&loop->lock);
    return claimed;
}

lw_waiter *lw_inbox_take(lw_loop *loop, uint32_t *why)
{
    lw_waiter *waiter = NULL;
    lw_mutex_lock(&loop->lock);
    if (!lw_link_is_alone(&loop->ready)) {
        waiter = LW_CONTAINER(loop->ready.next, lw_waiter, ready);
        lw_link_remove(&waiter->ready);
        waiter->is_ready = false;
        *why = waiter->why;
    }
    lw_mutex_unlock(&loop->lock);
    return waiter;
}

void lw_inbox_wake(lw_loop *loop)
{
    lw_mutex_lock(&loop->lock);
    loop->is_rung = true;
    lw_mutex_unlock(&loop->lock);
}

bool lw_inbox_rest(lw_loop *loop)
{
    lw_mutex_lock(&loop->lock);
    const bool is_empty = lw_link_is_alone(&loop->ready);
    if (is_empty)
        loop->is_rung = false;
    lw_mutex_unlock(&loop->lock);
    return is_empty;
}

/* The loop's memory may be gone as soon as it has no ringer. */
void lw_inbox_ring(lw_loop *loop)
{
    lw_alarm_ring(loop->fds);
    lw_mutex_lock(&loop->lock);
    loop->ringers--;
    lw_mutex_unlock(&loop->lock);
}

/*
 * A thread that rings the loop may have been preempted. If its priority is lower than that of this
 * thread, a yield would not let it run. So this thread sleeps until nobody rings.
 */
void lw_inbox_close(lw_loop *loop)
{
    const lw_word nobody = 0;
    for (;;) {
        lw_mutex_lock(&loop->lock);
        const bool is_quiet = loop->ringers == 0;
        lw_mutex_unlock(&loop->lock);
        if (is_quiet)
            return;
        lw_wait(&nobody, 0, lw_now() + CLOSE_NS);
    }
}
