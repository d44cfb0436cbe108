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

/* One of lock, trylock and lock_until, by chance. */
static int lock_somehow(lw_mutex *mutex, uint32_t *seed)
{
    switch (next_random(seed) % 4) {
    case 0:
        return lw_mutex_trylock(mutex);
    case 1:
        return lw_mutex_lock_until(mutex, lw_after_ns(next_random(seed) % 100000));
    default:
        return lw_mutex_lock(mutex);
    }
}

/* `n` is a seed before, and how much it has counted after. */
static int count_often(struct call *call)
{
    struct counter *counter = call->on;
    uint32_t seed = call->n;
    int failures = 0;
    call->n = 0;
    for (int i = 0; i < 10000; i++) {
        const int result = lock_somehow(&counter->mutex, &seed);
        if (result == 0) {
            counter->count++;
            call->n++;
            failures += lw_mutex_unlock(&counter->mutex) != 0;
        } else {
            failures += result != EBUSY && result != ETIMEDOUT;
        }
    }
    return failures;
}

TEST(sixteen_threads_count_exactly)
{
    static struct counter counter;
    static struct call calls[THREADS];
    start_calls(calls, THREADS, calling(count_often, &counter));
    end_calls(calls, THREADS);
    uint32_t counted = 0;
    for (size_t i = 0; i < THREADS; i++)
        counted += calls[i].n;
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

/* The first has deadlines. `n` is how often it has given up after. */
static int wait_each_round(struct call *call)
{
    struct round *round = call->on;
    const bool timed = call->n == 0;
    uint32_t seed = call->n;
    int failures = 0;
    for (call->n = 0;;) {
        pthread_barrier_wait(&round->begin);
        if (round->stop)
            return failures;
        const lw_deadline deadline = timed ? lw_after_ns(next_random(&seed) % 100000) : LW_FOREVER;
        if (lock_without_rechecks(&round->mutex, deadline) == LW_DONE)
            failures += lw_mutex_unlock(&round->mutex) != 0;
        else
            call->n++;
        __atomic_fetch_add(&round->passed, 1, __ATOMIC_RELEASE);
        pthread_barrier_wait(&round->end);
    }
}

/* Three wait, and the holder lets go about when the deadline of one of them passes: its wake must
 * not be lost. */
TEST(a_waiter_that_gives_up_strands_nobody)
{
    static struct round round;
    static struct call calls[WAITERS];
    uint32_t seed = 1;
    pthread_barrier_init(&round.begin, NULL, WAITERS + 1);
    pthread_barrier_init(&round.end, NULL, WAITERS + 1);
    start_calls(calls, WAITERS, calling(wait_each_round, &round));
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
    end_calls(calls, WAITERS);
    assert_true(calls[0].n > 0);
    assert_int_equal(calls[1].n + calls[2].n, 0);
}

static int relock_without_a_gap(struct call *call)
{
    struct counter *counter = call->on;
    bool done;
    do {
        lw_mutex_lock(&counter->mutex);
        counter->count++;
        done = counter->done;
        lw_mutex_unlock(&counter->mutex);
    } while (!done);
    return 0;
}

/* The longest of a hundred waits, ns, against so many threads that take the mutex again as soon as
 * they have freed it. */
static int64_t longest_wait(const void *how)
{
    const size_t relockers = *(const size_t *)how;
    struct counter counter = {.count = 0};
    struct call calls[2];
    assert_true(relockers <= COUNT_OF(calls));
    start_calls(calls, relockers, calling(relock_without_a_gap, &counter));
    int64_t longest = 0;
    for (int i = 0; i < 100; i++) {
        const int64_t start_ns = used_ns();
        assert_int_equal(lw_mutex_lock(&counter.mutex), 0);
        const int64_t waited = used_ns() - start_ns;
        longest = waited > longest ? waited : longest;
        counter.done = i == 99;
        assert_int_equal(lw_mutex_unlock(&counter.mutex), 0);
        usleep(200);
    }
    end_calls(calls, relockers);
    return longest;
}

TEST(who_relocks_without_a_gap_keeps_nobody_out)
{
    for (size_t relockers = 1; relockers <= 2; relockers++)
        assert_bounded(longest_wait, &relockers, 50);
}

RUN_TESTS("mutex-stress")
