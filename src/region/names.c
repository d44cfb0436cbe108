/*
 * names.c: the names of a region: an open-addressed hash table, one slot for each name. A slot is
 * found without a lock: its type is stored last, and read before and after the name. Names are made
 * and removed under the directory's mutex. If its holder dies, the next one finds a slot that has
 * its type already, or one that has not, and need not mend anything.
 */
#define _GNU_SOURCE
#include "region.h"

#include "../wait/platform.h"

#include <string.h>

/* Returns 0, EINVAL or ENAMETOOLONG; the name with zeros behind it, and its hash. */
static int pack(const char *name, uint32_t *packed, uint32_t *hash)
{
    if (!name || !*name)
        return EINVAL;
    const size_t length = strnlen(name, LW_REGION_NAME_MAX + 1);
    if (length > LW_REGION_NAME_MAX)
        return ENAMETOOLONG;
    memset(packed, 0, LW_REGION_NAME_MAX + 1);
    memcpy(packed, name, length);
    *hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        *hash = (*hash ^ (unsigned char)name[i]) * 16777619u;
    return 0;
}

static bool has_name(const struct slot *slot, const uint32_t *packed, uint32_t hash)
{
    if (lw_load(&slot->hash, lw_relaxed) != hash)
        return false;
    for (uint32_t i = 0; i < NAME_WORDS; i++) {
        /* Acquire: find looks at the type again after these. */
        if (lw_load(&slot->name[i], lw_acquire) != packed[i])
            return false;
    }
    return true;
}

/*
 * Returns the slot of this name, or NULL, and its type. *vacant: the first slot that can be given
 * the name, or NULL.
 */
static struct slot *find(const struct lw_region *region, const uint32_t *packed, uint32_t hash,
                         uint32_t *type, struct slot **vacant)
{
    *vacant = NULL;
    for (uint32_t i = 0; i < region->slots; i++) {
        struct slot *slot =
            &region->memory->slots[(uint32_t)(((uint64_t)hash + i) % region->slots)];
        do {
            *type = lw_load(&slot->type, lw_acquire);
            if ((*type & SLOT_TYPE) != SLOT_MUTEX) {
                if (!*vacant)
                    *vacant = slot;
                break;
            }
            if (!has_name(slot, packed, hash))
                break;
            if (lw_load(&slot->type, lw_relaxed) == *type)
                return slot;
        } while (true);
        if (*type == SLOT_UNUSED)
            return NULL;
    }
    return NULL;
}

static uint32_t fate_of(uint32_t type)
{
    return type / SLOT_ONE * LW_ROBUST_ONE_NAME;
}

static int lock_directory(struct lw_region *region, uint32_t *self)
{
    int error = lw_region_agent(region, self);
    lw_word *directory = region->memory->header.directory;
    if (!error && !lw_mutex_take(directory, *self))
        error = lw_region_take(region, directory, BUSY_DIRECTORY, *self, LW_FOREVER, NULL);
    return error;
}

static void unlock_directory(struct lw_region *region, uint32_t self)
{
    lw_region_free(region, region->memory->header.directory, BUSY_DIRECTORY, self);
}

/*
 * Gives the slot this name. The caller holds the directory. A slot that has been removed may still
 * be held for a moment by a thread that has not noticed.
 */
static int make(struct lw_region *region, struct slot *slot, const uint32_t *packed, uint32_t hash,
                uint32_t self)
{
    const uint32_t before = lw_load(&slot->type, lw_relaxed);
    const uint32_t type = (before & ~SLOT_TYPE) + SLOT_ONE + SLOT_MUTEX;
    const uint32_t busy = (uint32_t)(slot - region->memory->slots) + 1;
    const int error = lw_region_take(region, slot->words, busy, self, LW_FOREVER, NULL);
    if (error)
        return error;
    lw_robust_decide(slot->words, fate_of(type));
    lw_store(&slot->acquisitions, 0, lw_relaxed);
    lw_store(&slot->contended, 0, lw_relaxed);
    lw_store(&slot->recoveries, 0, lw_relaxed);
    lw_store(&slot->hash, hash, lw_relaxed);
    for (uint32_t i = 0; i < NAME_WORDS; i++)
        lw_store(&slot->name[i], packed[i], lw_relaxed);
    lw_store(&slot->type, type, lw_release);
    lw_region_free(region, slot->words, busy, self);
    return 0;
}

static void hand_out(lw_region *region, struct slot *slot, uint32_t type, lw_region_mutex *mutex)
{
    *mutex = (lw_region_mutex){region, slot->words, fate_of(type)};
}

