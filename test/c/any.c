/* any.c: what lockword/any.h promises besides what every operation that waits does (waits.c). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <string.h>

#include <lockword/lockword.h>

#include "../../src/wait/awake.h"

/* An agent's id that no thread has: what has it stays taken. */
#define NOBODY LW_PERMITS_OWNER

struct things {
    lw_event event, automatic;
    lw_sem sem;
    lw_counter counter;
    lw_waitgroup group;
    lw_latch latch;
    lw_permits permits;
    uint32_t permit;
};

#define THINGS 8

static struct things make_things(void)
{
    struct things things;
    memset(&things, 0, sizeof things);
    things.automatic = (lw_event)LW_EVENT_AUTO_INIT;
    lw_counter_add(&things.counter, 5, NULL);
    lw_waitgroup_add(&things.group, 1);
    lw_latch_init(&things.latch, 1);
    things.permits = (lw_permits)LW_PERMITS_INIT(2);
    things.permits.word[LW_PERMITS_FIRST] = things.permits.word[LW_PERMITS_FIRST + 1] = NOBODY;
    things.permit = UINT32_MAX;
    return things;
}

static int wait_any(struct call *call)
{
    struct things *things = call->on;
    const lw_source sources[THINGS] = {
        lw_source_event(&things->event),
        lw_source_event(&things->automatic),
        lw_source_sem(&things->sem, 2),
        lw_source_at_least(&things->counter, 10),
        lw_source_at_most(&things->counter, 0),
        lw_source_waitgroup(&things->group),
        lw_source_latch(&things->latch),
        lw_source_permits(&things->permits, &things->permit),
    };
    call->n = UINT32_MAX;
    return lw_wait_any(sources, THINGS, call->deadline, call->cancel, &call->n);
}

/* Makes one of the sources come. */
static void come(struct things *things, uint32_t which)
{
    switch (which) {
    case 0:
        lw_event_set(&things->event);
        break;
    case 1:
        lw_event_set(&things->automatic);
        break;
    case 2:
        lw_sem_release(&things->sem, 2);
        break;
    case 3:
        lw_counter_add(&things->counter, 5, NULL);
        break;
    case 4:
        lw_counter_add(&things->counter, -5, NULL);
        break;
    case 5:
        lw_waitgroup_done(&things->group);
        break;
    case 6:
        lw_latch_count_down(&things->latch, 1);
        break;
    default:
        assert_true(lw_permits_release_step(things->permits.word, 1, NOBODY));
    }
}

TEST(it_tells_which_has_come)
{
    for (uint32_t which = 0; which < THINGS; which++) {
        for (int before = 0; before < 2; before++) {
            struct things things = make_things();
            struct call call = calling(wait_any, &things);
            if (before)
                come(&things, which);
            start_call(&call);
            if (!before) {
                await_sleep(&call.helper);
                come(&things, which);
            }
            assert_int_equal(end_call(&call), 0);
            assert_int_equal(call.n, which);
            /* An automatic event and permits are consumed. */
            assert_false(lw_event_is_set(&things.automatic));
            assert_int_equal(lw_sem_available(&things.sem), 0);
            assert_int_equal(lw_permits_available(&things.permits), 0);
            assert_int_equal(things.permit, which == 7 ? 1 : UINT32_MAX);
        }
    }
}

/* So the requests of a loop stand in one line, and a set costs one step. */
TEST(all_that_wait_for_an_automatic_event_want_the_same)
{
    lw_event event = LW_EVENT_AUTO_INIT;
    const lw_source before = lw_source_event(&event);
    lw_event_set(&event);
    assert_int_equal(lw_source_event(&event).wanted, before.wanted);
    lw_event_reset(&event);
    assert_int_equal(lw_source_event(&event).wanted, before.wanted);
}

/* Whoever is woken for a permit, and takes something else, wakes another one. */
TEST(a_permit_goes_to_one_that_wants_it)
{
    for (int i = 0; i < 200; i++) {
        struct things things = make_things();
        struct call calls[2];
        for (int k = 0; k < 2; k++) {
            calls[k] = calling(wait_any, &things);
            start_sleeper(&calls[k]);
        }
        come(&things, i % 2 ? 7 : 1);
        come(&things, i % 2 ? 1 : 7);
        for (int k = 0; k < 2; k++)
            assert_int_equal(end_call(&calls[k]), 0);
        assert_int_equal(calls[0].n + calls[1].n, 8);
        assert_int_equal(things.permit, 1);
        assert_int_equal(lw_permits_available(&things.permits), 0);
        assert_false(lw_event_is_set(&things.automatic));
    }
}

