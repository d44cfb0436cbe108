/* latch.c: what lockword/latch.h promises besides what every wait does (waits.c). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

#define STATE(latch) ((latch)->word[LW_LATCH_STATE])

static int await(struct call *call)
{
    return lw_latch_wait_until(call->on, call->deadline);
}

static int arrive(struct call *call)
{
    return lw_latch_arrive_and_wait_until(call->on, call->deadline);
}

TEST(it_is_made_with_a_count)
{
    lw_latch latch = LW_LATCH_INIT(3);
    assert_int_equal(sizeof latch, 8);
    assert_int_equal(lw_latch_pending(&latch), 3);
    assert_int_equal(lw_latch_init(&latch, LW_LATCH_MAX), 0);
    assert_int_equal(lw_latch_pending(&latch), LW_LATCH_MAX);
    const uint32_t bad[] = {0, LW_LATCH_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(lw_latch_init(&latch, bad[i]), EINVAL);
        assert_int_equal(lw_latch_pending(&latch), LW_LATCH_MAX);
    }
    assert_int_equal(lw_latch_init(&latch, 1), 0);
    assert_int_equal(lw_latch_pending(&latch), 1);
}

TEST(it_opens_when_all_is_counted_down_and_stays_open)
{
    lw_latch latch = LW_LATCH_INIT(4);
    struct call calls[3];
    start_calls(calls, COUNT_OF(calls), calling(await, &latch));
    await_sleeps(calls, COUNT_OF(calls));
    const uint32_t steps[] = {1, 0, 2};
    uint32_t left = 4;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        assert_int_equal(lw_latch_count_down(&latch, steps[i]), 0);
        left -= steps[i];
        assert_int_equal(lw_latch_pending(&latch), left);
        assert_false(lw_latch_try_wait(&latch));
        assert_int_equal(lw_latch_wait_until(&latch, LW_NOW), ETIMEDOUT);
        for (size_t k = 0; k < COUNT_OF(calls); k++)
            assert_false(has_ended(&calls[k]));
    }
    assert_int_equal(lw_latch_count_down(&latch, 1), 0);
    end_calls(calls, COUNT_OF(calls));
    assert_true(lw_latch_try_wait(&latch));
    assert_int_equal(lw_latch_wait_until(&latch, LW_NOW), 0);
    assert_int_equal(lw_latch_wait(&latch), 0);
    assert_int_equal(STATE(&latch), 0);
}

TEST(zeroed_memory_is_an_open_latch)
{
    lw_latch latch = {{0}};
    assert_true(lw_latch_try_wait(&latch));
    assert_int_equal(lw_latch_wait(&latch), 0);
    assert_int_equal(lw_latch_count_down(&latch, 0), 0);
}

TEST(more_than_is_left_cannot_be_counted_down)
{
    lw_latch latch = LW_LATCH_INIT(2);
    STATE(&latch) |= LW_BLOCKED_WAITERS;
    const lw_latch before = latch;
    const uint32_t bad[] = {3, LW_LATCH_MAX, LW_LATCH_MAX + 1, LW_WAITERS, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(lw_latch_count_down(&latch, bad[i]), EINVAL);
        assert_memory_equal(&latch, &before, sizeof latch);
    }
    assert_int_equal(lw_latch_count_down(&latch, 2), 0);
    assert_int_equal(lw_latch_count_down(&latch, 1), EINVAL);
    assert_int_equal(lw_latch_arrive_and_wait(&latch), EINVAL);
    assert_int_equal(STATE(&latch), 0);
}

TEST(those_who_arrive_wait_for_the_last)
{
    lw_latch latch = LW_LATCH_INIT(4);
    struct call calls[2];
    for (uint32_t i = 0; i < COUNT_OF(calls); i++) {
        calls[i] = calling(arrive, &latch);
        start_sleeper(&calls[i]);
        assert_int_equal(lw_latch_pending(&latch), 3 - i);
    }
    /* One that gives up has arrived all the same. */
    assert_int_equal(lw_latch_arrive_and_wait_until(&latch, LW_NOW), ETIMEDOUT);
    assert_int_equal(lw_latch_pending(&latch), 1);
    assert_int_equal(lw_latch_arrive_and_wait(&latch), 0);
    end_calls(calls, COUNT_OF(calls));
}

static int count_down(struct call *call)
{
    return lw_latch_count_down(call->on, 1);
}

/*
 * Were a count down, or the last arrival, to touch the latch after the waiter can return, it would
 * hit an unmapped page now and then.
 */
TEST(it_may_be_freed_when_the_waiter_returns)
{
    for (int i = 0; i < 200; i++) {
        lw_latch *latch = allocate_page();
        assert_int_equal(lw_latch_init(latch, 2), 0);
        struct call counts = calling(count_down, latch);
        start_call(&counts);
        while (lw_latch_pending(latch) == 2)
            ;
        struct call arrives = calling(arrive, latch);
        start_call(&arrives);
        assert_int_equal(lw_latch_wait(latch), 0);
        free_page(latch);
        assert_int_equal(end_call(&counts), 0);
        assert_int_equal(end_call(&arrives), 0);
    }
}

#define WORKERS 4
#define ROUNDS 1000

struct rounds {
    lw_latch latches[ROUNDS];
    uint32_t parts[ROUNDS][WORKERS]; /* plain: only the latches order them */
};

static int do_parts(struct call *call)
{
    struct rounds *rounds = call->on;
    int failures = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        rounds->parts[i][call->n] = i + 1;
        failures += lw_latch_arrive_and_wait(&rounds->latches[i]) != 0;
        for (size_t k = 0; k < WORKERS; k++)
            failures += rounds->parts[i][k] != i + 1;
    }
    return failures;
}

TEST(all_that_was_done_before_is_seen)
{
    static struct rounds rounds;
    for (size_t i = 0; i < ROUNDS; i++)
        assert_int_equal(lw_latch_init(&rounds.latches[i], WORKERS), 0);
    struct call calls[WORKERS];
    start_calls(calls, WORKERS, calling(do_parts, &rounds));
    end_calls(calls, WORKERS);
}

RUN_TESTS("latch")
