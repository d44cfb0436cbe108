/* permits.c: the permits' C interface: the functions that wait. */
#include <lockword/permits.h>

#include "blocking.h"
#include "wait/awake.h"

_Static_assert(sizeof(lw_permits) == 1024, "docs/layout.md: permits are 256 words");

/* As a caller that only looks: it can neither consume a notify nor owe one. */
static bool take(lw_word *permits, uint32_t self, uint32_t *which)
{
    const lw_answer answer = lw_permits_acquire_step(permits, self, LW_TIMED_OUT, 0);
    *which = lw_answer_expected(answer);
    return lw_answer_what(answer) == LW_DONE;
}

#if !LW_ENGINE

/* Of several permits, the first one's owner stands for all: that one changes hands most often. */
static uint32_t look(const lw_word *permits, uint32_t self, uint32_t *owner)
{
    const bool is_reserved = lw_load(&permits[LW_PERMITS_STATE], lw_relaxed) & LW_PERMITS_RESERVED;
    *owner = lw_load(&permits[LW_PERMITS_FIRST], lw_relaxed);
    const bool has_all = *owner == self && lw_permits_count(permits) == 1;
    const bool is_held = *owner && lw_permits_find(permits, 0) == LW_PERMITS_NONE;
    return (is_held ? LW_SEEN_HELD : 0u) | (is_reserved ? LW_SEEN_CLOSED : 0u) |
           (is_reserved || has_all ? LW_SEEN_BARRED : 0u);
}

static const struct lw_held one_permit = {.look = look, .take = take};
static const struct lw_held several_permits = {.look = look, .take = take, .has_several = true};

const struct lw_held *lw_held_owned(const lw_word *permits)
{
    return lw_permits_count(permits) == 1 ? &one_permit : &several_permits;
}

#endif

enum lw_ending lw_permits_acquire_slow(lw_permits *permits, uint32_t *which, lw_deadline deadline,
                                       lw_cancel *cancel)
{
    const uint32_t self = lw_self();
    struct lw_end end = {LW_ENDED_DONE, 0, 0};
    if (!take(permits->word, self, &end.result))
        end = lw_hold(lw_held_owned(permits->word),
                      (struct lw_operation){lw_permits_acquire_step, permits->word, self}, deadline,
                      cancel);
    if (which && lw_error_of(end.ending) == 0)
        *which = end.result;
    return end.ending;
}
