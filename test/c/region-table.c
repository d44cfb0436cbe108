/*
 * region-table.c: permits that have owners, and read-write locks with a table of their readers,
 * among processes that are killed. Processes are forked children.
 */
#define _GNU_SOURCE
#include "check-region.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

static lw_region_permits permits_of(const char *name, uint32_t n)
{
    lw_region_permits permits;
    assert_int_equal(lw_region_permits_named(region, name, n, &permits), 0);
    return permits;
}

static lw_region_rwtable table_of(const char *name)
{
    lw_region_rwtable table;
    assert_int_equal(lw_region_rwtable_named(region, name, &table), 0);
    return table;
}

REGION_TEST(permits_have_numbers)
{
    lw_region_permits permits;
    assert_int_equal(lw_region_permits_named(region, "gpus", 0, &permits), EINVAL);
    assert_int_equal(lw_region_permits_named(region, "gpus", LW_PERMITS_MAX + 1, &permits), EINVAL);
    permits = permits_of("gpus", 3);
    assert_int_equal(lw_region_permits_named(region, "gpus", 2, &permits), EEXIST);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t which = 99;
        assert_int_equal(lw_region_permits_available(&permits), 3 - i);
        assert_int_equal(lw_region_permits_acquire(&permits, &which), 0);
        assert_int_equal(which, i);
    }
    assert_int_equal(told("gpus").permits, 3);
    assert_int_equal(told("gpus").held, 3);
    assert_int_equal(told("gpus").holder_pid, getpid());
    assert_int_equal(lw_region_permits_tryacquire(&permits, NULL), EBUSY);
    assert_int_equal(lw_region_permits_acquire_until(&permits, NULL, lw_after_ms(20)), ETIMEDOUT);
    assert_int_equal(lw_region_remove(region, "gpus"), EBUSY);
    uint32_t which;
    assert_int_equal(lw_region_permits_release(&permits, 1), 0);
    assert_int_equal(lw_region_permits_release(&permits, 1), EPERM);
    assert_int_equal(lw_region_permits_release(&permits, 3), EPERM);
    assert_int_equal(lw_region_permits_tryacquire(&permits, &which), 0);
    assert_int_equal(which, 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(lw_region_permits_release(&permits, i), 0);
    assert_int_equal(lw_region_remove(region, "gpus"), 0);
    permits_of("gpus", 2);
}

static void take_two(void)
{
    const lw_region_permits permits = permits_of("gpus", 2);
    say(lw_region_permits_acquire(&permits, NULL) || lw_region_permits_acquire(&permits, NULL));
    stay();
}

static int acquire_it(struct call *call)
{
    return lw_region_permits_acquire_cancel(call->on, NULL, call->deadline, call->cancel);
}

REGION_TEST(permits_of_a_process_that_is_killed)
{
    lw_region_permits permits = permits_of("gpus", 2);
    for (int round = 0; round < 10; round++) {
        const struct process owner = spawn(take_two);
        assert_int_equal(hear(&owner), 0);
        assert_int_equal(lw_region_permits_tryacquire(&permits, NULL), EBUSY);
        assert_int_equal(told("gpus").holder_pid, owner.pid);
        struct call call = calling(acquire_it, &permits);
        start_call(&call);
        await_waiters("gpus", 1);
        kill_it(&owner);
        assert_int_equal(end_call(&call), 0);
        /* The call's thread has exited: its permit is free, too. */
        while (lw_region_permits_available(&permits) < 2)
            usleep(1000);
    }
    assert_in_range(told("gpus").recoveries, 10, 20);
}

REGION_TEST(a_wait_for_a_permit_is_cancelled)
{
    lw_region_permits permits = permits_of("one", 1);
    lw_cancel cancel = LW_CANCEL_INIT;
    assert_int_equal(lw_region_permits_acquire(&permits, NULL), 0);
    struct call call = calling(acquire_it, &permits);
    call.cancel = &cancel;
    start_call(&call);
    await_waiters("one", 1);
    lw_cancel_fire(&cancel);
    assert_int_equal(end_call(&call), ECANCELED);
    assert_int_equal(lw_region_permits_release(&permits, 0), 0);
}

