/* barrier.c: what lockword/barrier.h promises besides what every operation that waits does
 * (waits.c). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>

#include <lockword/lockword.h>

#define STATE(barrier) ((barrier)->word[LW_BARRIER_STATE])

static int arrive(struct call *call)
{
    return lw_barrier_wait_cancel(call->on, call->deadline, call->cancel);
}

static void start_arriving(struct call *calls, size_t n, lw_barrier *barrier)
{
    start_sleepers(calls, n, calling(arrive, barrier));
}

TEST(one_of_each_cycle_leads)
{
    lw_barrier barrier = LW_BARRIER_INIT(4);
    assert_int_equal(sizeof barrier, 12);
    for (int cycle = 0; cycle < 10; cycle++) {
        struct call calls[3];
        start_arriving(calls, COUNT_OF(calls), &barrier);
        assert_none_ended(calls, COUNT_OF(calls));
        assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
        end_calls(calls, COUNT_OF(calls));
    }
    assert_false(lw_barrier_is_broken(&barrier));
}

TEST(it_has_one_to_4095_parties)
{
    lw_barrier barrier = {{0, 0, 0}};
    assert_int_equal(lw_barrier_wait(&barrier), EINVAL);
    assert_int_equal(lw_barrier_wait_until(&barrier, LW_NOW), EINVAL);
    assert_int_equal(lw_barrier_drop(&barrier), EINVAL);
    assert_int_equal(lw_barrier_init(&barrier, 0), EINVAL);
    assert_int_equal(lw_barrier_init(&barrier, LW_BARRIER_MAX + 1), EINVAL);
    assert_int_equal(lw_barrier_init(&barrier, UINT32_MAX), EINVAL);
    assert_int_equal(lw_barrier_wait(&barrier), EINVAL);
    assert_int_equal(lw_barrier_init(&barrier, 1), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
    assert_int_equal(LW_BARRIER_MAX, 4095);
    assert_int_equal(lw_barrier_init(&barrier, LW_BARRIER_MAX), 0);
    for (uint32_t i = 1; i < LW_BARRIER_MAX; i++)
        assert_int_equal(lw_barrier_drop(&barrier), 0);
    assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
    /* All but one have left for good. */
    assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
}

TEST(one_that_gives_up_breaks_it_for_all_until_it_is_reset)
{
    lw_cancel cancel = LW_CANCEL_INIT;
    for (int way = 0; way < 2; way++) {
        lw_barrier barrier = LW_BARRIER_INIT(4);
        struct call calls[2];
        start_arriving(calls, COUNT_OF(calls), &barrier);
        lw_cancel_fire(&cancel);
        assert_int_equal(way ? lw_barrier_wait_cancel(&barrier, LW_FOREVER, &cancel)
                             : lw_barrier_wait_until(&barrier, lw_after_ms(2)),
                         way ? ECANCELED : ETIMEDOUT);
        end_calls_with(calls, COUNT_OF(calls), EPIPE);
        assert_true(lw_barrier_is_broken(&barrier));
        assert_int_equal(lw_barrier_wait(&barrier), EPIPE);
        assert_int_equal(lw_barrier_wait_until(&barrier, LW_NOW), EPIPE);
        lw_barrier_reset(&barrier);
        assert_false(lw_barrier_is_broken(&barrier));
        struct call next[3];
        start_arriving(next, COUNT_OF(next), &barrier);
        assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
        end_calls(next, COUNT_OF(next));
    }
}

TEST(a_reset_breaks_it_for_those_who_wait_only)
{
    lw_barrier barrier = LW_BARRIER_INIT(3);
    struct call calls[2];
    start_arriving(calls, COUNT_OF(calls), &barrier);
    lw_barrier_reset(&barrier);
    assert_false(lw_barrier_is_broken(&barrier));
    end_calls_with(calls, COUNT_OF(calls), EPIPE);
    start_arriving(calls, COUNT_OF(calls), &barrier);
    assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
    end_calls(calls, COUNT_OF(calls));
    /* Of nobody's concern. */
    lw_barrier_reset(&barrier);
    start_arriving(calls, COUNT_OF(calls), &barrier);
    assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
    end_calls(calls, COUNT_OF(calls));
}

TEST(who_drops_arrives_once_more_and_is_missed_no_longer)
{
    lw_barrier barrier = LW_BARRIER_INIT(3);
    struct call calls[2];
    start_arriving(calls, 1, &barrier);
    assert_int_equal(lw_barrier_drop(&barrier), 0);
    sleep_ms(2);
    assert_false(has_ended(&calls[0]));
    assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
    assert_int_equal(end_call(&calls[0]), 0);
    /* Two from now on. */
    start_arriving(calls, 1, &barrier);
    assert_int_equal(lw_barrier_drop(&barrier), LW_BARRIER_LEADER);
    assert_int_equal(end_call(&calls[0]), 0);
    /* One. */
    assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
    /* None. */
    assert_int_equal(lw_barrier_drop(&barrier), LW_BARRIER_LEADER);
    assert_int_equal(lw_barrier_wait(&barrier), EINVAL);
}

