/* mutex.c: the mutex's C interface: the functions that are not inlined. */
#include <lockword/mutex.h>

#include "blocking.h"
#include "wait/awake.h"

_Static_assert(sizeof(lw_mutex) == 8, "docs/layout.md: a mutex is two words");
_Static_assert(_Alignof(lw_mutex) == 4, "docs/layout.md: words are 4-byte aligned");

enum lw_ending lw_mutex_lock_slow(lw_mutex *mutex, lw_deadline deadline, lw_cancel *cancel)
{
    const uint32_t self = lw_self();
    if (lw_spin_for_mutex(mutex->word, self, deadline))
        return LW_ENDED_DONE;
    return lw_block((struct lw_operation){lw_mutex_lock_step, mutex->word, self}, deadline, cancel)
        .ending;
}

bool lw_mutex_unlock_slow(lw_mutex *mutex)
{
    return lw_mutex_unlock_step(mutex->word, lw_self());
}
