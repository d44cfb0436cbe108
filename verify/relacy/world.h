/*
 * world.h: what the event loops' programs, lot.cpp and loop.cpp, have in common: Relacy's locks
 * instead of the lot's, by their addresses, the bells of two loops, and main.
 */
#ifndef LOCKWORD_RELACY_WORLD_H
#define LOCKWORD_RELACY_WORLD_H

#include "loop-seam.h"
#include "simulate.h"

#include <string.h>

extern "C" {
#include "../../src/loop/lot.h"
#include "../../src/wait/platform.h"

/* lot-inside.c. An execution that fails leaves the lot as it is. */
void model_empty_lot(void);
}

#include <relacy/relacy.hpp>

namespace
{

/* Locks by address, and what each loop needs besides. */
struct world {
    enum { locks = 8, loops = 2 };

    struct lock {
        const void *address;
        rl::mutex mutex;
    } all[locks];

    struct bell {
        const int *fds;
        rl::waitset<3> bed;
        bool is_rung;
        bool is_due; /* its timer */
        bool is_gone;
    } bells[loops];

    unsigned used;

    rl::mutex &of(const void *address)
    {
        /* Nobody touches a loop that has ended. */
        for (const bell &bell : bells)
            RL_ASSERT(!bell.is_gone || address != LW_CONTAINER(bell.fds, lw_loop, fds[0]));
        unsigned i = 0;
        while (i < used && all[i].address != address)
            i++;
        if (i == used)
            all[used++].address = address;
        return all[i].mutex;
    }

    bell &of_fds(const int *fds)
    {
        for (bell &bell : bells) {
            if (bell.fds == fds)
                return bell;
        }
        abort();
    }
};

world *now;

} // namespace

extern "C" {

void model_point()
{
    rl::ctx().sched();
}

uint32_t model_self()
{
    return rl::ctx().current_thread() + 1;
}

void model_expect(int is_so)
{
    RL_ASSERT(is_so);
}

void model_lock(const void *address)
{
    now->of(address).lock($);
}

void model_unlock(const void *address)
{
    now->of(address).unlock($);
}

/* The words are no region's. */
bool lw_ring(const lw_word *)
{
    return false;
}

lw_word *lw_heard_at(lw_word *word)
{
    return word;
}

/* No thread waits. */
uint32_t lw_notify(lw_word *, uint32_t)
{
    return 0;
}

void lw_alarm_ring(const int *fds)
{
    world::bell &bell = now->of_fds(fds);
    RL_ASSERT(!bell.is_gone);
    bell.is_rung = true;
    bell.bed.unpark_one(rl::ctx(), $);
}

int64_t lw_now()
{
    return 1;
}

/* The end of a loop, which waits for those that ring it. */
lw_woken lw_wait(const uint32_t *, uint32_t, lw_deadline)
{
    rl::yield(1, $);
    return LW_TIMED_OUT;
}

} // extern "C"

namespace
{

/* Returns how main ends; 0 for a broken source if a scenario notices. */
template <size_t n>
int run(const harness::test (&tests)[n], harness::simulator *simulate, unsigned limit,
        bool is_broken)
{
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        ok = harness::check_one(tests[i], simulate, limit, !is_broken);
        if (!is_broken)
            harness::report(ok);
    }
    if (is_broken)
        harness::report(!ok);
    return harness::finish();
}

} // namespace

#endif
