/*
 * crowd.c: many holders of many names. `crowd SERVERS FILE NAMES THREADS TURNS TTL SECONDS`
 *
 * With SECONDS, threads take any of the locks for that long, and may lose them. Without, each name
 * has so many turns; or if TURNS is 0, thread I holds the name I for longer than the time-to-live.
 * Then nothing may fail.
 *
 * FILE is shared by such processes, and has the greatest token of each name. It is an error if a
 * token is not greater than all before it, or if somebody has got a greater one while an older one
 * is held.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <lockword/lease.h>

static const char *servers;
static _Atomic int64_t *greatest; /* of each name */
static unsigned names, turns, ttl, seconds;
static atomic_uint begun, locked, lost, missed, started;
static time_t end;

static time_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static void fail(const char *what, unsigned name, int64_t token, int64_t other)
{
    printf("%s: name %u, token %lld, greatest %lld\n", what, name, (long long)token,
           (long long)other);
    fflush(stdout);
    _exit(1);
}

/* What a resource does that is written to: it learns the token, and knows all before it. */
static void write_with(unsigned name, int64_t token)
{
    int64_t known = atomic_load(&greatest[name]);
    do {
        if (token <= known)
            fail("a token that is not greater", name, token, known);
    } while (!atomic_compare_exchange_weak(&greatest[name], &known, token));
}

static void hold(lw_lease *lease, unsigned name, unsigned ms)
{
    const int64_t token = lw_lease_token(lease);
    const unsigned step = ms > 100 ? 100 : 1;
    for (unsigned i = 0; i <= ms; i += step) {
        const int64_t known = atomic_load(&greatest[name]);
        /* This process may have been frozen: what counts is whether it is held after the look. */
        if (known != token && lw_lease_is_held(lease))
            fail("two hold it", name, token, known);
        nanosleep(&(struct timespec){.tv_nsec = step * 1000000L}, NULL);
    }
}

static void take(unsigned name, unsigned ms)
{
    char text[24], reason[200] = "";
    lw_lease *lease;
    const struct lw_lease_options options = {
        .deadline = seconds ? lw_after_ns(20 * 1000000000LL) : LW_FOREVER,
        .ttl = ttl,
        .holder = "crowd",
        .reason = reason,
        .reason_size = sizeof reason,
    };
    snprintf(text, sizeof text, "crowd-%u", name);
    const int error = lw_lease_lock(&lease, servers, text, &options);
    if (error) {
        if (!seconds)
            fail(reason, name, error, 0);
        atomic_fetch_add(&missed, 1);
        return;
    }
    if (lw_lease_is_held(lease))
        write_with(name, lw_lease_token(lease));
    atomic_fetch_add(&locked, 1);
    hold(lease, name, ms);
    const int freed = lw_lease_unlock(lease);
    if (freed && !seconds)
        fail(strerror(freed), name, freed, 0);
    if (freed)
        atomic_fetch_add(&lost, 1);
}

static void *live(void *unused)
{
    const unsigned self = atomic_fetch_add(&started, 1);
    unsigned seed = self + (unsigned)getpid();
    if (!seconds && !turns) {
        take(self % names, ttl * 1000 + 500);
        return unused;
    }
    for (;;) {
        const unsigned turn = atomic_fetch_add(&begun, 1);
        if (seconds ? now() >= end : turn >= turns * names)
            return unused;
        take(seconds ? (unsigned)rand_r(&seed) % names : turn % names, (unsigned)rand_r(&seed) % 5);
    }
}

int main(int argc, char **argv)
{
    if (argc != 8)
        return 2;
    servers = argv[1];
    names = (unsigned)atoi(argv[3]);
    const unsigned threads = (unsigned)atoi(argv[4]);
    turns = (unsigned)atoi(argv[5]);
    ttl = (unsigned)atoi(argv[6]);
    seconds = (unsigned)atoi(argv[7]);
    end = now() + (time_t)seconds;
    const int file = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const size_t size = names * sizeof *greatest;
    if (file < 0 || ftruncate(file, (off_t)size))
        return 2;
    greatest = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_t *all = calloc(threads, sizeof *all);
    if (greatest == MAP_FAILED || !all)
        return 2;
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, live, NULL))
            return 2;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    printf("%u turns, %u lost, %u not taken\n", locked, lost, missed);
    return 0;
}
