/*
 * races.c [race | inversion]: a user's program under ThreadSanitizer, Helgrind or DRD. Without an
 * argument it is correct, and none of them may report anything; `race` and `inversion` each make
 * one mistake, which they must report.
 */
#include <lockword/lockword.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 60

/* What the locks guard, and no atomic operation. */
static int data[ROUNDS];

static void must_be(bool right)
{
    if (right)
        return;
    puts("races.c: a call did not return what it must");
    _Exit(1);
}

static lw_mutex mutexes[2];
static lw_rmutex rmutex;
static lw_rwlock rwlock;
static lw_cond cond;
static int turn; /* guarded by the first mutex, or by the recursive one */

static struct {
    lw_sem sem;
    lw_event event;
    lw_event automatic;
    lw_event never;
    lw_once once;
    lw_waitgroup group;
    lw_latch latch;
    lw_barrier barrier;
    lw_cancel cancel;
} in[ROUNDS];
static lw_counter counter;

static void prepare(void)
{
    const lw_event automatic = LW_EVENT_AUTO_INIT;
    memset(in, 0, sizeof in);
    memset(data, 0, sizeof data);
    memset(&counter, 0, sizeof counter);
    turn = 0;
    for (int i = 0; i < ROUNDS; i++) {
        in[i].automatic = automatic;
        must_be(lw_barrier_init(&in[i].barrier, 2) == 0);
        must_be(lw_waitgroup_add(&in[i].group, 1) == 0);
        must_be(lw_latch_init(&in[i].latch, 2) == 0);
    }
}

/* In every third round the giver comes late, in every third the taker, and in the others both come
 * at once. */
static void be_late(int i, int who)
{
    const struct timespec a_while = {0, 2000000};
    if (i % 3 == who)
        nanosleep(&a_while, NULL);
}

/* A way to hand data[i] from one thread to the other. */
struct way {
    const char *name;
    void (*give)(int i);
    void (*take)(int i);
};

#define GIVE(name, call)                                                                           \
    static void give_##name(int i)                                                                 \
    {                                                                                              \
        must_be((call) == 0);                                                                      \
    }
#define TAKE(name, call)                                                                           \
    static void take_##name(int i)                                                                 \
    {                                                                                              \
        must_be((call) == 0);                                                                      \
    }

GIVE(sem, lw_sem_release(&in[i].sem, 1))
TAKE(sem, lw_sem_acquire(&in[i].sem, 1))
GIVE(event, (lw_event_set(&in[i].event), 0))
TAKE(event, lw_event_wait(&in[i].event))
GIVE(automatic, (lw_event_set(&in[i].automatic), 0))
TAKE(automatic, lw_event_wait_until(&in[i].automatic, lw_after_ms(10000)))
GIVE(group, lw_waitgroup_done(&in[i].group))
TAKE(group, lw_waitgroup_wait(&in[i].group))
GIVE(latch, lw_latch_count_down(&in[i].latch, 1))
TAKE(latch, lw_latch_arrive_and_wait(&in[i].latch))
GIVE(counter, ((void)i, lw_counter_add(&counter, 1, NULL)))
TAKE(counter, lw_counter_wait_at_least(&counter, (uint32_t)i + 1, LW_FOREVER, NULL))
GIVE(barrier, lw_barrier_wait(&in[i].barrier) > 0)
TAKE(barrier, lw_barrier_wait(&in[i].barrier) > 0)
GIVE(cancel, (lw_cancel_fire(&in[i].cancel), 0))
TAKE(cancel, lw_event_wait_cancel(&in[i].never, LW_FOREVER, &in[i].cancel) != ECANCELED)

static void give_once(int i)
{
    while (lw_once_begin(&in[i].once) != LW_ONCE_RUN)
        ;
    data[i] = i + 1;
    lw_once_finish(&in[i].once, true);
}

/* One that runs it before the giver leaves it to the next. */
static void take_once(int i)
{
    while (lw_once_begin(&in[i].once) == LW_ONCE_RUN) {
        lw_once_finish(&in[i].once, false);
        sched_yield();
    }
}

static void take_any(int i)
{
    const lw_source sources[] = {lw_source_event(&in[i].never), lw_source_sem(&in[i].sem, 1)};
    uint32_t which = 0;
    must_be(lw_wait_any(sources, 2, LW_FOREVER, &in[i].cancel, &which) == 0 && which == 1);
}

