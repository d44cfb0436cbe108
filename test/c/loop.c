/*
 * loop.c: what lockword/loop.h promises: every primitive without blocking, alone, beside threads
 * and beside other loops; deadlines, cancels, the end of loops, of threads and of parents.
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lockword/lockword.h>

_Static_assert(sizeof(void *) != 8 || (sizeof(lw_loop) == 128 && sizeof(lw_request) == 256),
               "what lockword/loop.h says");

#define PENDING 4242
#define MANY 100000

/* A request, and how it ended. */
struct wait {
    lw_request request;
    int result;
    int calls;
    uint32_t value;
    int order;            /* of all that have ended, when this one did */
    void (*then)(void *); /* called by `done` */
    void *on;
};

static int ended;

static void done(lw_request *request, int result, void *context)
{
    struct wait *wait = context;
    wait->result = result;
    wait->value = lw_request_value(request);
    wait->order = ended++;
    wait->calls++;
    if (wait->then)
        wait->then(wait->on);
}

/* The same in any thread. */
static void done_quietly(lw_request *request, int result, void *context)
{
    struct wait *wait = context;
    (void)request;
    wait->result = result;
    wait->calls++;
}

static struct wait *fresh(struct wait *wait)
{
    *wait = (struct wait){.result = PENDING};
    memset(&wait->request, 0x5a, sizeof wait->request); /* it need not be zeros */
    return wait;
}

/* Waits until the loop has something to do, and runs it. Returns whether it had. */
static bool turn(lw_loop *loop, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = lw_loop_fd(loop), .events = POLLIN};
    if (poll(&poll_fd, 1, timeout_ms) != 1)
        return false;
    lw_loop_run(loop);
    return true;
}

/* Runs the loop until nothing is left to do. */
static void settle(lw_loop *loop)
{
    while (turn(loop, 0))
        continue;
}

/* Runs the loop until the wait has ended, ten seconds at most. */
static int end_wait(lw_loop *loop, struct wait *wait)
{
    while (wait->calls == 0 && turn(loop, 10000))
        continue;
    return wait->result;
}

static lw_loop loop;
static struct wait a, b, c;

static void open_loop(void)
{
    assert_int_equal(lw_loop_init(&loop), 0);
}

/* All requests have ended by then. */
static void close_loop(void)
{
    assert_true(loop.pending.next == &loop.pending && loop.ended.next == &loop.ended);
    assert_true(!loop.timers);
    assert_int_equal(lw_loop_destroy(&loop), 0);
}

#define LOOP_TEST(name) TEST_BETWEEN(open_loop, close_loop, name)

#define WAIT(function, ...) assert_int_equal(function(__VA_ARGS__), 0)
#define FOR(wait) &fresh(wait)->request, &loop, LW_FOREVER, done, wait
#define FOR_MS(wait, ms) &fresh(wait)->request, &loop, lw_after_ms(ms), done, wait

LOOP_TEST(done_is_never_called_by_the_call_that_asks)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    assert_int_equal(a.calls, 0);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_true(lw_mutex_is_mine(&mutex));
    WAIT(lw_mutex_lock_async, &mutex, FOR(&b));
    assert_int_equal(lw_request_cancel(&b.request), 0);
    assert_int_equal(b.calls, 0);
    assert_int_equal(end_wait(&loop, &b), ECANCELED);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    settle(&loop);
    assert_int_equal(a.calls + b.calls, 2);
}

LOOP_TEST(requests_of_one_loop_exclude_each_other_in_order)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    struct wait waits[10];
    for (size_t i = 0; i < COUNT_OF(waits); i++)
        WAIT(lw_mutex_lock_async, &mutex, FOR(&waits[i]));
    assert_int_equal(lw_mutex_lock(&mutex), EDEADLK);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        settle(&loop);
        for (size_t j = 0; j < COUNT_OF(waits); j++)
            assert_int_equal(waits[j].calls, j <= i);
        assert_int_equal(lw_mutex_unlock(&mutex), 0);
    }
    assert_false(lw_mutex_is_locked(&mutex));
}

static int hold(struct call *call)
{
    lw_mutex *mutex = call->on;
    lw_mutex_lock(mutex);
    sleep_ms(call->n);
    return lw_mutex_unlock(mutex);
}

LOOP_TEST(a_thread_hands_a_mutex_to_a_loop)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    struct call call = calling(hold, &mutex);
    call.n = 50;
    start_call(&call);
    while (!lw_mutex_is_locked(&mutex))
        sleep_ms(1);
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    settle(&loop);
    assert_int_equal(a.calls, 0);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_true(lw_mutex_is_mine(&mutex));
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(end_call(&call), 0);
}

LOOP_TEST(a_deadline_is_kept_by_the_descriptor)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_mutex_lock(&mutex);
    const int64_t start = now_ns();
    WAIT(lw_mutex_lock_async, &mutex, FOR_MS(&a, 40));
    WAIT(lw_mutex_lock_async, &mutex, FOR_MS(&b, 20));
    WAIT(lw_mutex_lock_async, &mutex, &fresh(&c)->request, &loop, LW_NOW, done, &c);
    assert_int_equal(end_wait(&loop, &c), ETIMEDOUT);
    /* None is early; on a busy machine the next one may be due, too. */
    assert_true(b.calls == 0 || now_ns() - start >= 20 * NS_PER_MS);
    assert_int_equal(end_wait(&loop, &b), ETIMEDOUT);
    assert_true(now_ns() - start >= 20 * NS_PER_MS);
    assert_true(a.calls == 0 || now_ns() - start >= 40 * NS_PER_MS);
    assert_int_equal(end_wait(&loop, &a), ETIMEDOUT);
    assert_true(now_ns() - start >= 40 * NS_PER_MS);
    /* Nothing wakes the loop any more. */
    settle(&loop);
    assert_false(turn(&loop, 50));
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
}

/* Without the system's timer. */
LOOP_TEST(a_deadline_that_has_passed_rings)
{
    lw_event event = LW_EVENT_INIT;
    const lw_deadline deadlines[] = {LW_NOW, -1, INT64_MIN};
    for (size_t i = 0; i < COUNT_OF(deadlines); i++) {
        WAIT(lw_event_wait_async, &event, &fresh(&a)->request, &loop, deadlines[i], done, &a);
        assert_true(loop.armed == LW_FOREVER);
        assert_true(turn(&loop, 0));
        assert_int_equal(a.result, ETIMEDOUT);
        assert_false(turn(&loop, 0));
    }
}

static void turn_in_done(void *epoll)
{
    struct epoll_event event;
    sleep_ms(10);
    assert_int_equal(epoll_wait(*(int *)epoll, &event, 1, 1000), 1);
    assert_int_equal(lw_loop_run(&loop), 0);
    assert_int_equal(epoll_wait(*(int *)epoll, &event, 1, 0), 0);
}

/*
 * A `done` turns the thread's events itself while a deadline passes: the descriptor tells so, is
 * silent then, and tells it again when the run has ended, level- or edge-triggered.
 */
LOOP_TEST(a_deadline_is_told_again_after_a_run_in_done)
{
    for (int by_edges = 0; by_edges < 2; by_edges++) {
        lw_event set = LW_EVENT_INIT, never = LW_EVENT_INIT;
        struct epoll_event event = {.events = EPOLLIN | (by_edges ? EPOLLET : 0)};
        int epoll = epoll_create1(EPOLL_CLOEXEC);
        assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, lw_loop_fd(&loop), &event), 0);
        WAIT(lw_event_wait_async, &never, FOR_MS(&b, 5));
        lw_event_set(&set);
        WAIT(lw_event_wait_async, &set, FOR(&a));
        a.then = turn_in_done;
        a.on = &epoll;
        while (b.calls == 0 && epoll_wait(epoll, &event, 1, 1000) == 1)
            lw_loop_run(&loop);
        assert_int_equal(b.result, ETIMEDOUT);
        close(epoll);
    }
}

TEST(deadlines_come_in_their_order)
{
    enum { COUNT = 500 };
    lw_event event = LW_EVENT_INIT;
    struct wait *waits = calloc(COUNT, sizeof *waits);
    int64_t times[COUNT];
    uint32_t seed = 1;
    open_loop();
    ended = 0;
    /* None is due before all have begun: what begins too late ends before those that are due. */
    const int64_t first = now_ns() + 300 * NS_PER_MS;
    for (int i = 0; i < COUNT; i++) {
        times[i] = first + next_random(&seed) % (50 * NS_PER_MS);
        WAIT(lw_event_wait_async, &event, &fresh(&waits[i])->request, &loop, times[i], done,
             &waits[i]);
    }
    /* Some leave: the others keep their order. */
    for (int i = 0; i < COUNT; i += 3)
        lw_request_cancel(&waits[i].request);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(end_wait(&loop, &waits[i]), i % 3 == 0 ? ECANCELED : ETIMEDOUT);
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < i; j++) {
            if (i % 3 && j % 3)
                assert_true((times[i] < times[j]) == (waits[i].order < waits[j].order));
        }
    }
    assert_int_equal(lw_loop_destroy(&loop), 0);
    free(waits);
}

