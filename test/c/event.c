/* event.c: what lockword/event.h promises besides what every operation that waits does (waits.c).
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <stdlib.h>

#include <lockword/lockword.h>

#define STATE(event) ((event)->word[LW_EVENT_STATE])
#define WAITERS 4

static int await(struct call *call)
{
    return lw_event_wait_until(call->on, call->deadline);
}

static void start_all(struct call *calls, size_t n, lw_event *event)
{
    start_calls(calls, n, calling(await, event));
    await_sleeps(calls, n);
}

TEST(a_manual_event_stays_set_until_it_is_reset)
{
    lw_event event = LW_EVENT_INIT;
    assert_int_equal(sizeof event, 8);
    assert_false(lw_event_is_set(&event));
    assert_false(lw_event_reset(&event));
    lw_event_set(&event);
    assert_true(lw_event_is_set(&event));
    for (int i = 0; i < 3; i++)
        assert_int_equal(lw_event_wait(&event), 0);
    assert_true(lw_event_reset(&event));
    assert_false(lw_event_reset(&event));
    assert_int_equal(lw_event_wait_until(&event, LW_NOW), ETIMEDOUT);
}

TEST(an_automatic_event_releases_one_per_set)
{
    lw_event event = LW_EVENT_AUTO_INIT;
    assert_int_equal(lw_event_wait_until(&event, LW_NOW), ETIMEDOUT);
    lw_event_set(&event);
    lw_event_set(&event);
    assert_true(lw_event_is_set(&event));
    assert_int_equal(lw_event_wait(&event), 0);
    assert_false(lw_event_is_set(&event));
    assert_int_equal(lw_event_wait_until(&event, LW_NOW), ETIMEDOUT);
    lw_event_set(&event);
    assert_true(lw_event_reset(&event));
    assert_int_equal(lw_event_wait_until(&event, LW_NOW), ETIMEDOUT);
}

TEST(a_manual_set_releases_everybody)
{
    lw_event event = LW_EVENT_INIT;
    struct call calls[WAITERS];
    start_all(calls, WAITERS, &event);
    lw_event_set(&event);
    end_calls(calls, WAITERS);
}

TEST(a_pulse_releases_everybody_who_waited)
{
    lw_event event = LW_EVENT_INIT;
    for (int i = 0; i < 20; i++) {
        struct call calls[WAITERS];
        start_all(calls, WAITERS, &event);
        lw_event_set(&event);
        assert_true(lw_event_reset(&event));
        end_calls(calls, WAITERS);
        assert_int_equal(lw_event_wait_until(&event, LW_NOW), ETIMEDOUT);
    }
}

TEST(an_automatic_set_releases_one_of_many)
{
    lw_event event = LW_EVENT_AUTO_INIT;
    struct call calls[WAITERS];
    start_all(calls, WAITERS, &event);
    for (size_t released = 1; released <= WAITERS; released++) {
        lw_event_set(&event);
        size_t ended = 0;
        for (const int64_t limit = now_ns() + 5000 * (int64_t)NS_PER_MS;
             ended < released && now_ns() < limit; sleep_ms(2)) {
            ended = 0;
            for (size_t i = 0; i < WAITERS; i++)
                ended += has_ended(&calls[i]);
        }
        assert_int_equal(ended, released);
    }
    end_calls(calls, WAITERS);
    assert_false(lw_event_is_set(&event));
}

TEST(its_generation_wraps)
{
    lw_event event = {{LW_EVENT_GENERATION, 0}};
    struct call call = calling(await, &event);
    start_sleeper(&call);
    lw_event_set(&event);
    lw_event_reset(&event);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(STATE(&event), 0);
    lw_event automatic = {{LW_EVENT_GENERATION | LW_EVENT_AUTO, 0}};
    lw_event_set(&automatic);
    assert_int_equal(STATE(&automatic), LW_EVENT_AUTO | LW_EVENT_SET);
}

static int set_it(struct call *call)
{
    lw_event_set(call->on);
    return 0;
}

/* Were set to touch the event after a waiter can return, it would hit an unmapped page now and
 * then. */
TEST(it_may_be_freed_when_the_waiter_returns)
{
    for (int i = 0; i < 300; i++) {
        lw_event *event = allocate_page();
        struct call call = calling(set_it, event);
        start_call(&call);
        assert_int_equal(lw_event_wait(event), 0);
        free_page(event);
        assert_int_equal(end_call(&call), 0);
    }
}

struct table {
    lw_event ball[2]; /* automatic */
    uint32_t count;   /* plain: only the events order it */
};

#define TURNS 10000

static int play(struct call *call)
{
    struct table *table = call->on;
    int failures = 0;
    for (uint32_t i = 0; i < TURNS; i++) {
        lw_event_wait(&table->ball[call->n]);
        failures += table->count++ != 2 * i + call->n;
        lw_event_set(&table->ball[1 - call->n]);
    }
    return failures;
}

TEST(two_threads_play_with_automatic_events)
{
    struct table table = {{LW_EVENT_AUTO_INIT, LW_EVENT_AUTO_INIT}, 0};
    struct call players[2];
    start_calls(players, 2, calling(play, &table));
    lw_event_set(&table.ball[0]);
    end_calls(players, 2);
    assert_int_equal(table.count, 2 * TURNS);
    assert_true(lw_event_is_set(&table.ball[0]));
    assert_false(lw_event_is_set(&table.ball[1]));
}

RUN_TESTS("event")
