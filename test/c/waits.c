/* waits.c: what every operation that waits promises about deadlines, cancels, signals and errno:
 * one body, all operations. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <lockword/lockword.h>

/* What an operation works on, all of it zeros at first. */
struct subject {
    lw_mutex mutex;
    lw_rmutex rmutex;
    lw_cond cond;
    lw_sem sem;
    lw_permits permits;
    lw_rwlock rwlock;
    lw_barrier barrier;
    lw_waitgroup group;
    lw_latch latch;
    lw_event event;
    lw_once once;
    lw_counter counter;
};

struct operation {
    const char *name;
    void (*forbid)(struct subject *subject); /* from here on it has to wait */
    void (*allow)(
        struct subject *subject); /* from here on it has not; by the thread that forbade it */
    int (*wait)(struct subject *subject, lw_deadline deadline,
                lw_cancel *cancel); /* gives back what it gets */
    bool forgets;                   /* what was allowed before the wait does not count */
    bool alone;                     /* only one can wait, or one that gives up ends it for all */
};

/* What is done to a subject, and must succeed. */
#define DO(name, call)                                                                             \
    static void name(struct subject *s)                                                            \
    {                                                                                              \
        assert_int_equal(call, 0);                                                                 \
    }

/* A wait, and what gives back what it got. */
#define WAIT(name, wait, give_back)                                                                \
    static int name(struct subject *s, lw_deadline deadline, lw_cancel *cancel)                    \
    {                                                                                              \
        const int error = (wait);                                                                  \
        return error ? error : (give_back);                                                        \
    }

static void forbid_nothing(struct subject *subject)
{
    (void)subject;
}

DO(forbid_mutex, lw_mutex_lock(&s->mutex))
DO(allow_mutex, lw_mutex_unlock(&s->mutex))
WAIT(wait_mutex, lw_mutex_lock_cancel(&s->mutex, deadline, cancel), lw_mutex_unlock(&s->mutex))

DO(forbid_rmutex, lw_rmutex_lock(&s->rmutex))
DO(allow_rmutex, lw_rmutex_unlock(&s->rmutex))
WAIT(wait_rmutex, lw_rmutex_lock_cancel(&s->rmutex, deadline, cancel), lw_rmutex_unlock(&s->rmutex))

static void allow_cond(struct subject *subject)
{
    lw_mutex_lock(&subject->mutex);
    lw_mutex_unlock(&subject->mutex);
    lw_cond_notify_all(&subject->cond);
}

static int wait_cond(struct subject *subject, lw_deadline deadline, lw_cancel *cancel)
{
    lw_mutex_lock(&subject->mutex);
    const int error = lw_cond_wait_cancel(&subject->cond, &subject->mutex, deadline, cancel);
    const int unlocked = lw_mutex_unlock(&subject->mutex);
    return unlocked ? unlocked : error;
}

DO(allow_sem, lw_sem_release(&s->sem, 3))
WAIT(wait_sem, lw_sem_acquire_cancel(&s->sem, 3, deadline, cancel), lw_sem_release(&s->sem, 3))

DO(forbid_permits, (lw_permits_init(&s->permits, 1), lw_permits_acquire(&s->permits, NULL)))
DO(allow_permits, lw_permits_release(&s->permits, 0))
WAIT(wait_permits, lw_permits_acquire_cancel(&s->permits, NULL, deadline, cancel),
     lw_permits_release(&s->permits, 0))

DO(forbid_rwlock, lw_rwlock_wrlock(&s->rwlock))
DO(forbid_writers, lw_rwlock_rdlock(&s->rwlock))
DO(allow_rwlock, lw_rwlock_unlock(&s->rwlock))
WAIT(wait_rdlock, lw_rwlock_rdlock_cancel(&s->rwlock, deadline, cancel),
     lw_rwlock_unlock(&s->rwlock))
WAIT(wait_uplock, lw_rwlock_uplock_cancel(&s->rwlock, deadline, cancel),
     lw_rwlock_unlock(&s->rwlock))
WAIT(wait_wrlock, lw_rwlock_wrlock_cancel(&s->rwlock, deadline, cancel),
     lw_rwlock_unlock(&s->rwlock))

