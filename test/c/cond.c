/* cond.c: what lockword/cond.h promises besides what every operation that waits does (waits.c). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <sched.h>

#include <lockword/lockword.h>

struct room {
    lw_mutex mutex;
    lw_cond cond;
    uint32_t woken; /* by the mutex's holder only */
};

static uint32_t count_waiters(const lw_cond *cond)
{
    return __atomic_load_n(&cond->word[LW_COND_WAITERS], __ATOMIC_ACQUIRE);
}

static int wait_in(struct call *call)
{
    struct room *room = call->on;
    lw_mutex_lock(&room->mutex);
    const int error = lw_cond_wait_cancel(&room->cond, &room->mutex, call->deadline, call->cancel);
    const bool holds = lw_mutex_owner(room->mutex.word) == lw_self();
    room->woken++;
    return lw_mutex_unlock(&room->mutex) != 0 || !holds ? -1 : error;
}

static void start_waiting(struct call *calls, size_t n, struct room *room)
{
    start_sleepers(calls, n, calling(wait_in, room));
}

static size_t count_ended(const struct call *calls, size_t n)
{
    size_t ended = 0;
    for (size_t i = 0; i < n; i++)
        ended += has_ended(&calls[i]);
    return ended;
}

static void await_ended(const struct call *calls, size_t n, size_t wanted)
{
    for (const int64_t limit = now_ns() + 5000 * (int64_t)NS_PER_MS;
         count_ended(calls, n) < wanted && now_ns() < limit;)
        sleep_ms(1);
    sleep_ms(2);
    assert_int_equal(count_ended(calls, n), wanted);
}

TEST(a_stranger_to_the_mutex_cannot_wait)
{
    struct room room = {0};
    assert_int_equal(sizeof(lw_cond), 8);
    assert_int_equal(lw_cond_wait(&room.cond, &room.mutex), EPERM);
    assert_int_equal(lw_cond_wait_until(&room.cond, &room.mutex, LW_NOW), EPERM);
    assert_int_equal(count_waiters(&room.cond), 0);
    assert_int_equal(room.mutex.word[LW_MUTEX_STATE], 0);
}

TEST(a_notify_wakes_as_many_as_asked_and_counts_them)
{
    struct room room = {0};
    struct call calls[6];
    assert_int_equal(lw_cond_notify_all(&room.cond), 0);
    assert_int_equal(lw_cond_notify_one(&room.cond), 0);
    start_waiting(calls, COUNT_OF(calls), &room);
    assert_int_equal(count_waiters(&room.cond), COUNT_OF(calls));
    assert_int_equal(lw_cond_notify(&room.cond, 0), 0);
    assert_int_equal(lw_cond_notify_one(&room.cond), 1);
    await_ended(calls, COUNT_OF(calls), 1);
    assert_int_equal(lw_cond_notify(&room.cond, 2), 2);
    await_ended(calls, COUNT_OF(calls), 3);
    assert_int_equal(lw_cond_notify_all(&room.cond), 3);
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(lw_cond_notify_all(&room.cond), 0);
    assert_int_equal(count_waiters(&room.cond), 0);
    assert_int_equal(room.mutex.word[LW_MUTEX_STATE], 0);
}

TEST(waiters_are_woken_in_the_order_in_which_they_came)
{
    struct room room = {0};
    struct call calls[4];
    start_waiting(calls, COUNT_OF(calls), &room);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        assert_int_equal(lw_cond_notify_one(&room.cond), 1);
        assert_int_equal(end_call(&calls[i]), 0);
        assert_int_equal(count_ended(calls, COUNT_OF(calls)), i + 1);
    }
}

/* By then a busy machine, too, has done what has to be done before a deadline. */
#define LATER_MS 400

