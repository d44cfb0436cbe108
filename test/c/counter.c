/* counter.c: what lockword/counter.h promises besides what every operation that waits does
 * (waits.c). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

#define STATE(counter) ((counter)->word[LW_COUNTER_STATE])

TEST(adding_answers_what_it_was)
{
    lw_counter counter = LW_COUNTER_INIT(5);
    uint32_t old = 0;
    assert_int_equal(sizeof counter, 8);
    assert_int_equal(lw_counter_get(&counter), 5);
    assert_int_equal(lw_counter_add(&counter, 3, &old), 0);
    assert_int_equal(old, 5);
    assert_int_equal(lw_counter_add(&counter, -8, &old), 0);
    assert_int_equal(old, 8);
    assert_int_equal(lw_counter_add(&counter, 0, &old), 0);
    assert_int_equal(old, 0);
    assert_int_equal(lw_counter_get(&counter), 0);
}

TEST(what_would_leave_the_range_changes_nothing)
{
    const struct {
        uint32_t value;
        int32_t n;
    } refused[] = {
        {0, -1},
        {0, INT32_MIN},
        {0, INT32_MAX},
        {0, (int32_t)LW_COUNTER_MAX + 1},
        {LW_COUNTER_MAX, 1},
        {LW_COUNTER_MAX, INT32_MAX},
        {LW_COUNTER_MAX, INT32_MIN},
        {LW_COUNTER_MAX, -(int32_t)LW_COUNTER_MAX - 1},
        {7, -8},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        lw_counter counter = {{refused[i].value | LW_BLOCKED_WAITERS | LW_ASYNC_WAITERS, 0}};
        const lw_counter before = counter;
        uint32_t old = 12345;
        assert_int_equal(lw_counter_add(&counter, refused[i].n, &old), EOVERFLOW);
        assert_int_equal(old, 12345);
        assert_memory_equal(&counter, &before, sizeof counter);
    }
    lw_counter counter = LW_COUNTER_INIT(0);
    assert_int_equal(lw_counter_add(&counter, (int32_t)LW_COUNTER_MAX, NULL), 0);
    assert_int_equal(lw_counter_get(&counter), LW_COUNTER_MAX);
    assert_int_equal(lw_counter_add(&counter, -(int32_t)LW_COUNTER_MAX, NULL), 0);
    assert_int_equal(STATE(&counter), 0);
}

static int await_at_least(struct call *call)
{
    return lw_counter_wait_at_least(call->on, call->n, call->deadline, call->cancel);
}

static int await_at_most(struct call *call)
{
    return lw_counter_wait_at_most(call->on, call->n, call->deadline, call->cancel);
}

static int await_change(struct call *call)
{
    return lw_counter_wait_change(call->on, call->n, call->deadline, call->cancel);
}

static void start_waiting(struct call *call, int (*function)(struct call *), lw_counter *counter,
                          uint32_t n)
{
    *call = (struct call){
        .function = function, .on = counter, .n = n, .deadline = LW_FOREVER, .result = -1};
    start_call(call);
    await_sleep(&call->helper);
}

TEST(each_waits_for_its_own_value)
{
    lw_counter counter = LW_COUNTER_INIT(10);
    struct call low, high, other, higher;
    start_waiting(&low, await_at_most, &counter, 8);
    start_waiting(&high, await_at_least, &counter, 12);
    start_waiting(&higher, await_at_least, &counter, 13);
    start_waiting(&other, await_change, &counter, 10);
    lw_counter_add(&counter, -1, NULL);
    assert_int_equal(end_call(&other), 0);
    lw_counter_add(&counter, 3, NULL);
    assert_int_equal(end_call(&high), 0);
    sleep_ms(5);
    assert_false(has_ended(&low) || has_ended(&higher));
    lw_counter_add(&counter, -4, NULL);
    assert_int_equal(end_call(&low), 0);
    lw_counter_add(&counter, 5, NULL);
    assert_int_equal(end_call(&higher), 0);
    assert_int_equal(STATE(&counter), 13);
}

TEST(no_change_ends_no_wait_for_one)
{
    lw_counter counter = LW_COUNTER_INIT(1);
    struct call call;
    start_waiting(&call, await_change, &counter, 1);
    for (int i = 0; i < 10; i++)
        lw_counter_add(&counter, 0, NULL);
    sleep_ms(3);
    assert_false(has_ended(&call));
    lw_counter_add(&counter, 1, NULL);
    assert_int_equal(end_call(&call), 0);
}

struct progress {
    lw_counter done;
    uint32_t plain; /* only the counter orders it */
};

#define STEPS 10000

static int follow(struct call *call)
{
    struct progress *progress = call->on;
    int failures = 0;
    for (uint32_t i = 0; i < STEPS; i += 7) {
        failures += lw_counter_wait_at_least(&progress->done, i, LW_FOREVER, NULL) != 0;
        failures += __atomic_load_n(&progress->plain, __ATOMIC_RELAXED) < i;
    }
    return failures;
}

TEST(followers_see_what_was_written_before_each_step)
{
    static struct progress progress;
    struct call calls[3];
    start_calls(calls, COUNT_OF(calls), calling(follow, &progress));
    for (uint32_t i = 1; i <= STEPS; i++) {
        __atomic_store_n(&progress.plain, i, __ATOMIC_RELAXED);
        lw_counter_add(&progress.done, 1, NULL);
    }
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(lw_counter_get(&progress.done), STEPS);
}

static int add_and_take(struct call *call)
{
    int failures = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        failures += lw_counter_add(call->on, (int32_t)(i % 5), NULL) != 0;
        failures += lw_counter_add(call->on, -(int32_t)(i % 5), NULL) != 0;
    }
    return failures;
}

TEST(what_many_add_and_take_is_exact)
{
    static lw_counter counter;
    struct call calls[6];
    start_calls(calls, COUNT_OF(calls), calling(add_and_take, &counter));
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(STATE(&counter), 0);
}

RUN_TESTS("counter")
