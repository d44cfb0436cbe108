/*
 * region-steps.c: a process dies before each of its writes to a region: while it joins, makes
 * names, takes and frees what has an owner, removes a name, leaves; and while it buries another
 * process. After each death a process that lives gets everything, and is told what it has to be.
 *
 * The library is not changed for that. The process may not write to the region's pages: so each
 * write is a signal, whose handler kills the process, or lets it make this one step.
 */
#define _GNU_SOURCE
#include <lockword/region.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../src/region/region.h"
#include "check.h"

#if defined(__x86_64__)

#define SIZE ((size_t)1 << 20)
#define TRAP_FLAG 0x100
enum { PERMITS = 3, LONGEST_MS = 9000 };
enum { MOST_REPEATS = 3 }; /* of a loop's writes: the first ones, and so its middle */
enum { OTHERS = 16 };      /* process rows, as many as share a bit of the header */

/* How far the process has come with what has an owner. */
enum thing { MUTEX, WRITER, PERMIT, ONCE, THINGS };
enum progress { NOT_BEGUN, TAKES, HAS, FREES, FREED };

static struct {
    enum progress progress[THINGS];
    bool joins, ended;
    void *where; /* the instruction that it did not execute */
} * told;

/* Of the process that dies. */
static char *memory;
static uint32_t writes, last_write;
static greg_t instruction;
static uint32_t repeats;    /* of this instruction, in a loop */
static uint32_t in_handler; /* a thread: two would undo each other's protection */

static void protect(int protection)
{
    while (__atomic_exchange_n(&in_handler, 1, __ATOMIC_ACQUIRE))
        continue;
    mprotect(memory, SIZE, protection);
    __atomic_store_n(&in_handler, 0, __ATOMIC_RELEASE);
}

static void on_write(int signal, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    if ((char *)info->si_addr < memory || (char *)info->si_addr >= memory + SIZE)
        abort();
    (void)signal;
    const greg_t here = at->uc_mcontext.gregs[REG_RIP];
    repeats = here == instruction ? repeats + 1 : 0;
    instruction = here;
    if (repeats < MOST_REPEATS && __atomic_add_fetch(&writes, 1, __ATOMIC_SEQ_CST) == last_write) {
        told->where = (void *)here;
        /* For the kernel, which marks the token. No thread protects the page again. */
        while (__atomic_exchange_n(&in_handler, 1, __ATOMIC_ACQUIRE))
            continue;
        mprotect(memory, SIZE, PROT_READ | PROT_WRITE);
        kill(getpid(), SIGKILL);
    }
    protect(PROT_READ | PROT_WRITE);
    at->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    (void)signal, (void)info;
    protect(PROT_READ);
    at->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

/* The library blocks all signals for its threads. */
int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    sigset_t all_but_ours = *set;
    sigdelset(&all_but_ours, SIGSEGV);
    sigdelset(&all_but_ours, SIGTRAP);
    return __real_pthread_sigmask(how, &all_but_ours, before);
}

static void must(bool well, int line)
{
    if (!well) {
        fprintf(stderr, "line %d, in the process that dies\n", line);
        _exit(1);
    }
}
#define MUST(what) must(what, __LINE__)

static bool has(int error)
{
    return error == 0 || error == EOWNERDEAD;
}

/* To make a name, and to remove it, takes the mutex for a moment. */
static void name_mutex(lw_region *region, lw_region_mutex *mutex)
{
    told->progress[MUTEX] = TAKES;
    MUST(lw_region_mutex_named(region, "mutex", mutex) == 0);
    told->progress[MUTEX] = NOT_BEGUN;
}

