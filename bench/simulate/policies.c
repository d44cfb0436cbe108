/*
 * policies.c: lockword's primitives that wait for a holder, from the shipped sources; and how
 * others wait, written for this simulation from what their documentation says: not their code.
 */
#include "policies.h"

#include <string.h>

#include <lockword/mutex.h>
#include <lockword/permits.h>
#include <lockword/rmutex.h>
#include <lockword/rwlock.h>
#include <lockword/sem.h>

#include "machine.h"

#define LINE _Alignas(128)

/* Everything that the policies share, zeroed before each run. */
static struct {
    LINE lw_mutex lockword;
    LINE lw_rmutex recursive;
    LINE lw_rwlock rwlock;
    LINE lw_sem permit;
    LINE lw_permits owned;
    LINE uint32_t word;
    LINE uint32_t bucket; /* parking_lot's lock of its queue */
    struct {
        LINE uint32_t parked; /* parking_lot: until it is 0 */
        bool has_lock;        /* it was handed over */
    } parker[SIM_MAX_THREADS];
    struct {
        LINE uint32_t waits;
        uint32_t next; /* thread + 1; 0: none */
    } node[SIM_MAX_THREADS];
} all;

static void reset(void)
{
    memset(&all, 0, sizeof all);
}

/* lockword */

static void lockword_lock(int thread)
{
    (void)thread;
    lw_mutex_lock(&all.lockword);
}

static void lockword_unlock(int thread)
{
    (void)thread;
    lw_mutex_unlock(&all.lockword);
}

static void recursive_lock(int thread)
{
    (void)thread;
    lw_rmutex_lock(&all.recursive);
}

static void recursive_unlock(int thread)
{
    (void)thread;
    lw_rmutex_unlock(&all.recursive);
}

static void write_lock(int thread)
{
    (void)thread;
    lw_rwlock_wrlock(&all.rwlock);
}

static void write_unlock(int thread)
{
    (void)thread;
    lw_rwlock_unlock(&all.rwlock);
}

/* Each turn is a write with a chance of one in ten. */

static void mostly_read_lock(int thread)
{
    (void)thread;
    if (sim_random(10) == 0)
        lw_rwlock_wrlock(&all.rwlock);
    else
        lw_rwlock_rdlock(&all.rwlock);
}

static void reset_permit(void)
{
    reset();
    all.permit = (lw_sem)LW_SEM_INIT(1);
}

static void permit_lock(int thread)
{
    (void)thread;
    lw_sem_acquire(&all.permit, 1);
}

static void permit_unlock(int thread)
{
    (void)thread;
    lw_sem_release(&all.permit, 1);
}

/* Of three permits each thread takes one; or every fourth thread takes all. */

static void reset_permits(void)
{
    reset();
    all.permit = (lw_sem)LW_SEM_INIT(3);
}

/* One thread of four takes all. Threads are on CPUs by their numbers: these are on all of them. */
static uint32_t wanted_by(int thread)
{
    return thread % 4 == thread / 4 % 4 ? 3 : 1;
}

static void mixed_lock(int thread)
{
    lw_sem_acquire(&all.permit, wanted_by(thread));
}

static void mixed_unlock(int thread)
{
    lw_sem_release(&all.permit, wanted_by(thread));
}

/* Permits that have owners: one, or three. */

static uint32_t owned_by[SIM_MAX_THREADS];

static void reset_owned_permit(void)
{
    reset();
    all.owned = (lw_permits)LW_PERMITS_INIT(1);
}

static void reset_owned_permits(void)
{
    reset();
    all.owned = (lw_permits)LW_PERMITS_INIT(3);
}

static void owned_lock(int thread)
{
    lw_permits_acquire(&all.owned, &owned_by[thread]);
}

static void owned_unlock(int thread)
{
    lw_permits_release(&all.owned, owned_by[thread]);
}

/*
 * pthread_mutex: 0 free, 1 held, 2 held and threads may sleep. Sleeps at once. Rust's
 * std::sync::Mutex has the same word, but polls a hundred times while nobody sleeps.
 */

static uint32_t spin(uint32_t *word, int polls)
{
    if (polls == 0)
        return 1;
    uint32_t state = sim_load(word);
    for (; state == 1 && polls > 0; polls--) {
        sim_pause();
        state = sim_load(word);
    }
    return state;
}

