/* sem.c: the semaphore's C interface: the functions that wait. */
#include <lockword/sem.h>

#include "blocking.h"
#include "wait/awake.h"

_Static_assert(sizeof(lw_sem) == 12, "docs/layout.md: a semaphore is three words");

#if !LW_ENGINE

static uint32_t look(const lw_word *sem, uint32_t n, uint32_t *owner)
{
    (void)owner;
    const uint32_t state = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    return ((state & LW_SEM_MAX) < n ? LW_SEEN_HELD : 0u) |
           (state & (LW_SEM_CLAIMED | LW_SEM_RESERVED) ? LW_SEEN_CLOSED | LW_SEEN_BARRED : 0u);
}

/*
 * A race that is lost beside enough permits was lost to a thread that took others: then nobody need
 * be waited for.
 */
static bool take(lw_word *sem, uint32_t n, uint32_t *result)
{
    (void)result;
    do {
        if (lw_sem_take(sem, n))
            return true;
    } while (look(sem, n, NULL) == 0);
    return false;
}

static const struct lw_held held_permits = {.look = look, .take = take, .is_anonymous = true};

#endif

/* A request for several permits claims them. */
enum lw_ending lw_sem_acquire_slow(lw_sem *sem, uint32_t n, lw_deadline deadline, lw_cancel *cancel)
{
    const struct lw_operation operation = {lw_sem_acquire_step, sem->word, n};
    return (n == 1 ? lw_hold(&held_permits, operation, deadline, cancel)
                   : lw_claim(&held_permits, operation, deadline, cancel))
        .ending;
}