/* Takes everything; gives it back, or sleeps with it. */
static void use(lw_region *region, bool frees)
{
    lw_region_mutex mutex;
    lw_region_rwtable table;
    lw_region_permits permits;
    lw_region_once once;
    void *bytes;
    uint32_t which;
    name_mutex(region, &mutex);
    MUST(lw_region_rwtable_named(region, "table", &table) == 0);
    MUST(lw_region_permits_named(region, "permits", PERMITS, &permits) == 0);
    MUST(lw_region_once_named(region, "once", &once) == 0);
    MUST(lw_region_bytes(region, "bytes", 100, &bytes) == 0);
    told->progress[MUTEX] = TAKES;
    MUST(has(lw_region_mutex_lock(&mutex)));
    told->progress[MUTEX] = HAS;
    if (frees) {
        told->progress[MUTEX] = FREES;
        MUST(lw_region_mutex_unlock(&mutex) == 0);
        told->progress[MUTEX] = FREED;
        MUST(has(lw_region_rwtable_rdlock(&table)));
        MUST(lw_region_rwtable_unlock(&table) == 0);
    }
    told->progress[WRITER] = TAKES;
    MUST(has(lw_region_rwtable_wrlock(&table)));
    told->progress[WRITER] = HAS;
    if (frees) {
        told->progress[WRITER] = FREES;
        MUST(lw_region_rwtable_unlock(&table) == 0);
        told->progress[WRITER] = FREED;
    }
    MUST(lw_region_permits_acquire(&permits, &which) == 0);
    told->progress[ONCE] = TAKES;
    MUST(lw_region_once_begin(&once) == LW_ONCE_RUN);
    told->progress[ONCE] = HAS;
    if (!frees)
        return;
    MUST(lw_region_permits_release(&permits, which) == 0);
    told->progress[ONCE] = FREES;
    MUST(lw_region_once_finish(&once, true) == 0);
    told->progress[ONCE] = FREED;
    MUST(lw_region_remove(region, "bytes") == 0);
    told->progress[MUTEX] = TAKES;
    MUST(lw_region_remove(region, "mutex") == 0);
    name_mutex(region, &mutex);
}

static void *map(int fd)
{
    void *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(mapped != MAP_FAILED);
    return mapped;
}

/* Forks a process that has all and is killed. */
static void leave_a_dead_holder(int fd)
{
    int ends[2];
    char said;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        lw_region *region;
        alarm(30);
        MUST(lw_region_open_memory(&region, map(fd), SIZE, 0) == 0);
        use(region, false);
        MUST(write(ends[1], "h", 1) == 1);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &said, 1), 1);
    close(ends[0]);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Forks a process that dies before this write. If there are fewer, it ends. */
