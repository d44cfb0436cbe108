/* once.c: what lockword/once.h promises besides what every operation that waits does (waits.c). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

#define STATE(once) ((once)->word[LW_ONCE_STATE])

/* An id that is no thread's: the kernel's ids end at 2^22. */
#define NOBODY 0x1fffffffu

static int begin(struct call *call)
{
    return lw_once_begin_until(call->on, call->deadline);
}

/* Begins, and if it is its turn, succeeds. */
static int run(struct call *call)
{
    const int begun = lw_once_begin(call->on);
    if (begun == LW_ONCE_RUN && lw_once_finish(call->on, true) != 0)
        return EPERM;
    return begun;
}

static int finish(struct call *call)
{
    return lw_once_finish(call->on, true);
}

TEST(it_is_run_once)
{
    lw_once once = LW_ONCE_INIT;
    assert_int_equal(sizeof once, 8);
    assert_int_equal(lw_once_running(&once), 0);
    assert_int_equal(lw_once_begin(&once), LW_ONCE_RUN);
    assert_int_equal(lw_once_running(&once), lw_self());
    assert_false(lw_once_is_done(&once));
    assert_int_equal(lw_once_finish(&once, true), 0);
    assert_true(lw_once_is_done(&once));
    assert_int_equal(lw_once_running(&once), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lw_once_begin(&once), 0);
        assert_int_equal(lw_once_begin_until(&once, LW_NOW), 0);
        assert_int_equal(lw_once_finish(&once, true), EPERM);
    }
    assert_int_equal(STATE(&once), LW_ONCE_RAN);
}

TEST(its_runner_cannot_wait_for_itself)
{
    lw_once once = LW_ONCE_INIT;
    assert_int_equal(lw_once_begin(&once), LW_ONCE_RUN);
    const lw_once before = once;
    assert_int_equal(lw_once_begin(&once), EDEADLK);
    assert_int_equal(lw_once_begin_until(&once, lw_after_ms(1000)), EDEADLK);
    assert_memory_equal(&once, &before, sizeof once);
    assert_int_equal(lw_once_finish(&once, true), 0);
}

TEST(only_its_runner_can_finish_it)
{
    lw_once once = LW_ONCE_INIT;
    assert_int_equal(lw_once_finish(&once, true), EPERM);
    assert_int_equal(lw_once_abandon(&once, 0), EPERM);
    assert_int_equal(lw_once_abandon(&once, NOBODY), EPERM);
    assert_int_equal(STATE(&once), 0);
    assert_int_equal(lw_once_begin(&once), LW_ONCE_RUN);
    struct call call = calling(finish, &once);
    start_call(&call);
    assert_int_equal(end_call(&call), EPERM);
    assert_int_equal(lw_once_abandon(&once, NOBODY), EPERM);
    assert_int_equal(lw_once_finish(&once, true), 0);
    assert_int_equal(lw_once_abandon(&once, lw_self()), EPERM);
    assert_int_equal(STATE(&once), LW_ONCE_RAN);
}

TEST(others_wait_for_the_runner)
{
    lw_once once = LW_ONCE_INIT;
    assert_int_equal(lw_once_begin(&once), LW_ONCE_RUN);
    struct call calls[4];
    start_calls(calls, COUNT_OF(calls), calling(begin, &once));
    await_sleeps(calls, COUNT_OF(calls));
    sleep_ms(3);
    assert_none_ended(calls, COUNT_OF(calls));
    assert_int_equal(lw_once_finish(&once, true), 0);
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(STATE(&once), LW_ONCE_RAN);
}

TEST(a_runner_that_fails_leaves_it_to_one_of_the_others)
{
    lw_once once = LW_ONCE_INIT;
    assert_int_equal(lw_once_begin(&once), LW_ONCE_RUN);
    struct call calls[4];
    start_calls(calls, COUNT_OF(calls), calling(run, &once));
    await_sleeps(calls, COUNT_OF(calls));
    assert_int_equal(lw_once_finish(&once, false), 0);
    int runners = 0;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        const int result = end_call(&calls[i]);
        assert_true(result == 0 || result == LW_ONCE_RUN);
        runners += result == LW_ONCE_RUN;
    }
    assert_int_equal(runners, 1);
    assert_int_equal(STATE(&once), LW_ONCE_RAN);
}

TEST(a_runner_that_died_can_be_abandoned)
{
    lw_once once = LW_ONCE_INIT;
    struct call dead = calling(begin, &once);
    start_call(&dead);
    assert_int_equal(end_call(&dead), LW_ONCE_RUN);
    assert_int_equal(lw_once_running(&once), dead.helper.id);
    struct call heir = calling(run, &once);
    start_sleeper(&heir);
    assert_int_equal(lw_once_begin_until(&once, lw_after_ms(3)), ETIMEDOUT);
    assert_int_equal(lw_once_abandon(&once, dead.helper.id), 0);
    assert_int_equal(lw_once_abandon(&once, dead.helper.id), EPERM);
    assert_int_equal(end_call(&heir), LW_ONCE_RUN);
    assert_int_equal(STATE(&once), LW_ONCE_RAN);
}

struct tables {
    lw_once once[500];
    uint32_t loaded[500]; /* plain: only the once orders it */
};

static int use_tables(struct call *call)
{
    struct tables *tables = call->on;
    int failures = 0;
    for (uint32_t i = 0; i < COUNT_OF(tables->once); i++) {
        int begun;
        /* Some runners fail, some do not wait long. */
        while ((begun = lw_once_begin_until(&tables->once[i],
                                            call->n ? LW_FOREVER : lw_after_ns(1000))) != 0) {
            if (begun != LW_ONCE_RUN) {
                failures += begun != ETIMEDOUT;
                continue;
            }
            const bool success = (i + call->n) % 3 != 0 || tables->loaded[i] > 0;
            tables->loaded[i] += 1;
            if (!success)
                tables->loaded[i] += 9;
            failures += lw_once_finish(&tables->once[i], success) != 0;
        }
        failures += tables->loaded[i] % 10 != 1;
    }
    return failures;
}

TEST(each_of_many_succeeds_once)
{
    static struct tables tables;
    struct call calls[6];
    start_calls(calls, COUNT_OF(calls), calling(use_tables, &tables));
    end_calls(calls, COUNT_OF(calls));
    for (size_t i = 0; i < COUNT_OF(tables.once); i++)
        assert_int_equal(STATE(&tables.once[i]) & ~LW_WAITERS, LW_ONCE_RAN);
}

RUN_TESTS("once")
