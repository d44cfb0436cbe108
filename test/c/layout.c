/* layout.c: docs/layout.md says of the words what the headers say. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

#if LW_LINUX
#include "../../src/region/layout.h"
#endif

#define BYTES(words) (4 * (words))

/* clang-format off */
#define SIZE(name) {#name, sizeof(lw_##name), _Alignof(lw_##name)}
/* clang-format on */

static const struct field {
    const char *word;
    const char *name;
    uint32_t offset;
    uint32_t mask;
} fields[] = {
    {"any.state", "ASYNC", BYTES(LW_WAITERS_STATE), LW_ASYNC_WAITERS},
    {"any.state", "BLOCKED", BYTES(LW_WAITERS_STATE), LW_BLOCKED_WAITERS},
    {"any.gate", "GATE", BYTES(LW_WAITERS_GATE), UINT32_MAX},
    {"permits.state", "SEQUENCE", BYTES(LW_PERMITS_STATE), LW_PERMITS_SEQUENCE},
    {"permits.state", "DRAINS", BYTES(LW_PERMITS_STATE), LW_PERMITS_DRAINS},
    {"permits.state", "RESERVED", BYTES(LW_PERMITS_STATE), LW_PERMITS_RESERVED},
    {"permits.count", "COUNT", BYTES(LW_PERMITS_COUNT), UINT32_MAX},
    {"permits.writer", "WRITER", BYTES(LW_PERMITS_WRITER), UINT32_MAX},
    {"permits.owner", "OWNER", BYTES(LW_PERMITS_FIRST), LW_PERMITS_OWNER},
    {"mutex.state", "OWNER", BYTES(LW_MUTEX_STATE), LW_MUTEX_OWNER},
    {"mutex.state", "RESERVED", BYTES(LW_MUTEX_STATE), LW_MUTEX_RESERVED},
    {"rmutex.state", "STATE", BYTES(LW_MUTEX_STATE), UINT32_MAX},
    {"rmutex.depth", "AGAIN", BYTES(LW_RMUTEX_DEPTH), LW_RMUTEX_AGAIN},
    {"rmutex.holder", "HOLDER", BYTES(LW_RMUTEX_HOLDER), LW_MUTEX_OWNER},
    {"rmutex.holder", "TASK", BYTES(LW_RMUTEX_HOLDER), LW_RMUTEX_TASK},
    {"cond.sequence", "NOTIFIES", BYTES(LW_COND_SEQUENCE), ~LW_COND_TO_ALL},
    {"cond.sequence", "TO_ALL", BYTES(LW_COND_SEQUENCE), LW_COND_TO_ALL},
    {"cond.waiters", "WAITERS", BYTES(LW_COND_WAITERS), ~LW_COND_LEFT_BEHIND},
    {"cond.waiters", "LEFT_BEHIND", BYTES(LW_COND_WAITERS), LW_COND_LEFT_BEHIND},
    {"sem.state", "PERMITS", BYTES(LW_SEM_STATE), LW_SEM_MAX},
    {"sem.state", "CLAIMED", BYTES(LW_SEM_STATE), LW_SEM_CLAIMED},
    {"sem.state", "RESERVED", BYTES(LW_SEM_STATE), LW_SEM_RESERVED},
    {"sem.claim", "NEED", BYTES(LW_SEM_CLAIM), LW_SEM_NEED},
    {"sem.claim", "TICKET", BYTES(LW_SEM_CLAIM), LW_SEM_TICKET},
    {"sem.claim", "LINE", BYTES(LW_SEM_CLAIM), LW_SEM_LINE},
    {"rwlock.state", "READERS", BYTES(LW_RWLOCK_STATE), LW_RWLOCK_READERS},
    {"rwlock.state", "LEAVING", BYTES(LW_RWLOCK_STATE), LW_RWLOCK_LEAVING},
    {"rwlock.state", "MIXED", BYTES(LW_RWLOCK_STATE), LW_RWLOCK_MIXED},
    {"rwlock.state", "UPGRADABLE", BYTES(LW_RWLOCK_STATE), LW_RWLOCK_UPGRADABLE},
    {"rwlock.state", "WRITER", BYTES(LW_RWLOCK_STATE), LW_RWLOCK_WRITER},
    {"rwlock.state", "WRITERS_TURN", BYTES(LW_RWLOCK_STATE), LW_RWLOCK_WRITERS_TURN},
    {"rwlock.state", "READERS_TURN", BYTES(LW_RWLOCK_STATE), LW_RWLOCK_READERS_TURN},
    {"rwlock.state", "RESERVED", BYTES(LW_RWLOCK_STATE), LW_RWLOCK_RESERVED},
    {"rwlock.state", "BLOCKED_READERS", BYTES(LW_RWLOCK_STATE), LW_RWLOCK_BLOCKED_READERS},
    {"rwlock.owner", "OWNER", BYTES(LW_RWLOCK_OWNER), UINT32_MAX},
    {"rwlock.generation", "GENERATION", BYTES(LW_RWLOCK_GENERATION), UINT32_MAX},
    {"barrier.state", "MISSING", BYTES(LW_BARRIER_STATE), LW_BARRIER_MISSING},
    {"barrier.state", "GENERATION", BYTES(LW_BARRIER_STATE), LW_BARRIER_GENERATION},
    {"barrier.state", "HISTORY", BYTES(LW_BARRIER_STATE), LW_BARRIER_HISTORY},
    {"barrier.state", "BROKEN", BYTES(LW_BARRIER_STATE), LW_BARRIER_BROKEN},
    {"barrier.parties", "PARTIES", BYTES(LW_BARRIER_PARTIES), UINT32_MAX},
    {"waitgroup.state", "COUNT", BYTES(LW_WAITGROUP_STATE), LW_WAITGROUP_MAX},
    {"waitgroup.state", "ROUND", BYTES(LW_WAITGROUP_STATE), LW_WAITGROUP_ROUND},
    {"latch.state", "COUNT", BYTES(LW_LATCH_STATE), LW_LATCH_MAX},
    {"event.state", "SET", BYTES(LW_EVENT_STATE), LW_EVENT_SET},
    {"event.state", "AUTO", BYTES(LW_EVENT_STATE), LW_EVENT_AUTO},
    {"event.state", "GENERATION", BYTES(LW_EVENT_STATE), LW_EVENT_GENERATION},
    {"once.state", "RUNNER", BYTES(LW_ONCE_STATE), LW_ONCE_RUNNER},
    {"once.state", "RAN", BYTES(LW_ONCE_STATE), LW_ONCE_RAN},
    {"counter.state", "VALUE", BYTES(LW_COUNTER_STATE), LW_COUNTER_MAX},
};