static int wait_upgrade(struct subject *subject, lw_deadline deadline, lw_cancel *cancel)
{
    lw_rwlock_uplock(&subject->rwlock);
    const int error = lw_rwlock_upgrade_cancel(&subject->rwlock, deadline, cancel);
    const int unlocked = lw_rwlock_unlock(&subject->rwlock);
    return unlocked ? unlocked : error;
}

DO(forbid_barrier, lw_barrier_init(&s->barrier, 2))

static void allow_barrier(struct subject *subject)
{
    const int arrived = lw_barrier_drop(&subject->barrier);
    assert_true(arrived == 0 || arrived == LW_BARRIER_LEADER);
}

static int wait_barrier(struct subject *subject, lw_deadline deadline, lw_cancel *cancel)
{
    const int error = lw_barrier_wait_cancel(&subject->barrier, deadline, cancel);
    return error == LW_BARRIER_LEADER ? 0 : error;
}

DO(forbid_waitgroup, lw_waitgroup_add(&s->group, 1))
DO(allow_waitgroup, lw_waitgroup_done(&s->group))
WAIT(wait_waitgroup, lw_waitgroup_wait_cancel(&s->group, deadline, cancel), 0)

DO(forbid_latch, lw_latch_init(&s->latch, 1))
DO(forbid_arrival, lw_latch_init(&s->latch, 1000))

/* Threads that arrive meanwhile count, too, and then so many are too many. */
static void allow_latch(struct subject *subject)
{
    uint32_t pending;
    while ((pending = lw_latch_pending(&subject->latch)) != 0)
        lw_latch_count_down(&subject->latch, pending);
}

WAIT(wait_latch, lw_latch_wait_cancel(&s->latch, deadline, cancel), 0)

/* One that comes when the latch is open is told so. */
static int wait_arrival(struct subject *subject, lw_deadline deadline, lw_cancel *cancel)
{
    const int error = lw_latch_arrive_and_wait_cancel(&subject->latch, deadline, cancel);
    return error == EINVAL && lw_latch_try_wait(&subject->latch) ? 0 : error;
}

DO(forbid_auto_event, (s->event = (lw_event)LW_EVENT_AUTO_INIT, 0))
DO(allow_event, (lw_event_set(&s->event), 0))
WAIT(wait_event, lw_event_wait_cancel(&s->event, deadline, cancel), 0)
WAIT(wait_auto_event, lw_event_wait_cancel(&s->event, deadline, cancel),
     (lw_event_set(&s->event), 0))

static void forbid_once(struct subject *subject)
{
    assert_int_equal(lw_once_begin(&subject->once), LW_ONCE_RUN);
}

DO(allow_once, lw_once_finish(&s->once, false))

static int wait_once(struct subject *subject, lw_deadline deadline, lw_cancel *cancel)
{
    const int error = lw_once_begin_cancel(&subject->once, deadline, cancel);
    return error == LW_ONCE_RUN ? lw_once_finish(&subject->once, false) : error;
}

DO(forbid_counter, lw_counter_add(&s->counter, 3, NULL))
DO(allow_more, lw_counter_add(&s->counter, 2, NULL))
DO(allow_less, lw_counter_add(&s->counter, -2, NULL))
WAIT(wait_at_least, lw_counter_wait_at_least(&s->counter, 5, deadline, cancel), 0)
WAIT(wait_at_most, lw_counter_wait_at_most(&s->counter, 1, deadline, cancel), 0)
WAIT(wait_change, lw_counter_wait_change(&s->counter, 3, deadline, cancel), 0)

static int wait_any(struct subject *subject, lw_deadline deadline, lw_cancel *cancel)
{
    const lw_source sources[] = {lw_source_event(&subject->event), lw_source_sem(&subject->sem, 3),
                                 lw_source_at_least(&subject->counter, 1)};
    uint32_t which = UINT32_MAX;
    const int error = lw_wait_any(sources, COUNT_OF(sources), deadline, cancel, &which);
    return error ? error : which == 1 ? lw_sem_release(&subject->sem, 3) : -1;
}

