/* wait.c: what lockword/wait.h promises. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <lockword/lockword.h>

static int sleep_on_word(struct call *call)
{
    return (int)lw_wait(call->on, 0, call->deadline);
}

static void start_sleeper_on(struct call *call, uint32_t *word, lw_deadline deadline)
{
    *call = calling(sleep_on_word, word);
    call->deadline = deadline;
    start_call(call);
}

TEST(not_equal_returns_at_once_and_beats_a_passed_deadline)
{
    const uint32_t word = 1;
    const lw_deadline deadlines[] = {LW_FOREVER, LW_NOW, -1, INT64_MIN, lw_after_ms(1000)};
    for (size_t i = 0; i < COUNT_OF(deadlines); i++)
        assert_int_equal(lw_wait(&word, 0, deadlines[i]), LW_NOT_EQUAL);
}

TEST(a_passed_deadline_does_not_wait)
{
    const uint32_t word = 0;
    const lw_deadline deadlines[] = {LW_NOW, -1, INT64_MIN, 1, now_ns()};
    const int64_t start_ns = now_ns();
    for (size_t i = 0; i < COUNT_OF(deadlines); i++)
        assert_int_equal(lw_wait(&word, 0, deadlines[i]), LW_TIMED_OUT);
    assert_true(now_ns() - start_ns < 500 * NS_PER_MS);
}

TEST(a_timeout_is_never_early)
{
    const uint32_t word = 0;
    int64_t least_late = INT64_MAX;
    for (int ms = 0; ms < 20; ms++) {
        const lw_deadline deadline = lw_after_ms(ms);
        lw_woken woken;
        while ((woken = lw_wait(&word, 0, deadline)) == LW_OK) {
        }
        assert_int_equal(woken, LW_TIMED_OUT);
        const int64_t late = now_ns() - deadline;
        assert_true(late >= 0);
        least_late = late < least_late ? late : least_late;
    }
    assert_true(least_late < 5 * NS_PER_MS);
}

TEST(deadlines_saturate)
{
    const int64_t before = now_ns();
    assert_true(lw_after_ns(0) >= before && lw_after_ns(0) <= now_ns());
    assert_true(lw_after_ms(1000) - lw_after_ns(1000000000) <= 0);
    assert_int_equal(lw_after_ns(-1), LW_NOW);
    assert_int_equal(lw_after_ns(INT64_MIN), LW_NOW);
    assert_int_equal(lw_after_ms(-1), LW_NOW);
    assert_int_equal(lw_after_ms(INT64_MIN), LW_NOW);
    assert_true(lw_after_ns(INT64_MAX) == LW_FOREVER);
    assert_true(lw_after_ns(INT64_MAX - before) == LW_FOREVER);
    assert_true(lw_after_ms(INT64_MAX) == LW_FOREVER);
    assert_true(lw_after_ms(INT64_MAX / NS_PER_MS) == LW_FOREVER);
    assert_true(lw_after_ms(INT64_MAX / NS_PER_MS + 1) == LW_FOREVER);
    assert_true(lw_after_ms(1) < LW_FOREVER);
}

TEST(notify_wakes_as_many_as_asked_and_counts_them)
{
    static uint32_t word;
    struct call calls[5];
    assert_int_equal(lw_notify(&word, LW_ALL), 0);
    start_calls(calls, COUNT_OF(calls), calling(sleep_on_word, &word));
    await_sleeps(calls, COUNT_OF(calls));
    assert_int_equal(lw_notify(&word, 0), 0);
    assert_int_equal(lw_notify(&word, 1), 1);
    assert_int_equal(lw_notify(&word, 2), 2);
    assert_int_equal(lw_notify(&word, LW_ALL), 2);
    assert_int_equal(lw_notify(&word, LW_ALL), 0);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        assert_int_equal(end_call(&calls[i]), LW_OK);
        assert_int_equal(calls[i].errno_after, LEFT_ERRNO);
    }
}

TEST(notify_reaches_only_its_own_word)
{
    uint32_t words[2] = {0, 0};
    struct call sleeper;
    start_sleeper_on(&sleeper, &words[0], LW_FOREVER);
    await_sleep(&sleeper.helper);
    assert_int_equal(lw_notify(&words[1], LW_ALL), 0);
    assert_int_equal(lw_notify(&words[0], LW_ALL), 1);
    assert_int_equal(end_call(&sleeper), LW_OK);
}

TEST(far_deadlines_wait)
{
    const lw_deadline deadlines[] = {LW_FOREVER, LW_FOREVER - 1, LW_FOREVER / 2};
    for (size_t i = 0; i < COUNT_OF(deadlines); i++) {
        uint32_t word = 0;
        struct call sleeper;
        start_sleeper_on(&sleeper, &word, deadlines[i]);
        await_sleep(&sleeper.helper);
        assert_int_equal(lw_notify(&word, 1), 1);
        assert_int_equal(end_call(&sleeper), LW_OK);
    }
}

TEST(notify_does_not_read_the_word)
{
    /* Nothing is mapped there. */
    assert_int_equal(lw_notify((uint32_t *)(uintptr_t)4096, LW_ALL), 0);
}

