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
 * As lw_sem_take, but a race that is lost beside enough permits was lost to a thread that took
 * others: then nobody need be waited for.
 */
static bool take(lw_word *sem, uint32_t n, uint32_t *result)
{
    (void)result;
    uint32_t seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    while (!(seen & (LW_SEM_CLAIMED | LW_SEM_RESERVED)) && (seen & LW_SEM_MAX) >= n) {
        const uint32_t state = seen;
        seen = lw_cas(&sem[LW_SEM_STATE], state, state - n, lw_acquire);
        if (seen == state)
            return true;
    }
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
