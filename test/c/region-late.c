/*
 * region-late.c: what happens to a region at the worst moment. Functions are replaced, so that the
 * moment is certain: a process dies just before a keeper falls asleep; a thread of a killed process
 * makes its last step just before it is driven out of its code; a region is closed while a thread
 * that exits gives back what it held there.
 */
#define _GNU_SOURCE
#include <lockword/region.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/region/region.h"
#include "../../src/wait/awake.h"
#include "../../src/wait/kernel.h"
#include "../../src/wait/platform.h"
#include "check.h"

/* Where the killed thread makes its last step. */
enum moment { NEVER, BARRIER, PAUSE };

/* What the replaced functions do, in this process only. */
static struct {
    pid_t process;
    bool kills; /* the keeper kills the holder before it sleeps */
    pid_t holder;
    int says;
    enum moment late;
    uint32_t late_id; /* takes this mutex then */
    uint32_t *late_mutex;
    bool has_no_barrier;
    bool cannot_join;
    const lw_region_permits *takes; /* the holder, too */
    bool has_no_keeper;             /* only the first thread buries */
    pid_t unseen;       /* dies when the first thread has looked for the dead, and buries them */
    bool has_no_links;  /* the file system */
    bool has_no_rename; /* … nor one that replaces nothing */
    bool reserves_nothing;
    bool maps_nothing;
    bool spoils_places; /* of permits, when their name has been found */
    int grows;          /* a file, of which another process makes a larger region */
    lw_region *larger;
    uint32_t burials;
    uint32_t keepers_burials;
    uint32_t wakes_of_permits; /* of all who wait for them */
    uint32_t spins;
    uint32_t happened;
    lw_word *visited;      /* a burial stops when it comes to these words, until `goes_on` */
    int visits_of_permits; /* when a burial begins so many, and has only seen what they are, it
                              stops */
    uint32_t goes_on;
    lw_region *renames; /* when the permits are counted that "one" has, its place becomes... */
    char its_name[16];  /* ... this name's */
    uint32_t
        exiting; /* 1: the thread that exits stops when it has freed a mutex, until this is 2 */
} plan;

/* What several processes share. */
static struct {
    pid_t burier;     /* 0: any process may bury */
    lw_word *dies_at; /* it is killed when it is about to notify here */
    bool is_ready;
    bool frees;
} * common;

static bool is_planned(void)
{
    return plan.process == getpid();
}

static void make_late_step(enum moment moment)
{
    if (!is_planned() || plan.late != moment || __atomic_load_n(&plan.happened, __ATOMIC_ACQUIRE))
        return;
    *plan.late_mutex = plan.late_id;
    __atomic_store_n(&plan.happened, 1, __ATOMIC_RELEASE);
}

static void die_unseen(void)
{
    if (!is_planned() || plan.unseen == 0 || gettid() != getpid())
        return;
    const uint32_t before = __atomic_load_n(&plan.keepers_burials, __ATOMIC_SEQ_CST);
    kill(plan.unseen, SIGKILL);
    waitpid(plan.unseen, NULL, 0);
    plan.unseen = 0;
    for (int i = 0; i < 5000; i++) {
        if (__atomic_load_n(&plan.keepers_burials, __ATOMIC_SEQ_CST) != before)
            break;
        sleep_ms(1);
    }
    sleep_ms(20); /* until the keeper sleeps again */
    plan.happened = 1;
}

void __real_lw_region_bury_the_dead(struct lw_region *region);
void __wrap_lw_region_bury_the_dead(struct lw_region *region)
{
    char said;
    if (gettid() != getpid())
        __atomic_fetch_add(&plan.keepers_burials, 1, __ATOMIC_SEQ_CST);
    if (is_planned() && plan.has_no_keeper && gettid() != getpid())
        return;
    if (common && common->burier && common->burier != getpid())
        return;
    __atomic_fetch_add(&plan.burials, 1, __ATOMIC_RELAXED);
    __real_lw_region_bury_the_dead(region);
    if (!is_planned() || gettid() == getpid() || !plan.kills || read(plan.says, &said, 1) != 1)
        return;
    plan.kills = false;
    pid_t holder;
    while ((holder = __atomic_load_n(&plan.holder, __ATOMIC_ACQUIRE)) == 0)
        continue;
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    __atomic_store_n(&plan.happened, 1, __ATOMIC_RELEASE);
}

void __real_lw_spin_until_free(const struct lw_held *held, lw_word *words, uint32_t wanted,
                               int wakes, lw_deadline deadline);
void __wrap_lw_spin_until_free(const struct lw_held *held, lw_word *words, uint32_t wanted,
                               int wakes, lw_deadline deadline)
{
    plan.spins++;
    __real_lw_spin_until_free(held, words, wanted, wakes, deadline);
}

void __real_lw_robust_bury(lw_word *robust, uint32_t dead);
void __wrap_lw_robust_bury(lw_word *robust, uint32_t dead)
{
    __real_lw_robust_bury(robust, dead);
    if (!is_planned() || __atomic_load_n(&plan.exiting, __ATOMIC_ACQUIRE) != 1)
        return;
    __atomic_store_n(&plan.happened, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&plan.exiting, __ATOMIC_ACQUIRE) == 1)
        sleep_ms(1);
}

static void stop(void)
{
    __atomic_store_n(&plan.happened, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&plan.goes_on, __ATOMIC_ACQUIRE))
        sleep_ms(1);
}

static void stop_at(const lw_word *words)
{
    if (!is_planned() || plan.visited != words)
        return;
    plan.visited = NULL;
    stop();
}