TEST(errno_is_preserved)
{
    uint32_t word = 0;
    errno = 12345;
    lw_wait(&word, 1, LW_FOREVER);
    lw_wait(&word, 0, LW_NOW);
    lw_wait(&word, 0, lw_after_ms(1));
    lw_notify(&word, LW_ALL);
    assert_int_equal(errno, 12345);
}

#ifndef __ANDROID__ /* which has no pthread_cancel */

TEST(a_wait_does_not_end_by_pthread_cancel)
{
    uint32_t word = 0;
    struct call sleeper;
    start_sleeper_on(&sleeper, &word, LW_FOREVER);
    await_sleep(&sleeper.helper);
    assert_int_equal(pthread_cancel(sleeper.helper.thread), 0);
    sleep_ms(3);
    await_sleep(&sleeper.helper);
    assert_int_equal(lw_notify(&word, 1), 1);
    assert_int_equal(end_call(&sleeper), LW_OK);
}

#endif

#ifndef _WIN32 /* which sends no signals to threads */

static volatile sig_atomic_t handled;

static void count_signal(int signal)
{
    (void)signal;
    handled++;
}

TEST(a_signal_storm_ends_no_wait)
{
    struct sigaction action = {.sa_handler = count_signal};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    uint32_t word = 0;
    struct call timed, untimed;
    const lw_deadline deadline = lw_after_ms(300);
    start_sleeper_on(&timed, &word, deadline);
    start_sleeper_on(&untimed, &word, LW_FOREVER);
    handled = 0;
    while (now_ns() < deadline - 20 * NS_PER_MS) {
        pthread_kill(timed.helper.thread, SIGUSR1);
        pthread_kill(untimed.helper.thread, SIGUSR1);
        sleep_ms(1);
    }
    assert_int_equal(end_call(&timed), LW_TIMED_OUT);
    assert_true(timed.ended_ns >= deadline);
    assert_int_equal(timed.errno_after, LEFT_ERRNO);
    assert_true(handled > 10);
    assert_int_equal(lw_notify(&word, LW_ALL), 1);
    assert_int_equal(end_call(&untimed), LW_OK);
    assert_int_equal(untimed.errno_after, LEFT_ERRNO);
}

#endif

#define TURNS 20000

struct ball {
    uint32_t word;
    uint32_t side;
};

/* Waits for ever for its turn, so that one lost wake hangs it. */
static void play(void *argument)
{
    struct ball *ball = argument;
    const uint32_t mine = __atomic_fetch_add(&ball->side, 1, __ATOMIC_RELAXED);
    for (;;) {
        const uint32_t turn = __atomic_load_n(&ball->word, __ATOMIC_ACQUIRE);
        if (turn >= TURNS)
            return;
        if (turn % 2 != mine) {
            lw_wait(&ball->word, turn, LW_FOREVER);
            continue;
        }
        __atomic_store_n(&ball->word, turn + 1, __ATOMIC_RELEASE);
        lw_notify(&ball->word, LW_ALL);
    }
}

TEST(comparing_and_falling_asleep_is_one_step)
{
    struct ball ball = {0, 0};
    struct helper players[2];
    start(&players[0], play, &ball);
    start(&players[1], play, &ball);
    join(&players[0]);
    join(&players[1]);
    assert_int_equal(ball.word, TURNS);
}

RUN_TESTS("wait")
