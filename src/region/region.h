/* region.h: an open region, as its process has it, and what the files of this folder share. */
#ifndef LOCKWORD_REGION_REGION_H
#define LOCKWORD_REGION_REGION_H

#include "layout.h"

#include <lockword/mutex.h>
#include <pthread.h>

/* These are no symbols of the shared library. */
#pragma GCC visibility push(hidden)

struct lw_region {
    struct memory *memory;
    uint32_t slots; /* their number, by the size that was checked when the region was opened */
    size_t mapped;  /* what to unmap, bytes; 0: the caller's memory */

    /* Differs between all regions that this process has opened, and 0 is none of them. */
    uint64_t serial;
    struct lw_region *next; /* in the list of open regions */

    lw_mutex joining;     /* held to start the keeper */
    bool joined;          /* the keeper runs */
    lw_word keeper_ready; /* a futex: 0; 1: it has a row; otherwise an errno code + 2 */
    lw_word closing;
    pthread_t keeper;
    uint32_t row; /* the process row */
    uint32_t generation;
    lw_mutex burying; /* one thread of a process buries at a time */
};

/* keeper.c */

/* Starts the keeper, unless it runs already. Returns 0, EAGAIN or ENOMEM. */
int lw_region_join(struct lw_region *region);
/* Ends the keeper, which gives back all that this process has in the region. */
void lw_region_leave(struct lw_region *region);
/* Returns a number that is not 0, and another one after the machine has booted again. */
uint32_t lw_region_boot(void);

/* bury.c */

/* Returns whether the process of this row has died, if it has one. */
bool lw_region_is_dead(const struct lw_region *region, uint32_t row);
/* Returns whether a live process buries the dead now. */
bool lw_region_has_burier(const struct lw_region *region);
/* Buries all processes that have died, unless another live process is at it. */
void lw_region_bury_the_dead(struct lw_region *region);
/* Gives back all that a process has, and its row. The process has died, or is the caller's. */
void lw_region_bury_process(struct lw_region *region, uint32_t row);
/* Gives back what an agent has, and its row. It is the calling thread's. */
void lw_region_bury_agent(struct lw_region *region, uint32_t id);
/* Frees a robust mutex whose owner is no agent: the file was damaged. */
void lw_region_bury_nobody(struct lw_region *region, lw_word *words);
/*
 * Announces to the kernel that this process's threads may have to be driven out of their code
 * (bury.c). Returns whether the kernel can do that.
 */
bool lw_region_announce_process(void);

/* agent.c */

/*
 * Sets *id to the calling thread's id in this region, which it gets by the first call. Returns 0 or
 * an errno code.
 */
int lw_region_agent_slow(struct lw_region *region, uint32_t *id);

extern LW_AGENT_LOCAL struct lw_region_agent {
    uint64_t serial; /* the region's; 0: none */
    uint32_t id;
} lw_region_last_agent;

static inline int lw_region_agent(struct lw_region *region, uint32_t *id)
{
    if (__builtin_expect(lw_region_last_agent.serial == region->serial, 1)) {
        *id = lw_region_last_agent.id;
        return 0;
    }
    return lw_region_agent_slow(region, id);
}

/* Adds a region to those that are open in this process, and removes it. */
void lw_region_register(struct lw_region *region);
void lw_region_unregister(struct lw_region *region);

static inline struct agent *lw_region_agent_of(const struct lw_region *region, uint32_t id)
{
    return &region->memory->agents[id & ID_ROW];
}

/* Returns the process row of the agent with this id, or PROCESSES if there is no such agent. */
uint32_t lw_region_process_of(const struct lw_region *region, uint32_t id);

/* mutex.c */

/* The lock of a robust mutex of the region. `busy` says which: layout.h. Returns an errno code. */
int lw_region_take(struct lw_region *region, lw_word *words, uint32_t busy, uint32_t self,
                   lw_deadline deadline, lw_cancel *cancel);

/* Frees a robust mutex of the region. */
bool lw_region_free(struct lw_region *region, lw_word *words, uint32_t busy, uint32_t self);

#pragma GCC visibility pop

#endif
