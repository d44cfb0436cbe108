/* rwlock.c: the half of the read-write lock's C face that waits. */
#include <lockword/rwlock.h>

#include "blocking.h"

_Static_assert(sizeof(lw_rwlock) == 12, "docs/layout.md: a read-write lock is three words");

enum lw_ending lw_rwlock_slow(lw_rwlock *rwlock, lw_step *step, lw_deadline deadline, lw_cancel *cancel)
{
    return lw_block((struct lw_operation){step, rwlock->word, lw_self()}, deadline, cancel).ending;
}