TEST(it_takes_the_mutex_again_however_long_that_takes)
{
    const int results[] = {0, ETIMEDOUT, ECANCELED};
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        struct room room = {0};
        lw_cancel cancel = LW_CANCEL_INIT;
        struct call call = {.function = wait_in,
                            .on = &room,
                            .deadline = LW_FOREVER,
                            .cancel = &cancel,
                            .result = -1};
        if (results[i] == ETIMEDOUT)
            call.deadline = lw_after_ms(LATER_MS);
        start_call(&call);
        while (count_waiters(&room.cond) == 0)
            sleep_ms(1);
        assert_int_equal(lw_mutex_lock(&room.mutex), 0);
        if (results[i] == 0)
            lw_cond_notify_one(&room.cond);
        if (results[i] == ECANCELED)
            lw_cancel_fire(&cancel);
        sleep_ms(results[i] == ETIMEDOUT ? LATER_MS + 10 : 5);
        assert_false(has_ended(&call));
        assert_int_equal(room.woken, 0);
        assert_int_equal(lw_mutex_unlock(&room.mutex), 0);
        assert_int_equal(end_call(&call), results[i]);
        assert_int_equal(count_waiters(&room.cond), 0);
        assert_int_equal(room.mutex.word[LW_MUTEX_STATE], 0);
    }
}

/* One that is cancelled together with a notify passes it on, if it had it: of two waiters one must
 * go on. */
TEST(a_notify_is_not_lost_with_one_that_is_cancelled)
{
    for (int round = 0; round < 100; round++) {
        struct room room = {0};
        lw_cancel cancel = LW_CANCEL_INIT;
        struct call calls[2];
        for (size_t i = 0; i < COUNT_OF(calls); i++) {
            calls[i] = (struct call){
                .function = wait_in, .on = &room, .deadline = LW_FOREVER, .result = -1};
            calls[i].cancel = i == 0 ? &cancel : NULL;
            start_sleeper(&calls[i]);
        }
        if (round % 2)
            lw_cancel_fire(&cancel);
        const uint32_t found = lw_cond_notify_one(&room.cond);
        lw_cancel_fire(&cancel);
        const int first = end_call(&calls[0]);
        assert_true(first == 0 || first == ECANCELED);
        if (first == 0 || found == 0)
            lw_cond_notify_all(&room.cond);
        assert_int_equal(end_call(&calls[1]), 0);
        assert_int_equal(count_waiters(&room.cond), 0);
    }
}

TEST(its_sequence_wraps)
{
    struct room room = {.cond = {{UINT32_MAX, 0}}};
    struct call call;
    start_waiting(&call, 1, &room);
    assert_int_equal(lw_cond_notify_one(&room.cond), 1);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(room.cond.word[LW_COND_SEQUENCE], 0);
}

struct nested {
    lw_rmutex rmutex;
    lw_cond cond;
    uint32_t depth;
    uint32_t woken; /* by the mutex's holder only */
};

static int wait_nested(struct call *call)
{
    struct nested *nested = call->on;
    for (uint32_t i = 0; i < nested->depth; i++)
        lw_rmutex_lock(&nested->rmutex);
    const int error =
        lw_cond_wait_recursive_cancel(&nested->cond, &nested->rmutex, call->deadline, call->cancel);
    const bool holds = lw_mutex_owner(nested->rmutex.word) == lw_self() &&
                       lw_rmutex_depth(nested->rmutex.word) == nested->depth;
    nested->woken++;
    for (uint32_t i = 0; i < nested->depth; i++)
        lw_rmutex_unlock(&nested->rmutex);
    return holds ? error : -1;
}

/* Whether the test had the mutex before the wait was over: a busy machine may come too late for a
 * deadline. */