/* A request that leaves the heap of times leaves nothing of itself there. */
LOOP_TEST(deadlines_leave_in_any_order)
{
    lw_event event = LW_EVENT_INIT;
    struct wait waits[4];
    for (uint32_t order = 0; order < 256; order++) {
        for (int i = 0; i < 4; i++)
            WAIT(lw_event_wait_async, &event, FOR_MS(&waits[i], 10000 + i));
        /* Two bits say which one is next; those that they leave out come last. */
        for (int i = 0; i < 4; i++)
            lw_request_cancel(&waits[order >> 2 * i & 3].request);
        for (int i = 0; i < 4; i++)
            lw_request_cancel(&waits[i].request);
        assert_true(!loop.timers);
        settle(&loop);
    }
}

/* Where a time_t has 32 bits, it holds none of these times. */
LOOP_TEST(a_deadline_in_centuries_wakes_nobody)
{
    lw_event event = LW_EVENT_INIT;
    for (int64_t ms = 1000LL << 33; ms > 1000LL << 31; ms /= 2) {
        WAIT(lw_event_wait_async, &event, &fresh(&a)->request, &loop, (ms + 1000) * NS_PER_MS, done,
             &a);
        settle(&loop);
        assert_false(turn(&loop, 5));
        lw_request_cancel(&a.request);
        assert_int_equal(end_wait(&loop, &a), ECANCELED);
    }
}

LOOP_TEST(whoever_leaves_leaves_alone)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_mutex_lock(&mutex);
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    WAIT(lw_mutex_lock_async, &mutex, FOR(&b));
    WAIT(lw_mutex_lock_async, &mutex, FOR(&c));
    assert_int_equal(lw_request_cancel(&a.request), 0);
    assert_int_equal(end_wait(&loop, &a), ECANCELED);
    assert_int_equal(b.calls, 0);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(end_wait(&loop, &b), 0);
    settle(&loop);
    assert_int_equal(c.calls, 0);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(end_wait(&loop, &c), 0);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
}

/* The loop is busy while the permits come, and until the second one's time is up. */
LOOP_TEST(what_came_in_time_comes_before_a_deadline)
{
    lw_sem sem = LW_SEM_INIT(0);
    WAIT(lw_sem_acquire_async, &sem, 1, FOR(&a));
    /* Until it looks again by itself but seldom. */
    for (const int64_t end = now_ns() + 20 * NS_PER_MS; now_ns() < end;)
        turn(&loop, 1);
    WAIT(lw_sem_acquire_async, &sem, 1, FOR_MS(&b, 1));
    lw_sem_release(&sem, 2);
    sleep_ms(2);
    settle(&loop);
    assert_int_equal(a.result, 0);
    assert_int_equal(b.result, 0);
}

/* The loop is busy while the lock becomes free and the second one's time runs out. */
LOOP_TEST(a_deadline_does_not_overtake)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    lw_sem sem = LW_SEM_INIT(0);
    lw_mutex_lock(&mutex);
    lw_rwlock_wrlock(&rwlock);
    struct wait first[3], second[3];
    WAIT(lw_mutex_lock_async, &mutex, FOR(&first[0]));
    WAIT(lw_rwlock_uplock_async, &rwlock, FOR(&first[1]));
    WAIT(lw_sem_acquire_async, &sem, 1, FOR(&first[2]));
    WAIT(lw_mutex_lock_async, &mutex, FOR_MS(&second[0], 5));
    WAIT(lw_rwlock_uplock_async, &rwlock, FOR_MS(&second[1], 5));
    WAIT(lw_sem_acquire_async, &sem, 1, FOR_MS(&second[2], 5));
    settle(&loop);
    sleep_ms(10);
    lw_mutex_unlock(&mutex);
    lw_rwlock_unlock(&rwlock);
    lw_sem_release(&sem, 1);
    settle(&loop);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(first[i].result, 0);
        assert_int_equal(second[i].result, ETIMEDOUT);
    }
    /* If there is enough for both, the second one also has its own, though its time is up. */
    WAIT(lw_sem_acquire_async, &sem, 1, FOR(&a));
    WAIT(lw_sem_acquire_async, &sem, 1, FOR_MS(&b, 5));
    settle(&loop);
    sleep_ms(10);
    lw_sem_release(&sem, 2);
    settle(&loop);
    assert_int_equal(a.result, 0);
    assert_int_equal(b.result, 0);
    lw_mutex_unlock(&mutex);
    lw_rwlock_unlock(&rwlock);
}

/* Nor does one that is over when the request is made, or cancelled, while the loop has not heard
 * yet that the lock is free. */
LOOP_TEST(what_ends_at_once_does_not_overtake)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    lw_mutex_lock(&mutex);
    lw_rwlock_wrlock(&rwlock);
    struct wait waits[4];
    WAIT(lw_mutex_lock_async, &mutex, FOR(&waits[0]));
    WAIT(lw_rwlock_uplock_async, &rwlock, FOR(&waits[1]));
    WAIT(lw_mutex_lock_async, &mutex, FOR(&waits[2]));
    WAIT(lw_rwlock_uplock_async, &rwlock, FOR(&waits[3]));
    settle(&loop);
    lw_mutex_unlock(&mutex);
    lw_rwlock_unlock(&rwlock);
    lw_request_cancel(&waits[2].request);
    lw_request_cancel(&waits[3].request);
    WAIT(lw_mutex_lock_async, &mutex, &fresh(&a)->request, &loop, LW_NOW, done, &a);
    settle(&loop);
    assert_int_equal(waits[0].result, 0);
    assert_int_equal(waits[1].result, 0);
    assert_int_equal(waits[2].result, ECANCELED);
    assert_int_equal(waits[3].result, ECANCELED);
    assert_int_equal(a.result, ETIMEDOUT);
    lw_mutex_unlock(&mutex);
    lw_rwlock_unlock(&rwlock);
}

static lw_event again = LW_EVENT_AUTO_INIT;

static void wait_again(void *wait)
{
    lw_event_wait_async(&again, &((struct wait *)wait)->request, &loop, LW_FOREVER, done, wait);
    lw_event_set(&again);
}

/* Each wait begins the next one, and notifies it. */
LOOP_TEST(a_deadline_comes_while_notifies_never_end)
{
    lw_event never = LW_EVENT_INIT;
    WAIT(lw_event_wait_async, &again, FOR(&a));
    a.then = wait_again;
    a.on = &a;
    lw_event_set(&again);
    WAIT(lw_event_wait_async, &never, FOR_MS(&b, 5));
    sleep_ms(10);
    for (int runs = 0; runs < 10 && b.calls == 0; runs++)
        turn(&loop, 1000);
    assert_int_equal(b.result, ETIMEDOUT);
    a.then = NULL;
    settle(&loop);
    assert_int_equal(a.result, 0);
}

static int fire(struct call *call)
{
    sleep_ms(20);
    lw_cancel_fire(call->on);
    return 0;
}

LOOP_TEST(a_thread_cancels_by_lw_cancel)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_cancel cancel = LW_CANCEL_INIT;
    lw_waiter waiters[3];
    lw_mutex_lock(&mutex);
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    assert_int_equal(lw_request_cancel_by(&a.request, &waiters[0], &cancel), 0);
    WAIT(lw_mutex_lock_async, &mutex, FOR(&b));
    assert_int_equal(lw_request_cancel_by(&b.request, &waiters[1], &cancel), 0);
    struct call call = calling(fire, &cancel);
    start_call(&call);
    assert_int_equal(end_wait(&loop, &a), ECANCELED);
    assert_int_equal(end_wait(&loop, &b), ECANCELED);
    assert_int_equal(end_call(&call), 0);
    /* What comes later is cancelled at once, unless it need not wait. */
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    assert_int_equal(lw_request_cancel_by(&a.request, &waiters[0], &cancel), 0);
    assert_int_equal(end_wait(&loop, &a), ECANCELED);
    lw_mutex_unlock(&mutex);
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    assert_int_equal(lw_request_cancel_by(&a.request, &waiters[0], &cancel), 0);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
}

/* The agent that reserved it may be gone: the wait is brief, whatever else it waits for. */
LOOP_TEST(a_cancel_does_not_make_a_brief_wait_long)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_cancel cancel = LW_CANCEL_INIT;
    lw_waiter waiter;
    mutex.word[LW_MUTEX_STATE] = LW_MUTEX_RESERVED;
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    assert_int_equal(lw_request_cancel_by(&a.request, &waiter, &cancel), 0);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
}

