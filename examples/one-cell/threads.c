/*
 * threads [--unguarded]: four threads add to one cell, each 200 times: 800.
 *
 *     cc examples/one-cell/threads.c examples/one-cell/cell.c -llockword -pthread
 */
#include "cell.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define TIMES 200

static struct cell cell = {LW_MUTEX_INIT, LW_BARRIER_INIT(THREADS), 0};
static int guarded = 1;

static void *work(void *unused)
{
    add(&cell, TIMES, guarded);
    return unused;
}

int main(int argc, char **argv)
{
    guarded = !(argc > 1 && strcmp(argv[1], "--unguarded") == 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 2;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    int lost = THREADS * TIMES - cell.value;
    printf("%d of %d", cell.value, THREADS * TIMES);
    if (lost)
        printf(": %d lost", lost);
    printf("\n");
    return guarded && lost;
}
