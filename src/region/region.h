/* region.h: an open region, as its process has it, and what the files of this folder share. */
#ifndef LOCKWORD_REGION_REGION_H
#define LOCKWORD_REGION_REGION_H

#include "../quiet.h"
#include "layout.h"

#include <errno.h>
#include <pthread.h>
#include <sys/types.h>

/* These are no symbols of the shared library. */
#pragma GCC visibility push(hidden)

/* A keeper that runs has a process row. One that failed has ended. */
enum { KEEPER_STARTS, KEEPER_RUNS, KEEPER_FAILED };

struct lw_region {
    struct memory *memory;
    /* By the size that was checked when the region was opened: */
    uint32_t slots;            /* their number */
    uint32_t slots_part_shift; /* so many of them, 2 to this power, are a part of them */
    uint32_t bytes;            /* where the ranges of bytes begin */
    uint32_t end;              /* where they end */
    size_t mapped;             /* what to unmap, bytes; 0: the caller's memory */
    /* The file that was mapped. */
    dev_t device;
    ino_t inode;

    /* Differs between all regions that this process has opened, and 0 is none of them. */
    uint64_t serial;
    struct lw_region *next; /* in the list of open regions */

    lw_mutex joining;     /* held to start the keeper */
    bool joined;          /* the keeper runs */
    lw_word keeper_ready; /* a futex: KEEPER_STARTS, or what has come of it */
    lw_word closing;
    pthread_t keeper;
    uint32_t row; /* the process row */
    uint32_t generation;
    lw_word burying;   /* 1: a thread of this process buries */
    lw_mutex visiting; /* held while the process's row says that it visits a slot (bury.c) */

    /* The listener (listen.c). `joining` is held to start it. */
    bool listens;
    lw_word deaf; /* it is to end */
    pthread_t listener;
    uint32_t heard[LW_BELLS];                 /* as it has seen the bells */
    void (*tell)(void *told, uint32_t moved); /* who else is told which bells have moved; or NULL */
    void *told;
};

/* keeper.c */

/* Starts the keeper, unless it runs already. Returns 0 or EAGAIN. */
int lw_region_join(struct lw_region *region);
/*
 * Starts a thread of the library. It has all signals blocked: they are for the program's own
 * threads. Returns 0 or EAGAIN.
 */
int lw_region_start_thread(pthread_t *thread, void *(*body)(void *), struct lw_region *region);
/* Moves a word of the header, and wakes all that wait for that. */
void lw_region_move(lw_word *word);
/* Ends the keeper, which gives back all that this process has in the region. */
void lw_region_leave(struct lw_region *region);
/* Finds out lw_region_boot, before this process opens its first region. Returns an errno code. */
int lw_region_learn_boot(void);
/* FNV-1a. */
uint32_t lw_region_hash(const char *bytes, size_t n);
/*
 * Returns a number that is not 0, and another one after the machine has booted again. Or that this
 * process cannot read it from the kernel's /proc: then it does not know which of the others are of
 * its boot, nor they of which it is.
 */
#define LW_REGION_UNKNOWN_BOOT 0x811c9dc5u /* the hash of nothing */
uint32_t lw_region_boot(void);

/* listen.c */

/*
 * Starts the listener, unless it runs already: from then on, it tells those who wait in this
 * process which bells have moved. Returns 0 or EAGAIN.
 */
int lw_region_listen(struct lw_region *region);
/* Ends the listener. */
void lw_region_stop_listening(struct lw_region *region);
/* Rings all bells, so that all event loops look again, of all processes. */
void lw_region_ring_all(struct lw_region *region);

/* bury.c */

/* Returns whether another live process, or another thread of this one, buries the dead now. */
bool lw_region_has_burier(const struct lw_region *region);
/* Buries all processes that have died. If another process or thread is at it, leaves them to it. */
void lw_region_bury_the_dead(struct lw_region *region);
/* Gives back all that a process has, and its row. The process has died, or is the caller's. */
void lw_region_bury_process(struct lw_region *region, uint32_t row);
/*
 * Gives back what an agent has, and its row. It is the calling thread's. may_wait: the thread may
 * have ended while it waited, or between a change and its notify.
 */
void lw_region_bury_agent(struct lw_region *region, uint32_t id, bool may_wait);
/* Frees the mutex whose state is this word, if it is one and its owner no agent: damaged files. */
void lw_region_bury_nobody(struct lw_region *region, const lw_word *word);
/*
 * Announces to the kernel that this process's threads may have to be driven out of their code
 * (bury.c). Returns whether the kernel can do that.
 */
bool lw_region_announce_process(void);

/*
 * Most of a region's rows are never used, and to read each of them would be most of a burial's
 * time. So the header has a bit for each part of them, which is set before a row of the part is
 * used for the first time, and never cleared. A process that dies can have used no row whose bit is
 * not set; and if it died between the two, a burial reads a part in vain.
 */
void lw_region_mark_used(lw_word *used, uint32_t shift, uint32_t row);
/*
 * Returns the first row of an agent, from this one on, that may be in use, or AGENTS; the first of
 * a process, or PROCESSES.
 */
uint32_t lw_region_next_agent(const struct lw_region *region, uint32_t row);
uint32_t lw_region_next_process(const struct lw_region *region, uint32_t row);

/* agent.c */

/*
 * Sets *id to the calling thread's id in this region, which it gets by the first call. Returns 0 or
 * an errno code.
 */
int lw_region_agent_slow(struct lw_region *region, uint32_t *id);

static inline int lw_region_agent(struct lw_region *region, uint32_t *id)
{
    if (__builtin_expect(lw_region_last_agent.serial == region->serial, 1)) {
        *id = lw_region_last_agent.id;
        return 0;
    }
    return lw_region_agent_slow(region, id);
}