LOOP_TEST(a_recursive_mutex_belongs_to_one_task)
{
    lw_rmutex rmutex = LW_RMUTEX_INIT;
    WAIT(lw_rmutex_lock_async, &rmutex, FOR(&a));
    WAIT(lw_rmutex_lock_async, &rmutex, FOR(&b));
    settle(&loop);
    assert_int_equal(a.calls + b.calls, 1);
    assert_int_equal(lw_rmutex_relock_task(&rmutex), 0);
    assert_int_equal(lw_rmutex_lock(&rmutex), EDEADLK);
    assert_int_equal(lw_rmutex_unlock(&rmutex), EPERM);
    assert_int_equal(lw_rmutex_unlock_task(&rmutex), 0);
    settle(&loop);
    assert_int_equal(b.calls, 0);
    assert_int_equal(lw_rmutex_unlock_task(&rmutex), 0);
    assert_int_equal(end_wait(&loop, &b), 0);
    assert_int_equal(lw_rmutex_unlock_task(&rmutex), 0);
    assert_int_equal(lw_rmutex_unlock_task(&rmutex), EPERM);
}

LOOP_TEST(a_read_write_lock_in_its_four_ways)
{
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    WAIT(lw_rwlock_rdlock_async, &rwlock, FOR(&a));
    WAIT(lw_rwlock_uplock_async, &rwlock, FOR(&b));
    assert_int_equal(end_wait(&loop, &a) + end_wait(&loop, &b), 0);
    assert_int_equal(lw_rwlock_readers(&rwlock), 1);
    WAIT(lw_rwlock_upgrade_async, &rwlock, FOR(&b));
    settle(&loop);
    assert_int_equal(b.calls, 0);
    lw_rwlock_unread_step(rwlock.word);
    assert_int_equal(end_wait(&loop, &b), 0);
    assert_true(lw_rwlock_is_write_locked(&rwlock));
    WAIT(lw_rwlock_wrlock_async, &rwlock, FOR(&c));
    WAIT(lw_rwlock_rdlock_async, &rwlock, FOR_MS(&a, 10));
    assert_int_equal(end_wait(&loop, &a), ETIMEDOUT);
    assert_int_equal(c.calls, 0);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(end_wait(&loop, &c), 0);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    WAIT(lw_rwlock_upgrade_async, &rwlock, FOR(&b));
    assert_int_equal(end_wait(&loop, &b), EPERM);
}

LOOP_TEST(nobody_overtakes_a_request_for_several_permits)
{
    lw_sem sem = LW_SEM_INIT(1);
    WAIT(lw_sem_acquire_async, &sem, 3, FOR(&a));
    WAIT(lw_sem_acquire_async, &sem, 1, FOR(&b));
    WAIT(lw_sem_acquire_async, &sem, 1, FOR(&c));
    assert_int_equal(lw_sem_acquire_async(&sem, LW_SEM_MAX + 1, FOR(&(struct wait){0})), EINVAL);
    settle(&loop);
    assert_int_equal(a.calls + b.calls + c.calls, 0);
    lw_sem_release(&sem, 3);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(a.value, 1);
    settle(&loop);
    assert_int_equal(b.calls + c.calls, 1);
    lw_sem_release(&sem, 1);
    assert_int_equal(end_wait(&loop, &b) + end_wait(&loop, &c), 0);
    /* One that is cancelled lets the others go on. */
    lw_sem_release(&sem, 1);
    WAIT(lw_sem_acquire_async, &sem, 3, FOR(&a));
    WAIT(lw_sem_acquire_async, &sem, 1, FOR(&b));
    settle(&loop);
    assert_int_equal(b.calls, 0);
    lw_request_cancel(&a.request);
    assert_int_equal(end_wait(&loop, &b), 0);
    assert_int_equal(a.result, ECANCELED);
}

/* A thread has claimed both permits: its steps are run here. */
LOOP_TEST(a_request_for_several_permits_is_told_when_a_claim_ends)
{
    lw_sem sem = LW_SEM_INIT(0);
    const lw_phase claims = lw_answer_phase(lw_sem_acquire_step(sem.word, 2, LW_START, 0));
    WAIT(lw_sem_acquire_async, &sem, 2, FOR(&a));
    settle(&loop);
    lw_sem_release(&sem, 2);
    settle(&loop);
    assert_int_equal(a.calls, 0);
    assert_int_equal(lw_answer_what(lw_sem_acquire_step(sem.word, 2, LW_OK, claims)), LW_DONE);
    assert_int_equal(sem.word[LW_SEM_CLAIM] & LW_SEM_NEED, 0);
    settle(&loop);
    assert_int_equal(sem.word[LW_SEM_CLAIM] & LW_SEM_NEED, 2);
    lw_sem_release(&sem, 2);
    assert_int_equal(end_wait(&loop, &a), 0);
}

LOOP_TEST(a_request_learns_which_permit_it_has)
{
    lw_permits permits = LW_PERMITS_INIT(2);
    WAIT(lw_permits_acquire_async, &permits, FOR(&a));
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(a.value, 0);
    WAIT(lw_permits_acquire_async, &permits, FOR(&b));
    assert_int_equal(end_wait(&loop, &b), 0);
    assert_int_equal(b.value, 1);
    WAIT(lw_permits_acquire_async, &permits, FOR(&a));
    WAIT(lw_permits_acquire_async, &permits, FOR(&b));
    settle(&loop);
    assert_int_equal(a.calls + b.calls, 0);
    lw_request_cancel(&a.request);
    assert_int_equal(end_wait(&loop, &a), ECANCELED);
    assert_int_equal(lw_permits_release(&permits, 1), 0);
    assert_int_equal(end_wait(&loop, &b), 0);
    assert_int_equal(b.value, 1);
    assert_int_equal(lw_permits_available(&permits), 0);
    lw_permits none = {{0}};
    assert_int_equal(lw_permits_acquire_async(&none, FOR(&(struct wait){0})), EINVAL);
}

LOOP_TEST(events_counters_groups_latches)
{
    lw_event manual = LW_EVENT_INIT, automatic = LW_EVENT_AUTO_INIT;
    lw_counter counter = {{0}};
    lw_waitgroup group = {{0}};
    lw_latch latch;
    lw_latch_init(&latch, 2);
    struct wait waits[8];
    WAIT(lw_event_wait_async, &manual, FOR(&waits[0]));
    WAIT(lw_event_wait_async, &automatic, FOR(&waits[1]));
    WAIT(lw_event_wait_async, &automatic, FOR(&waits[2]));
    WAIT(lw_counter_wait_at_least_async, &counter, 2, FOR(&waits[3]));
    WAIT(lw_counter_wait_change_async, &counter, 0, FOR(&waits[4]));
    WAIT(lw_latch_wait_async, &latch, FOR(&waits[5]));
    assert_int_equal(lw_waitgroup_add(&group, 1), 0);
    WAIT(lw_waitgroup_wait_async, &group, FOR(&waits[6]));
    settle(&loop);
    for (int i = 0; i < 7; i++)
        assert_int_equal(waits[i].calls, 0);
    /* A pulse releases all that waited. */
    lw_event_set(&manual);
    lw_event_reset(&manual);
    lw_event_set(&automatic);
    lw_counter_add(&counter, 1, NULL);
    lw_latch_count_down(&latch, 2);
    lw_waitgroup_done(&group);
    settle(&loop);
    assert_int_equal(waits[0].calls + waits[4].calls + waits[5].calls + waits[6].calls, 4);
    assert_int_equal(waits[1].calls + waits[2].calls, 1);
    assert_int_equal(waits[3].calls, 0);
    lw_counter_add(&counter, 6, NULL);
    assert_int_equal(end_wait(&loop, &waits[3]), 0);
    assert_int_equal(waits[3].value, 7);
    WAIT(lw_counter_wait_at_most_async, &counter, 7, FOR(&waits[7]));
    assert_int_equal(end_wait(&loop, &waits[7]), 0);
    lw_event_set(&automatic);
    settle(&loop);
    assert_int_equal(waits[1].calls + waits[2].calls, 2);
}

LOOP_TEST(once_and_barrier)
{
    lw_once once = LW_ONCE_INIT;
    lw_barrier barrier = LW_BARRIER_INIT(3);
    WAIT(lw_once_begin_async, &once, FOR(&a));
    WAIT(lw_once_begin_async, &once, FOR(&b));
    WAIT(lw_once_begin_async, &once, FOR(&c));
    assert_int_equal(end_wait(&loop, &a), LW_ONCE_RUN);
    settle(&loop);
    assert_int_equal(b.calls, 0);
    assert_int_equal(lw_once_finish(&once, false), 0);
    assert_int_equal(end_wait(&loop, &b), LW_ONCE_RUN);
    assert_int_equal(lw_once_finish(&once, true), 0);
    assert_int_equal(end_wait(&loop, &c), 0);

    WAIT(lw_barrier_wait_async, &barrier, FOR(&a));
    WAIT(lw_barrier_wait_async, &barrier, FOR(&b));
    settle(&loop);
    assert_int_equal(a.calls + b.calls, 0);
    WAIT(lw_barrier_wait_async, &barrier, FOR(&c));
    assert_int_equal(end_wait(&loop, &c), LW_BARRIER_LEADER);
    assert_int_equal(end_wait(&loop, &a) + end_wait(&loop, &b), 0);
    /* A party that gives up breaks it, also if it is not the first of its line. */
    WAIT(lw_barrier_wait_async, &barrier, FOR(&a));
    WAIT(lw_barrier_wait_async, &barrier, FOR_MS(&b, 5));
    assert_int_equal(end_wait(&loop, &b), ETIMEDOUT);
    assert_int_equal(end_wait(&loop, &a), EPIPE);
    WAIT(lw_barrier_wait_async, &barrier, FOR(&c));
    assert_int_equal(end_wait(&loop, &c), EPIPE);
}

