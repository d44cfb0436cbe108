/*
 * cancel.c: what lockword/cancel.h promises when a cancel comes at the worst moment: what is waited
 * for happens just when the waiter has seen that it has been cancelled. It gets it, or it leaves it
 * to others; it loses nothing. All else about cancels: waits.c.
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <string.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

static lw_cancel cancel;
static lw_cancel late; /* fires when an operation under it has just given up, for its time was up */
static void (*worst)(void *subject); /* what happens then; NULL: nothing */
static void *subject;

lw_answer __real_lw_event_wait_step(lw_word *event, uint32_t since, uint32_t why, uint32_t phase);
lw_answer __wrap_lw_event_wait_step(lw_word *event, uint32_t since, uint32_t why, uint32_t phase);

/* The linker puts it in lw_event_wait_step's place: the operation has just found that it must wait,
 * the cancel has fired. */
lw_answer __wrap_lw_event_wait_step(lw_word *event, uint32_t since, uint32_t why, uint32_t phase)
{
    if (event == late.word && lw_gives_up(why))
        lw_cancel_fire(&late);
    const lw_answer answer = __real_lw_event_wait_step(event, since, why, phase);
    if (event == cancel.word && worst) {
        void (*happens)(void *) = worst;
        worst = NULL;
        happens(subject);
    }
    return answer;
}

static void prepare(void (*happens)(void *), void *what)
{
    worst = happens;
    subject = what;
    lw_cancel_fire(&cancel);
}

static void release_two(void *sem)
{
    lw_sem_release(sem, 2);
}

TEST(a_permit_is_had_or_stays)
{
    lw_sem sem = LW_SEM_INIT(0);
    prepare(release_two, &sem);
    const int error = lw_sem_acquire_cancel(&sem, 2, LW_FOREVER, &cancel);
    assert_true(error == 0 || error == ECANCELED);
    assert_int_equal(lw_sem_available(&sem), error == 0 ? 0 : 2);
}

static void set_event(void *event)
{
    lw_event_set_step(((lw_event *)event)->word);
}

TEST(an_automatic_event_releases_it_or_stays_set)
{
    lw_event event = LW_EVENT_AUTO_INIT;
    prepare(set_event, &event);
    const int error = lw_event_wait_cancel(&event, LW_FOREVER, &cancel);
    assert_true(error == 0 || error == ECANCELED);
    assert_int_equal(lw_event_is_set(&event), error != 0);
}

TEST(of_several_none_is_consumed_by_one_that_was_cancelled)
{
    lw_sem sems[] = {LW_SEM_INIT(0), LW_SEM_INIT(0)};
    const lw_source sources[] = {lw_source_sem(&sems[0], 2), lw_source_sem(&sems[1], 2)};
    uint32_t which = 0;
    prepare(release_two, &sems[1]);
    const int error = lw_wait_any(sources, 2, LW_FOREVER, &cancel, &which);
    assert_true(error == ECANCELED || (error == 0 && which == 1));
    assert_int_equal(lw_sem_available(&sems[1]), error == 0 ? 0 : 2);
}

#define ANOTHER 0x1fffffffu

static void unlock_mutex(void *mutex)
{
    lw_mutex_unlock_step(((lw_mutex *)mutex)->word, ANOTHER);
}

TEST(a_mutex_is_held_or_free)
{
    lw_mutex mutex = {{ANOTHER, 0}};
    prepare(unlock_mutex, &mutex);
    const int error = lw_mutex_lock_cancel(&mutex, LW_FOREVER, &cancel);
    assert_true(error == 0 || error == ECANCELED);
    assert_int_equal(lw_mutex_trylock(&mutex), error == 0 ? EBUSY : 0);
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
    assert_int_equal(mutex.word[LW_MUTEX_STATE], 0);
}

static void end_write(void *rwlock)
{
    lw_rwlock_become_step(((lw_rwlock *)rwlock)->word, LW_RWLOCK_WRITER, 0, ANOTHER);
}

TEST(a_read_write_lock_is_held_or_free)
{
    int (*const locks[])(lw_rwlock *, lw_deadline, lw_cancel *) = {
        lw_rwlock_rdlock_cancel, lw_rwlock_uplock_cancel, lw_rwlock_wrlock_cancel};
    for (size_t i = 0; i < COUNT_OF(locks); i++) {
        lw_rwlock rwlock = {{LW_RWLOCK_WRITER, 0, ANOTHER}};
        prepare(end_write, &rwlock);
        const int error = locks[i](&rwlock, LW_FOREVER, &cancel);
        assert_true(error == 0 || error == ECANCELED);
        if (error == 0)
            assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
        assert_int_equal(rwlock.word[LW_RWLOCK_STATE] & ~(LW_WAITERS | LW_RWLOCK_BLOCKED_READERS),
                         0);
        assert_int_equal(lw_rwlock_trywrlock(&rwlock), 0);
    }
}