bool __real_lw_region_has_table(uint32_t kind);
bool __wrap_lw_region_has_table(uint32_t kind)
{
    const bool has_table = __real_lw_region_has_table(kind);
    if (is_planned() && has_table && --plan.visits_of_permits == 0)
        stop();
    return has_table;
}

uint32_t __real_lw_permits_count(const lw_word *permits);
uint32_t __wrap_lw_permits_count(const lw_word *permits)
{
    lw_region *region = plan.renames;
    lw_region_permits others;
    plan.renames = NULL;
    if (region) {
        assert_int_equal(lw_region_remove(region, "one"), 0);
        assert_int_equal(lw_region_permits_named(region, plan.its_name, 5, &others), 0);
        assert_int_equal(lw_region_permits_acquire(&others, NULL), 0);
    }
    return __real_lw_permits_count(permits);
}

void __real_lw_sem_bury_step(lw_word *sem);
void __wrap_lw_sem_bury_step(lw_word *sem)
{
    stop_at(sem);
    __real_lw_sem_bury_step(sem);
}

uint32_t __real_lw_permits_bury_step(lw_word *permits, uint32_t dead);
uint32_t __wrap_lw_permits_bury_step(lw_word *permits, uint32_t dead)
{
    plan.wakes_of_permits += dead == ID_ROW;
    /* Its first half, after which it tells the waiters. */
    for (uint32_t which = 0; which < lw_permits_count(permits); which++) {
        lw_word *owner = &permits[LW_PERMITS_FIRST + which];
        if (lw_load(owner, lw_relaxed) == dead)
            lw_store(owner, 0, lw_release);
    }
    stop_at(permits);
    return __real_lw_permits_bury_step(permits, dead);
}

uint32_t __real_lw_notify(lw_word *word, uint32_t n);
uint32_t __wrap_lw_notify(lw_word *word, uint32_t n)
{
    if (common && word == common->dies_at && common->burier == getpid())
        kill(getpid(), SIGKILL);
    return __real_lw_notify(word, n);
}

int __real_lw_region_join(struct lw_region *region);
int __wrap_lw_region_join(struct lw_region *region)
{
    return plan.cannot_join ? EAGAIN : __real_lw_region_join(region);
}

int __real_lw_region_named(struct lw_region *region, const char *name, uint32_t kind,
                           const lw_word *initial, uint32_t bytes, struct slot **slot,
                           uint32_t *type);
int __wrap_lw_region_named(struct lw_region *region, const char *name, uint32_t kind,
                           const lw_word *initial, uint32_t bytes, struct slot **slot,
                           uint32_t *type)
{
    const int error = __real_lw_region_named(region, name, kind, initial, bytes, slot, type);
    if (!error && plan.spoils_places)
        lw_store(&(*slot)->other[BYTES_PLACE], 0, lw_relaxed);
    return error;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_membarrier && plan.has_no_barrier) {
        errno = ENOSYS;
        return -1;
    }
    if (number == SYS_renameat2 && plan.has_no_rename) {
        errno = EINVAL;
        return -1;
    }
    if (number == SYS_membarrier && a == MEMBARRIER_CMD_GLOBAL_EXPEDITED)
        make_late_step(BARRIER);
    if (number == SYS_membarrier && a == MEMBARRIER_CMD_GLOBAL_EXPEDITED)
        die_unseen();
    return __real_syscall(number, a, b, c, d, e, f);
}

int __real_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    errno = ENOENT;
    return plan.has_no_links ? -1 : __real_linkat(from_folder, from, to_folder, to, flags);
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to)
{
    errno = EPERM;
    return plan.has_no_links ? -1 : __real_link(from, to);
}

int __real_posix_fallocate(int fd, off_t at, off_t size);
int __wrap_posix_fallocate(int fd, off_t at, off_t size)
{
    return plan.reserves_nothing ? EOPNOTSUPP : __real_posix_fallocate(fd, at, size);
}

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (plan.grows && fd == plan.grows) {
        plan.grows = 0;
        assert_int_equal(ftruncate(fd, 2 << 20), 0);
        assert_int_equal(lw_region_open_fd(&plan.larger, fd, LW_REGION_CREATE, 2 << 20), 0);
    }
    errno = ENOMEM;
    return plan.maps_nothing ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    const int result = __real_nanosleep(time, left);
    if (time->tv_nsec >= 5000000)
        make_late_step(PAUSE);
    return result;
}

/* The first of its process: it reads the boot's id. Before all tests that open one here. */
TEST(to_open_memory_is_no_cancellation_point)
{
    const pid_t pid = fork();
    if (pid == 0) {
        lw_region *region;
        const size_t size = 1 << 20;
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        int state;
        errno = 0;
        pthread_cancel(pthread_self());
        const int error = lw_region_open_memory(&region, memory, size, LW_REGION_CREATE);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        _exit(error ? error : errno ? errno : state == PTHREAD_CANCEL_ENABLE ? 42 : ECANCELED);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 42);
}

static lw_region *create(void)
{
    lw_region *region;
    const size_t size = 1 << 20;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(&plan, 0, sizeof plan);
    assert_int_equal(lw_region_open_memory(&region, memory, size, LW_REGION_CREATE), 0);
    return region;
}

static lw_region_mutex named(lw_region *region, const char *name)
{
    lw_region_mutex mutex;
    assert_int_equal(lw_region_mutex_named(region, name, &mutex), 0);
    return mutex;
}

