/* sem.c: what lockword/sem.h promises besides what every operation that waits does (waits.c). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <stdlib.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

#define STATE(sem) ((sem)->word[LW_SEM_STATE])

static int acquire(struct call *call)
{
    return lw_sem_acquire_cancel(call->on, call->n, call->deadline, call->cancel);
}

static struct call acquiring(lw_sem *sem, uint32_t n)
{
    return (struct call){
        .function = acquire, .on = sem, .n = n, .deadline = LW_FOREVER, .result = -1};
}

TEST(permits_are_had_all_at_once_or_not_at_all)
{
    lw_sem sem = LW_SEM_INIT(3);
    assert_int_equal(sizeof sem, 12);
    assert_int_equal(lw_sem_tryacquire(&sem, 4), EBUSY);
    assert_int_equal(lw_sem_acquire_until(&sem, 4, LW_NOW), ETIMEDOUT);
    assert_int_equal(lw_sem_available(&sem), 3);
    assert_int_equal(lw_sem_tryacquire(&sem, 2), 0);
    assert_int_equal(lw_sem_tryacquire(&sem, 2), EBUSY);
    assert_int_equal(lw_sem_acquire(&sem, 1), 0);
    assert_int_equal(lw_sem_available(&sem), 0);
    assert_int_equal(lw_sem_tryacquire(&sem, 1), EBUSY);
    assert_int_equal(lw_sem_release(&sem, 3), 0);
    assert_int_equal(lw_sem_available(&sem), 3);
}

TEST(none_is_always_to_be_had)
{
    lw_sem sem = LW_SEM_INIT(0);
    assert_int_equal(lw_sem_acquire(&sem, 0), 0);
    assert_int_equal(lw_sem_tryacquire(&sem, 0), 0);
    assert_int_equal(lw_sem_release(&sem, 0), 0);
    assert_int_equal(STATE(&sem), 0);
}

TEST(more_than_the_maximum_is_refused)
{
    lw_sem sem = LW_SEM_INIT(0);
    assert_int_equal(lw_sem_release(&sem, LW_SEM_MAX), 0);
    assert_int_equal(lw_sem_release(&sem, 1), EOVERFLOW);
    assert_int_equal(lw_sem_release(&sem, UINT32_MAX), EOVERFLOW);
    assert_int_equal(lw_sem_release(&sem, 0), 0);
    assert_int_equal(lw_sem_available(&sem), LW_SEM_MAX);
    assert_int_equal(lw_sem_acquire(&sem, LW_SEM_MAX), 0);
    assert_int_equal(lw_sem_release(&sem, LW_SEM_MAX + 1), EOVERFLOW);
    assert_int_equal(lw_sem_acquire(&sem, LW_SEM_MAX + 1), EINVAL);
    assert_int_equal(lw_sem_acquire_until(&sem, UINT32_MAX, LW_NOW), EINVAL);
    assert_int_equal(lw_sem_tryacquire(&sem, UINT32_MAX), EBUSY);
    assert_int_equal(STATE(&sem), 0);
}

TEST(an_overflow_leaves_the_waiters_marks)
{
    const uint32_t full = LW_SEM_MAX | LW_BLOCKED_WAITERS | LW_ASYNC_WAITERS;
    lw_sem sem = {{full, 0, 0}};
    assert_int_equal(lw_sem_release(&sem, 1), EOVERFLOW);
    assert_int_equal(STATE(&sem), full);
    assert_int_equal(lw_sem_acquire(&sem, 1), 0);
    assert_int_equal(STATE(&sem), full - 1);
}

TEST(a_small_request_is_not_stranded_behind_a_large_one)
{
    lw_sem sem = LW_SEM_INIT(0);
    struct call small = acquiring(&sem, 1);
    struct call large = acquiring(&sem, 3);
    start_sleeper(&small);
    start_sleeper(&large);
    assert_int_equal(lw_sem_release(&sem, 1), 0);
    assert_int_equal(end_call(&small), 0);
    assert_int_equal(lw_sem_release(&sem, 2), 0);
    sleep_ms(5);
    assert_false(has_ended(&large));
    assert_int_equal(lw_sem_release(&sem, 1), 0);
    assert_int_equal(end_call(&large), 0);
    assert_int_equal(lw_sem_available(&sem), 0);
}

/*
 * Returns whether a request for three permits has them before four threads that came later have
 * one each. A thread in line that re-checks just when the third permit is there, but the claimant
 * has not run yet, takes the claim over.
 */