LOOP_TEST(the_first_of_several)
{
    lw_event event = LW_EVENT_INIT;
    lw_sem sem = LW_SEM_INIT(0);
    lw_counter counter = {{0}};
    lw_permits permits = LW_PERMITS_INIT(1);
    uint32_t permit = UINT32_MAX;
    lw_waiter waiters[3];
    lw_cancel cancel = LW_CANCEL_INIT;
    lw_waiter for_cancel;
    const lw_source sources[] = {lw_source_event(&event), lw_source_sem(&sem, 2),
                                 lw_source_at_least(&counter, 9),
                                 lw_source_permits(&permits, &permit)};
    assert_int_equal(lw_wait_any_async(sources, 0, waiters, FOR(&a)), EINVAL);
    WAIT(lw_wait_any_async, sources, 3, waiters, FOR(&a));
    lw_sem_release(&sem, 1);
    settle(&loop);
    assert_int_equal(a.calls, 0);
    lw_sem_release(&sem, 2);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(a.value, 1);
    assert_int_equal(lw_sem_available(&sem), 1);
    /* If several are ready, the first. */
    lw_sem_release(&sem, 1);
    lw_event_set(&event);
    WAIT(lw_wait_any_async, sources, 3, waiters, FOR(&a));
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(a.value, 0);
    assert_int_equal(lw_sem_available(&sem), 2);
    /* A permit says which it is. */
    assert_int_equal(lw_permits_tryacquire(&permits, NULL), 0);
    WAIT(lw_wait_any_async, &sources[2], 2, waiters, FOR(&a));
    settle(&loop);
    assert_int_equal(a.calls, 0);
    assert_int_equal(lw_permits_release(&permits, 0), 0);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(a.value, 1);
    assert_int_equal(permit, 0);
    assert_int_equal(lw_permits_release(&permits, 0), 0);
    lw_counter_add(&counter, 9, NULL);
    permit = UINT32_MAX;
    WAIT(lw_wait_any_async, &sources[2], 2, waiters, FOR(&a));
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(a.value, 0);
    assert_int_equal(permit, UINT32_MAX);
    assert_int_equal(lw_permits_available(&permits), 1);
    lw_counter_add(&counter, -9, NULL);
    /* By time, and by a cancel. */
    WAIT(lw_wait_any_async, &sources[2], 1, NULL, FOR_MS(&a, 5));
    assert_int_equal(end_wait(&loop, &a), ETIMEDOUT);
    WAIT(lw_wait_any_async, &sources[2], 1, NULL, FOR(&a));
    assert_int_equal(lw_request_cancel_by(&a.request, &for_cancel, &cancel), 0);
    lw_cancel_fire(&cancel);
    assert_int_equal(end_wait(&loop, &a), ECANCELED);
}

static void *acquire_one(void *sem)
{
    assert_int_equal(lw_sem_acquire_until(sem, 1, lw_after_ms(10000)), 0);
    return NULL;
}

static void *acquire_three(void *sem)
{
    assert_int_equal(lw_sem_acquire_until(sem, 3, lw_after_ms(10000)), 0);
    return NULL;
}

/* A busy loop that claimed permits: whether a thread comes later, or is in line when they come. */
LOOP_TEST(a_claim_of_a_busy_loop_gives_way)
{
    lw_sem sem = LW_SEM_INIT(0);
    for (int first = 0; first < 2; first++) {
        pthread_t thread;
        WAIT(lw_sem_acquire_async, &sem, 2, FOR(&a));
        settle(&loop);
        if (first)
            pthread_create(&thread, NULL, acquire_one, &sem);
        while (first && !(lw_load(&sem.word[LW_SEM_CLAIM], lw_relaxed) & LW_SEM_LINE))
            usleep(1000);
        usleep(20000);
        lw_sem_release(&sem, 2);
        if (!first)
            pthread_create(&thread, NULL, acquire_one, &sem);
        pthread_join(thread, NULL);
        assert_int_equal(a.calls, 0);
        lw_sem_release(&sem, 1);
        assert_int_equal(end_wait(&loop, &a), 0);
        assert_int_equal(lw_sem_available(&sem), 0);
    }
}

/* A thread in line took the claim over beside permits that were too few for it. */
LOOP_TEST(a_claim_of_a_busy_loop_stays_while_a_thread_needs_more)
{
    lw_sem sem = LW_SEM_INIT(0);
    pthread_t thread;
    WAIT(lw_sem_acquire_async, &sem, 2, FOR(&a));
    settle(&loop);
    pthread_create(&thread, NULL, acquire_three, &sem);
    while (!(lw_load(&sem.word[LW_SEM_CLAIM], lw_relaxed) & LW_SEM_LINE))
        usleep(1000);
    lw_sem_release(&sem, 2);
    usleep(50000);
    assert_int_equal(end_wait(&loop, &a), 0);
    lw_sem_release(&sem, 3);
    pthread_join(thread, NULL);
    assert_int_equal(lw_sem_available(&sem), 0);
}

/* So many other events come first that the request's time is up before its own is looked at. */
LOOP_TEST(each_of_several_has_a_last_look)
{
    enum { COUNT = 200 };
    static lw_event events[COUNT];
    static struct wait waits[COUNT];
    lw_event never = LW_EVENT_INIT, comes = LW_EVENT_INIT;
    const lw_source sources[] = {lw_source_event(&never), lw_source_event(&comes)};
    lw_waiter waiters[1];
    for (int i = 0; i < COUNT; i++)
        WAIT(lw_event_wait_async, &events[i], FOR(&waits[i]));
    WAIT(lw_wait_any_async, sources, 2, waiters, FOR_MS(&a, 1));
    for (int i = 0; i < COUNT; i++)
        lw_event_set(&events[i]);
    lw_event_set(&comes);
    sleep_ms(2);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(a.value, 1);
    settle(&loop);
    assert_int_equal(waits[COUNT - 1].result, 0);
}

/* The semaphore is claimed by then, and would stay so for ever. */
TEST(what_did_not_come_is_not_claimed_any_more)
{
    lw_sem sem = LW_SEM_INIT(1);
    lw_waiter waiters[1];
    const int results[] = {0, ETIMEDOUT, ECANCELED, ECANCELED};
    for (int i = 0; i < 4; i++) {
        lw_event event = LW_EVENT_INIT;
        const lw_source sources[] = {lw_source_event(&event), lw_source_sem(&sem, 3)};
        open_loop();
        const lw_deadline deadline = i == 1 ? lw_after_ms(20) : LW_FOREVER;
        WAIT(lw_wait_any_async, sources, 2, waiters, &fresh(&a)->request, &loop, deadline, done,
             &a);
        settle(&loop);
        assert_int_equal(lw_sem_acquire_until(&sem, 1, LW_NOW), ETIMEDOUT);
        if (i == 0)
            lw_event_set(&event);
        if (i == 2)
            lw_request_cancel(&a.request);
        if (i == 3)
            assert_int_equal(lw_loop_destroy(&loop), 0);
        else
            assert_int_equal(end_wait(&loop, &a), results[i]);
        assert_int_equal(a.result, results[i]);
        assert_int_equal(lw_sem_acquire_until(&sem, 1, LW_NOW), 0);
        lw_sem_release(&sem, 1);
        if (i < 3)
            assert_int_equal(lw_loop_destroy(&loop), 0);
    }
}

static lw_mutex guard = LW_MUTEX_INIT;
static lw_cond cond = LW_COND_INIT;

LOOP_TEST(a_condition_takes_its_mutex_again)
{
    assert_int_equal(lw_cond_wait_async(&cond, &guard, FOR(&a)), EPERM);
    struct wait *waits[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        lw_mutex_lock(&guard);
        WAIT(lw_cond_wait_async, &cond, &guard, FOR(waits[i]));
        assert_false(lw_mutex_is_locked(&guard));
    }
    settle(&loop);
    lw_mutex_lock(&guard);
    assert_int_equal(lw_cond_notify_one(&cond), 1);
    settle(&loop);
    assert_int_equal(a.calls, 0);
    lw_mutex_unlock(&guard);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(a.value, 1);
    assert_true(lw_mutex_is_mine(&guard));
    lw_mutex_unlock(&guard);
    settle(&loop);
    assert_int_equal(b.calls + c.calls, 0);
    assert_int_equal(lw_cond_notify_all(&cond), 1);
    assert_int_equal(end_wait(&loop, &b), 0);
    settle(&loop);
    assert_int_equal(c.calls, 0);
    lw_mutex_unlock(&guard);
    assert_int_equal(end_wait(&loop, &c), 0);
    /* By time and by a cancel, it also has the mutex. */
    WAIT(lw_cond_wait_async, &cond, &guard, FOR_MS(&a, 5));
    assert_int_equal(end_wait(&loop, &a), ETIMEDOUT);
    assert_true(lw_mutex_is_mine(&guard));
    WAIT(lw_cond_wait_async, &cond, &guard, FOR(&a));
    assert_int_equal(lw_request_cancel(&a.request), 0);
    assert_int_equal(end_wait(&loop, &a), ECANCELED);
    assert_int_equal(lw_mutex_unlock(&guard), 0);
}

