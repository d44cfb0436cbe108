/* waitgroup.c: what lockword/waitgroup.h promises besides what every operation that waits does
 * (waits.c). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

#define STATE(group) ((group)->word[LW_WAITGROUP_STATE])

static int await(struct call *call)
{
    return lw_waitgroup_wait_until(call->on, call->deadline);
}

TEST(it_waits_for_as_many_as_were_added)
{
    lw_waitgroup group = LW_WAITGROUP_INIT;
    assert_int_equal(sizeof group, 8);
    assert_int_equal(lw_waitgroup_wait(&group), 0);
    assert_int_equal(lw_waitgroup_add(&group, 0), 0);
    assert_int_equal(lw_waitgroup_wait_until(&group, LW_NOW), 0);
    assert_int_equal(lw_waitgroup_add(&group, 2), 0);
    assert_int_equal(lw_waitgroup_add(&group, 1), 0);
    struct call calls[3];
    start_calls(calls, COUNT_OF(calls), calling(await, &group));
    await_sleeps(calls, COUNT_OF(calls));
    for (uint32_t left = 3; left > 0; left--) {
        assert_int_equal(lw_waitgroup_pending(&group), left);
        assert_none_ended(calls, COUNT_OF(calls));
        assert_int_equal(lw_waitgroup_done(&group), 0);
    }
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(STATE(&group), LW_WAITGROUP_ONE_ROUND);
}

TEST(it_cannot_be_done_more_often_than_added)
{
    lw_waitgroup group = LW_WAITGROUP_INIT;
    assert_int_equal(lw_waitgroup_done(&group), EINVAL);
    assert_int_equal(STATE(&group), 0);
    lw_waitgroup_add(&group, 1);
    assert_int_equal(lw_waitgroup_done(&group), 0);
    assert_int_equal(lw_waitgroup_done(&group), EINVAL);
    assert_int_equal(STATE(&group), LW_WAITGROUP_ONE_ROUND);
    STATE(&group) = LW_BLOCKED_WAITERS;
    assert_int_equal(lw_waitgroup_done(&group), EINVAL);
    assert_int_equal(STATE(&group), LW_BLOCKED_WAITERS);
}

TEST(more_than_the_maximum_is_refused)
{
    lw_waitgroup group = LW_WAITGROUP_INIT;
    assert_int_equal(lw_waitgroup_add(&group, LW_WAITGROUP_MAX + 1), EOVERFLOW);
    assert_int_equal(lw_waitgroup_add(&group, UINT32_MAX), EOVERFLOW);
    assert_int_equal(lw_waitgroup_add(&group, LW_WAITGROUP_MAX), 0);
    const lw_waitgroup before = group;
    assert_int_equal(lw_waitgroup_add(&group, 1), EOVERFLOW);
    assert_memory_equal(&group, &before, sizeof group);
    assert_int_equal(lw_waitgroup_done(&group), 0);
    assert_int_equal(lw_waitgroup_add(&group, 1), 0);
    assert_int_equal(lw_waitgroup_pending(&group), LW_WAITGROUP_MAX);
}

/* The waiters of one round return though the next has begun before they look. */
TEST(it_can_be_used_again_at_once)
{
    lw_waitgroup group = LW_WAITGROUP_INIT;
    for (int round = 0; round < 50; round++) {
        lw_waitgroup_add(&group, 1);
        struct call calls[2];
        start_calls(calls, COUNT_OF(calls), calling(await, &group));
        await_sleeps(calls, COUNT_OF(calls));
        assert_int_equal(lw_waitgroup_done(&group), 0);
        assert_int_equal(lw_waitgroup_add(&group, 1), 0);
        end_calls(calls, COUNT_OF(calls));
        assert_int_equal(lw_waitgroup_wait_until(&group, LW_NOW), ETIMEDOUT);
        assert_int_equal(lw_waitgroup_done(&group), 0);
    }
}

