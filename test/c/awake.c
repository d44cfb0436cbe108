/* awake.c: a thread that finds a mutex held waits awake at first, and lets others run meanwhile;
 * here, a hook. */
#include "check.h"
#include "yields.h"

#include <errno.h>

#include <lockword/lockword.h>

/* An id that is no thread's: the kernel's ids end at 2^22. */
#define NOBODY 0x1fffffffu

/* More often than that nobody lets others run before it sleeps. */
#define MANY 64

static lw_mutex mutex;

static uint32_t read_state(void)
{
    return __atomic_load_n(&mutex.word[LW_MUTEX_STATE], __ATOMIC_ACQUIRE);
}

static void write_state(uint32_t value)
{
    __atomic_store_n(&mutex.word[LW_MUTEX_STATE], value, __ATOMIC_RELEASE);
}

static void begin(uint32_t value, void (*between)(void))
{
    write_state(value);
    yields = sleeps = 0;
    hook = between;
}

static int lock_until(struct call *call)
{
    return lw_mutex_lock_until(&mutex, call->deadline);
}

/* On a new thread: what one has met while it waited awake, it remembers. */
static int lock_within(int64_t ms)
{
    struct call call = {.function = lock_until, .deadline = lw_after_ms(ms)};
    start_call(&call);
    return end_call(&call);
}

static bool was_marked;

static void free_it_at_the_third(void)
{
    was_marked |= read_state() != NOBODY && read_state() != 0;
    if (yields == 3)
        write_state(0);
}

TEST(who_finds_it_freed_has_left_no_mark_and_not_slept)
{
    begin(NOBODY, free_it_at_the_third);
    was_marked = false;
    assert_int_equal(lock_within(10000), 0);
    assert_int_equal(yields, 3);
    assert_int_equal(sleeps, 0);
    assert_false(was_marked);
}

TEST(who_finds_it_held_sleeps_soon)
{
    begin(NOBODY, NULL);
    assert_int_equal(lock_within(20), ETIMEDOUT);
    assert_in_range(yields, 1, MANY);
    assert_in_range(sleeps, 1, 1000);
}

static void reserve_it_at_the_third(void)
{
    if (yields == 3)
        write_state(NOBODY | LW_MUTEX_BLOCKED | LW_MUTEX_RESERVED);
}

TEST(who_sees_that_it_is_reserved_sleeps)
{
    begin(NOBODY, reserve_it_at_the_third);
    assert_int_equal(lock_within(20), ETIMEDOUT);
    assert_int_equal(yields, 3);

    begin(NOBODY | LW_MUTEX_RESERVED, NULL);
    assert_int_equal(lock_within(20), ETIMEDOUT);
    assert_int_equal(yields, 0);
}

/* Another owner, which has cleared the marks, as an unlock does. */
#define ANOTHER (NOBODY - 1)

static void free_it_unmarked(void)
{
    if (read_state() == ANOTHER)
        write_state(0);
}

/* Else each thread of a convoy would sleep again at once, and each unlock would have to wake one.
 */
TEST(who_is_woken_in_vain_waits_awake_before_it_sleeps_again)
{
    begin(NOBODY, free_it_unmarked);
    struct call call = {.function = lock_until, .deadline = lw_after_ms(10000)};
    start_call(&call);
    await_sleep(&call.helper);
    for (int i = 0; i < 100 && (read_state() & LW_MUTEX_BLOCKED); i++) {
        /* Between two re-checks it might see this before the notify, and mark it. */
        write_state(ANOTHER);
        lw_notify(&mutex.word[LW_MUTEX_STATE], 1);
        sleep_ms(20);
    }
    assert_int_equal(end_call(&call), 0);
}

/* What a busy stranger on the CPU does to a thread that lets it run. */
static void take_long(void)
{
    sleep_ms(4);
}

TEST(who_shares_its_cpu_with_a_stranger_lets_it_run_twice)
{
    begin(NOBODY, take_long);
    assert_int_equal(lock_within(40), ETIMEDOUT);
    assert_int_equal(yields, 2);
    assert_in_range(sleeps, 1, 1000);
}

TEST(who_has_no_time_does_not_wait_awake)
{
    begin(NOBODY, NULL);
    assert_int_equal(lw_mutex_lock_until(&mutex, LW_NOW), ETIMEDOUT);
    assert_int_equal(lw_mutex_trylock(&mutex), EBUSY);
    assert_int_equal(yields, 0);
}

RUN_TESTS("awake")
