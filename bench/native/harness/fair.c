/* fair.c: see fair.h. A turn goes through bench_wait, so a section here costs a few ns more than a
 * mutex's in contend.c, for all peers alike. */
#include "fair.h"

#include <string.h>

#include "asleep.h"

/* What is contested: how most turns are taken; and how some are, that exclude all others. */
static const struct contest {
    const char *what;
    enum bench_block usual, other;
    int percent; /* of the turns are the others */
    int threads; /* 1 of so many takes the others alone; 0: none */
} contests[FAIR_CONTESTS] = {
    {"semaphore: 1 permit", BENCH_AT_PERMIT, BENCH_AT_PERMIT, 100, 0},
    {"semaphore: 3 permits", BENCH_AT_ONE_OF_THREE, BENCH_BLOCKS, 0, 0},
    {"semaphore: 3 permits, 1 thread of 4 asks for all", BENCH_AT_ONE_OF_THREE,
     BENCH_AT_ALL_OF_THREE, 0, 4},
    {"read-write lock: 1 % writes", BENCH_AT_READ, BENCH_AT_WRITE, 1, 0},
    {"read-write lock: 10 % writes", BENCH_AT_READ, BENCH_AT_WRITE, 10, 0},
    {"read-write lock: 50 % writes", BENCH_AT_READ, BENCH_AT_WRITE, 50, 0},
    {"read-write lock: 100 % writes", BENCH_AT_READ, BENCH_AT_WRITE, 100, 0},
    {"mutex", BENCH_AT_MUTEX, BENCH_AT_MUTEX, 100, 0},
};

struct entry {
    struct bench_peer peer; /* first: a peer of a contest is its entry */
    const struct contest *contest;
    const struct bench_wait *usual, *other;
};

/* The one that is being measured. */
static const struct entry *current;

static void init(void *object)
{
    current->usual->hold(object, 0);
    current->usual->release(object);
}

static void destroy(void *object)
{
    (void)object;
}

struct turn {
    struct bench_thread *thread;
    uint64_t asked;
    bool excludes;
};

static bool section(void *argument)
{
    const struct turn *turn = argument;
    struct bench_thread *thread = turn->thread;
    bench_waited(thread, turn->asked, bench_stamp());
    /* One that excludes others must not need an atomic operation: bench_contend looks whether a
     * turn was lost. */
    if (turn->excludes)
        *(volatile uint64_t *)thread->count += 1;
    else
        __atomic_add_fetch(thread->count, 1, __ATOMIC_RELAXED);
    bench_work(thread->steps);
    return true;
}

static void contend(struct bench_thread *thread)
{
    const struct contest *contest = current->contest;
    /* Thread k runs on CPU k modulo their number: those that exclude others are on all of them. */
    const int each = contest->threads;
    const bool always = each && thread->number % each == thread->number / each % each;
    struct turn turn = {.thread = thread};
    uint32_t random = (uint32_t)thread->number + 1;
    while (__atomic_load_n(thread->stop, __ATOMIC_RELAXED) == 0) {
        random = random * 1664525u + 1013904223u;
        turn.excludes = always || (int)((random >> 16) % 100) < contest->percent;
        const struct bench_wait *wait = turn.excludes ? current->other : current->usual;
        turn.asked = bench_stamp();
        wait->turn(thread->mutex, section, &turn);
        thread->turns++;
        bench_work(thread->steps);
    }
}

static const struct bench_wait *find(const struct bench_wait *const waits[], enum bench_block block,
                                     const char *peer)
{
    for (int k = 0; waits[k]; k++) {
        if (waits[k]->block == block && strcmp(waits[k]->peer, peer) == 0)
            return waits[k];
    }
    return NULL;
}

void bench_fair_enter(struct bench_contest all[FAIR_CONTESTS],
                      const struct bench_wait *const waits[])
{
    for (int c = 0; c < FAIR_CONTESTS; c++) {
        const struct contest *contest = &contests[c];
        all[c].what = contest->what;
        for (int k = 0; waits[k]; k++) {
            const char *name = waits[k]->peer;
            /* The other mutexes have cells of their own. */
            if (waits[k]->block != contest->usual ||
                (waits[k]->block == BENCH_AT_MUTEX && strcmp(name, "lockword") != 0))
                continue;
            const struct bench_wait *other = find(waits, contest->other, name);
            if (!other && contest->other != BENCH_BLOCKS)
                continue;
            struct entry *entry = bench_zeroed(1, sizeof *entry);
            *entry = (struct entry){
                .peer = {name, true, init, destroy, NULL, NULL, contend},
                .contest = contest,
                .usual = waits[k],
                .other = other,
            };
            bench_enter(&all[c], &entry->peer);
        }
    }
}

struct bench_contention bench_fair_contend(const struct bench_peer *peer, struct bench_run run,
                                           struct bench_units units)
{
    current = (const struct entry *)peer;
    return bench_contend(peer, run, units);
}