TEST(of_several_the_first_has_come_and_no_other_is_consumed)
{
    for (uint32_t first = 0; first < 3; first++) {
        struct things things = make_things();
        for (uint32_t which = first; which < 3; which++)
            come(&things, which);
        struct call call = {.function = wait_any, .on = &things, .deadline = LW_NOW};
        assert_int_equal(wait_any(&call), 0);
        assert_int_equal(call.n, first);
        assert_int_equal(lw_event_is_set(&things.automatic), first < 1);
        assert_int_equal(lw_sem_available(&things.sem), first < 2 ? 2 : 0);
    }
}

TEST(what_comes_together_is_consumed_once)
{
    for (int i = 0; i < 100; i++) {
        struct things things = make_things();
        struct call call = calling(wait_any, &things);
        start_sleeper(&call);
        come(&things, i % 2 ? 1 : 2);
        come(&things, i % 2 ? 2 : 1);
        assert_int_equal(end_call(&call), 0);
        assert_true(call.n == 1 || call.n == 2);
        assert_int_equal(lw_event_is_set(&things.automatic), call.n == 2);
        assert_int_equal(lw_sem_available(&things.sem), call.n == 1 ? 2 : 0);
    }
}

TEST(one_that_gives_up_has_consumed_nothing)
{
    struct things things = make_things();
    lw_cancel cancel = LW_CANCEL_INIT;
    struct call call = {
        .function = wait_any, .on = &things, .deadline = lw_after_ms(3), .cancel = &cancel};
    assert_int_equal(wait_any(&call), ETIMEDOUT);
    assert_true(now_ns() >= call.deadline);
    lw_cancel_fire(&cancel);
    call.deadline = LW_FOREVER;
    assert_int_equal(wait_any(&call), ECANCELED);
    come(&things, 2);
    assert_int_equal(lw_sem_available(&things.sem), 2);
    assert_int_equal(lw_sem_acquire(&things.sem, 2), 0);
    lw_sem_release(&things.sem, 1);
    assert_int_equal(wait_any(&call), ECANCELED);
    assert_int_equal(lw_sem_available(&things.sem), 1);
}

TEST(one_to_63_sources_can_be_waited_for)
{
    lw_sem sems[LW_ANY_MAX + 1];
    lw_source sources[LW_ANY_MAX + 1];
    memset(sems, 0, sizeof sems);
    for (size_t i = 0; i < COUNT_OF(sems); i++)
        sources[i] = lw_source_sem(&sems[i], 1);
    lw_cancel cancel = LW_CANCEL_INIT;
    uint32_t which = UINT32_MAX;
    assert_int_equal(LW_ANY_MAX, 63);
    assert_int_equal(lw_wait_any(sources, 0, LW_FOREVER, NULL, &which), EINVAL);
    assert_int_equal(lw_wait_any(sources, LW_ANY_MAX + 1, LW_FOREVER, NULL, &which), EINVAL);
    lw_sem permits = LW_SEM_INIT(1);
    const lw_source too_much = lw_source_sem(&permits, LW_SEM_MAX + 1);
    assert_int_equal(lw_wait_any(&too_much, 1, LW_FOREVER, NULL, &which), EINVAL);
    assert_int_equal(lw_wait_any(sources, 1, lw_after_ms(1), NULL, &which), ETIMEDOUT);
    assert_int_equal(lw_wait_any(sources, LW_ANY_MAX, lw_after_ms(1), &cancel, &which), ETIMEDOUT);
    lw_sem_release(&sems[LW_ANY_MAX - 1], 1);
    assert_int_equal(lw_wait_any(sources, LW_ANY_MAX, LW_FOREVER, &cancel, &which), 0);
    assert_int_equal(which, LW_ANY_MAX - 1);
}

TEST(only_success_changes_which)
{
    lw_sem sems[2] = {LW_SEM_INIT(0), LW_SEM_INIT(0)};
    const lw_source sources[] = {lw_source_sem(&sems[0], 1), lw_source_sem(&sems[1], 1),
                                 lw_source_sem(&sems[1], LW_SEM_MAX + 1)};
    lw_cancel fired = LW_CANCEL_INIT;
    lw_cancel_fire(&fired);
    uint32_t which = 7;
    assert_int_equal(lw_wait_any(sources, 3, LW_FOREVER, NULL, &which), EINVAL);
    for (uint32_t n = 1; n <= 2; n++) {
        assert_int_equal(lw_wait_any(sources, n, LW_FOREVER, &fired, &which), ECANCELED);
        assert_int_equal(lw_wait_any(sources, n, LW_NOW, NULL, &which), ETIMEDOUT);
        assert_int_equal(lw_wait_any(sources, n, lw_after_ms(1), NULL, &which), ETIMEDOUT);
    }
    assert_int_equal(which, 7);
}

