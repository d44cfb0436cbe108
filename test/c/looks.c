/* looks.c: a thread that waits for what no holder gives back looks a few times before it sleeps,
 * and yields in between; here, a yield is a hook. For locks: awake.c. */
#include "check.h"
#include "yields.h"

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

#define LOOKS 8
#define LONG_YIELD_MS 10

static void begin(void)
{
    yields = sleeps = 0;
    hook = NULL;
}

static lw_sem sem;

static void release_at_the_third(void)
{
    assert_false(sem.word[0] & LW_WAITERS);
    if (yields == 3)
        lw_sem_release(&sem, 1);
}

TEST(who_is_released_meanwhile_has_left_no_mark_and_not_slept)
{
    begin();
    sem = (lw_sem)LW_SEM_INIT(0);
    hook = release_at_the_third;
    assert_int_equal(lw_sem_acquire(&sem, 1), 0);
    assert_int_equal(yields, 3);
    assert_int_equal(sleeps, 0);
}

static lw_barrier barrier;

static void arrive(void)
{
    if (yields == 1)
        assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
}

TEST(a_look_does_not_break_a_barrier)
{
    begin();
    lw_barrier_init(&barrier, 2);
    hook = arrive;
    assert_int_equal(lw_barrier_wait(&barrier), 0);
    assert_int_equal(yields, 1);
    assert_int_equal(sleeps, 0);
}

TEST(nobody_looks_for_ever_or_after_the_deadline)
{
    begin();
    lw_latch latch = LW_LATCH_INIT(1);
    assert_int_equal(lw_latch_wait_until(&latch, lw_after_ms(1)), ETIMEDOUT);
    assert_int_equal(yields, LOOKS);
    assert_true(sleeps >= 1);
    assert_int_equal(lw_latch_wait_until(&latch, LW_NOW), ETIMEDOUT);
    assert_int_equal(yields, LOOKS);
}

static void yield_for_long(void)
{
    pass_ns(LONG_YIELD_MS * NS_PER_MS);
}

static int yields_of_a_wait(void)
{
    const int before = yields;
    lw_event event = LW_EVENT_INIT;
    assert_int_equal(lw_event_wait_until(&event, lw_after_ms(1)), ETIMEDOUT);
    return yields - before;
}

TEST(who_was_kept_from_running_sleeps_at_once_for_many_times_as_long)
{
    begin();
    hook = yield_for_long;
    assert_int_equal(yields_of_a_wait(), 1);
    hook = NULL;
    const int64_t from = pass_ns(0);
    int again;
    while ((again = yields_of_a_wait()) == 0)
        pass_ns(NS_PER_MS);
    assert_int_equal(again, LOOKS);
    assert_in_range(pass_ns(0) - from, 10 * LONG_YIELD_MS * NS_PER_MS, INT64_MAX);
}

RUN_TESTS("looks")