static void take_by_looking_at_event(int i)
{
    while (!lw_event_is_set(&in[i].event))
        sched_yield();
}

static void take_by_looking_at_cancel(int i)
{
    while (!lw_cancel_fired(&in[i].cancel))
        sched_yield();
}

static void take_by_looking_at_counter(int i)
{
    while (lw_counter_get(&counter) < (uint32_t)i + 1)
        sched_yield();
}

static void take_by_trying(int i)
{
    while (lw_sem_tryacquire(&in[i].sem, 1) != 0)
        sched_yield();
}

static void give_cond(int i)
{
    lw_mutex_lock(&mutexes[0]);
    turn = i + 1;
    lw_mutex_unlock(&mutexes[0]);
    lw_cond_notify_one(&cond);
}

static void take_cond(int i)
{
    lw_mutex_lock(&mutexes[0]);
    while (turn < i + 1)
        lw_cond_wait_until(&cond, &mutexes[0], lw_after_ms(1));
    lw_mutex_unlock(&mutexes[0]);
}

static void give_recursive_cond(int i)
{
    lw_rmutex_lock(&rmutex);
    turn = i + 1;
    lw_cond_notify_all(&cond);
    lw_rmutex_unlock(&rmutex);
}

static void take_recursive_cond(int i)
{
    lw_rmutex_lock(&rmutex);
    lw_rmutex_lock(&rmutex);
    while (turn < i + 1)
        lw_cond_wait_recursive(&cond, &rmutex);
    lw_rmutex_unlock(&rmutex);
    lw_rmutex_unlock(&rmutex);
}

static void note_result(lw_request *request, int result, void *context)
{
    (void)request;
    *(int *)context = result;
}

static void run_until_ended(lw_loop *loop, const int *result)
{
    struct pollfd readable = {.fd = lw_loop_fd(loop), .events = POLLIN};
    while (*result < 0 && poll(&readable, 1, -1) == 1)
        lw_loop_run(loop);
}

static void take_in_a_loop(lw_loop *loop, const int *result, int expected)
{
    run_until_ended(loop, result);
    must_be(*result == expected && lw_loop_destroy(loop) == 0);
}

static void take_any_in_a_loop(int i)
{
    const lw_source sources[] = {lw_source_event(&in[i].never), lw_source_sem(&in[i].sem, 1)};
    lw_loop loop;
    lw_request request;
    lw_waiter waiters[1];
    int result = -1;
    must_be(lw_loop_init(&loop) == 0);
    must_be(lw_wait_any_async(sources, 2, waiters, &request, &loop, LW_FOREVER, note_result,
                              &result) == 0);
    take_in_a_loop(&loop, &result, 0);
    must_be(lw_request_value(&request) == 1);
}

static void take_cancel_in_a_loop(int i)
{
    lw_loop loop;
    lw_request request;
    lw_waiter waiter;
    int result = -1;
    must_be(lw_loop_init(&loop) == 0);
    lw_event_wait_async(&in[i].never, &request, &loop, LW_FOREVER, note_result, &result);
    must_be(lw_request_cancel_by(&request, &waiter, &in[i].cancel) == 0);
    take_in_a_loop(&loop, &result, ECANCELED);
}

/* A condition's wait that was cancelled has its mutex again when it ends. */
static void take_cancel_of_a_condition_in_a_loop(int i)
{
    static lw_cond condition;
    lw_loop loop;
    lw_request request;
    lw_waiter waiter;
    int result = -1;
    must_be(lw_loop_init(&loop) == 0);
    lw_mutex_lock(&mutexes[0]);
    lw_cond_wait_async(&condition, &mutexes[0], &request, &loop, LW_FOREVER, note_result, &result);
    must_be(lw_request_cancel_by(&request, &waiter, &in[i].cancel) == 0);
    take_in_a_loop(&loop, &result, ECANCELED);
    lw_mutex_unlock(&mutexes[0]);
}