static bool wait_ends_while_another_holds_the_mutex(uint32_t depth, int result, int64_t deadline_ms)
{
    struct nested nested = {.depth = depth};
    lw_cancel cancel = LW_CANCEL_INIT;
    struct call call = {.function = wait_nested,
                        .on = &nested,
                        .deadline = LW_FOREVER,
                        .cancel = &cancel,
                        .result = -1};
    if (result == ETIMEDOUT)
        call.deadline = lw_after_ms(deadline_ms);
    start_call(&call);
    /* It counts itself while it has the mutex: a thread that gets that now comes after it has been
     * given up.
     */
    while (count_waiters(&nested.cond) == 0 && !has_ended(&call))
        sleep_ms(1);
    assert_int_equal(lw_rmutex_lock(&nested.rmutex), 0);
    assert_int_equal(lw_rmutex_depth(nested.rmutex.word), 1);
    const bool in_time = nested.woken == 0;
    if (result == 0)
        lw_cond_notify_one(&nested.cond);
    if (result == ECANCELED)
        lw_cancel_fire(&cancel);
    if (in_time) {
        sleep_ms(result == ETIMEDOUT ? deadline_ms + 5 : 2);
        assert_int_equal(nested.woken, 0);
    }
    assert_int_equal(lw_rmutex_unlock(&nested.rmutex), 0);
    assert_int_equal(end_call(&call), result);
    assert_int_equal(nested.cond.word[LW_COND_WAITERS], 0);
    assert_int_equal(nested.rmutex.word[LW_MUTEX_STATE], 0);
    return in_time;
}

TEST(a_recursive_mutex_is_given_up_whole_and_held_as_often_again)
{
    const int results[] = {0, ETIMEDOUT, ECANCELED};
    for (uint32_t depth = 1; depth <= 3; depth++) {
        for (size_t i = 0; i < COUNT_OF(results); i++) {
            int64_t deadline_ms = 50;
            while (!wait_ends_while_another_holds_the_mutex(depth, results[i], deadline_ms)) {
                assert_int_equal(results[i], ETIMEDOUT);
                assert_true((deadline_ms *= 4) < 10000);
            }
        }
    }
}

/* A task's is not the thread's to give up. */
TEST(a_stranger_to_the_recursive_mutex_cannot_wait)
{
    struct nested nested = {0};
    assert_int_equal(lw_cond_wait_recursive(&nested.cond, &nested.rmutex), EPERM);
    nested.rmutex.word[LW_MUTEX_STATE] = lw_self();
    const uint32_t holder = nested.rmutex.word[LW_RMUTEX_HOLDER] = lw_self() | LW_RMUTEX_TASK;
    assert_int_equal(lw_cond_wait_recursive_until(&nested.cond, &nested.rmutex, LW_NOW), EPERM);
    assert_int_equal(nested.cond.word[LW_COND_WAITERS], 0);
    assert_int_equal(nested.rmutex.word[LW_RMUTEX_HOLDER], holder);
}

struct queue {
    lw_mutex mutex;
    lw_cond not_empty, not_full;
    uint32_t size;
    uint32_t taken;
    uint32_t left; /* to take */
};

#define CAPACITY 3
#define PRODUCERS 3
#define ITEMS 5000

static int produce(struct call *call)
{
    struct queue *queue = call->on;
    int failures = 0;
    for (int i = 0; i < ITEMS; i++) {
        failures += lw_mutex_lock(&queue->mutex) != 0;
        while (queue->size == CAPACITY)
            failures += lw_cond_wait(&queue->not_full, &queue->mutex) != 0;
        queue->size++;
        failures += lw_mutex_unlock(&queue->mutex) != 0;
        lw_cond_notify_one(&queue->not_empty);
    }
    return failures;
}

/* Some of them with deadlines: one that gives up must not take another's notify with it. */
static int consume(struct call *call)
{
    struct queue *queue = call->on;
    int failures = 0;
    uint32_t seed = call->n;
    for (;;) {
        failures += lw_mutex_lock(&queue->mutex) != 0;
        while (queue->size == 0 && queue->left > 0) {
            const lw_deadline deadline =
                call->n % 2 ? lw_after_ns(next_random(&seed) % 200000) : LW_FOREVER;
            const int error = lw_cond_wait_until(&queue->not_empty, &queue->mutex, deadline);
            failures += error != 0 && !(error == ETIMEDOUT && call->n % 2);
        }
        const bool done = queue->left == 0;
        if (!done) {
            queue->size--;
            queue->taken++;
            queue->left--;
        }
        const bool last = queue->left == 0;
        failures += lw_mutex_unlock(&queue->mutex) != 0;
        if (last)
            lw_cond_notify_all(&queue->not_empty);
        else
            lw_cond_notify_one(&queue->not_full);
        if (done)
            return failures;
    }
}

