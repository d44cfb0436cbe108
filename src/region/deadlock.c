/*
 * deadlock.c: finds threads that wait for each other in a cycle.
 *
 * Every thread that waits has written down for what, and what it waits for names its owner. Both
 * are read without a lock, one after the other. So a cycle is read twice. A thread that waits does
 * nothing else: if all of its threads were in the same waits both times, then each owner held what
 * it did all the time in between, and the cycle was there at one moment.
 */
#include "region.h"

#include <stdlib.h>
#include <string.h>

/* A thread of a cycle, as it was found. */
struct wait {
    uint32_t row;
    uint32_t state;
    uint32_t waits;
    const struct slot *slot;
    uint32_t owner;
};

static uint32_t waiter_of(const struct wait *wait)
{
    const uint32_t generation = wait->state >> AGENT_GENERATION_SHIFT & (AGENT_GENERATIONS - 1);
    return generation << ID_GENERATION_SHIFT | wait->row;
}

/* Returns whether the agent of this row waits for another one, and for no other. */
static bool read_wait(const struct lw_region *region, uint32_t row, struct wait *wait)
{
    const struct agent *agent = &region->memory->agents[row];
    wait->row = row;
    wait->slot = lw_region_waits_for(region, agent);
    if (!wait->slot)
        return false;
    wait->waits = lw_load(&agent->waits, lw_acquire);
    wait->state = lw_load(&agent->state, lw_acquire);
    const uint32_t kind = lw_load(&wait->slot->type, lw_acquire) & SLOT_TYPE;
    wait->owner = lw_region_blocker(region, wait->slot, kind, waiter_of(wait));
    return (wait->owner & ID_ROW) != row && lw_region_process_of(region, wait->owner) != PROCESSES;
}

/* Returns how many threads the cycle has that begins at this row, if it is still there; else 0. */
static uint32_t follow(const struct lw_region *region, uint32_t first, struct wait *waits)
{
    uint32_t n = 0;
    uint32_t row = first;
    do {
        if (n == AGENTS || !read_wait(region, row, &waits[n]))
            return 0;
        row = waits[n++].owner & ID_ROW;
    } while (row != first);
    for (uint32_t i = 0; i < n; i++) {
        struct wait again;
        if (!read_wait(region, waits[i].row, &again) || again.waits != waits[i].waits ||
            again.state != waits[i].state || again.slot != waits[i].slot ||
            again.owner != waits[i].owner)
            return 0;
    }
    return n;
}

static void tell(const struct lw_region *region, const struct wait *wait,
                 struct lw_region_link *link)
{
    memset(link, 0, sizeof *link);
    lw_region_tell_thread(region, waiter_of(wait), &link->pid, &link->tid, link->thread);
    lw_region_tell_name(wait->slot, link->waits_for);
}

int lw_region_deadlock(lw_region *region, struct lw_region_link *links, uint32_t room,
                       uint32_t *found)
{
    /* In which walk a row was met first. Rows that an earlier walk met lead to no other cycle. */
    uint16_t walk_of[AGENTS] = {0};
    *found = 0;
    const struct lw_quiet before = lw_begin_quietly();
    struct wait *waits = malloc(AGENTS * sizeof *waits);
    lw_end_quietly(before);
    if (!waits)
        return ENOMEM;
    int error = ENOENT;
    for (uint32_t start = lw_region_next_agent(region, 0); start < AGENTS && error;
         start = lw_region_next_agent(region, start + 1)) {
        struct wait wait;
        uint32_t row = start;
        while (walk_of[row] == 0) {
            walk_of[row] = (uint16_t)(start + 1);
            if (!read_wait(region, row, &wait))
                break;
            row = wait.owner & ID_ROW;
        }
        if (walk_of[row] != start + 1)
            continue;
        const uint32_t n = follow(region, row, waits);
        for (uint32_t i = 0; i < n && i < room; i++)
            tell(region, &waits[i], &links[i]);
        *found = n;
        if (n)
            error = 0;
    }
    free(waits);
    return error;
}