static void futex_lock(uint32_t *word, int polls)
{
    if (sim_cas(word, 0, 1) == 0)
        return;
    uint32_t state = spin(word, polls);
    if (state == 0 && (state = sim_cas(word, 0, 1)) == 0)
        return;
    for (;;) {
        if (state != 2 && sim_swap(word, 2) == 0)
            return;
        sim_futex_wait(word, 2, SIM_FOREVER);
        state = spin(word, polls);
    }
}

static void futex_unlock(uint32_t *word)
{
    if (sim_swap(word, 0) == 2)
        sim_futex_wake(word, 1);
}

static void pthread_lock(int thread)
{
    (void)thread;
    futex_lock(&all.word, 0);
}

static void rust_lock(int thread)
{
    (void)thread;
    futex_lock(&all.word, 100);
}

static void word_unlock(int thread)
{
    (void)thread;
    futex_unlock(&all.word);
}

/*
 * parking_lot: a bit says that the mutex is held, another that threads are parked. A waiter polls
 * ten times, with growing pauses and then yields, while nobody is parked. Parked threads queue, and
 * once in half a millisecond on average the mutex is handed over to the first.
 */

#define HELD 1u
#define PARKED 2u
#define PARKING_POLLS 10
#define PARKING_PAUSES 3 /* the first polls: 2, 4, 8 pauses */
#define FAIR_NS 1000000

static struct {
    int queue[SIM_MAX_THREADS];
    int count;
    double fair_at;
} lot;

static void reset_lot(void)
{
    reset();
    lot.count = 0;
    lot.fair_at = 0;
}

static bool parking_spin(int *polls)
{
    if (*polls == PARKING_POLLS)
        return false;
    if (++*polls > PARKING_PAUSES) {
        sim_yield();
        return true;
    }
    for (int k = 0; k < 1 << *polls; k++)
        sim_pause();
    return true;
}

/* Returns whether the mutex was handed over. */
static bool park(int thread)
{
    futex_lock(&all.bucket, PARKING_POLLS);
    if (sim_load(&all.word) != (HELD | PARKED)) {
        futex_unlock(&all.bucket);
        return false;
    }
    sim_store(&all.parker[thread].parked, 1);
    lot.queue[lot.count++] = thread;
    futex_unlock(&all.bucket);
    while (sim_load(&all.parker[thread].parked) != 0)
        sim_futex_wait(&all.parker[thread].parked, 1, SIM_FOREVER);
    return all.parker[thread].has_lock;
}

static void parking_lock(int thread)
{
    if (sim_cas(&all.word, 0, HELD) == 0)
        return;
    int polls = 0;
    uint32_t state = sim_load(&all.word);
    for (;;) {
        const uint32_t seen = state;
        if (!(seen & HELD)) {
            if ((state = sim_cas(&all.word, seen, seen | HELD)) == seen)
                return;
            continue;
        }
        if (!(seen & PARKED)) {
            if (parking_spin(&polls)) {
                state = sim_load(&all.word);
                continue;
            }
            if ((state = sim_cas(&all.word, seen, seen | PARKED)) != seen)
                continue;
        }
        if (park(thread))
            return;
        polls = 0;
        state = sim_load(&all.word);
    }
}

static void parking_unlock(int thread)
{
    (void)thread;
    if (sim_cas(&all.word, HELD, 0) == HELD)
        return;
    futex_lock(&all.bucket, PARKING_POLLS);
    if (lot.count == 0) {
        sim_store(&all.word, 0);
        futex_unlock(&all.bucket);
        return;
    }
    const int first = lot.queue[0];
    lot.count--;
    memmove(lot.queue, lot.queue + 1, (size_t)lot.count * sizeof *lot.queue);
    const double now = sim_clock();
    const bool fair = now > lot.fair_at;
    if (fair)
        lot.fair_at = now + sim_random(FAIR_NS);
    all.parker[first].has_lock = fair;
    sim_store(&all.word, (fair ? HELD : 0) | (lot.count > 0 ? PARKED : 0));
    sim_store(&all.parker[first].parked, 0);
    futex_unlock(&all.bucket);
    sim_futex_wake(&all.parker[first].parked, 1);
}

/* sem_t: a count, and how many wait. Sleeps at once, and each post wakes one while any wait. */

static uint32_t sem_t_waiters; /* in the count's line: glibc has both in one word */

