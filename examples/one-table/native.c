/* native.c: native TABLE TURNS: a program in C, which adds to the same table. */
#define _GNU_SOURCE
#include <lockword/region.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char path[4096];
    lw_region *region;
    lw_region_mutex mutex;
    if (argc != 3)
        return 2;
    snprintf(path, sizeof path, "%s.region", argv[1]);
    const int file = open(argv[1], O_RDWR | O_CLOEXEC);
    int error = lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0);
    if (!error)
        error = lw_region_mutex_named(region, "table", &mutex);
    if (file < 0 || error) {
        fprintf(stderr, "%s: %s\n", argv[1], strerror(error));
        return 1;
    }
    for (uint64_t i = 1; i <= strtoull(argv[2], NULL, 10); i++) {
        uint64_t row[2];
        error = lw_region_mutex_lock(&mutex);
        if (error == EOWNERDEAD)
            puts("a holder died: the table would have to be checked");
        else if (error)
            return 1;
        if (pread(file, row, sizeof row, 0) != (ssize_t)sizeof row)
            return 1;
        row[0]++;
        row[1] += i;
        if (pwrite(file, row, sizeof row, 0) != (ssize_t)sizeof row)
            return 1;
        lw_region_mutex_unlock(&mutex);
    }
    return 0;
}