static const struct operation operations[] = {
    {"mutex lock", forbid_mutex, allow_mutex, wait_mutex, false, false},
    {"rmutex lock", forbid_rmutex, allow_rmutex, wait_rmutex, false, false},
    {"cond wait", forbid_nothing, allow_cond, wait_cond, true, false},
    {"sem acquire", forbid_nothing, allow_sem, wait_sem, false, false},
    {"permits acquire", forbid_permits, allow_permits, wait_permits, false, false},
    {"rwlock rdlock", forbid_rwlock, allow_rwlock, wait_rdlock, false, false},
    {"rwlock uplock", forbid_rwlock, allow_rwlock, wait_uplock, false, false},
    {"rwlock wrlock beside a writer", forbid_rwlock, allow_rwlock, wait_wrlock, false, false},
    {"rwlock wrlock beside a reader", forbid_writers, allow_rwlock, wait_wrlock, false, false},
    {"rwlock upgrade", forbid_writers, allow_rwlock, wait_upgrade, false, true},
    {"barrier wait", forbid_barrier, allow_barrier, wait_barrier, false, true},
    {"waitgroup wait", forbid_waitgroup, allow_waitgroup, wait_waitgroup, false, false},
    {"latch wait", forbid_latch, allow_latch, wait_latch, false, false},
    {"latch arrive and wait", forbid_arrival, allow_latch, wait_arrival, false, false},
    {"event wait", forbid_nothing, allow_event, wait_event, false, false},
    {"event wait, auto", forbid_auto_event, allow_event, wait_auto_event, false, false},
    {"once begin", forbid_once, allow_once, wait_once, false, false},
    {"counter at least", forbid_counter, allow_more, wait_at_least, false, false},
    {"counter at most", forbid_counter, allow_less, wait_at_most, false, false},
    {"counter change", forbid_counter, allow_less, wait_change, false, false},
    {"any", forbid_nothing, allow_sem, wait_any, false, false},
};

/* A subject on which the operation has to wait. */
static struct subject forbidden(const struct operation *operation)
{
    struct subject subject;
    memset(&subject, 0, sizeof subject);
    operation->forbid(&subject);
    return subject;
}

struct waiting {
    const struct operation *operation;
    struct subject *subject;
};

static int wait_for_it(struct call *call)
{
    const struct waiting *waiting = call->on;
    return waiting->operation->wait(waiting->subject, call->deadline, call->cancel);
}

static struct call waiting_call(struct waiting *waiting, lw_deadline deadline, lw_cancel *cancel)
{
    return (struct call){.function = wait_for_it,
                         .on = waiting,
                         .deadline = deadline,
                         .cancel = cancel,
                         .result = -1};
}

static void a_passed_deadline_does_not_wait(void **state)
{
    const struct operation *operation = *state;
    const lw_deadline deadlines[] = {LW_NOW, -1, INT64_MIN, 1, now_ns()};
    int tries = 0; /* again, if others that use this machine may have held it up */
    for (size_t i = 0; i < COUNT_OF(deadlines);) {
        struct subject subject = forbidden(operation);
        struct waiting waiting = {operation, &subject};
        struct call call = waiting_call(&waiting, deadlines[i], NULL);
        const int64_t start_ns = now_ns();
        start_call(&call);
        assert_int_equal(end_call(&call), ETIMEDOUT);
        assert_int_equal(call.errno_after, LEFT_ERRNO);
        if (call.ended_ns - start_ns < 500 * NS_PER_MS)
            i++;
        else
            assert_true(++tries < 20);
    }
}

static void a_timeout_is_never_early(void **state)
{
    const struct operation *operation = *state;
    lw_cancel cancel = LW_CANCEL_INIT;
    int64_t least_late = INT64_MAX;
    /* As long as all are late, it may be that others hold up this machine. */
    for (int i = 0; i < 8 || (least_late >= 20 * NS_PER_MS && i < 500); i++) {
        const int ms = 1 + 4 * (i % 8);
        struct subject subject = forbidden(operation);
        struct waiting waiting = {operation, &subject};
        /* With a cancel that does not fire, and without. */
        struct call call = waiting_call(&waiting, lw_after_ms(ms), ms % 8 == 1 ? &cancel : NULL);
        start_call(&call);
        assert_int_equal(end_call(&call), ETIMEDOUT);
        const int64_t late = call.ended_ns - call.deadline;
        assert_true(late >= 0);
        least_late = late < least_late ? late : least_late;
        assert_int_equal(call.errno_after, LEFT_ERRNO);
    }
    assert_true(least_late < 20 * NS_PER_MS);
}

