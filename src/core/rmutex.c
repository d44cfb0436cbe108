/*
 * rmutex.c: the recursive mutex's steps. The meaning of the words is in core/rmutex.h; locking is
 * lw_mutex_lock_step.
 *
 * The depth needs no memory order of its own: only the holder changes it, and the mutex orders one
 * holder after another. An agent that does not hold the mutex learns nothing from the depth. The
 * holder reads what it wrote itself.
 */
#include <lockword/core/rmutex.h>

static uint32_t depth_of(const lw_word *rmutex)
{
    return lw_load(&rmutex[LW_RMUTEX_DEPTH], lw_unordered);
}

/* Any agent may ask: only its own operations make it the holder, or end that. */
static bool is_mine(const lw_word *rmutex, uint32_t self)
{
    return (lw_load(&rmutex[LW_MUTEX_STATE], lw_unordered) & LW_MUTEX_OWNER) == self;
}

static bool is_held_as(uint32_t depth, uint32_t task)
{
    return (depth & LW_RMUTEX_TASK) == task;
}

uint32_t lw_rmutex_depth(const lw_word *rmutex)
{
    return lw_mutex_owner(rmutex)
               ? (lw_load(&rmutex[LW_RMUTEX_DEPTH], lw_relaxed) & LW_RMUTEX_AGAIN) + 1
               : 0;
}

enum lw_reentry lw_rmutex_reenter_step(lw_word *rmutex, uint32_t self, uint32_t task)
{
    if (!is_mine(rmutex, self))
        return LW_REENTRY_NO;
    const uint32_t depth = depth_of(rmutex);
    if (!is_held_as(depth, task))
        return LW_REENTRY_NO;
    if ((depth & LW_RMUTEX_AGAIN) == LW_RMUTEX_AGAIN)
        return LW_REENTRY_OVERFLOW;
    lw_store(&rmutex[LW_RMUTEX_DEPTH], depth + 1, lw_unordered);
    return LW_REENTRY_YES;
}

void lw_rmutex_entered_step(lw_word *rmutex, uint32_t depth)
{
    if (depth_of(rmutex) != depth)
        lw_store(&rmutex[LW_RMUTEX_DEPTH], depth, lw_unordered);
}

bool lw_rmutex_unlock_step(lw_word *rmutex, uint32_t self, uint32_t task)
{
    const uint32_t depth = depth_of(rmutex);
    /*
     * The mutex was taken once. If self does not hold it, the depth was another agent's, and
     * freeing the mutex fails.
     */
    if (depth == task)
        return lw_mutex_free(rmutex, self) || lw_mutex_unlock_step(rmutex, self);
    if (!is_mine(rmutex, self) || !is_held_as(depth, task))
        return false;
    lw_store(&rmutex[LW_RMUTEX_DEPTH], depth - 1, lw_unordered);
    return true;
}
