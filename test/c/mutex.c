/* mutex.c: what lockword/mutex.h promises besides what every operation that waits does (waits.c);
 * mutex-stress.c: under load. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <lockword/lockword.h>

#define STATE(mutex) ((mutex)->word[LW_MUTEX_STATE])

/* An id that is no thread's: the kernel's ids end at 2^22. */
#define NOBODY 0x1fffffffu

static uint32_t read_state(const lw_mutex *mutex)
{
    return __atomic_load_n(&STATE(mutex), __ATOMIC_ACQUIRE);
}

TEST(eight_bytes_of_zeros_are_a_free_mutex)
{
    assert_int_equal(sizeof(lw_mutex), 8);
    assert_int_equal(_Alignof(lw_mutex), 4);
    static const lw_mutex initial = LW_MUTEX_INIT;
    lw_mutex *mutex = calloc(1, sizeof *mutex);
    assert_non_null(mutex);
    assert_memory_equal(mutex, &initial, sizeof initial);
    assert_int_equal(lw_mutex_lock(mutex), 0);
    assert_int_equal(lw_mutex_unlock(mutex), 0);
    assert_memory_equal(mutex, &initial, sizeof initial);
    free(mutex);
}

TEST(the_word_says_who_holds_it)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    assert_false(lw_mutex_is_locked(&mutex) || lw_mutex_is_mine(&mutex));
    assert_int_equal(lw_mutex_trylock(&mutex), 0);
    assert_int_equal(STATE(&mutex), lw_self());
    assert_true(lw_mutex_is_locked(&mutex) && lw_mutex_is_mine(&mutex));
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(STATE(&mutex), 0);
    mutex.word[LW_MUTEX_STATE] = lw_self() + 1;
    assert_true(lw_mutex_is_locked(&mutex) && !lw_mutex_is_mine(&mutex));
}

TEST(relocking_is_an_error_and_keeps_the_lock)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    assert_int_equal(lw_mutex_lock(&mutex), EDEADLK);
    assert_int_equal(lw_mutex_lock_until(&mutex, lw_after_ms(1000)), EDEADLK);
    assert_int_equal(lw_mutex_lock_until(&mutex, LW_NOW), EDEADLK);
    assert_int_equal(lw_mutex_trylock(&mutex), EBUSY);
    assert_int_equal(STATE(&mutex), lw_self());
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
}

TEST(unlocking_what_is_not_mine_changes_nothing)
{
    const uint32_t flags[] = {0, LW_MUTEX_BLOCKED, LW_MUTEX_ASYNC, LW_MUTEX_RESERVED,
                              ~LW_MUTEX_OWNER};
    const uint32_t owners[] = {0, NOBODY, lw_self() ^ 1};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        for (size_t j = 0; j < COUNT_OF(owners); j++) {
            lw_mutex mutex = {{owners[j] | flags[i], 0}};
            const lw_mutex before = mutex;
            assert_int_equal(lw_mutex_unlock(&mutex), EPERM);
            assert_memory_equal(&mutex, &before, sizeof mutex);
        }
    }
}

static int unlock_first_of_all(struct call *call)
{
    return lw_mutex_unlock(call->on);
}

/* The inlined half of unlock compares with an id that such a thread has not asked for yet. */
TEST(nor_does_a_thread_whose_first_act_it_is)
{
    const uint32_t states[] = {0, NOBODY, LW_MUTEX_RESERVED,
                               LW_MUTEX_RESERVED | LW_MUTEX_BLOCKED | LW_MUTEX_ASYNC};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        lw_mutex mutex = {{states[i], 0}};
        assert_int_equal(by_another(unlock_first_of_all, &mutex), EPERM);
        assert_int_equal(STATE(&mutex), states[i]);
    }
}

TEST(trylock_takes_what_is_free_and_keeps_the_flags)
{
    const uint32_t flags[] = {0, LW_MUTEX_RESERVED, LW_MUTEX_RESERVED | LW_MUTEX_BLOCKED,
                              ~LW_MUTEX_OWNER};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        lw_mutex mutex = {{flags[i], 0}};
        assert_int_equal(lw_mutex_trylock(&mutex), 0);
        assert_int_equal(STATE(&mutex), flags[i] | lw_self());
        assert_int_equal(lw_mutex_unlock(&mutex), 0);
        assert_int_equal(STATE(&mutex), flags[i] & LW_MUTEX_RESERVED);
        mutex.word[LW_MUTEX_STATE] = flags[i] | NOBODY;
        assert_int_equal(lw_mutex_trylock(&mutex), EBUSY);
        assert_int_equal(STATE(&mutex), flags[i] | NOBODY);
    }
}

TEST(a_reserved_mutex_that_nobody_comes_for_is_taken_soon)
{
    lw_mutex mutex = {{LW_MUTEX_RESERVED, 0}};
    assert_int_equal(lw_mutex_lock_until(&mutex, lw_after_ms(5000)), 0);
    assert_int_equal(STATE(&mutex) & (LW_MUTEX_OWNER | LW_MUTEX_RESERVED), lw_self());
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(STATE(&mutex), 0);
}