/* A child that holds the mutex, and says so by a byte. */
static void fork_holder(const lw_region_mutex *mutex, bool has_no_barrier)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    plan.says = ends[0];
    plan.process = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        plan.has_no_barrier = has_no_barrier;
        if (plan.has_no_keeper)
            plan.process = getpid();
        alarm(30);
        if (lw_region_mutex_lock(mutex) != 0 ||
            (plan.takes && lw_region_permits_acquire(plan.takes, NULL) != 0) ||
            write(ends[1], "h", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    __atomic_store_n(&plan.holder, pid, __ATOMIC_RELEASE);
}

/* To try looks for no dead process: only a keeper does. */
static int try_for_long(const lw_region_mutex *mutex)
{
    int error = EBUSY;
    for (int i = 0; i < 500 && error == EBUSY; i++) {
        sleep_ms(2);
        error = lw_region_mutex_trylock(mutex);
    }
    return error;
}

/*
 * The keeper has buried the dead, and has not fallen asleep yet, when a process dies. Nobody wakes
 * it then.
 */
TEST(a_death_just_before_the_keeper_sleeps)
{
    lw_region *region = create();
    const lw_region_mutex mutex = named(region, "lock");
    sleep_ms(50); /* until the keeper sleeps; the holder, who joins, wakes it */
    plan.kills = true;
    fork_holder(&mutex, false);
    for (int i = 0; i < 5000 && !__atomic_load_n(&plan.happened, __ATOMIC_ACQUIRE); i++)
        sleep_ms(1);
    assert_int_equal(plan.happened, 1);
    assert_int_equal(try_for_long(&mutex), EOWNERDEAD);
    assert_int_equal(lw_region_close(region), 0);
}

/* The killed thread takes a second mutex while its process is being buried. */
static void be_late(enum moment moment, bool mine_has_no_barrier, bool its_has_no_barrier,
                    uint32_t burier)
{
    char said;
    lw_region *region = create();
    const lw_region_mutex mutex = named(region, "lock");
    const lw_region_mutex second = named(region, "second");
    fork_holder(&mutex, its_has_no_barrier);
    assert_int_equal(read(plan.says, &said, 1), 1);
    plan.late_id = mutex.words[0] & LW_MUTEX_OWNER;
    plan.late_mutex = second.words;
    plan.has_no_barrier = mine_has_no_barrier;
    plan.late = moment;
    lw_store(&region->memory->header.burier, burier, lw_release);
    kill(plan.holder, SIGKILL);
    assert_int_equal(waitpid(plan.holder, NULL, 0), plan.holder);
    assert_int_equal(try_for_long(&mutex), EOWNERDEAD);
    assert_int_equal(plan.happened, 1);
    assert_int_equal(try_for_long(&second), EOWNERDEAD);
    plan.process = 0;
    assert_int_equal(lw_region_close(region), 0);
}

TEST(a_last_step_before_the_barrier)
{
    be_late(BARRIER, false, false, 0);
}

TEST(a_last_step_where_there_is_no_barrier)
{
    be_late(PAUSE, true, false, 0);
}

/* The barrier does not reach it. */
TEST(a_last_step_of_a_process_that_has_not_registered)
{
    be_late(PAUSE, false, true, 0);
}

/* The barrier reaches the dead, but not the one that was burying them, and has ended since. */
TEST(a_last_step_of_a_burier_that_has_not_registered)
{
    be_late(PAUSE, false, false, PROCESSES);
}

static pid_t fork_killer(void)
{
    const pid_t killer = fork();
    if (killer != 0)
        return killer;
    sleep_ms(50);
    kill(plan.holder, SIGKILL);
    _exit(0);
}

static void wait_without_a_keeper(bool is_between)
{
    char said;
    lw_region *region = create();
    const lw_region_mutex mutex = named(region, "lock");
    int64_t took = INT64_MAX;
    /* Once a second it would look, without being woken. A busy machine may be as slow, once. */
    for (int round = 0; round < 5 && took > 700 * (int64_t)NS_PER_MS; round++) {
        fork_holder(&mutex, false);
        assert_int_equal(read(plan.says, &said, 1), 1);
        if (!lw_can_wait_for_many()) {
            kill(plan.holder, SIGKILL);
            skip();
        }
        plan.has_no_keeper = true;
        /* The kernel marks only a token in which it finds the dead thread's id. */
        const uint32_t row = lw_region_process_of(region, mutex.words[0] & LW_MUTEX_OWNER);
        if (is_between)
            __atomic_fetch_xor(&region->memory->processes[row].token, 1, __ATOMIC_SEQ_CST);
        const pid_t killer = fork_killer();
        plan.spins = 0;
        const int64_t start = now_ns();
        assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(9000)), EOWNERDEAD);
        took = now_ns() - start;
        assert_int_equal(plan.spins, 0); /* it has freed the mutex itself */
        plan.has_no_keeper = false;
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
        assert_int_equal(waitpid(killer, NULL, 0), killer);
        assert_int_equal(waitpid(plan.holder, NULL, 0), plan.holder);
    }
    assert_in_range(took, 0, 700 * (int64_t)NS_PER_MS);
    assert_int_equal(lw_region_close(region), 0);
}

/* The kernel wakes the waiter itself, by the alarm of the holder's process. */
TEST(a_waiter_that_waits_for_no_keeper)
{
    wait_without_a_keeper(false);
}

/* The kernel has marked the alarm, and not yet the token. */
TEST(a_waiter_that_runs_before_the_token_is_marked)
{
    wait_without_a_keeper(true);
}

/*
 * A thread has seen one dead process, and buries it, when the next one dies. The keeper sees that
 * the thread buries, and sleeps on.
 */
