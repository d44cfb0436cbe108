/* mutex-stress.c: what lockword/mutex.h promises when many threads want it at once. Runs under
 * ThreadSanitizer, too. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <lockword/lockword.h>

#define THREADS 16

static void spin_ns(int64_t ns)
{
    const int64_t until = now_ns() + ns;
    while (now_ns() < until) {
    }
}

struct counter {
    lw_mutex mutex;
    uint32_t count; /* plain: only the mutex makes it exact */
    bool done;
};

struct worker {
    struct helper helper;
    struct counter *counter;
    uint32_t seed;
    uint32_t counted;
    uint32_t failures;
};

/* One of lock, trylock and lock_until, by chance. */
static int lock_somehow(struct worker *worker)
{
    lw_mutex *mutex = &worker->counter->mutex;
    switch (next_random(&worker->seed) % 4) {
    case 0:
        return lw_mutex_trylock(mutex);
    case 1:
        return lw_mutex_lock_until(mutex, lw_after_ns(next_random(&worker->seed) % 100000));
    default:
        return lw_mutex_lock(mutex);
    }
}

static void count_often(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < 10000; i++) {
        const int result = lock_somehow(worker);
        if (result == 0) {
            worker->counter->count++;
            worker->counted++;
            worker->failures += lw_mutex_unlock(&worker->counter->mutex) != 0;
        } else {
            worker->failures += result != EBUSY && result != ETIMEDOUT;
        }
    }
}

TEST(sixteen_threads_count_exactly)
{
    static struct counter counter;
    static struct worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.counter = &counter, .seed = i};
        start(&workers[i].helper, count_often, &workers[i]);
    }
    uint32_t counted = 0;
    for (size_t i = 0; i < THREADS; i++) {
        join(&workers[i].helper);
        assert_int_equal(workers[i].failures, 0);
        counted += workers[i].counted;
    }
    assert_int_equal(counter.count, counted);
    assert_int_equal(counter.mutex.word[LW_MUTEX_STATE], 0);
    assert_int_equal(counter.mutex.word[LW_MUTEX_GATE], 0);
}

/*
 * The blocking driver without its re-checks, the first of which would heal a lost wake after half a
 * millisecond: here it hangs. Only a mutex that is free and reserved is re-checked, as the step
 * demands.
 */
static enum lw_what lock_without_rechecks(lw_mutex *mutex, lw_deadline deadline)
{
    uint32_t why = LW_START;
    uint32_t phase = 0;
    for (;;) {
        const lw_answer answer = lw_mutex_lock_step(mutex->word, lw_self(), why, phase);
        const uint32_t what = lw_answer_what(answer);
        phase = lw_answer_phase(answer);
        if (what < LW_WAIT)
            return (enum lw_what)what;
        const lw_deadline recheck = what == LW_WAIT_BRIEF ? lw_after_ms(1) : LW_FOREVER;
        const lw_deadline until = recheck < deadline ? recheck : deadline;
        why = lw_wait(&mutex->word[lw_answer_word(answer)], lw_answer_expected(answer), until);
        if (why == LW_TIMED_OUT && until < deadline)
            why = LW_SLICE;
    }
}

#define WAITERS 3

struct round {
    lw_mutex mutex;
    pthread_barrier_t begin, end;
    uint32_t passed; /* atomic: how many have come through the mutex, or have given up */
    bool stop;
};

struct waiter {
    struct helper helper;
    struct round *round;
    bool timed;
    uint32_t seed;
    uint32_t gave_up;
    uint32_t failures;
};

static void wait_each_round(void *argument)
{
    struct waiter *waiter = argument;
    struct round *round = waiter->round;
    for (;;) {
        pthread_barrier_wait(&round->begin);
        if (round->stop)
            return;
        const lw_deadline deadline =
            waiter->timed ? lw_after_ns(next_random(&waiter->seed) % 100000) : LW_FOREVER;
        if (lock_without_rechecks(&round->mutex, deadline) == LW_DONE)
            waiter->failures += lw_mutex_unlock(&round->mutex) != 0;
        else
            waiter->gave_up++;
        __atomic_fetch_add(&round->passed, 1, __ATOMIC_RELEASE);
        pthread_barrier_wait(&round->end);
    }
}

