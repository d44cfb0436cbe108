/*
 * loops.c: what event loops cost (lockword/loop.h). Prints one line for each question, with the
 * ratio that matters: to an eventfd and epoll alone, or to few that wait.
 *
 *     build/release/bench/native/lockword-bench-loops
 */
#define _GNU_SOURCE
#include "harness/measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <lockword/loop.h>

#define MANY 100000
#define SAMPLES 500
#define ROUNDS 9

static lw_loop loop;
static lw_mutex lock;
static lw_request *requests;
static int epoll_fd, bell_fd;
static double called_at;

static void unlock(lw_request *request, int result, void *mutex)
{
    (void)request;
    called_at = bench_now();
    if (result == 0)
        lw_mutex_unlock(mutex);
}

static void ask(lw_request *request, lw_mutex *mutex)
{
    lw_mutex_lock_async(mutex, request, &loop, LW_FOREVER, unlock, mutex);
}

static int turn(int timeout_ms)
{
    struct epoll_event event;
    const int ready = epoll_wait(epoll_fd, &event, 1, timeout_ms);
    if (ready == 1 && event.data.fd == lw_loop_fd(&loop))
        lw_loop_run(&loop);
    return ready;
}

static void settle(void)
{
    while (turn(0) == 1)
        continue;
}

/* From an unlock in one thread to the callback in another, beside a write to an eventfd. */

static struct {
    bool by_bell;
    bool ready, asleep, stop;
    double told_at;
} turnover;

