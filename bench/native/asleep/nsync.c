/* nsync's threads. */
#include <nsync.h>

#include "asleep.h"

#define NAME "nsync"

static inline void nothing(void *zeroed)
{
    (void)zeroed;
}

ASLEEP_AT(write, nsync_mu, nothing, nsync_mu_lock, nsync_mu_unlock)
ASLEEP_AT_READ(nsync_mu, nsync_mu_rlock, nsync_mu_runlock)

struct waited {
    nsync_mu mutex;
    nsync_cv cond;
    int go;
};
ASLEEP_AT_CONDITION(nothing, nsync_mu_lock, nsync_mu_unlock, nsync_cv_wait, nsync_cv_broadcast)

BENCH_WAITS bench_asleep_nsync[];
const struct bench_wait bench_asleep_nsync[] = {
    {BENCH_AT_MUTEX, NAME, hold_write, wait_write, release_write},
    {BENCH_AT_CONDITION, NAME, hold_condition, wait_condition, release_condition},
    {BENCH_AT_READ, NAME, hold_write, wait_read, release_write},
    {BENCH_AT_WRITE, NAME, hold_write, wait_write, release_write},
    {BENCH_BLOCKS, 0, 0, 0, 0},
};