TEST(a_drop_from_a_broken_one_is_told)
{
    lw_barrier barrier = LW_BARRIER_INIT(3);
    assert_int_equal(lw_barrier_wait_until(&barrier, LW_NOW), ETIMEDOUT);
    assert_int_equal(lw_barrier_drop(&barrier), EPIPE);
    lw_barrier_reset(&barrier);
    struct call call;
    start_arriving(&call, 1, &barrier);
    assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
    assert_int_equal(end_call(&call), 0);
}

TEST(its_generation_wraps)
{
    lw_barrier barrier = {{LW_BARRIER_GENERATION | 2, 0, 2}};
    for (int i = 0; i < 3; i++) {
        struct call call;
        start_arriving(&call, 1, &barrier);
        assert_int_equal(lw_barrier_wait(&barrier), LW_BARRIER_LEADER);
        assert_int_equal(end_call(&call), 0);
    }
    assert_int_equal(STATE(&barrier), 2 * LW_BARRIER_ONE_GENERATION | 2);
}

static uint32_t outcome_of_arrival(lw_barrier *barrier)
{
    return lw_answer_what(lw_barrier_arrive_step(barrier->word));
}

/* Ends a cycle of two: everybody arrives, or one gives up and it is reset. */
static void end_cycle(lw_barrier *barrier, bool trips)
{
    if (!trips) {
        assert_int_equal(lw_barrier_wait_until(barrier, LW_NOW), ETIMEDOUT);
        lw_barrier_reset(barrier);
        return;
    }
    assert_int_equal(outcome_of_arrival(barrier), LW_BARRIER_WAITS);
    assert_int_equal(outcome_of_arrival(barrier), LW_BARRIER_LEADS);
}

/* One that looks only after later cycles have ended is told of its own, as far back as the history
 * goes. */
TEST(who_comes_late_is_told_how_its_own_cycle_ended)
{
    for (int own_trips = 0; own_trips < 2; own_trips++) {
        for (uint32_t others = 0; others < 1u << 5; others++) {
            lw_barrier barrier = LW_BARRIER_INIT(2);
            const lw_answer arrival = lw_barrier_arrive_step(barrier.word);
            const uint32_t mine = lw_answer_expected(arrival);
            assert_int_equal(lw_answer_what(arrival), LW_BARRIER_WAITS);
            if (own_trips)
                assert_int_equal(outcome_of_arrival(&barrier), LW_BARRIER_LEADS);
            else
                lw_barrier_reset(&barrier);
            /* It changes nothing that nobody waits for. */
            lw_barrier_reset(&barrier);
            lw_barrier_reset(&barrier);
            for (uint32_t later = 0; later < 5; later++) {
                const lw_answer answer = lw_barrier_wait_step(barrier.word, mine, LW_OK, 0);
                assert_int_equal(lw_answer_what(answer), LW_DONE);
                assert_int_equal(lw_answer_expected(answer),
                                 own_trips ? LW_BARRIER_TRIPPED : LW_BARRIER_BROKE);
                end_cycle(&barrier, others >> later & 1);
            }
            /* Too late: now what came of the later ones tells. */
            assert_int_equal(lw_barrier_outcome_of(mine, lw_barrier_state(barrier.word)),
                             others == (1u << 5) - 1 ? LW_BARRIER_TRIPPED : LW_BARRIER_BROKE);
        }
    }
}

#define PARTIES 5
#define CYCLES 2000

struct meeting {
    lw_barrier barrier;
    uint32_t parts[PARTIES]; /* plain: only the barrier orders them */
    uint32_t leaders;        /* atomic */
};

static int meet_often(struct call *call)
{
    struct meeting *meeting = call->on;
    int failures = 0;
    for (uint32_t i = 1; i <= CYCLES; i++) {
        meeting->parts[call->n] = i;
        const int arrived = lw_barrier_wait(&meeting->barrier);
        failures += arrived != 0 && arrived != LW_BARRIER_LEADER;
        if (arrived == LW_BARRIER_LEADER)
            __atomic_fetch_add(&meeting->leaders, 1, __ATOMIC_RELAXED);
        for (size_t k = 0; k < PARTIES; k++)
            failures += meeting->parts[k] != i;
        lw_barrier_wait(&meeting->barrier);
    }
    return failures;
}

TEST(all_see_what_all_did_in_every_cycle)
{
    static struct meeting meeting = {.barrier = LW_BARRIER_INIT(PARTIES)};
    struct call calls[PARTIES];
    for (uint32_t i = 0; i < PARTIES; i++) {
        calls[i] = (struct call){.function = meet_often, .on = &meeting, .n = i};
        start_call(&calls[i]);
    }
    for (size_t i = 0; i < PARTIES; i++)
        assert_int_equal(end_call(&calls[i]), 0);
    assert_int_equal(meeting.leaders, CYCLES);
    assert_int_equal(STATE(&meeting.barrier) & ~LW_BARRIER_GENERATION, PARTIES);
}

RUN_TESTS("barrier")
