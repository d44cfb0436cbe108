/* sem.c: the semaphore's steps. The meaning of the words is in core/sem.h. */
#include <lockword/core/sem.h>
#include <lockword/core/waiters.h>

uint32_t lw_sem_permits(const lw_word *sem)
{
    return lw_load(&sem[LW_SEM_STATE], lw_relaxed) & LW_SEM_MAX;
}

/*
 * Takes n permits if the state has them, and returns the state that it found. The waiters' bits
 * stay, since the waiters that they stand for need not have been woken.
 */
static uint32_t take(lw_word *sem, uint32_t n)
{
    uint32_t seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    while ((seen & LW_SEM_MAX) >= n) {
        const uint32_t state = seen;
        seen = lw_cas(&sem[LW_SEM_STATE], state, state - n, lw_acquire);
        if (seen == state)
            return state;
    }
    return seen;
}

bool lw_sem_try_step(lw_word *sem, uint32_t n)
{
    return (take(sem, n) & LW_SEM_MAX) >= n;
}

lw_answer lw_sem_acquire_step(lw_word *sem, uint32_t n, uint32_t why, lw_phase phase)
{
    const uint32_t state = take(sem, n);
    const uint32_t permits = state & LW_SEM_MAX;
    if (permits >= n)
        return lw_answer_of(LW_DONE, 0, 0, permits - n);
    return lw_waiters_wait(sem, state, 0, LW_WAIT_IDLE, why, phase);
}

uint32_t lw_sem_release_step(lw_word *sem, uint32_t n)
{
    uint32_t seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        if (n > LW_SEM_MAX - (state & LW_SEM_MAX))
            return LW_SEM_OVERFLOW;
        seen = lw_waiters_change(sem, state, (state & LW_SEM_MAX) + n);
    } while (seen != state);
    return state & LW_SEM_MAX;
}
