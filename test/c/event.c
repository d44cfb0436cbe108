/* event.c: what lockword/event.h promises besides what every operation that waits does (waits.c).
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <lockword/lockword.h>

#define STATE(event) ((event)->word[LW_EVENT_STATE])
#define WAITERS 4
#define PAGE 4096

static int await(struct call *call)
{
    return lw_event_wait_until(call->on, call->deadline);
}

static struct call awaiting(lw_event *event)
{
    return (struct call){.function = await, .on = event, .deadline = LW_FOREVER, .result = -1};
}

static void start_all(struct call *calls, size_t n, lw_event *event)
{
    for (size_t i = 0; i < n; i++) {
        calls[i] = awaiting(event);
        start_call(&calls[i]);
    }
    for (size_t i = 0; i < n; i++)
        await_sleep(&calls[i].helper);
}

static void a_manual_event_stays_set_until_it_is_reset(void **state)
{
    (void)state;
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

static void an_automatic_event_releases_one_per_set(void **state)
{
    (void)state;
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

static void a_manual_set_releases_everybody(void **state)
{
    (void)state;
    lw_event event = LW_EVENT_INIT;
    struct call calls[WAITERS];
    start_all(calls, WAITERS, &event);
    lw_event_set(&event);
    for (size_t i = 0; i < WAITERS; i++)
        assert_int_equal(end_call(&calls[i]), 0);
}

static void a_pulse_releases_everybody_who_waited(void **state)
{
    (void)state;
    lw_event event = LW_EVENT_INIT;
    for (int i = 0; i < 20; i++) {
        struct call calls[WAITERS];
        start_all(calls, WAITERS, &event);
        lw_event_set(&event);
        assert_true(lw_event_reset(&event));
        for (size_t k = 0; k < WAITERS; k++)
            assert_int_equal(end_call(&calls[k]), 0);
        assert_int_equal(lw_event_wait_until(&event, LW_NOW), ETIMEDOUT);
    }
}

static void an_automatic_set_releases_one_of_many(void **state)
{
    (void)state;
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
    for (size_t i = 0; i < WAITERS; i++)
        assert_int_equal(end_call(&calls[i]), 0);
    assert_false(lw_event_is_set(&event));
}

static void its_generation_wraps(void **state)
{
    (void)state;
    lw_event event = {{LW_EVENT_GENERATION, 0}};
    struct call call = awaiting(&event);
    start_call(&call);
    await_sleep(&call.helper);
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
static void it_may_be_freed_when_the_waiter_returns(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        lw_event *event =
            mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(event, MAP_FAILED);
        struct call call = {.function = set_it, .on = event};
        start_call(&call);
        assert_int_equal(lw_event_wait(event), 0);
        munmap(event, PAGE);
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

static void two_threads_play_with_automatic_events(void **state)
{
    (void)state;
    struct table table = {{LW_EVENT_AUTO_INIT, LW_EVENT_AUTO_INIT}, 0};
    struct call players[2];
    for (uint32_t i = 0; i < 2; i++) {
        players[i] = (struct call){.function = play, .on = &table, .n = i};
        start_call(&players[i]);
    }
    lw_event_set(&table.ball[0]);
    assert_int_equal(end_call(&players[0]), 0);
    assert_int_equal(end_call(&players[1]), 0);
    assert_int_equal(table.count, 2 * TURNS);
    assert_true(lw_event_is_set(&table.ball[0]));
    assert_false(lw_event_is_set(&table.ball[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manual_event_stays_set_until_it_is_reset),
        cmocka_unit_test(an_automatic_event_releases_one_per_set),
        cmocka_unit_test(a_manual_set_releases_everybody),
        cmocka_unit_test(a_pulse_releases_everybody_who_waited),
        cmocka_unit_test(an_automatic_set_releases_one_of_many),
        cmocka_unit_test(its_generation_wraps),
        cmocka_unit_test(it_may_be_freed_when_the_waiter_returns),
        cmocka_unit_test(two_threads_play_with_automatic_events),
    };
    return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
