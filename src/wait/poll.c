/* poll.c: waiting on several words, for a platform that can wait only on one. */
#include "platform.h"

#define LONGEST_LOOK_NS 1000000000

lw_woken lw_wait_polling(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                         int64_t *look_ns)
{
    for (uint32_t i = 1; i < n; i++) {
        if (lw_load(waited[i].word, lw_acquire) != waited[i].expected)
            return LW_NOT_EQUAL;
    }
    const lw_deadline look = lw_now() + *look_ns;
    const lw_woken woken =
        lw_wait(waited[0].word, waited[0].expected, look < deadline ? look : deadline);
    if (woken != LW_TIMED_OUT || look >= deadline)
        return woken;
    *look_ns = *look_ns < LONGEST_LOOK_NS / 2 ? *look_ns * 2 : LONGEST_LOOK_NS;
    return LW_NOT_EQUAL;
}
