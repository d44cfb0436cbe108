/* sem.c: the semaphore's steps. The meaning of the words is in core/sem.h. */
#include <lockword/core/sem.h>
#include <lockword/core/waiters.h>

uint32_t lw_sem_permits(const lw_word *sem)
{
    return lw_load(&sem[LW_SEM_STATE], lw_relaxed) & LW_SEM_MAX;
}

/* Takes n permits if *state, kept up to date, has them. The waiters' bits stay: those who wait need not have been woken. */
static bool take(lw_word *sem, uint32_t *state, uint32_t n)
{
    while ((*state & LW_SEM_MAX) >= n) {
        if (lw_cas(&sem[LW_SEM_STATE], state, *state - n, lw_acquire))
            return true;
    }
    return false;
}

bool lw_sem_try_step(lw_word *sem, uint32_t n)
{
    uint32_t state = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    return take(sem, &state, n);
}

lw_answer lw_sem_acquire_step(lw_word *sem, uint32_t n, uint32_t why, uint32_t phase)
{
    uint32_t state = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    if (take(sem, &state, n))
        return lw_answer_of(LW_DONE, 0, 0, (state & LW_SEM_MAX) - n);
    return lw_waiters_wait(sem, state, 0, LW_WAIT_IDLE, why, phase);
}

bool lw_sem_release_step(lw_word *sem, uint32_t n)
{
    uint32_t seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        if (n > LW_SEM_MAX - (state & LW_SEM_MAX))
            return false;
        seen = lw_waiters_change(sem, state, (state & LW_SEM_MAX) + n);
    } while (seen != state);
    return true;
}
