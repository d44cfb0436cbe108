/*
 * names.c: the names of a region: an open-addressed hash table, one slot for each name. A slot is
 * found without a lock: its type is stored last, and read before and after the name. Names are made
 * and removed under the directory's mutex. If its holder dies, the next one finds a slot that has
 * its type already, or one that has not, and need not mend anything.
 */
#define _GNU_SOURCE
#include "region.h"

#include "../wait/platform.h"

#include <stdlib.h>
#include <string.h>

/* What there is of each kind. */
static const uint32_t words_of[LW_REGION_KINDS] = {
    [LW_REGION_EVENT] = LW_EVENT_WORDS,     [LW_REGION_SEM] = LW_SEM_WORDS,
    [LW_REGION_COUNTER] = LW_COUNTER_WORDS, [LW_REGION_WAITGROUP] = LW_WAITGROUP_WORDS,
    [LW_REGION_LATCH] = LW_LATCH_WORDS,     [LW_REGION_BARRIER] = LW_BARRIER_WORDS,
    [LW_REGION_COND] = LW_COND_WORDS,       [LW_REGION_ONCE] = LW_ONCE_WORDS,
    [LW_REGION_RWLOCK] = LW_RWLOCK_WORDS,
};

#define HAS_ROOM(words) ((words) <= sizeof(((struct slot *)0)->other) / sizeof(lw_word))
_Static_assert(HAS_ROOM(LW_SEM_WORDS) && HAS_ROOM(LW_BARRIER_WORDS) && HAS_ROOM(LW_RWLOCK_WORDS),
               "a slot has room for each");

uint32_t lw_region_words(uint32_t kind)
{
    return kind < LW_REGION_KINDS ? words_of[kind] : 0;
}

static bool is_kind(uint32_t type)
{
    const uint32_t kind = type & SLOT_TYPE;
    return 0 < kind && kind < LW_REGION_KINDS;
}

/* Returns 0, EINVAL or ENAMETOOLONG. */
static int pack(const char *name, struct lw_region_name *packed)
{
    if (!name || !*name)
        return EINVAL;
    const size_t length = strnlen(name, LW_REGION_NAME_MAX + 1);
    if (length > LW_REGION_NAME_MAX)
        return ENAMETOOLONG;
    memset(packed, 0, sizeof *packed);
    memcpy(packed->words, name, length);
    packed->hash = lw_region_hash(name, length);
    return 0;
}

static bool has_name(const struct slot *slot, const struct lw_region_name *name)
{
    if (lw_load(&slot->hash, lw_relaxed) != name->hash)
        return false;
    for (uint32_t i = 0; i < NAME_WORDS; i++) {
        /* Acquire: find looks at the type again after these. */
        if (lw_load(&slot->name[i], lw_acquire) != name->words[i])
            return false;
    }
    return true;
}

/* Returns the slot at which a search for this name looks after so many others. */
static struct slot *slot_at(const struct lw_region *region, const struct lw_region_name *name,
                            uint32_t i)
{
    return &region->memory->slots[(uint32_t)(((uint64_t)name->hash + i) % region->slots)];
}

/* Whether a search ends at a slot of this type: the name that it looks for is not behind it. */
static bool ends_search(uint32_t type)
{
    return (type & SLOT_TYPE) == SLOT_UNUSED;
}

/*
 * Returns the slot of this name, or NULL, and its type. *passed, *removed: how many slots it has
 * passed, and how many of them were removed.
 */
static struct slot *search(const struct lw_region *region, const struct lw_region_name *name,
                           uint32_t *type, uint32_t *passed, uint32_t *removed)
{
    *removed = 0;
    for (*passed = 0; *passed < region->slots; ++*passed) {
        struct slot *slot = slot_at(region, name, *passed);
        do {
            *type = lw_load(&slot->type, lw_acquire);
            if (!is_kind(*type) || !has_name(slot, name))
                break;
            if (lw_load(&slot->type, lw_relaxed) == *type)
                return slot;
        } while (true);
        if (ends_search(*type))
            return NULL;
        *removed += !is_kind(*type);
    }
    return NULL;
}