static bool claimant_is_first(void)
{
    lw_sem sem = LW_SEM_INIT(1);
    struct call large = acquiring(&sem, 3);
    struct call small[4];
    start_sleeper(&large);
    start_sleepers(small, COUNT_OF(small), acquiring(&sem, 1));
    assert_int_equal(lw_sem_acquire_until(&sem, 1, LW_NOW), ETIMEDOUT);
    assert_int_equal(lw_sem_tryacquire(&sem, 1), 0);
    assert_int_equal(lw_sem_release(&sem, 2), 0);
    sleep_ms(5);
    assert_false(has_ended(&large));
    assert_none_ended(small, COUNT_OF(small));
    assert_int_equal(lw_sem_release(&sem, 1), 0);
    bool is_first = false, is_overtaken = false;
    for (int ms = 0; ms < 10000 && !is_first && !is_overtaken; ms++) {
        sleep_ms(1);
        is_first = has_ended(&large);
        for (size_t i = 0; i < COUNT_OF(small); i++)
            is_overtaken |= !is_first && has_ended(&small[i]);
    }
    assert_true(is_first || is_overtaken);
    assert_int_equal(lw_sem_release(&sem, 4), 0);
    assert_int_equal(end_call(&large), 0);
    end_calls(small, COUNT_OF(small));
    assert_int_equal(lw_sem_available(&sem), 0);
    return is_first;
}

/* A busy machine may delay a re-check for so long that it comes just then: hence four chances. */
TEST(a_claim_is_served_before_newcomers)
{
    bool is_first = false;
    for (int chance = 0; chance < 4 && !is_first; chance++)
        is_first = claimant_is_first();
    assert_true(is_first);
}

struct crowd {
    lw_sem sem;
    uint32_t over; /* atomic */
};

static int cycle(struct call *call)
{
    struct crowd *crowd = call->on;
    int failures = 0;
    while (!__atomic_load_n(&crowd->over, __ATOMIC_RELAXED)) {
        failures += lw_sem_acquire(&crowd->sem, 1) != 0;
        sleep_ms(1);
        failures += lw_sem_release(&crowd->sem, 1) != 0;
    }
    return failures;
}

static lw_phase claims(lw_word *words)
{
    const lw_answer answer = lw_sem_acquire_step(words, 2, LW_START, 0);
    assert_int_equal(lw_answer_word(answer), LW_SEM_STATE);
    return lw_answer_phase(answer);
}

/* A claimant that another one has replaced wakes after 8 claims, and has the last one's ticket. */
TEST(of_two_that_have_one_ticket_the_second_to_be_woken_in_vain_finds_out)
{
    lw_word words[LW_SEM_WORDS] = {1};
    const lw_phase first = claims(words);
    for (int i = 0; i < 3; i++) {
        lw_sem_bury_step(words);
        claims(words);
    }
    lw_sem_bury_step(words);
    const lw_phase last = claims(words);
    assert_int_equal(first, last);

    const lw_answer woken = lw_sem_acquire_step(words, 2, LW_OK, first);
    assert_int_equal(lw_answer_word(woken), LW_SEM_STATE);
    /* By the notify that the first one passed on. */
    assert_int_equal(lw_answer_word(lw_sem_acquire_step(words, 2, LW_OK, last)), LW_SEM_CLAIM);
    assert_int_equal(lw_answer_word(lw_sem_acquire_step(words, 2, LW_OK, lw_answer_phase(woken))),
                     LW_SEM_STATE);
}

/* The step of a thread that waits for one permit, and starves by a re-check. */
static lw_phase reserves(lw_word *words)
{
    const lw_phase waits = lw_answer_phase(lw_sem_acquire_step(words, 1, LW_START, 0));
    const lw_phase starves = lw_answer_phase(lw_sem_acquire_step(words, 1, LW_SLICE, waits));
    assert_int_equal(words[LW_SEM_STATE] & LW_SEM_RESERVED, LW_SEM_RESERVED);
    return starves;
}

/* A release wakes both, and the claimant's step is the first to run. */
TEST(a_claimant_does_not_overtake_a_waiter_that_starves)
{
    lw_word words[LW_SEM_WORDS] = {0};
    const lw_phase small = reserves(words);
    const lw_phase large = claims(words);
    lw_sem_release_step(words, 2);
    const lw_answer woken = lw_sem_acquire_step(words, 2, LW_OK, large);
    assert_int_equal(lw_answer_what(woken), LW_WAIT_BRIEF);
    assert_int_equal(lw_answer_what(lw_sem_acquire_step(words, 1, LW_OK, small)), LW_DONE);
    assert_int_equal(words[LW_SEM_STATE] & LW_SEM_RESERVED, 0);
    lw_sem_release_step(words, 1);
    assert_int_equal(lw_answer_what(lw_sem_acquire_step(words, 2, LW_OK, lw_answer_phase(woken))),
                     LW_DONE);
}

TEST(a_claimant_ends_a_reservation_for_which_nobody_comes)
{
    lw_word words[LW_SEM_WORDS] = {0};
    reserves(words);
    const lw_phase large = claims(words);
    lw_sem_release_step(words, 2);
    const lw_answer woken = lw_sem_acquire_step(words, 2, LW_OK, large);
    const lw_answer waited = lw_sem_acquire_step(words, 2, LW_SLICE, lw_answer_phase(woken));
    assert_int_equal(lw_answer_what(waited), LW_DONE);
    assert_int_equal(words[LW_SEM_STATE] & ~LW_WAITERS, 0);
}