static void reset_sem_t(void)
{
    reset();
    sem_t_waiters = 0;
    all.word = 1;
}

static void reset_three_of_sem_t(void)
{
    reset_sem_t();
    all.word = 3;
}

static bool sem_t_take(void)
{
    uint32_t seen = sim_load(&all.word);
    while (seen > 0) {
        const uint32_t count = seen;
        seen = sim_cas(&all.word, count, count - 1);
        if (seen == count)
            return true;
    }
    return false;
}

static void sem_t_wait(int thread)
{
    (void)thread;
    if (sem_t_take())
        return;
    sim_add_unlocked(&all.word, 0);
    sem_t_waiters++;
    while (!sem_t_take())
        sim_futex_wait(&all.word, 0, SIM_FOREVER);
    sem_t_waiters--;
}

static void sem_t_post(int thread)
{
    (void)thread;
    uint32_t seen = sim_load(&all.word);
    uint32_t count;
    do {
        count = seen;
        seen = sim_cas(&all.word, count, count + 1);
    } while (seen != count);
    if (sem_t_waiters > 0)
        sim_futex_wake(&all.word, 1);
}

/* Test-and-set with exponential back-off. */

#define MOST_PAUSES 1024

static void tas_lock(int thread)
{
    (void)thread;
    for (int pauses = 1; sim_load(&all.word) != 0 || sim_cas(&all.word, 0, 1) != 0;) {
        for (uint32_t k = sim_random((uint32_t)pauses) + 1; k > 0; k--)
            sim_pause();
        if (pauses < MOST_PAUSES)
            pauses *= 2;
    }
}

static void tas_unlock(int thread)
{
    (void)thread;
    sim_store(&all.word, 0);
}

/* MCS: threads queue, and each polls a line of its own. */

static void mcs_lock(int thread)
{
    const uint32_t me = (uint32_t)thread + 1;
    sim_store(&all.node[thread].next, 0);
    sim_store(&all.node[thread].waits, 1);
    const uint32_t last = sim_swap(&all.word, me);
    if (last == 0)
        return;
    sim_store(&all.node[last - 1].next, me);
    while (sim_load(&all.node[thread].waits) != 0)
        sim_pause();
}

static void mcs_unlock(int thread)
{
    const uint32_t me = (uint32_t)thread + 1;
    uint32_t next = sim_load(&all.node[thread].next);
    if (next == 0 && sim_cas(&all.word, me, 0) == me)
        return;
    while (next == 0) {
        sim_pause();
        next = sim_load(&all.node[thread].next);
    }
    sim_store(&all.node[next - 1].waits, 0);
}

const struct policy policies[] = {
    {"lockword", true, reset, lockword_lock, lockword_unlock, &all.lockword, false, false},
    {"recursive mutex", true, reset, recursive_lock, recursive_unlock, &all.recursive, false,
     false},
    {"write lock", true, reset, write_lock, write_unlock, &all.rwlock, false, false},
    {"mostly reads", true, reset, mostly_read_lock, write_unlock, &all.rwlock, true, true},
    {"semaphore", true, reset_permit, permit_lock, permit_unlock, &all.permit, false, false},
    {"3 permits", true, reset_permits, permit_lock, permit_unlock, &all.permit, true, true},
    {"3 permits, some take all", true, reset_permits, mixed_lock, mixed_unlock, &all.permit, true,
     true},
    {"owned permit", true, reset_owned_permit, owned_lock, owned_unlock, &all.owned, false, true},
    {"3 owned permits", true, reset_owned_permits, owned_lock, owned_unlock, &all.owned, true,
     true},
    {"sem_t", true, reset_sem_t, sem_t_wait, sem_t_post, &all.word, false, true},
    {"sem_t, 3 permits", true, reset_three_of_sem_t, sem_t_wait, sem_t_post, &all.word, true, true},
    {"Rust std", true, reset, rust_lock, word_unlock, &all.word, false, false},
    {"parking_lot", true, reset_lot, parking_lock, parking_unlock, &all.word, false, false},
    {"pthread_mutex", true, reset, pthread_lock, word_unlock, &all.word, false, false},
    {"test-and-set", false, reset, tas_lock, tas_unlock, &all.word, false, false},
    {"MCS", false, reset, mcs_lock, mcs_unlock, &all.word, false, false},
    {0},
};
