/*
 * peer.c: a native process beside those of region.test.js: takes turns, as turns() of peer.js does,
 * permits, as permits() does, reads and writes, as readAndWrite() and useTable() do, takes a
 * recursive mutex, as nests() does, notifies, or counts, as count.js does, which says what its
 * words are.
 *
 *     region-peer REGION DATA|permits|readAndWrite|useTable|nests|notify|count TURNS
 */
#define _GNU_SOURCE
#include <lockword/region.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int take_permits(lw_region *region, long turns)
{
    const lw_sem three = LW_SEM_INIT(3);
    lw_sem *slots;
    void *bytes;
    if (lw_region_sem_named(region, "slots", &three, &slots) != 0 ||
        lw_region_bytes(region, "inside", 8, &bytes) != 0)
        return 8;
    uint32_t *inside = bytes;
    for (; turns > 0; turns--) {
        const uint32_t permits = 1 + (turns & 1);
        if (lw_sem_acquire(slots, permits) != 0 ||
            __atomic_add_fetch(&inside[0], permits, __ATOMIC_SEQ_CST) > 3)
            return 9;
        __atomic_add_fetch(&inside[1], 1, __ATOMIC_SEQ_CST);
        __atomic_sub_fetch(&inside[0], permits, __ATOMIC_SEQ_CST);
        if (lw_sem_release(slots, permits) != 0)
            return 10;
    }
    return 0;
}

static int read_and_write(lw_region *region, long turns)
{
    lw_region_rwlock lock;
    lw_region_once once;
    void *bytes;
    if (lw_region_rwlock_named(region, "lock", &lock) != 0 ||
        lw_region_once_named(region, "once", &once) != 0 ||
        lw_region_bytes(region, "pair", 8, &bytes) != 0)
        return 8;
    volatile uint32_t *pair = bytes;
    if (lw_region_once_begin(&once) == LW_ONCE_RUN) {
        pair[0]++;
        pair[1]++;
        lw_region_once_finish(&once, true);
    }
    for (; turns > 0; turns--) {
        const bool writes = turns & 1;
        if (writes ? lw_region_rwlock_wrlock(&lock) : lw_region_rwlock_rdlock(&lock))
            return 9;
        if (pair[0] != pair[1])
            return 10;
        pair[0] += writes;
        pair[1] += writes;
        if (lw_region_rwlock_unlock(&lock) != 0)
            return 11;
    }
    return 0;
}

static int use_table(lw_region *region)
{
    lw_region_rwtable table;
    void *bytes;
    if (lw_region_rwtable_named(region, "table", &table) != 0 ||
        lw_region_bytes(region, "pair", 8, &bytes) != 0)
        return 8;
    volatile uint32_t *pair = bytes;
    for (uint32_t i = 0;; i++) {
        const bool writes = i & 1;
        const int error =
            writes ? lw_region_rwtable_wrlock(&table) : lw_region_rwtable_rdlock(&table);
        if ((error && error != EOWNERDEAD) || (!error && pair[0] != pair[1]))
            return 9;
        if (writes) {
            pair[1] = ++pair[0] - 1;
            for (volatile int spent = 0; spent < 10000; spent++)
                continue;
            pair[1]++;
        }
        if (lw_region_rwtable_unlock(&table) != 0)
            return 10;
        if (i == 3)
            puts("began"), fflush(stdout);
    }
}

static int nest(lw_region *region, long turns)
{
    lw_region_rmutex nested;
    void *bytes;
    if (lw_region_rmutex_named(region, "nested", &nested) != 0 ||
        lw_region_bytes(region, "pair", 8, &bytes) != 0)
        return 8;
    volatile uint32_t *pair = bytes;
    for (; turns > 0; turns--) {
        if (lw_region_rmutex_lock(&nested) != 0 || pair[0] != pair[1])
            return 9;
        for (int i = 0; i < 2; i++) {
            if (lw_region_rmutex_lock(&nested) != 0)
                return 10;
            pair[i]++;
            if (lw_region_rmutex_unlock(&nested) != 0)
                return 11;
        }
        if (lw_region_rmutex_unlock(&nested) != 0)
            return 12;
    }
    return 0;
}

/* Another process takes what is in the table, before it is put there again. */
static int notify(lw_region *region, long turns)
{
    lw_region_mutex jobs;
    lw_cond *condition;
    void *bytes;
    if (lw_region_mutex_named(region, "jobs", &jobs) != 0 ||
        lw_region_cond_named(region, "condition", NULL, &condition) != 0 ||
        lw_region_bytes(region, "pair", 8, &bytes) != 0)
        return 8;
    uint32_t *pair = bytes;
    for (; turns > 0; turns--) {
        while (__atomic_load_n(&pair[0], __ATOMIC_SEQ_CST) != 0)
            usleep(1000);
        usleep(1000);
        if (lw_region_mutex_lock(&jobs) != 0)
            return 9;
        __atomic_store_n(&pair[0], 1, __ATOMIC_SEQ_CST);
        if (lw_region_mutex_unlock(&jobs) != 0)
            return 10;
        lw_cond_notify_one(condition);
    }
    return 0;
}

