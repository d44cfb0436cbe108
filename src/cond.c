/* cond.c: the condition's C interface: the functions that wait. The inline part annotates both. */
#undef LW_ANNOTATE
#define LW_ANNOTATE 0
#include <lockword/cond.h>

#include "blocking.h"

_Static_assert(sizeof(lw_cond) == 8, "docs/layout.md: a condition is two words");

/*
 * Each notify moves the sequence, and so ends the wait of all threads that spin. If it is meant for
 * one waiter, the others come back and spin again, and with each notify they are more. So among
 * several waiters a thread spins only where notifies are for all. Of two waiters, one may just have
 * been notified: so it is when two threads hand a turn to and fro.
 */
static bool may_spin(const lw_cond *cond, uint32_t sequence)
{
    return sequence & LW_COND_TO_ALL || lw_load(&cond->word[LW_COND_WAITERS], lw_relaxed) <= 2;
}

/* A step for spinning. The wait's own step would end when its time is up. */
static lw_answer look_step(lw_word *cond, uint32_t sequence, uint32_t why, lw_phase phase)
{
    (void)why;
    return lw_cond_wait_step(cond, sequence, LW_START, phase);
}

enum lw_ending lw_cond_wait_for_notify(lw_cond *cond, uint32_t sequence, lw_deadline deadline,
                                       lw_cancel *cancel)
{
    struct lw_end end;
    if (!may_spin(cond, sequence) ||
        !lw_spin((struct lw_operation){look_step, cond->word, sequence}, deadline, &end))
        end = lw_block((struct lw_operation){lw_cond_wait_step, cond->word, sequence}, deadline,
                       cancel);
    return end.ending;
}

enum lw_ending lw_cond_wait_slow(lw_cond *cond, lw_mutex *mutex, lw_deadline deadline,
                                 lw_cancel *cancel)
{
    const uint32_t sequence = lw_cond_enter_step(cond->word);
    lw_mutex_unlock(mutex);
    const enum lw_ending ending = lw_cond_wait_for_notify(cond, sequence, deadline, cancel);
    lw_mutex_lock(mutex);
    return ending;
}

/* A recursive mutex begins with a mutex, and only its holder writes the other words. */
enum lw_ending lw_cond_wait_recursive_slow(lw_cond *cond, lw_rmutex *rmutex, lw_deadline deadline,
                                           lw_cancel *cancel)
{
    const uint32_t depth = lw_load(&rmutex->word[LW_RMUTEX_DEPTH], lw_unordered);
    lw_rmutex_entered_step(rmutex->word, 0, 0);
    const enum lw_ending ending =
        lw_cond_wait_slow(cond, (lw_mutex *)rmutex->word, deadline, cancel);
    lw_rmutex_entered_step(rmutex->word, lw_self(), depth);
    return ending;
}
