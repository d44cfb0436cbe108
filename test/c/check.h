/* check.h: cmocka, and what the C tests share: time, threads, and knowing when a thread is asleep.
 */
#ifndef LOCKWORD_TEST_CHECK_H
#define LOCKWORD_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include <lockword/cancel.h>
#include <lockword/wait.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define NS_PER_MS 1000000

/* A test of a file that ends with RUN_TESTS. */
#define TEST(name)                                                                                 \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        add_test(#name, name);                                                                     \
    }                                                                                              \
    static void name(void **state __attribute__((unused)))

/* One that runs between two functions: they make what it needs, and take it away. */
#define TEST_BETWEEN(before, after, name)                                                          \
    static void inner_##name(void);                                                                \
    TEST(name)                                                                                     \
    {                                                                                              \
        before();                                                                                  \
        inner_##name();                                                                            \
        after();                                                                                   \
    }                                                                                              \
    static void inner_##name(void)

/* The program: runs the tests of this file in their order. */
#define RUN_TESTS(group)                                                                           \
    int main(void)                                                                                 \
    {                                                                                              \
        return run_all(group);                                                                     \
    }

void add_test(const char *name, void (*test)(void **state));
int run_all(const char *group);

/* The monotonic clock, ns. */
int64_t now_ns(void);
/* The CPU time of this process, ns. It stands while the machine is busy with others. */
int64_t used_ns(void);
void sleep_ms(int64_t ms);

/*
 * A thread of a test. Its body must not use cmocka's assertions, which leave by longjmp: it reports
 * through its argument. No thread of ours lives longer than a few seconds: one that does has been
 * stranded.
 */
struct helper {
    pthread_t thread;
    void (*body)(void *argument);
    void *argument;
    uint32_t tid; /* these two are set before the body runs */
    uint32_t id;  /* its agent's */
    bool has_ended;
    bool is_asleep; /* these two not on Linux */
    long sleeps;
};

void start(struct helper *helper, void (*body)(void *), void *argument);
/* Fails the test if the thread does not end within ten seconds. */
void join(struct helper *helper);

/* Returns when the thread sleeps in the kernel, so most likely in the wait that it has announced.
 */
void await_sleep(const struct helper *helper);

/* What a thread has used up so far: how often it went to sleep, and how long it ran. */
struct usage {
    long sleeps;
    int64_t cpu_ns;
};

struct usage usage_of(const struct helper *helper);

/* One call of a function that may wait, on a thread of its own. */
struct call {
    int (*function)(struct call *call);
    void *on;
    uint32_t n;
    lw_deadline deadline;
    lw_cancel *cancel;
    struct helper helper;
    int result;
    int errno_after; /* LEFT_ERRNO if the function left it alone */
    int64_t ended_ns;
    bool ended;
};

#define LEFT_ERRNO 12345

/* A call without a deadline. */
struct call calling(int (*function)(struct call *call), void *on);
void start_call(struct call *call);
/* Returns when it sleeps. */
void start_sleeper(struct call *call);
/* The call's result. Fails the test if it does not end within ten seconds. */
int end_call(struct call *call);
bool has_ended(const struct call *call);
/* The result of a call by another thread. */
int by_another(int (*function)(struct call *call), void *on);

/* The same for several calls that are like one; `n` is each call's index. */
void start_calls(struct call *calls, size_t count, struct call like);
void await_sleeps(const struct call *calls, size_t count);
void assert_none_ended(const struct call *calls, size_t count);
/* Fails the test unless each of them returns this; or 0. */
void end_calls_with(struct call *calls, size_t count, int result);
void end_calls(struct call *calls, size_t count);

/* Starts calls that are like one, `n` included, each when the one before sleeps. */
void start_sleepers(struct call *calls, size_t count, struct call like);

/* Zeroed memory that nothing shares a page with: what touches it after it was freed crashes. */
void *allocate_page(void);
void free_page(void *page);

/*
 * Fails the test unless one of five runs returns less than so many ms, in ns: how long one waited
 * against others of this process, which never rest, by used_ns().
 */
void assert_bounded(int64_t (*run)(const void *how), const void *how, int64_t ms);

/* A cheap source of chance, different for every seed. */
uint32_t next_random(uint32_t *seed);

#endif
