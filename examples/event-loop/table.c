#define _GNU_SOURCE
#include "table.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define NS_PER_MS 1000000

struct table table;

static pthread_t pool[THREADS], client;
static int sockets[2];
static bool stop;
static int answers;
static int64_t last_tick;

#define MOST_TICKS 20000
static int64_t delays[MOST_TICKS];
static size_t ticks;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

/* A thread of the pool keeps the table for five milliseconds at a time. */
static void *sweep(void *unused)
{
    const struct timespec sweeping = {.tv_nsec = 5 * NS_PER_MS}, pause = {.tv_nsec = NS_PER_MS};
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        lw_mutex_lock(&table.lock);
        nanosleep(&sweeping, NULL);
        lw_mutex_unlock(&table.lock);
        nanosleep(&pause, NULL);
    }
    return unused;
}

/* Sends a key and awaits the count, again and again. Closes its socket then. */
static void *ask(void *unused)
{
    for (int i = 0; i < VISITS; i++) {
        const unsigned char key = (unsigned char)(i % 10);
        long count = 0;
        if (write(sockets[1], &key, 1) != 1 ||
            read(sockets[1], &count, sizeof count) != sizeof count)
            break;
        answers += count == i / 10 + 1;
    }
    close(sockets[1]);
    return unused;
}

int start(void)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return -1;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&pool[i], NULL, sweep, NULL);
    pthread_create(&client, NULL, ask, NULL);
    return sockets[0];
}

long visit(unsigned char key)
{
    return ++table.counts[key];
}

void tick(void)
{
    const int64_t now = now_ns();
    if (last_tick && ticks < MOST_TICKS)
        delays[ticks++] = now - last_tick > NS_PER_MS ? now - last_tick - NS_PER_MS : 0;
    last_tick = now;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double delay_ms(size_t hundredth)
{
    return ticks ? (double)delays[(ticks - 1) * hundredth / 100] / NS_PER_MS : 0;
}

int finish(void)
{
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(pool[i], NULL);
    pthread_join(client, NULL);
    qsort(delays, ticks, sizeof *delays, by_size);
    printf("%d of %d answers; the loop was late by %.1f ms in the median, %.1f ms at worst\n",
           answers, VISITS, delay_ms(50), delay_ms(100));
    return answers != VISITS;
}