TEST(a_death_while_a_thread_buries)
{
    char said;
    lw_region *region = create();
    if (!lw_can_wait_for_many())
        skip();
    const lw_region_mutex mutex = named(region, "lock");
    const lw_region_mutex second = named(region, "second");
    plan.has_no_keeper = true;
    fork_holder(&second, false);
    assert_int_equal(read(plan.says, &said, 1), 1);
    const pid_t unseen = plan.holder;
    fork_holder(&mutex, false);
    assert_int_equal(read(plan.says, &said, 1), 1);
    plan.unseen = unseen;
    const pid_t killer = fork_killer();
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(9000)), EOWNERDEAD);
    assert_int_equal(plan.happened, 1);
    assert_int_equal(lw_region_mutex_trylock(&second), EOWNERDEAD);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    assert_int_equal(waitpid(plan.holder, NULL, 0), plan.holder);
    plan.process = 0;
    assert_int_equal(lw_region_close(region), 0);
}

/* However many have died, a burial looks at each name, and wakes its waiters, once. */
TEST(processes_that_are_buried_at_once)
{
    enum { HOLDERS = 9 };
    lw_region *region = create();
    lw_region_mutex mutexes[HOLDERS];
    lw_region_permits permits;
    pid_t holders[HOLDERS];
    char said;
    assert_int_equal(lw_region_permits_named(region, "permits", HOLDERS + 1, &permits), 0);
    plan.has_no_keeper = true;
    plan.takes = &permits;
    for (int i = 0; i < HOLDERS; i++) {
        const char name[] = {(char)('a' + i), 0};
        mutexes[i] = named(region, name);
        fork_holder(&mutexes[i], false);
        assert_int_equal(read(plan.says, &said, 1), 1);
        close(plan.says);
        holders[i] = plan.holder;
    }
    assert_int_equal(lw_region_permits_available(&permits), 1);
    for (int i = 0; i < HOLDERS; i++) {
        kill(holders[i], SIGKILL);
        assert_int_equal(waitpid(holders[i], NULL, 0), holders[i]);
    }
    assert_int_equal(plan.wakes_of_permits, 0);
    lw_region_bury_the_dead(region);
    assert_int_equal(plan.wakes_of_permits, 1);
    assert_int_equal(region->memory->header.epoch, HOLDERS);
    assert_int_equal(lw_region_permits_available(&permits), HOLDERS + 1);
    for (int i = 0; i < HOLDERS; i++)
        assert_int_equal(lw_region_mutex_trylock(&mutexes[i]), EOWNERDEAD);
    plan.process = 0;
    assert_int_equal(lw_region_close(region), 0);
}

/*
 * Where there are more processes than a keeper can wait on, not each one that joins or leaves wakes
 * all keepers. To close the region wakes its own.
 */
TEST(keepers_in_a_crowd)
{
    enum { OTHERS = 200, MOVES = 40 };
    lw_region *region = create();
    struct memory *memory = region->memory;
    if (!lw_can_wait_for_many())
        skip();
    for (uint32_t row = 1; row <= OTHERS; row++) {
        lw_store(&memory->processes[row].boot, lw_region_boot(), lw_relaxed);
        lw_region_mark_used(memory->header.used_processes, PROCESSES_PART_SHIFT, row);
        lw_store(&memory->processes[row].token, 1 | FUTEX_WAITERS, lw_release);
    }
    lw_region_move(&memory->header.members);
    sleep_ms(50); /* until the keeper sleeps again */
    const uint32_t before = __atomic_load_n(&plan.keepers_burials, __ATOMIC_SEQ_CST);
    for (int i = 0; i < MOVES; i++) {
        lw_region_move(&memory->header.members);
        sleep_ms(2);
    }
    /* It looks once a second. */
    const uint32_t looks = __atomic_load_n(&plan.keepers_burials, __ATOMIC_SEQ_CST) - before;
    assert_in_range(looks, 0, MOVES / 4);
    const int64_t start = now_ns();
    assert_int_equal(lw_region_close(region), 0);
    assert_in_range(now_ns() - start, 0, 700 * (int64_t)NS_PER_MS);
}

/* Without /proc it is unknown; whoever wanted the row, too, may have stored that last. */
TEST(a_row_says_its_boot_again)
{
    lw_region *region = create();
    const lw_region_mutex mutex = named(region, "lock");
    lw_word *boot = &region->memory->processes[region->row].boot;
    lw_store(boot, LW_REGION_UNKNOWN_BOOT, lw_release);
    fork_holder(&mutex, false);
    for (int i = 0; i < 5000 && lw_load(boot, lw_acquire) != lw_region_boot(); i++)
        sleep_ms(1);
    assert_int_equal(lw_load(boot, lw_acquire), lw_region_boot());
    kill(plan.holder, SIGKILL);
    assert_int_equal(waitpid(plan.holder, NULL, 0), plan.holder);
    plan.process = 0;
    assert_int_equal(lw_region_close(region), 0);
}

/*
 * It was taken for dead (lockword/region.h has how), and another process has its row. Then it
 * writes nothing there, and buries nobody when it leaves.
 */
