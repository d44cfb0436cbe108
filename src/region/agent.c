/*
 * agent.c: the threads of this process that use a region. A thread becomes an agent by its first
 * call, and is buried by its own process when it exits.
 */
#define _GNU_SOURCE
#include "region.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* A thread's id in one region. */
struct membership {
    uint64_t serial;
    uint32_t id;
    struct membership *next;
};

LW_AGENT_LOCAL struct lw_region_agent lw_region_last_agent;

static LW_AGENT_LOCAL struct membership *memberships;

/* The regions that are open in this process. */
static lw_mutex registry = LW_MUTEX_INIT;
static struct lw_region *open_regions;
static uint64_t serials;

static pthread_key_t at_exit;
static bool has_key;
static lw_word is_ending;
static LW_AGENT_LOCAL bool is_exiting;

static void forget_memberships(void)
{
    while (memberships) {
        struct membership *next = memberships->next;
        free(memberships);
        memberships = next;
    }
    lw_region_last_agent = (struct lw_region_agent){0, 0};
}

static struct lw_region *open_region(uint64_t serial)
{
    struct lw_region *region = open_regions;
    while (region && region->serial != serial)
        region = region->next;
    return region;
}

/* Forgets the ids in regions that have been closed: a thread may open one after another. */
static void forget_closed_regions(void)
{
    lw_mutex_lock(&registry);
    for (struct membership **link = &memberships; *link;) {
        struct membership *member = *link;
        if (open_region(member->serial)) {
            link = &member->next;
        } else {
            *link = member->next;
            free(member);
        }
    }
    lw_mutex_unlock(&registry);
}

/*
 * A thread exits: what it holds in regions that are still open is free for others. Not in the first
 * round, in which its event loops end.
 */
static void retire(void *first)
{
    if (!is_exiting) {
        is_exiting = pthread_setspecific(at_exit, first) == 0;
        if (is_exiting)
            return;
    }
    lw_mutex_lock(&registry);
    for (const struct membership *m = memberships; m; m = m->next) {
        struct lw_region *region = open_region(m->serial);
        if (region)
            lw_region_bury_agent(region, m->id, false);
    }
    lw_mutex_unlock(&registry);
    forget_memberships();
}

void lw_region_retire(struct lw_region *region)
{
    struct membership **link = &memberships;
    while (*link && (*link)->serial != region->serial)
        link = &(*link)->next;
    struct membership *member = *link;
    if (!member)
        return;
    lw_region_bury_agent(region, member->id, true);
    *link = member->next;
    free(member);
    lw_region_last_agent = (struct lw_region_agent){0, 0};
}

/*
 * A forked child has the regions mapped, but is no process of theirs yet, and its thread is no
 * agent. Its parent's other threads may have held the private locks.
 */
static void become_another_process(void)
{
    registry = (lw_mutex)LW_MUTEX_INIT;
    for (struct lw_region *region = open_regions; region; region = region->next) {
        region->joining = region->visiting = (lw_mutex)LW_MUTEX_INIT;
        lw_store(&region->burying, 0, lw_relaxed);
        region->joined = region->listens = false;
        lw_store(&region->keeper_ready, KEEPER_STARTS, lw_relaxed);
    }
    forget_memberships();
}

/* Returns whether there is a key. The caller has the registry, or runs before all others. */
static bool make_key(void)
{
    if (!has_key && !lw_load(&is_ending, lw_relaxed))
        has_key = pthread_key_create(&at_exit, retire) == 0;
    return has_key;
}

/* The process may have no key left now, and one later: a plugin is loaded at any time. */
static bool make_key_later(void)
{
    lw_mutex_lock(&registry);
    const bool is_made = make_key();
    lw_mutex_unlock(&registry);
    return is_made;
}

LW_CONSTRUCTOR static void prepare(void)
{
    make_key();
    pthread_atfork(NULL, NULL, become_another_process);
}

/*
 * If the library is unloaded, no thread may call `retire` when it exits. If the program ends, its
 * other threads need not: the process is buried.
 */
LW_DESTRUCTOR static void delete_key(void)
{
    lw_store(&is_ending, 1, lw_relaxed);
    if (has_key)
        pthread_key_delete(at_exit);
}

void lw_region_register(struct lw_region *region)
{
    lw_mutex_lock(&registry);
    region->serial = ++serials;
    region->next = open_regions;
    open_regions = region;
    lw_mutex_unlock(&registry);
}