/* Not only when it looks again: the unlock itself makes the descriptor readable. */
LOOP_TEST(a_condition_hears_that_its_mutex_is_free)
{
    for (int i = 0; i < 10; i++) {
        lw_mutex_lock(&guard);
        WAIT(lw_cond_wait_async, &cond, &guard, FOR(&a));
        lw_mutex_lock(&guard);
        lw_cond_notify_one(&cond);
        turn(&loop, 0);
        lw_mutex_unlock(&guard);
        assert_true(turn(&loop, 0));
        assert_int_equal(a.calls, 1);
        assert_int_equal(a.result, 0);
        lw_mutex_unlock(&guard);
    }
}

LOOP_TEST(a_condition_gives_up_a_recursive_mutex_entirely)
{
    lw_rmutex rmutex = LW_RMUTEX_INIT;
    lw_cond here = LW_COND_INIT;
    WAIT(lw_rmutex_lock_async, &rmutex, FOR(&a));
    assert_int_equal(end_wait(&loop, &a), 0);
    lw_rmutex_relock_task(&rmutex);
    WAIT(lw_cond_wait_recursive_async, &here, &rmutex, FOR(&a));
    assert_false(lw_rmutex_is_locked(&rmutex));
    lw_cond_notify_one(&here);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(lw_rmutex_hold_count(&rmutex), 2);
    assert_int_equal(lw_rmutex_unlock_task(&rmutex), 0);
    assert_int_equal(lw_rmutex_unlock_task(&rmutex), 0);
}

static int wait_for_notify(struct call *call)
{
    lw_mutex_lock(&guard);
    const int error = lw_cond_wait_until(&cond, &guard, call->deadline);
    lw_mutex_unlock(&guard);
    return error;
}

static void unlock(void *mutex)
{
    lw_mutex_unlock(mutex);
}

/* Whichever kind came first: a notify of one may wake one of each kind, but never none. */
LOOP_TEST(a_condition_wakes_threads_and_loops)
{
    struct call call = calling(wait_for_notify, NULL);
    start_sleeper(&call);
    lw_mutex_lock(&guard);
    WAIT(lw_cond_wait_async, &cond, &guard, FOR(&a));
    a.then = unlock;
    a.on = &guard;
    for (int i = 0; i < 2; i++) {
        lw_mutex_lock(&guard);
        lw_mutex_unlock(&guard);
        lw_cond_notify_one(&cond);
    }
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(end_call(&call), 0);
}

/*
 * An earlier notify moved the sequence before `a` began to wait, and wakes only now. While the loop
 * has yet to run, `b` becomes the head of the line.
 */
LOOP_TEST(a_notify_that_wakes_late_meets_two_waiters_of_a_condition)
{
    lw_mutex_lock(&guard);
    WAIT(lw_cond_wait_async, &cond, &guard, FOR(&a));
    lw_notify_both(&cond.word[LW_COND_SEQUENCE], 1);
    lw_mutex_lock(&guard);
    WAIT(lw_cond_wait_async, &cond, &guard, FOR(&b));
    settle(&loop);
    assert_int_equal(a.calls + b.calls, 0);
    a.then = b.then = unlock;
    a.on = b.on = &guard;
    for (int i = 1; i <= 2; i++) {
        lw_cond_notify_one(&cond);
        settle(&loop);
        assert_int_equal(a.calls + b.calls, i);
    }
}

/* The end of loops. */

static void release(void *sem)
{
    lw_sem_release(sem, 1);
}

TEST(destroy_ends_all_requests)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_sem sem = LW_SEM_INIT(1);
    lw_cond here = LW_COND_INIT;
    struct wait waits[4];
    lw_mutex_lock(&mutex);
    open_loop();
    WAIT(lw_cond_wait_async, &here, &mutex, FOR(&waits[3]));
    lw_mutex_lock(&mutex);
    WAIT(lw_mutex_lock_async, &mutex, FOR_MS(&waits[0], 1000));
    WAIT(lw_mutex_lock_async, &mutex, FOR(&waits[1]));
    WAIT(lw_sem_acquire_async, &sem, 1, FOR(&waits[2]));
    waits[2].then = release;
    waits[2].on = &sem;
    assert_int_equal(lw_loop_destroy(&loop), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(waits[i].calls, 1);
        assert_int_equal(waits[i].result, i == 2 ? 0 : ECANCELED);
    }
    assert_int_equal(lw_sem_available(&sem), 1);
    /* Nothing is written later. */
    memset(&loop, 0x55, sizeof loop);
    memset(waits, 0x55, sizeof waits);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_sem_release(&sem, 1), 0);
    lw_cond_notify_all(&here);
    for (size_t i = 0; i < sizeof loop; i++)
        assert_int_equal(((unsigned char *)&loop)[i], 0x55);
}

/* Two loops wait for a notify of one. The one that has got it ends, and the other one gets it. */
static void destroy_the_notified(bool relocks)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_cond here = LW_COND_INIT;
    lw_loop other;
    open_loop();
    assert_int_equal(lw_loop_init(&other), 0);
    lw_mutex_lock(&mutex);
    WAIT(lw_cond_wait_async, &here, &mutex, FOR(&a));
    lw_mutex_lock(&mutex);
    WAIT(lw_cond_wait_async, &here, &mutex, &fresh(&b)->request, &other, LW_FOREVER, done, &b);
    lw_mutex_lock(&mutex);
    assert_int_equal(lw_cond_notify_one(&here), 1);
    if (relocks)
        settle(&loop);
    assert_int_equal(lw_loop_destroy(&loop), 0);
    assert_int_equal(a.result, ECANCELED);
    lw_mutex_unlock(&mutex);
    assert_int_equal(end_wait(&other, &b), 0);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_loop_destroy(&other), 0);
}

TEST(a_loop_that_ends_takes_no_notify_with_it)
{
    destroy_the_notified(false);
    destroy_the_notified(true);
}

/* A wait that was cancelled has its mutex again by then; or not, if the thread holds it. */
TEST(a_loop_that_ends_tells_whether_a_condition_has_its_mutex)
{
    for (int has = 0; has < 2; has++) {
        lw_mutex mutex = LW_MUTEX_INIT;
        lw_cond here = LW_COND_INIT;
        open_loop();
        lw_mutex_lock(&mutex);
        WAIT(lw_cond_wait_async, &here, &mutex, FOR(&a));
        if (!has)
            lw_mutex_lock(&mutex);
        lw_request_cancel(&a.request);
        assert_int_equal(lw_loop_destroy(&loop), 0);
        assert_int_equal(a.result, ECANCELED);
        assert_int_equal(a.value, has);
        assert_int_equal(lw_mutex_unlock(&mutex), 0);
    }
}

static void destroy_and_ask(void *mutex)
{
    assert_int_equal(lw_loop_destroy(&loop), EBUSY);
    assert_int_equal(lw_loop_run(&loop), 0);
    lw_mutex_unlock(mutex);
    WAIT(lw_mutex_lock_async, mutex, FOR(&b));
}

LOOP_TEST(done_may_do_anything_but_destroy)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    a.then = destroy_and_ask;
    a.on = &mutex;
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(end_wait(&loop, &b), 0);
    lw_mutex_unlock(&mutex);
}

/* A request in memory of its own, which its `done` frees. */

struct chain {
    lw_request request;
    lw_mutex *mutex;
    int links; /* how many more it makes */
};

static struct wait neighbour;

static void go_on(lw_request *request, int result, void *context)
{
    struct chain *chain = context;
    lw_mutex *mutex = chain->mutex;
    const int links = chain->links;
    assert_true(request == &chain->request);
    assert_int_equal(result, 0);
    memset(chain, 0x55, sizeof *chain);
    free(chain);
    assert_int_equal(lw_request_cancel(&neighbour.request), 0);
    assert_int_equal(neighbour.calls, links == 0);
    if (links > 0) {
        chain = malloc(sizeof *chain);
        chain->mutex = mutex;
        chain->links = links - 1;
        WAIT(lw_mutex_lock_async, mutex, &chain->request, &loop, LW_FOREVER, go_on, chain);
    }
    lw_mutex_unlock(mutex);
}