enum { TOTAL, GOAL, ROW, OLD_TOTAL, OLD_TALLY, LIVES, ROWS = 8 };
enum { TALLY, BEGUN, ENDED, KIND };
enum { NATIVE = 2, MOST_LIVES = 16384 };

static void store(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* Takes the mutex, and takes back what its holder's death has left half done. */
static int lock_and_repair(const lw_region_mutex *mutex, uint32_t *words)
{
    const int error = lw_region_mutex_lock(mutex);
    const uint32_t row = words[ROW];
    if (error == EOWNERDEAD && row != 0) {
        store(&words[TOTAL], words[OLD_TOTAL]);
        store(&words[row + TALLY], words[OLD_TALLY]);
        store(&words[ROW], 0);
    }
    return (error && error != EOWNERDEAD) || words[ROW] != 0;
}

static int count(lw_region *region)
{
    lw_region_mutex mutex;
    void *bytes;
    if (lw_region_mutex_named(region, "count", &mutex) != 0 ||
        lw_region_bytes(region, "accounts", 4 * (ROWS + 4 * MOST_LIVES), &bytes) != 0)
        return 8;
    uint32_t *words = bytes;
    if (lock_and_repair(&mutex, words) != 0 || words[LIVES] == MOST_LIVES)
        return 9;
    const uint32_t row = ROWS + 4 * words[LIVES]++;
    words[row + KIND] = NATIVE;
    if (lw_region_mutex_unlock(&mutex) != 0)
        return 10;
    /* Without a nap nearly all turns were its own. */
    const struct timespec nap = {.tv_nsec = 50000};
    for (bool goes_on = true; goes_on;) {
        store(&words[row + BEGUN], words[row + BEGUN] + 1);
        if (lock_and_repair(&mutex, words) != 0)
            return 11;
        const uint32_t total = words[TOTAL], tally = words[row + TALLY];
        goes_on = total < words[GOAL];
        if (goes_on) {
            store(&words[OLD_TOTAL], total);
            store(&words[OLD_TALLY], tally);
            store(&words[ROW], row);
            store(&words[TOTAL], total + 1);
            store(&words[row + TALLY], tally + 1);
            store(&words[ROW], 0);
        }
        if (lw_region_mutex_unlock(&mutex) != 0)
            return 12;
        if (goes_on)
            store(&words[row + ENDED], words[row + ENDED] + 1);
        if (words[row + BEGUN] == 1)
            puts("began"), fflush(stdout);
        if (words[row + BEGUN] % 32 == 0)
            nanosleep(&nap, NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    lw_region *region;
    lw_region_mutex jobs;
    const bool permits = strcmp(argv[2], "permits") == 0;
    const bool nests = strcmp(argv[2], "nests") == 0;
    const bool notifies = strcmp(argv[2], "notify") == 0;
    const bool counts = strcmp(argv[2], "count") == 0;
    const bool uses_table = strcmp(argv[2], "useTable") == 0;
    if (permits || nests || notifies || counts || uses_table ||
        strcmp(argv[2], "readAndWrite") == 0) {
        if (lw_region_open(&region, argv[1], LW_REGION_CREATE, 0600, 0) != 0)
            return 3;
        if (counts || uses_table)
            return counts ? count(region) : use_table(region);
        return (permits    ? take_permits
                : nests    ? nest
                : notifies ? notify
                           : read_and_write)(region, atol(argv[3]));
    }
    const int data = open(argv[2], O_RDWR | O_CLOEXEC);
    if (data < 0 || lw_region_open(&region, argv[1], LW_REGION_CREATE, 0600, 0) != 0 ||
        lw_region_mutex_named(region, "jobs", &jobs) != 0)
        return 3;
    for (long turns = atol(argv[3]); turns > 0; turns--) {
        uint32_t numbers[2];
        const int error = lw_region_mutex_lock(&jobs);
        if ((error && error != EOWNERDEAD) ||
            pread(data, numbers, sizeof numbers, 0) != (ssize_t)sizeof numbers)
            return 4;
        if (error == EOWNERDEAD)
            numbers[1] = numbers[0];
        if (numbers[0] != numbers[1])
            return 5;
        for (int i = 0; i < 2; i++) {
            numbers[i]++;
            if (pwrite(data, &numbers[i], 4, 4 * i) != 4)
                return 6;
        }
        if (lw_region_mutex_unlock(&jobs) != 0)
            return 7;
    }
    return 0;
}