static struct slot *find(const struct lw_region *region, const struct lw_region_name *name,
                         uint32_t *type)
{
    uint32_t passed;
    uint32_t removed;
    return search(region, name, type, &passed, &removed);
}

/* If a search has passed more removed slots than these, the next ones shall be shorter. */
#define MOST_REMOVED 16

/*
 * A search for this name found none, after it had passed so many slots. Where no search for a name
 * that there is comes by, those of them that were removed end searches from now on: else, after
 * enough names that came and went, each search for a new one would look at all slots. The caller
 * holds the directory. Who holds a removed slot's mutex may still be about to say that the name was
 * removed, and if it dies its burial looks at the type (bury.c).
 */
static void shorten_searches(const struct lw_region *region, const struct lw_region_name *name,
                             uint32_t passed)
{
    const uint32_t slots = region->slots;
    /* Backwards from a slot that ends searches; if there is none, once around before that. */
    const uint32_t looks = passed < slots ? passed : 2 * slots;
    uint32_t needed = 0; /* so many of the slots to come are on the way to a name seen already */
    for (uint32_t i = looks; i-- > 0;) {
        struct slot *slot = slot_at(region, name, i);
        const uint32_t type = lw_load(&slot->type, lw_relaxed);
        const bool is_needed = needed > 0;
        needed -= is_needed;
        if (is_kind(type)) {
            const uint32_t place = (uint32_t)(slot - region->memory->slots);
            const uint32_t first = lw_load(&slot->hash, lw_relaxed) % slots;
            const uint32_t before = (place >= first ? place : place + slots) - first;
            needed = before > needed ? before : needed;
        } else if (!is_needed && i < slots && (type & SLOT_TYPE) == SLOT_REMOVED &&
                   (type & ~SLOT_TYPE) != 0 && lw_mutex_owner(slot->words) == 0) {
            lw_store(&slot->type, type & ~SLOT_TYPE, lw_relaxed);
        }
    }
}

bool lw_region_has_table(uint32_t kind)
{
    return kind == LW_REGION_PERMITS || kind == LW_REGION_RWTABLE;
}

/* Whether the kind has a place among the region's ranges of bytes. */
static bool has_range(uint32_t kind)
{
    return kind == LW_REGION_BYTES || lw_region_has_table(kind);
}

lw_word *lw_region_table(const struct lw_region *region, const struct slot *slot, uint32_t kind)
{
    const uint32_t place = lw_load(&slot->other[BYTES_PLACE], lw_relaxed);
    const uint32_t bytes = LW_PERMITS_WORDS * sizeof(lw_word);
    return lw_region_has_table(kind) && place >= region->bytes &&
                   place + (uint64_t)bytes <= region->end && place % BYTES_ALIGNMENT == 0
               ? (lw_word *)(void *)((char *)region->memory + place)
               : NULL;
}

/* Returns the owner of these permits, if one agent has all that are not free, or 0. */
static uint32_t only_owner(const lw_word *permits)
{
    const uint32_t count = lw_permits_count(permits);
    uint32_t owner = 0;
    for (uint32_t which = 0; which < count; which++) {
        const uint32_t one = lw_load(&permits[LW_PERMITS_FIRST + which], lw_acquire);
        if (one != 0 && owner != 0 && one != owner)
            return 0;
        if (one != 0)
            owner = one;
    }
    return owner;
}

static uint32_t owner_of_table(const lw_word *table)
{
    const uint32_t writer = table ? lw_load(&table[LW_PERMITS_WRITER], lw_acquire) : 0;
    return writer || !table ? writer : only_owner(table);
}

/* Acquire, here and above: deadlock.c looks at other words after these, for the second time. */
static uint32_t owner_of_mutex(const struct slot *slot)
{
    return lw_load(&slot->words[LW_MUTEX_STATE], lw_acquire) & LW_MUTEX_OWNER;
}

