/*
 * leases.c: a lock that machines share, beside one that processes share. Prints a table: what a
 * turn costs that nobody else wants, how long a lock takes from an unlock to the process that waits
 * for it, and from the death of a holder.
 *
 *     lockword-bench-leases [--quick] [--json FILE] [NAME=etcd://HOST:PORT,...]...
 *
 * bench/leases.js starts the servers.
 */
#define _GNU_SOURCE
#include <lockword/lease.h>
#include <lockword/lockword.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

enum { MOST_PEERS = 4, TURNS = 400, HANDOFFS = 100, DEATHS = 5, TTL = 2 };

/* Until a process that waits is asleep: also if it has to ask three servers for that. */
#define SETTLED_S 0.05

static struct peer {
    const char *name;
    const char *servers; /* NULL: a region */
    double turn_ns[TURNS], handoff_ns[HANDOFFS], death_ns[DEATHS];
} peers[MOST_PEERS];

/* What the processes share. */
static struct shared {
    uint32_t ready;
    double samples[TURNS]; /* of a child */
    double unlocked_at, locked_at;
} * shared;

static char path[64];
static lw_region_mutex mutex;
static lw_lease *lease;

static void ready(const struct peer *peer)
{
    lw_region *region;
    if (!peer->servers)
        bench_must(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0) == 0 &&
                       lw_region_mutex_named(region, "lock", &mutex) == 0,
                   "no region");
}

static void lock(const struct peer *peer)
{
    char reason[200] = "no lease";
    const struct lw_lease_options options = {
        .deadline = LW_FOREVER, .ttl = TTL, .reason = reason, .reason_size = sizeof reason};
    if (peer->servers)
        bench_must(lw_lease_lock(&lease, peer->servers, "lock", &options) == 0, reason);
    else
        lw_region_mutex_lock(&mutex); /* 0 or EOWNERDEAD */
}

static void unlock(const struct peer *peer)
{
    if (peer->servers)
        bench_must(lw_lease_unlock(lease) == 0, "a lease was lost");
    else
        lw_region_mutex_unlock(&mutex);
}

static pid_t spawn(void (*body)(const struct peer *peer, int count), const struct peer *peer,
                   int count)
{
    const pid_t pid = fork();
    bench_must(pid >= 0, "no process");
    if (pid == 0) {
        ready(peer);
        body(peer, count);
        _exit(0);
    }
    return pid;
}

static void end(pid_t pid)
{
    int status;
    waitpid(pid, &status, 0);
    bench_must(status == 0, "a process has failed");
}

static void be_ready(void)
{
    __atomic_add_fetch(&shared->ready, 1, __ATOMIC_ACQ_REL);
}

static void await(uint32_t count)
{
    while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) != count)
        bench_sleep(50e-6);
}

/* Turns that nobody else wants. */
static void take_turns(const struct peer *peer, int count)
{
    for (int i = 0; i < count; i++) {
        const double start = bench_now();
        lock(peer);
        unlock(peer);
        shared->samples[i] = bench_now() - start;
    }
}

static void hold_for_a_while(const struct peer *peer, int count)
{
    (void)count;
    lock(peer);
    be_ready();
    await(2);
    bench_sleep(SETTLED_S);
    shared->unlocked_at = bench_now();
    unlock(peer);
}

static void hold_for_ever(const struct peer *peer, int count)
{
    (void)count;
    lock(peer);
    be_ready();
    for (;;)
        pause();
}

static void follow(const struct peer *peer, int count)
{
    (void)count;
    be_ready();
    lock(peer);
    shared->locked_at = bench_now();
    unlock(peer);
}

/* ns from the unlock to the process that waits. */
static double hand_off(const struct peer *peer)
{
    shared->ready = 0;
    const pid_t holder = spawn(hold_for_a_while, peer, 0);
    await(1);
    const pid_t next = spawn(follow, peer, 0);
    end(holder);
    end(next);
    return shared->locked_at - shared->unlocked_at;
}

