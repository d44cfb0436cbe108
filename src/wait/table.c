/*
 * table.c: which threads wait on which words.
 *
 * A sleeper stands in a list for each of its words. An address belongs to one of BUCKETS lists by
 * its hash, so that the memory is bounded; the places in the lists are on the sleepers' stacks.
 * Each bucket has a lock.
 *
 * Why no notify is missed. A thread compares the word while it has the bucket's lock, and then
 * takes its place. A notifier that locked the bucket earlier changed the word before that, so the
 * thread sees the change; one that locks it later finds the thread.
 *
 * Why a sleeper's memory may be gone when it has returned: a notifier touches it only while it has
 * a bucket in which the sleeper stands, and before it returns the sleeper locks all of these.
 */
#include "table.h"

#include "../blocking.h"

#include <errno.h>
#include <stddef.h>

/* A power of two. */
#define BUCKETS 64u

/* A sleeper's place at one of its words. */
struct place {
    struct place *next;
    struct place *before;
    const uint32_t *word;
    struct lw_sleeper *sleeper;
};

/* The longest waiter comes first. */
static struct bucket {
    lw_table_lock lock;
    struct place *first;
    struct place *last;
} buckets[BUCKETS];

void lw_table_reset(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        lw_table_make(&buckets[i].lock);
        buckets[i].first = buckets[i].last = NULL;
    }
}

/* The upper bits of a product depend on all bits of the address. */
static struct bucket *lock_bucket(const uint32_t *word)
{
    const uint64_t hash = (uintptr_t)word * UINT64_C(0x9e3779b97f4a7c15);
    struct bucket *bucket = &buckets[hash >> 32 & (BUCKETS - 1)];
    lw_table_enter(&bucket->lock);
    return bucket;
}

static void put(struct bucket *bucket, struct place *place)
{
    place->next = NULL;
    place->before = bucket->last;
    *(place->before ? &place->before->next : &bucket->first) = place;
    bucket->last = place;
}

static void take(struct bucket *bucket, struct place *place)
{
    *(place->before ? &place->before->next : &bucket->first) = place->next;
    *(place->next ? &place->next->before : &bucket->last) = place->before;
    place->word = NULL;
}

/* Takes a place at the word, or returns false: it holds something else. */
static bool enter(struct place *place, const struct lw_waited *waited, struct lw_sleeper *sleeper)
{
    *place = (struct place){.word = waited->word, .sleeper = sleeper};
    struct bucket *bucket = lock_bucket(waited->word);
    const bool is_expected = __atomic_load_n(waited->word, __ATOMIC_SEQ_CST) == waited->expected;
    if (is_expected)
        put(bucket, place);
    lw_table_leave(&bucket->lock);
    return is_expected;
}

/* Gives up the place at the word, unless a notifier has taken it. */
static void leave(struct place *place, const uint32_t *word)
{
    struct bucket *bucket = lock_bucket(word);
    if (place->word)
        take(bucket, place);
    lw_table_leave(&bucket->lock);
}

static bool is_notified(const struct lw_sleeper *sleeper)
{
    return __atomic_load_n(&sleeper->is_notified, __ATOMIC_SEQ_CST) != 0;
}

static lw_woken wait_at(struct place *places, const struct lw_waited *waited, uint32_t n,
                        lw_deadline deadline)
{
    lw_table_begin();
    const int saved = errno;
    struct lw_sleeper sleeper = {.is_notified = 0};
    lw_bed_make(&sleeper.bed);

    uint32_t entered = 0;
    while (entered < n && enter(&places[entered], &waited[entered], &sleeper))
        entered++;
    while (entered == n && !is_notified(&sleeper) &&
           (deadline == LW_FOREVER || lw_now() < deadline))
        lw_sleep(&sleeper, deadline);
    for (uint32_t i = 0; i < entered; i++)
        leave(&places[i], waited[i].word);

    lw_bed_remove(&sleeper.bed);
    errno = saved;
    return is_notified(&sleeper) ? LW_OK : entered < n ? LW_NOT_EQUAL : LW_TIMED_OUT;
}

lw_woken lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                      int64_t *look_ns)
{
    (void)look_ns;
    struct place places[LW_BLOCK_MAX];
    return wait_at(places, waited, n, deadline);
}

lw_woken lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline)
{
    const struct lw_waited waited = {word, expected};
    struct place place;
    return wait_at(&place, &waited, 1, deadline);
}

/* Returns whether it is this notify that wakes the sleeper, which may wait at other words, too. */
static bool wake(struct lw_sleeper *sleeper)
{
    const bool wakes = __atomic_exchange_n(&sleeper->is_notified, 1, __ATOMIC_SEQ_CST) == 0;
    if (wakes)
        lw_rouse(sleeper);
    return wakes;
}

uint32_t lw_notify(lw_word *word, uint32_t n)
{
    lw_table_begin();
    const int saved = errno;
    struct bucket *bucket = lock_bucket(word);
    uint32_t woken = 0;
    struct place *next;
    for (struct place *place = bucket->first; place && woken < n; place = next) {
        next = place->next;
        if (place->word != word)
            continue;
        take(bucket, place);
        woken += wake(place->sleeper);
    }
    lw_table_leave(&bucket->lock);
    errno = saved;
    return woken;
}