_Static_assert(BYTES(LW_MUTEX_GATE) == BYTES(LW_WAITERS_GATE) &&
                   LW_MUTEX_ASYNC == LW_ASYNC_WAITERS && LW_MUTEX_BLOCKED == LW_BLOCKED_WAITERS,
               "the mutex's names are of the same");

static const struct size {
    const char *primitive;
    uint32_t bytes;
    uint32_t alignment;
} sizes[] = {
    SIZE(mutex),   SIZE(rmutex),    SIZE(cond),  SIZE(sem),   SIZE(permits), SIZE(rwlock),
    SIZE(barrier), SIZE(waitgroup), SIZE(latch), SIZE(event), SIZE(once),    SIZE(counter),
};

#if LW_LINUX
/* clang-format off */
#define PLACE(type, word) {#type "." #word, offsetof(struct type, word), 0}
#define SLOT_PLACE(name, index) {"slot." name, offsetof(struct slot, words[index]), 0}
/* clang-format on */

/* Where a region has what. */
static struct place {
    const char *word;
    size_t offset;
    bool seen;
} places[] = {
    {"processes", offsetof(struct memory, processes), 0},
    {"agents", offsetof(struct memory, agents), 0},
    {"slots", offsetof(struct memory, slots), 0},
    PLACE(header, magic),
    PLACE(header, version),
    PLACE(header, size),
    PLACE(header, members),
    PLACE(header, epoch),
    PLACE(header, burier),
    PLACE(header, behind),
    PLACE(header, directory),
    {"header.rung", offsetof(struct header, doorbell.rung), 0},
    {"header.bells", offsetof(struct header, doorbell.bells), 0},
    PLACE(header, used_slots),
    PLACE(header, used_agents),
    PLACE(header, used_processes),
    PLACE(process, token),
    PLACE(process, boot),
    PLACE(process, generation),
    PLACE(process, announced),
    PLACE(process, pid),
    PLACE(process, visits),
    PLACE(process, alarm),
    PLACE(agent, state),
    PLACE(agent, tid),
    PLACE(agent, busy),
    PLACE(agent, since),
    PLACE(agent, name),
    PLACE(agent, waits),
    PLACE(agent, seen),
    PLACE(slot, type),
    PLACE(slot, hash),
    PLACE(slot, name),
    SLOT_PLACE("state", LW_MUTEX_STATE),
    SLOT_PLACE("gate", LW_MUTEX_GATE),
    SLOT_PLACE("fate", LW_ROBUST_FATE),
    PLACE(slot, acquisitions),
    PLACE(slot, contended),
    PLACE(slot, recoveries),
    PLACE(slot, runs),
    PLACE(slot, other),
};
#endif

