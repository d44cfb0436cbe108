/*
 * loops.c: what event loops cost (lockword/loop.h). Prints one line for each question, with the
 * ratio that matters: to an eventfd and epoll alone, or to few that wait.
 *
 *     build/release/bench/native/lockword-bench-loops [--quick] [--json FILE]
 */
#define _GNU_SOURCE
#include "harness/measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <lockword/loop.h>

#ifdef BENCH_HAS_UV
#include <uv.h>
#endif

#define MANY 100000
#define SAMPLES 2000
#define ROUNDS 9

#ifdef BENCH_HAS_TOKIO
/* From a thread's unlock of tokio's Mutex to the task that gets it, ns. In tokio/src/lib.rs. */
void bench_tokio(double *samples, int count, int cpu);
#endif

static int sample_count = SAMPLES;
static int round_count = ROUNDS;
static FILE *json;

static lw_loop loop;
static lw_mutex lock;
static lw_request *requests;
static int epoll_fd, bell_fd, nested_fd;
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

/*
 * From an unlock in one thread to the callback in another: a loop's request, beside a write to an
 * eventfd, and beside a pthread_mutex whose holder sends a uv_async after the unlock.
 */
enum way {
    BY_LOCK,
    BY_BELL,
    BY_NESTED, /* the eventfd in an epoll of its own, as the loop's is */
    BY_UV,
    WAYS,
};