int lw_region_mutex_named(lw_region *region, const char *name, lw_region_mutex *mutex)
{
    uint32_t packed[NAME_WORDS];
    uint32_t hash;
    int error = pack(name, packed, &hash);
    if (error)
        return error;
    uint32_t type;
    struct slot *vacant;
    struct slot *slot = find(region, packed, hash, &type, &vacant);
    if (!slot) {
        uint32_t self;
        error = lock_directory(region, &self);
        if (error)
            return error;
        slot = find(region, packed, hash, &type, &vacant);
        if (!slot) {
            error = vacant ? make(region, vacant, packed, hash, self) : ENOSPC;
            slot = vacant;
            if (!error)
                type = lw_load(&slot->type, lw_relaxed);
        }
        unlock_directory(region, self);
    }
    if (!error)
        hand_out(region, slot, type, mutex);
    return error;
}

/* Removes a slot's name. The caller holds the directory. */
static int remove_slot(struct lw_region *region, struct slot *slot, uint32_t type, uint32_t self)
{
    if (!lw_mutex_try_step(slot->words, self))
        return EBUSY;
    const uint32_t removed = (type & ~SLOT_TYPE) + SLOT_ONE + SLOT_REMOVED;
    lw_store(&slot->type, removed, lw_release);
    lw_robust_decide(slot->words, fate_of(removed));
    lw_region_free(region, slot->words, (uint32_t)(slot - region->memory->slots) + 1, self);
    return 0;
}

int lw_region_remove(lw_region *region, const char *name)
{
    uint32_t packed[NAME_WORDS];
    uint32_t hash;
    uint32_t self;
    int error = pack(name, packed, &hash);
    if (error)
        return error == ENAMETOOLONG ? ENOENT : error;
    error = lock_directory(region, &self);
    if (error)
        return error;
    uint32_t type;
    struct slot *vacant;
    struct slot *slot = find(region, packed, hash, &type, &vacant);
    error = slot ? remove_slot(region, slot, type, self) : ENOENT;
    unlock_directory(region, self);
    return error;
}

static void copy_words(char *text, const lw_word *words, size_t bytes)
{
    for (size_t i = 0; i < bytes / 4; i++) {
        const uint32_t word = lw_load(&words[i], lw_relaxed);
        memcpy(text + 4 * i, &word, 4);
    }
    text[bytes - 1] = 0;
}

static void describe_holder(const struct lw_region *region, uint32_t owner,
                            struct lw_region_info *info)
{
    const uint32_t process = lw_region_process_of(region, owner);
    if (process == PROCESSES)
        return;
    const struct agent *agent = lw_region_agent_of(region, owner);
    info->holder_pid = lw_load(&region->memory->processes[process].pid, lw_relaxed);
    info->holder_tid = lw_load(&agent->tid, lw_relaxed);
    copy_words(info->holder, agent->name, sizeof info->holder);
}

static void describe_waiters(const struct lw_region *region, uint32_t busy, uint32_t owner,
                             struct lw_region_info *info)
{
    const uint32_t now = (uint32_t)(lw_now() / 1000000);
    for (uint32_t row = 0; row < AGENTS; row++) {
        const struct agent *agent = &region->memory->agents[row];
        if (lw_load(&agent->busy, lw_acquire) != busy || row == (owner & ID_ROW))
            continue;
        info->waiters++;
        const uint32_t waited = now - lw_load(&agent->since, lw_relaxed);
        if (waited < 0x80000000u && waited > info->longest_ms)
            info->longest_ms = waited;
    }
}

/* Returns whether the slot has a name. */
static bool describe(const struct lw_region *region, const struct slot *slot,
                     struct lw_region_info *info)
{
    const uint32_t type = lw_load(&slot->type, lw_acquire);
    if ((type & SLOT_TYPE) != SLOT_MUTEX)
        return false;
    memset(info, 0, sizeof *info);
    copy_words(info->name, slot->name, sizeof info->name);
    const uint32_t fate = lw_robust_fate(slot->words);
    info->fate = fate & LW_ROBUST_ABANDONED    ? ENOTRECOVERABLE
                 : fate & LW_ROBUST_OWNER_DIED ? EOWNERDEAD
                                               : 0;
    info->acquisitions = lw_load(&slot->acquisitions, lw_relaxed);
    info->contended = lw_load(&slot->contended, lw_relaxed);
    info->recoveries = lw_load(&slot->recoveries, lw_relaxed);
    const uint32_t owner = lw_mutex_owner(slot->words);
    if (owner)
        describe_holder(region, owner, info);
    describe_waiters(region, (uint32_t)(slot - region->memory->slots) + 1, owner, info);
    return true;
}

int lw_region_next(lw_region *region, uint32_t *cursor, struct lw_region_info *info)
{
    while (*cursor < region->slots) {
        if (describe(region, &region->memory->slots[(*cursor)++], info))
            return 0;
    }
    return ENOENT;
}

int lw_region_describe(lw_region *region, const char *name, struct lw_region_info *info)
{
    uint32_t packed[NAME_WORDS];
    uint32_t hash;
    uint32_t type;
    struct slot *vacant;
    const int error = pack(name, packed, &hash);
    if (error)
        return error == ENAMETOOLONG ? ENOENT : error;
    const struct slot *slot = find(region, packed, hash, &type, &vacant);
    return slot && describe(region, slot, info) ? 0 : ENOENT;
}
