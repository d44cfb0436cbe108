/*
 * region-soak.c: processes of threads and event loops share a region's mutexes, and are killed at
 * any instruction: in sections, while they wait, open, make and remove names, and bury each other;
 * one at a time, and all at once. `make soak` kills 20,000 of them, a test a few hundred.
 *
 * Checked: there is never more than one holder, also in the moment in which a killed process's
 * other threads still run; whoever takes a mutex from a dead holder is told; all others find the
 * data as the last holder left it; nobody waits for long; in the end, all that live finish.
 */
#define _GNU_SOURCE
#include <lockword/loop.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum {
    MOST_PROCESSES = 8,
    MOST_THREADS = 3,
    LOCKS = 3,
    TASKS = 4,
    DEATHS_IN_A_ROUND = 100,
    LONGEST_WAIT_MS = 10000,
};

/* What a mutex guards: a holder makes the two equal again before it unlocks. */
struct guarded {
    uint32_t inside;
    uint32_t first;
    uint32_t second;
    uint32_t unused[13];
};

/* Memory of the test itself, which all of its processes share. */
static struct shared {
    struct guarded guarded[LOCKS];
    uint32_t stop;
    uint32_t violations;
    uint32_t sections;
    uint32_t told; /* of a dead holder */
    int64_t longest_ns;
    uint32_t threads;
    char complaint[128];
} * shared;

