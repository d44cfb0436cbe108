/*
 * keys.c: a process that has no thread-specific key left when the library wants one, and later has
 * one again; or no memory for what a thread keeps under it.
 */
#define _GNU_SOURCE
#include "check-region.h"

#include <fcntl.h>
#include <pthread.h>

#include <lockword/lockword.h>

/* From before the library's constructors run. */
static bool is_any_left;

int __real_pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *));

int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    return is_any_left ? __real_pthread_key_create(key, destroy) : EAGAIN;
}

static bool is_memory_refused;

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    return is_memory_refused ? ENOMEM : __real_pthread_setspecific(key, value);
}

TEST(a_loop_begins_as_soon_as_there_is_a_key)
{
    lw_loop loop;
    is_any_left = false;
    assert_int_equal(lw_loop_init(&loop), EAGAIN);
    assert_int_equal(lw_loop_init(&loop), EAGAIN);
    is_any_left = true;
    assert_int_equal(lw_loop_init(&loop), 0);
    assert_int_equal(lw_loop_destroy(&loop), 0);
}

/* Without a note that it has loops, a thread that exits would not end them. */
TEST(a_loop_that_cannot_be_noted_leaves_no_descriptor)
{
    lw_loop loop, other;
    assert_int_equal(lw_loop_init(&other), 0);
    is_memory_refused = true;
    const int error = lw_loop_init(&loop);
    is_memory_refused = false;
    assert_int_equal(error, ENOMEM);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fcntl(loop.fds[i], F_GETFD), -1);
    assert_int_equal(lw_loop_init(&loop), 0);
    assert_int_equal(lw_loop_destroy(&other), 0);
    assert_int_equal(lw_loop_destroy(&loop), 0);
}

static void *lock_and_exit(void *unused)
{
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    return unused;
}

/* With the key, a thread that exits gives up what it holds. */
TEST(a_thread_uses_regions_as_soon_as_there_is_a_key)
{
    pthread_t thread;
    choose_path();
    is_any_left = false;
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0), 0);
    assert_int_equal(lw_region_mutex_named(region, "lock", &mutex), EAGAIN);
    assert_int_equal(lw_region_mutex_named(region, "lock", &mutex), EAGAIN);
    is_any_left = true;
    assert_int_equal(lw_region_mutex_named(region, "lock", &mutex), 0);
    assert_int_equal(pthread_create(&thread, NULL, lock_and_exit, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    end();
}

RUN_TESTS("keys")