static int lock_and_unlock(struct call *call)
{
    const int error = lw_mutex_lock_until(call->on, call->deadline);
    return error ? error : lw_mutex_unlock(call->on);
}

static void await_flag(const lw_mutex *mutex, uint32_t flag)
{
    const int64_t limit = now_ns() + 5000 * (int64_t)NS_PER_MS;
    while (!(read_state(mutex) & flag) && now_ns() < limit)
        sleep_ms(1);
    assert_int_equal(read_state(mutex) & flag, flag);
}

TEST(a_waiter_that_waits_long_reserves_it)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    struct call call = calling(lock_and_unlock, &mutex);
    start_call(&call);
    await_flag(&mutex, LW_MUTEX_RESERVED);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(STATE(&mutex), 0);
}

TEST(one_that_gives_up_leaves_no_reservation)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    struct call call = calling(lock_and_unlock, &mutex);
    call.deadline = lw_after_ms(500);
    start_call(&call);
    await_flag(&mutex, LW_MUTEX_RESERVED);
    assert_int_equal(end_call(&call), ETIMEDOUT);
    assert_int_equal(STATE(&mutex) & ~LW_MUTEX_BLOCKED, lw_self());
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(STATE(&mutex), 0);
}

#ifndef _WIN32 /* which has no fork */

TEST(a_forked_child_does_not_hold_its_parents_lock)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    const pid_t child = fork();
    if (child == 0) {
        lw_mutex own = LW_MUTEX_INIT;
        const bool ok = lw_mutex_unlock(&mutex) == EPERM && lw_mutex_trylock(&mutex) == EBUSY &&
                        lw_mutex_lock_until(&mutex, lw_after_ms(5)) == ETIMEDOUT &&
                        lw_mutex_lock(&own) == 0 && lw_mutex_lock(&own) == EDEADLK &&
                        lw_mutex_unlock(&own) == 0;
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
}

#endif

static struct call last_holder;
static uint32_t unlocker; /* whose notify is held up; 0: nobody's */

static int free_it(struct call *call)
{
    const int error = lock_and_unlock(call);
    free_page(call->on);
    return error;
}

uint32_t __real_lw_notify(lw_word *word, uint32_t n);
uint32_t __wrap_lw_notify(lw_word *word, uint32_t n);

static const lw_cond *waited_for; /* by the thread that unlocks; NULL: none */
static uint32_t counted;          /* its waiters, when the mutex had become free */

/* The linker puts it in lw_notify's place: while an unlock is about to notify, another takes the
 * mutex, frees it, and is gone. */
uint32_t __wrap_lw_notify(lw_word *word, uint32_t n)
{
    if (waited_for)
        counted = waited_for->word[LW_COND_WAITERS];
    if (__atomic_load_n(&unlocker, __ATOMIC_RELAXED) == lw_self())
        join(&last_holder.helper);
    return __real_lw_notify(word, n);
}

/* Were unlock to touch the mutex after it has become free to take, it would now hit an unmapped
 * page. */
TEST(its_last_holder_may_free_it)
{
    lw_mutex *mutex = allocate_page();
    assert_int_equal(lw_mutex_lock(mutex), 0);
    last_holder = calling(free_it, mutex);
    last_holder.deadline = lw_after_ms(1000); /* then it looks, without having been notified */
    start_call(&last_holder);
    await_flag(mutex, LW_MUTEX_BLOCKED);
    __atomic_store_n(&unlocker, lw_self(), __ATOMIC_RELAXED);
    assert_int_equal(lw_mutex_unlock(mutex), 0);
    __atomic_store_n(&unlocker, 0, __ATOMIC_RELAXED);
    assert_int_equal(last_holder.result, 0);
}

/* Else the next holder of the mutex would notify nobody. */
TEST(who_waits_at_a_condition_is_counted_before_it_is_free)
{
    lw_cond cond = LW_COND_INIT;
    lw_rmutex rmutex = LW_RMUTEX_INIT;
    lw_mutex mutex = LW_MUTEX_INIT;
    waited_for = &cond;
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    STATE(&mutex) |= LW_MUTEX_BLOCKED;
    assert_int_equal(lw_cond_wait_until(&cond, &mutex, LW_NOW), ETIMEDOUT);
    assert_int_equal(counted, 1);
    counted = 0;
    assert_int_equal(lw_rmutex_lock(&rmutex), 0);
    STATE(&rmutex) |= LW_MUTEX_BLOCKED;
    assert_int_equal(lw_cond_wait_recursive_until(&cond, &rmutex, LW_NOW), ETIMEDOUT);
    assert_int_equal(counted, 1);
    waited_for = NULL;
    assert_int_equal(cond.word[LW_COND_WAITERS], 0);
    assert_true(lw_mutex_is_mine(&mutex) && lw_rmutex_hold_count(&rmutex) == 1);
}

RUN_TESTS("mutex")