LOOP_TEST(done_frees_its_request_begins_another_and_cancels_its_neighbour)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    struct chain *chain = malloc(sizeof *chain);
    *chain = (struct chain){.mutex = &mutex, .links = 1};
    WAIT(lw_mutex_lock_async, &mutex, &chain->request, &loop, LW_FOREVER, go_on, chain);
    WAIT(lw_mutex_lock_async, &mutex, FOR(&neighbour));
    settle(&loop);
    assert_int_equal(neighbour.calls, 1);
    assert_int_equal(neighbour.result, ECANCELED);
    assert_false(lw_mutex_is_locked(&mutex));
}

static int misuse(struct call *call)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_cancel cancel = LW_CANCEL_INIT;
    lw_waiter waiter;
    (void)call;
    return lw_loop_destroy(&loop) == EPERM && lw_loop_run(&loop) == 0 &&
           lw_request_cancel(&a.request) == EPERM &&
           lw_request_cancel_by(&a.request, &waiter, &cancel) == EPERM &&
           lw_mutex_lock_async(&mutex, FOR(&b)) == EPERM;
}

LOOP_TEST(other_threads_are_refused)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_mutex_lock(&mutex);
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    assert_int_equal(by_another(misuse, NULL), 1);
    assert_int_equal(lw_request_cancel(&a.request), 0);
    assert_int_equal(end_wait(&loop, &a), ECANCELED);
}

static int leave_loops(struct call *call)
{
    static lw_loop first;
    lw_mutex other = LW_MUTEX_INIT;
    lw_loop_init(&loop);
    lw_loop_init(&first);
    lw_mutex_lock_async(call->on, FOR(&a));
    lw_mutex_lock_async(&other, &fresh(&b)->request, &first, LW_FOREVER, done, &b);
    lw_mutex_lock_async(call->on, &fresh(&c)->request, &first, LW_FOREVER, done, &c);
    while (b.calls == 0)
        lw_loop_run(&first);
    return lw_loop_destroy(&loop);
}

/* What a thread leaves: a loop whose end destroys the other loop, and opens files. */
struct two_left {
    lw_loop first;
    lw_loop last;
    lw_event never;
    lw_request request;
    int files[3];
};

static void destroy_first(lw_request *request, int result, void *context)
{
    struct two_left *left = context;
    (void)request;
    lw_loop_destroy(&left->first);
    for (int i = 0; i < 3; i++)
        left->files[i] = result == ECANCELED ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
}

static void leave_two(void *argument)
{
    struct two_left *left = argument;
    if (lw_loop_init(&left->first) == 0 && lw_loop_init(&left->last) == 0)
        lw_event_wait_async(&left->never, &left->request, &left->last, LW_FOREVER, destroy_first,
                            left);
}

TEST(one_loop_of_a_thread_that_ends_destroys_another)
{
    struct two_left left = {.never = LW_EVENT_INIT};
    struct helper helper;
    start(&helper, leave_two, &left);
    join(&helper);
    for (int i = 0; i < 3; i++)
        assert_int_equal(close(left.files[i]), 0);
}

TEST(a_thread_that_ends_destroys_its_loops)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_mutex_lock(&mutex);
    assert_int_equal(by_another(leave_loops, &mutex), 0);
    assert_int_equal(a.result, ECANCELED);
    assert_int_equal(c.result, ECANCELED);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_false(lw_mutex_is_locked(&mutex));
}

static void exit_thread(lw_request *request, int result, void *context)
{
    (void)request;
    (void)result;
    (void)context;
    pthread_exit(NULL);
}

static void *leave_in_done(void *never)
{
    static lw_event set;
    lw_loop_init(&loop);
    lw_event_wait_async(never, FOR(&a));
    lw_event_set(&set);
    lw_event_wait_async(&set, &fresh(&b)->request, &loop, LW_FOREVER, exit_thread, NULL);
    lw_loop_run(&loop);
    return never;
}

TEST(a_thread_that_ends_in_done_destroys_its_loop)
{
    lw_event never = LW_EVENT_INIT;
    pthread_t thread;
    void *returned;
    assert_int_equal(pthread_create(&thread, NULL, leave_in_done, &never), 0);
    assert_int_equal(pthread_join(thread, &returned), 0);
    assert_true(!returned);
    assert_int_equal(a.result, ECANCELED);
}

/* The descriptors of a loop. */

static int open_descriptors(void)
{
    int open = 0;
    for (int fd = 0; fd < 256; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    return open;
}

TEST(a_loop_that_gets_no_descriptor_leaves_none)
{
    const int open = open_descriptors();
    struct rlimit before;
    int error = EMFILE, errno_after;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    /* First it gets none, then one, and so on. */
    for (rlim_t limit = 0; error == EMFILE; limit++) {
        assert_int_equal(open_descriptors(), open);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit, before.rlim_max}), 0);
        errno = LEFT_ERRNO;
        error = lw_loop_init(&loop);
        errno_after = errno;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(errno_after, LEFT_ERRNO);
    }
    assert_int_equal(error, 0);
    assert_int_equal(open_descriptors(), open + 3);
    errno = LEFT_ERRNO;
    lw_loop_run(&loop);
    assert_int_equal(errno, LEFT_ERRNO);
    assert_int_equal(lw_loop_destroy(&loop), 0);
    assert_int_equal(open_descriptors(), open);
}