/* ns from SIGKILL of the holder to the process that waits. */
static double death(const struct peer *peer)
{
    shared->ready = 0;
    const pid_t holder = spawn(hold_for_ever, peer, 0);
    await(1);
    const pid_t next = spawn(follow, peer, 0);
    await(2);
    bench_sleep(SETTLED_S);
    const double start = bench_now();
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    end(next);
    return shared->locked_at - start;
}

/* "1.5 ms" */
static const char *time_of(double ns)
{
    static char texts[8][24];
    static unsigned turn;
    char *text = texts[turn++ % 8];
    static const char *const units[] = {"ns", "us", "ms", "s"};
    unsigned unit = 0;
    for (; ns >= 1e3 && unit < 3; unit++)
        ns /= 1e3;
    snprintf(text, sizeof *texts, "%.3g %s", ns, units[unit]);
    return text;
}

static double largest(const double *samples, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = samples[i] > most ? samples[i] : most;
    return most;
}

int main(int argc, char **argv)
{
    bool quick = false;
    int others;
    FILE *json = bench_options(argc, argv, &quick, &others);
    int count = 1;
    peers[0].name = "a region of this machine";
    for (char **other = argv + argc - others; *other; other++) {
        char *servers = strstr(*other, "=etcd://");
        bench_must(servers && count < MOST_PEERS,
                   "usage: three of NAME=etcd://HOST:PORT at the most");
        *servers = '\0';
        peers[count].name = *other;
        peers[count++].servers = servers + 1;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench_must(shared != MAP_FAILED, "no memory");
    snprintf(path, sizeof path, "/dev/shm/lockword-bench-%d", (int)getpid());

    /* The peers take turns. */
    const int rounds = quick ? 1 : 10, turns = quick ? 20 : TURNS, handoffs = quick ? 3 : HANDOFFS;
    const int deaths = quick ? 1 : DEATHS;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++) {
            const int share = turns / rounds;
            end(spawn(take_turns, &peers[i], share));
            memcpy(peers[i].turn_ns + round * share, shared->samples,
                   (size_t)share * sizeof(double));
        }
    }
    for (int round = 0; round < handoffs; round++)
        for (int i = 0; i < count; i++)
            peers[i].handoff_ns[round] = hand_off(&peers[i]);
    for (int round = 0; round < deaths; round++)
        for (int i = 0; i < count; i++)
            peers[i].death_ns[round] = death(&peers[i]);
    unlink(path);

    puts("|  | a turn alone: median | p99 | unlock to the next: median | p99 | SIGKILL to the "
         "next: median | longest |\n| --- | --: | --: | --: | --: | --: | --: |");
    fprintf(json, "{\n  \"ttl\": %d,\n  \"peers\": [", TTL);
    for (int i = 0; i < count; i++) {
        struct peer *peer = &peers[i];
        const double longest = largest(peer->death_ns, deaths);
        const double turn = bench_median(peer->turn_ns, turns); /* sorts them */
        const double handoff = bench_median(peer->handoff_ns, handoffs);
        const double dead = bench_median(peer->death_ns, deaths);
        const double turn_p99 = peer->turn_ns[turns * 99 / 100];
        const double handoff_p99 = peer->handoff_ns[handoffs * 99 / 100];
        printf("| %s | %s | %s | %s | %s | %s | %s |\n", peer->name, time_of(turn),
               time_of(turn_p99), time_of(handoff), time_of(handoff_p99), time_of(dead),
               time_of(longest));
        fprintf(json,
                "%s\n    {\"peer\": \"%s\", \"turn_ns\": %.0f, \"turn_p99_ns\": %.0f, "
                "\"handoff_ns\": %.0f, \"handoff_p99_ns\": %.0f, \"death_ns\": %.0f, "
                "\"death_longest_ns\": %.0f}",
                i ? "," : "", peer->name, turn, turn_p99, handoff, handoff_p99, dead, longest);
    }
    fputs("\n  ]\n}\n", json);
    return fclose(json) != 0;
}