static void it_waits_until_it_may_go_on(void **state)
{
    const struct operation *operation = *state;
    const lw_deadline deadlines[] = {LW_FOREVER, LW_FOREVER - 1, LW_FOREVER / 2,
                                     lw_after_ms(INT64_MAX), lw_after_ms(60000)};
    for (size_t i = 0; i < COUNT_OF(deadlines); i++) {
        struct subject subject = forbidden(operation);
        struct waiting waiting = {operation, &subject};
        struct call call = waiting_call(&waiting, deadlines[i], NULL);
        start_sleeper(&call);
        sleep_ms(2);
        assert_false(has_ended(&call));
        operation->allow(&subject);
        assert_int_equal(end_call(&call), 0);
        assert_int_equal(call.errno_after, LEFT_ERRNO);
    }
}

static void what_need_not_wait_succeeds_whatever_has_passed_or_fired(void **state)
{
    const struct operation *operation = *state;
    const lw_deadline deadlines[] = {LW_NOW, -1, INT64_MIN, 1, now_ns()};
    lw_cancel fired = LW_CANCEL_INIT;
    lw_cancel_fire(&fired);
    for (size_t i = 0; i < COUNT_OF(deadlines) && !operation->forgets; i++) {
        struct subject subject = forbidden(operation);
        struct waiting waiting = {operation, &subject};
        operation->allow(&subject);
        struct call call = waiting_call(&waiting, deadlines[i], &fired);
        start_call(&call);
        assert_int_equal(end_call(&call), 0);
    }
}

static void a_cancel_that_has_fired_ends_it_at_once(void **state)
{
    const struct operation *operation = *state;
    struct subject subject = forbidden(operation);
    struct waiting waiting = {operation, &subject};
    lw_cancel cancel = LW_CANCEL_INIT;
    assert_false(lw_cancel_fired(&cancel));
    lw_cancel_fire(&cancel);
    lw_cancel_fire(&cancel);
    assert_true(lw_cancel_fired(&cancel));
    struct call call = waiting_call(&waiting, LW_FOREVER, &cancel);
    start_call(&call);
    assert_int_equal(end_call(&call), ECANCELED);
    assert_int_equal(call.errno_after, LEFT_ERRNO);
}

static void a_cancel_ends_a_wait(void **state)
{
    const struct operation *operation = *state;
    const lw_deadline deadlines[] = {LW_FOREVER, lw_after_ms(60000)};
    for (size_t i = 0; i < COUNT_OF(deadlines); i++) {
        struct subject subject = forbidden(operation);
        struct waiting waiting = {operation, &subject};
        lw_cancel cancel = LW_CANCEL_INIT;
        struct call call = waiting_call(&waiting, deadlines[i], &cancel);
        start_sleeper(&call);
        lw_cancel_fire(&cancel);
        assert_int_equal(end_call(&call), ECANCELED);
        assert_int_equal(call.errno_after, LEFT_ERRNO);
    }
}

static void a_cancel_wakes_its_own_waiters_only(void **state)
{
    const struct operation *operation = *state;
    if (operation->alone)
        return;
    struct subject subject = forbidden(operation);
    struct waiting waiting = {operation, &subject};
    lw_cancel first = LW_CANCEL_INIT;
    lw_cancel second = LW_CANCEL_INIT;
    lw_cancel *const cancels[] = {&first, &first, &second, NULL};
    struct call calls[COUNT_OF(cancels)];
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        calls[i] = waiting_call(&waiting, LW_FOREVER, cancels[i]);
        start_sleeper(&calls[i]);
    }
    lw_cancel_fire(&first);
    assert_int_equal(end_call(&calls[0]), ECANCELED);
    assert_int_equal(end_call(&calls[1]), ECANCELED);
    sleep_ms(5);
    assert_false(has_ended(&calls[2]) || has_ended(&calls[3]));
    lw_cancel_fire(&second);
    assert_int_equal(end_call(&calls[2]), ECANCELED);
    sleep_ms(5);
    assert_false(has_ended(&calls[3]));
    operation->allow(&subject);
    assert_int_equal(end_call(&calls[3]), 0);
}

