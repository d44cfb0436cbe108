/*
 * peer.c: a native process beside those of region.test.js: takes turns, as turns() of peer.js does.
 *
 *     region-peer REGION DATA TURNS
 */
#define _GNU_SOURCE
#include <lockword/region.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    lw_region *region;
    lw_region_mutex jobs;
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