static struct {
    enum way way;
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

#ifdef BENCH_HAS_UV
static uv_loop_t uv_loop;
static uv_async_t uv_bell;
static pthread_mutex_t uv_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_by_uv(uv_async_t *bell)
{
    (void)bell;
    if (pthread_mutex_trylock(&uv_lock) != 0)
        return; /* the next unlock sends again */
    called_at = bench_now();
    pthread_mutex_unlock(&uv_lock);
}

static void open_uv(void)
{
    if (uv_loop_init(&uv_loop) != 0 || uv_async_init(&uv_loop, &uv_bell, lock_by_uv) != 0)
        bench_die("libuv has no loop");
}
#endif

static void tell_by(enum way way)
{
    const uint64_t one = 1;
#ifdef BENCH_HAS_UV
    if (way == BY_UV) {
        pthread_mutex_lock(&uv_lock);
        turnover.told_at = bench_now();
        pthread_mutex_unlock(&uv_lock);
        uv_async_send(&uv_bell);
    }
#endif
    if (way != BY_UV)
        turnover.told_at = bench_now();
    if ((way == BY_BELL && write(bell_fd, &one, sizeof one) < 0) ||
        (way == BY_NESTED && write(nested_fd, &one, sizeof one) < 0))
        bench_die("an eventfd is full");
}

static void *tell(void *cpu)
{
    bench_pin(*(int *)cpu);
    while (!is_set(&turnover.stop)) {
        lw_mutex_lock(&lock);
        set(&turnover.ready, true);
        while (!is_set(&turnover.asleep) && !is_set(&turnover.stop))
            sched_yield();
        if (!is_set(&turnover.stop)) { /* a ring that no part reads would go on for ever */
            set(&turnover.asleep, false);
            bench_sleep(100e-6);
            tell_by(turnover.way);
        }
        lw_mutex_unlock(&lock);
        while (is_set(&turnover.ready) && !is_set(&turnover.stop))
            sched_yield();
    }
    return NULL;
}

static double tell_once(enum way way)
{
    lw_request request;
    uint64_t rings;
    while (!is_set(&turnover.ready))
        sched_yield();
    turnover.way = way;
    if (way == BY_LOCK)
        ask(&request, &lock);
    settle();
    called_at = 0;
    set(&turnover.asleep, true);
    while (called_at == 0) {
#ifdef BENCH_HAS_UV
        if (way == BY_UV) {
            uv_run(&uv_loop, UV_RUN_ONCE);
            continue;
        }
#endif
        turn(-1);
        if (way != BY_LOCK && read(way == BY_BELL ? bell_fd : nested_fd, &rings, sizeof rings) > 0)
            called_at = bench_now();
    }
    const double took = called_at - turnover.told_at;
    set(&turnover.ready, false);
    return took;
}

/* Sorts the samples. */
static void show_way(const char *way, const char *cpu, double *samples, double floor_ns)
{
    const double median = bench_median(samples, sample_count);
    const double p99 = samples[sample_count * 99 / 100];
    printf("  %-24s %8.2f us, 99 of 100 %8.2f us: %.2f\n", way, median / 1e3, p99 / 1e3,
           median / floor_ns);
    fprintf(json,
            "%s{\"way\": \"%s\", \"cpu\": \"%s\", \"ns\": %.0f, \"p99_ns\": %.0f, "
            "\"ratio\": %.4f}",
            *way == 'l' && strcmp(cpu, "another") == 0 ? "" : ", ", way, cpu, median, p99,
            median / floor_ns);
}

static void show_turnover(int cpu)
{
    static const char *const names[] = {"lockword", "eventfd and epoll", "eventfd, epoll, epoll",
                                        "pthread_mutex, uv_async"};
    static double samples[WAYS][SAMPLES];
    const char *place = cpu ? "another" : "the same";
    int ways = BY_UV;
    pthread_t thread;
#ifdef BENCH_HAS_UV
    ways = WAYS;
#endif
    turnover.stop = turnover.ready = turnover.asleep = false;
    pthread_create(&thread, NULL, tell, &cpu);
    for (int i = 0; i < sample_count; i++) {
        for (int way = BY_LOCK; way < ways; way++)
            samples[way][i] = tell_once((enum way)way);
    }
    set(&turnover.stop, true);
    pthread_join(thread, NULL);
    const double floor_ns = bench_median(samples[BY_BELL], sample_count);
    printf("unlock to callback, %s CPU\n", place);
    for (int way = BY_LOCK; way < ways; way++)
        show_way(names[way], place, samples[way], floor_ns);
#ifdef BENCH_HAS_TOKIO
    static double tokio[SAMPLES];
    bench_tokio(tokio, sample_count, cpu);
    bench_pin(0);
    show_way("tokio Mutex", place, tokio, floor_ns);
#endif
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
    static double batches[1000]; /* their median: other programs disturb few */
    lw_request head;
    lw_mutex_lock(&lock);
    ask(&head, &lock);
    for (int round = 0; round < round_count; round++) {
        for (int i = 0; i < 1000; i++) {
            const double start = bench_now();
            for (int j = 0; j < 64; j++) {
                ask(&requests[j], &lock);
                lw_request_cancel(&requests[j]);
            }
            batches[i] = (bench_now() - start) / 64;
            settle();
        }
        samples[round] = bench_median(batches, 1000);
    }
    lw_mutex_unlock(&lock);
    settle();
    const double ns = bench_median(samples, round_count);
    printf("enqueue and cancel: %.0f ns\n", ns);
    fprintf(json, "  \"cancel_ns\": %.1f,\n", ns);
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
    for (int n = 10; n <= MANY; n *= 10) {
        double samples[ROUNDS];
        for (int round = 0; round < round_count; round++)
            samples[round] = grant(n, locks, count < n ? count : n);
        const double ns = bench_median(samples, round_count);
        few = few != 0 ? few : ns;
        printf("a grant, %d waiting for up to %d locks: %.0f ns: %.2f\n", n, count, ns, ns / few);
        fprintf(json, "%s{\"locks\": %d, \"waiting\": %d, \"ns\": %.1f, \"ratio\": %.4f}",
                count == 1 && n == 10 ? "" : ", ", count, n, ns, ns / few);
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
    for (int i = 0; i < sample_count; i++) {
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
    const double median = bench_median(samples, sample_count); /* sorts them */
    const double p99 = samples[sample_count * 99 / 100];
    printf("beside a thread that relocks: %.0f us in the median, %.0f us in 99 of 100\n",
           median / 1e3, p99 / 1e3);
    fprintf(json, "  \"beside\": {\"ns\": %.0f, \"p99_ns\": %.0f},\n", median, p99);
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
    const double spent = cpu_ns() - start;
    printf("a second of waiting: %.0f us of CPU time, %d events\n", spent / 1e3, events);
    fprintf(json, "  \"idle\": {\"cpu_ns\": %.0f, \"events\": %d}\n", spent, events);
    lw_mutex_unlock(&lock);
    settle();
}

static void watch(int in, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(in, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv)
{
    bool quick = false;
    json = bench_options(argc, argv, &quick, NULL);
    sample_count = quick ? SAMPLES / 20 : SAMPLES;
    round_count = quick ? 1 : ROUNDS;
    bench_pin(0);
    requests = calloc(MANY, sizeof *requests);
    epoll_fd = epoll_create1(0);
    bell_fd = eventfd(0, EFD_NONBLOCK);
    if (!requests || lw_loop_init(&loop) != 0)
        return EXIT_FAILURE;
    const int inner_fd = epoll_create1(0);
    nested_fd = eventfd(0, EFD_NONBLOCK);
    watch(epoll_fd, lw_loop_fd(&loop));
    watch(epoll_fd, bell_fd);
    watch(inner_fd, nested_fd);
    watch(epoll_fd, inner_fd);
#ifdef BENCH_HAS_UV
    open_uv();
#endif

    printf("memory of a request: %zu bytes; of a loop: %zu\n", sizeof(lw_request), sizeof(lw_loop));
    fprintf(json, "{\n  \"request_bytes\": %zu,\n  \"loop_bytes\": %zu,\n  \"wake\": [",
            sizeof(lw_request), sizeof(lw_loop));
    show_turnover(1);
    show_turnover(0);
    fprintf(json, "],\n");
    show_cancel();
    fprintf(json, "  \"grants\": [");
    show_grants(1);
    show_grants(10000);
    fprintf(json, "],\n");
    show_relocker();
    show_idle();
    fprintf(json, "}\n");
    free(requests);
    return fclose(json) != 0 || lw_loop_destroy(&loop) != 0;
}
