/* mutex.c: what lockword/mutex.h promises about results, deadlines, signals and memory.
 * mutex-stress.c: what it promises under load. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lockword/lockword.h>

#define STATE(mutex) ((mutex)->word[LW_MUTEX_STATE])

/* An id that is no thread's: the kernel's ids end at 2^22. */
#define NOBODY 0x1fffffffu

static uint32_t read_state(const lw_mutex *mutex)
{
    return __atomic_load_n(&STATE(mutex), __ATOMIC_ACQUIRE);
}

static void eight_bytes_of_zeros_are_a_free_mutex(void **state)
{
    (void)state;
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

static void the_word_says_who_holds_it(void **state)
{
    (void)state;
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

static void relocking_is_an_error_and_keeps_the_lock(void **state)
{
    (void)state;
    lw_mutex mutex = LW_MUTEX_INIT;
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    assert_int_equal(lw_mutex_lock(&mutex), EDEADLK);
    assert_int_equal(lw_mutex_lock_until(&mutex, lw_after_ms(1000)), EDEADLK);
    assert_int_equal(lw_mutex_lock_until(&mutex, LW_NOW), EDEADLK);
    assert_int_equal(lw_mutex_trylock(&mutex), EBUSY);
    assert_int_equal(STATE(&mutex), lw_self());
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
}

static void unlocking_what_is_not_mine_changes_nothing(void **state)
{
    (void)state;
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

static void *unlock_first_of_all(void *mutex)
{
    return (void *)(intptr_t)lw_mutex_unlock(mutex);
}

/* The inlined half of unlock compares with an id that such a thread has not asked for yet. */
static void nor_does_a_thread_whose_first_act_it_is(void **state)
{
    (void)state;
    const uint32_t states[] = {0, NOBODY, LW_MUTEX_RESERVED,
                               LW_MUTEX_RESERVED | LW_MUTEX_BLOCKED | LW_MUTEX_ASYNC};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        lw_mutex mutex = {{states[i], 0}};
        pthread_t thread;
        void *error;
        assert_int_equal(pthread_create(&thread, NULL, unlock_first_of_all, &mutex), 0);
        assert_int_equal(pthread_join(thread, &error), 0);
        assert_int_equal((intptr_t)error, EPERM);
        assert_int_equal(STATE(&mutex), states[i]);
    }
}

static void trylock_takes_what_is_free_and_keeps_the_flags(void **state)
{
    (void)state;
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

static void a_reserved_mutex_that_nobody_comes_for_is_taken_soon(void **state)
{
    (void)state;
    lw_mutex mutex = {{LW_MUTEX_RESERVED, 0}};
    assert_int_equal(lw_mutex_lock_until(&mutex, lw_after_ms(5000)), 0);
    assert_int_equal(STATE(&mutex) & (LW_MUTEX_OWNER | LW_MUTEX_RESERVED), lw_self());
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(STATE(&mutex), 0);
}

static void a_passed_deadline_takes_what_is_free_and_does_not_wait(void **state)
{
    (void)state;
    const lw_deadline deadlines[] = {LW_NOW, -1, INT64_MIN, 1, now_ns()};
    for (size_t i = 0; i < COUNT_OF(deadlines); i++) {
        lw_mutex mutex = LW_MUTEX_INIT;
        assert_int_equal(lw_mutex_lock_until(&mutex, deadlines[i]), 0);
        assert_int_equal(lw_mutex_unlock(&mutex), 0);
        STATE(&mutex) = NOBODY;
        const int64_t start_ns = now_ns();
        assert_int_equal(lw_mutex_lock_until(&mutex, deadlines[i]), ETIMEDOUT);
        assert_true(now_ns() - start_ns < 500 * NS_PER_MS);
        assert_int_equal(STATE(&mutex) & LW_MUTEX_OWNER, NOBODY);
    }
}

static void a_timeout_is_never_early(void **state)
{
    (void)state;
    lw_mutex mutex = {{NOBODY, 0}};
    int64_t least_late = INT64_MAX;
    for (int ms = 0; ms < 20; ms++) {
        const lw_deadline deadline = lw_after_ms(ms);
        assert_int_equal(lw_mutex_lock_until(&mutex, deadline), ETIMEDOUT);
        const int64_t late = now_ns() - deadline;
        assert_true(late >= 0);
        least_late = late < least_late ? late : least_late;
    }
    assert_true(least_late < 5 * NS_PER_MS);
    assert_int_equal(STATE(&mutex) & (LW_MUTEX_OWNER | LW_MUTEX_RESERVED), NOBODY);
}

struct locker {
    struct helper helper;
    lw_mutex *mutex;
    lw_deadline deadline;
    int locked;
    int unlocked;
    int errno_after;
};

static void lock_and_unlock(void *argument)
{
    struct locker *locker = argument;
    errno = 12345;
    locker->locked = lw_mutex_lock_until(locker->mutex, locker->deadline);
    if (locker->locked == 0)
        locker->unlocked = lw_mutex_unlock(locker->mutex);
    locker->errno_after = errno;
}

static void start_locker(struct locker *locker, lw_mutex *mutex, lw_deadline deadline)
{
    *locker = (struct locker){.mutex = mutex, .deadline = deadline, .locked = -1, .unlocked = -1};
    start(&locker->helper, lock_and_unlock, locker);
}

static void await_flag(const lw_mutex *mutex, uint32_t flag)
{
    const int64_t limit = now_ns() + 5000 * (int64_t)NS_PER_MS;
    while (!(read_state(mutex) & flag) && now_ns() < limit)
        sleep_ms(1);
    assert_int_equal(read_state(mutex) & flag, flag);
}

static void far_deadlines_wait_until_it_is_free(void **state)
{
    (void)state;
    const lw_deadline deadlines[] = {LW_FOREVER, LW_FOREVER - 1, LW_FOREVER / 2,
                                     lw_after_ms(INT64_MAX)};
    for (size_t i = 0; i < COUNT_OF(deadlines); i++) {
        lw_mutex mutex = LW_MUTEX_INIT;
        assert_int_equal(lw_mutex_lock(&mutex), 0);
        struct locker locker;
        start_locker(&locker, &mutex, deadlines[i]);
        await_flag(&mutex, LW_MUTEX_BLOCKED);
        assert_int_equal(lw_mutex_unlock(&mutex), 0);
        join(&locker.helper);
        assert_int_equal(locker.locked, 0);
        assert_int_equal(locker.unlocked, 0);
        assert_int_equal(locker.errno_after, 12345);
        assert_int_equal(STATE(&mutex), 0);
    }
}

static void a_waiter_that_waits_long_reserves_it(void **state)
{
    (void)state;
    lw_mutex mutex = LW_MUTEX_INIT;
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    struct locker locker;
    start_locker(&locker, &mutex, LW_FOREVER);
    await_flag(&mutex, LW_MUTEX_RESERVED);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    join(&locker.helper);
    assert_int_equal(locker.locked, 0);
    assert_int_equal(locker.unlocked, 0);
    assert_int_equal(STATE(&mutex), 0);
}

static void one_that_gives_up_leaves_no_reservation(void **state)
{
    (void)state;
    lw_mutex mutex = LW_MUTEX_INIT;
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    struct locker locker;
    start_locker(&locker, &mutex, lw_after_ms(500));
    await_flag(&mutex, LW_MUTEX_RESERVED);
    join(&locker.helper);
    assert_int_equal(locker.locked, ETIMEDOUT);
    assert_int_equal(locker.errno_after, 12345);
    assert_int_equal(STATE(&mutex) & ~LW_MUTEX_BLOCKED, lw_self());
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(STATE(&mutex), 0);
}

static volatile sig_atomic_t handled;

static void count_signal(int signal)
{
    (void)signal;
    handled++;
}

static void a_signal_storm_ends_no_wait_and_loses_no_lock(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = count_signal};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    lw_mutex mutex = LW_MUTEX_INIT;
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    const lw_deadline deadline = lw_after_ms(300);
    struct locker timed, untimed;
    start_locker(&timed, &mutex, deadline);
    start_locker(&untimed, &mutex, LW_FOREVER);
    handled = 0;
    while (now_ns() < deadline - 20 * NS_PER_MS) {
        pthread_kill(timed.helper.thread, SIGUSR1);
        pthread_kill(untimed.helper.thread, SIGUSR1);
        sleep_ms(1);
    }
    join(&timed.helper);
    assert_true(now_ns() >= deadline);
    assert_int_equal(timed.locked, ETIMEDOUT);
    assert_int_equal(timed.errno_after, 12345);
    assert_true(handled > 10);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    join(&untimed.helper);
    assert_int_equal(untimed.locked, 0);
    assert_int_equal(untimed.unlocked, 0);
    assert_int_equal(untimed.errno_after, 12345);
    assert_int_equal(STATE(&mutex), 0);
}

static void a_forked_child_does_not_hold_its_parents_lock(void **state)
{
    (void)state;
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

#define PAGE 4096

static struct locker last_holder;
static uint32_t unlocker; /* whose notify is held up; 0: nobody's */

static void free_it(void *argument)
{
    struct locker *locker = argument;
    lock_and_unlock(locker);
    munmap(locker->mutex, PAGE);
}

uint32_t __real_lw_notify(lw_word *word, uint32_t n);
uint32_t __wrap_lw_notify(lw_word *word, uint32_t n);

/* The linker puts it in lw_notify's place: while an unlock is about to notify, another takes the
 * mutex, frees it, and is gone. */
uint32_t __wrap_lw_notify(lw_word *word, uint32_t n)
{
    if (__atomic_load_n(&unlocker, __ATOMIC_RELAXED) == lw_self())
        join(&last_holder.helper);
    return __real_lw_notify(word, n);
}

/* Were unlock to touch the mutex after it has become free to take, it would now hit an unmapped
 * page. */
static void its_last_holder_may_free_it(void **state)
{
    (void)state;
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    lw_mutex *mutex = page;
    assert_int_equal(lw_mutex_lock(mutex), 0);
    last_holder =
        (struct locker){.mutex = mutex, .deadline = LW_FOREVER, .locked = -1, .unlocked = -1};
    start(&last_holder.helper, free_it, &last_holder);
    await_flag(mutex, LW_MUTEX_BLOCKED);
    __atomic_store_n(&unlocker, lw_self(), __ATOMIC_RELAXED);
    assert_int_equal(lw_mutex_unlock(mutex), 0);
    __atomic_store_n(&unlocker, 0, __ATOMIC_RELAXED);
    assert_int_equal(last_holder.locked, 0);
    assert_int_equal(last_holder.unlocked, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_bytes_of_zeros_are_a_free_mutex),
        cmocka_unit_test(the_word_says_who_holds_it),
        cmocka_unit_test(relocking_is_an_error_and_keeps_the_lock),
        cmocka_unit_test(unlocking_what_is_not_mine_changes_nothing),
        cmocka_unit_test(nor_does_a_thread_whose_first_act_it_is),
        cmocka_unit_test(trylock_takes_what_is_free_and_keeps_the_flags),
        cmocka_unit_test(a_reserved_mutex_that_nobody_comes_for_is_taken_soon),
        cmocka_unit_test(a_passed_deadline_takes_what_is_free_and_does_not_wait),
        cmocka_unit_test(a_timeout_is_never_early),
        cmocka_unit_test(far_deadlines_wait_until_it_is_free),
        cmocka_unit_test(a_waiter_that_waits_long_reserves_it),
        cmocka_unit_test(one_that_gives_up_leaves_no_reservation),
        cmocka_unit_test(a_signal_storm_ends_no_wait_and_loses_no_lock),
        cmocka_unit_test(its_last_holder_may_free_it),
        cmocka_unit_test(a_forked_child_does_not_hold_its_parents_lock),
    };
    return cmocka_run_group_tests_name("mutex", tests, NULL, NULL);
}
