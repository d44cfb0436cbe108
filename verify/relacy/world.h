/*
 * world.h: what the event loops' programs have in common: Relacy's locks instead of the lot's, by
 * their addresses, and the bells of two loops.
 */
#ifndef LOCKWORD_RELACY_WORLD_H
#define LOCKWORD_RELACY_WORLD_H

#include <lockword/loop.h>

extern "C" {
#include "../../src/loop/lot.h"
#include "../../src/wait/platform.h"
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

void lw_alarm_ring(const int *fds)
{
    world::bell &bell = now->of_fds(fds);
    RL_ASSERT(!bell.is_gone);
    bell.is_rung = true;
    bell.bed.unpark_one(rl::ctx(), $);
}

void lw_yield()
{
    rl::yield(1, $);
}

#endif
