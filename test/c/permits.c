/* permits.c: what lockword/permits.h promises besides what every wait does (waits.c). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

/* Acquires, and returns the number of the permit, or -1 less the error. */
static int acquire(struct call *call)
{
    uint32_t which = 4711;
    const int error = lw_permits_acquire_cancel(call->on, &which, call->deadline, call->cancel);
    return error ? -1 - error : (int)which;
}

/* Acquires, and gives back at once. */
static int use(struct call *call)
{
    uint32_t which;
    const int error = lw_permits_acquire_until(call->on, &which, call->deadline);
    return error ? error : lw_permits_release(call->on, which);
}

static int release(struct call *call)
{
    return lw_permits_release(call->on, call->n);
}

TEST(they_are_made_with_their_number)
{
    lw_permits permits = LW_PERMITS_INIT(3);
    assert_int_equal(sizeof permits, 1024);
    assert_int_equal(lw_permits_available(&permits), 3);
    const uint32_t bad[] = {0, LW_PERMITS_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(lw_permits_init(&permits, bad[i]), EINVAL);
        assert_int_equal(lw_permits_available(&permits), 3);
    }
    memset(&permits, 0xff, sizeof permits);
    assert_int_equal(lw_permits_init(&permits, 2), 0);
    const lw_permits same = LW_PERMITS_INIT(2);
    assert_memory_equal(&permits, &same, sizeof permits);
}

TEST(zeroed_memory_has_none)
{
    lw_permits permits;
    memset(&permits, 0, sizeof permits);
    uint32_t which = 4711;
    assert_int_equal(lw_permits_available(&permits), 0);
    assert_int_equal(lw_permits_tryacquire(&permits, &which), EBUSY);
    assert_int_equal(lw_permits_acquire(&permits, &which), EINVAL);
    assert_int_equal(lw_permits_acquire_until(&permits, &which, LW_NOW), EINVAL);
    assert_int_equal(lw_permits_release(&permits, 0), EPERM);
    assert_int_equal(which, 4711);
}

TEST(each_permit_is_had_once_and_has_a_number)
{
    static lw_permits permits = LW_PERMITS_INIT(LW_PERMITS_MAX);
    uint32_t which;
    for (uint32_t i = 0; i < LW_PERMITS_MAX; i++) {
        assert_int_equal(i % 2 ? lw_permits_acquire(&permits, &which)
                               : lw_permits_tryacquire(&permits, &which),
                         0);
        assert_int_equal(which, i);
        assert_int_equal(lw_permits_available(&permits), LW_PERMITS_MAX - 1 - i);
    }
    which = 4711;
    assert_int_equal(lw_permits_tryacquire(&permits, &which), EBUSY);
    assert_int_equal(lw_permits_acquire_until(&permits, &which, LW_NOW), ETIMEDOUT);
    assert_int_equal(which, 4711);
    assert_int_equal(lw_permits_release(&permits, 7), 0);
    assert_int_equal(lw_permits_release(&permits, 3), 0);
    assert_int_equal(lw_permits_acquire(&permits, &which), 0);
    assert_int_equal(which, 3);
    assert_int_equal(lw_permits_tryacquire(&permits, NULL), 0);
    assert_int_equal(lw_permits_available(&permits), 0);
    for (uint32_t i = 0; i < LW_PERMITS_MAX; i++)
        assert_int_equal(lw_permits_release(&permits, i), 0);
    assert_int_equal(lw_permits_available(&permits), LW_PERMITS_MAX);
}

TEST(a_word_that_says_more_says_the_most)
{
    static lw_permits permits = LW_PERMITS_INIT(UINT32_MAX);
    assert_int_equal(lw_permits_available(&permits), LW_PERMITS_MAX);
    assert_int_equal(lw_permits_release(&permits, LW_PERMITS_MAX), EPERM);
}

TEST(only_its_owner_gives_a_permit_back)
{
    lw_permits permits = LW_PERMITS_INIT(2);
    uint32_t which;
    assert_int_equal(lw_permits_acquire(&permits, &which), 0);
    const lw_permits before = permits;
    struct call other = calling(release, &permits);
    other.n = which;
    start_call(&other);
    assert_int_equal(end_call(&other), EPERM);
    const uint32_t bad[] = {1, 2, LW_PERMITS_MAX, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(lw_permits_release(&permits, bad[i]), EPERM);
    assert_memory_equal(&permits, &before, sizeof permits);
    assert_int_equal(lw_permits_release(&permits, which), 0);
    assert_int_equal(lw_permits_release(&permits, which), EPERM);
}

TEST(a_waiter_gets_the_one_that_is_given_back)
{
    lw_permits permits = LW_PERMITS_INIT(3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lw_permits_acquire(&permits, NULL), 0);
    struct call calls[2];
    const uint32_t given[] = {2, 0};
    start_sleepers(calls, COUNT_OF(calls), calling(acquire, &permits));
    int got = 0;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        assert_int_equal(lw_permits_release(&permits, given[i]), 0);
        while (lw_permits_available(&permits) > 0)
            sleep_ms(1);
    }
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        got |= 1 << end_call(&calls[i]);
    assert_int_equal(got, 1 << 2 | 1 << 0);
}

