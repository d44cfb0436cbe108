/* check.h: cmocka, and what the C tests share: time, threads, and knowing when a thread is asleep. */
#ifndef LOCKWORD_TEST_CHECK_H
#define LOCKWORD_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The monotonic clock, ns. */
int64_t now_ns(void);
void sleep_ms(int64_t ms);

/*
 * A thread of a test. Its body must not use cmocka's assertions, which leave by longjmp: it reports through its argument.
 * No thread of ours lives longer than a few seconds: one that does has been stranded.
 */
struct helper {
    pthread_t thread;
    void (*body)(void *argument);
    void *argument;
    uint32_t tid; /* set before the body runs */
};

void start(struct helper *helper, void (*body)(void *), void *argument);
/* Fails the test if the thread does not end within ten seconds. */
void join(struct helper *helper);

/* Returns when the thread sleeps in the kernel, so most likely in the wait that it has announced. */
void await_sleep(const struct helper *helper);

#endif
