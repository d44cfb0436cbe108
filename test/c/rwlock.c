/* rwlock.c: what lockword/rwlock.h promises besides what every operation that waits does (waits.c).
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <sched.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

/* Of waiters: they may be outdated. */
#define MARKS (LW_WAITERS | LW_RWLOCK_BLOCKED_READERS | LW_RWLOCK_MIXED)

#define STATE(rwlock) (__atomic_load_n(&(rwlock)->word[LW_RWLOCK_STATE], __ATOMIC_ACQUIRE))

static int read_it(struct call *call)
{
    return lw_rwlock_rdlock_cancel(call->on, call->deadline, call->cancel);
}

static int read_upgradably(struct call *call)
{
    return lw_rwlock_uplock_cancel(call->on, call->deadline, call->cancel);
}

static int write_it(struct call *call)
{
    return lw_rwlock_wrlock_cancel(call->on, call->deadline, call->cancel);
}

static int read_and_unlock(struct call *call)
{
    const int error = read_it(call);
    return error ? error : lw_rwlock_unlock(call->on);
}

static int unlock_it(struct call *call)
{
    return lw_rwlock_unlock(call->on);
}

static int try_all(struct call *call)
{
    const int read = lw_rwlock_tryrdlock(call->on);
    if (read == 0)
        lw_rwlock_unlock(call->on);
    const int upgradable = lw_rwlock_tryuplock(call->on);
    if (upgradable == 0)
        lw_rwlock_unlock(call->on);
    const int written = lw_rwlock_trywrlock(call->on);
    if (written == 0)
        lw_rwlock_unlock(call->on);
    return (read == 0) | (upgradable == 0) << 1 | (written == 0) << 2;
}

static void start_it(struct call *call, int (*function)(struct call *), lw_rwlock *rwlock)
{
    *call = calling(function, rwlock);
    start_call(call);
}

/* What the lock says of itself to the caller, as readers, and whether somebody writes, and whether
 * the caller has it. */
static void assert_says(const lw_rwlock *rwlock, uint32_t readers, bool is_write_locked,
                        bool is_mine)
{
    assert_int_equal(lw_rwlock_readers(rwlock), readers);
    assert_int_equal(lw_rwlock_is_write_locked(rwlock), is_write_locked);
    assert_int_equal(lw_rwlock_is_mine(rwlock), is_mine);
}

TEST(it_says_who_has_it)
{
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    assert_says(&rwlock, 0, false, false);
    assert_int_equal(lw_rwlock_rdlock(&rwlock), 0);
    assert_int_equal(by_another(read_it, &rwlock), 0);
    assert_says(&rwlock, 2, false, false);
    assert_int_equal(lw_rwlock_uplock(&rwlock), 0);
    assert_says(&rwlock, 2, false, true);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_wrlock(&rwlock), 0);
    assert_says(&rwlock, 0, true, true);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(by_another(write_it, &rwlock), 0);
    assert_says(&rwlock, 0, true, false);
}

