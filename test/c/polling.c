/* polling.c: linked into tests, it lets them run as on a platform that cannot wait on several words (src/wait/poll.c). */
#include "../../src/wait/platform.h"

lw_woken __wrap_lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline);

/* The linker puts it in lw_wait_many's place. */
lw_woken __wrap_lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline)
{
    return lw_wait_polling(waited, n, deadline);
}