uint32_t lw_region_owner(const struct lw_region *region, const struct slot *slot, uint32_t kind)
{
    switch (kind) {
    case LW_REGION_MUTEX:
    case LW_REGION_RMUTEX:
        return owner_of_mutex(slot);
    case LW_REGION_ONCE:
        return lw_load(&slot->other[LW_ONCE_STATE], lw_acquire) & LW_ONCE_RUNNER;
    case LW_REGION_RWLOCK:
        return lw_load(&slot->other[LW_RWLOCK_STATE], lw_acquire) & LW_RWLOCK_WRITER
                   ? lw_load(&slot->other[LW_RWLOCK_OWNER], lw_acquire)
                   : 0;
    case LW_REGION_PERMITS:
    case LW_REGION_RWTABLE:
        return owner_of_table(lw_region_table(region, slot, kind));
    default:
        return 0;
    }
}

uint32_t lw_region_blocker(const struct lw_region *region, const struct slot *slot, uint32_t kind,
                           uint32_t waiter)
{
    const lw_word *table = lw_region_table(region, slot, kind);
    if (!table)
        return lw_region_owner(region, slot, kind);
    const uint32_t holder = owner_of_mutex(slot);
    if (kind == LW_REGION_RWTABLE && holder != waiter)
        return holder;
    const uint32_t owner = only_owner(table);
    /* A writer waits for each reader, others for whichever permit becomes free first. */
    const bool is_needed = lw_load(&table[LW_PERMITS_STATE], lw_acquire) & LW_PERMITS_DRAINS ||
                           lw_permits_of(table, owner) == lw_permits_count(table);
    return is_needed ? owner : 0;
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

/* The slots to whose words burials may write now (bury.c): no new name gets what they have. */
struct visits {
    uint32_t n;
    uint32_t slots[PROCESSES];
    /* The first of them, and where it says so. */
    const lw_word *word;
    uint32_t value;
};

/*
 * The caller holds the directory, so that no name is removed later. A burier whose visit is not
 * seen here sees which ones have been.
 */
static void find_visits(const struct lw_region *region, struct visits *visits)
{
    visits->n = 0;
    visits->word = NULL; /* or gcc warns, at -Os */
    visits->value = 0;
    __sync_synchronize();
    for (uint32_t row = lw_region_next_process(region, 0); row < PROCESSES;
         row = lw_region_next_process(region, row + 1)) {
        const lw_word *word = &region->memory->processes[row].visits;
        const uint32_t value = lw_load(word, lw_acquire);
        if (value == 0 || value > region->slots)
            continue;
        if (visits->n == 0) {
            visits->word = word;
            visits->value = value;
        }
        visits->slots[visits->n++] = value - 1;
    }
}

static bool is_visited(const struct lw_region *region, const struct slot *slot,
                       const struct visits *visits)
{
    for (uint32_t i = 0; i < visits->n; i++) {
        if (&region->memory->slots[visits->slots[i]] == slot)
            return true;
    }
    return false;
}

/* A range of bytes, from the region's beginning. */
struct range {
    uint64_t begin;
    uint64_t end;
};

static struct range range_of(const struct slot *slot)
{
    const uint64_t begin = lw_load(&slot->other[BYTES_PLACE], lw_relaxed);
    return (struct range){begin, begin + lw_load(&slot->other[BYTES_SIZE], lw_relaxed)};
}

static int compare_begins(const void *left, const void *right)
{
    const struct range *a = left;
    const struct range *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static uint64_t align(uint64_t place)
{
    return (place + BYTES_ALIGNMENT - 1) & ~(uint64_t)(BYTES_ALIGNMENT - 1);
}

/*
 * Collects all ranges in the order of their places, and what has been removed and is visited: if
 * that is no range, it only wastes some bytes. Returns how many they are.
 */
static uint32_t sort_ranges(const struct lw_region *region, const struct visits *visits,
                            struct range *ranges)
{
    const struct slot *slots = region->memory->slots;
    uint32_t n = 0;
    for (uint32_t i = 0; i < region->slots; i++) {
        if (has_range(lw_load(&slots[i].type, lw_relaxed) & SLOT_TYPE))
            ranges[n++] = range_of(&slots[i]);
    }
    for (uint32_t i = 0; i < visits->n; i++)
        ranges[n++] = range_of(&slots[visits->slots[i]]);
    qsort(ranges, n, sizeof *ranges, compare_begins);
    return n;
}

/*
 * Sets *place to the first place for so many bytes that overlap with no range, or to 0 if there is
 * none. Returns 0, or EAGAIN: memory is short.
 */
static int fit(const struct lw_region *region, uint32_t bytes, const struct visits *visits,
               uint32_t *place)
{
    const struct lw_quiet before = lw_begin_quietly();
    struct range *ranges = malloc((region->slots + visits->n) * sizeof *ranges);
    const uint32_t n = ranges ? sort_ranges(region, visits, ranges) : 0;
    uint64_t begin = region->bytes;
    for (uint32_t i = 0; i < n && ranges[i].begin < begin + bytes; i++) {
        if (ranges[i].end > begin)
            begin = align(ranges[i].end);
    }
    free(ranges);
    lw_end_quietly(before);
    *place = begin + bytes <= region->end ? (uint32_t)begin : 0;
    return ranges ? 0 : EAGAIN;
}

/* Returns where the last of the ranges ends, by looking at all of them. */
static uint64_t look_behind(const struct lw_region *region)
{
    uint64_t behind = region->bytes;
    for (uint32_t i = 0; i < region->slots; i++) {
        const struct slot *slot = &region->memory->slots[i];
        const uint64_t end = range_of(slot).end;
        if (has_range(lw_load(&slot->type, lw_relaxed) & SLOT_TYPE) && end > behind)
            behind = end;
    }
    return behind;
}

/*
 * Sets *place to a place for a new range of so many bytes, or to 0: behind all others if there is
 * room, for that is found at once. The slots are all that tells which bytes are in use, so nothing
 * has to be mended after a death: `behind` moves first, and at worst leaves out some that are free.
 * They are found when there is no more room behind. Returns 0 or EAGAIN.
 */
static int find_room(const struct lw_region *region, uint32_t bytes, const struct visits *visits,
                     uint32_t *place)
{
    lw_word *word = &region->memory->header.behind;
    uint64_t behind = lw_load(word, lw_relaxed);
    if (behind < region->bytes || behind > region->end)
        behind = look_behind(region);
    behind = align(behind);
    if (behind + bytes > region->end)
        return fit(region, bytes, visits, place);
    lw_store(word, (uint32_t)(behind + bytes), lw_relaxed);
    *place = (uint32_t)behind;
    return 0;
}

/* What a name is made with. */
struct contents {
    uint32_t kind;
    const lw_word *initial; /* NULL: zeros */
    uint32_t bytes;
    uint32_t permits; /* how many */
};

/* Sets the slot's primitive, or finds room for its range. Returns 0, ENOSPC or EAGAIN. */
static int fill(struct lw_region *region, struct slot *slot, const struct contents *contents,
                const struct visits *visits)
{
    for (uint32_t i = 0; i < sizeof slot->other / sizeof(lw_word); i++) {
        const bool given = contents->initial && i < words_of[contents->kind];
        lw_store(&slot->other[i], given ? contents->initial[i] : 0, lw_relaxed);
    }
    if (!has_range(contents->kind))
        return 0;
    uint32_t place;
    const int error = find_room(region, contents->bytes, visits, &place);
    if (error || place == 0)
        return error ? error : ENOSPC;
    lw_store(&slot->other[BYTES_PLACE], place, lw_relaxed);
    lw_store(&slot->other[BYTES_SIZE], contents->bytes, lw_relaxed);
    memset((char *)region->memory + place, 0, contents->bytes);
    lw_word *table = lw_region_table(region, slot, contents->kind);
    if (table)
        lw_store(&table[LW_PERMITS_COUNT], contents->permits, lw_relaxed);
    return 0;
}

/* For so long a call waits for a slot that was removed, if there is no other one. */
#define REMOVED_MS 1000

/*
 * Takes the mutex of the first slot that can be given this name, and is not visited. The caller
 * holds the directory. A thread that has not noticed that a mutex was removed may still hold it for
 * a moment, or for as long as its process is stopped: then the next slot will do. A slot that was
 * never used can only have an owner that died, and no search goes on behind it. Returns 0, ENOSPC
 * or another errno code.
 */
static int take_vacant(struct lw_region *region, const struct lw_region_name *name, uint32_t self,
                       const struct visits *visits, struct slot **vacant)
{
    bool is_unused = false;
    *vacant = NULL;
    for (uint32_t i = 0; i < region->slots && !is_unused; i++) {
        struct slot *slot = slot_at(region, name, i);
        const uint32_t type = lw_load(&slot->type, lw_relaxed);
        if (is_kind(type))
            continue;
        is_unused = type == SLOT_UNUSED;
        const bool is_free = is_unused || !is_visited(region, slot, visits);
        const bool is_taken = !is_unused && is_free && lw_mutex_try_step(slot->words, self);
        if (is_free && (is_taken || is_unused || !*vacant))
            *vacant = slot;
        if (is_taken)
            return 0;
        /* The name may get a slot behind this one. */
        if (!is_unused && ends_search(type))
            lw_store(&slot->type, type | SLOT_REMOVED, lw_relaxed);
    }
    if (!*vacant)
        return ENOSPC;
    lw_region_mark_used(region->memory->header.used_slots, region->slots_part_shift,
                        (uint32_t)(*vacant - region->memory->slots));
    const int error = lw_region_take(region, (*vacant)->words, lw_region_busy(region, *vacant),
                                     self, is_unused ? LW_FOREVER : lw_after_ms(REMOVED_MS), NULL);
    return error == ETIMEDOUT ? ENOSPC : error;
}

/* Makes the name in a place that is not visited. */
static int make_beside(struct lw_region *region, const struct lw_region_name *name,
                       const struct contents *contents, const struct visits *visits, uint32_t self,
                       struct slot **made)
{
    int error = take_vacant(region, name, self, visits, made);
    if (error)
        return error;
    struct slot *slot = *made;
    const uint32_t before = lw_load(&slot->type, lw_relaxed);
    const uint32_t type = (before & ~SLOT_TYPE) + SLOT_ONE + contents->kind;
    error = fill(region, slot, contents, visits);
    if (!error) {
        lw_robust_decide(slot->words, lw_region_fate_of(type));
        lw_store(&slot->acquisitions, 0, lw_relaxed);
        lw_store(&slot->contended, 0, lw_relaxed);
        lw_store(&slot->recoveries, 0, lw_relaxed);
        lw_store(&slot->hash, name->hash, lw_relaxed);
        for (uint32_t i = 0; i < NAME_WORDS; i++)
            lw_store(&slot->name[i], name->words[i], lw_relaxed);
        lw_store(&slot->type, type, lw_release);
    }
    lw_region_free(region, slot->words, lw_region_busy(region, slot), self);
    return error;
}

/*
 * Makes the name. The caller holds the directory. If there is no room but what is visited, waits:
 * a visit takes a moment, unless its process is stopped.
 */
static int make(struct lw_region *region, const struct lw_region_name *name,
                const struct contents *contents, uint32_t self, struct slot **made)
{
    const lw_deadline deadline = lw_after_ms(REMOVED_MS);
    struct visits visits;
    for (;;) {
        find_visits(region, &visits);
        const int error = make_beside(region, name, contents, &visits, self, made);
        if (error != ENOSPC || visits.n == 0 || lw_now() >= deadline)
            return error;
        lw_wait(visits.word, visits.value, lw_after_ms(1));
    }
}

/* Returns 0 or EEXIST. */
static int compare(const struct lw_region *region, const struct slot *slot, uint32_t type,
                   const struct contents *contents)
{
    if ((type & SLOT_TYPE) != contents->kind ||
        (has_range(contents->kind) &&
         lw_load(&slot->other[BYTES_SIZE], lw_relaxed) != contents->bytes))
        return EEXIST;
    if (!lw_region_has_table(contents->kind))
        return 0;
    const lw_word *table = lw_region_table(region, slot, contents->kind);
    return !table                                         ? EBADMSG /* the file is damaged */
           : lw_permits_count(table) == contents->permits ? 0
                                                          : EEXIST;
}

int lw_region_named(struct lw_region *region, const char *name, uint32_t kind,
                    const lw_word *initial, uint32_t bytes, struct slot **slot, uint32_t *type)
{
    const bool is_table = lw_region_has_table(kind);
    const struct contents contents = {
        kind, initial, is_table ? LW_PERMITS_WORDS * sizeof(lw_word) : bytes, is_table ? bytes : 0};
    struct lw_region_name packed;
    int error = pack(name, &packed);
    if (error)
        return error;
    *slot = find(region, &packed, type);
    if (*slot)
        return compare(region, *slot, *type, &contents);
    uint32_t self;
    error = lock_directory(region, &self);
    if (error)
        return error;
    uint32_t passed;
    uint32_t removed;
    *slot = search(region, &packed, type, &passed, &removed);
    if (*slot) {
        error = compare(region, *slot, *type, &contents);
    } else {
        if (removed > MOST_REMOVED)
            shorten_searches(region, &packed, passed);
        error = make(region, &packed, &contents, self, slot);
        if (!error)
            *type = lw_load(&(*slot)->type, lw_relaxed);
    }
    unlock_directory(region, self);
    return error;
}

lw_region_mutex lw_region_mutex_in(struct lw_region *region, struct slot *slot, uint32_t type)
{
    return (lw_region_mutex){region, slot->words, region->serial, lw_region_fate_of(type)};
}

int lw_region_find_mutex(struct lw_region *region, const char *name, uint32_t kind,
                         lw_region_mutex *mutex)
{
    struct slot *slot;
    uint32_t type;
    const int error = lw_region_named(region, name, kind, NULL, 0, &slot, &type);
    if (!error)
        *mutex = lw_region_mutex_in(region, slot, type);
    return error;
}

int lw_region_mutex_named(lw_region *region, const char *name, lw_region_mutex *mutex)
{
    return lw_region_find_mutex(region, name, LW_REGION_MUTEX, mutex);
}

int lw_region_bytes(lw_region *region, const char *name, size_t size, void **bytes)
{
    if (size == 0 || size > UINT32_MAX)
        return size ? ENOSPC : EINVAL;
    struct slot *slot;
    uint32_t type;
    const int error =
        lw_region_named(region, name, LW_REGION_BYTES, NULL, (uint32_t)size, &slot, &type);
    if (error)
        return error;
    const uint32_t place = lw_load(&slot->other[BYTES_PLACE], lw_relaxed);
    if (place < region->bytes || place + (uint64_t)size > region->end ||
        place % BYTES_ALIGNMENT != 0)
        return EBADMSG; /* the file is damaged */
    *bytes = (char *)region->memory + place;
    return 0;
}

/* Those that nobody owns: the words alone are the primitive, of which the caller gets the address.
 */
#define NAMED(type, kind)                                                                          \
    int lw_region_##type##_named(lw_region *region, const char *name, const lw_##type *initial,    \
                                 lw_##type **type)                                                 \
    {                                                                                              \
        struct slot *slot;                                                                         \
        uint32_t ignored;                                                                          \
        const int error = lw_region_named(region, name, kind, initial ? initial->word : NULL, 0,   \
                                          &slot, &ignored);                                        \
        if (!error)                                                                                \
            *type = (lw_##type *)(void *)slot->other;                                              \
        return error;                                                                              \
    }

NAMED(event, LW_REGION_EVENT)
NAMED(sem, LW_REGION_SEM)
NAMED(counter, LW_REGION_COUNTER)
NAMED(waitgroup, LW_REGION_WAITGROUP)
NAMED(latch, LW_REGION_LATCH)
NAMED(barrier, LW_REGION_BARRIER)
NAMED(cond, LW_REGION_COND)

static bool is_waited_for(const struct lw_region *region, const struct slot *slot)
{
    for (uint32_t row = lw_region_next_agent(region, 0); row < AGENTS;
         row = lw_region_next_agent(region, row + 1)) {
        if (lw_region_waits_for(region, &region->memory->agents[row]) == slot)
            return true;
    }
    return false;
}

static bool is_held(const struct lw_region *region, const struct slot *slot, uint32_t kind)
{
    const lw_word *table = lw_region_table(region, slot, kind);
    return lw_region_owner(region, slot, kind) != 0 ||
           (table && lw_permits_of(table, 0) < lw_permits_count(table));
}

/* Removes a slot's name. The caller holds the directory. */
static int remove_slot(struct lw_region *region, struct slot *slot, uint32_t type, uint32_t self)
{
    const uint32_t kind = type & SLOT_TYPE;
    if (kind != LW_REGION_MUTEX && kind != LW_REGION_RMUTEX &&
        (is_held(region, slot, kind) || is_waited_for(region, slot)))
        return EBUSY;
    if (!lw_mutex_try_step(slot->words, self))
        return EBUSY;
    const uint32_t removed = (type & ~SLOT_TYPE) + SLOT_ONE + SLOT_REMOVED;
    lw_store(&slot->type, removed, lw_release);
    lw_robust_decide(slot->words, lw_region_fate_of(removed));
    lw_region_free(region, slot->words, lw_region_busy(region, slot), self);
    return 0;
}

int lw_region_remove(lw_region *region, const char *name)
{
    struct lw_region_name packed;
    uint32_t self;
    int error = pack(name, &packed);
    if (error)
        return error == ENAMETOOLONG ? ENOENT : error;
    error = lock_directory(region, &self);
    if (error)
        return error;
    uint32_t type;
    struct slot *slot = find(region, &packed, &type);
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

void lw_region_tell_thread(const struct lw_region *region, uint32_t id, uint32_t *pid,
                           uint32_t *tid, char *name)
{
    const uint32_t process = lw_region_process_of(region, id);
    if (process == PROCESSES)
        return;
    const struct agent *agent = lw_region_agent_of(region, id);
    *pid = lw_load(&region->memory->processes[process].pid, lw_relaxed);
    *tid = lw_load(&agent->tid, lw_relaxed);
    copy_words(name, agent->name, sizeof agent->name);
}

void lw_region_tell_name(const struct slot *slot, char *name)
{
    copy_words(name, slot->name, LW_REGION_NAME_MAX + 1);
}

/*
 * A waiter that began when the slot had been acquired as often as now has waited for this holder
 * only.
 */
static void describe_waiters(const struct lw_region *region, const struct slot *slot,
                             uint32_t owner, struct lw_region_info *info)
{
    const uint32_t now = (uint32_t)(lw_now() / NS_PER_MS);
    for (uint32_t row = lw_region_next_agent(region, 0); row < AGENTS;
         row = lw_region_next_agent(region, row + 1)) {
        const struct agent *agent = &region->memory->agents[row];
        if (lw_region_waits_for(region, agent) != slot || (owner && row == (owner & ID_ROW)))
            continue;
        info->waiters++;
        const uint32_t waited = now - lw_load(&agent->since, lw_relaxed);
        if (waited >= 0x80000000u)
            continue;
        if (waited > info->longest_ms)
            info->longest_ms = waited;
        if (owner && lw_load(&agent->seen, lw_relaxed) == info->acquisitions &&
            waited > info->held_ms)
            info->held_ms = waited;
    }
}

/* Returns whether the slot still has this type: what was read of it is that of one name. */
static bool has_type_still(const struct slot *slot, uint32_t type)
{
    __sync_synchronize();
    return lw_load(&slot->type, lw_relaxed) == type;
}

/* Tells of the name that a slot of this type has. Returns whether it is one name's. */
static bool describe(const struct lw_region *region, const struct slot *slot, uint32_t type,
                     struct lw_region_info *info)
{
    memset(info, 0, sizeof *info);
    info->kind = (enum lw_region_kind)(type & SLOT_TYPE);
    lw_region_tell_name(slot, info->name);
    const uint32_t fate = lw_robust_fate(slot->words);
    info->fate = fate & LW_ROBUST_ABANDONED    ? ENOTRECOVERABLE
                 : fate & LW_ROBUST_OWNER_DIED ? EOWNERDEAD
                                               : 0;
    info->acquisitions = lw_load(&slot->acquisitions, lw_relaxed);
    info->contended = lw_load(&slot->contended, lw_relaxed);
    info->recoveries = lw_load(&slot->recoveries, lw_relaxed);
    info->size = info->kind == LW_REGION_BYTES ? lw_load(&slot->other[BYTES_SIZE], lw_relaxed) : 0;
    const lw_word *table = lw_region_table(region, slot, info->kind);
    info->permits = table ? lw_permits_count(table) : 0;
    info->held = table ? info->permits - lw_permits_of(table, 0) : 0;
    const uint32_t owner = lw_region_owner(region, slot, info->kind);
    if (owner)
        lw_region_tell_thread(region, owner, &info->holder_pid, &info->holder_tid, info->holder);
    describe_waiters(region, slot, owner, info);
    return has_type_still(slot, type);
}

int lw_region_next(lw_region *region, uint32_t *cursor, struct lw_region_info *info)
{
    while (*cursor < region->slots) {
        const struct slot *slot = &region->memory->slots[(*cursor)++];
        const uint32_t type = lw_load(&slot->type, lw_acquire);
        if (is_kind(type) && describe(region, slot, type, info))
            return 0;
    }
    return ENOENT;
}

/* Finds the slot of this name, without a lock. Returns 0 or an errno code. */
static int look_up(lw_region *region, const char *name, const struct slot **slot, uint32_t *type)
{
    struct lw_region_name packed;
    const int error = pack(name, &packed);
    if (error)
        return error == ENAMETOOLONG ? ENOENT : error;
    *slot = find(region, &packed, type);
    return *slot ? 0 : ENOENT;
}

int lw_region_describe(lw_region *region, const char *name, struct lw_region_info *info)
{
    const struct slot *slot;
    uint32_t type;
    int error;
    do {
        error = look_up(region, name, &slot, &type);
    } while (!error && !describe(region, slot, type, info));
    return error;
}

int lw_region_next_holder(lw_region *region, const char *name, uint32_t *cursor,
                          struct lw_region_holder *holder)
{
    const struct slot *slot;
    uint32_t type;
    const int error = look_up(region, name, &slot, &type);
    if (error)
        return error;
    const uint32_t kind = type & SLOT_TYPE;
    const lw_word *table = lw_region_table(region, slot, kind);
    const bool is_many = table && lw_load(&table[LW_PERMITS_WRITER], lw_relaxed) == 0;
    const uint32_t most = is_many ? lw_permits_count(table) : 1;
    while (*cursor < most) {
        const uint32_t which = (*cursor)++;
        const uint32_t owner = is_many ? lw_load(&table[LW_PERMITS_FIRST + which], lw_relaxed)
                                       : lw_region_owner(region, slot, kind);
        memset(holder, 0, sizeof *holder);
        holder->which = which;
        if (owner)
            lw_region_tell_thread(region, owner, &holder->pid, &holder->tid, holder->thread);
        if (holder->pid)
            return has_type_still(slot, type) ? 0 : ENOENT;
    }
    return ENOENT;
}
