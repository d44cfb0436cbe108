/*
 * regions.c: a lock that processes share, beside those that Linux has. Prints four tables: what a
 * lock costs alone and among processes, and how long it is held by a process that was killed; the
 * same of a read-write lock alone; what names cost.
 *
 *     build/release/bench/native/lockword-bench-regions [--quick] [--json FILE]
 *
 * A section, and the time between two, is an increment and 1000 ns of work. 'Share' is how many
 * turns the luckiest process has for each of the unluckiest.
 */
#define _GNU_SOURCE
#include <lockword/lockword.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define SECTION_NS 1000
#define SETTLED_S 3e-3 /* until a process that waits is asleep */
#define NAMES 1000

enum { ROUNDS = 15, MOST = 16, DEATHS = 200 };
static int pairs;

static FILE *json;

/* What the processes share. */
static struct shared {
    pthread_mutex_t robust;
    pthread_rwlock_t rwlock;
    _Alignas(64) uint64_t count;
    _Alignas(64) uint32_t ready, go, stop;
    double sample; /* of a child that measures something once */
    struct {
        _Alignas(64) uint64_t turns;
        double longest_ns;
        double began; /* bench_now */
    } of[MOST];
} * shared;

static char path[64];
static lw_mutex private_mutex = LW_MUTEX_INIT;
static lw_region *region;
static lw_region_mutex region_mutex;
static sem_t *posix;
static int sysv = -1;
static int file = -1;

/* For a lock that each process has from the beginning. */
static void ready_without(void)
{
}

static bool private_lock(void)
{
    return lw_mutex_lock(&private_mutex) == 0;
}

static void private_unlock(void)
{
    lw_mutex_unlock(&private_mutex);
}

static void ready_region(void)
{
    bench_must(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0) == 0 &&
                   lw_region_mutex_named(region, "lock", &region_mutex) == 0,
               "no region");
}

static bool region_lock(void)
{
    const int error = lw_region_mutex_lock(&region_mutex);
    return error == 0 || error == EOWNERDEAD;
}

static void region_unlock(void)
{
    lw_region_mutex_unlock(&region_mutex);
}

static bool robust_lock(void)
{
    const int error = pthread_mutex_lock(&shared->robust);
    if (error == EOWNERDEAD)
        pthread_mutex_consistent(&shared->robust);
    return error == 0 || error == EOWNERDEAD;
}

static void robust_unlock(void)
{
    pthread_mutex_unlock(&shared->robust);
}

static void ready_posix(void)
{
    char name[64];
    snprintf(name, sizeof name, "/lockword-bench-%d", (int)getppid());
    posix = sem_open(name, O_CREAT, 0600, 1);
    bench_must(posix != SEM_FAILED, "no POSIX semaphore");
}

static bool posix_lock(void)
{
    while (sem_wait(posix) != 0)
        continue;
    return true;
}

static void posix_unlock(void)
{
    sem_post(posix);
}

