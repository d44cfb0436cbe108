/* mutex.c: the halves of the mutex's C face that are not inlined. */
#include <lockword/mutex.h>

#include "blocking.h"
#include "wait/platform.h"

_Static_assert(sizeof(lw_mutex) == 8, "docs/layout.md: a mutex is two words");
_Static_assert(_Alignof(lw_mutex) == 4, "docs/layout.md: words are 4-byte aligned");

/*
 * Lets others run for a moment, in the hope that one of them unlocks: the largest single gain under contention, since a thread that
 * was woken otherwise sits behind the one that unlocked it until a tick of the scheduler. Not where somebody waits already, who
 * would be overtaken.
 */
static bool take_soon(lw_mutex *mutex, uint32_t self)
{
    for (int i = 0; i < lw_pace.pauses; i++) {
        if (lw_load(&mutex->word[LW_MUTEX_STATE], lw_relaxed) & (LW_MUTEX_BLOCKED | LW_MUTEX_RESERVED))
            return false;
        lw_pause();
        if (lw_mutex_take(mutex->word, self))
            return true;
    }
    return false;
}

enum lw_ending lw_mutex_lock_slow(lw_mutex *mutex, lw_deadline deadline, lw_cancel *cancel)
{
    const uint32_t self = lw_self();
    if (take_soon(mutex, self))
        return LW_ENDED_DONE;
    return lw_block((struct lw_operation){lw_mutex_lock_step, mutex->word, self}, deadline, cancel).ending;
}

bool lw_mutex_unlock_slow(lw_mutex *mutex)
{
    return lw_mutex_unlock_step(mutex->word, lw_self());
}