TEST(a_process_whose_row_is_that_of_another_one)
{
    lw_region *region = create();
    struct process *row = &region->memory->processes[region->row];
    const lw_region_mutex mutex = named(region, "lock");
    const uint32_t another = (uint32_t)getppid() | FUTEX_WAITERS;
    assert_int_equal(lw_region_mutex_lock(&mutex), 0); /* as an agent of that row */
    lw_store(&row->generation, row->generation + 1, lw_release);
    lw_store(&row->token, another, lw_release);
    lw_store(&row->boot, LW_REGION_UNKNOWN_BOOT, lw_release);
    lw_region_move(&region->memory->header.members);
    sleep_ms(50); /* until the keeper has looked */
    assert_int_equal(lw_load(&row->boot, lw_acquire), LW_REGION_UNKNOWN_BOOT);
    assert_int_equal(lw_region_close(region), 0);
    assert_int_equal(lw_load(&row->token, lw_acquire), another);
    assert_int_not_equal(lw_mutex_owner(mutex.words), 0);
}

/* Another process writes to the file, between two looks at it. */
TEST(a_file_that_is_damaged_in_a_call)
{
    lw_region *region = create();
    lw_region_permits permits;
    lw_region_rwtable table;
    plan.spoils_places = true;
    assert_int_equal(lw_region_permits_named(region, "permits", 3, &permits), EBADMSG);
    assert_int_equal(lw_region_rwtable_named(region, "table", &table), EBADMSG);
    plan.spoils_places = false;
    assert_int_equal(lw_region_close(region), 0);
}

TEST(a_keeper_that_gets_no_memory)
{
    lw_region *region = create();
    lw_region *again;
    const size_t size = region->memory->header.size;
    plan.maps_nothing = true;
    assert_int_equal(lw_region_open_memory(&again, region->memory, size, 0), EAGAIN);
    plan.maps_nothing = false;
    assert_int_equal(lw_region_open_memory(&again, region->memory, size, 0), 0);
    assert_int_equal(lw_region_close(again), 0);
    assert_int_equal(lw_region_close(region), 0);
}

/* A kernel that knows of slices tells them; the keeper's thread id is what others watch. */
TEST(a_keeper_has_short_slices)
{
    lw_region *region = create();
    struct sched_attributes mine = {0};
    struct sched_attributes its = {0};
    const uint32_t tid = region->memory->processes[region->row].token & ~FUTEX_WAITERS;
    assert_int_equal(syscall(SYS_sched_getattr, 0, &mine, sizeof mine, 0), 0);
    if (mine.runtime == 0)
        skip();
    assert_int_equal(syscall(SYS_sched_getattr, tid, &its, sizeof its, 0), 0);
    assert_true(its.runtime < mine.runtime);
    assert_int_equal(its.policy, mine.policy);
    assert_int_equal(its.nice, mine.nice);
    assert_int_equal(lw_region_close(region), 0);
}

/*
 * A forked child that finds no place in the region waits there all the same, and does not bury in
 * its parent's name: nobody would take over, should it be killed then.
 */
TEST(a_child_that_cannot_join)
{
    lw_region *region = create();
    lw_event *event;
    assert_int_equal(lw_region_event_named(region, "event", NULL, &event), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        plan.cannot_join = true;
        plan.burials = 0;
        const int error = lw_event_wait_until(event, lw_after_ms(1100));
        _exit(error != ETIMEDOUT ? 1 : plan.burials != 0 ? 2 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    assert_int_equal(lw_region_close(region), 0);
}

static void lock_and_exit(void *argument)
{
    const lw_region_mutex *mutex = (const lw_region_mutex *)argument;
    if (lw_region_mutex_lock(mutex) == 0)
        __atomic_store_n(&plan.exiting, 1, __ATOMIC_RELEASE);
}

static int close_region(struct call *call)
{
    return lw_region_close(call->on);
}

/*
 * Had the process left the region, another one could have got the id of the thread that exits,
 * which would then give back what is not its own.
 */
TEST(a_region_is_closed_while_a_thread_exits)
{
    lw_region *region = create();
    const lw_region_mutex mutex = named(region, "lock");
    plan.process = getpid();
    struct helper helper;
    start(&helper, lock_and_exit, (void *)&mutex);
    for (int i = 0; i < 5000 && !__atomic_load_n(&plan.happened, __ATOMIC_ACQUIRE); i++)
        sleep_ms(1);
    assert_int_equal(plan.happened, 1);
    struct call call = calling(close_region, region);
    start_call(&call);
    sleep_ms(100);
    const bool has_left =
        __atomic_load_n(&region->memory->processes[region->row].token, __ATOMIC_SEQ_CST) == 0;
    __atomic_store_n(&plan.exiting, 2, __ATOMIC_RELEASE);
    join(&helper);
    assert_int_equal(end_call(&call), 0);
    assert_false(has_left);
}

/* The agent whose id has all bits set: whoever buries a stranger takes nothing from it. */
TEST(the_highest_id)
{
    lw_region *region = create();
    struct memory *memory = region->memory;
    lw_region_permits permits;
    uint32_t which;
    for (uint32_t row = 0; row < AGENTS - 1; row++)
        memory->agents[row].state = 1u << AGENT_GENERATION_SHIFT | 1;
    memory->agents[AGENTS - 1].state = (AGENT_GENERATIONS - 1u) << AGENT_GENERATION_SHIFT;
    assert_int_equal(lw_region_permits_named(region, "permit", 1, &permits), 0);
    assert_int_equal(lw_region_permits_acquire(&permits, &which), 0);
    assert_int_equal(lw_region_last_agent.id, LW_PERMITS_OWNER);
    const uint32_t row = region->row + 1;
    const uint32_t generation = memory->processes[row].generation;
    const pid_t stranger = fork();
    if (stranger == 0) {
        lw_region *its;
        if (lw_region_open_memory(&its, memory, region->memory->header.size, 0) == 0)
            raise(SIGKILL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(stranger, &status, 0), stranger);
    assert_true(WIFSIGNALED(status));
    for (int i = 0; i < 5000 && lw_load(&memory->processes[row].token, lw_acquire) != 0; i++)
        sleep_ms(1);
    assert_int_equal(memory->processes[row].generation, generation + 1);
    assert_int_equal(lw_region_permits_available(&permits), 0);
    assert_int_equal(lw_region_permits_release(&permits, which), 0);
    assert_int_equal(lw_region_close(region), 0);
}

/* As on vfat, and under musl, whose posix_fallocate fails where the file system has no such call.
 */
TEST(a_file_system_without_links_that_reserves_nothing)
{
    char path[96];
    char folder[64];
    struct stat status;
    lw_region *region;
    const unsigned exclusive = LW_REGION_CREATE | LW_REGION_EXCLUSIVE;
    snprintf(folder, sizeof folder, "/dev/shm/lockword-test-late-%d", getpid());
    snprintf(path, sizeof path, "%s/region", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    memset(&plan, 0, sizeof plan);
    plan.has_no_links = plan.has_no_rename = plan.reserves_nothing = true;
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 1 << 20), EOPNOTSUPP);
    plan.has_no_rename = false;
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 1 << 20), 0);
    assert_int_equal(lw_region_close(region), 0);
    assert_int_equal(lw_region_open(&region, path, exclusive, 0600, 1 << 20), EEXIST);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 1 << 20);
    assert_true(512 * (long long)status.st_blocks >= 1 << 20);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* no temporary file is left */
    memset(&plan, 0, sizeof plan);
}