static bool sysv_do(short by)
{
    struct sembuf operation = {0, by, SEM_UNDO};
    int result;
    do
        result = semop(sysv, &operation, 1);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

static bool sysv_lock(void)
{
    return sysv_do(-1);
}

static void sysv_unlock(void)
{
    sysv_do(1);
}

static void ready_file(void)
{
    char name[80];
    snprintf(name, sizeof name, "%s.lock", path);
    file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bench_must(file >= 0, "no file");
}

static bool flock_lock(void)
{
    return flock(file, LOCK_EX) == 0;
}

static void flock_unlock(void)
{
    flock(file, LOCK_UN);
}

static bool ofd_do(int command, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
    return fcntl(file, command, &lock) == 0;
}

static bool ofd_lock(void)
{
    return ofd_do(F_OFD_SETLKW, F_WRLCK);
}

static void ofd_unlock(void)
{
    ofd_do(F_OFD_SETLK, F_UNLCK);
}

#ifdef BENCH_HAS_BOOST
void bench_boost_make(void);
bool bench_boost_lock(void);
void bench_boost_unlock(void);
#endif

static const struct peer {
    const char *name;
    bool shares;         /* between processes */
    bool recovers;       /* from a death */
    void (*ready)(void); /* in each process */
    bool (*lock)(void);
    void (*unlock)(void);
} peers[] = {
    {"lockword, in one process", false, false, ready_without, private_lock, private_unlock},
    {"lockword", true, true, ready_region, region_lock, region_unlock},
    {"pthread_mutex, robust", true, true, ready_without, robust_lock, robust_unlock},
    {"POSIX named semaphore", true, false, ready_posix, posix_lock, posix_unlock},
    {"System V, SEM_UNDO", true, true, ready_without, sysv_lock, sysv_unlock},
    {"flock", true, true, ready_file, flock_lock, flock_unlock},
    {"OFD lock", true, true, ready_file, ofd_lock, ofd_unlock},
#ifdef BENCH_HAS_BOOST
    {"Boost.Interprocess", true, false, ready_without, bench_boost_lock, bench_boost_unlock},
#endif
};
enum { PEERS = sizeof peers / sizeof *peers };

static lw_region_rwtable table;
static lw_region_rwlock rwlock;

static void ready_readers(void)
{
    bench_must(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0) == 0 &&
                   lw_region_rwtable_named(region, "table", &table) == 0 &&
                   lw_region_rwlock_named(region, "rwlock", &rwlock) == 0,
               "no region");
}

static bool is_held(int error)
{
    return error == 0 || error == EOWNERDEAD;
}

static bool table_read(void)
{
    return is_held(lw_region_rwtable_rdlock(&table));
}

static bool table_write(void)
{
    return is_held(lw_region_rwtable_wrlock(&table));
}

static void table_unlock(void)
{
    lw_region_rwtable_unlock(&table);
}

static bool rwlock_read(void)
{
    return lw_region_rwlock_rdlock(&rwlock) == 0;
}

static bool rwlock_write(void)
{
    return lw_region_rwlock_wrlock(&rwlock) == 0;
}

static void rwlock_unlock(void)
{
    lw_region_rwlock_unlock(&rwlock);
}

static bool pthread_read(void)
{
    return pthread_rwlock_rdlock(&shared->rwlock) == 0;
}

static bool pthread_write(void)
{
    return pthread_rwlock_wrlock(&shared->rwlock) == 0;
}

static void pthread_unlock(void)
{
    pthread_rwlock_unlock(&shared->rwlock);
}

static bool flock_read(void)
{
    return flock(file, LOCK_SH) == 0;
}

static bool ofd_read(void)
{
    return ofd_do(F_OFD_SETLKW, F_RDLCK);
}

/* The same locks twice: as their readers have them, and as their writers do. */
static const struct peer sides[][2] = {
    {{"lockword, table", true, true, ready_readers, table_read, table_unlock},
     {"lockword, table", true, true, ready_readers, table_write, table_unlock}},
    {{"lockword, rwlock", true, false, ready_readers, rwlock_read, rwlock_unlock},
     {"lockword, rwlock", true, false, ready_readers, rwlock_write, rwlock_unlock}},
    {{"pthread_rwlock", true, false, ready_without, pthread_read, pthread_unlock},
     {"pthread_rwlock", true, false, ready_without, pthread_write, pthread_unlock}},
    {{"flock", true, true, ready_file, flock_read, flock_unlock},
     {"flock", true, true, ready_file, flock_lock, flock_unlock}},
    {{"OFD lock", true, true, ready_file, ofd_read, ofd_unlock},
     {"OFD lock", true, true, ready_file, ofd_lock, ofd_unlock}},
};
enum { RWLOCKS = sizeof sides / sizeof *sides };

static void make_shared(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench_must(shared != MAP_FAILED, "no memory");
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->robust, &attributes);
    pthread_rwlockattr_t rwlock_attributes;
    pthread_rwlockattr_init(&rwlock_attributes);
    pthread_rwlockattr_setpshared(&rwlock_attributes, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&shared->rwlock, &rwlock_attributes);