static struct way ways[] = {
    {"semaphore", give_sem, take_sem},
    {"event", give_event, take_event},
    {"automatic event", give_automatic, take_automatic},
    {"once", give_once, take_once},
    {"wait group", give_group, take_group},
    {"latch", give_latch, take_latch},
    {"counter", give_counter, take_counter},
    {"barrier", give_barrier, take_barrier},
    {"cancel", give_cancel, take_cancel},
    {"any", give_sem, take_any},
    {"any, in a loop", give_sem, take_any_in_a_loop},
    {"cancel, in a loop", give_cancel, take_cancel_in_a_loop},
    {"cancel of a condition, in a loop", give_cancel, take_cancel_of_a_condition_in_a_loop},
    {"event, looked at", give_event, take_by_looking_at_event},
    {"cancel, looked at", give_cancel, take_by_looking_at_cancel},
    {"counter, looked at", give_counter, take_by_looking_at_counter},
    {"semaphore, tried", give_sem, take_by_trying},
    {"condition", give_cond, take_cond},
    {"condition of a recursive mutex", give_recursive_cond, take_recursive_cond},
};

static void *give_all(void *argument)
{
    const struct way *way = argument;
    for (int i = 0; i < ROUNDS; i++) {
        be_late(i, 0);
        if (way->give != give_once)
            data[i] = i + 1;
        way->give(i);
    }
    return NULL;
}

static void take_all(const struct way *way)
{
    for (int i = 0; i < ROUNDS; i++) {
        be_late(i, 1);
        way->take(i);
        must_be(data[i] == i + 1);
    }
}

/* In a section: the others spin, and fall asleep. */
static void linger(int i)
{
    const struct timespec a_moment = {0, 500000};
    if (i % 16 == 0)
        nanosleep(&a_moment, NULL);
}

/* What all threads do to data[0], each under a lock that excludes the others. */
static void add_under_mutex(int i)
{
    if (i % 3 == 0)
        while (lw_mutex_trylock(&mutexes[0]) != 0)
            sched_yield();
    else if (i % 3 == 1)
        lw_mutex_lock(&mutexes[0]);
    else
        while (lw_mutex_lock_until(&mutexes[0], lw_after_ns(1000)) != 0)
            ;
    data[0]++;
    linger(i);
    /* Errors are no mistakes. */
    must_be(lw_mutex_lock(&mutexes[0]) == EDEADLK && lw_mutex_unlock(&mutexes[0]) == 0);
    if (i == 0)
        must_be(lw_mutex_unlock(&mutexes[1]) == EPERM);
}

static void add_under_rmutex(int i)
{
    if (i % 2 == 0)
        lw_rmutex_lock(&rmutex);
    else
        while (lw_rmutex_trylock(&rmutex) != 0)
            sched_yield();
    lw_rmutex_lock(&rmutex);
    data[0]++;
    linger(i);
    lw_rmutex_unlock(&rmutex);
    data[0]++;
    lw_rmutex_unlock(&rmutex);
}

static void add_under_rwlock(int i)
{
    int seen;
    switch (i % 3) {
    case 0:
        lw_rwlock_wrlock(&rwlock);
        data[0]++;
        linger(i);
        break;
    case 1:
        lw_rwlock_uplock(&rwlock);
        seen = data[0];
        if (lw_rwlock_upgrade_until(&rwlock, lw_after_ns(100)) != 0)
            lw_rwlock_upgrade(&rwlock);
        data[0] = seen + 1;
        lw_rwlock_downgrade(&rwlock);
        must_be(data[0] == seen + 1);
        break;
    default:
        lw_rwlock_rdlock(&rwlock);
        must_be(data[0] >= 0);
    }
    lw_rwlock_unlock(&rwlock);
}

static void (*excluded[])(int i) = {add_under_mutex, add_under_rmutex, add_under_rwlock};

static void *add_often(void *argument)
{
    void (**add)(int i) = argument;
    for (int i = 0; i < 5 * ROUNDS; i++)
        (*add)(i);
    return NULL;
}

static pthread_t start(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    must_be(pthread_create(&thread, NULL, body, argument) == 0);
    return thread;
}

/*
 * A thread has a mutex while another request of its loop gives up, which has locked nothing. A
 * condition's wait that gives up has its mutex again. What the locks guard shows either.
 */
