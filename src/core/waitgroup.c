/* waitgroup.c: the wait group's steps. The meaning of the words is in core/waitgroup.h. */
#include <lockword/core/waiters.h>
#include <lockword/core/waitgroup.h>

uint32_t lw_waitgroup_count(const lw_word *group)
{
    return lw_load(&group[LW_WAITGROUP_STATE], lw_acquire) & LW_WAITGROUP_MAX;
}

uint32_t lw_waitgroup_generation(const lw_word *group)
{
    return lw_load(&group[LW_WAITGROUP_GENERATION], lw_acquire);
}

bool lw_waitgroup_add_step(lw_word *group, uint32_t n)
{
    for (;;) {
        /* The generation first: if it still holds when the count has been seen at 0, no round has begun in between. */
        uint32_t generation = lw_waitgroup_generation(group);
        uint32_t state = lw_load(&group[LW_WAITGROUP_STATE], lw_acquire);
        uint32_t count = state & LW_WAITGROUP_MAX;
        if (n > LW_WAITGROUP_MAX - count)
            return false;
        if (count == 0 && n > 0 && !lw_cas(&group[LW_WAITGROUP_GENERATION], &generation, generation + 1, lw_acq_rel))
            continue;
        if (lw_cas(&group[LW_WAITGROUP_STATE], &state, state + n, lw_acq_rel))
            return true;
    }
}

bool lw_waitgroup_done_step(lw_word *group, uint32_t n)
{
    uint32_t seen = lw_load(&group[LW_WAITGROUP_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        uint32_t count = state & LW_WAITGROUP_MAX;
        if (n > count)
            return false;
        if (n == count)
            seen = lw_waiters_change(group, state, 0);
        else if (lw_cas(&group[LW_WAITGROUP_STATE], &seen, state - n, lw_release))
            return true;
    } while (seen != state);
    return true;
}

lw_answer lw_waitgroup_wait_step(lw_word *group, uint32_t generation, uint32_t why, uint32_t phase)
{
    uint32_t state = lw_load(&group[LW_WAITGROUP_STATE], lw_acquire);
    if ((state & LW_WAITGROUP_MAX) == 0 || lw_waitgroup_generation(group) != generation)
        return lw_answer_of(LW_DONE, 0, 0, 0);
    return lw_waiters_wait(group, state, 0, LW_WAIT_IDLE, why, phase);
}