static void run_until(int fd, uint32_t write, void (*body)(lw_region *region))
{
    const pid_t pid = fork();
    if (pid == 0) {
        lw_region *region;
        const struct sigaction at_write = {.sa_sigaction = on_write, .sa_flags = SA_SIGINFO};
        const struct sigaction at_step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
        alarm(30);
        memory = map(fd);
        last_write = write;
        sigaction(SIGSEGV, &at_write, NULL);
        sigaction(SIGTRAP, &at_step, NULL);
        mprotect(memory, SIZE, PROT_READ);
        told->joins = true;
        MUST(lw_region_open_memory(&region, memory, SIZE, 0) == 0);
        told->joins = false;
        body(region);
        lw_region_close(region);
        told->ended = true;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (getenv("LW_TRACE"))
        print_message("write %u: %p\n", write, told->where);
    assert_true(told->ended ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* What the next holder has to be told, after a death at this moment. */
static void check(enum thing thing, int error)
{
    switch (told->progress[thing]) {
    case HAS:
        assert_int_equal(error, EOWNERDEAD);
        break;
    case TAKES:
    case FREES:
        assert_true(has(error));
        break;
    default:
        assert_int_equal(error, 0);
    }
}

/* Returns what is still said to be in use by others, who are dead. */
static const char *find_remains(const lw_region *region)
{
    const struct memory *words = region->memory;
    for (uint32_t row = 0; row < AGENTS; row++) {
        const uint32_t process = lw_load(&words->agents[row].state, lw_acquire) & AGENT_PROCESS;
        if (process != 0 && process != region->row + 1)
            return "an agent's row";
    }
    for (uint32_t row = 0; row < PROCESSES; row++) {
        if (row != region->row && lw_load(&words->processes[row].token, lw_acquire) != 0)
            return "a process's row";
        if (lw_load(&words->processes[row].visits, lw_acquire) != 0)
            return "a visit";
    }
    return lw_load(&words->header.burier, lw_acquire) ? "a burier" : NULL;
}

static void wait_for_burial(lw_region *region)
{
    const char *remains = NULL;
    for (int i = 0; i < LONGEST_MS && (remains = find_remains(region)) != NULL; i++) {
        /* It died before the others heard that it joins. The next one that joins finds it. */
        if (told->joins)
            return;
        sleep_ms(1);
    }
    if (remains)
        fail_msg("%s is left", remains);
}

/* Whoever has a permit may know from this that its last owner died. */
static bool has_recovered(lw_region *region, const char *name)
{
    struct lw_region_info info;
    assert_int_equal(lw_region_describe(region, name, &info), 0);
    return info.recoveries > 0;
}

static void check_all(lw_region *region, bool owner_died)
{
    lw_region_mutex mutex;
    lw_region_rwtable table;
    lw_region_permits permits;
    lw_region_once once;
    void *bytes;
    wait_for_burial(region);
    const lw_deadline deadline = lw_after_ms(LONGEST_MS);
    assert_int_equal(lw_region_mutex_named(region, "mutex", &mutex), 0);
    check(MUTEX, lw_region_mutex_lock_until(&mutex, deadline));
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_region_rwtable_named(region, "table", &table), 0);
    check(WRITER, lw_region_rwtable_wrlock_until(&table, deadline));
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_permits_named(region, "permits", PERMITS, &permits), 0);
    for (int i = 0; i < PERMITS; i++)
        assert_int_equal(lw_region_permits_acquire_until(&permits, NULL, deadline), 0);
    assert_true(!owner_died || has_recovered(region, "permits"));
    assert_int_equal(lw_region_once_named(region, "once", &once), 0);
    const int begun = lw_region_once_begin_until(&once, deadline);
    const enum progress ran = told->progress[ONCE];
    assert_true((begun == LW_ONCE_RUN && ran != FREED) || (begun == 0 && ran >= FREES));
    assert_int_equal(lw_region_bytes(region, "bytes", 100, &bytes), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(((char *)bytes)[i], 0);
    assert_int_equal(lw_region_remove(region, "mutex"), 0);
    assert_int_equal(lw_region_close(region), 0);
}

/*
 * Makes the first rows seem those of processes that live, but for the caller's: so the first one
 * that joins is the first one of its part of the rows.
 */
static void fill_rows(struct memory *words, const lw_region *region, uint32_t token)
{
    for (uint32_t row = 0; row < OTHERS; row++) {
        if (region && row == region->row)
            continue;
        lw_store(&words->processes[row].boot, lw_region_boot(), lw_relaxed);
        lw_store(&words->processes[row].token, token, lw_release);
    }
}

static lw_region *open_it(void *mapped, unsigned flags)
{
    lw_region *region;
    assert_int_equal(lw_region_open_memory(&region, mapped, SIZE, flags), 0);
    return region;
}

/* Returns whether the process ended before this write. */
static bool dies_before(uint32_t write, void (*body)(lw_region *region), bool is_watched,
                        bool buries)
{
    const int fd = memfd_create("region", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)SIZE), 0);
    void *mapped = map(fd);
    memset(told, 0, sizeof *told);
    lw_region *region = open_it(mapped, LW_REGION_CREATE);
    if (!is_watched) {
        assert_int_equal(lw_region_close(region), 0);
        region = NULL;
    }
    fill_rows(mapped, region, 1);
    if (buries)
        leave_a_dead_holder(fd);
    run_until(fd, write, body);
    fill_rows(mapped, region, 0);
    if (!is_watched)
        region = open_it(mapped, 0);
    check_all(region, buries);
    if (told->joins) {
        told->joins = false;
        region = open_it(mapped, 0);
        wait_for_burial(region);
        assert_int_equal(lw_region_close(region), 0);
    }
    munmap(mapped, SIZE);
    close(fd);
    return told->ended;
}

static void use_all(lw_region *region)
{
    use(region, true);
}

static void do_nothing(lw_region *region)
{
    (void)region;
}

static void die_before_each(void (*body)(lw_region *region), bool is_watched, bool buries,
                            uint32_t least)
{
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint32_t write = 1;
    while (!dies_before(write, body, is_watched, buries))
        write++;
    assert_true(write > least);
    munmap(told, sizeof *told);
}

/* Another process has the region open, and its keeper buries. */
TEST(deaths_beside_a_process)
{
    die_before_each(use_all, true, false, 100);
}

/* A process that opens the region afterwards buries. */
TEST(deaths_of_the_only_process)
{
    die_before_each(use_all, false, false, 100);
}

/* It buries when it opens the region, dies before it is done, and is buried with the other one. */
TEST(deaths_in_a_burial)
{
    die_before_each(do_nothing, false, true, 50);
}

#else

TEST(deaths)
{
    skip(); /* the handlers are for one processor */
}

#endif

RUN_TESTS("region-steps")
