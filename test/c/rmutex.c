/* rmutex.c: what lockword/rmutex.h promises besides what every operation that waits does (waits.c).
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <lockword/lockword.h>

/* An id that is no thread's: the kernel's ids end at 2^22. */
#define NOBODY 0x1fffffffu

static int try_it(struct call *call)
{
    const int error = lw_rmutex_trylock(call->on);
    return error ? error : lw_rmutex_unlock(call->on);
}

static int lock_it(struct call *call)
{
    const int error = lw_rmutex_lock(call->on);
    return error ? error : lw_rmutex_unlock(call->on);
}

static int unlock_it(struct call *call)
{
    return lw_rmutex_unlock(call->on);
}

TEST(sixteen_bytes_of_zeros_are_a_free_one)
{
    static const lw_rmutex initial = LW_RMUTEX_INIT;
    lw_rmutex *rmutex = calloc(1, sizeof *rmutex);
    assert_non_null(rmutex);
    assert_int_equal(sizeof *rmutex, 16);
    assert_memory_equal(rmutex, &initial, sizeof initial);
    assert_int_equal(lw_rmutex_lock(rmutex), 0);
    assert_int_equal(lw_rmutex_unlock(rmutex), 0);
    assert_memory_equal(rmutex, &initial, sizeof initial);
    free(rmutex);
}

TEST(it_is_free_when_unlocked_as_often_as_locked)
{
    lw_rmutex rmutex = LW_RMUTEX_INIT;
    assert_int_equal(lw_rmutex_hold_count(&rmutex), 0);
    for (uint32_t depth = 1; depth <= 100; depth++) {
        assert_int_equal(depth % 3 == 0   ? lw_rmutex_trylock(&rmutex)
                         : depth % 3 == 1 ? lw_rmutex_lock(&rmutex)
                                          : lw_rmutex_lock_until(&rmutex, LW_NOW),
                         0);
        assert_int_equal(lw_rmutex_hold_count(&rmutex), depth);
        assert_true(lw_rmutex_is_locked(&rmutex) && lw_rmutex_is_mine(&rmutex));
        assert_int_equal(by_another(try_it, &rmutex), EBUSY);
    }
    for (uint32_t depth = 100; depth >= 1; depth--) {
        assert_int_equal(lw_rmutex_hold_count(&rmutex), depth);
        assert_int_equal(lw_rmutex_unlock(&rmutex), 0);
    }
    assert_false(lw_rmutex_is_locked(&rmutex) || lw_rmutex_is_mine(&rmutex));
    assert_int_equal(by_another(try_it, &rmutex), 0);
    assert_int_equal(rmutex.word[LW_MUTEX_STATE], 0);
}

TEST(a_waiter_gets_it_only_after_the_last_unlock)
{
    lw_rmutex rmutex = LW_RMUTEX_INIT;
    struct call call = calling(lock_it, &rmutex);
    lw_rmutex_lock(&rmutex);
    lw_rmutex_lock(&rmutex);
    start_sleeper(&call);
    assert_int_equal(lw_rmutex_unlock(&rmutex), 0);
    sleep_ms(5);
    assert_false(has_ended(&call));
    assert_int_equal(lw_rmutex_unlock(&rmutex), 0);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(rmutex.word[LW_MUTEX_STATE], 0);
}

TEST(a_stranger_cannot_unlock_it)
{
    lw_rmutex rmutex = LW_RMUTEX_INIT;
    assert_int_equal(lw_rmutex_unlock(&rmutex), EPERM);
    lw_rmutex_lock(&rmutex);
    lw_rmutex_lock(&rmutex);
    const lw_rmutex before = rmutex;
    assert_int_equal(by_another(unlock_it, &rmutex), EPERM);
    assert_memory_equal(&rmutex, &before, sizeof rmutex);
    assert_int_equal(lw_rmutex_unlock(&rmutex), 0);
    assert_int_equal(lw_rmutex_unlock(&rmutex), 0);
    assert_int_equal(lw_rmutex_unlock(&rmutex), EPERM);
}

TEST(it_can_be_taken_two_to_the_31_times)
{
    lw_rmutex rmutex = LW_RMUTEX_INIT;
    lw_rmutex_lock(&rmutex);
    rmutex.word[LW_RMUTEX_DEPTH] = LW_RMUTEX_AGAIN - 1;
    assert_int_equal(lw_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_rmutex_hold_count(&rmutex), 0x80000000u);
    assert_int_equal(lw_rmutex_lock(&rmutex), EOVERFLOW);
    assert_int_equal(lw_rmutex_trylock(&rmutex), EOVERFLOW);
    assert_int_equal(lw_rmutex_lock_until(&rmutex, LW_NOW), EOVERFLOW);
    assert_int_equal(lw_rmutex_hold_count(&rmutex), 0x80000000u);
    assert_int_equal(lw_rmutex_unlock(&rmutex), 0);
    assert_int_equal(rmutex.word[LW_RMUTEX_DEPTH], LW_RMUTEX_AGAIN - 1);
}