static char path[64];

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static void count(uint32_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

static void complain(const char *what, int number)
{
    if (__atomic_fetch_add(&shared->violations, 1, __ATOMIC_RELAXED) == 0)
        snprintf(shared->complaint, sizeof shared->complaint, "%s (%d)", what, number);
}

static void sleep_us(uint32_t us)
{
    nanosleep(&(struct timespec){0, (long)us * 1000}, NULL);
}

/* A section of a holder: it looks all the time whether it is alone. */
static void section(struct guarded *guarded, uint32_t me, bool told, uint32_t *seed)
{
    if (told) {
        store(&guarded->inside, 0);
        store(&guarded->second, load(&guarded->first));
        count(&shared->told);
    }
    const uint32_t before = load(&guarded->first);
    if (load(&guarded->inside) != 0 || load(&guarded->second) != before)
        complain("a mutex was half-way through a section, and its taker was not told",
                 (int)load(&guarded->inside));
    store(&guarded->inside, me);
    store(&guarded->first, before + 1);
    if (next_random(seed) % 256 == 0)
        sleep_us(next_random(seed) % 1000);
    for (uint32_t i = next_random(seed) % 20000; i > 0; i--) {
        if (load(&guarded->inside) != me)
            complain("two threads hold a mutex", (int)load(&guarded->inside));
    }
    store(&guarded->second, before + 1);
    if (load(&guarded->first) != before + 1 || load(&guarded->inside) != me)
        complain("another thread changed what is held", (int)load(&guarded->inside));
    store(&guarded->inside, 0);
    count(&shared->sections);
}

static void note_wait(int64_t ns)
{
    int64_t longest = __atomic_load_n(&shared->longest_ns, __ATOMIC_RELAXED);
    while (ns > longest && !__atomic_compare_exchange_n(&shared->longest_ns, &longest, ns, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* Whoever has the mutex, or should have it, goes through a section and unlocks it. */
static void hold(const lw_region_mutex *mutex, int error, struct guarded *guarded, uint32_t me,
                 uint32_t *seed)
{
    if (error != 0 && error != EOWNERDEAD) {
        complain("lock fails", error);
        return;
    }
    section(guarded, me, error == EOWNERDEAD, seed);
    const int unlocked = lw_region_mutex_unlock(mutex);
    if (unlocked)
        complain("unlock fails", unlocked);
}

static void use_a_mutex(const lw_region_mutex *mutex, struct guarded *guarded, uint32_t me,
                        uint32_t *seed)
{
    const int64_t start = now_ns();
    const uint32_t how = next_random(seed) % 8;
    const int error = how == 0   ? lw_region_mutex_trylock(mutex)
                      : how == 1 ? lw_region_mutex_lock_until(mutex, lw_after_ns(200000))
                                 : lw_region_mutex_lock(mutex);
    note_wait(now_ns() - start);
    if (error != EBUSY && error != ETIMEDOUT)
        hold(mutex, error, guarded, me, seed);
}

/* Makes and removes one of some names, as others do. */
static void use_a_name(lw_region *region, uint32_t *seed)
{
    char name[16];
    const uint32_t number = next_random(seed) % 1000;
    snprintf(name, sizeof name, "name%u", number);
    lw_region_mutex mutex;
    lw_event *event;
    void *bytes;
    const int made = number % 3 == 0   ? lw_region_event_named(region, name, NULL, &event)
                     : number % 3 == 1 ? lw_region_bytes(region, name, 1 + number / 2, &bytes)
                                       : lw_region_mutex_named(region, name, &mutex);
    if (made)
        complain("a name cannot be made", made);
    if (next_random(seed) % 2 == 0)
        return;
    const int removed = lw_region_remove(region, name);
    if (removed && removed != ENOENT && removed != EBUSY)
        complain("a name cannot be removed", removed);
}

struct worker {
    lw_region *region;
    uint32_t seed;
    uint32_t me;
    lw_region_mutex mutexes[LOCKS];
    lw_loop loop;
    uint32_t pending;
};

/* What a loop does, again and again. */
struct task {
    lw_request request;
    struct worker *worker;
    uint32_t which;
    int64_t start;
};

static void begin_task(struct task *task);

static void taken(lw_request *request, int result, void *context)
{
    struct task *task = context;
    struct worker *worker = task->worker;
    (void)request;
    worker->pending--;
    note_wait(now_ns() - task->start);
    if (result != ETIMEDOUT && result != ECANCELED)
        hold(&worker->mutexes[task->which], result, &shared->guarded[task->which], worker->me,
             &worker->seed);
    if (!load(&shared->stop))
        begin_task(task);
}

static void begin_task(struct task *task)
{
    struct worker *worker = task->worker;
    const uint32_t how = next_random(&worker->seed) % 8;
    task->which = next_random(&worker->seed) % LOCKS;
    task->start = now_ns();
    worker->pending++;
    const int error =
        lw_region_mutex_lock_async(&worker->mutexes[task->which], &task->request, &worker->loop,
                                   how == 0 ? lw_after_ns(200000) : LW_FOREVER, taken, task);
    if (error)
        complain("a request is refused", error);
    else if (how == 1)
        lw_request_cancel(&task->request);
}

static void run_loop(struct worker *worker)
{
    struct task tasks[TASKS];
    const int error = lw_loop_init(&worker->loop);
    if (error) {
        complain("a loop cannot be made", error);
        return;
    }
    for (int i = 0; i < TASKS; i++) {
        tasks[i].worker = worker;
        begin_task(&tasks[i]);
    }
    struct pollfd readable = {.fd = lw_loop_fd(&worker->loop), .events = POLLIN};
    while (worker->pending > 0) {
        poll(&readable, 1, -1);
        lw_loop_run(&worker->loop);
    }
    lw_loop_destroy(&worker->loop);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->me = (uint32_t)gettid();
    for (int i = 0; i < LOCKS; i++) {
        const char name[] = {'l', (char)('0' + i), 0};
        const int error = lw_region_mutex_named(worker->region, name, &worker->mutexes[i]);
        if (error) {
            complain("a mutex has no name", error);
            return NULL;
        }
    }
    if (next_random(&worker->seed) % 3 == 0) {
        run_loop(worker);
        return NULL;
    }
    while (!load(&shared->stop)) {
        const uint32_t which = next_random(&worker->seed) % LOCKS;
        use_a_mutex(&worker->mutexes[which], &shared->guarded[which], worker->me, &worker->seed);
        if (next_random(&worker->seed) % 4 == 0)
            use_a_name(worker->region, &worker->seed);
    }
    return NULL;
}

static void run_child(uint32_t seed)
{
    lw_region *region;
    const int error = lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0);
    if (error) {
        complain("the region cannot be opened", error);
        _exit(1);
    }
    struct worker workers[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    const uint32_t count_of_threads = 1 + next_random(&seed) % MOST_THREADS;
    for (uint32_t i = 0; i < count_of_threads; i++) {
        workers[i] = (struct worker){.region = region, .seed = next_random(&seed)};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (uint32_t i = 0; i < count_of_threads; i++)
        pthread_join(threads[i], NULL);
    lw_region_close(region);
    _exit(0);
}

static pid_t spawn(uint32_t seed)
{
    const pid_t pid = fork();
    if (pid == 0)
        run_child(seed);
    return pid;
}

/* Returns whether a child of its own accord ended in time. */
static bool ends(pid_t pid)
{
    for (int ms = 0; ms < LONGEST_WAIT_MS; ms++) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return true;
        sleep_us(1000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return false;
}

/* Returns the number of processes that it killed. */
static int run_round(uint32_t *seed)
{
    memset(shared->guarded, 0, sizeof shared->guarded);
    store(&shared->stop, 0);
    unlink(path);
    pid_t children[MOST_PROCESSES];
    const uint32_t processes = 2 + next_random(seed) % (MOST_PROCESSES - 1);
    for (uint32_t i = 0; i < processes; i++)
        children[i] = spawn(next_random(seed));
    int deaths = 0;
    while (deaths < DEATHS_IN_A_ROUND && !load(&shared->violations)) {
        /* Often while the new process opens the region, or while the old one is buried. */
        sleep_us(next_random(seed) % (next_random(seed) % 4 == 0 ? 6000 : 600));
        const bool all = next_random(seed) % 16 == 0;
        const uint32_t first = next_random(seed) % processes;
        const uint32_t last = all ? first + processes : first + 1;
        for (uint32_t i = first; i < last; i++)
            kill(children[i % processes], SIGKILL);
        for (uint32_t i = first; i < last; i++, deaths++) {
            waitpid(children[i % processes], NULL, 0);
            children[i % processes] = spawn(next_random(seed));
        }
    }
    sleep_us(20000);
    store(&shared->stop, 1);
    for (uint32_t i = 0; i < processes; i++) {
        if (!ends(children[i]))
            complain("a thread waits for ever", (int)i);
    }
    return deaths;
}

/* The time at which a holder was killed, until the next one had the mutex. */
static struct handover {
    const lw_region_mutex *mutex;
    int64_t taken_ns;
    int error;
} handover;

static void *take_over(void *unused)
{
    handover.error = lw_region_mutex_lock(handover.mutex);
    handover.taken_ns = now_ns();
    lw_region_mutex_unlock(handover.mutex);
    return unused;
}

static pid_t spawn_holder(int say)
{
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    lw_region *region;
    lw_region_mutex mutex;
    if (lw_region_open(&region, path, 0, 0, 0) || lw_region_mutex_named(region, "l0", &mutex) ||
        lw_region_mutex_lock(&mutex) || write(say, "h", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How long it takes from the death of a holder to the next one, in a thread that waits for it. */
static void measure_handovers(void)
{
    enum { RUNS = 200 };
    static int64_t ns[RUNS];
    lw_region *region;
    lw_region_mutex mutex;
    int ends[2];
    char said;
    if (lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0) || pipe(ends) ||
        lw_region_mutex_named(region, "l0", &mutex)) {
        complain("the region cannot be opened", errno);
        return;
    }
    handover.mutex = &mutex;
    for (int i = 0; i < RUNS; i++) {
        const pid_t pid = spawn_holder(ends[1]);
        pthread_t thread;
        if (read(ends[0], &said, 1) != 1 || pthread_create(&thread, NULL, take_over, NULL))
            abort();
        sleep_us(3000); /* until it sleeps */
        const int64_t start = now_ns();
        kill(pid, SIGKILL);
        pthread_join(thread, NULL);
        waitpid(pid, NULL, 0);
        ns[i] = handover.taken_ns - start;
        if (handover.error != EOWNERDEAD)
            complain("a waiter was not told of the death", handover.error);
    }
    lw_region_close(region);
    qsort(ns, RUNS, sizeof *ns, by_size);
    printf("from the death of a holder to the next one: median %.0f us, p99 %.0f us\n",
           (double)ns[RUNS / 2] / 1e3, (double)ns[RUNS * 99 / 100] / 1e3);
}

int main(void)
{
    const char *wanted = getenv("LW_DEATHS");
    const int most = wanted ? atoi(wanted) : 400;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(path, sizeof path, "/dev/shm/lockword-soak-%d", getpid());
    const char *given = getenv("LW_SEED");
    uint32_t seed = given ? (uint32_t)atoi(given) : (uint32_t)getpid();
    printf("LW_SEED=%u\n", seed);
    measure_handovers();
    int deaths = 0;
    while (deaths < most && !shared->violations)
        deaths += run_round(&seed);
    unlink(path);
    printf("%d killed; %u sections, %u of them after a death; the longest wait: %.1f ms\n", deaths,
           shared->sections, shared->told, (double)shared->longest_ns / 1e6);
    if (shared->longest_ns > (int64_t)LONGEST_WAIT_MS * NS_PER_MS)
        complain("a thread waited too long", (int)(shared->longest_ns / NS_PER_MS));
    if (shared->violations)
        printf("FAILED, %u times: %s\n", shared->violations, shared->complaint);
    return shared->violations != 0;
}