/*
 * Returns whether the mutex has its name still. Once that has been removed, another name may have
 * the words: whoever holds them then does not hold this mutex.
 */
static inline bool lw_region_is_named(const lw_region_mutex *mutex)
{
    return (lw_robust_fate(mutex->words) & LW_ROBUST_NAME) == mutex->fate;
}

/* As lw_region_agent, for a thread that holds the mutex. Returns EPERM if it does not. */
static inline int lw_region_agent_holding(const lw_region_mutex *mutex, uint32_t *id)
{
    const int error = lw_region_agent(mutex->region, id);
    if (error)
        return error;
    return lw_mutex_owner(mutex->words) == *id && lw_region_is_named(mutex) ? 0 : EPERM;
}

/*
 * The calling thread is no agent of this region any more, wherever in its code it was. What it
 * holds is free for others.
 */
void lw_region_retire(struct lw_region *region);

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

/*
 * An agent says what it is busy with before it can consume a wake-up, or owe one, and takes that
 * back afterwards. If it dies meanwhile, its burial wakes others in its place.
 */
struct agent *lw_region_begin(const struct lw_region *region, uint32_t busy, uint32_t self);
void lw_region_end(struct agent *agent);

/* What an agent is busy with when it waits for this slot's primitive. */
static inline uint32_t lw_region_busy(const struct lw_region *region, const struct slot *slot)
{
    return (uint32_t)(slot - region->memory->slots) + 1;
}

/* Returns the slot in which this word of the region lies, or NULL: the header's, or a range's. */
static inline struct slot *lw_region_slot_of(const struct lw_region *region, const lw_word *word)
{
    const size_t at = (size_t)((const char *)word - (char *)region->memory->slots);
    return at / sizeof(struct slot) < region->slots
               ? &region->memory->slots[at / sizeof(struct slot)]
               : NULL;
}

/* Returns the slot that an agent waits for, or NULL if it waits for none. */
static inline struct slot *lw_region_waits_for(const struct lw_region *region,
                                               const struct agent *agent)
{
    const uint32_t busy = lw_load(&agent->busy, lw_acquire);
    return 0 < busy && busy <= region->slots ? &region->memory->slots[busy - 1] : NULL;
}

/* The lock of a robust mutex of the region. `busy` says which: layout.h. Returns an errno code. */
int lw_region_take(struct lw_region *region, lw_word *words, uint32_t busy, uint32_t self,
                   lw_deadline deadline, lw_cancel *cancel);

/* Frees a robust mutex of the region. */
bool lw_region_free(struct lw_region *region, lw_word *words, uint32_t busy, uint32_t self);

/* names.c */

/* A name, with zeros behind it, and its hash. */
struct lw_region_name {
    uint32_t words[NAME_WORDS];
    uint32_t hash;
};

/* The fate of a slot's mutex while the slot has this type: nothing but which object it is. */
static inline uint32_t lw_region_fate_of(uint32_t type)
{
    return type / SLOT_ONE * LW_ROBUST_ONE_NAME;
}

/* The words that a primitive of this kind has among a slot's `other`. */
uint32_t lw_region_words(uint32_t kind);

/*
 * Returns the agent that holds what a slot has, as its words say, or 0. Of permits and readers: the
 * only one.
 */
uint32_t lw_region_owner(const struct lw_region *region, const struct slot *slot, uint32_t kind);

/*
 * Returns the agent without which this waiter for the slot cannot go on, or 0: there is none, or no
 * single one.
 */
uint32_t lw_region_blocker(const struct lw_region *region, const struct slot *slot, uint32_t kind,
                           uint32_t waiter);

/* Returns whether names of this kind are permits or tables. */
bool lw_region_has_table(uint32_t kind);

/* Returns the words of a slot's permits or readers; NULL: the slot has none, or is damaged. */
lw_word *lw_region_table(const struct lw_region *region, const struct slot *slot, uint32_t kind);

/*
 * Tells of the agent with this id: its process, thread, and name (32 bytes). If there is none,
 * nothing is changed.
 */
void lw_region_tell_thread(const struct lw_region *region, uint32_t id, uint32_t *pid,
                           uint32_t *tid, char *name);

/* Copies the slot's name, of LW_REGION_NAME_MAX + 1 bytes at most. */
void lw_region_tell_name(const struct slot *slot, char *name);

/*
 * Finds the name, or makes it. Its kind's words are set to those of `initial` (NULL: zeros) before
 * others can find it; a range gets so many bytes, or permits that number. *slot and *type: what it
 * has. Returns 0 or what lw_region_mutex_named returns.
 */
int lw_region_named(struct lw_region *region, const char *name, uint32_t kind,
                    const lw_word *initial, uint32_t bytes, struct slot **slot, uint32_t *type);

/* The mutex of a slot that had this type when its name was found. */
lw_region_mutex lw_region_mutex_in(struct lw_region *region, struct slot *slot, uint32_t type);

/* The same for a mutex or a recursive one. */
int lw_region_find_mutex(struct lw_region *region, const char *name, uint32_t kind,
                         lw_region_mutex *mutex);

/* A form without a cancel, and one without a limit. */
#define SHORTER(function, type)                                                                    \
    int function##_until(const type *it, lw_deadline deadline)                                     \
    {                                                                                              \
        return function##_cancel(it, deadline, NULL);                                              \
    }                                                                                              \
    int function(const type *it)                                                                   \
    {                                                                                              \
        return function##_cancel(it, LW_FOREVER, NULL);                                            \
    }

#pragma GCC visibility pop

#endif
