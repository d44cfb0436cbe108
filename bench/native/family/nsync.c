/* nsync's reader-writer mutex, once and condition. */
#include <nsync.h>

#include "family.h"

#define NAME "nsync"

static inline void rw_read(nsync_mu *mutex)
{
    nsync_mu_rlock(mutex);
    nsync_mu_runlock(mutex);
}
FAMILY_TURNS(rw_read, nsync_mu)

static inline void rw_write(nsync_mu *mutex)
{
    nsync_mu_lock(mutex);
    nsync_mu_unlock(mutex);
}
FAMILY_TURNS(rw_write, nsync_mu)

static void do_nothing(void)
{
}

static inline void done(nsync_once *once)
{
    nsync_run_once(once, do_nothing);
}
FAMILY_TURNS(done, nsync_once)

static void run_once(void *once)
{
    done(once);
}

static inline void notify(nsync_cv *cond)
{
    nsync_cv_signal(cond);
}
FAMILY_TURNS(notify, nsync_cv)

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
