/*
 * many.c: linked into tests, it lets them run as on a platform that cannot wait on several words:
 * by lw_wait_ringing (src/wait/linux.c) if LW_RINGING is defined, and by lw_wait_polling
 * (src/wait/poll.c) if not.
 */
#include "../../src/wait/platform.h"

lw_woken __wrap_lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                             int64_t *look_ns);

/* The linker puts it in lw_wait_many's place. */
lw_woken __wrap_lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                             int64_t *look_ns)
{
#ifdef LW_RINGING
    (void)look_ns;
    return lw_wait_ringing(waited, n, deadline);
#else
    return lw_wait_polling(waited, n, deadline, look_ns);
#endif
}
