/* platform.c: the functions that src/wait/linux.c has, on the simulated machine. */
#include "../../src/wait/platform.h"

#include "machine.h"

/* No word is a region's. */
struct lw_region *lw_shared_by(const uint32_t *word)
{
    (void)word;
    return NULL;
}

uint64_t lw_thread_id(void)
{
    return (uint64_t)sim_self() + 1;
}

/* Asked once, at the start. Every simulated machine has several. */
bool lw_has_one_cpu(void)
{
    return false;
}

int64_t lw_now(void)
{
    return (int64_t)sim_clock();
}

void lw_yield(void)
{
    sim_yield();
}

lw_woken lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline)
{
    const double until = deadline == LW_FOREVER ? SIM_FOREVER : (double)deadline;
    switch (sim_futex_wait(word, expected, until)) {
    case SIM_WOKEN:
        return LW_OK;
    case SIM_NOT_EQUAL:
        return LW_NOT_EQUAL;
    default:
        return LW_TIMED_OUT;
    }
}

lw_woken lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                      int64_t *look_ns)
{
    return lw_wait_polling(waited, n, deadline, look_ns);
}