void lw_region_unregister(struct lw_region *region)
{
    lw_mutex_lock(&registry);
    struct lw_region **link = &open_regions;
    while (*link && *link != region)
        link = &(*link)->next;
    if (*link)
        *link = region->next;
    lw_mutex_unlock(&registry);
}

uint32_t lw_region_process_of(const struct lw_region *region, uint32_t id)
{
    const uint32_t state = lw_load(&lw_region_agent_of(region, id)->state, lw_acquire);
    const uint32_t process = state & AGENT_PROCESS;
    if (id >> ID_GENERATION_SHIFT == 0 ||
        id >> ID_GENERATION_SHIFT != state >> AGENT_GENERATION_SHIFT || process == 0 ||
        process > PROCESSES)
        return PROCESSES;
    return process - 1;
}

/* Takes a free row, whose generation becomes that of the id. Returns 0 or EAGAIN. */
static int take_row(struct lw_region *region, uint32_t *id)
{
    struct agent *agents = region->memory->agents;
    /* Processes begin at different rows, so that they rarely meet. */
    const uint32_t first = region->row * (AGENTS / PROCESSES);
    for (uint32_t i = 0; i < AGENTS; i++) {
        const uint32_t row = (first + i) & ID_ROW;
        const uint32_t state = lw_load(&agents[row].state, lw_relaxed);
        if (state & AGENT_PROCESS)
            continue;
        uint32_t generation = state >> AGENT_GENERATION_SHIFT & (AGENT_GENERATIONS - 1);
        generation += generation == 0;
        const uint32_t taken = generation << AGENT_GENERATION_SHIFT | (region->row + 1);
        lw_region_mark_used(region->memory->header.used_agents, AGENTS_PART_SHIFT, row);
        if (lw_cas(&agents[row].state, state, taken, lw_acq_rel) != state)
            continue;
        *id = generation << ID_GENERATION_SHIFT | row;
        return 0;
    }
    return EAGAIN;
}

static void set_name(struct agent *agent, const char *name)
{
    char text[sizeof agent->name] = {0};
    memcpy(text, name, strnlen(name, sizeof text - 1));
    for (size_t i = 0; i < sizeof text / 4; i++) {
        uint32_t word;
        memcpy(&word, text + 4 * i, 4);
        lw_store(&agent->name[i], word, lw_relaxed);
    }
}

/* The calling thread becomes an agent: the first of its memberships. Returns 0 or EAGAIN. */
static int become_agent(struct lw_region *region)
{
    if (!make_key_later())
        return EAGAIN;
    const int error = lw_region_join(region);
    if (error)
        return error;
    forget_closed_regions();
    struct membership *member = malloc(sizeof *member);
    if (!member)
        return EAGAIN;
    const bool is_told =
        pthread_setspecific(at_exit, member) == 0 || lw_load(&is_ending, lw_relaxed);
    if (!is_told || take_row(region, &member->id) != 0) {
        free(member);
        if (!memberships)
            pthread_setspecific(at_exit, NULL);
        return EAGAIN;
    }
    /*
     * Before any lock has the id: lw_region_bury_nobody frees what has the id of no agent. To take
     * the row orders no later store, and to take a lock is an acquire: on POWER, and in C's model,
     * others could see the lock's word first.
     */
    __sync_synchronize();
    member->serial = region->serial;
    member->next = memberships;
    memberships = member;
    struct agent *agent = lw_region_agent_of(region, member->id);
    lw_store(&agent->tid, lw_self(), lw_relaxed);
    char name[sizeof agent->name] = {0};
    prctl(PR_GET_NAME, name);
    set_name(agent, name);
    return 0;
}

int lw_region_agent_slow(struct lw_region *region, uint32_t *id)
{
    const struct membership *known = memberships;
    while (known && known->serial != region->serial)
        known = known->next;
    if (!known) {
        const struct lw_quiet before = lw_begin_quietly();
        const int error = become_agent(region);
        lw_end_quietly(before);
        if (error)
            return error;
        known = memberships;
    }
    lw_region_last_agent = (struct lw_region_agent){known->serial, known->id};
    *id = known->id;
    return 0;
}

int lw_region_name_thread(lw_region *region, const char *name)
{
    if (!name || strlen(name) >= sizeof(((struct agent *)0)->name))
        return EINVAL;
    uint32_t self;
    const int error = lw_region_agent(region, &self);
    if (!error)
        set_name(lw_region_agent_of(region, self), name);
    return error;
}