TEST(one_that_gives_up_leaves_the_permit_to_another)
{
    for (int round = 0; round < 30; round++) {
        lw_permits permits = LW_PERMITS_INIT(1);
        assert_int_equal(lw_permits_acquire(&permits, NULL), 0);
        lw_cancel cancel = LW_CANCEL_INIT;
        struct call gives_up = calling(acquire, &permits);
        gives_up.cancel = &cancel;
        struct call stays = calling(use, &permits);
        start_sleeper(&gives_up);
        start_sleeper(&stays);
        lw_cancel_fire(&cancel);
        assert_int_equal(lw_permits_release(&permits, 0), 0);
        const int result = end_call(&gives_up);
        if (result == 0) /* it has the permit, and has ended: as a burial frees it */
            lw_permits_bury_step(permits.word,
                                 lw_load(&permits.word[LW_PERMITS_FIRST], lw_relaxed));
        else
            assert_int_equal(result, -1 - ECANCELED);
        assert_int_equal(end_call(&stays), 0);
    }
}

/* A call looks before it waits. If a look took the permit, those that reserved it would starve. */
TEST(a_newcomer_leaves_a_reserved_permit_to_those_that_wait)
{
    lw_permits permits = LW_PERMITS_INIT(1);
    permits.word[LW_PERMITS_STATE] = LW_PERMITS_RESERVED;
    const int64_t began = now_ns();
    assert_int_equal(lw_permits_acquire_until(&permits, NULL, lw_after_ms(5000)), 0);
    /* None waits: the newcomer has waited briefly. */
    assert_true(now_ns() - began >= NS_PER_MS / 4);
    assert_int_equal(permits.word[LW_PERMITS_STATE] & LW_PERMITS_RESERVED, 0);
    assert_int_equal(lw_permits_release(&permits, 0), 0);
}

#define USERS 4
#define POOL 3
#define TURNS 20000

struct pool {
    lw_permits permits;
    uint32_t used[POOL]; /* plain: only the permit of this number orders them */
};

static int use_pool(struct call *call)
{
    struct pool *pool = call->on;
    int failures = 0;
    for (int i = 0; i < TURNS; i++) {
        uint32_t which = POOL;
        failures += lw_permits_acquire(&pool->permits, &which) != 0 || which >= POOL;
        if (which < POOL)
            pool->used[which]++;
        failures += lw_permits_release(&pool->permits, which) != 0;
    }
    return failures;
}

TEST(each_guards_what_has_its_number)
{
    static struct pool pool = {LW_PERMITS_INIT(POOL), {0}};
    struct call calls[USERS];
    start_calls(calls, USERS, calling(use_pool, &pool));
    end_calls(calls, USERS);
    uint32_t used = 0;
    for (size_t i = 0; i < POOL; i++)
        used += pool.used[i];
    assert_int_equal(used, USERS * TURNS);
    assert_int_equal(lw_permits_available(&pool.permits), POOL);
    assert_int_equal(pool.permits.word[LW_PERMITS_STATE] & LW_PERMITS_RESERVED, 0);
}

struct pair {
    lw_permits permits;
    lw_word begun; /* rounds: none of the two is free, */
    lw_word asked; /* the other thread asks for one, */
    lw_word gave;  /* and has given it back */
};

#define ROUNDS 1000

static void await_round(lw_word *word, uint32_t round)
{
    while (lw_load(word, lw_acquire) != round)
        sched_yield();
}

static int ask_for_the_second(struct call *call)
{
    struct pair *pair = call->on;
    int failures = 0;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint32_t which = 4711;
        await_round(&pair->begun, round);
        lw_store(&pair->asked, round, lw_release);
        failures += lw_permits_acquire(&pair->permits, &which) != 0 || which != 1;
        failures += lw_permits_release(&pair->permits, 1) != 0;
        lw_store(&pair->gave, round, lw_release);
    }
    return failures;
}

/* It is given back sooner or later after the call began: before the first look, or in a spin. */
TEST(one_that_gets_it_while_it_spins_knows_its_number)
{
    static struct pair pair = {LW_PERMITS_INIT(2), 0, 0, 0};
    assert_int_equal(lw_permits_acquire(&pair.permits, NULL), 0);
    uint32_t which;
    assert_int_equal(lw_permits_acquire(&pair.permits, &which), 0);
    struct call call = calling(ask_for_the_second, &pair);
    start_call(&call);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        lw_store(&pair.begun, round, lw_release);
        await_round(&pair.asked, round);
        for (volatile uint32_t i = 0; i < round % 64 * 64; i++)
            ;
        assert_int_equal(lw_permits_release(&pair.permits, which), 0);
        await_round(&pair.gave, round);
        assert_int_equal(lw_permits_acquire(&pair.permits, &which), 0);
        assert_int_equal(which, 1);
    }
    assert_int_equal(end_call(&call), 0);
}

RUN_TESTS("permits")
