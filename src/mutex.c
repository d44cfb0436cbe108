/* mutex.c: the halves of the mutex's C face that are not inlined. */
#include <lockword/mutex.h>

#include "blocking.h"

_Static_assert(sizeof(lw_mutex) == 8, "docs/layout.md: a mutex is two words");
_Static_assert(_Alignof(lw_mutex) == 4, "docs/layout.md: words are 4-byte aligned");

enum lw_what lw_mutex_lock_slow(lw_mutex *mutex, lw_deadline deadline)
{
    return lw_block(lw_mutex_lock_step, mutex->word, deadline);
}

bool lw_mutex_unlock_slow(lw_mutex *mutex)
{
    return lw_mutex_unlock_step(mutex->word, lw_self());
}
