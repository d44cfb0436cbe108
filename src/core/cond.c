/* cond.c: the condition's steps. The meaning of the words is in core/cond.h. */
#include <lockword/core/cond.h>

static uint32_t add(lw_word *word, uint32_t n)
{
    uint32_t old = lw_load(word, lw_relaxed);
    while (!lw_cas(word, &old, old + n, lw_acq_rel))
        ;
    return old;
}

uint32_t lw_cond_enter_step(lw_word *cond)
{
    uint32_t sequence = lw_load(&cond[LW_COND_SEQUENCE], lw_relaxed);
    add(&cond[LW_COND_WAITERS], 1);
    return sequence;
}

lw_answer lw_cond_wait_step(lw_word *cond, uint32_t sequence, uint32_t why, uint32_t phase)
{
    const bool moved = lw_load(&cond[LW_COND_SEQUENCE], lw_acquire) != sequence;
    (void)phase;
    switch (why & LW_WHY) {
    case LW_CANCELLED:
        /* If a notify was what woke it, that was for somebody who still wants it. */
        if (moved && !(why & LW_ASYNC))
            lw_notify(&cond[LW_COND_SEQUENCE], 1);
        return lw_answer_of(LW_GAVE_UP, 0, 0, 0);
    case LW_TIMED_OUT:
        return lw_answer_of(LW_GAVE_UP, 0, 0, 0);
    default:
        return moved ? lw_answer_of(LW_DONE, 0, 0, 0) : lw_answer_of(LW_WAIT_IDLE, LW_COND_SEQUENCE, 0, sequence);
    }
}

void lw_cond_leave_step(lw_word *cond)
{
    add(&cond[LW_COND_WAITERS], (uint32_t)-1);
}

uint32_t lw_cond_notify_step(lw_word *cond, uint32_t n)
{
    if (n == 0 || lw_load(&cond[LW_COND_WAITERS], lw_acquire) == 0)
        return 0;
    add(&cond[LW_COND_SEQUENCE], 1);
    return lw_notify(&cond[LW_COND_SEQUENCE], n);
}
