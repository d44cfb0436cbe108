/* nsync's reader-writer mutex, once and condition. */
#include <nsync.h>

#include "family.h"

#define NAME "nsync"

OPERATION(rw_read, nsync_mu, nsync_mu_rlock(it); nsync_mu_runlock(it))
OPERATION(rw_write, nsync_mu, nsync_mu_lock(it); nsync_mu_unlock(it))

static void do_nothing(void)
{
}

OPERATION(done, nsync_once, nsync_run_once(it, do_nothing))
ACTION(run_once, nsync_once, done(it))
OPERATION(notify, nsync_cv, nsync_cv_signal(it))

struct rally {
    nsync_mu mutex;
    nsync_cv cond;
    uint32_t turn;
};
FAMILY_RALLY(nsync_mu_lock, nsync_mu_unlock, nsync_cv_wait, nsync_cv_signal)

BENCH_FAMILY bench_family_nsync[];
const struct bench_operation bench_family_nsync[] = {
    {BENCH_READ, NAME, false, 0, 0, rw_read_turns, 0},
    {BENCH_READERS, NAME, false, 0, 0, rw_read_turns, rw_read_turns},
    {BENCH_WRITE, NAME, false, 0, 0, rw_write_turns, 0},
    {BENCH_DONE, NAME, false, run_once, 0, done_turns, 0},
    {BENCH_NOTIFY, NAME, false, 0, 0, notify_turns, 0},
    {BENCH_RALLY, NAME, false, 0, 0, rally_turns, rally_partner},
    {BENCH_RALLY_HELD, NAME, false, 0, 0, rally_held_turns, rally_held_partner},
    {BENCH_SUBJECTS, 0, false, 0, 0, 0, 0},
};