#ifdef BENCH_HAS_BOOST
    bench_boost_make();
#endif
    sysv = semget(IPC_PRIVATE, 1, 0600);
    bench_must(sysv >= 0 && semctl(sysv, 0, SETVAL, 1) == 0, "no System V semaphore");
    snprintf(path, sizeof path, "/dev/shm/lockword-bench-%d", (int)getpid());
    unlink(path);
}

static void remove_shared(void)
{
    char name[80];
    unlink(path);
    snprintf(name, sizeof name, "%s.lock", path);
    unlink(name);
    snprintf(name, sizeof name, "/lockword-bench-%d", (int)getpid());
    sem_unlink(name);
    semctl(sysv, 0, IPC_RMID);
}

static pid_t spawn(void (*body)(const struct peer *peer, int number), const struct peer *peer,
                   int number)
{
    const pid_t pid = fork();
    bench_must(pid >= 0, "no process");
    if (pid == 0) {
        bench_pin(number);
        peer->ready();
        body(peer, number);
        _exit(0);
    }
    return pid;
}

static uint32_t look(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void await(const uint32_t *word, uint32_t value)
{
    while (look(word) != value)
        bench_sleep(50e-6);
}

static void count(uint32_t *word)
{
    __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
}

static void *sleep_always(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* glibc's locks use no atomic operation in a process with one thread. */
static void be_threaded(void)
{
    pthread_t thread;
    bench_must(pthread_create(&thread, NULL, sleep_always, NULL) == 0, "no thread");
}

/* ns for a lock, an increment and an unlock, which nobody else wants. */
static void measure_alone(const struct peer *peer, int number)
{
    (void)number;
    be_threaded();
    volatile uint64_t *guarded = &shared->count;
    double start = 0;
    for (int i = -pairs / 4; i < pairs; i++) {
        if (i == 0)
            start = bench_now();
        peer->lock();
        ++*guarded;
        peer->unlock();
    }
    shared->sample = (bench_now() - start) / pairs;
}

static double alone(const struct peer *peer)
{
    waitpid(spawn(measure_alone, peer, 0), NULL, 0);
    return shared->sample;
}

static uint64_t steps;

static void contend(const struct peer *peer, int number)
{
    volatile uint64_t *guarded = &shared->count;
    uint64_t turns = 0;
    double longest = 0;
    count(&shared->ready);
    await(&shared->go, 1);
    shared->of[number].began = bench_now();
    while (!look(&shared->stop)) {
        const double start = bench_now();
        peer->lock();
        const double waited = bench_now() - start;
        ++*guarded;
        bench_work(steps);
        peer->unlock();
        bench_work(steps);
        turns++;
        longest = waited > longest ? waited : longest;
    }
    shared->of[number].turns = turns;
    shared->of[number].longest_ns = longest;
}

struct contention {
    double turns, share, longest_ms;
};

static struct contention among(const struct peer *peer, uint32_t processes, double seconds)
{
    pid_t pids[MOST];
    shared->ready = shared->go = shared->stop = 0;
    for (uint32_t i = 0; i < processes; i++)
        pids[i] = spawn(contend, peer, (int)i);
    await(&shared->ready, processes);
    __atomic_store_n(&shared->go, 1, __ATOMIC_RELEASE);
    bench_sleep(seconds);
    const double end = bench_now();
    __atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
    double ns = 0;
    uint64_t all = 0;
    uint64_t most = 0;
    uint64_t least = UINT64_MAX;
    double longest = 0;
    for (uint32_t i = 0; i < processes; i++) {
        waitpid(pids[i], NULL, 0);
        const uint64_t turns = shared->of[i].turns;
        all += turns;
        most = turns > most ? turns : most;
        least = turns < least ? turns : least;
        longest = shared->of[i].longest_ns > longest ? shared->of[i].longest_ns : longest;
        ns = end - shared->of[i].began > ns ? end - shared->of[i].began : ns;
    }
    return (struct contention){(double)all / ns * 1e9, (double)most / (double)(least ? least : 1),
                               longest / 1e6};
}

static void hold(const struct peer *peer, int number)
{
    (void)number;
    peer->lock();
    count(&shared->ready);
    for (;;)
        pause();
}

static void take_over(const struct peer *peer, int number)
{
    (void)number;
    count(&shared->ready);
    peer->lock();
    shared->sample = bench_now();
    peer->unlock();
}

/* us from SIGKILL of a holder until the next process has the lock. */
static double death(const struct peer *peer)
{
    shared->ready = 0;
    const pid_t holder = spawn(hold, peer, 0);
    await(&shared->ready, 1);
    const pid_t next = spawn(take_over, peer, 1);
    await(&shared->ready, 2);
    bench_sleep(SETTLED_S);
    const double start = bench_now();
    kill(holder, SIGKILL);
    waitpid(next, NULL, 0);
    waitpid(holder, NULL, 0);
    return (shared->sample - start) / 1e3;
}

/* Prints the median and the 99th percentile of these times from a death, or that there are none. */
static void print_deaths(const struct peer *peer, double *us, int deaths)
{
    if (!peer->recovers) {
        puts(peer->shares ? "never | never |" : " |  |");
        fputs("}", json);
        return;
    }
    const double median = bench_median(us, deaths); /* sorts them */
    const double p99 = us[deaths * 99 / 100];
    printf("%.0f us | %.0f us |\n", median, p99);
    fprintf(json, ", \"death_us\": %.1f, \"death_p99_us\": %.1f}", median, p99);
}

static void print_alone_and_deaths(int rounds, int deaths)
{
    static double ns[PEERS][ROUNDS];
    static double us[PEERS][DEATHS];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < PEERS; i++)
            ns[i][round] = alone(&peers[i]);
    }
    for (int round = 0; round < deaths; round++) {
        for (int i = 0; i < PEERS; i++) {
            if (peers[i].recovers)
                us[i][round] = death(&peers[i]);
        }
    }
    puts("|  | lock, increment, unlock | from SIGKILL of the holder to the next: median | p99 |\n"
         "| --- | --: | --: | --: |");
    fputs("{\n  \"peers\": [", json);
    for (int i = 0; i < PEERS; i++) {
        const double alone_ns = bench_median(ns[i], rounds);
        printf("| %s | %.1f ns | ", peers[i].name, alone_ns);
        fprintf(json, "%s\n    {\"peer\": \"%s\", \"ns\": %.1f, \"shares\": %s", i ? "," : "",
                peers[i].name, alone_ns, peers[i].shares ? "true" : "false");
        print_deaths(&peers[i], us[i], deaths);
    }
    fputs("\n  ],\n", json);
    puts("");
}