/* Three wait, and the holder lets go about when the deadline of one of them passes: its wake must
 * not be lost. */
TEST(a_waiter_that_gives_up_strands_nobody)
{
    static struct round round;
    static struct waiter waiters[WAITERS];
    uint32_t seed = 1;
    pthread_barrier_init(&round.begin, NULL, WAITERS + 1);
    pthread_barrier_init(&round.end, NULL, WAITERS + 1);
    for (uint32_t i = 0; i < WAITERS; i++) {
        waiters[i] = (struct waiter){.round = &round, .timed = i == 0, .seed = i};
        start(&waiters[i].helper, wait_each_round, &waiters[i]);
    }
    const int64_t end_ns = now_ns() + 1000 * NS_PER_MS;
    while (now_ns() < end_ns) {
        round.passed = 0;
        assert_int_equal(lw_mutex_lock(&round.mutex), 0);
        pthread_barrier_wait(&round.begin);
        spin_ns(next_random(&seed) % 150000);
        assert_int_equal(lw_mutex_unlock(&round.mutex), 0);
        const int64_t stranded_ns = now_ns() + 10000 * (int64_t)NS_PER_MS;
        while (__atomic_load_n(&round.passed, __ATOMIC_ACQUIRE) < WAITERS) {
            if (now_ns() > stranded_ns)
                fail_msg("a waiter is stranded; the mutex's state is %#x",
                         round.mutex.word[LW_MUTEX_STATE]);
            sched_yield();
        }
        pthread_barrier_wait(&round.end);
        assert_int_equal(round.mutex.word[LW_MUTEX_STATE], 0);
    }
    round.stop = true;
    pthread_barrier_wait(&round.begin);
    for (size_t i = 0; i < WAITERS; i++) {
        join(&waiters[i].helper);
        assert_int_equal(waiters[i].failures, 0);
    }
    assert_true(waiters[0].gave_up > 0);
    assert_int_equal(waiters[1].gave_up + waiters[2].gave_up, 0);
}

static void relock_without_a_gap(void *argument)
{
    struct counter *counter = argument;
    bool done;
    do {
        lw_mutex_lock(&counter->mutex);
        counter->count++;
        done = counter->done;
        lw_mutex_unlock(&counter->mutex);
    } while (!done);
}

/* The longest of a hundred waits, ns, against so many threads that take the mutex again as soon as
 * they have freed it. */
static int64_t longest_wait_against(size_t relockers)
{
    struct counter counter = {.count = 0};
    struct helper helpers[2];
    assert_true(relockers <= COUNT_OF(helpers));
    for (size_t i = 0; i < relockers; i++)
        start(&helpers[i], relock_without_a_gap, &counter);
    int64_t longest = 0;
    for (int i = 0; i < 100; i++) {
        const int64_t start_ns = now_ns();
        assert_int_equal(lw_mutex_lock(&counter.mutex), 0);
        const int64_t waited = now_ns() - start_ns;
        longest = waited > longest ? waited : longest;
        counter.done = i == 99;
        assert_int_equal(lw_mutex_unlock(&counter.mutex), 0);
        usleep(200);
    }
    for (size_t i = 0; i < relockers; i++)
        join(&helpers[i]);
    return longest;
}

TEST(who_relocks_without_a_gap_keeps_nobody_out)
{
    for (size_t relockers = 1; relockers <= 2; relockers++) {
        /* The machine may have been busy with others: the best of some runs counts. */
        int64_t best = INT64_MAX;
        for (int run = 0; run < 5 && best >= 50 * NS_PER_MS; run++) {
            const int64_t longest = longest_wait_against(relockers);
            best = longest < best ? longest : best;
        }
        if (best >= 50 * NS_PER_MS)
            fail_msg("%zu relocking threads kept another out for %lld ms", relockers,
                     (long long)(best / NS_PER_MS));
    }
}

RUN_TESTS("mutex-stress")