/* One is cancelled just when all may go on: whether it succeeds or not, the others must. */
static void one_that_is_cancelled_strands_nobody(void **state)
{
    const struct operation *operation = *state;
    if (operation->alone)
        return;
    uint32_t seed = 1;
    for (int round = 0; round < 30; round++) {
        struct subject subject = forbidden(operation);
        struct waiting waiting = {operation, &subject};
        lw_cancel cancel = LW_CANCEL_INIT;
        struct call calls[3];
        for (size_t i = 0; i < COUNT_OF(calls); i++) {
            calls[i] = waiting_call(&waiting, LW_FOREVER, i == 1 ? &cancel : NULL);
            start_call(&calls[i]);
        }
        for (size_t i = 0; i < COUNT_OF(calls) && (operation->forgets || round % 2); i++)
            await_sleep(&calls[i].helper);
        const bool cancels_first = next_random(&seed) % 2;
        if (cancels_first)
            lw_cancel_fire(&cancel);
        operation->allow(&subject);
        lw_cancel_fire(&cancel);
        assert_int_equal(end_call(&calls[0]), 0);
        const int cancelled = end_call(&calls[1]);
        assert_true(cancelled == 0 || cancelled == ECANCELED);
        assert_int_equal(end_call(&calls[2]), 0);
    }
}

#ifndef _WIN32 /* which sends no signals to threads */

static volatile sig_atomic_t handled;

static void count_signal(int signal)
{
    (void)signal;
    handled++;
}

static void send_signals(const struct call *call, int64_t until)
{
    while (now_ns() < until) {
        pthread_kill(call->helper.thread, SIGUSR1);
        sleep_ms(1);
    }
}

static void a_signal_storm_ends_no_wait(void **state)
{
    const struct operation *operation = *state;
    struct sigaction action = {.sa_handler = count_signal};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    for (int cancellable = 0; cancellable < 2; cancellable++) {
        lw_cancel cancel = LW_CANCEL_INIT;
        struct subject subject = forbidden(operation);
        struct waiting waiting = {operation, &subject};
        /* A machine that is busy elsewhere may not run the thread in time: then the deadline is
         * longer. */
        handled = 0;
        for (int64_t ms = 60; handled <= 2 && ms < 4000; ms *= 2) {
            subject = forbidden(operation);
            struct call call =
                waiting_call(&waiting, lw_after_ms(ms), cancellable ? &cancel : NULL);
            handled = 0;
            start_call(&call);
            send_signals(&call, call.deadline - 20 * NS_PER_MS);
            assert_int_equal(end_call(&call), ETIMEDOUT);
            assert_true(call.ended_ns >= call.deadline);
            assert_int_equal(call.errno_after, LEFT_ERRNO);
        }
        assert_true(handled > 2);
        subject = forbidden(operation);
        struct call untimed = waiting_call(&waiting, LW_FOREVER, cancellable ? &cancel : NULL);
        start_sleeper(&untimed);
        send_signals(&untimed, now_ns() + 10 * NS_PER_MS);
        assert_false(has_ended(&untimed));
        operation->allow(&subject);
        assert_int_equal(end_call(&untimed), 0);
        assert_int_equal(untimed.errno_after, LEFT_ERRNO);
    }
}

#endif

/* How a wait may be bounded from outside: with a deadline that is far, and with a cancel that does
 * not fire. */
enum { TIMED = 1, CANCELLABLE = 2, BOUNDS = 4 };

#define EACH 2           /* waiters of a kind */
#define BEGINNING_MS 600 /* in which they may look, and re-check for fairness */
#define ASLEEP_MS 1000
#define CHANCES 4
/* Where waiters look, once a second, one in a semaphore's line re-checks after each look. */
#if defined LW_POLLING || !LW_LINUX
#define MOST_SLEEPS 4
#else
#define MOST_SLEEPS 2
#endif

struct sleepers {
    struct subject subject;
    struct waiting waiting;
    lw_cancel cancel;
    struct call calls[EACH];
    struct usage before[EACH];
    bool slept[EACH];
    int count;
};

static void begin_to_sleep(struct sleepers *sleepers, const struct operation *operation, int bounds)
{
    *sleepers =
        (struct sleepers){.subject = forbidden(operation), .count = operation->alone ? 1 : EACH};
    sleepers->waiting = (struct waiting){operation, &sleepers->subject};
    for (int i = 0; i < sleepers->count; i++) {
        sleepers->calls[i] =
            waiting_call(&sleepers->waiting, bounds & TIMED ? lw_after_ms(60000) : LW_FOREVER,
                         bounds & CANCELLABLE ? &sleepers->cancel : NULL);
        start_call(&sleepers->calls[i]);
    }
}

