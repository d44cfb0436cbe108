/* poll.c: waiting on several words where a platform can wait on one only. */
#include "platform.h"

lw_woken lw_wait_polling(const struct lw_waited *waited, uint32_t n, lw_deadline deadline)
{
    for (uint32_t i = 1; i < n; i++) {
        if (lw_load(waited[i].word, lw_acquire) != waited[i].expected)
            return LW_NOT_EQUAL;
    }
    const lw_deadline look = lw_now() + lw_pace.poll_ns;
    const lw_woken woken = lw_wait(waited[0].word, waited[0].expected, look < deadline ? look : deadline);
    return woken == LW_TIMED_OUT && look < deadline ? LW_NOT_EQUAL : woken;
}
