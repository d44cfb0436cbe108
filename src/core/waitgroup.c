/* waitgroup.c: the wait group's steps. The meaning of the words is in core/waitgroup.h. */
#include <lockword/core/waiters.h>
#include <lockword/core/waitgroup.h>

uint32_t lw_waitgroup_state(const lw_word *group)
{
    return lw_load(&group[LW_WAITGROUP_STATE], lw_acquire);
}

uint32_t lw_waitgroup_count(const lw_word *group)
{
    return lw_waitgroup_state(group) & LW_WAITGROUP_MAX;
}

bool lw_waitgroup_add_step(lw_word *group, uint32_t n)
{
    uint32_t seen = lw_load(&group[LW_WAITGROUP_STATE], lw_unordered);
    uint32_t state;
    do {
        state = seen;
        const uint32_t count = state & LW_WAITGROUP_MAX;
        if (n > LW_WAITGROUP_MAX - count)
            return false;
        uint32_t next = state + n;
        if (count == 0 && n != 0)
            next =
                ((state + LW_WAITGROUP_ONE_ROUND) & LW_WAITGROUP_ROUND) | (state & LW_WAITERS) | n;
        seen = lw_cas(&group[LW_WAITGROUP_STATE], state, next, lw_acq_rel);
    } while (seen != state);
    return true;
}

bool lw_waitgroup_done_step(lw_word *group, uint32_t n)
{
    uint32_t seen = lw_load(&group[LW_WAITGROUP_STATE], lw_unordered);
    uint32_t state;
    do {
        state = seen;
        const uint32_t count = state & LW_WAITGROUP_MAX;
        if (n > count)
            return false;
        if (n == count)
            seen = lw_waiters_change(group, state, state - n);
        else
            seen = lw_cas(&group[LW_WAITGROUP_STATE], state, state - n, lw_release);
    } while (seen != state);
    return true;
}

lw_answer lw_waitgroup_wait_step(lw_word *group, uint32_t since, uint32_t why, lw_phase phase)
{
    const uint32_t state = lw_waitgroup_state(group);
    if ((state & LW_WAITGROUP_MAX) == 0 || (state ^ since) & LW_WAITGROUP_ROUND)
        return lw_answer_of(LW_DONE, 0, 0, 0);
    return lw_waiters_wait(group, state, 0, LW_WAIT_IDLE, why, phase);
}
