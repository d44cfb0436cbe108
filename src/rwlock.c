/* rwlock.c: the halves of the read-write lock's C face that wait. */
#include <lockword/rwlock.h>

#include "blocking.h"
#include "wait/platform.h"

_Static_assert(sizeof(lw_rwlock) == 12, "docs/layout.md: a read-write lock is three words");

/*
 * How often a reader stands back, each time for twice as long: docs/design.md, 'Constants'. The step, which comes then, does not;
 * two CPUs, which is all that was measured, do not get there.
 */
#define STAND_BACKS 4

enum lw_ending lw_rwlock_slow(lw_rwlock *rwlock, lw_step *step, lw_deadline deadline, lw_cancel *cancel)
{
    return lw_block_soon((struct lw_operation){step, rwlock->word, lw_self()}, deadline, cancel).ending;
}

/* Leaves the word's cache line to others for a while. Whoever has it gets done what takes several times as long otherwise. */
static void stand_back(int64_t ns, lw_deadline deadline)
{
    const lw_deadline until = lw_now() + ns;
    while (lw_now() < (until < deadline ? until : deadline))
        ;
}

/* Comes when two attempts have failed. If nobody is in the way but other readers, they were quicker. */
enum lw_ending lw_rwlock_read_slow(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    for (int i = 0; i < STAND_BACKS && lw_pace.stand_back_ns && lw_rwlock_state(rwlock->word) < LW_RWLOCK_READERS; i++) {
        stand_back(lw_pace.stand_back_ns << i, deadline);
        if (lw_rwlock_enter_read(rwlock))
            return LW_ENDED_DONE;
    }
    return lw_rwlock_slow(rwlock, lw_rwlock_read_step, deadline, cancel);
}
