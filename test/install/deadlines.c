/*
 * deadlines.c [CALL...]: waits end when they must, neither early nor late, and asleep until then.
 * With no test library, and linked to the sources, so that it can be built for 32 bits and with
 * either size of time_t. With -Wl,--wrap=syscall -DOLD_KERNEL it runs as on a kernel that has none
 * of the calls that came with 64-bit times.
 */
#define _GNU_SOURCE
#include <lockword/lockword.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define NS_PER_MS 1000000
#define WAIT_MS 60
/* A busy machine may make a wait late. */
#define LATE_MS 5000
/* A wait that polls does so once a millisecond. */
#define BUSY_MS (WAIT_MS / 3)

#ifdef OLD_KERNEL
#include <errno.h>
#include <stdarg.h>

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, ...);

/* The linker puts it in syscall's place. */
long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    /* The numbers of all calls that came with 5.1 and later. */
    if (number >= 403) {
        errno = ENOSYS;
        return -1;
    }
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
#endif

static lw_word word;
static lw_mutex mutex;
static lw_event event;
static lw_sem sem;
static lw_counter counter;
static lw_cancel cancel;

static int64_t clock_ms(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}

static int wait_for_word(lw_deadline deadline)
{
    return lw_wait(&word, 0, deadline) == LW_TIMED_OUT ? ETIMEDOUT : 0;
}

static int wait_for_mutex(lw_deadline deadline)
{
    return lw_mutex_lock_until(&mutex, deadline);
}

static int wait_for_mutex_or_cancel(lw_deadline deadline)
{
    return lw_mutex_lock_cancel(&mutex, deadline, &cancel);
}

static int wait_for_event(lw_deadline deadline)
{
    return lw_event_wait_until(&event, deadline);
}

static int wait_for_event_or_cancel(lw_deadline deadline)
{
    return lw_event_wait_cancel(&event, deadline, &cancel);
}

static int wait_for_any(lw_deadline deadline)
{
    const lw_source sources[] = {lw_source_event(&event), lw_source_sem(&sem, 1),
                                 lw_source_at_least(&counter, 1)};
    uint32_t which;
    return lw_wait_any(sources, 3, deadline, &cancel, &which);
}

static const struct {
    const char *name;
    int (*wait)(lw_deadline deadline);
} waits[] = {
    {"a word", wait_for_word},
    {"a mutex", wait_for_mutex},
    {"a mutex or a cancel", wait_for_mutex_or_cancel},
    {"an event", wait_for_event},
    {"an event or a cancel", wait_for_event_or_cancel},
    {"any of three", wait_for_any},
};

#define WAITS (sizeof waits / sizeof *waits)

static struct {
    int result;
    int64_t waited_ms;
    int64_t busy_ms;
} ends[WAITS];

static int failures;

static void check(const char *name, const char *what, bool right)
{
    if (!right) {
        printf("deadlines.c: a wait for %s %s\n", name, what);
        failures++;
    }
}

static void *wait_for_a_while(void *argument)
{
    const size_t i = (size_t)argument;
    const int64_t begun = clock_ms(CLOCK_MONOTONIC);
    ends[i].result = waits[i].wait(lw_after_ms(WAIT_MS));
    ends[i].waited_ms = clock_ms(CLOCK_MONOTONIC) - begun;
    ends[i].busy_ms = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* Longer than 2^31 seconds: no time that a kernel's 32 bits could hold. */
static void *wait_for_centuries(void *unused)
{
    (void)unused;
    check("a wake, for centuries", "ends by itself",
          lw_event_wait_until(&event, lw_after_ms(5000000000000)) == 0);
    check("any of two, for centuries", "ends by itself",
          lw_event_wait_cancel(&event, lw_after_ms(5000000000000), &cancel) == 0);
    return NULL;
}

int main(void)
{
    pthread_t threads[WAITS], centuries;
    lw_mutex_lock(&mutex);
    for (size_t i = 0; i < WAITS; i++)
        pthread_create(&threads[i], NULL, wait_for_a_while, (void *)i);
    for (size_t i = 0; i < WAITS; i++) {
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec += LATE_MS / 1000;
        if (pthread_timedjoin_np(threads[i], NULL, &limit) != 0) {
            check(waits[i].name, "does not end", false);
            exit(1);
        }
        check(waits[i].name, "does not say ETIMEDOUT", ends[i].result == ETIMEDOUT);
        check(waits[i].name, "ends early", ends[i].waited_ms >= WAIT_MS - 1);
        check(waits[i].name, "is not asleep", ends[i].busy_ms < BUSY_MS);
    }
    pthread_create(&centuries, NULL, wait_for_centuries, NULL);
    const struct timespec a_while = {0, 20 * NS_PER_MS};
    nanosleep(&a_while, NULL);
    lw_event_set(&event);
    pthread_join(centuries, NULL);
    return failures > 0;
}