static void read_it(void)
{
    const lw_region_rwtable table = table_of("table");
    say((char)lw_region_rwtable_rdlock(&table));
    stay();
}

static void write_it(void)
{
    const lw_region_rwtable table = table_of("table");
    say((char)lw_region_rwtable_wrlock(&table));
    stay();
}

REGION_TEST(readers_and_writers)
{
    const lw_region_rwtable table = table_of("table");
    assert_int_equal(lw_region_rwtable_unlock(&table), EPERM);
    assert_int_equal(lw_region_rwtable_rdlock(&table), 0);
    assert_int_equal(lw_region_rwtable_wrlock(&table), EDEADLK);
    assert_int_equal(lw_region_rwtable_trywrlock(&table), EBUSY);
    assert_int_equal(lw_region_rwtable_tryrdlock(&table), 0);
    const struct process reader = spawn(read_it);
    assert_int_equal(hear(&reader), 0);
    assert_int_equal(told("table").held, 3);
    const struct process writer = spawn(write_it);
    await_waiters("table", 1);
    /* It reads already: it need not stand behind the writer. */
    assert_int_equal(lw_region_rwtable_rdlock(&table), 0);
    assert_int_equal(lw_region_rwtable_tryrdlock(&table), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    /* The writer waits for the other reader, and holds back new ones. */
    assert_int_equal(lw_region_rwtable_rdlock_until(&table, lw_after_ms(20)), ETIMEDOUT);
    assert_int_equal(told("table").holder_pid, reader.pid);
    kill_it(&reader);
    assert_int_equal(hear(&writer), 0); /* a reader's death leaves the data as they were */
    assert_int_equal(told("table").holder_pid, writer.pid);
    assert_int_equal(lw_region_rwtable_wrlock_until(&table, lw_after_ms(20)), ETIMEDOUT);
    kill_it(&writer);
    assert_int_equal(lw_region_rwtable_rdlock(&table), EOWNERDEAD);
    assert_int_equal(lw_region_rwtable_rdlock(&table), EOWNERDEAD);
    assert_int_equal(lw_region_rwtable_tryrdlock(&table), EOWNERDEAD);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_rwtable_wrlock(&table), EOWNERDEAD);
    assert_int_equal(lw_region_rwtable_leave(&table), 0);
    assert_int_equal(lw_region_rwtable_wrlock(&table), EOWNERDEAD);
    assert_int_equal(lw_region_rwtable_rdlock(&table), EDEADLK);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_rwtable_wrlock(&table), 0);
    assert_int_equal(lw_region_rwtable_abandon(&table), 0);
    assert_int_equal(lw_region_rwtable_rdlock(&table), ENOTRECOVERABLE);
    assert_int_equal(lw_region_rwtable_wrlock(&table), ENOTRECOVERABLE);
    assert_int_equal(lw_region_rwtable_reset(&table), 0);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_rwtable_rdlock(&table), 0);
    assert_int_equal(lw_region_remove(region, "table"), EBUSY);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_remove(region, "table"), 0);
}

static int try_to_read(struct call *call)
{
    return lw_region_rwtable_tryrdlock(call->on);
}

static int try_to_write(struct call *call)
{
    return lw_region_rwtable_trywrlock(call->on);
}

REGION_TEST(a_try_takes_what_is_free_alone)
{
    lw_region_rwtable table = table_of("table");
    assert_int_equal(lw_region_rwtable_trywrlock(&table), 0);
    assert_int_equal(lw_region_rwtable_trywrlock(&table), EBUSY);
    assert_int_equal(lw_region_rwtable_tryrdlock(&table), EBUSY);
    assert_int_equal(by_another(try_to_write, &table), EBUSY);
    assert_int_equal(by_another(try_to_read, &table), EBUSY);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_rwtable_tryrdlock(&table), 0);
    assert_int_equal(by_another(try_to_write, &table), EBUSY);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_rwtable_trywrlock(&table), 0);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_rwtable_unlock(&table), EPERM);
}

