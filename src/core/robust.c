/*
 * robust.c: the robust mutex's steps for the dead. The meaning of the words is in core/robust.h;
 * locking is lw_mutex_lock_step.
 */
#include <lockword/core/robust.h>

void lw_robust_mourn(lw_word *robust)
{
    const uint32_t fate = lw_robust_fate(robust);
    if (!(fate & LW_ROBUST_ABANDONED))
        lw_robust_decide(robust, fate | LW_ROBUST_OWNER_DIED);
}

void lw_robust_bury(lw_word *robust, uint32_t dead)
{
    if (lw_mutex_owner(robust) == dead)
        lw_robust_mourn(robust);
    lw_mutex_bury_step(robust, dead);
}