TEST(a_forked_child_has_no_loops)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_cond here = LW_COND_INIT;
    lw_mutex_lock(&mutex);
    open_loop();
    WAIT(lw_cond_wait_async, &here, &mutex, FOR(&b));
    lw_mutex_lock(&mutex);
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    const pid_t child = fork();
    if (child == 0) {
        const bool refused = lw_loop_run(&loop) == 0 && lw_request_cancel(&a.request) == EPERM &&
                             lw_mutex_lock_async(&mutex, FOR(&c)) == EPERM;
        /* It notifies nobody, and has loops of its own. */
        lw_mutex_unlock_step(mutex.word, (uint32_t)getppid());
        lw_cond_notify_all(&here);
        lw_loop own;
        lw_mutex fresh_mutex = LW_MUTEX_INIT;
        const bool works =
            lw_loop_init(&own) == 0 &&
            lw_mutex_lock_async(&fresh_mutex, &c.request, &own, LW_FOREVER, done, &c) == 0 &&
            turn(&own, 1000) && lw_mutex_is_mine(&fresh_mutex) && lw_loop_destroy(&own) == 0;
        const bool closed = lw_loop_destroy(&loop) == 0;
        _exit(refused && works && closed && a.calls + b.calls == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* The parent's is untouched. */
    settle(&loop);
    assert_int_equal(a.calls, 0);
    lw_mutex_unlock(&mutex);
    assert_int_equal(end_wait(&loop, &a), 0);
    lw_cond_notify_one(&here);
    lw_mutex_unlock(&mutex);
    assert_int_equal(end_wait(&loop, &b), 0);
    lw_mutex_unlock(&mutex);
    assert_int_equal(lw_loop_destroy(&loop), 0);
}

static pthread_key_t last_key;

/* Ends the process after all other destructors of its thread: in the second round of them. */
static void end_process(void *round)
{
    if (round == &last_key)
        _exit(0);
    pthread_setspecific(last_key, &last_key);
}

TEST(a_forked_child_uses_the_memory_of_its_parents_loops_again)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    open_loop();
    const pid_t child = fork();
    if (child == 0) {
        alarm(10);
        const bool works = lw_loop_init(&loop) == 0 && lw_mutex_lock_async(&mutex, FOR(&a)) == 0 &&
                           end_wait(&loop, &a) == 0 && lw_loop_destroy(&loop) == 0;
        if (!works || pthread_key_create(&last_key, end_process) != 0 ||
            pthread_setspecific(last_key, &loop) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lw_loop_destroy(&loop), 0);
}

static int reused[3];

/* After the destructors of its thread: whether these descriptors are still open. */
static void check_reused(void *round)
{
    bool are_open = true;
    for (int i = 0; i < 3; i++)
        are_open &= fcntl(reused[i], F_GETFD) >= 0;
    if (round == &last_key)
        _exit(are_open ? 0 : 1);
    pthread_setspecific(last_key, &last_key);
}

/* It has used their memory, and the numbers of their descriptors, for something else. */
TEST(a_forked_child_whose_thread_ends_touches_no_loop_of_its_parent)
{
    open_loop();
    const pid_t child = fork();
    if (child == 0) {
        alarm(10);
        for (int i = 0; i < 3; i++) {
            reused[i] = loop.fds[i];
            if (dup2(STDERR_FILENO, reused[i]) < 0)
                _exit(2);
        }
        memset(&loop, 0xff, sizeof loop);
        if (pthread_key_create(&last_key, check_reused) != 0 ||
            pthread_setspecific(last_key, &loop) != 0)
            _exit(3);
        pthread_exit(NULL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lw_loop_destroy(&loop), 0);
}

/* The child goes on in a `done` of its parent's loop: all that it does then is to return. */

static pid_t forked;

static void fork_here(void *mutex)
{
    lw_mutex_unlock(mutex);
    forked = fork();
    /* As if another thread had been about to ring the loop, and had its lock. */
    if (forked == 0) {
        loop.ringers = 1;
        lw_mutex_lock(&loop.lock);
    }
}

static void check_fork(int (*run)(lw_loop *), int result)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_event event = LW_EVENT_INIT;
    open_loop();
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    WAIT(lw_mutex_lock_async, &mutex, FOR(&b));
    WAIT(lw_event_wait_async, &event, FOR_MS(&c, 30));
    a.then = fork_here;
    a.on = &mutex;
    b.then = unlock;
    b.on = &mutex;
    assert_int_equal(run(&loop), result);
    if (forked == 0)
        _exit(b.calls + c.calls == 0 ? 0 : 1);
    int status;
    assert_int_equal(waitpid(forked, &status, 0), forked);
    assert_int_equal(status, 0);
}

static int run_and_destroy(lw_loop *own)
{
    turn(own, 1000);
    if (forked == 0)
        return lw_loop_destroy(own);
    /* The child has left the descriptors as they were. */
    end_wait(own, &b);
    return end_wait(own, &c) == ETIMEDOUT ? lw_loop_destroy(own) : ETIMEDOUT;
}

TEST(a_fork_in_done)
{
    check_fork(run_and_destroy, 0);
    assert_int_equal(b.result, 0);
}

TEST(a_fork_in_done_while_the_loop_is_destroyed)
{
    check_fork(lw_loop_destroy, 0);
    assert_int_equal(b.calls + c.calls, 2);
}

TEST(a_run_leaves_time_for_others)
{
    lw_event event = LW_EVENT_INIT;
    struct wait *waits = calloc(MANY, sizeof *waits);
    open_loop();
    for (int i = 0; i < MANY; i++)
        WAIT(lw_event_wait_async, &event, FOR(&waits[i]));
    lw_event_set(&event);
    uint32_t most = 0, all = 0;
    struct pollfd poll_fd = {.fd = lw_loop_fd(&loop), .events = POLLIN};
    while (poll(&poll_fd, 1, 0) == 1) {
        const uint32_t called = lw_loop_run(&loop);
        all += called;
        most = called > most ? called : most;
    }
    assert_int_equal(all, MANY);
    assert_true(most < 1000);
    assert_int_equal(lw_loop_destroy(&loop), 0);
    free(waits);
}

/* Threads and loops together. */

static lw_mutex shared = LW_MUTEX_INIT;
static long count;
static long rounds_each = 20000;

static int add_blocking(struct call *call)
{
    for (long i = 0; i < rounds_each; i++) {
        if (lw_mutex_lock_until(&shared, call->n % 2 ? lw_after_ns(20000) : LW_FOREVER) != 0)
            continue;
        count++;
        __atomic_fetch_add((long *)call->on, 1, __ATOMIC_RELAXED);
        lw_mutex_unlock(&shared);
    }
    return 0;
}

/* A loop whose tasks add, each again and again; some give up. */
struct adder {
    lw_loop loop;
    struct task {
        lw_request request;
        struct adder *adder;
        bool hurries;
    } tasks[8];
    long left;
    long added;
    int running;
};

static void ask(struct task *task);

static void have(lw_request *request, int result, void *context)
{
    struct task *task = context;
    (void)request;
    if (result == 0) {
        count++;
        task->adder->added++;
        lw_mutex_unlock(&shared);
    }
    ask(task);
}

static void ask(struct task *task)
{
    struct adder *adder = task->adder;
    if (adder->left-- <= 0) {
        adder->running--;
        return;
    }
    lw_mutex_lock_async(&shared, &task->request, &adder->loop,
                        task->hurries ? lw_after_ns(30000) : LW_FOREVER, have, task);
    if (task->hurries && adder->left % 7 == 0)
        lw_request_cancel(&task->request);
}

static int add_async(struct call *call)
{
    struct adder adder = {.left = rounds_each, .running = 8};
    if (lw_loop_init(&adder.loop) != 0)
        return 1;
    for (int i = 0; i < 8; i++) {
        adder.tasks[i] = (struct task){.adder = &adder, .hurries = i % 2};
        ask(&adder.tasks[i]);
    }
    while (adder.running > 0 && turn(&adder.loop, 10000))
        continue;
    __atomic_fetch_add((long *)call->on, adder.added, __ATOMIC_RELAXED);
    return adder.running + lw_loop_destroy(&adder.loop);
}

TEST(threads_and_loops_share_a_mutex)
{
    long expected = 0;
    struct call threads[3], loops[3];
    count = 0;
    start_calls(threads, COUNT_OF(threads), calling(add_blocking, &expected));
    start_calls(loops, COUNT_OF(loops), calling(add_async, &expected));
    end_calls(threads, COUNT_OF(threads));
    end_calls(loops, COUNT_OF(loops));
    assert_int_equal(count, expected);
    assert_false(lw_mutex_is_locked(&shared));
}

/* A hundred loops, each in a thread of its own, that ends while its loop has requests. */

enum { CROWD = 100 };

static void unlock_quietly(lw_request *request, int result, void *context)
{
    done_quietly(request, result, context);
    if (result == 0)
        lw_mutex_unlock(&shared);
}

static int add_and_leave(struct call *call)
{
    static __thread lw_loop own;
    static __thread struct wait waits[4];
    struct wait *mine = waits;
    (void)call;
    if (lw_loop_init(&own) != 0)
        return 1;
    for (int round = 0; round < 20; round++) {
        if (lw_mutex_lock_async(&shared, &fresh(mine)->request, &own, LW_FOREVER, done_quietly,
                                mine) != 0)
            return 2;
        while (mine->calls == 0 && turn(&own, 10000))
            continue;
        if (mine->result != 0)
            return 3;
        count++;
        lw_mutex_unlock(&shared);
    }
    for (int i = 1; i < 4; i++)
        lw_mutex_lock_async(&shared, &fresh(&mine[i])->request, &own, LW_FOREVER, unlock_quietly,
                            &mine[i]);
    return 0;
}

TEST(a_hundred_loops_in_a_hundred_threads)
{
    struct call calls[CROWD];
    count = 0;
    start_calls(calls, CROWD, calling(add_and_leave, NULL));
    end_calls(calls, CROWD);
    assert_int_equal(count, 20 * CROWD);
    assert_false(lw_mutex_is_locked(&shared));
}

/* Loops and threads pass permits round: none is lost, and all of them end. */

static lw_sem ring_sem = LW_SEM_INIT(2);

static void pass_on(lw_request *request, int result, void *context)
{
    long *left = context;
    (void)request;
    if (result == 0)
        lw_sem_release(&ring_sem, 1);
    --*left;
}

static int pass_async(struct call *call)
{
    lw_loop own;
    lw_request requests[4];
    (void)call;
    if (lw_loop_init(&own) != 0)
        return 1;
    for (int i = 0; i < 2000; i++) {
        long left = 4;
        for (int j = 0; j < 4; j++)
            lw_sem_acquire_async(&ring_sem, 1, &requests[j], &own,
                                 j == 3 ? lw_after_ns(10000) : LW_FOREVER, pass_on, &left);
        while (left > 0 && turn(&own, 10000))
            continue;
        if (left > 0)
            return 2;
    }
    return lw_loop_destroy(&own);
}

static int pass_blocking(struct call *call)
{
    (void)call;
    for (int i = 0; i < 10000; i++) {
        lw_sem_acquire(&ring_sem, 1);
        lw_sem_release(&ring_sem, 1);
    }
    return 0;
}

TEST(threads_and_loops_share_permits)
{
    struct call threads[2], loops[2];
    start_calls(threads, 2, calling(pass_blocking, NULL));
    start_calls(loops, 2, calling(pass_async, NULL));
    end_calls(threads, 2);
    end_calls(loops, 2);
    assert_int_equal(lw_sem_available(&ring_sem), 2);
}

/* Loops begin and end while threads notify them. */

static lw_mutex flickering = LW_MUTEX_INIT;
static bool stop;

static int relock(struct call *call)
{
    (void)call;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        lw_mutex_lock(&flickering);
        lw_mutex_unlock(&flickering);
    }
    return 0;
}

static void unlock_if_had(lw_request *request, int result, void *context)
{
    (void)request;
    ++*(int *)context;
    if (result == 0)
        lw_mutex_unlock(&flickering);
}

