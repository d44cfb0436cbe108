/*
 * posix.c: waiting on any POSIX system, with pthreads alone. For systems that have no file of their
 * own, and on Linux with LOCKWORD_PORTABLE.
 *
 * A sleeper stands in a list for each of its words. An address belongs to one of BUCKETS lists by
 * its hash, so that the memory is bounded; the places in the lists are on the sleepers' stacks.
 * Each bucket has a mutex, and each sleeper has one with a condition, at which it sleeps. A thread
 * that has both has locked the bucket first.
 *
 * Why no notify is missed. A thread compares the word while it has the bucket's mutex, and then
 * takes its place. A notifier that locked the bucket earlier changed the word before that, so the
 * thread sees the change; one that locks it later finds the thread.
 *
 * Why a sleeper's memory may be gone when it has returned: a notifier touches it only while it has
 * a bucket in which the sleeper stands, and before it returns the sleeper locks all of these.
 */
#define _POSIX_C_SOURCE 200809L
#include "platform.h"

#include "../blocking.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

/*
 * A condition sleeps for at most so long at once. So every time fits into a time_t of 32 bits, and
 * no system has to add up far ones.
 */
#define LONGEST_NAP_NS (100000 * (int64_t)NS_PER_S)

/* A power of two. */
#define BUCKETS 64u

struct sleeper {
    pthread_mutex_t mutex;
    pthread_cond_t notified;
    bool is_notified;
};

/* A sleeper's place at one of its words. */
struct place {
    struct place *next;
    struct place *before;
    const uint32_t *word;
    struct sleeper *sleeper;
};

/* The longest waiter comes first. */
static struct bucket {
    pthread_mutex_t mutex;
    struct place *first;
    struct place *last;
} buckets[BUCKETS];

static pthread_condattr_t monotonic;
static pthread_once_t begun = PTHREAD_ONCE_INIT;

static void make_buckets(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        pthread_mutex_init(&buckets[i].mutex, NULL);
        buckets[i].first = buckets[i].last = NULL;
    }
}

/*
 * A forked child has its parent's memory, but one thread, with another id. The threads that the
 * buckets name, and those that have locked them, are not there.
 */
static void forget_threads(void)
{
    lw_self_cached = LW_SELF_UNKNOWN;
    make_buckets();
}

static void begin(void)
{
    make_buckets();
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_atfork(NULL, NULL, forget_threads);
}

/* Another constructor may wait earlier; a program that never waits may fork. */
LW_CONSTRUCTOR static void begin_once(void)
{
    pthread_once(&begun, begin);
}

/* POSIX numbers no threads: self.c counts them. */
uint64_t lw_thread_id(void)
{
    return 0;
}

bool lw_has_one_cpu(void)
{
#ifdef _SC_NPROCESSORS_ONLN
    return sysconf(_SC_NPROCESSORS_ONLN) == 1;
#else
    return false;
#endif
}

int64_t lw_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void lw_yield(void)
{
    sched_yield();
}

/* The upper bits of a product depend on all bits of the address. */
static struct bucket *lock_bucket(const uint32_t *word)
{
    const uint64_t hash = (uintptr_t)word * UINT64_C(0x9e3779b97f4a7c15);
    struct bucket *bucket = &buckets[hash >> 32 & (BUCKETS - 1)];
    pthread_mutex_lock(&bucket->mutex);
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
static bool enter(struct place *place, const struct lw_waited *waited, struct sleeper *sleeper)
{
    *place = (struct place){.word = waited->word, .sleeper = sleeper};
    struct bucket *bucket = lock_bucket(waited->word);
    const bool is_expected = __atomic_load_n(waited->word, __ATOMIC_SEQ_CST) == waited->expected;
    if (is_expected)
        put(bucket, place);
    pthread_mutex_unlock(&bucket->mutex);
    return is_expected;
}

/* Gives up the place at the word, unless a notifier has taken it. */
static void leave(struct place *place, const uint32_t *word)
{
    struct bucket *bucket = lock_bucket(word);
    if (place->word)
        take(bucket, place);
    pthread_mutex_unlock(&bucket->mutex);
}

/*
 * Sleeps until the sleeper is notified, or the deadline has passed. A wait does not end by
 * pthread_cancel: the sleeper's places would stay in the lists.
 */
static void sleep_until(struct sleeper *sleeper, lw_deadline deadline)
{
    int cancelable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
    pthread_mutex_lock(&sleeper->mutex);
    while (!sleeper->is_notified) {
        if (deadline == LW_FOREVER) {
            pthread_cond_wait(&sleeper->notified, &sleeper->mutex);
            continue;
        }
        const int64_t now = lw_now();
        if (now >= deadline)
            break;
        const int64_t until = deadline - now < LONGEST_NAP_NS ? deadline : now + LONGEST_NAP_NS;
        const struct timespec time = {.tv_sec = (time_t)(until / NS_PER_S),
                                      .tv_nsec = (long)(until % NS_PER_S)};
        pthread_cond_timedwait(&sleeper->notified, &sleeper->mutex, &time);
    }
    pthread_mutex_unlock(&sleeper->mutex);
    pthread_setcancelstate(cancelable, NULL);
}

static lw_woken wait_at(struct place *places, const struct lw_waited *waited, uint32_t n,
                        lw_deadline deadline)
{
    begin_once();
    const int saved = errno;
    struct sleeper sleeper = {.is_notified = false};
    pthread_mutex_init(&sleeper.mutex, NULL);
    pthread_cond_init(&sleeper.notified, &monotonic);

    uint32_t entered = 0;
    while (entered < n && enter(&places[entered], &waited[entered], &sleeper))
        entered++;
    if (entered == n)
        sleep_until(&sleeper, deadline);
    for (uint32_t i = 0; i < entered; i++)
        leave(&places[i], waited[i].word);

    pthread_cond_destroy(&sleeper.notified);
    pthread_mutex_destroy(&sleeper.mutex);
    errno = saved;
    return sleeper.is_notified ? LW_OK : entered < n ? LW_NOT_EQUAL : LW_TIMED_OUT;
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
static bool wake(struct sleeper *sleeper)
{
    pthread_mutex_lock(&sleeper->mutex);
    const bool wakes = !sleeper->is_notified;
    sleeper->is_notified = true;
    pthread_cond_signal(&sleeper->notified);
    pthread_mutex_unlock(&sleeper->mutex);
    return wakes;
}

uint32_t lw_notify(lw_word *word, uint32_t n)
{
    begin_once();
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
    pthread_mutex_unlock(&bucket->mutex);
    errno = saved;
    return woken;
}
