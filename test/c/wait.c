/* wait.c: what lockword/wait.h promises. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <lockword/lockword.h>

struct sleeper {
    struct helper helper;
    uint32_t *word;
    uint32_t expected;
    lw_deadline deadline;
    lw_woken woken;
    int errno_after;
};

static void sleep_on_word(void *argument)
{
    struct sleeper *sleeper = argument;
    errno = 12345;
    sleeper->woken = lw_wait(sleeper->word, sleeper->expected, sleeper->deadline);
    sleeper->errno_after = errno;
}

static void start_sleeper(struct sleeper *sleeper, uint32_t *word, lw_deadline deadline)
{
    *sleeper = (struct sleeper){.word = word, .deadline = deadline};
    start(&sleeper->helper, sleep_on_word, sleeper);
}

static void not_equal_returns_at_once_and_beats_a_passed_deadline(void **state)
{
    (void)state;
    const uint32_t word = 1;
    const lw_deadline deadlines[] = {LW_FOREVER, LW_NOW, -1, INT64_MIN, lw_after_ms(1000)};
    for (size_t i = 0; i < COUNT_OF(deadlines); i++)
        assert_int_equal(lw_wait(&word, 0, deadlines[i]), LW_NOT_EQUAL);
}

static void a_passed_deadline_does_not_wait(void **state)
{
    (void)state;
    const uint32_t word = 0;
    const lw_deadline deadlines[] = {LW_NOW, -1, INT64_MIN, 1, now_ns()};
    const int64_t start_ns = now_ns();
    for (size_t i = 0; i < COUNT_OF(deadlines); i++)
        assert_int_equal(lw_wait(&word, 0, deadlines[i]), LW_TIMED_OUT);
    assert_true(now_ns() - start_ns < 500 * NS_PER_MS);
}

static void a_timeout_is_never_early(void **state)
{
    (void)state;
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

static void deadlines_saturate(void **state)
{
    (void)state;
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

static void notify_wakes_as_many_as_asked_and_counts_them(void **state)
{
    (void)state;
    static uint32_t word;
    static struct sleeper sleepers[5];
    assert_int_equal(lw_notify(&word, LW_ALL), 0);
    for (size_t i = 0; i < COUNT_OF(sleepers); i++)
        start_sleeper(&sleepers[i], &word, LW_FOREVER);
    for (size_t i = 0; i < COUNT_OF(sleepers); i++)
        await_sleep(&sleepers[i].helper);
    assert_int_equal(lw_notify(&word, 0), 0);
    assert_int_equal(lw_notify(&word, 1), 1);
    assert_int_equal(lw_notify(&word, 2), 2);
    assert_int_equal(lw_notify(&word, LW_ALL), 2);
    assert_int_equal(lw_notify(&word, LW_ALL), 0);
    for (size_t i = 0; i < COUNT_OF(sleepers); i++) {
        join(&sleepers[i].helper);
        assert_int_equal(sleepers[i].woken, LW_OK);
        assert_int_equal(sleepers[i].errno_after, 12345);
    }
}

static void notify_reaches_only_its_own_word(void **state)
{
    (void)state;
    uint32_t words[2] = {0, 0};
    struct sleeper sleeper;
    start_sleeper(&sleeper, &words[0], LW_FOREVER);
    await_sleep(&sleeper.helper);
    assert_int_equal(lw_notify(&words[1], LW_ALL), 0);
    assert_int_equal(lw_notify(&words[0], LW_ALL), 1);
    join(&sleeper.helper);
}

static void far_deadlines_wait(void **state)
{
    (void)state;
    const lw_deadline deadlines[] = {LW_FOREVER, LW_FOREVER - 1, LW_FOREVER / 2};
    for (size_t i = 0; i < COUNT_OF(deadlines); i++) {
        uint32_t word = 0;
        struct sleeper sleeper;
        start_sleeper(&sleeper, &word, deadlines[i]);
        await_sleep(&sleeper.helper);
        assert_int_equal(lw_notify(&word, 1), 1);
        join(&sleeper.helper);
        assert_int_equal(sleeper.woken, LW_OK);
    }
}

static void notify_does_not_read_the_word(void **state)
{
    (void)state;
    /* Nothing is mapped there. */
    assert_int_equal(lw_notify((uint32_t *)(uintptr_t)4096, LW_ALL), 0);
}

static void errno_is_preserved(void **state)
{
    (void)state;
    uint32_t word = 0;
    errno = 12345;
    lw_wait(&word, 1, LW_FOREVER);
    lw_wait(&word, 0, LW_NOW);
    lw_wait(&word, 0, lw_after_ms(1));
    lw_notify(&word, LW_ALL);
    assert_int_equal(errno, 12345);
}

static volatile sig_atomic_t handled;

static void count_signal(int signal)
{
    (void)signal;
    handled++;
}

static void a_signal_storm_ends_no_wait(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = count_signal};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    uint32_t word = 0;
    struct sleeper timed, untimed;
    const lw_deadline deadline = lw_after_ms(300);
    start_sleeper(&timed, &word, deadline);
    start_sleeper(&untimed, &word, LW_FOREVER);
    handled = 0;
    while (now_ns() < deadline - 20 * NS_PER_MS) {
        pthread_kill(timed.helper.thread, SIGUSR1);
        pthread_kill(untimed.helper.thread, SIGUSR1);
        sleep_ms(1);
    }
    join(&timed.helper);
    assert_true(now_ns() >= deadline);
    assert_int_equal(timed.woken, LW_TIMED_OUT);
    assert_int_equal(timed.errno_after, 12345);
    assert_true(handled > 10);
    assert_int_equal(lw_notify(&word, LW_ALL), 1);
    join(&untimed.helper);
    assert_int_equal(untimed.woken, LW_OK);
    assert_int_equal(untimed.errno_after, 12345);
}

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

static void comparing_and_falling_asleep_is_one_step(void **state)
{
    (void)state;
    struct ball ball = {0, 0};
    struct helper players[2];
    start(&players[0], play, &ball);
    start(&players[1], play, &ball);
    join(&players[0]);
    join(&players[1]);
    assert_int_equal(ball.word, TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_equal_returns_at_once_and_beats_a_passed_deadline),
        cmocka_unit_test(a_passed_deadline_does_not_wait),
        cmocka_unit_test(a_timeout_is_never_early),
        cmocka_unit_test(deadlines_saturate),
        cmocka_unit_test(notify_wakes_as_many_as_asked_and_counts_them),
        cmocka_unit_test(notify_reaches_only_its_own_word),
        cmocka_unit_test(far_deadlines_wait),
        cmocka_unit_test(notify_does_not_read_the_word),
        cmocka_unit_test(errno_is_preserved),
        cmocka_unit_test(a_signal_storm_ends_no_wait),
        cmocka_unit_test(comparing_and_falling_asleep_is_one_step),
    };
    return cmocka_run_group_tests_name("wait", tests, NULL, NULL);
}
