/* mutex.c: the mutex's C interface: the functions that are not inlined. */
#include <lockword/mutex.h>

#include "blocking.h"
#include "wait/awake.h"

_Static_assert(sizeof(lw_mutex) == 8, "docs/layout.md: a mutex is two words");
_Static_assert(_Alignof(lw_mutex) == 4, "docs/layout.md: words are 4-byte aligned");

#if !LW_ENGINE

static uint32_t look(const lw_word *mutex, uint32_t self, uint32_t *owner)
{
    const uint32_t state = lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed);
    *owner = state & LW_MUTEX_OWNER;
    const bool barred = state & LW_MUTEX_RESERVED || *owner == self;
    return (*owner ? LW_SEEN_HELD : 0u) | (state != *owner ? LW_SEEN_CLOSED : 0u) |
           (barred ? LW_SEEN_BARRED : 0u);
}

static bool take(lw_word *mutex, uint32_t self, uint32_t *result)
{
    (void)result;
    return lw_mutex_take(mutex, self);
}

const struct lw_held lw_held_mutex = {.look = look, .take = take};

#endif

enum lw_ending lw_mutex_lock_slow(lw_mutex *mutex, lw_deadline deadline, lw_cancel *cancel)
{
    return lw_hold(&lw_held_mutex,
                   (struct lw_operation){lw_mutex_lock_step, mutex->word, lw_self()}, deadline,
                   cancel)
        .ending;
}

bool lw_mutex_unlock_slow(lw_mutex *mutex)
{
    return lw_mutex_unlock_step(mutex->word, lw_self());
}