static void print_readers_and_writers(int rounds, int deaths)
{
    static double ns[RWLOCKS][2][ROUNDS];
    static double us[RWLOCKS][DEATHS];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 2 * RWLOCKS; i++)
            ns[i / 2][i % 2][round] = alone(&sides[i / 2][i % 2]);
    }
    for (int round = 0; round < deaths; round++) {
        for (int i = 0; i < RWLOCKS; i++) {
            if (sides[i][1].recovers)
                us[i][round] = death(&sides[i][1]);
        }
    }
    puts("|  | read lock, unlock | write lock, unlock | from SIGKILL of a writer to the next: "
         "median "
         "| p99 |\n| --- | --: | --: | --: | --: |");
    fputs("  \"rwlocks\": [", json);
    for (int i = 0; i < RWLOCKS; i++) {
        const struct peer *peer = &sides[i][0];
        const double read_ns = bench_median(ns[i][0], rounds);
        const double write_ns = bench_median(ns[i][1], rounds);
        printf("| %s | %.1f ns | %.1f ns | ", peer->name, read_ns, write_ns);
        fprintf(json,
                "%s\n    {\"peer\": \"%s\", \"read_ns\": %.1f, \"write_ns\": %.1f, "
                "\"shares\": true",
                i ? "," : "", peer->name, read_ns, write_ns);
        print_deaths(peer, us[i], deaths);
    }
    fputs("\n  ],\n", json);
    puts("");
}