TEST(a_read_ends_beside_an_upgradable_one_of_the_same_thread)
{
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    assert_int_equal(lw_rwlock_rdunlock(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_uplock(&rwlock), 0);
    assert_int_equal(lw_rwlock_rdunlock(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_tryrdlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_rdunlock(&rwlock), 0);
    assert_says(&rwlock, 0, false, true);
    assert_int_equal(lw_rwlock_upgrade(&rwlock), 0);
    assert_int_equal(lw_rwlock_rdunlock(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_rdlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_rdunlock(&rwlock), 0);
    assert_says(&rwlock, 0, false, false);
}

/* Which of reading, reading upgradably and writing another thread could do now. */
enum { READ = 1, UPGRADABLE = 2, WRITE = 4 };

TEST(each_way_excludes_what_it_must)
{
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    assert_int_equal(sizeof rwlock, 16);
    assert_int_equal(by_another(try_all, &rwlock), READ | UPGRADABLE | WRITE);
    assert_int_equal(lw_rwlock_rdlock(&rwlock), 0);
    assert_int_equal(by_another(try_all, &rwlock), READ | UPGRADABLE);
    assert_int_equal(by_another(read_it, &rwlock), 0);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(by_another(try_all, &rwlock), READ | UPGRADABLE);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_uplock(&rwlock), 0);
    assert_int_equal(lw_rwlock_owner(rwlock.word), lw_self());
    assert_int_equal(by_another(try_all, &rwlock), READ);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_wrlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_owner(rwlock.word), lw_self());
    assert_int_equal(by_another(try_all, &rwlock), 0);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(STATE(&rwlock), 0);
    assert_int_equal(lw_rwlock_owner(rwlock.word), 0);
}

TEST(asking_again_while_writing_or_reading_upgradably_is_an_error)
{
    for (int writes = 0; writes < 2; writes++) {
        lw_rwlock rwlock = LW_RWLOCK_INIT;
        assert_int_equal(writes ? lw_rwlock_wrlock(&rwlock) : lw_rwlock_uplock(&rwlock), 0);
        const uint32_t before = STATE(&rwlock);
        if (writes)
            assert_int_equal(lw_rwlock_rdlock(&rwlock), EDEADLK);
        assert_int_equal(lw_rwlock_uplock(&rwlock), EDEADLK);
        assert_int_equal(lw_rwlock_wrlock(&rwlock), EDEADLK);
        assert_int_equal(lw_rwlock_wrlock_until(&rwlock, lw_after_ms(1000)), EDEADLK);
        assert_int_equal(lw_rwlock_tryuplock(&rwlock), EBUSY);
        assert_int_equal(lw_rwlock_trywrlock(&rwlock), EBUSY);
        assert_int_equal(STATE(&rwlock), before);
        assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
        assert_int_equal(STATE(&rwlock), 0);
    }
}

TEST(what_the_caller_does_not_have_cannot_be_changed_or_given_up)
{
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    assert_int_equal(lw_rwlock_unlock(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_upgrade(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_tryupgrade(&rwlock), EBUSY);
    assert_int_equal(lw_rwlock_downgrade(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_downgrade_upgradable(&rwlock), EPERM);
    lw_rwlock_rdlock(&rwlock);
    assert_int_equal(lw_rwlock_upgrade(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_tryupgrade(&rwlock), EBUSY);
    assert_int_equal(lw_rwlock_downgrade(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(STATE(&rwlock), 0);
    /* Another's. */
    assert_int_equal(by_another(write_it, &rwlock), 0);
    const uint32_t before = STATE(&rwlock);
    assert_int_equal(lw_rwlock_unlock(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_downgrade(&rwlock), EPERM);
    assert_int_equal(lw_rwlock_downgrade_upgradable(&rwlock), EPERM);
    assert_int_equal(STATE(&rwlock), before);
    lw_rwlock other = LW_RWLOCK_INIT;
    assert_int_equal(by_another(read_upgradably, &other), 0);
    assert_int_equal(lw_rwlock_unlock(&other), EPERM);
    assert_int_equal(lw_rwlock_upgrade(&other), EPERM);
    assert_int_equal(lw_rwlock_tryupgrade(&other), EBUSY);
    assert_int_equal(lw_rwlock_downgrade_upgradable(&other), EPERM);
    assert_int_equal(STATE(&other), LW_RWLOCK_UPGRADABLE);
}

TEST(upgrading_and_downgrading_keep_the_lock)
{
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    lw_rwlock_uplock(&rwlock);
    assert_int_equal(lw_rwlock_tryupgrade(&rwlock), 0);
    assert_int_equal(by_another(try_all, &rwlock), 0);
    assert_int_equal(lw_rwlock_downgrade_upgradable(&rwlock), 0);
    assert_int_equal(by_another(try_all, &rwlock), READ);
    assert_int_equal(lw_rwlock_upgrade(&rwlock), 0);
    assert_int_equal(by_another(try_all, &rwlock), 0);
    assert_int_equal(lw_rwlock_downgrade(&rwlock), 0);
    assert_int_equal(lw_rwlock_owner(rwlock.word), 0);
    assert_int_equal(by_another(try_all, &rwlock), READ | UPGRADABLE);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    lw_rwlock_uplock(&rwlock);
    assert_int_equal(lw_rwlock_downgrade(&rwlock), 0);
    assert_int_equal(by_another(try_all, &rwlock), READ | UPGRADABLE);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(STATE(&rwlock), 0);
}

TEST(an_upgrade_waits_for_the_readers_and_lets_none_in)
{
    lw_rwlock own = LW_RWLOCK_INIT;
    lw_rwlock_uplock(&own);
    assert_int_equal(by_another(read_it, &own), 0);
    assert_int_equal(lw_rwlock_tryupgrade(&own), EBUSY);
    assert_int_equal(lw_rwlock_upgrade_until(&own, lw_after_ms(2)), ETIMEDOUT);
    lw_cancel cancel = LW_CANCEL_INIT;
    lw_cancel_fire(&cancel);
    assert_int_equal(lw_rwlock_upgrade_cancel(&own, LW_FOREVER, &cancel), ECANCELED);
    /* It still reads upgradably, and leaves no turn behind. */
    assert_int_equal(STATE(&own) & ~MARKS, LW_RWLOCK_UPGRADABLE | 1);
    assert_int_equal(lw_rwlock_owner(own.word), lw_self());
    assert_int_equal(by_another(read_and_unlock, &own), 0);
    assert_int_equal(by_another(unlock_it, &own), 0);
    assert_int_equal(lw_rwlock_upgrade(&own), 0);
    assert_int_equal(lw_rwlock_unlock(&own), 0);
}

/* As in WebAssembly, where a task of the thread's event loop may give up what another task's
 * upgrade waits with. */
TEST(an_upgrade_looks_again_whether_it_has_what_it_upgrades)
{
    for (int upgraded = 0; upgraded < 2; upgraded++) {
        lw_rwlock rwlock = LW_RWLOCK_INIT;
        lw_word *word = rwlock.word;
        assert_int_equal(lw_rwlock_uplock(&rwlock), 0);
        assert_int_equal(by_another(read_it, &rwlock), 0);
        const lw_answer waits = lw_rwlock_upgrade_step(word, lw_self(), LW_START, 0);
        assert_int_equal(lw_answer_what(waits), LW_WAIT_IDLE);
        assert_true(STATE(&rwlock) & LW_RWLOCK_WRITERS_TURN);
        assert_true(lw_rwlock_unread_step(word));
        if (upgraded)
            assert_int_equal(lw_rwlock_tryupgrade(&rwlock), 0);
        else
            assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
        for (uint32_t why = LW_OK; why <= LW_SLICE; why++) {
            const lw_answer answer =
                lw_rwlock_upgrade_step(word, lw_self(), why, lw_answer_phase(waits));
            assert_int_equal(lw_answer_what(answer), LW_NOT_OWNER);
            assert_false(STATE(&rwlock) & (LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_UPGRADABLE));
            assert_int_equal(lw_rwlock_owner(word), upgraded ? lw_self() : 0);
        }
        if (upgraded)
            assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
        assert_int_equal(by_another(read_it, &rwlock), 0);
    }
}

TEST(more_readers_than_fit_are_refused)
{
    lw_rwlock rwlock = {{LW_RWLOCK_READERS - 1, 0, 0}};
    assert_int_equal(lw_rwlock_tryrdlock(&rwlock), 0);
    assert_int_equal(STATE(&rwlock), LW_RWLOCK_READERS);
    assert_int_equal(lw_rwlock_rdlock(&rwlock), EOVERFLOW);
    assert_int_equal(lw_rwlock_rdlock_until(&rwlock, LW_NOW), EOVERFLOW);
    assert_int_equal(lw_rwlock_tryrdlock(&rwlock), EBUSY);
    assert_int_equal(lw_rwlock_uplock(&rwlock), EOVERFLOW);
    assert_int_equal(lw_rwlock_tryuplock(&rwlock), EBUSY);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(STATE(&rwlock), LW_RWLOCK_READERS - 1);
}

TEST(an_upgradable_reader_has_its_place_kept)
{
    lw_rwlock rwlock = {{LW_RWLOCK_READERS - 1, 0, 0}};
    assert_int_equal(lw_rwlock_uplock(&rwlock), 0);
    assert_int_equal(lw_rwlock_tryrdlock(&rwlock), EBUSY);
    assert_int_equal(lw_rwlock_rdlock(&rwlock), EOVERFLOW);
    assert_int_equal(by_another(read_upgradably, &rwlock), EOVERFLOW);
    assert_int_equal(lw_rwlock_downgrade(&rwlock), 0);
    assert_int_equal(STATE(&rwlock), LW_RWLOCK_READERS);
    assert_int_equal(lw_rwlock_owner(rwlock.word), 0);
    assert_int_equal(lw_rwlock_rdlock(&rwlock), EOVERFLOW);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_uplock(&rwlock), 0);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(STATE(&rwlock), LW_RWLOCK_READERS - 1);
}

/* Returns whether the writer went first. */
static bool writer_beats_a_later_reader(void)
{
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    lw_rwlock_rdlock(&rwlock);
    struct call writer, reader;
    start_it(&writer, write_it, &rwlock);
    await_sleep(&writer.helper);
    assert_true(STATE(&rwlock) & LW_RWLOCK_WRITERS_TURN);
    start_it(&reader, read_and_unlock, &rwlock);
    await_sleep(&reader.helper);
    sleep_ms(3);
    assert_false(has_ended(&reader));
    /* The try forms take a lock that is free, whatever turn it is. */
    assert_int_equal(lw_rwlock_tryrdlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    assert_int_equal(end_call(&writer), 0);
    assert_int_equal(lw_rwlock_owner(rwlock.word), writer.helper.id);
    sleep_ms(2);
    const bool first = !has_ended(&reader);
    /* What its writer would do. */
    lw_rwlock_become_step(rwlock.word, LW_RWLOCK_WRITER, 0, writer.helper.id);
    assert_int_equal(end_call(&reader), 0);
    return first;
}

TEST(a_writer_that_waits_goes_before_readers_that_come_later)
{
    /* A reader does not wait for long beside a free lock: were the machine busy just then, it would
     * rightly go first. */
    bool first = false;
    for (int i = 0; i < 5 && !first; i++)
        first = writer_beats_a_later_reader();
    assert_true(first);
}

TEST(a_writer_that_gave_up_leaves_no_trace)
{
    for (int way = 0; way < 2; way++) {
        lw_rwlock rwlock = LW_RWLOCK_INIT;
        lw_cancel cancel = LW_CANCEL_INIT;
        lw_rwlock_rdlock(&rwlock);
        struct call writer = {
            .function = write_it, .on = &rwlock, .deadline = LW_FOREVER, .cancel = &cancel};
        if (way)
            writer.deadline =
                lw_after_ms(400); /* even a busy machine has two readers waiting by then */
        start_sleeper(&writer);
        struct call readers[2];
        for (size_t i = 0; i < COUNT_OF(readers); i++) {
            start_it(&readers[i], read_and_unlock, &rwlock);
            await_sleep(&readers[i].helper);
        }
        if (!way)
            lw_cancel_fire(&cancel);
        assert_int_equal(end_call(&writer), way ? ETIMEDOUT : ECANCELED);
        /* Though a reader still reads. */
        end_calls(readers, COUNT_OF(readers));
        assert_int_equal(STATE(&rwlock) & ~MARKS, 1);
        lw_rwlock_unlock(&rwlock);
        assert_int_equal(STATE(&rwlock), 0);
    }
}

/* It waits, again and again, for a free lock: a reader goes first. */
TEST(a_writer_that_reserved_nothing_withdraws_no_reservation)
{
    const uint32_t claims = LW_RWLOCK_READERS_TURN | LW_RWLOCK_RESERVED; /* of other agents */
    lw_word words[LW_RWLOCK_WORDS] = {claims};
    lw_answer answer = lw_rwlock_write_step(words, 1, LW_START, 0);
    for (int i = 0; i < 32; i++) {
        assert_int_equal(lw_answer_what(answer), LW_WAIT_BRIEF);
        answer = lw_rwlock_write_step(words, 1, LW_OK, lw_answer_phase(answer));
    }
    answer = lw_rwlock_write_step(words, 1, LW_CANCELLED, lw_answer_phase(answer));
    assert_int_equal(lw_answer_what(answer), LW_GAVE_UP);
    assert_int_equal(words[LW_RWLOCK_STATE] & claims, claims);
}

TEST(a_turn_that_nobody_comes_for_bars_nobody_for_long)
{
    const uint32_t turns[] = {LW_RWLOCK_WRITERS_TURN, LW_RWLOCK_READERS_TURN,
                              LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_READERS_TURN,
                              LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_RESERVED, LW_RWLOCK_RESERVED};
    for (size_t i = 0; i < COUNT_OF(turns); i++) {
        lw_rwlock rwlock = {{turns[i], 0, 0}};
        assert_int_equal(lw_rwlock_rdlock_until(&rwlock, lw_after_ms(5000)), 0);
        assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
        rwlock.word[LW_RWLOCK_STATE] = turns[i];
        assert_int_equal(lw_rwlock_wrlock_until(&rwlock, lw_after_ms(5000)), 0);
        assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
        assert_int_equal(lw_rwlock_trywrlock(&rwlock), 0);
        assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
    }
}

struct crowd {
    lw_rwlock rwlock;
    bool done; /* atomic */
};

static int read_without_a_gap(struct call *call)
{
    struct crowd *crowd = call->on;
    int failures = 0;
    while (!__atomic_load_n(&crowd->done, __ATOMIC_RELAXED)) {
        failures += lw_rwlock_rdlock(&crowd->rwlock) != 0;
        sched_yield();
        failures += lw_rwlock_unlock(&crowd->rwlock) != 0;
    }
    return failures;
}

static int write_without_a_gap(struct call *call)
{
    struct crowd *crowd = call->on;
    int failures = 0;
    while (!__atomic_load_n(&crowd->done, __ATOMIC_RELAXED)) {
        failures += lw_rwlock_wrlock(&crowd->rwlock) != 0;
        failures += lw_rwlock_unlock(&crowd->rwlock) != 0;
    }
    return failures;
}

/* What one asks for, against threads that do this. */
struct contest {
    int (*against)(struct call *);
    int (*lock)(lw_rwlock *);
};

/* The longest of some waits against threads that come back as soon as they have left, ns. */
static int64_t longest_wait(const void *how)
{
    const struct contest *contest = how;
    struct crowd crowd = {.done = false};
    struct call calls[3];
    start_calls(calls, COUNT_OF(calls), calling(contest->against, &crowd));
    int64_t longest = 0;
    for (int i = 0; i < 50; i++) {
        const int64_t start_ns = used_ns();
        assert_int_equal(contest->lock(&crowd.rwlock), 0);
        const int64_t waited = used_ns() - start_ns;
        longest = waited > longest ? waited : longest;
        assert_int_equal(lw_rwlock_unlock(&crowd.rwlock), 0);
        sched_yield();
    }
    __atomic_store_n(&crowd.done, true, __ATOMIC_RELAXED);
    end_calls(calls, COUNT_OF(calls));
    assert_int_equal(STATE(&crowd.rwlock) & ~MARKS, 0);
    return longest;
}

TEST(those_that_come_back_at_once_keep_nobody_out)
{
    const struct contest contests[] = {
        {read_without_a_gap, lw_rwlock_wrlock},
        {write_without_a_gap, lw_rwlock_rdlock},
        {write_without_a_gap, lw_rwlock_uplock},
        {write_without_a_gap, lw_rwlock_wrlock},
    };
    for (size_t i = 0; i < COUNT_OF(contests); i++)
        assert_bounded(longest_wait, &contests[i], 100);
}

struct pair {
    lw_rwlock rwlock;
    uint32_t a, b; /* plain; equal unless somebody writes */
};

#define TIMES 4000

/* Every way to lock it, by chance. A value read before an upgrade or downgrade still holds after
 * it. */
static int use_pair(struct call *call)
{
    struct pair *pair = call->on;
    lw_rwlock *rwlock = &pair->rwlock;
    uint32_t seed = call->n;
    uint32_t written = 0;
    int failures = 0;
    for (int i = 0; i < TIMES; i++) {
        const uint32_t way = next_random(&seed) % 8;
        const lw_deadline soon = lw_after_ns(next_random(&seed) % 100000);
        if (way < 3) {
            if (way == 0   ? lw_rwlock_tryrdlock(rwlock)
                : way == 1 ? lw_rwlock_rdlock_until(rwlock, soon)
                           : lw_rwlock_rdlock(rwlock))
                continue;
            failures += pair->a != pair->b;
        } else if (way < 6) {
            if (way == 3   ? lw_rwlock_trywrlock(rwlock)
                : way == 4 ? lw_rwlock_wrlock_until(rwlock, soon)
                           : lw_rwlock_wrlock(rwlock))
                continue;
            const uint32_t value = ++pair->a;
            failures += ++pair->b != value;
            written++;
            if (way == 5) {
                failures += (i % 2 ? lw_rwlock_downgrade(rwlock)
                                   : lw_rwlock_downgrade_upgradable(rwlock)) != 0;
                failures += pair->a != value || pair->b != value;
            }
        } else {
            failures += lw_rwlock_uplock(rwlock) != 0;
            const uint32_t value = pair->a;
            failures += pair->b != value;
            if (way == 6 ? lw_rwlock_upgrade(rwlock) == 0
                         : lw_rwlock_upgrade_until(rwlock, soon) == 0) {
                failures += pair->a++ != value;
                failures += pair->b++ != value;
                written++;
            }
        }
        failures += lw_rwlock_unlock(rwlock) != 0;
    }
    call->n = written;
    return failures;
}

TEST(readers_see_no_half_and_no_write_is_lost)
{
    static struct pair pair;
    struct call calls[6];
    start_calls(calls, COUNT_OF(calls), calling(use_pair, &pair));
    uint32_t written = 0;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        assert_int_equal(end_call(&calls[i]), 0);
        written += calls[i].n;
    }
    assert_int_equal(pair.a, written);
    assert_int_equal(pair.b, written);
    assert_int_equal(STATE(&pair.rwlock) & ~MARKS, 0);
    assert_int_equal(lw_rwlock_owner(pair.rwlock.word), 0);
    assert_int_equal(lw_rwlock_wrlock(&pair.rwlock), 0);
    assert_int_equal(lw_rwlock_unlock(&pair.rwlock), 0);
    assert_int_equal(STATE(&pair.rwlock), 0);
}

#define HERD 48
#define TURNS 8

static int write_and_sleep(struct call *call)
{
    for (int i = 0; i < TURNS; i++) {
        const int error = write_it(call);
        if (error)
            return error;
        sleep_ms(1);
        lw_rwlock_unlock(call->on);
    }
    call->n = (uint32_t)usage_of(&call->helper).sleeps;
    return 0;
}

/* A turn costs the sleep within it, which only Linux counts, and a few of waiters. If each unlock
 * woke all, it cost one of each writer. */
TEST(an_unlock_wakes_no_herd_of_writers)
{
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    struct call calls[HERD];
    start_calls(calls, COUNT_OF(calls), calling(write_and_sleep, &rwlock));
    uint32_t sleeps = 0;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        assert_int_equal(end_call(&calls[i]), 0);
        sleeps += calls[i].n;
    }
    assert_in_range(sleeps, HERD, 12 * HERD * TURNS);
    assert_int_equal(STATE(&rwlock) & ~MARKS, 0);
}

RUN_TESTS("rwlock")