/* Returns whether a waiter has slept since `before`, or writes what it did instead. */
static bool has_slept(const struct sleepers *sleepers, int i, int64_t ms, char *otherwise,
                      size_t size)
{
    const struct usage now = usage_of(&sleepers->calls[i].helper);
    const long sleeps = now.sleeps - sleepers->before[i].sleeps;
    const int64_t us = (now.cpu_ns - sleepers->before[i].cpu_ns) / 1000;
    if (sleeps * ASLEEP_MS <= MOST_SLEEPS * ms && us <= ms)
        return true;
    snprintf(otherwise, size,
             "%s%s%s: a blocked waiter has woken %ld times and run for %lld us within %lld ms",
             sleepers->waiting.operation->name,
             sleepers->calls[i].deadline == LW_FOREVER ? "" : ", timed",
             sleepers->calls[i].cancel ? ", cancellable" : "", sleeps, (long long)us,
             (long long)ms);
    return false;
}

/* A waiter for something that does not come costs nothing. All operations at once, since it takes a
 * while. A host may take a CPU away from a virtual machine. If it does not say so, the thread that
 * had the CPU seems to have run. So each waiter has a few chances. A waiter that polls misses all.
 */
static void blocked_waiters_sleep(void **state)
{
    (void)state;
    static struct sleepers all[COUNT_OF(operations)][BOUNDS];
    for (size_t k = 0; k < COUNT_OF(operations); k++) {
        for (int bounds = 0; bounds < BOUNDS; bounds++)
            begin_to_sleep(&all[k][bounds], &operations[k], bounds);
    }
    struct sleepers *const first = &all[0][0];
    struct sleepers *const end = first + COUNT_OF(operations) * BOUNDS;
    for (struct sleepers *s = first; s < end; s++) {
        for (int i = 0; i < s->count; i++)
            await_sleep(&s->calls[i].helper);
    }
    sleep_ms(BEGINNING_MS);
    char otherwise[200];
    int chances = CHANCES;
    do {
        *otherwise = 0;
        const int64_t from = now_ns();
        for (struct sleepers *s = first; s < end; s++) {
            for (int i = 0; i < s->count; i++)
                s->before[i] = usage_of(&s->calls[i].helper);
        }
        sleep_ms(ASLEEP_MS);
        for (struct sleepers *s = first; s < end; s++) {
            for (int i = 0; i < s->count; i++) {
                const int64_t ms = (now_ns() - from) / NS_PER_MS; /* many, on a busy machine */
                s->slept[i] = s->slept[i] || has_slept(s, i, ms, otherwise, sizeof otherwise);
            }
        }
    } while (*otherwise && --chances);
    if (*otherwise)
        fail_msg("%s", otherwise);
    for (struct sleepers *s = first; s < end; s++) {
        s->waiting.operation->allow(&s->subject);
        for (int i = 0; i < s->count; i++)
            assert_int_equal(end_call(&s->calls[i]), 0);
    }
}

static const struct CMUnitTest bodies[] = {
    cmocka_unit_test(a_passed_deadline_does_not_wait),
    cmocka_unit_test(a_timeout_is_never_early),
    cmocka_unit_test(it_waits_until_it_may_go_on),
    cmocka_unit_test(what_need_not_wait_succeeds_whatever_has_passed_or_fired),
    cmocka_unit_test(a_cancel_that_has_fired_ends_it_at_once),
    cmocka_unit_test(a_cancel_ends_a_wait),
    cmocka_unit_test(a_cancel_wakes_its_own_waiters_only),
    cmocka_unit_test(one_that_is_cancelled_strands_nobody),
#ifndef _WIN32
    cmocka_unit_test(a_signal_storm_ends_no_wait),
#endif
};

int main(void)
{
    static struct CMUnitTest tests[COUNT_OF(operations) * COUNT_OF(bodies) + 1];
    static char names[COUNT_OF(tests)][96];
    tests[COUNT_OF(tests) - 1] = (struct CMUnitTest)cmocka_unit_test(blocked_waiters_sleep);
    for (size_t i = 0; i < COUNT_OF(tests) - 1; i++) {
        const struct operation *operation = &operations[i / COUNT_OF(bodies)];
        tests[i] = bodies[i % COUNT_OF(bodies)];
        snprintf(names[i], sizeof names[i], "%s: %s", operation->name, tests[i].name);
        tests[i].name = names[i];
        tests[i].initial_state = (void *)(uintptr_t)operation;
    }
    return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
