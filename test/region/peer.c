/*
 * peer.c: a native process beside those of region.test.js: takes turns, as turns() of peer.js does,
 * or permits, as permits() does.
 *
 *     region-peer REGION DATA|permits TURNS
 */
#define _GNU_SOURCE
#include <lockword/region.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    lw_region *region;
    lw_region_mutex jobs;
    if (strcmp(argv[2], "permits") == 0)
        return lw_region_open(&region, argv[1], LW_REGION_CREATE, 0600, 0)
                   ? 3
                   : take_permits(region, atol(argv[3]));
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
