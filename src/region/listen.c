/*
 * listen.c: one thread for each region in which event loops of this process wait. It waits at the
 * region's doorbell (wait/platform.h), and tells them which bells have moved.
 */
#define _GNU_SOURCE
#include "region.h"

#include "../loop/lot.h"

static struct lw_doorbell *doorbell_of(const struct lw_region *region)
{
    return &region->memory->header.doorbell;
}

void lw_region_ring_all(struct lw_region *region)
{
    struct lw_doorbell *doorbell = doorbell_of(region);
    for (uint32_t i = 0; i < LW_BELLS; i++)
        __atomic_fetch_add(&doorbell->bells[i], 1, __ATOMIC_SEQ_CST);
    lw_region_move(&doorbell->rung);
}

/* Returns a bit for each bell that has moved since the last call. */
static uint32_t look_at_bells(struct lw_region *region)
{
    uint32_t moved = 0;
    for (uint32_t i = 0; i < LW_BELLS; i++) {
        const uint32_t now = __atomic_load_n(&doorbell_of(region)->bells[i], __ATOMIC_SEQ_CST);
        moved |= (uint32_t)(now != region->heard[i]) << i;
        region->heard[i] = now;
    }
    return moved;
}

static void *listen(void *argument)
{
    struct lw_region *region = argument;
    struct lw_doorbell *doorbell = doorbell_of(region);
    for (;;) {
        const uint32_t rung = __atomic_load_n(&doorbell->rung, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&region->deaf, __ATOMIC_SEQ_CST))
            return NULL;
        const uint32_t moved = look_at_bells(region);
        for (uint32_t i = 0; i < LW_BELLS; i++) {
            if (moved & 1u << i)
                lw_lot_notify(&doorbell->bells[i], LW_ALL);
        }
        if (moved && region->tell)
            region->tell(region->told, moved);
        lw_wait(&doorbell->rung, rung, LW_FOREVER);
    }
}

static int start(struct lw_region *region)
{
    look_at_bells(region);
    lw_store(&region->deaf, 0, lw_relaxed);
    return lw_region_start_thread(&region->listener, listen, region);
}

int lw_region_listen(struct lw_region *region)
{
    if (__atomic_load_n(&region->listens, __ATOMIC_ACQUIRE))
        return 0;
    lw_mutex_lock(&region->joining);
    const int error = region->listens ? 0 : start(region);
    __atomic_store_n(&region->listens, error == 0, __ATOMIC_RELEASE);
    lw_mutex_unlock(&region->joining);
    return error;
}

void lw_region_stop_listening(struct lw_region *region)
{
    if (!region->listens)
        return;
    __atomic_store_n(&region->deaf, 1, __ATOMIC_SEQ_CST);
    lw_region_move(&doorbell_of(region)->rung);
    pthread_join(region->listener, NULL);
    region->listens = false;
}
