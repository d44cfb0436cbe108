/*
 * emscripten.c: the functions that lockword/emscripten.h does not inline, and symbols of those that
 * it does (lockword/api.h).
 */
#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

#undef LW_API
#define LW_API
#include <lockword/emscripten.h>

#include "blocking.h"
#include "wait/platform.h"

_Static_assert(sizeof(lw_mutex) == sizeof(emscripten_lock_t), "a lock is one number");
_Static_assert(sizeof(lw_sem) <= sizeof(emscripten_semaphore_t), "a semaphore is one number");
_Static_assert(sizeof(lw_cond) == sizeof(emscripten_condvar_t),
               "a condition variable is one number");
_Static_assert(_Alignof(lw_mutex) == _Alignof(emscripten_lock_t),
               "wherever there is one, the other may be");

/*
 * Errors that these functions cannot return. JavaScript throws them instead: js/src/emscripten.js.
 */
enum misuse {
    DEADLOCK = 0,
    NOT_OWNER = 1,
    OUT_OF_RANGE = 2,
};

LW_IMPORTED(lw_emscripten_refuse) _Noreturn void lw_emscripten_refuse(enum misuse misuse);

/* A timeout of more ms lasts for ever: its ns would not fit in a deadline. */
#define LONGEST_MS 4e12

/* NaN is no time, as in Emscripten: otherwise a thread would spin for ever. */
static lw_deadline after_ms(double ms)
{
    return ms >= LONGEST_MS ? LW_FOREVER : ms > 0 ? lw_after_ns((int64_t)(ms * 1e6)) : LW_NOW;
}

void lw_emscripten_lock_waitinf_acquire(emscripten_lock_t *lock)
{
    if (lw_mutex_lock(LW_EMSCRIPTEN_AS(lw_mutex, lock)))
        lw_emscripten_refuse(DEADLOCK);
}

static bool spin(lw_mutex *mutex, lw_deadline deadline)
{
    do {
        if (lw_mutex_trylock(mutex) == 0)
            return true;
        if (lw_mutex_owner(mutex->word) == lw_self())
            return false;
    } while (deadline == LW_FOREVER || lw_now() < deadline);
    return false;
}

bool lw_emscripten_lock_busyspin_wait_acquire(emscripten_lock_t *lock, double max_wait_ms)
{
    return spin(LW_EMSCRIPTEN_AS(lw_mutex, lock), after_ms(max_wait_ms));
}

void lw_emscripten_lock_busyspin_waitinf_acquire(emscripten_lock_t *lock)
{
    if (!spin(LW_EMSCRIPTEN_AS(lw_mutex, lock), LW_FOREVER))
        lw_emscripten_refuse(DEADLOCK);
}

void lw_emscripten_lock_release(emscripten_lock_t *lock)
{
    if (lw_mutex_unlock(LW_EMSCRIPTEN_AS(lw_mutex, lock)))
        lw_emscripten_refuse(NOT_OWNER);
}

void lw_emscripten_semaphore_init(emscripten_semaphore_t *sem, int num)
{
    if ((uint32_t)num > LW_SEM_MAX)
        lw_emscripten_refuse(OUT_OF_RANGE);
    *sem = EMSCRIPTEN_SEMAPHORE_T_STATIC_INITIALIZER(num);
}

static int acquire(emscripten_semaphore_t *sem, int num, lw_deadline deadline)
{
    if ((uint32_t)num > LW_SEM_MAX)
        lw_emscripten_refuse(OUT_OF_RANGE);
    uint32_t *const words = LW_EMSCRIPTEN_AS(lw_sem, sem)->word;
    const struct lw_end end =
        lw_block((struct lw_operation){lw_sem_acquire_step, words, (uint32_t)num}, deadline, NULL);
    return end.ending == LW_ENDED_DONE ? (int)end.result : -1;
}

int lw_emscripten_semaphore_try_acquire(emscripten_semaphore_t *sem, int num)
{
    if (num < 0)
        lw_emscripten_refuse(OUT_OF_RANGE);
    const lw_answer answer =
        lw_sem_acquire_step(LW_EMSCRIPTEN_AS(lw_sem, sem)->word, (uint32_t)num, LW_TIMED_OUT, 0);
    return lw_answer_what(answer) == LW_DONE ? (int)lw_answer_expected(answer) : -1;
}

int lw_emscripten_semaphore_wait_acquire(emscripten_semaphore_t *sem, int num, int64_t max_wait_ns)
{
    const int index = lw_emscripten_semaphore_try_acquire(sem, num);
    return index >= 0 || max_wait_ns <= 0 ? index : acquire(sem, num, lw_after_ns(max_wait_ns));
}

int lw_emscripten_semaphore_waitinf_acquire(emscripten_semaphore_t *sem, int num)
{
    return acquire(sem, num, LW_FOREVER);
}

uint32_t lw_emscripten_semaphore_release(emscripten_semaphore_t *sem, int num)
{
    /* As an unsigned number, a negative one is more than there can be. */
    const uint32_t before = lw_sem_release_step(LW_EMSCRIPTEN_AS(lw_sem, sem)->word, (uint32_t)num);
    if (before == LW_SEM_OVERFLOW)
        lw_emscripten_refuse(OUT_OF_RANGE);
    return before;
}

void lw_emscripten_condvar_waitinf(emscripten_condvar_t *condvar, emscripten_lock_t *lock)
{
    if (lw_cond_wait(LW_EMSCRIPTEN_AS(lw_cond, condvar), LW_EMSCRIPTEN_AS(lw_mutex, lock)))
        lw_emscripten_refuse(NOT_OWNER);
}

bool lw_emscripten_condvar_wait(emscripten_condvar_t *condvar, emscripten_lock_t *lock,
                                int64_t max_wait_ns)
{
    lw_cond *const cond = LW_EMSCRIPTEN_AS(lw_cond, condvar);
    lw_mutex *const mutex = LW_EMSCRIPTEN_AS(lw_mutex, lock);
    if (lw_mutex_owner(mutex->word) != lw_self())
        lw_emscripten_refuse(NOT_OWNER);
    const lw_deadline deadline = max_wait_ns < 0 ? LW_FOREVER : lw_after_ns(max_wait_ns);
    const uint32_t sequence = lw_cond_enter_step(cond->word);
    lw_mutex_unlock(mutex);
    const struct lw_end end =
        lw_block((struct lw_operation){lw_cond_wait_step, cond->word, sequence}, deadline, NULL);
    if (end.ending != LW_ENDED_DONE)
        return false;
    if (lw_mutex_lock_until(mutex, deadline) == 0)
        return true;
    /* The signal was meant for a waiter that comes to see what it announced. */
    lw_cond_notify_one(cond);
    return false;
}