/* A writer that waits for readers has the mutex, and has written nothing when it dies. */
REGION_TEST(a_writer_that_dies_before_it_writes)
{
    const lw_region_rwtable table = table_of("table");
    assert_int_equal(lw_region_rwtable_rdlock(&table), 0);
    const struct process writer = spawn(write_it);
    await_waiters("table", 1);
    sleep_ms(10);
    kill_it(&writer);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_rwtable_wrlock(&table), 0);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
}

static int lock_it(struct call *call)
{
    return lw_region_rwtable_wrlock_cancel(call->on, call->deadline, call->cancel);
}

REGION_TEST(a_writer_that_gives_up_lets_readers_in)
{
    lw_region_rwtable table = table_of("table");
    lw_cancel cancel = LW_CANCEL_INIT;
    assert_int_equal(lw_region_rwtable_rdlock(&table), 0);
    struct call call = calling(lock_it, &table);
    call.cancel = &cancel;
    start_call(&call);
    await_waiters("table", 1);
    const struct process reader = spawn(read_it);
    await_waiters("table", 2);
    lw_cancel_fire(&cancel);
    assert_int_equal(end_call(&call), ECANCELED);
    assert_int_equal(hear(&reader), 0);
    kill_it(&reader);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_rwtable_wrlock(&table), 0);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
}

static int count_deadlocked(void)
{
    struct lw_region_link links[8];
    uint32_t found;
    const int error = lw_region_deadlock(region, links, COUNT_OF(links), &found);
    assert_true(error == 0 || error == ENOENT);
    return (int)found;
}

/* Has a permit, or reads, and waits for the mutex "lock". */
static int hold_and_lock(struct call *call)
{
    const lw_region_permits *permits = call->on;
    const lw_region_rwtable table = table_of("table");
    uint32_t which = 0;
    int error =
        permits ? lw_region_permits_acquire(permits, &which) : lw_region_rwtable_rdlock(&table);
    if (error)
        return error;
    const int locked = lw_region_mutex_lock_cancel(&mutex, LW_FOREVER, call->cancel);
    if (locked == 0)
        lw_region_mutex_unlock(&mutex);
    error = permits ? lw_region_permits_release(permits, which) : lw_region_rwtable_unlock(&table);
    return error ? error : locked;
}

/* Has the mutex "lock" and, when it is told, waits for what the other thread has. */
static void lock_and_hold(bool reads)
{
    const lw_region_permits permits = permits_of("gpus", 2);
    const lw_region_rwtable table = table_of("table");
    uint32_t which = 0;
    say((char)lw_region_mutex_lock(&mutex));
    await_word();
    say((char)(reads ? lw_region_rwtable_rdlock(&table)
                     : lw_region_permits_acquire(&permits, &which)));
    reads ? lw_region_rwtable_unlock(&table) : lw_region_permits_release(&permits, which);
    lw_region_mutex_unlock(&mutex);
}

static void lock_and_acquire(void)
{
    lock_and_hold(false);
}

static void lock_and_read(void)
{
    lock_and_hold(true);
}

static struct process spawn_and_lock(void (*body)(void), struct call *call)
{
    const struct process process = spawn(body);
    assert_int_equal(hear(&process), 0);
    start_call(call);
    await_waiters("lock", 1);
    return process;
}

static void end_both(const struct process *process, struct call *call, int locked)
{
    assert_int_equal(end_call(call), locked);
    assert_int_equal(hear(process), 0);
    assert_int_equal(hear(process), '.');
    assert_int_equal(end_of(process), 0);
}

/*
 * A process waits for a permit. One is free again, and the process has been woken, but makes no
 * step yet. The owner of the other permit waits for the process, and still there is no cycle.
 */