static void leave_read(void *rwlock)
{
    lw_rwlock_unread_step(((lw_rwlock *)rwlock)->word);
}

TEST(an_upgrade_writes_or_still_reads)
{
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    assert_int_equal(lw_rwlock_rdlock(&rwlock), 0);
    assert_int_equal(lw_rwlock_uplock(&rwlock), 0);
    prepare(leave_read, &rwlock);
    const int error = lw_rwlock_upgrade_cancel(&rwlock, LW_FOREVER, &cancel);
    assert_true(error == 0 || error == ECANCELED);
    assert_int_equal(rwlock.word[LW_RWLOCK_STATE] & ~(LW_WAITERS | LW_RWLOCK_BLOCKED_READERS),
                     error == 0 ? LW_RWLOCK_WRITER : LW_RWLOCK_UPGRADABLE);
    assert_int_equal(lw_rwlock_unlock(&rwlock), 0);
}

static void fail_once(void *once)
{
    lw_once_abandon(once, ANOTHER);
}

TEST(a_once_has_its_runner_or_none)
{
    lw_once once = {{ANOTHER, 0}};
    prepare(fail_once, &once);
    const int begun = lw_once_begin_cancel(&once, LW_FOREVER, &cancel);
    assert_true(begun == LW_ONCE_RUN || begun == ECANCELED);
    assert_int_equal(lw_once_running(&once), begun == LW_ONCE_RUN ? lw_self() : 0);
}

static void drop_barrier(void *barrier)
{
    lw_barrier_drop(barrier);
}

static void reset_barrier(void *barrier)
{
    lw_barrier_reset(barrier);
}

TEST(a_barrier_trips_or_is_broken)
{
    lw_barrier barrier = LW_BARRIER_INIT(2);
    prepare(drop_barrier, &barrier);
    const int error = lw_barrier_wait_cancel(&barrier, LW_FOREVER, &cancel);
    assert_int_equal(error, lw_barrier_is_broken(&barrier) ? ECANCELED : 0);
    lw_barrier other = LW_BARRIER_INIT(2);
    prepare(reset_barrier, &other);
    assert_int_equal(lw_barrier_wait_cancel(&other, LW_FOREVER, &cancel), EPIPE);
    assert_false(lw_barrier_is_broken(&other));
}

struct room {
    lw_mutex mutex;
    lw_cond cond;
};

static int wait_in(struct call *call)
{
    struct room *room = call->on;
    lw_mutex_lock(&room->mutex);
    const int error = lw_cond_wait_cancel(&room->cond, &room->mutex, LW_FOREVER, call->cancel);
    lw_mutex_unlock(&room->mutex);
    return error;
}

static void notify_one(void *room)
{
    lw_cond_notify_one(&((struct room *)room)->cond);
}

/* The other one sleeps, and has to be woken whether the notify found it or the one that is
 * cancelled. */
TEST(a_notify_reaches_somebody)
{
    static struct room room;
    struct call other = calling(wait_in, &room);
    start_sleeper(&other);
    prepare(notify_one, &room);
    struct call call = {.function = wait_in, .on = &room, .cancel = &cancel};
    const int error = wait_in(&call);
    assert_true(error == 0 || error == ECANCELED);
    assert_int_equal(end_call(&other), 0);
}

/* It has broken the barrier: were its step run again, it would find that somebody did, and not know
 * that it was the caller. */
TEST(one_that_comes_after_the_deadline_changes_nothing)
{
    lw_barrier barrier = LW_BARRIER_INIT(2);
    lw_sem sem = LW_SEM_INIT(0);
    assert_int_equal(lw_barrier_wait_cancel(&barrier, lw_after_ms(1), &late), ETIMEDOUT);
    assert_true(lw_barrier_is_broken(&barrier));
    memset(&late, 0, sizeof late);
    assert_int_equal(lw_sem_acquire_cancel(&sem, 1, lw_after_ms(1), &late), ETIMEDOUT);
}

TEST(it_stays_fired)
{
    lw_cancel own = LW_CANCEL_INIT;
    assert_int_equal(sizeof own, 8);
    assert_false(lw_cancel_fired(&own));
    lw_mutex mutex = {{ANOTHER, 0}};
    for (int i = 0; i < 3; i++) {
        lw_cancel_fire(&own);
        assert_true(lw_cancel_fired(&own));
        assert_int_equal(lw_mutex_lock_cancel(&mutex, LW_FOREVER, &own), ECANCELED);
    }
}

RUN_TESTS("cancel")