static void *give_up_in_a_loop(void *unused)
{
    static lw_cond condition;
    lw_loop loop;
    int results[2];
    lw_request requests[2];
    must_be(lw_loop_init(&loop) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        results[0] = results[1] = -1;
        lw_mutex_lock_async(&mutexes[0], &requests[0], &loop, LW_FOREVER, note_result, &results[0]);
        run_until_ended(&loop, &results[0]);
        lw_mutex_lock_async(&mutexes[0], &requests[1], &loop, LW_NOW, note_result, &results[1]);
        run_until_ended(&loop, &results[1]);
        must_be(results[0] == 0 && results[1] == ETIMEDOUT);
        data[0]++;
        must_be(lw_mutex_unlock(&mutexes[0]) == 0);

        results[0] = results[1] = -1;
        lw_rmutex_lock_async(&rmutex, &requests[0], &loop, LW_FOREVER, note_result, &results[0]);
        run_until_ended(&loop, &results[0]);
        lw_cond_wait_recursive_async(&condition, &rmutex, &requests[1], &loop, LW_NOW, note_result,
                                     &results[1]);
        run_until_ended(&loop, &results[1]);
        must_be(results[0] == 0 && results[1] == ETIMEDOUT);
        must_be(lw_rmutex_unlock(&rmutex) == EPERM); /* a task has it, not the thread */
        data[1]++;
        must_be(lw_rmutex_unlock_task(&rmutex) == 0);
    }
    must_be(lw_loop_destroy(&loop) == 0);
    return unused;
}

/* A loop that ends refuses its conditions' waits: the thread keeps the mutex. */
static void begin_to_wait(lw_request *request, int result, void *context)
{
    static lw_cond condition;
    lw_loop *loop = context;
    must_be(result == ECANCELED && lw_mutex_lock(&mutexes[0]) == 0);
    must_be(lw_cond_wait_async(&condition, &mutexes[0], request, loop, LW_FOREVER, note_result,
                               NULL) == ECANCELED);
    data[0]++;
    must_be(lw_mutex_unlock(&mutexes[0]) == 0);
}

static void end_loops(void)
{
    static lw_event never;
    for (int i = 0; i < ROUNDS; i++) {
        lw_loop loop;
        lw_request request;
        must_be(lw_loop_init(&loop) == 0);
        lw_event_wait_async(&never, &request, &loop, LW_FOREVER, begin_to_wait, &loop);
        must_be(lw_loop_destroy(&loop) == 0);
    }
}

static void *lock_both_often(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        lw_mutex_lock(&mutexes[0]);
        data[0]++;
        lw_mutex_unlock(&mutexes[0]);
        lw_rmutex_lock(&rmutex);
        must_be(lw_rmutex_unlock_task(&rmutex) == EPERM);
        data[1]++;
        lw_rmutex_unlock(&rmutex);
    }
    return unused;
}

static void *race(void *mutex)
{
    lw_mutex_lock(mutex);
    data[0]++;
    lw_mutex_unlock(mutex);
    return NULL;
}

static void *invert(void *unused)
{
    lw_mutex_lock(&mutexes[1]);
    lw_mutex_lock(&mutexes[0]);
    lw_mutex_unlock(&mutexes[0]);
    lw_mutex_unlock(&mutexes[1]);
    return unused;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "race") == 0) {
        pthread_t other = start(race, &mutexes[0]);
        race(&mutexes[1]);
        return pthread_join(other, NULL);
    }
    if (argc > 1 && strcmp(argv[1], "inversion") == 0) {
        lw_mutex_lock(&mutexes[0]);
        lw_mutex_lock(&mutexes[1]);
        lw_mutex_unlock(&mutexes[1]);
        lw_mutex_unlock(&mutexes[0]);
        return pthread_join(start(invert, NULL), NULL);
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        prepare();
        pthread_t other = start(give_all, &ways[i]);
        take_all(&ways[i]);
        pthread_join(other, NULL);
    }
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++) {
        pthread_t others[4];
        prepare();
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            others[k] = start(add_often, &excluded[i]);
        add_often(&excluded[i]);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            pthread_join(others[k], NULL);
    }
    prepare();
    pthread_t others[2] = {start(lock_both_often, NULL), start(give_up_in_a_loop, NULL)};
    give_up_in_a_loop(NULL);
    end_loops();
    pthread_join(others[0], NULL);
    pthread_join(others[1], NULL);
    return 0;
}