REGION_TEST(a_free_permit_is_no_deadlock)
{
    lw_region_permits permits = permits_of("gpus", 2);
    struct call call = calling(hold_and_lock, &permits);
    uint32_t which;
    assert_int_equal(lw_region_permits_acquire(&permits, &which), 0);
    const struct process process = spawn_and_lock(lock_and_acquire, &call);
    tell(&process);
    await_waiters("gpus", 1);
    assert_int_equal(count_deadlocked(), 0); /* two threads have a permit each */
    assert_int_equal(kill(process.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(process.pid, NULL, WUNTRACED), process.pid);
    assert_int_equal(lw_region_permits_release(&permits, which), 0);
    assert_int_equal(lw_region_permits_available(&permits), 1);
    assert_int_equal(count_deadlocked(), 0);
    assert_int_equal(kill(process.pid, SIGCONT), 0);
    end_both(&process, &call, 0);
}

REGION_TEST(one_that_has_all_permits_is_in_a_deadlock)
{
    lw_region_permits permits = permits_of("gpus", 2);
    lw_cancel cancel = LW_CANCEL_INIT;
    struct call call = calling(hold_and_lock, &permits);
    call.cancel = &cancel;
    uint32_t which;
    const struct process process = spawn_and_lock(lock_and_acquire, &call);
    assert_int_equal(lw_region_permits_acquire(&permits, &which), 0);
    /* The call's, too. */
    permits.words[LW_PERMITS_FIRST + which] = permits.words[LW_PERMITS_FIRST];
    tell(&process);
    await_waiters("gpus", 1);
    assert_int_equal(count_deadlocked(), 2);
    lw_cancel_fire(&cancel);
    end_both(&process, &call, ECANCELED);
}

/* Who waits for a table's mutex waits for the one that has it, and not for the only reader. */
REGION_TEST(another_reader_has_the_tables_mutex)
{
    struct call call = calling(hold_and_lock, NULL);
    const lw_region_rwtable table = table_of("table");
    const struct process process = spawn_and_lock(lock_and_read, &call);
    assert_int_equal(lw_region_mutex_lock(&table.mutex), 0); /* as a reader does, for a moment */
    tell(&process);
    await_waiters("table", 1);
    assert_int_equal(count_deadlocked(), 0);
    assert_int_equal(lw_region_mutex_leave(&table.mutex), 0);
    end_both(&process, &call, 0);
}

REGION_TEST(a_deadlock_of_a_reader_and_a_writer)
{
    lw_cancel cancel = LW_CANCEL_INIT;
    struct call call = calling(hold_and_lock, NULL);
    call.cancel = &cancel;
    const struct process process = spawn_and_lock(lock_and_read, &call);
    const struct process writer = spawn(write_it);
    await_waiters("table", 1);
    assert_int_equal(count_deadlocked(), 0);
    tell(&process);
    await_waiters("table", 2);
    for (int i = 0; i < 5000 && count_deadlocked() == 0; i++)
        sleep_ms(1); /* until the writer has marked that it waits */
    assert_int_equal(count_deadlocked(), 3);
    lw_cancel_fire(&cancel);
    assert_int_equal(hear(&writer), 0);
    kill_it(&writer);
    assert_int_equal(end_call(&call), ECANCELED);
    assert_int_equal(hear(&process), (char)EOWNERDEAD);
    assert_int_equal(hear(&process), '.');
    assert_int_equal(end_of(&process), 0);
}

/* No place is left: the caller would wait for itself, or for a writer that waits for the caller. */
REGION_TEST(to_read_again_never_waits)
{
    const lw_region_rwtable table = table_of("table");
    for (uint32_t i = 0; i < LW_PERMITS_MAX; i++)
        assert_int_equal(lw_region_rwtable_rdlock(&table), 0);
    const lw_deadline deadline = lw_after_ms(1000);
    assert_int_equal(lw_region_rwtable_rdlock_until(&table, deadline), EOVERFLOW);
    assert_int_equal(lw_region_rwtable_tryrdlock(&table), EBUSY);
    const struct process writer = spawn(write_it);
    await_waiters("table", 1);
    assert_int_equal(lw_region_rwtable_rdlock_until(&table, deadline), EOVERFLOW);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(lw_region_rwtable_rdlock_until(&table, deadline), 0);
    for (uint32_t i = 0; i < LW_PERMITS_MAX; i++)
        assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    assert_int_equal(hear(&writer), 0);
    kill_it(&writer);
}

/* What processes that are killed at any moment do together. */
struct shared {
    atomic_int turns;
    atomic_int
        killed; /* the process that is killed now: until it is waited for, it seems to live */
    atomic_int two[2];    /* a writer changes both; readers find them alike */
    atomic_int torn;      /* how often a reader did not, and had not been told of a death */
    atomic_int owners[4]; /* of each permit: the process that has it */
    atomic_int doubled;   /* how often a permit had two owners that live */
};

static struct shared *shared;

static void use_permits(void)
{
    const lw_region_permits permits = permits_of("gpus", 4);
    for (;;) {
        uint32_t which;
        if (lw_region_permits_acquire(&permits, &which) != 0)
            _exit(1);
        const int before = atomic_exchange(&shared->owners[which], getpid());
        if (before && before != atomic_load(&shared->killed) && kill(before, 0) == 0)
            atomic_fetch_add(&shared->doubled, 1);
        for (volatile int i = 0; i < 300; i++)
            continue;
        atomic_store(&shared->owners[which], 0);
        atomic_fetch_add(&shared->turns, 1);
        if (lw_region_permits_release(&permits, which) != 0)
            _exit(2);
    }
}

static void use_table(void)
{
    const lw_region_rwtable table = table_of("table");
    for (int turn = 0;; turn++) {
        const bool writes = turn % 4 == 0;
        const int error =
            writes ? lw_region_rwtable_wrlock(&table) : lw_region_rwtable_rdlock(&table);
        if (error && error != EOWNERDEAD)
            _exit(1);
        if (writes) {
            const int next = atomic_load(&shared->two[0]) + 1;
            atomic_store(&shared->two[0], next);
            for (volatile int i = 0; i < 300; i++)
                continue;
            atomic_store(&shared->two[1], next);
        } else if (!error && atomic_load(&shared->two[0]) != atomic_load(&shared->two[1])) {
            atomic_fetch_add(&shared->torn, 1);
        }
        atomic_fetch_add(&shared->turns, 1);
        if (lw_region_rwtable_unlock(&table) != 0)
            _exit(2);
    }
}

enum { PROCESSES = 6 };

/* Kills one of the processes after another, as long as the soak says; all go on. */
static void soak(void (*body)(void))
{
    const char *wanted = getenv("LW_DEATHS");
    const int deaths = wanted ? atoi(wanted) : 200;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct process processes[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        processes[i] = spawn(body);
    for (int i = 0; i < deaths; i++) {
        const int turns = atomic_load(&shared->turns);
        usleep((unsigned)(rand() % 4000));
        atomic_store(&shared->killed, processes[i % PROCESSES].pid);
        kill_it(&processes[i % PROCESSES]);
        for (int ms = 0; atomic_load(&shared->turns) == turns && ms < 10000; ms++)
            usleep(1000);
        assert_int_not_equal(atomic_load(&shared->turns), turns);
        processes[i % PROCESSES] = spawn(body);
    }
    assert_int_equal(atomic_load(&shared->torn), 0);
    assert_int_equal(atomic_load(&shared->doubled), 0);
    for (int i = 0; i < PROCESSES; i++)
        kill_it(&processes[i]);
}

REGION_TEST(permits_outlive_any_death)
{
    soak(use_permits);
    const lw_region_permits permits = permits_of("gpus", 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(lw_region_permits_acquire_until(&permits, NULL, lw_after_ms(5000)), 0);
    munmap(shared, sizeof *shared);
}

REGION_TEST(a_table_outlives_any_death)
{
    soak(use_table);
    const lw_region_rwtable table = table_of("table");
    const int error = lw_region_rwtable_wrlock_until(&table, lw_after_ms(5000));
    assert_true(error == 0 || error == EOWNERDEAD);
    assert_int_equal(lw_region_rwtable_unlock(&table), 0);
    munmap(shared, sizeof *shared);
}

RUN_TESTS("region-table")
