/*
 * layout.h: a region's memory. Words of 32 bits, indexes, never a pointer. Zero is valid everywhere
 * but in the header's first words.
 *
 *     header       one page
 *     processes    1024 rows
 *     agents       4096 rows: threads, each of one process
 *     slots        half of the rest: names, each with its primitive beside it
 *     bytes        the other half: ranges of bytes that have names
 *
 * A process row belongs to the process whose keeper thread is named in `token`. A row with a token
 * that is neither 0 nor a live thread's is dead: it is buried, and only then used again. An agent
 * row belongs to the process that `state` names, by the operation that takes the row. So whatever a
 * dead process has is found by reading, wherever in its code it died.
 */
#ifndef LOCKWORD_REGION_LAYOUT_H
#define LOCKWORD_REGION_LAYOUT_H

#include <lockword/core/robust.h>
#include <lockword/region.h>

#include "../wait/platform.h"

#define LW_REGION_MAGIC_0 0x6b636f6cu /* "lock" */
#define LW_REGION_MAGIC_1 0x64726f77u /* "word" */
#define LW_REGION_VERSION 4u

/*
 * Words of several parts, by their bits:
 *
 *     agent's state  0-10 process row + 1   11-27 generation                   28-31 0
 *     agent's id     0-11 agent row         12-28 generation, not 0            29-31 the mutex's
 *     agent's busy   0-30 slot + 1, or BUSY_DIRECTORY                          31 BUSY_NOTIFIES
 *     slot's type    0-7  kind              8-31  how often it got or lost a name
 *     burier         0-10 process row + 1   11-31 generation of the process row
 */
#define PROCESSES 1024u
#define AGENTS 4096u

/* Words, with a bit for each part. */
#define USED_SLOTS 64u
#define USED_AGENTS 4u
#define AGENTS_PART_SHIFT 5 /* 32 rows are a part */
#define USED_PROCESSES 2u
#define PROCESSES_PART_SHIFT 4 /* 16 rows */

struct header {
    lw_word magic[2];
    lw_word version;
    lw_word size;    /* of the region, bytes */
    lw_word members; /* moves when a process joins, so that all keepers watch its token */
    lw_word epoch;   /* how many processes have been buried */
    /* The process that buries the dead, or 0: row + 1 (bits 0-10), generation (bits 11-31). */
    lw_word burier;
    /* Where the room behind all ranges of bytes begins, or 0: nobody has looked. */
    lw_word behind;
    lw_word directory[LW_ROBUST_WORDS]; /* held while a name is made or removed */
    lw_word reserved_too[5];
    struct lw_doorbell doorbell; /* in cache lines of its own */
    /* Which parts of these have ever been used: lw_region_mark_used. */
    _Alignas(64) lw_word used_slots[USED_SLOTS];
    lw_word used_agents[USED_AGENTS];
    lw_word used_processes[USED_PROCESSES];
};

struct process {
    /* A robust futex: the keeper's thread id and FUTEX_WAITERS; FUTEX_OWNER_DIED; 0: free. */
    lw_word token;
    lw_word boot;       /* which boot of the machine the token was taken in */
    lw_word generation; /* how often the row has been freed */
    lw_word announced;  /* 1: its threads can be driven out of their code when it has died */
    lw_word pid;
    lw_word visits; /* the slot + 1 to whose words its burial writes now; 0: none */
    /* A second token, for those that wait for what the process's threads hold. */
    _Alignas(8) lw_word alarm;
    lw_word reserved_too[9];
};

/* An agent's state. */
#define AGENT_PROCESS 0x000007ffu /* its process row + 1; 0: the row is free */
#define AGENT_GENERATION_SHIFT 11
#define AGENT_GENERATIONS 0x20000u /* 17 bits */

/* An agent's id: its row, and the row's generation, which is not 0. */
#define ID_ROW (AGENTS - 1)
#define ID_GENERATION_SHIFT 12

/* What an agent is busy with: the slot + 1 that it waits for, or the directory. */
#define BUSY_DIRECTORY 0x7fffffffu
#define BUSY_NOTIFIES 0x80000000u /* it does not wait: it notifies the waiters */

struct agent {
    lw_word state;
    lw_word tid;
    lw_word busy;  /* 0: nothing */
    lw_word since; /* when it began, ms, modulo 2^32 */
    lw_word name[8];
    lw_word waits; /* how often it has begun something, modulo 2^32 */
    lw_word seen;  /* the slot's acquisitions when it began */
    lw_word reserved[2];
};

/*
 * A slot's type (enum lw_region_kind, or one of these) and, above, how often the slot has been
 * given a name or lost one.
 */
#define SLOT_TYPE 0x000000ffu
#define SLOT_ONE 0x00000100u
enum {
    SLOT_UNUSED = 0, /* no search goes on behind it. If the whole word is 0, it never had a name */
    SLOT_REMOVED = 0xff,
};

#define NAME_WORDS ((LW_REGION_NAME_MAX + 1) / 4)

struct slot {
    lw_word type; /* is stored last */
    lw_word hash;
    lw_word name[NAME_WORDS];
    /*
     * The next cache line. These are a robust mutex, whatever the type: who still has a mutex that
     * was removed may lock it. Its holder writes the counts, without atomic read-modify-writes.
     */
    lw_word words[4];
    lw_word acquisitions;
    lw_word contended;
    lw_word recoveries;
    lw_word runs;     /* is never set back: only whether it moves counts */
    lw_word other[8]; /* another primitive; a recursive mutex's depth; a range's place and size */
};

/* A range of bytes, in `other`. */
enum {
    BYTES_PLACE, /* from the region's beginning */
    BYTES_SIZE,
};
#define BYTES_ALIGNMENT 64u

struct memory {
    union {
        struct header header;
        uint8_t page[4096];
    };
    struct process processes[PROCESSES];
    struct agent agents[AGENTS];
    struct slot slots[];
};

_Static_assert(sizeof(struct header) <= 4096, "a page");
_Static_assert(sizeof(struct process) == 64, "a cache line");
_Static_assert(sizeof(struct agent) == 64, "a cache line");
_Static_assert(PROCESSES <= AGENT_PROCESS, "an agent's state has a row + 1");
_Static_assert(AGENTS >> AGENTS_PART_SHIFT == 32 * USED_AGENTS, "a bit for each part");
_Static_assert(PROCESSES >> PROCESSES_PART_SHIFT == 32 * USED_PROCESSES, "a bit for each part");
_Static_assert(sizeof(struct slot) == 128, "two cache lines");
_Static_assert(offsetof(struct slot, words) == 64, "apart from the name, which all read");
_Static_assert(offsetof(struct slot, acquisitions) - offsetof(struct slot, words) ==
                   LW_REGION_ACQUISITIONS * sizeof(lw_word),
               "lockword/region.h counts there");
_Static_assert(offsetof(struct slot, runs) - offsetof(struct slot, words) ==
                   LW_REGION_RUNS * sizeof(lw_word),
               "the command counts there");

#endif
