/*
 * loop.c: an agent that must not block. Its thread has an event loop, on epoll, with two
 * descriptors: a timer's, which stands for the requests that a server would have to answer in time,
 * and lockword's. A lock that another agent holds is requested (lw_mutex_lock_async). The loop goes
 * on meanwhile, and is called back when it has the lock.
 */
#define _GNU_SOURCE
#include "agent.h"

#include <lockword/loop.h>

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PERIOD_NS 5000000
#define NS_PER_MS 1e6
/* How many steps a turn of the loop takes: some hundred microseconds. */
#define STEPS_A_TURN 1000
/* The timer's samples that are kept: five minutes. */
#define MOST_SAMPLES 65536

struct agent;
typedef void step(struct agent *);

struct agent {
    struct worker *worker;
    struct wc_arena *arena;
    struct wc_tally *tally;
    bool has_ended;
    step *next; /* what to do now; NULL: a lock was requested */

    lw_loop loop;
    lw_request request;
    step *after_lock;
    int64_t came;

    struct text text;
    uint32_t at;
    struct wc_key key;

    int64_t started; /* the timer */
    uint64_t expirations;
    double *samples;
    size_t sample_count;
};

static int64_t now(void)
{
    return lw_after_ns(0);
}

static void locked(lw_request *request, int result, void *context)
{
    struct agent *agent = context;
    (void)request;
    if (result != 0)
        fail("lw_mutex_lock_async");
    const uint32_t us = (uint32_t)((now() - agent->came) / 1000);
    agent->tally->waited_us += us;
    if (us > agent->tally->longest_us)
        agent->tally->longest_us = us;
    agent->next = agent->after_lock;
}

/* Goes on with this step as soon as the agent has the lock. */
static void lock(struct agent *agent, lw_mutex *mutex, step *then)
{
    if (lw_mutex_trylock(mutex) == 0) {
        agent->next = then;
        return;
    }
    agent->next = NULL;
    agent->after_lock = then;
    agent->came = now();
    agent->tally->contended++;
    agent->tally->waits++;
    if (lw_mutex_lock_async(mutex, &agent->request, &agent->loop, LW_FOREVER, locked, agent) != 0)
        fail("lw_mutex_lock_async");
}

/* The same for the table's locks, which a run without locks leaves out. */
static void enter(struct agent *agent, lw_mutex *mutex, step *then)
{
    if (agent->arena->locking)
        lock(agent, mutex, then);
    else
        agent->next = then;
}

static void leave(struct agent *agent, lw_mutex *mutex)
{
    if (agent->arena->locking)
        lw_mutex_unlock(mutex);
}

static step ask_for_file, take_file, find_word, count_word, insert_word, leave_word;

static void ask_for_file(struct agent *agent)
{
    lock(agent, &agent->arena->files_lock, take_file);
}

static void take_file(struct agent *agent)
{
    const uint32_t file = wc_next_file(agent->arena);
    lw_mutex_unlock(&agent->arena->files_lock);
    agent->next = ask_for_file;
    if (file == WC_NO_FILE) {
        agent->has_ended = true;
    } else if (!read_file(agent->worker->job->paths[file], &agent->text)) {
        agent->worker->failed++;
    } else {
        agent->worker->files++;
        agent->worker->bytes += agent->text.length;
        agent->at = 0;
        agent->next = find_word;
    }
}

static void find_word(struct agent *agent)
{
    const struct text *text = &agent->text;
    if (wc_find(text->bytes, (uint32_t)text->length, &agent->at, &agent->key))
        enter(agent, wc_stripe(agent->arena, &agent->key), count_word);
    else
        agent->next = ask_for_file;
}

static void count_word(struct agent *agent)
{
    agent->tally->words++;
    if (wc_count_known(agent->arena, agent->tally, &agent->key))
        agent->next = leave_word;
    else
        enter(agent, &agent->arena->heap_lock, insert_word);
}

static void insert_word(struct agent *agent)
{
    wc_insert(agent->arena, agent->tally, &agent->key, 1);
    leave(agent, &agent->arena->heap_lock);
    agent->next = leave_word;
}

static void leave_word(struct agent *agent)
{
    leave(agent, wc_stripe(agent->arena, &agent->key));
    agent->next = find_word;
}

/* Takes down how late the timer was read, counted from the oldest expiration. */
static void read_timer(struct agent *agent, int timer)
{
    uint64_t more;
    if (read(timer, &more, sizeof more) != sizeof more)
        return;
    const int64_t due = agent->started + (int64_t)(agent->expirations + 1) * PERIOD_NS;
    agent->expirations += more;
    const double late = (double)(now() - due) / NS_PER_MS;
    if (late > agent->worker->worst_late_ms)
        agent->worker->worst_late_ms = late;
    if (agent->sample_count < MOST_SAMPLES)
        agent->samples[agent->sample_count++] = late;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int start_timer(struct agent *agent)
{
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    const struct timespec period = {.tv_sec = 0, .tv_nsec = PERIOD_NS};
    agent->started = now();
    if (timer < 0 ||
        timerfd_settime(timer, 0, &(struct itimerspec){.it_interval = period, .it_value = period},
                        NULL) != 0)
        fail("timerfd");
    return timer;
}

static void watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        fail("epoll_ctl");
}

int work_on_loop(void *argument)
{
    struct worker *worker = argument;
    struct agent agent = {.worker = worker,
                          .arena = worker->job->arena,
                          .tally = &worker->tally,
                          .next = ask_for_file,
                          .samples = calloc(MOST_SAMPLES, sizeof(double))};
    stay_on_processor(worker->number);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0 || agent.samples == NULL || lw_loop_init(&agent.loop) != 0)
        fail("event loop");
    const int timer = start_timer(&agent);
    watch(epoll, timer);
    watch(epoll, lw_loop_fd(&agent.loop));
    while (!agent.has_ended) {
        struct epoll_event events[2];
        const int n = epoll_wait(epoll, events, 2, agent.next ? 0 : -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == timer)
                read_timer(&agent, timer);
            else
                lw_loop_run(&agent.loop);
        }
        for (int steps = 0; agent.next && !agent.has_ended && steps < STEPS_A_TURN; steps++)
            agent.next(&agent);
    }
    if (agent.sample_count > 0) {
        qsort(agent.samples, agent.sample_count, sizeof(double), compare_numbers);
        worker->median_late_ms = agent.samples[agent.sample_count / 2];
    }
    lw_loop_destroy(&agent.loop);
    close(timer);
    close(epoll);
    free(agent.samples);
    free(agent.text.bytes);
    return 0;
}