static bool is_set(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set(bool *flag, bool value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

static void *tell(void *cpu)
{
    const uint64_t one = 1;
    bench_pin(*(int *)cpu);
    while (!is_set(&turnover.stop)) {
        lw_mutex_lock(&lock);
        set(&turnover.ready, true);
        while (!is_set(&turnover.asleep) && !is_set(&turnover.stop))
            sched_yield();
        set(&turnover.asleep, false);
        bench_sleep(100e-6);
        turnover.told_at = bench_now();
        if (turnover.by_bell && write(bell_fd, &one, sizeof one) < 0)
            break;
        lw_mutex_unlock(&lock);
        while (is_set(&turnover.ready) && !is_set(&turnover.stop))
            sched_yield();
    }
    return NULL;
}

static double tell_once(bool by_bell)
{
    lw_request request;
    uint64_t rings;
    while (!is_set(&turnover.ready))
        sched_yield();
    turnover.by_bell = by_bell;
    if (!by_bell)
        ask(&request, &lock);
    settle();
    called_at = 0;
    set(&turnover.asleep, true);
    while (called_at == 0) {
        turn(-1);
        if (by_bell && read(bell_fd, &rings, sizeof rings) > 0)
            called_at = bench_now();
    }
    const double took = called_at - turnover.told_at;
    set(&turnover.ready, false);
    return took;
}

static void show_turnover(int cpu)
{
    static double by_lock[SAMPLES], by_bell[SAMPLES];
    pthread_t thread;
    turnover.stop = turnover.ready = turnover.asleep = false;
    pthread_create(&thread, NULL, tell, &cpu);
    for (int i = 0; i < SAMPLES; i++) {
        by_lock[i] = tell_once(false);
        by_bell[i] = tell_once(true);
    }
    set(&turnover.stop, true);
    pthread_join(thread, NULL);
    const double lock_ns = bench_median(by_lock, SAMPLES), bell_ns = bench_median(by_bell, SAMPLES);
    printf("unlock to callback, %s CPU: %.2f us; eventfd and epoll alone %.2f us: %.2f\n",
           cpu ? "another" : "the same", lock_ns / 1e3, bell_ns / 1e3, lock_ns / bell_ns);
}

/* Of this thread: other programs do not count. */
static double cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* With one request at the head of the line. The callbacks come later, 64 at a time. */
static void show_cancel(void)
{
    double samples[ROUNDS];
    lw_request head;
    lw_mutex_lock(&lock);
    ask(&head, &lock);
    for (int round = 0; round < ROUNDS; round++) {
        double ns = 0;
        for (int i = 0; i < 1000; i++) {
            const double start = cpu_ns();
            for (int j = 0; j < 64; j++) {
                ask(&requests[j], &lock);
                lw_request_cancel(&requests[j]);
            }
            ns += cpu_ns() - start;
            settle();
        }
        samples[round] = ns / 64000;
    }
    lw_mutex_unlock(&lock);
    settle();
    printf("enqueue and cancel: %.0f ns\n", bench_median(samples, ROUNDS));
}

/* ns for one of n requests on so many locks, from the unlock on. */
static double grant(int n, lw_mutex *locks, int count)
{
    double ns = 0;
    const int times = MANY / n;
    for (int i = 0; i < times; i++) {
        for (int j = 0; j < count; j++)
            lw_mutex_lock(&locks[j]);
        for (int j = 0; j < n; j++)
            ask(&requests[j], &locks[j % count]);
        settle();
        const double start = cpu_ns();
        for (int j = 0; j < count; j++)
            lw_mutex_unlock(&locks[j]);
        settle();
        ns += cpu_ns() - start;
    }
    return ns / (n * times);
}

static void show_grants(int count)
{
    static lw_mutex locks[10000];
    double few = 0;
    for (int n = 100; n <= MANY; n *= 10) {
        double samples[ROUNDS];
        for (int round = 0; round < ROUNDS; round++)
            samples[round] = grant(n, locks, count < n ? count : n);
        const double ns = bench_median(samples, ROUNDS);
        few = few != 0 ? few : ns;
        printf("a grant, %d waiting for up to %d locks: %.0f ns: %.2f\n", n, count, ns, ns / few);
    }
}

static void *relock(void *unused)
{
    bench_pin(1);
    while (!is_set(&turnover.stop)) {
        lw_mutex_lock(&lock);
        set(&turnover.ready, true);
        bench_work(100);
        lw_mutex_unlock(&lock);
    }
    return unused;
}

static void show_relocker(void)
{
    static double samples[SAMPLES];
    pthread_t thread;
    lw_request request;
    turnover.stop = false;
    pthread_create(&thread, NULL, relock, NULL);
    for (int i = 0; i < SAMPLES; i++) {
        /* It runs. */
        set(&turnover.ready, false);
        while (!is_set(&turnover.ready))
            sched_yield();
        const double start = bench_now();
        called_at = 0;
        ask(&request, &lock);
        while (called_at == 0)
            turn(-1);
        samples[i] = called_at - start;
    }
    set(&turnover.stop, true);
    pthread_join(thread, NULL);
    const double median = bench_median(samples, SAMPLES); /* sorts them */
    printf("beside a thread that relocks: %.0f us in the median, %.0f us in 99 of 100\n",
           median / 1e3, samples[SAMPLES * 99 / 100] / 1e3);
}

static void show_idle(void)
{
    lw_request request;
    lw_mutex_lock(&lock);
    ask(&request, &lock);
    while (turn(200) == 1)
        continue; /* until it looks no more */
    const double start = cpu_ns();
    const int events = turn(1000);
    printf("a second of waiting: %.0f us of CPU time, %d events\n", (cpu_ns() - start) / 1e3,
           events);
    lw_mutex_unlock(&lock);
    settle();
}

int main(void)
{
    bench_pin(0);
    requests = calloc(MANY, sizeof *requests);
    epoll_fd = epoll_create1(0);
    bell_fd = eventfd(0, EFD_NONBLOCK);
    if (!requests || lw_loop_init(&loop) != 0)
        return EXIT_FAILURE;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = lw_loop_fd(&loop)};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, lw_loop_fd(&loop), &event);
    event.data.fd = bell_fd;
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, bell_fd, &event);

    printf("memory of a request: %zu bytes; of a loop: %zu\n", sizeof(lw_request), sizeof(lw_loop));
    show_turnover(1);
    show_turnover(0);
    show_cancel();
    show_grants(1);
    show_grants(10000);
    show_relocker();
    show_idle();
    free(requests);
    return lw_loop_destroy(&loop);
}