/* Before there were claims, it did not succeed in 15 seconds. */
TEST(a_large_request_does_not_starve_beside_small_ones)
{
    struct crowd crowd = {LW_SEM_INIT(3), 0};
    struct call calls[8];
    start_calls(calls, COUNT_OF(calls), (struct call){.function = cycle, .on = &crowd});
    for (int i = 0; i < 10; i++) {
        assert_int_equal(lw_sem_acquire_until(&crowd.sem, 3, lw_after_ms(5000)), 0);
        assert_int_equal(lw_sem_release(&crowd.sem, 3), 0);
    }
    __atomic_store_n(&crowd.over, 1, __ATOMIC_RELAXED);
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(lw_sem_available(&crowd.sem), 3);
}

TEST(a_release_lets_as_many_go_as_it_has_permits)
{
    lw_sem sem = LW_SEM_INIT(0);
    struct call calls[5];
    start_sleepers(calls, COUNT_OF(calls), acquiring(&sem, 1));
    assert_int_equal(lw_sem_release(&sem, 3), 0);
    size_t ended = 0;
    for (const int64_t limit = now_ns() + 5000 * (int64_t)NS_PER_MS; ended < 3 && now_ns() < limit;
         sleep_ms(1)) {
        ended = 0;
        for (size_t i = 0; i < COUNT_OF(calls); i++)
            ended += has_ended(&calls[i]);
    }
    assert_int_equal(ended, 3);
    assert_int_equal(lw_sem_release(&sem, 2), 0);
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(lw_sem_available(&sem), 0);
}

TEST(one_that_gives_up_takes_nothing)
{
    lw_sem sem = LW_SEM_INIT(1);
    struct call call = acquiring(&sem, 2);
    call.deadline = lw_after_ms(3);
    start_call(&call);
    assert_int_equal(end_call(&call), ETIMEDOUT);
    assert_int_equal(lw_sem_available(&sem), 1);
    /* The mark that it may have left costs a notify, and goes with it. */
    assert_int_equal(lw_sem_release(&sem, 1), 0);
    assert_int_equal(STATE(&sem), 2);
}

static int release_one(struct call *call)
{
    return lw_sem_release(call->on, 1);
}

/* Were release to touch the semaphore after its permits can be had, it would hit an unmapped page
 * now and then. */
TEST(it_may_be_freed_right_after_the_last_release)
{
    for (int i = 0; i < 300; i++) {
        lw_sem *sem = allocate_page();
        struct call call = calling(release_one, sem);
        start_call(&call);
        assert_int_equal(lw_sem_acquire(sem, 1), 0);
        free_page(sem);
        assert_int_equal(end_call(&call), 0);
    }
}

#define SLOTS 4

struct pool {
    lw_sem sem;
    uint32_t used; /* atomic */
};

static int use_slots(struct call *call)
{
    struct pool *pool = call->on;
    uint32_t seed = call->n;
    int failures = 0;
    for (int i = 0; i < 3000; i++) {
        const uint32_t n = next_random(&seed) % SLOTS + 1;
        const lw_deadline deadline = n == 2 ? lw_after_ns(next_random(&seed) % 100000) : LW_FOREVER;
        const int error = lw_sem_acquire_until(&pool->sem, n, deadline);
        if (error) {
            failures += error != ETIMEDOUT || deadline == LW_FOREVER;
            continue;
        }
        failures += __atomic_add_fetch(&pool->used, n, __ATOMIC_RELAXED) > SLOTS;
        __atomic_fetch_sub(&pool->used, n, __ATOMIC_RELAXED);
        failures += lw_sem_release(&pool->sem, n) != 0;
    }
    return failures;
}

TEST(permits_are_neither_lost_nor_made)
{
    static struct pool pool = {LW_SEM_INIT(SLOTS), 0};
    struct call calls[8];
    for (uint32_t i = 0; i < COUNT_OF(calls); i++) {
        calls[i] = (struct call){.function = use_slots, .on = &pool, .n = i};
        start_call(&calls[i]);
    }
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(lw_sem_available(&pool.sem), SLOTS);
    assert_int_equal(pool.sem.word[LW_SEM_GATE], 0);
}

struct message {
    lw_sem filled, emptied;
    uint32_t content; /* plain: only the semaphores order it */
};

static int receive_in_order(struct call *call)
{
    struct message *message = call->on;
    int failures = 0;
    for (uint32_t i = 0; i < call->n; i++) {
        lw_sem_acquire(&message->filled, 1);
        failures += message->content != i;
        lw_sem_release(&message->emptied, 1);
    }
    return failures;
}

TEST(what_came_before_a_release_is_seen_after_the_acquire)
{
    struct message message = {LW_SEM_INIT(0), LW_SEM_INIT(1), 0};
    struct call call = {.function = receive_in_order, .on = &message, .n = 10000};
    start_call(&call);
    for (uint32_t i = 0; i < call.n; i++) {
        lw_sem_acquire(&message.emptied, 1);
        message.content = i;
        lw_sem_release(&message.filled, 1);
    }
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(lw_sem_available(&message.filled), 0);
}

RUN_TESTS("sem")