/* Both find it empty. The first has made it as long as it wants it, and has not mapped it yet. */
TEST(two_make_one_file_a_region_of_different_sizes)
{
    lw_region *region;
    const int fd = memfd_create("region", MFD_CLOEXEC);
    memset(&plan, 0, sizeof plan);
    plan.grows = fd;
    assert_int_equal(lw_region_open_fd(&region, fd, LW_REGION_CREATE, 1 << 20), 0);
    assert_int_equal(region->memory->header.size, 2 << 20);
    assert_int_equal(region->end, 2 << 20);
    assert_int_equal(lw_region_close(plan.larger), 0);
    assert_int_equal(lw_region_close(region), 0);
    close(fd);
    memset(&plan, 0, sizeof plan);
}

static void await_what_happens(void)
{
    for (int i = 0; i < 5000 && !__atomic_load_n(&plan.happened, __ATOMIC_ACQUIRE); i++)
        sleep_ms(1);
    assert_int_equal(plan.happened, 1);
}

static void go_on(void)
{
    __atomic_store_n(&plan.goes_on, 1, __ATOMIC_RELEASE);
}

/* Begins the burial of a process, which stops when it comes to these words. */
static void begin_burial(const lw_region_mutex *mutex, lw_word *words)
{
    char said;
    plan.happened = plan.goes_on = 0;
    fork_holder(mutex, false);
    assert_int_equal(read(plan.says, &said, 1), 1);
    plan.visited = words;
    kill(plan.holder, SIGKILL);
    assert_int_equal(waitpid(plan.holder, NULL, 0), plan.holder);
    await_what_happens();
}

/* Lets the burial go on, and waits for its end. */
static void end_burial(lw_region *region)
{
    const struct memory *memory = region->memory;
    go_on();
    for (int i = 0; i < 5000 && lw_load(&memory->header.burier, lw_acquire) != 0; i++)
        sleep_ms(1);
    assert_int_equal(lw_load(&memory->header.burier, lw_acquire), 0);
}

/*
 * A burial has found a semaphore, and is about to write to it, when its name is removed and another
 * one made. That gets another place.
 */
TEST(a_name_that_is_removed_in_a_burial)
{
    lw_region *region = create();
    const lw_region_mutex mutex = named(region, "lock");
    const lw_barrier five = LW_BARRIER_INIT(5);
    lw_sem *sem;
    lw_barrier *barrier;
    assert_int_equal(lw_region_sem_named(region, "name", NULL, &sem), 0);
    begin_burial(&mutex, sem->word);
    assert_int_equal(lw_region_remove(region, "name"), 0);
    assert_int_equal(lw_region_barrier_named(region, "name", &five, &barrier), 0);
    assert_ptr_not_equal(barrier->word, sem->word);
    end_burial(region);
    assert_memory_equal(barrier, &five, sizeof five);
    /* And from then on that place is free again. */
    assert_int_equal(lw_region_remove(region, "name"), 0);
    assert_int_equal(lw_region_sem_named(region, "name", NULL, &sem), 0);
    assert_int_equal(lw_region_close(region), 0);
}

static void go_on_later(void *unused)
{
    (void)unused;
    sleep_ms(50);
    go_on();
}

/* Where the region has no other place, the new name waits for the burial to leave that one. */
TEST(the_last_place_that_is_removed_in_a_burial)
{
    enum { PLACES = 2 };
    const size_t size = sizeof(struct memory) + PLACES * 2 * sizeof(struct slot);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lw_region *region;
    lw_sem *sem;
    lw_barrier *barrier;
    const lw_barrier five = LW_BARRIER_INIT(5);
    struct helper helper;
    memset(&plan, 0, sizeof plan);
    assert_int_equal(lw_region_open_memory(&region, memory, size, LW_REGION_CREATE), 0);
    const lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_sem_named(region, "name", NULL, &sem), 0);
    begin_burial(&mutex, sem->word);
    assert_int_equal(lw_region_remove(region, "name"), 0);
    assert_int_equal(lw_region_barrier_named(region, "new", &five, &barrier), ENOSPC);
    start(&helper, go_on_later, NULL);
    assert_int_equal(lw_region_barrier_named(region, "new", &five, &barrier), 0);
    assert_true(barrier->word == sem->word);
    join(&helper);
    end_burial(region);
    assert_memory_equal(barrier, &five, sizeof five);
    assert_int_equal(lw_region_close(region), 0);
    munmap(memory, size);
}

