/* rwlock.c: the read-write lock's C interface: the functions that wait. */
#include <lockword/rwlock.h>

#include "blocking.h"
#include "wait/awake.h"

_Static_assert(sizeof(lw_rwlock) == 16, "docs/layout.md: a read-write lock is four words");

enum lw_ending lw_rwlock_slow(lw_rwlock *rwlock, lw_step *step, lw_deadline deadline,
                              lw_cancel *cancel)
{
    return lw_spin_then_block((struct lw_operation){step, rwlock->word, lw_self()}, deadline,
                              cancel)
        .ending;
}

/*
 * Called when two attempts have failed. If the lock has no holders but readers, other readers were
 * faster.
 */
enum lw_ending lw_rwlock_read_slow(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    for (int lost = 0;
         lw_rwlock_state(rwlock->word) < LW_RWLOCK_READERS && lw_back_off(lost, deadline); lost++) {
        if (lw_rwlock_enter_read(rwlock))
            return LW_ENDED_DONE;
    }
    return lw_rwlock_slow(rwlock, lw_rwlock_read_step, deadline, cancel);
}