TEST(what_a_task_of_this_thread_holds_is_not_the_threads)
{
    lw_rmutex rmutex = {{lw_self(), 0, 0, lw_self() | LW_RMUTEX_TASK}};
    const lw_rmutex before = rmutex;
    assert_int_equal(lw_rmutex_trylock(&rmutex), EBUSY);
    assert_int_equal(lw_rmutex_lock(&rmutex), EDEADLK);
    assert_int_equal(lw_rmutex_lock_until(&rmutex, lw_after_ms(1000)), EDEADLK);
    assert_int_equal(lw_rmutex_unlock(&rmutex), EPERM);
    assert_memory_equal(&rmutex, &before, sizeof rmutex);
}

TEST(what_a_holder_that_died_left_is_not_the_next_holders)
{
    lw_rmutex rmutex = {{0, 0, 3, NOBODY}};
    assert_int_equal(lw_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_rmutex_hold_count(&rmutex), 1);
    assert_int_equal(lw_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_rmutex_unlock(&rmutex), 0);
    assert_int_equal(lw_rmutex_unlock(&rmutex), 0);
    assert_int_equal(rmutex.word[LW_MUTEX_STATE], 0);
}

TEST(trylock_takes_what_is_kept_for_a_waiter)
{
    lw_rmutex rmutex = {{LW_MUTEX_RESERVED}};
    assert_int_equal(lw_rmutex_trylock(&rmutex), 0);
    assert_int_equal(lw_rmutex_unlock(&rmutex), 0);
    rmutex.word[LW_MUTEX_STATE] = NOBODY;
    assert_int_equal(lw_rmutex_trylock(&rmutex), EBUSY);
}

struct shared {
    lw_rmutex rmutex;
    uint32_t count;
};

static uint32_t count_deeply(struct shared *shared, uint32_t depth)
{
    if (lw_rmutex_lock(&shared->rmutex) != 0)
        return 1;
    shared->count++;
    uint32_t failures = depth ? count_deeply(shared, depth - 1) : 0;
    shared->count++;
    failures += lw_rmutex_unlock(&shared->rmutex) != 0;
    return failures;
}

static int count_often(struct call *call)
{
    uint32_t failures = 0;
    for (uint32_t i = 0; i < 3000; i++)
        failures += count_deeply(call->on, i % 3);
    return (int)failures;
}

TEST(eight_threads_count_exactly)
{
    static struct shared shared;
    struct call calls[8];
    start_calls(calls, COUNT_OF(calls), calling(count_often, &shared));
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(shared.count, COUNT_OF(calls) * 3000 * 4);
    assert_int_equal(shared.rmutex.word[LW_MUTEX_STATE], 0);
    assert_int_equal(shared.rmutex.word[LW_RMUTEX_DEPTH], 0);
}

static int relock_without_a_gap(struct call *call)
{
    struct shared *shared = call->on;
    int failures = 0;
    while (!__atomic_load_n(&shared->count, __ATOMIC_RELAXED)) {
        failures += lw_rmutex_lock(&shared->rmutex) != 0;
        failures += lw_rmutex_lock(&shared->rmutex) != 0;
        failures += lw_rmutex_unlock(&shared->rmutex) != 0;
        failures += lw_rmutex_unlock(&shared->rmutex) != 0;
    }
    return failures;
}

/* Of fifty waits against one that comes back as soon as it has left, ns. */
static int64_t longest_wait(const void *unused)
{
    (void)unused;
    struct shared shared = {.count = 0};
    struct call relocker = calling(relock_without_a_gap, &shared);
    start_call(&relocker);
    int64_t longest = 0;
    for (int i = 0; i < 50; i++) {
        const int64_t start_ns = used_ns();
        assert_int_equal(lw_rmutex_lock(&shared.rmutex), 0);
        const int64_t waited = used_ns() - start_ns;
        longest = waited > longest ? waited : longest;
        assert_int_equal(lw_rmutex_depth(shared.rmutex.word), 1);
        assert_int_equal(lw_rmutex_unlock(&shared.rmutex), 0);
        sched_yield();
    }
    __atomic_store_n(&shared.count, 1, __ATOMIC_RELAXED);
    assert_int_equal(end_call(&relocker), 0);
    return longest;
}

TEST(who_relocks_without_a_gap_keeps_nobody_out)
{
    assert_bounded(longest_wait, NULL, 100);
}

RUN_TESTS("rmutex")