static uint32_t count_ends_of_searches(const lw_region *region)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < region->slots; i++)
        n += (region->memory->slots[i].type & SLOT_TYPE) == SLOT_UNUSED;
    return n;
}

/*
 * All places have had names. Searches for new ones end all the same. Where a thread still has the
 * mutex of such a place, a new name gets the next one, and is found there.
 */
TEST(names_that_came_and_went)
{
    enum { PLACES = 64 };
    const size_t size = sizeof(struct memory) + PLACES * 2 * sizeof(struct slot);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lw_region *region;
    char name[8];
    struct lw_region_info info;
    memset(&plan, 0, sizeof plan);
    assert_int_equal(lw_region_open_memory(&region, memory, size, LW_REGION_CREATE), 0);
    for (int i = 0; i < PLACES; i++) {
        snprintf(name, sizeof name, "%d", i);
        named(region, name);
    }
    assert_int_equal(count_ends_of_searches(region), 0);
    for (int i = 0; i < PLACES; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(lw_region_remove(region, name), 0);
    }
    assert_int_equal(count_ends_of_searches(region), 0);
    named(region, "new");
    assert_int_equal(count_ends_of_searches(region), PLACES - 1);

    const uint32_t place = lw_region_hash("next", 4) % PLACES;
    struct slot *slots = region->memory->slots;
    uint32_t self;
    assert_int_equal(lw_region_agent(region, &self), 0);
    assert_int_equal(slots[place].type & SLOT_TYPE, SLOT_UNUSED);
    assert_true(lw_mutex_try_step(slots[place].words, self));
    assert_true(named(region, "next").words == slots[(place + 1) % PLACES].words);
    assert_int_equal(slots[place].type & SLOT_TYPE, SLOT_REMOVED);
    assert_int_equal(lw_region_describe(region, "next", &info), 0);
    assert_true(lw_mutex_unlock_step(slots[place].words, self));
    assert_int_equal(lw_region_describe(region, "new", &info), 0);
    assert_int_equal(lw_region_close(region), 0);
    munmap(memory, size);
}

/* Makes a region whose only name is "one", and finds a name that gets its place after it. */
static lw_region *create_one(void)
{
    lw_region *region = create();
    lw_region_permits permits;
    int length;
    assert_int_equal(lw_region_permits_named(region, "one", 3, &permits), 0);
    const uint32_t place = lw_region_hash("one", 3) % region->slots;
    for (int i = 0;; i++) {
        length = snprintf(plan.its_name, sizeof plan.its_name, "%d", i);
        if (lw_region_hash(plan.its_name, (size_t)length) % region->slots == place)
            break;
    }
    plan.renames = region;
    return region;
}

/* What is told of a name is not that of the one which gets its place meanwhile. */
TEST(a_place_that_gets_another_name_while_it_is_told_of)
{
    struct lw_region_info info;
    struct lw_region_holder holder;
    uint32_t cursor = 0;
    lw_region *region = create_one();
    assert_int_equal(lw_region_describe(region, "one", &info), ENOENT);
    assert_int_equal(lw_region_describe(region, plan.its_name, &info), 0);
    assert_int_equal(info.permits, 5);
    assert_int_equal(info.held, 1);
    assert_int_equal(lw_region_close(region), 0);
    region = create_one();
    assert_int_equal(lw_region_next(region, &cursor, &info), ENOENT);
    assert_int_equal(lw_region_close(region), 0);
    region = create_one();
    cursor = 0;
    assert_int_equal(lw_region_next_holder(region, "one", &cursor, &holder), ENOENT);
    cursor = 0;
    assert_int_equal(lw_region_next_holder(region, plan.its_name, &cursor, &holder), 0);
    assert_int_equal(lw_region_close(region), 0);
}

/* The same of the range that permits have, whose place another range could get. */
static void remove_permits_in_a_burial(bool are_owned)
{
    lw_region *region = create();
    const lw_region_mutex mutex = named(region, "lock");
    lw_region_permits permits;
    char *spare;
    uint32_t *bytes;
    assert_int_equal(lw_region_permits_named(region, "permits", 2, &permits), 0);
    assert_int_equal(lw_region_bytes(region, "spare", 1024, (void **)&spare), 0);
    const uint32_t used = lw_load(&region->memory->header.behind, lw_relaxed);
    void *rest;
    assert_int_equal(lw_region_bytes(region, "rest", region->end - used, &rest), 0);
    plan.takes = are_owned ? &permits : NULL;
    begin_burial(&mutex, permits.words);
    assert_int_equal(lw_region_remove(region, "permits"), 0);
    assert_int_equal(lw_region_bytes(region, "bytes", 1024, (void **)&bytes), ENOSPC);
    assert_int_equal(lw_region_remove(region, "spare"), 0);
    assert_int_equal(lw_region_bytes(region, "bytes", 1024, (void **)&bytes), 0);
    assert_true(bytes == (void *)spare);
    end_burial(region);
    void *again;
    assert_int_equal(lw_region_bytes(region, "again", 1024, &again), 0);
    assert_true(again == permits.words);
    assert_int_equal(lw_region_close(region), 0);
}

