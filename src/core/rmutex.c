/*
 * rmutex.c: the recursive mutex's steps. The meaning of the words is in core/rmutex.h; locking is
 * lw_mutex_lock_step.
 *
 * The depth and the holder need no memory order of their own: only the holder changes them, and the
 * mutex orders one holder after another. An agent that does not hold the mutex learns from them
 * only that it does not. The holder reads what it wrote itself.
 */
#include <lockword/core/rmutex.h>

uint32_t lw_rmutex_depth(const lw_word *rmutex)
{
    return lw_mutex_owner(rmutex) ? lw_load(&rmutex[LW_RMUTEX_DEPTH], lw_relaxed) + 1 : 0;
}

enum lw_reentry lw_rmutex_reenter_step(lw_word *rmutex, uint32_t holder)
{
    if (lw_load(&rmutex[LW_RMUTEX_HOLDER], lw_unordered) != holder)
        return LW_REENTRY_NO;
    const uint32_t depth = lw_load(&rmutex[LW_RMUTEX_DEPTH], lw_unordered);
    if (depth == LW_RMUTEX_AGAIN)
        return LW_REENTRY_OVERFLOW;
    lw_store(&rmutex[LW_RMUTEX_DEPTH], depth + 1, lw_unordered);
    return LW_REENTRY_YES;
}

void lw_rmutex_entered_step(lw_word *rmutex, uint32_t holder, uint32_t depth)
{
    lw_store(&rmutex[LW_RMUTEX_DEPTH], depth, lw_unordered);
    lw_store(&rmutex[LW_RMUTEX_HOLDER], holder, lw_unordered);
}

bool lw_rmutex_free_step(lw_word *rmutex, uint32_t holder)
{
    if (lw_load(&rmutex[LW_RMUTEX_HOLDER], lw_unordered) != holder)
        return false;
    lw_store(&rmutex[LW_RMUTEX_HOLDER], 0, lw_unordered);
    return lw_mutex_unlock_step(rmutex, holder & LW_MUTEX_OWNER);
}