TEST(what_is_produced_is_consumed)
{
    static struct queue queue = {.left = PRODUCERS * ITEMS};
    struct call calls[PRODUCERS + 4];
    for (uint32_t i = 0; i < COUNT_OF(calls); i++) {
        calls[i] =
            (struct call){.function = i < PRODUCERS ? produce : consume, .on = &queue, .n = i};
        start_call(&calls[i]);
    }
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(queue.taken, PRODUCERS * ITEMS);
    assert_int_equal(queue.size, 0);
    assert_int_equal(queue.mutex.word[LW_MUTEX_STATE], 0);
    assert_int_equal(queue.not_empty.word[LW_COND_WAITERS], 0);
    assert_int_equal(queue.not_full.word[LW_COND_WAITERS], 0);
}

struct ball {
    lw_mutex mutex;
    lw_cond cond;
    uint32_t turn;
};

#define TURNS 10000

/* Waits for ever for its turn, with one notify for each turn: one that is lost hangs it. */
static int play(struct call *call)
{
    struct ball *ball = call->on;
    int failures = 0;
    lw_mutex_lock(&ball->mutex);
    while (ball->turn < TURNS) {
        if (ball->turn % 2 == call->n) {
            ball->turn++;
            lw_cond_notify_one(&ball->cond);
        } else {
            failures += lw_cond_wait(&ball->cond, &ball->mutex) != 0;
        }
    }
    lw_mutex_unlock(&ball->mutex);
    lw_cond_notify_one(&ball->cond);
    return failures;
}

TEST(no_notify_is_lost_between_unlocking_and_sleeping)
{
    struct ball ball = {.turn = 0};
    struct call calls[2];
    for (uint32_t i = 0; i < 2; i++) {
        calls[i] = (struct call){.function = play, .on = &ball, .n = i};
        start_call(&calls[i]);
    }
    assert_int_equal(end_call(&calls[0]), 0);
    assert_int_equal(end_call(&calls[1]), 0);
    assert_int_equal(ball.turn, TURNS);
}

#define CROWD 32
#define THINGS 1000

/* Waiters of which each takes things, one at a time, as they come. */
struct crowd {
    lw_mutex mutex;
    lw_cond cond;
    uint32_t made, taken, returns; /* by the mutex's holder only */
    bool is_over;
};

static int take_things(struct call *call)
{
    struct crowd *crowd = call->on;
    lw_mutex_lock(&crowd->mutex);
    while (!crowd->is_over) {
        if (crowd->made > crowd->taken) {
            crowd->taken++;
            continue;
        }
        lw_cond_wait(&crowd->cond, &crowd->mutex);
        crowd->returns++;
    }
    return lw_mutex_unlock(&crowd->mutex);
}

static bool has_taken(struct crowd *crowd, uint32_t things)
{
    lw_mutex_lock(&crowd->mutex);
    const bool taken = crowd->taken == things;
    lw_mutex_unlock(&crowd->mutex);
    return taken;
}

/* A notify for one also ends the wait of a waiter that does not sleep yet: that must be rare. */
TEST(a_notify_for_one_wakes_no_herd)
{
    struct crowd crowd = {0};
    struct call calls[CROWD];
    start_sleepers(calls, COUNT_OF(calls),
                   (struct call){.function = take_things, .on = &crowd, .result = -1});
    for (uint32_t i = 1; i <= THINGS; i++) {
        lw_mutex_lock(&crowd.mutex);
        crowd.made++;
        lw_mutex_unlock(&crowd.mutex);
        lw_cond_notify_one(&crowd.cond);
        while (!has_taken(&crowd, i))
            sched_yield();
    }
    lw_mutex_lock(&crowd.mutex);
    const uint32_t returns = crowd.returns;
    crowd.is_over = true;
    lw_mutex_unlock(&crowd.mutex);
    lw_cond_notify_all(&crowd.cond);
    end_calls(calls, COUNT_OF(calls));
    if (returns > THINGS + THINGS / 2)
        fail_msg("%d notifies ended %u waits", THINGS, returns);
}

RUN_TESTS("cond")
