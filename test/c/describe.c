/* describe.c: what lockword/describe.h promises besides the words, which
 * test/js/core/describe.test.js compares with JavaScript's.
 */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include <lockword/core/waiters.h>
#include <lockword/describe.h>

static char text[LW_DESCRIBE_MAX];

TEST(it_names_the_holder)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_mutex_describe(&mutex, text, sizeof text);
    assert_string_equal(text, "Mutex { free }");
    lw_mutex_lock(&mutex);
    char wanted[LW_DESCRIBE_MAX];
    snprintf(wanted, sizeof wanted, "Mutex { held by thread %u (this one) }", (unsigned)lw_self());
    lw_mutex_describe(&mutex, text, sizeof text);
    assert_string_equal(text, wanted);
    lw_mutex_unlock(&mutex);
}

TEST(it_says_what_is_set)
{
    lw_barrier barrier = LW_BARRIER_INIT(3);
    lw_barrier_describe(&barrier, text, sizeof text);
    assert_string_equal(text, "Barrier { 3 missing, parties: 3 }");
    lw_cancel cancel = LW_CANCEL_INIT;
    lw_cancel_describe(&cancel, text, sizeof text);
    assert_string_equal(text, "Cancel { not fired }");
    lw_cancel_fire(&cancel);
    lw_cancel_describe(&cancel, text, sizeof text);
    assert_string_equal(text, "Cancel { fired }");
    lw_permits permits = LW_PERMITS_INIT(3);
    lw_permits_acquire(&permits, NULL);
    lw_permits_describe(&permits, text, sizeof text);
    assert_string_equal(text, "Permits { 2 free, permits: 3 }");
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    lw_rwlock_rdlock(&rwlock);
    lw_rwlock_describe(&rwlock, text, sizeof text);
    assert_string_equal(text, "RWLock { read by 1 }");
    lw_rwlock_unlock(&rwlock);
}

TEST(it_is_cut_off_as_snprintf_does)
{
    const lw_sem sem = LW_SEM_INIT(1000);
    const char *whole = "Semaphore { 1000 permits }";
    const size_t length = strlen(whole);
    assert_int_equal(lw_sem_describe(&sem, NULL, 0), length);
    for (size_t size = 1; size <= length + 2; size++) {
        char buffer[64];
        memset(buffer, '#', sizeof buffer);
        assert_int_equal(lw_sem_describe(&sem, buffer, size), length);
        const size_t kept = size - 1 < length ? size - 1 : length;
        assert_int_equal(strlen(buffer), kept);
        assert_memory_equal(buffer, whole, kept);
        assert_int_equal(buffer[size], '#');
    }
}

TEST(the_longest_text_fits)
{
    const lw_rwlock rwlock = {
        {LW_RWLOCK_READERS | LW_RWLOCK_UPGRADABLE | LW_RWLOCK_READERS_TURN | LW_WAITERS, 0,
         LW_SELF_MASK}};
    assert_true(lw_rwlock_describe(&rwlock, text, sizeof text) + sizeof " (this one)" <=
                sizeof text);
    const lw_rmutex rmutex = {{0xffffffff, 0, 0xffffffff, 0xffffffff}};
    assert_true(lw_rmutex_describe(&rmutex, text, sizeof text) + sizeof " (this one)" <=
                sizeof text);
}

RUN_TESTS("describe")