TEST(permits_that_are_removed_in_a_burial)
{
    remove_permits_in_a_burial(false);
}

/* The dead had one. It is free, and the waiters have not been told. */
TEST(permits_that_are_removed_when_a_burial_has_freed_them)
{
    remove_permits_in_a_burial(true);
}

/* Its place is free at once: the burial sees that the name has gone, and writes nothing there. */
TEST(permits_that_are_removed_before_a_burial_visits_them)
{
    lw_region *region = create();
    const lw_region_mutex mutex = named(region, "lock");
    lw_region_permits permits;
    uint32_t *bytes;
    void *rest;
    assert_int_equal(lw_region_permits_named(region, "permits", 2, &permits), 0);
    const uint32_t used = lw_load(&region->memory->header.behind, lw_relaxed);
    assert_int_equal(lw_region_bytes(region, "rest", region->end - used, &rest), 0);
    plan.visits_of_permits = 2; /* the second is the one that writes */
    begin_burial(&mutex, NULL);
    assert_int_equal(lw_region_remove(region, "permits"), 0);
    assert_int_equal(lw_region_bytes(region, "bytes", 1024, (void **)&bytes), 0);
    assert_true(bytes == permits.words);
    bytes[LW_PERMITS_STATE] = 77;
    bytes[LW_PERMITS_COUNT] = 1;
    bytes[LW_PERMITS_FIRST] = ID_ROW;
    end_burial(region);
    assert_int_equal(bytes[LW_PERMITS_STATE], 77);
    assert_int_equal(bytes[LW_PERMITS_FIRST], ID_ROW);
    assert_int_equal(lw_region_close(region), 0);
}

/* How a process frees what others wait for. */
enum way { BURIES, ENDS_A_THREAD, CLOSES };

static void exit_when_told(void *argument)
{
    lw_region_mutex_lock((const lw_region_mutex *)argument);
    while (!__atomic_load_n(&common->frees, __ATOMIC_ACQUIRE))
        sleep_ms(1);
}

/* Frees it when it is told, and is killed as it does. */
static _Noreturn void free_it(lw_region *region, const lw_region_mutex *mutex, enum way way)
{
    struct helper helper;
    alarm(30);
    if (way == ENDS_A_THREAD)
        start(&helper, exit_when_told, (void *)mutex);
    else if (way == CLOSES)
        lw_region_mutex_lock(mutex);
    else if (lw_region_name_thread(region, "burier") != 0)
        _exit(1);
    __atomic_store_n(&common->is_ready, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&common->frees, __ATOMIC_ACQUIRE))
        sleep_ms(1);
    if (way == CLOSES)
        lw_region_close(region);
    for (;; sleep_ms(1))
        lw_region_bury_the_dead(region);
}

static void await_a_waiter(lw_region *region)
{
    for (struct lw_region_info info = {0}; info.waiters == 0; sleep_ms(1))
        assert_int_equal(lw_region_describe(region, "lock", &info), 0);
}

/* Returns how long it took until the waiter had the mutex, ns. */
static int64_t die_before_the_notify(lw_region *region, const lw_region_mutex *mutex, enum way way)
{
    int status;
    memset(common, 0, sizeof *common);
    if (way == BURIES) {
        char said;
        fork_holder(mutex, false);
        assert_int_equal(read(plan.says, &said, 1), 1);
    }
    const pid_t freer = fork();
    if (freer == 0)
        free_it(region, mutex, way);
    while (!__atomic_load_n(&common->is_ready, __ATOMIC_ACQUIRE) ||
           lw_mutex_owner(mutex->words) == 0)
        sleep_ms(1);
    /* It rings for another waiter, as if for another mutex: the kernel wakes but one. */
    const uint32_t row = lw_region_process_of(region, lw_mutex_owner(mutex->words));
    __atomic_fetch_xor(&region->memory->processes[row].alarm, 1, __ATOMIC_SEQ_CST);
    const pid_t waiter = fork();
    if (waiter == 0) {
        alarm(30);
        _exit(lw_region_mutex_lock(mutex) == EOWNERDEAD ? lw_region_mutex_unlock(mutex) : 1);
    }
    await_a_waiter(region);
    sleep_ms(20); /* until it sleeps */
    common->dies_at = mutex->words;
    common->burier = freer;
    common->frees = true;
    if (way == BURIES) {
        kill(plan.holder, SIGKILL);
        assert_int_equal(waitpid(plan.holder, NULL, 0), plan.holder);
    }
    assert_int_equal(waitpid(freer, &status, 0), freer);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const int64_t start = now_ns();
    common->burier = 0;
    assert_int_equal(waitpid(waiter, &status, 0), waiter);
    assert_int_equal(status, 0);
    return now_ns() - start;
}

/*
 * A process frees what the dead had, or its own, and is killed before it wakes those who wait for
 * it. No owner is left that would tell. The next one that buries wakes them.
 */
TEST(who_frees_dies_before_the_notify)
{
    lw_region *region = create();
    const lw_region_mutex mutex = named(region, "lock");
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int way = BURIES; way <= CLOSES; way++) {
        int64_t took = INT64_MAX;
        /* The waiter would look after a second. A busy machine may be as slow, once. */
        for (int round = 0; round < 3 && took > 700 * (int64_t)NS_PER_MS; round++)
            took = die_before_the_notify(region, &mutex, (enum way)way);
        assert_in_range(took, 0, 700 * (int64_t)NS_PER_MS);
    }
    /* It stays mapped: the keeper's thread may be about to look at it. */
    assert_int_equal(lw_region_close(region), 0);
}

RUN_TESTS("region-late")