/* The bits of "7" or "0-28". */
static uint32_t mask_of(const char *bits)
{
    char *end;
    const unsigned long low = strtoul(bits, &end, 10);
    const unsigned long high = *end == '-' ? strtoul(end + 1, NULL, 10) : low;
    assert_true(low <= high && high < 32);
    return UINT32_MAX >> (31 - (high - low)) << low;
}

static void check_field(const char *word, unsigned offset, const char *bits, const char *name,
                        size_t *seen)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (strcmp(fields[i].word, word) != 0 || strcmp(fields[i].name, name) != 0)
            continue;
        assert_int_equal(offset, fields[i].offset);
        assert_int_equal(mask_of(bits), fields[i].mask);
        ++*seen;
        return;
    }
    fail_msg("docs/layout.md: this test does not know `%s` of `%s`", name, word);
}

static void check_size(const char *primitive, unsigned bytes, unsigned alignment, size_t *seen)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        if (strcmp(sizes[i].primitive, primitive) != 0)
            continue;
        assert_int_equal(bytes, sizes[i].bytes);
        assert_int_equal(alignment, sizes[i].alignment);
        ++*seen;
        return;
    }
    fail_msg("docs/layout.md: this test does not know `%s`", primitive);
}

#if LW_LINUX
static void check_place(const char *word, unsigned offset)
{
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (strcmp(places[i].word, word) != 0)
            continue;
        assert_int_equal(offset, places[i].offset);
        places[i].seen = true;
        return;
    }
    fail_msg("docs/layout.md: this test does not know `%s`", word);
}
#else
/* Regions are Linux's. */
static void check_place(const char *word, unsigned offset)
{
    (void)word, (void)offset;
}
#endif

TEST(the_manual_and_the_headers_agree)
{
    FILE *manual = fopen("docs/layout.md", "r");
    assert_non_null(manual);
    size_t seen_fields = 0;
    size_t seen_sizes = 0;
    char line[512], word[32], bits[16], name[32];
    unsigned offset, bytes, alignment;
    while (fgets(line, sizeof line, manual) != NULL) {
        /* What follows is JavaScript's alone. */
        if (strcmp(line, "## A region in one engine\n") == 0)
            break;
        if (sscanf(line, "| `%31[^`]` | %u | %15[0-9-] | `%31[A-Z_]`", word, &offset, bits, name) ==
            4)
            check_field(word, offset, bits, name, &seen_fields);
        else if (sscanf(line, "| `%31[^`]` | %u | %u |", word, &bytes, &alignment) == 3)
            check_size(word, bytes, alignment, &seen_sizes);
        else if (sscanf(line, "| %u | `%31[^`]`", &offset, word) == 2)
            check_place(word, offset);
    }
    fclose(manual);
#if LW_LINUX
    for (size_t i = 0; i < COUNT_OF(places); i++)
        assert_true(places[i].seen);
#endif
    assert_int_equal(seen_fields, COUNT_OF(fields));
    assert_int_equal(seen_sizes, COUNT_OF(sizes));
}

RUN_TESTS("layout")