TEST(its_rounds_wrap)
{
    lw_waitgroup group = {{LW_WAITGROUP_ROUND - LW_WAITGROUP_ONE_ROUND, 0}};
    for (int round = 0; round < 3; round++) {
        lw_waitgroup_add(&group, 1);
        struct call call = calling(await, &group);
        start_sleeper(&call);
        lw_waitgroup_done(&group);
        lw_waitgroup_add(&group, 1);
        assert_int_equal(end_call(&call), 0);
        lw_waitgroup_done(&group);
    }
    assert_int_equal(STATE(&group), 4 * LW_WAITGROUP_ONE_ROUND);
}

static lw_answer look(const lw_waitgroup *group, uint32_t since)
{
    return lw_waitgroup_wait_step((lw_word *)(uintptr_t)group->word, since, LW_OK, 0);
}

/* Not before the count has been 0; only one that sleeps through exactly 256 rounds waits for one
 * more. */
TEST(a_waiter_goes_when_its_round_is_over)
{
    lw_waitgroup group = LW_WAITGROUP_INIT;
    lw_waitgroup_add(&group, 1);
    const uint32_t since = lw_waitgroup_state(group.word);
    lw_waitgroup_add(&group, 1);
    assert_int_equal(lw_answer_what(look(&group, since)), LW_WAIT_IDLE);
    lw_waitgroup_done(&group);
    assert_int_equal(lw_answer_what(look(&group, since)), LW_WAIT_IDLE);
    for (int round = 1; round <= 256; round++) {
        lw_waitgroup_done(&group);
        assert_int_equal(lw_answer_what(look(&group, since)), LW_DONE);
        lw_waitgroup_add(&group, 1);
        assert_int_equal(lw_answer_what(look(&group, since)), round < 256 ? LW_DONE : LW_WAIT_IDLE);
    }
    lw_waitgroup_done(&group);
    assert_int_equal(lw_answer_what(look(&group, since)), LW_DONE);
}

static int finish(struct call *call)
{
    return lw_waitgroup_done(call->on);
}

/* Were done to touch the group after the waiter can return, it would hit an unmapped page now and
 * then. */
TEST(it_may_be_freed_when_the_waiter_returns)
{
    for (int i = 0; i < 200; i++) {
        lw_waitgroup *group = allocate_page();
        lw_waitgroup_add(group, 2);
        struct call calls[2];
        start_calls(calls, COUNT_OF(calls), calling(finish, group));
        assert_int_equal(lw_waitgroup_wait(group), 0);
        free_page(group);
        end_calls(calls, COUNT_OF(calls));
    }
}

#define WORKERS 4

struct rounds {
    lw_waitgroup group;
    lw_barrier begin;
    uint32_t parts[WORKERS]; /* plain: only the group orders them */
};

#define ROUNDS 1000

static int do_parts(struct call *call)
{
    struct rounds *rounds = call->on;
    int failures = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        lw_barrier_wait(&rounds->begin);
        rounds->parts[call->n]++;
        failures += lw_waitgroup_done(&rounds->group) != 0;
    }
    return failures;
}

TEST(all_that_was_done_is_seen_round_after_round)
{
    static struct rounds rounds = {.begin = LW_BARRIER_INIT(WORKERS + 1)};
    struct call calls[WORKERS];
    start_calls(calls, WORKERS, calling(do_parts, &rounds));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        assert_int_equal(lw_waitgroup_add(&rounds.group, WORKERS), 0);
        lw_barrier_wait(&rounds.begin);
        assert_int_equal(lw_waitgroup_wait(&rounds.group), 0);
        for (size_t k = 0; k < WORKERS; k++)
            wrong += rounds.parts[k] != i + 1;
    }
    end_calls(calls, WORKERS);
    assert_int_equal(wrong, 0);
    assert_int_equal(STATE(&rounds.group) & ~LW_WAITGROUP_ROUND, 0);
}

RUN_TESTS("waitgroup")
