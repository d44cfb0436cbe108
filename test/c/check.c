#define _GNU_SOURCE
#include "check-system.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <lockword/self.h>

#define NS_PER_S 1000000000
/* Counted in sleeps of 1 ms, not by the clock: a machine may stand still for a while. */
#define STRANDED_MS 10000

/* How many times slower this processor may be, which is an emulated one perhaps. */
#ifndef SLOWNESS
#define SLOWNESS 1
#endif

/* Those of this program; cmocka passes over the rest, which has no name. */
static struct CMUnitTest tests[96];
static size_t test_count;

void add_test(const char *name, void (*test)(void **state))
{
    if (test_count == COUNT_OF(tests))
        abort();
    tests[test_count++] = (struct CMUnitTest){.name = name, .test_func = test};
}

int run_all(const char *group)
{
    return cmocka_run_group_tests_name(group, tests, NULL, NULL);
}

static int64_t time_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t now_ns(void)
{
    return time_of(CLOCK_MONOTONIC);
}

int64_t used_ns(void)
{
    return time_of(CLOCK_PROCESS_CPUTIME_ID);
}

void sleep_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000)};
    while (nanosleep(&left, &left) != 0) {
    }
}

static void *enter(void *argument)
{
    struct helper *helper = argument;
    helper->id = lw_self();
    __atomic_store_n(&helper->tid, number_of_this_thread(helper), __ATOMIC_RELEASE);
    helper->body(helper->argument);
    __atomic_store_n(&helper->has_ended, true, __ATOMIC_RELEASE);
    return NULL;
}

void start(struct helper *helper, void (*body)(void *), void *argument)
{
    *helper = (struct helper){.body = body, .argument = argument};
    assert_int_equal(pthread_create(&helper->thread, NULL, enter, helper), 0);
}

void await_sleep(const struct helper *helper)
{
    for (int ms = 0; __atomic_load_n(&helper->tid, __ATOMIC_ACQUIRE) == 0 || !is_asleep(helper);
         ms++) {
        if (ms == STRANDED_MS)
            fail_msg("a thread that should wait does not");
        sleep_ms(1);
    }
}

void join(struct helper *helper)
{
    for (int ms = 0; !__atomic_load_n(&helper->has_ended, __ATOMIC_ACQUIRE); ms++) {
        if (ms == STRANDED_MS)
            fail_msg("a thread is stranded: it has not ended within %d ms", STRANDED_MS);
        sleep_ms(1);
    }
    assert_int_equal(pthread_join(helper->thread, NULL), 0);
}

static void make_call(void *argument)
{
    struct call *call = argument;
    errno = LEFT_ERRNO;
    call->result = call->function(call);
    call->errno_after = errno;
    call->ended_ns = now_ns();
    __atomic_store_n(&call->ended, true, __ATOMIC_RELEASE);
}

struct call calling(int (*function)(struct call *call), void *on)
{
    return (struct call){.function = function, .on = on, .deadline = LW_FOREVER, .result = -1};
}

void start_call(struct call *call)
{
    start(&call->helper, make_call, call);
}

int end_call(struct call *call)
{
    join(&call->helper);
    return call->result;
}

bool has_ended(const struct call *call)
{
    return __atomic_load_n(&call->ended, __ATOMIC_ACQUIRE);
}

int by_another(int (*function)(struct call *call), void *on)
{
    struct call call = calling(function, on);
    start_call(&call);
    return end_call(&call);
}

void start_calls(struct call *calls, size_t count, struct call like)
{
    for (size_t i = 0; i < count; i++) {
        calls[i] = like;
        calls[i].n = (uint32_t)i;
        start_call(&calls[i]);
    }
}

void start_sleeper(struct call *call)
{
    start_call(call);
    await_sleep(&call->helper);
}

void start_sleepers(struct call *calls, size_t count, struct call like)
{
    for (size_t i = 0; i < count; i++) {
        calls[i] = like;
        start_sleeper(&calls[i]);
    }
}

void await_sleeps(const struct call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        await_sleep(&calls[i].helper);
}

void assert_none_ended(const struct call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_false(has_ended(&calls[i]));
}

void end_calls_with(struct call *calls, size_t count, int result)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(end_call(&calls[i]), result);
}

void end_calls(struct call *calls, size_t count)
{
    end_calls_with(calls, count, 0);
}

void assert_bounded(int64_t (*run)(const void *how), const void *how, int64_t ms)
{
    ms *= SLOWNESS;
    int64_t best = INT64_MAX;
    for (int i = 0; i < 5 && best >= ms * NS_PER_MS; i++) {
        const int64_t longest = run(how);
        best = longest < best ? longest : best;
    }
    if (best >= ms * NS_PER_MS)
        fail_msg("others kept one out for %lld ms", (long long)(best / NS_PER_MS));
}

uint32_t next_random(uint32_t *seed)
{
    return *seed = *seed * 1664525u + 1013904223u, *seed >> 8;
}