struct feed {
    lw_sem sems[3];
    lw_cancel done;
    uint32_t taken[3]; /* atomic */
};

#define EACH 3000

static int take_any(struct call *call)
{
    struct feed *feed = call->on;
    int failures = 0;
    for (;;) {
        const lw_source sources[] = {lw_source_sem(&feed->sems[0], 1),
                                     lw_source_sem(&feed->sems[1], 1),
                                     lw_source_sem(&feed->sems[2], 1)};
        uint32_t which;
        const lw_deadline deadline = call->n % 2 ? LW_FOREVER : lw_after_ns(50000);
        const int error = lw_wait_any(sources, 3, deadline, &feed->done, &which);
        if (error == ECANCELED)
            return failures;
        if (error == 0)
            __atomic_fetch_add(&feed->taken[which], 1, __ATOMIC_RELAXED);
        failures += error != 0 && error != ETIMEDOUT;
    }
}

TEST(what_many_take_from_many_is_exact)
{
    static struct feed feed;
    struct call calls[4];
    start_calls(calls, COUNT_OF(calls), calling(take_any, &feed));
    for (uint32_t i = 0; i < EACH; i++) {
        for (size_t k = 0; k < 3; k++)
            lw_sem_release(&feed.sems[(k + i) % 3], 1);
    }
    const int64_t limit = now_ns() + 8000 * (int64_t)NS_PER_MS;
    uint32_t taken = 0;
    while (taken < 3 * EACH && now_ns() < limit) {
        sleep_ms(1);
        taken = 0;
        for (size_t k = 0; k < 3; k++)
            taken += __atomic_load_n(&feed.taken[k], __ATOMIC_RELAXED);
    }
    lw_cancel_fire(&feed.done);
    end_calls(calls, COUNT_OF(calls));
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(feed.taken[k], EACH);
        assert_int_equal(lw_sem_available(&feed.sems[k]), 0);
    }
}

struct pair {
    uint32_t words[2]; /* atomic */
};

static int poll_both(struct call *call)
{
    struct pair *pair = call->on;
    const struct lw_waited waited[] = {{&pair->words[0], 0}, {&pair->words[1], 0}};
    int64_t look_ns = LW_LOOK_NS;
    const int woken = (int)lw_wait_polling(waited, 2, call->deadline, &look_ns);
    call->n = (uint32_t)look_ns;
    return woken;
}

/* What platforms do that cannot wait on several words. */
TEST(polling_sees_every_word_and_keeps_the_deadline)
{
    struct pair pair = {{0, 0}};
    struct call call = {.function = poll_both, .on = &pair, .deadline = LW_NOW};
    assert_int_equal(poll_both(&call), LW_TIMED_OUT);
    call.deadline = lw_after_ns(LW_LOOK_NS / 4);
    assert_int_equal(poll_both(&call), LW_TIMED_OUT);
    assert_true(now_ns() >= call.deadline);
    /* Not for longer than it says, though the deadline is far. */
    call.deadline = LW_FOREVER;
    const int64_t start_ns = now_ns();
    assert_int_equal(poll_both(&call), LW_NOT_EQUAL);
    assert_true(now_ns() - start_ns >= LW_LOOK_NS);
    /* And the next pause is longer. */
    assert_int_equal(call.n, 2 * LW_LOOK_NS);
    for (size_t i = 0; i < 2; i++) {
        pair.words[i] = 1;
        assert_int_equal(poll_both(&call), LW_NOT_EQUAL);
        pair.words[i] = 0;
    }
}

TEST(polling_is_woken_by_the_first_word)
{
    static struct pair pair;
    uint32_t woken = 0;
    for (int i = 0; i < 100 && woken == 0; i++) {
        struct call call = calling(poll_both, &pair);
        start_call(&call);
        while (woken == 0 && !has_ended(&call))
            woken = lw_notify(&pair.words[0], LW_ALL);
        const int result = end_call(&call);
        assert_int_equal(result, woken ? LW_OK : LW_NOT_EQUAL);
    }
    assert_int_equal(woken, 1);
}

/* The semaphore is claimed by then, and would stay so for ever. */
TEST(what_did_not_come_is_not_claimed_any_more)
{
    struct things things = make_things();
    lw_sem_release(&things.sem, 1);
    struct call call = {.function = wait_any, .on = &things, .deadline = LW_FOREVER, .result = -1};
    start_sleeper(&call);
    assert_int_equal(lw_sem_acquire_until(&things.sem, 1, LW_NOW), ETIMEDOUT);
    lw_event_set(&things.event);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(call.n, 0);
    assert_int_equal(lw_sem_acquire_until(&things.sem, 1, LW_NOW), 0);
}

RUN_TESTS("any")