static void print_contention(int rounds, double seconds)
{
    static const uint32_t sizes[] = {2, 4, MOST};
    enum { SIZES = 3 };
    static double turns[PEERS][SIZES][ROUNDS];
    static double shares[PEERS][SIZES][ROUNDS];
    static double longest_ms[PEERS][SIZES][ROUNDS];
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < SIZES; k++) {
            for (int i = 0; i < PEERS; i++) {
                if (!peers[i].shares)
                    continue;
                const struct contention found = among(&peers[i], sizes[k], seconds);
                turns[i][k][round] = found.turns;
                shares[i][k][round] = found.share;
                longest_ms[i][k][round] = found.longest_ms;
            }
        }
    }
    puts("| turns a second, share, longest wait | 2 processes | 4 processes | 16 processes |\n"
         "| --- | --: | --: | --: |");
    fputs("  \"contended\": [", json);
    const char *comma = "";
    for (int i = 0; i < PEERS; i++) {
        if (!peers[i].shares)
            continue;
        printf("| %s |", peers[i].name);
        for (int k = 0; k < SIZES; k++) {
            const double some = bench_median(turns[i][k], rounds);
            const double share = bench_median(shares[i][k], rounds);
            const double longest = bench_median(longest_ms[i][k], rounds);
            printf(" %.0f k, %.1f, %.1f ms |", some / 1e3, share, longest);
            fprintf(json,
                    "%s\n    {\"peer\": \"%s\", \"processes\": %u, \"turns\": %.0f, "
                    "\"share\": %.2f, \"longest_ms\": %.3f}",
                    comma, peers[i].name, sizes[k], some, share, longest);
            comma = ",";
        }
        puts("");
    }
    fputs("\n  ],\n", json);
    puts("");
}

static void print_names(void)
{
    char name[16];
    lw_region_mutex mutex;
    ready_region();
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "name %d", i);
        bench_must(lw_region_mutex_named(region, name, &mutex) == 0, "no name");
    }
    double open_us[ROUNDS];
    double find_ns[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        lw_region_close(region);
        double start = bench_now();
        bench_must(lw_region_open(&region, path, 0, 0, 0) == 0, "no region");
        open_us[round] = (bench_now() - start) / 1e3;
        start = bench_now();
        for (int i = 0; i < NAMES; i++) {
            snprintf(name, sizeof name, "name %d", i);
            lw_region_mutex_named(region, name, &mutex);
        }
        find_ns[round] = (bench_now() - start) / NAMES;
        start = bench_now();
        for (int i = 0; i < NAMES; i++) {
            snprintf(name, sizeof name, "name %d", i);
            __asm__ volatile("" : : "r"(name) : "memory");
        }
        find_ns[round] -= (bench_now() - start) / NAMES;
    }
    printf("| a region with %d names |  |\n| --- | --: |\n", NAMES);
    const double opens = bench_median(open_us, ROUNDS);
    const double finds = bench_median(find_ns, ROUNDS);
    printf("| to open it | %.0f us |\n| to find a name | %.0f ns |\n", opens, finds);
    fprintf(json, "  \"names\": {\"names\": %d, \"open_us\": %.1f, \"find_ns\": %.1f}\n}\n", NAMES,
            opens, finds);
    lw_region_close(region);
}

int main(int argc, char **argv)
{
    bool quick = false;
    json = bench_options(argc, argv, &quick, NULL);
    pairs = quick ? 5000 : 20000;
    make_shared();
    steps = (uint64_t)(SECTION_NS / bench_calibrate().ns_per_step);
    print_alone_and_deaths(quick ? 1 : ROUNDS, quick ? 2 : DEATHS);
    print_readers_and_writers(quick ? 1 : ROUNDS, quick ? 2 : DEATHS);
    print_contention(quick ? 1 : 7, quick ? 0.02 : 0.3);
    print_names();
    remove_shared();
    return fclose(json) != 0;
}