TEST(a_loop_ends_while_it_is_notified)
{
    struct call threads[2];
    stop = false;
    start_calls(threads, 2, calling(relock, NULL));
    for (int i = 0; i < 500; i++) {
        lw_loop *own = malloc(sizeof *own);
        lw_request *requests = malloc(3 * sizeof *requests);
        int calls = 0;
        assert_int_equal(lw_loop_init(own), 0);
        for (int j = 0; j < 3; j++)
            assert_int_equal(lw_mutex_lock_async(&flickering, &requests[j], own, LW_FOREVER,
                                                 unlock_if_had, &calls),
                             0);
        if (i % 2)
            turn(own, 1);
        assert_int_equal(lw_loop_destroy(own), 0);
        assert_int_equal(calls, 3);
        free(requests);
        free(own);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    end_calls(threads, 2);
    assert_false(lw_mutex_is_locked(&flickering));
}

/* No call is a cancellation point: a loop would wait for a thread that ended as it rang. */

static bool was_asked;

static int unlock_as_cancelled(struct call *call)
{
    lw_mutex_lock(call->on);
    while (!__atomic_load_n(&was_asked, __ATOMIC_ACQUIRE))
        continue;
    pthread_cancel(pthread_self());
    const int error = lw_mutex_unlock(call->on);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return error;
}

LOOP_TEST(a_thread_that_is_cancelled_rings)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    struct call call = calling(unlock_as_cancelled, &mutex);
    was_asked = false;
    start_call(&call);
    while (!lw_mutex_is_locked(&mutex))
        continue;
    WAIT(lw_mutex_lock_async, &mutex, FOR(&a));
    settle(&loop);
    __atomic_store_n(&was_asked, true, __ATOMIC_RELEASE);
    assert_int_equal(end_wait(&loop, &a), 0);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
}

static int destroy_as_cancelled(struct call *call)
{
    lw_loop own;
    int state;
    (void)call;
    if (lw_loop_init(&own) != 0)
        return PENDING;
    pthread_cancel(pthread_self());
    lw_loop_run(&own);
    const int error = lw_loop_destroy(&own);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state == PTHREAD_CANCEL_ENABLE ? error : PENDING;
}

TEST(a_thread_that_is_cancelled_destroys_its_loop)
{
    assert_int_equal(by_another(destroy_as_cancelled, NULL), 0);
}

/* The mutex's memory is freed by its last holder: a notify touches nothing of it. */

static int lock_and_free(struct call *call)
{
    lw_mutex *mutex = call->on;
    lw_mutex_lock(mutex);
    sleep_ms(1);
    lw_mutex_unlock(mutex);
    return 0;
}

LOOP_TEST(the_memory_may_be_freed_by_the_last_holder)
{
    for (int i = 0; i < 20; i++) {
        lw_mutex *mutex = allocate_page();
        struct call call = calling(lock_and_free, mutex);
        start_call(&call);
        while (!lw_mutex_is_locked(mutex) && !has_ended(&call))
            continue;
        WAIT(lw_mutex_lock_async, mutex, FOR(&a));
        assert_int_equal(end_wait(&loop, &a), 0);
        lw_mutex_unlock(mutex);
        free_page(mutex);
        assert_int_equal(end_call(&call), 0);
    }
}

/* How many wait does not matter. */

static lw_mutex crowded = LW_MUTEX_INIT;

static void unlock_crowded(lw_request *request, int result, void *context)
{
    (void)request;
    assert_int_equal(result, 0);
    assert_int_equal(*(int *)context, count);
    count++;
    lw_mutex_unlock(&crowded);
}

TEST(a_hundred_thousand_wait_for_one_mutex)
{
    lw_request *requests = calloc(MANY, sizeof *requests);
    int *numbers = calloc(MANY, sizeof *numbers);
    open_loop();
    lw_mutex_lock(&crowded);
    count = 0;
    for (int i = 0; i < MANY; i++) {
        numbers[i] = i;
        WAIT(lw_mutex_lock_async, &crowded, &requests[i], &loop, LW_FOREVER, unlock_crowded,
             &numbers[i]);
    }
    settle(&loop);
    assert_int_equal(count, 0);
    lw_mutex_unlock(&crowded);
    settle(&loop);
    assert_int_equal(count, MANY);
    assert_int_equal(lw_loop_destroy(&loop), 0);
    free(numbers);
    free(requests);
}

TEST(a_hundred_thousand_wait_for_values_of_a_counter)
{
    struct wait *waits = calloc(MANY, sizeof *waits);
    lw_counter counter = LW_COUNTER_INIT(0);
    open_loop();
    for (uint32_t i = 0; i < MANY; i++)
        WAIT(lw_counter_wait_at_least_async, &counter, i + 1, FOR(&waits[i]));
    ended = 0;
    for (int i = 1; i <= 1000; i++) {
        lw_counter_add(&counter, 1, NULL);
        settle(&loop);
        assert_int_equal(ended, i);
    }
    lw_counter_add(&counter, MANY, NULL);
    settle(&loop);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(waits[i].order, i);
    assert_int_equal(lw_loop_destroy(&loop), 0);
    free(waits);
}

/* Each ends at the first of the loop's turns at which the counter is what it waits for. */
LOOP_TEST(requests_for_values_of_a_counter_end_in_time)
{
    enum { COUNT = 300, MOST = 60 };
    static struct wait waits[COUNT];
    lw_counter counter = LW_COUNTER_INIT(MOST / 2);
    uint32_t limits[COUNT], seed = 1;
    for (uint32_t i = 0; i < COUNT; i++) {
        limits[i] = next_random(&seed) % MOST;
        if (i % 2)
            WAIT(lw_counter_wait_at_most_async, &counter, limits[i], FOR(&waits[i]));
        else
            WAIT(lw_counter_wait_at_least_async, &counter, limits[i], FOR(&waits[i]));
    }
    for (int round = 0; round < 100; round++) {
        const uint32_t value = next_random(&seed) % MOST;
        lw_counter_add(&counter, (int32_t)(value - lw_counter_get(&counter)), NULL);
        struct wait *leaves = &waits[next_random(&seed) % COUNT];
        lw_request_cancel(&leaves->request);
        settle(&loop);
        for (uint32_t i = 0; i < COUNT; i++) {
            if (i % 2 ? value <= limits[i] : value >= limits[i])
                assert_int_equal(waits[i].calls, 1);
            if (waits[i].calls == 0)
                continue;
            assert_true(waits[i].result == 0 || waits[i].result == ECANCELED);
            if (waits[i].result == 0)
                assert_true(i % 2 ? waits[i].value <= limits[i] : waits[i].value >= limits[i]);
        }
    }
    for (uint32_t i = 0; i < COUNT; i++)
        lw_request_cancel(&waits[i].request);
    settle(&loop);
}

TEST(a_hundred_thousand_wait_for_a_condition)
{
    struct wait *waits = calloc(MANY, sizeof *waits);
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_cond here = LW_COND_INIT;
    open_loop();
    for (int i = 0; i < MANY; i++) {
        lw_mutex_lock(&mutex);
        WAIT(lw_cond_wait_async, &here, &mutex, FOR(&waits[i]));
        waits[i].then = unlock;
        waits[i].on = &mutex;
    }
    ended = 0;
    for (int i = 0; i < MANY / 2; i++)
        assert_int_equal(lw_cond_notify_one(&here), 1);
    settle(&loop);
    assert_int_equal(ended, MANY / 2);
    lw_cond_notify_all(&here);
    settle(&loop);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(waits[i].order, i);
    assert_int_equal(lw_loop_destroy(&loop), 0);
    free(waits);
}

/* An automatic event goes round: whoever it lets through sets it, and waits for it again. */

static lw_event passed_on = LW_EVENT_AUTO_INIT;
static int passed;

static void pass_event_on(lw_request *request, int result, void *context)
{
    int *turns = context;
    assert_int_equal(result, 0);
    ++*turns;
    lw_event_set(&passed_on);
    if (++passed < 300)
        WAIT(lw_event_wait_async, &passed_on, request, &loop, LW_FOREVER, pass_event_on, turns);
}

LOOP_TEST(requests_for_an_automatic_event_take_turns)
{
    lw_request requests[3];
    int turns[3] = {0};
    for (int i = 0; i < 3; i++)
        WAIT(lw_event_wait_async, &passed_on, &requests[i], &loop, LW_FOREVER, pass_event_on,
             &turns[i]);
    lw_event_set(&passed_on);
    while (passed < 302 && turn(&loop, 10000))
        continue;
    for (int i = 0; i < 3; i++)
        assert_true(turns[i] >= 100 && turns[i] <= 101);
}

/* A thread that unlocks and locks without end, and a loop that wants the mutex, too. */

static lw_mutex wanted = LW_MUTEX_INIT;

static int relock_wanted(struct call *call)
{
    (void)call;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        lw_mutex_lock(&wanted);
        lw_mutex_unlock(&wanted);
    }
    return 0;
}

static int64_t longest_beside_relocker(const void *unused)
{
    (void)unused;
    int64_t longest = 0;
    struct call thread = calling(relock_wanted, NULL);
    stop = false;
    open_loop();
    start_call(&thread);
    for (int i = 0; i < 50; i++) {
        const int64_t start = used_ns();
        WAIT(lw_mutex_lock_async, &wanted, FOR(&a));
        assert_int_equal(end_wait(&loop, &a), 0);
        const int64_t took = used_ns() - start;
        longest = took > longest ? took : longest;
        lw_mutex_unlock(&wanted);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    assert_int_equal(end_call(&thread), 0);
    assert_int_equal(lw_loop_destroy(&loop), 0);
    return longest;
}

TEST(a_relocking_thread_does_not_shut_a_loop_out)
{
    assert_bounded(longest_beside_relocker, NULL, 50);
}

RUN_TESTS("loop")
