/*
 * region-loop.c: event loops that wait for what other processes hold, change or leave behind.
 * Processes are forked children. And the end of a loop while a thread rings it.
 */
#define _GNU_SOURCE
#include "check-region.h"

#include <poll.h>

#include <lockword/lockword.h>

#define PENDING 4242

static lw_loop loop;

static void begin_with_a_loop(void)
{
    begin();
    assert_int_equal(lw_loop_init(&loop), 0);
}

/* All requests have ended by then. */
static void end_with_a_loop(void)
{
    assert_true(loop.pending.next == &loop.pending && loop.ended.next == &loop.ended);
    assert_int_equal(lw_loop_destroy(&loop), 0);
    end();
}

#define LOOP_TEST(name) TEST_BETWEEN(begin_with_a_loop, end_with_a_loop, name)

/* A request, and how it ended. */
struct wait {
    lw_request request;
    int result;
    uint32_t value;
    int order;
};

static int ended;

static void done(lw_request *request, int result, void *context)
{
    struct wait *wait = context;
    wait->result = result;
    wait->value = lw_request_value(request);
    wait->order = ended++;
}

static struct wait *fresh(struct wait *wait)
{
    *wait = (struct wait){.result = PENDING};
    return wait;
}

#define UNTIL(wait, deadline) &fresh(wait)->request, &loop, deadline, done, wait
#define FOR(wait) UNTIL(wait, LW_FOREVER)

/* Returns whether the loop had something to do. */
static bool turn(int timeout_ms)
{
    struct pollfd poll_fd = {.fd = lw_loop_fd(&loop), .events = POLLIN};
    if (poll(&poll_fd, 1, timeout_ms) != 1)
        return false;
    lw_loop_run(&loop);
    return true;
}

/* Runs the loop until the wait has ended, five seconds at most. */
static int end_wait(const struct wait *wait)
{
    while (wait->result == PENDING && turn(5000))
        continue;
    return wait->result;
}

/* Runs the loop for so long, in which the wait does not end. Returns how often it ran. */
static int wait_on(const struct wait *wait, int64_t ms)
{
    const int64_t until = now_ns() + ms * NS_PER_MS;
    int turns = 0;
    for (int64_t now = now_ns(); now < until; now = now_ns())
        turns += turn((int)((until - now) / NS_PER_MS) + 1);
    assert_int_equal(wait->result, PENDING);
    return turns;
}

static void hold_for_a_while(void)
{
    lw_region_mutex_lock(&mutex);
    say('h');
    await_word();
    lw_region_mutex_unlock(&mutex);
}

LOOP_TEST(a_loop_gets_a_mutex_that_another_process_held)
{
    const struct process holder = spawn(hold_for_a_while);
    hear(&holder);
    struct wait waits[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&waits[i])), 0);
    wait_on(&waits[0], 50);
    tell(&holder);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(end_wait(&waits[i]), 0);
        assert_int_equal(waits[i].order, ended - 1);
        assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    }
    end_of(&holder);
}

LOOP_TEST(a_wait_costs_nothing)
{
    enum { N = 100 };
    const struct process holder = spawn(hold_for_a_while);
    hear(&holder);
    static struct wait waits[N];
    for (int i = 0; i < N; i++)
        assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&waits[i])), 0);
    wait_on(&waits[0], 500); /* at first it looks more often whether the holder lives */
    int turns;
    int64_t used;
    int chances = 3; /* since a CPU that the host took away may count as used */
    do {
        const int64_t before = used_ns();
        turns = wait_on(&waits[0], 1500);
        used = used_ns() - before;
    } while ((turns > 4 || used > 20 * NS_PER_MS) && --chances);
    assert_in_range(turns, 0, 4);
    assert_in_range(used, 0, 20 * NS_PER_MS);
    tell(&holder);
    for (int i = 0; i < N; i++) {
        assert_int_equal(end_wait(&waits[i]), 0);
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    }
    end_of(&holder);
}

LOOP_TEST(a_holder_that_is_killed_is_told_of)
{
    const struct process holder = spawn(hold_for_a_while);
    hear(&holder);
    struct wait first;
    struct wait second;
    assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&first)), 0);
    assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&second)), 0);
    wait_on(&second, 20);
    kill_it(&holder);
    assert_int_equal(end_wait(&first), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_abandon(&mutex), 0);
    assert_int_equal(end_wait(&second), ENOTRECOVERABLE);
    assert_int_equal(lw_region_mutex_reset(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&first)), 0);
    assert_int_equal(end_wait(&first), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

/* A waiter that was not woken would look after a second. A busy machine may be as slow, once. */
LOOP_TEST(a_loop_is_woken_when_a_holder_is_killed)
{
    int64_t took = INT64_MAX;
    for (int round = 0; round < 5 && took > 900 * (int64_t)NS_PER_MS; round++) {
        const struct process holder = spawn(hold_for_a_while);
        hear(&holder);
        struct wait wait;
        assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&wait)), 0);
        wait_on(&wait, 20);
        const int64_t start = now_ns();
        kill_it(&holder);
        assert_int_equal(end_wait(&wait), EOWNERDEAD);
        took = now_ns() - start;
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    }
    assert_in_range(took, 0, 900 * (int64_t)NS_PER_MS);
}

LOOP_TEST(a_name_that_is_removed_is_told_of)
{
    assert_int_equal(lw_region_remove(region, "lock"), 0);
    struct wait wait;
    assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&wait)), 0);
    assert_int_equal(end_wait(&wait), EIDRM);
    lw_region_mutex again; /* which is held: a removed one does not wait for that */
    assert_int_equal(lw_region_mutex_named(region, "lock", &again), 0);
    assert_true(again.words == mutex.words);
    assert_int_equal(lw_region_mutex_lock(&again), 0);
    assert_int_equal(lw_region_mutex_lock_async(&mutex, UNTIL(&wait, lw_after_ms(5000))), 0);
    assert_int_equal(end_wait(&wait), EIDRM);
    assert_true(lw_region_mutex_is_mine(&again));
    assert_int_equal(lw_region_mutex_unlock(&again), 0);
}

LOOP_TEST(waits_end_by_time_by_cancel_and_with_their_loop)
{
    const struct process holder = spawn(hold_for_a_while);
    hear(&holder);
    struct wait waits[4];
    lw_waiter by;
    lw_cancel cancel = LW_CANCEL_INIT;
    assert_int_equal(lw_region_mutex_lock_async(&mutex, UNTIL(&waits[0], lw_after_ms(30))), 0);
    for (int i = 1; i < 4; i++)
        assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&waits[i])), 0);
    assert_int_equal(lw_request_cancel_by(&waits[2].request, &by, &cancel), 0);
    assert_int_equal(lw_request_cancel(&waits[1].request), 0);
    lw_cancel_fire(&cancel);
    assert_int_equal(end_wait(&waits[1]), ECANCELED);
    assert_int_equal(end_wait(&waits[2]), ECANCELED);
    assert_int_equal(end_wait(&waits[0]), ETIMEDOUT);
    assert_int_equal(lw_loop_destroy(&loop), 0);
    assert_int_equal(waits[3].result, ECANCELED);
    tell(&holder);
    assert_int_equal(hear(&holder), '.');
    end_of(&holder);
    assert_int_equal(lw_loop_init(&loop), 0);
    assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&waits[0])), 0);
    assert_int_equal(end_wait(&waits[0]), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

static lw_event *event;
static lw_sem *sem;
static lw_counter *counter;
static lw_waitgroup *waitgroup;
static lw_latch *latch;
static lw_barrier *barrier;

static void name_the_others(void)
{
    const lw_barrier two = LW_BARRIER_INIT(2);
    const lw_latch one = LW_LATCH_INIT(1);
    assert_int_equal(lw_region_event_named(region, "event", NULL, &event), 0);
    assert_int_equal(lw_region_sem_named(region, "sem", NULL, &sem), 0);
    assert_int_equal(lw_region_counter_named(region, "counter", NULL, &counter), 0);
    assert_int_equal(lw_region_waitgroup_named(region, "waitgroup", NULL, &waitgroup), 0);
    assert_int_equal(lw_region_latch_named(region, "latch", &one, &latch), 0);
    assert_int_equal(lw_region_barrier_named(region, "barrier", &two, &barrier), 0);
}

static void change_everything(void)
{
    name_the_others();
    say('r');
    await_word();
    lw_event_set(event);
    lw_sem_release(sem, 2);
    lw_counter_add(counter, 3, NULL);
    lw_waitgroup_done(waitgroup);
    lw_latch_count_down(latch, 1);
    lw_barrier_wait(barrier);
}

LOOP_TEST(what_another_process_changes_ends_waits)
{
    name_the_others();
    lw_waitgroup_add(waitgroup, 1);
    const struct process other = spawn(change_everything);
    hear(&other);
    struct wait waits[6];
    assert_int_equal(lw_event_wait_async(event, FOR(&waits[0])), 0);
    assert_int_equal(lw_sem_acquire_async(sem, 2, FOR(&waits[1])), 0);
    assert_int_equal(lw_counter_wait_at_least_async(counter, 3, FOR(&waits[2])), 0);
    assert_int_equal(lw_waitgroup_wait_async(waitgroup, FOR(&waits[3])), 0);
    assert_int_equal(lw_latch_wait_async(latch, FOR(&waits[4])), 0);
    assert_int_equal(lw_barrier_wait_async(barrier, FOR(&waits[5])), 0);
    wait_on(&waits[5], 30);
    tell(&other);
    for (int i = 0; i < 5; i++)
        assert_int_equal(end_wait(&waits[i]), 0);
    const int met = end_wait(&waits[5]);
    assert_true(met == 0 || met == LW_BARRIER_LEADER);
    assert_int_equal(hear(&other), '.');
    end_of(&other);
}

static void set_event_at_a_word(void)
{
    name_the_others();
    say('r');
    await_word();
    lw_event_set(event);
}

LOOP_TEST(the_first_of_several_here_and_elsewhere)
{
    name_the_others();
    lw_event here = LW_EVENT_INIT;
    lw_source sources[] = {lw_source_event(&here), lw_source_event(event)};
    lw_waiter waiters[1];
    struct wait wait;
    assert_int_equal(lw_wait_any_async(sources, 2, waiters, FOR(&wait)), 0);
    wait_on(&wait, 20);
    lw_event_set(&here);
    assert_int_equal(end_wait(&wait), 0);
    assert_int_equal(wait.value, 0);
    lw_event_reset(&here);
    sources[0] = lw_source_event(&here);
    const struct process other = spawn(set_event_at_a_word);
    hear(&other);
    assert_int_equal(lw_wait_any_async(sources, 2, waiters, FOR(&wait)), 0);
    tell(&other);
    assert_int_equal(end_wait(&wait), 0);
    assert_int_equal(wait.value, 1);
    end_of(&other);
}

/* Sets the event as lw_event_set does, and dies before it notifies anyone. */
static void set_and_die(void)
{
    lw_region_event_named(region, "event", NULL, &event);
    say('r');
    await_word();
    __atomic_store_n(&event->word[0], LW_EVENT_SET, __ATOMIC_RELEASE);
    kill(getpid(), SIGKILL);
}

LOOP_TEST(a_wake_up_that_died_is_replaced)
{
    name_the_others();
    int64_t least = INT64_MAX;
    for (int round = 0; round < 4; round++) {
        lw_event_reset(event);
        const struct process setter = spawn(set_and_die);
        hear(&setter);
        struct wait wait;
        assert_int_equal(lw_event_wait_async(event, FOR(&wait)), 0);
        wait_on(&wait, 10);
        tell(&setter);
        const int64_t before = now_ns();
        assert_int_equal(end_wait(&wait), 0);
        if (now_ns() - before < least)
            least = now_ns() - before;
        end_of(&setter);
    }
    /* A waiter that was not told would look after a second. */
    assert_in_range(least, 0, 500 * (int64_t)NS_PER_MS);
}

/* As above, but the region does not know of the process: the loop looks. */
LOOP_TEST(a_wake_up_that_died_in_a_forked_child)
{
    name_the_others();
    struct wait wait;
    assert_int_equal(lw_event_wait_async(event, FOR(&wait)), 0);
    wait_on(&wait, 10);
    const pid_t pid = fork();
    if (pid == 0) {
        __atomic_store_n(&event->word[0], LW_EVENT_SET, __ATOMIC_RELEASE);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(end_wait(&wait), 0);
}

static lw_cond *cond;

static void notify_condition(void)
{
    for (int i = 0; i < 2; i++) {
        await_word();
        lw_region_mutex_lock(&mutex);
        if (i == 0)
            lw_cond_notify_one(cond);
        else
            lw_cond_notify_all(cond);
        say('n');
        if (i == 0)
            await_word();
        lw_region_mutex_unlock(&mutex);
    }
    await_word();
    lw_region_mutex_lock(&mutex);
    say('h');
    await_word();
}

LOOP_TEST(a_condition_gives_up_the_mutex_and_has_it_again)
{
    assert_int_equal(lw_region_cond_named(region, "cond", NULL, &cond), 0);
    const struct process other = spawn(notify_condition);
    struct wait wait;
    assert_int_equal(lw_region_cond_wait_async(cond, &mutex, FOR(&wait)), EPERM);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_cond_wait_async(cond, &mutex, UNTIL(&wait, lw_after_ms(20))), 0);
    assert_int_equal(end_wait(&wait), ETIMEDOUT);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lw_region_cond_wait_async(cond, &mutex, FOR(&wait)), 0);
        wait_on(&wait, 20);
        tell(&other);
        hear(&other);
        if (i == 0) {
            wait_on(&wait, 50); /* the other process has the mutex */
            tell(&other);
        }
        assert_int_equal(end_wait(&wait), 0);
        assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
    }
    assert_int_equal(lw_region_cond_wait_async(cond, &mutex, UNTIL(&wait, lw_after_ms(50))), 0);
    tell(&other);
    hear(&other);
    usleep(100000);
    wait_on(&wait, 10);
    kill_it(&other);
    assert_int_equal(end_wait(&wait), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_cond_wait_async(cond, &mutex, FOR(&wait)), 0);
    assert_int_equal(lw_request_cancel(&wait.request), 0);
    assert_int_equal(end_wait(&wait), ECANCELED);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

static lw_region_permits permits;
static lw_region_rwlock rwlock;
static lw_region_once once;

static void name_what_has_owners(void)
{
    assert_int_equal(lw_region_permits_named(region, "permits", 2, &permits), 0);
    assert_int_equal(lw_region_rwlock_named(region, "rwlock", &rwlock), 0);
    assert_int_equal(lw_region_once_named(region, "once", &once), 0);
}

static void hold_everything(void)
{
    name_what_has_owners();
    uint32_t which;
    lw_region_permits_acquire(&permits, &which);
    lw_region_permits_acquire(&permits, &which);
    lw_region_rwlock_wrlock(&rwlock);
    lw_region_once_begin(&once);
    say('h');
    await_word();
    lw_region_rwlock_unlock(&rwlock);
    await_word();
}

LOOP_TEST(permits_and_others_that_have_owners)
{
    name_what_has_owners();
    const struct process holder = spawn(hold_everything);
    hear(&holder);
    struct wait permit;
    struct wait read;
    struct wait write;
    struct wait run;
    assert_int_equal(lw_region_permits_acquire_async(&permits, FOR(&permit)), 0);
    assert_int_equal(lw_region_rwlock_rdlock_async(&rwlock, FOR(&read)), 0);
    assert_int_equal(lw_region_once_begin_async(&once, FOR(&run)), 0);
    wait_on(&run, 20);
    tell(&holder);
    assert_int_equal(end_wait(&read), 0);
    assert_int_equal(lw_region_rwlock_wrlock_async(&rwlock, FOR(&write)), 0);
    wait_on(&write, 20);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), 0);
    assert_int_equal(end_wait(&write), 0);
    assert_int_equal(lw_region_rwlock_trywrlock(&rwlock), EBUSY);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), 0);
    assert_int_equal(permit.result, PENDING);
    kill_it(&holder);
    assert_int_equal(end_wait(&permit), 0);
    assert_in_range(permit.value, 0, 1);
    assert_int_equal(lw_region_permits_release(&permits, permit.value), 0);
    assert_int_equal(end_wait(&run), LW_ONCE_RUN);
    assert_int_equal(lw_region_once_finish(&once, true), 0);
    assert_int_equal(lw_region_once_begin_async(&once, FOR(&run)), 0);
    assert_int_equal(end_wait(&run), 0);
}

static lw_region_rwtable table;

static void write_in_table(void)
{
    lw_region_rwtable_named(region, "table", &table);
    lw_region_rwtable_wrlock(&table);
    say('w');
    await_word();
    lw_region_rwtable_unlock(&table);
    await_word();
    lw_region_rwtable_rdlock(&table);
    say('r');
    await_word();
    lw_region_rwtable_unlock(&table);
}

static int unlock_table(void)
{
    return lw_region_rwtable_unlock(&table);
}

LOOP_TEST(a_table_has_one_line_for_readers_and_writers)
{
    assert_int_equal(lw_region_rwtable_named(region, "table", &table), 0);
    const struct process other = spawn(write_in_table);
    assert_int_equal(hear(&other), 'w');
    struct wait reads[2];
    struct wait write;
    struct wait late;
    for (int i = 0; i < 2; i++)
        assert_int_equal(lw_region_rwtable_rdlock_async(&table, FOR(&reads[i])), 0);
    assert_int_equal(lw_region_rwtable_wrlock_async(&table, FOR(&write)), 0);
    assert_int_equal(lw_region_rwtable_rdlock_async(&table, FOR(&late)), 0);
    wait_on(&reads[0], 20);
    tell(&other);
    for (int i = 0; i < 2; i++)
        assert_int_equal(end_wait(&reads[i]), 0);
    wait_on(&write, 20);
    assert_int_equal(late.result, PENDING);
    assert_int_equal(unlock_table(), 0);
    wait_on(&write, 20);
    assert_int_equal(unlock_table(), 0);
    assert_int_equal(end_wait(&write), 0);
    assert_int_equal(lw_region_rwtable_tryrdlock(&table), EBUSY);
    tell(&other);
    wait_on(&late, 20);
    assert_int_equal(unlock_table(), 0);
    assert_int_equal(end_wait(&late), 0);
    assert_int_equal(hear(&other), 'r');
    assert_int_equal(unlock_table(), 0);
    assert_int_equal(unlock_table(), EPERM);
    tell(&other);
    assert_int_equal(hear(&other), '.');
    end_of(&other);
}

/* A request that gives up leaves the table as it was, whichever of its two waits that ends. */
LOOP_TEST(a_table_is_left_by_those_that_give_up)
{
    assert_int_equal(lw_region_rwtable_named(region, "table", &table), 0);
    const struct process other = spawn(write_in_table);
    hear(&other);
    struct wait waits[3];
    for (int round = 0; round < 2; round++) {
        /* First while another process writes, and then while it reads. */
        if (round == 0)
            assert_int_equal(
                lw_region_rwtable_rdlock_async(&table, UNTIL(&waits[0], lw_after_ms(30))), 0);
        else
            assert_int_equal(
                lw_region_rwtable_wrlock_async(&table, UNTIL(&waits[0], lw_after_ms(30))), 0);
        assert_int_equal(lw_region_rwtable_wrlock_async(&table, FOR(&waits[1])), 0);
        assert_int_equal(lw_region_rwtable_wrlock_async(&table, FOR(&waits[2])), 0);
        assert_int_equal(end_wait(&waits[0]), ETIMEDOUT);
        wait_on(&waits[1], 10);
        assert_int_equal(lw_request_cancel(&waits[1].request), 0);
        assert_int_equal(end_wait(&waits[1]), ECANCELED);
        wait_on(&waits[2], 10);
        assert_int_equal(lw_loop_destroy(&loop), 0);
        assert_int_equal(waits[2].result, ECANCELED);
        assert_int_equal(lw_loop_init(&loop), 0);
        if (round == 0) {
            tell(&other);
            tell(&other);
            assert_int_equal(hear(&other), 'r');
        }
    }
    assert_int_equal(lw_region_rwtable_tryrdlock(&table), 0);
    assert_int_equal(unlock_table(), 0);
    tell(&other);
    assert_int_equal(hear(&other), '.');
    end_of(&other);
    assert_int_equal(lw_region_rwtable_wrlock_async(&table, FOR(&waits[0])), 0);
    assert_int_equal(end_wait(&waits[0]), 0);
    assert_int_equal(unlock_table(), 0);
}

LOOP_TEST(a_table_tells_of_a_writer_that_was_killed_and_not_of_a_reader)
{
    assert_int_equal(lw_region_rwtable_named(region, "table", &table), 0);
    struct wait read;
    struct wait write;
    struct process other = spawn(write_in_table);
    hear(&other);
    tell(&other);
    tell(&other);
    assert_int_equal(hear(&other), 'r');
    assert_int_equal(lw_region_rwtable_wrlock_async(&table, FOR(&write)), 0);
    wait_on(&write, 20);
    kill_it(&other);
    assert_int_equal(end_wait(&write), 0);
    assert_int_equal(unlock_table(), 0);
    other = spawn(write_in_table);
    hear(&other);
    assert_int_equal(lw_region_rwtable_rdlock_async(&table, FOR(&read)), 0);
    assert_int_equal(lw_region_rwtable_wrlock_async(&table, FOR(&write)), 0);
    wait_on(&write, 20);
    kill_it(&other);
    assert_int_equal(end_wait(&read), EOWNERDEAD);
    assert_int_equal(unlock_table(), 0);
    assert_int_equal(end_wait(&write), EOWNERDEAD);
    assert_int_equal(lw_region_rwtable_abandon(&table), 0);
    assert_int_equal(lw_region_rwtable_rdlock_async(&table, FOR(&read)), 0);
    assert_int_equal(end_wait(&read), ENOTRECOVERABLE);
    assert_int_equal(lw_region_rwtable_reset(&table), 0);
    assert_int_equal(unlock_table(), 0);
    assert_int_equal(lw_region_rwtable_rdlock_async(&table, FOR(&read)), 0);
    assert_int_equal(end_wait(&read), 0);
    assert_int_equal(unlock_table(), 0);
}

#define TURNS 2000
#define PROCESSES 3

static uint32_t *count;
static struct wait tasks[4];
static int left;

static void count_once(lw_request *request, int result, void *context)
{
    struct wait *task = context;
    (void)request;
    if (result != 0)
        _exit(1);
    ++*count;
    lw_region_mutex_unlock(&mutex);
    if (--left > 0)
        lw_region_mutex_lock_async(&mutex, &task->request, &loop, LW_FOREVER, count_once, task);
}

/* Counts by four tasks of a loop. */
static void count_in_a_loop(void)
{
    void *bytes;
    lw_loop_destroy(&loop); /* the parent's */
    assert_int_equal(lw_loop_init(&loop), 0);
    assert_int_equal(lw_region_bytes(region, "count", sizeof *count, &bytes), 0);
    count = bytes;
    left = TURNS;
    for (size_t i = 0; i < COUNT_OF(tasks); i++)
        lw_region_mutex_lock_async(&mutex, &tasks[i].request, &loop, LW_FOREVER, count_once,
                                   &tasks[i]);
    while (left > 0 - (int)COUNT_OF(tasks) + 1) {
        if (!turn(10000))
            _exit(2);
    }
}

LOOP_TEST(loops_of_several_processes_count_exactly)
{
    void *bytes;
    assert_int_equal(lw_region_bytes(region, "count", sizeof *count, &bytes), 0);
    count = bytes;
    struct process processes[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        processes[i] = spawn(count_in_a_loop);
    for (int i = 0; i < TURNS; i++) {
        assert_int_equal(lw_region_mutex_lock(&mutex), 0);
        ++*count;
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(hear(&processes[i]), '.');
        end_of(&processes[i]);
    }
    assert_int_equal(*count, TURNS * (PROCESSES + 1) + PROCESSES * (COUNT_OF(tasks) - 1));
}

struct pending {
    lw_loop loop;
    struct wait wait;
    int error;
};

/* Ends with a request that waits, and with another one that has the mutex of its thread. */
static void end_with_requests(void *argument)
{
    struct pending *pending = argument;
    lw_region_mutex other;
    pending->error = lw_loop_init(&pending->loop);
    if (pending->error == 0)
        pending->error = lw_region_mutex_named(region, "other", &other);
    if (pending->error == 0)
        pending->error = lw_region_mutex_lock(&other);
    if (pending->error == 0)
        pending->error = lw_region_mutex_lock_async(&mutex, &pending->wait.request, &pending->loop,
                                                    LW_FOREVER, done, &pending->wait);
}

LOOP_TEST(a_thread_that_ends_takes_its_loops_along)
{
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    static struct pending pending;
    pending.wait.result = PENDING;
    struct helper helper;
    start(&helper, end_with_requests, &pending);
    join(&helper);
    assert_int_equal(pending.error, 0);
    assert_int_equal(pending.wait.result, ECANCELED);
    lw_region_mutex other;
    assert_int_equal(lw_region_mutex_named(region, "other", &other), 0);
    assert_int_equal(lw_region_mutex_lock(&other), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&other), 0);
    struct wait wait;
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&wait)), 0);
    assert_int_equal(end_wait(&wait), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

static void unlock_it(lw_request *request, int result, void *context)
{
    struct pending *pending = context;
    (void)request;
    pending->wait.result = result;
    pending->error = lw_region_mutex_unlock(&mutex);
}

/* Ends with a request that has the mutex already: its callback is called as the thread ends. */
static void end_with_a_callback(void *argument)
{
    struct pending *pending = argument;
    pending->error = lw_loop_init(&pending->loop);
    if (pending->error == 0)
        pending->error = lw_region_mutex_lock_async(&mutex, &pending->wait.request, &pending->loop,
                                                    LW_FOREVER, unlock_it, pending);
}

LOOP_TEST(callbacks_at_a_threads_end_have_its_locks)
{
    static struct pending pending;
    pending.wait.result = PENDING;
    struct helper helper;
    start(&helper, end_with_a_callback, &pending);
    join(&helper);
    assert_int_equal(pending.wait.result, 0);
    assert_int_equal(pending.error, 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

/* A thread that asks a loop of another one. */
static int ask_from_elsewhere(struct call *call)
{
    lw_region_permits permits;
    lw_region_rwtable table;
    lw_region_rwlock rwlock;
    lw_region_once once;
    lw_cond *cond;
    struct wait wait;
    int refused = 0;
    (void)call;
    if (lw_region_permits_named(region, "permits", 1, &permits) != 0 ||
        lw_region_rwtable_named(region, "table", &table) != 0 ||
        lw_region_rwlock_named(region, "rwlock", &rwlock) != 0 ||
        lw_region_once_named(region, "once", &once) != 0 ||
        lw_region_cond_named(region, "cond", NULL, &cond) != 0 || lw_region_mutex_lock(&mutex) != 0)
        return -1;
    refused += lw_region_mutex_lock_async(&mutex, FOR(&wait)) == EPERM;
    refused += lw_region_permits_acquire_async(&permits, FOR(&wait)) == EPERM;
    refused += lw_region_rwtable_rdlock_async(&table, FOR(&wait)) == EPERM;
    refused += lw_region_rwtable_wrlock_async(&table, FOR(&wait)) == EPERM;
    refused += lw_region_rwlock_rdlock_async(&rwlock, FOR(&wait)) == EPERM;
    refused += lw_region_rwlock_wrlock_async(&rwlock, FOR(&wait)) == EPERM;
    refused += lw_region_once_begin_async(&once, FOR(&wait)) == EPERM;
    refused += lw_region_cond_wait_async(cond, &mutex, FOR(&wait)) == EPERM;
    return lw_region_mutex_unlock(&mutex) == 0 ? refused : -1;
}

LOOP_TEST(other_threads_are_refused)
{
    assert_int_equal(by_another(ask_from_elsewhere, NULL), 8);
}

static bool has_no_threads;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument)
{
    return has_no_threads ? EAGAIN : __real_pthread_create(thread, attributes, body, argument);
}

/* Without its threads a region is not opened, and no loop waits for what it has. */
LOOP_TEST(a_process_that_can_have_no_thread_more)
{
    lw_event *event;
    lw_cond *cond;
    lw_region *again;
    lw_event here = LW_EVENT_INIT;
    lw_waiter waiters[1];
    struct wait wait;
    assert_int_equal(lw_region_event_named(region, "event", NULL, &event), 0);
    assert_int_equal(lw_region_cond_named(region, "cond", NULL, &cond), 0);
    const lw_source sources[] = {lw_source_event(&here), lw_source_event(event)};
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    has_no_threads = true;
    assert_int_equal(lw_region_open(&again, path, 0, 0, 0), EAGAIN);
    assert_int_equal(lw_event_wait_async(event, FOR(&wait)), EAGAIN);
    assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&wait)), EAGAIN);
    assert_int_equal(lw_region_cond_wait_async(cond, &mutex, FOR(&wait)), EAGAIN);
    assert_true(lw_region_mutex_is_mine(&mutex));
    assert_int_equal(lw_wait_any_async(sources, 2, waiters, FOR(&wait)), EAGAIN);
    has_no_threads = false;
    assert_int_equal(lw_region_open(&again, path, 0, 0, 0), 0);
    assert_int_equal(lw_region_close(again), 0);
    assert_int_equal(lw_region_cond_wait_async(cond, &mutex, FOR(&wait)), 0);
    lw_cond_notify_one(cond);
    assert_int_equal(end_wait(&wait), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

/* Else the program's handlers would run there, or its sigwait would miss what has come. */
LOOP_TEST(the_threads_of_a_region_take_no_signals)
{
    sigset_t set, before;
    struct wait wait;
    assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&wait)), 0);
    assert_int_equal(end_wait(&wait), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
    assert_false(sigismember(&before, SIGUSR1));
    kill(getpid(), SIGUSR1);
    sleep_ms(10);
    assert_int_equal(sigtimedwait(&set, NULL, &(struct timespec){1, 0}), SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

TEST(a_region_is_opened_and_closed_many_times)
{
    for (int i = 0; i < 20; i++) {
        begin_with_a_loop();
        struct wait wait;
        assert_int_equal(lw_region_mutex_lock_async(&mutex, FOR(&wait)), 0);
        assert_int_equal(end_wait(&wait), 0);
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
        end_with_a_loop();
    }
}

/*
 * A loop that ends sleeps beside a thread that is slow to ring it: by yields alone it might keep
 * that thread, of a lower priority, off the CPU for ever.
 */

static bool is_slow, rings;
void __real_lw_alarm_ring(const int *fds);
void __wrap_lw_alarm_ring(const int *fds);

void __wrap_lw_alarm_ring(const int *fds)
{
    if (__atomic_load_n(&is_slow, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&rings, true, __ATOMIC_RELEASE);
        sleep_ms(100);
    }
    __real_lw_alarm_ring(fds);
}

static int unlock_slowly(struct call *call)
{
    lw_mutex_lock(call->on);
    while (!__atomic_load_n(&is_slow, __ATOMIC_ACQUIRE))
        sleep_ms(1);
    return lw_mutex_unlock(call->on);
}

TEST(the_end_of_a_loop_sleeps_beside_a_slow_ringer)
{
    lw_mutex mutex = LW_MUTEX_INIT;
    lw_loop own;
    struct wait wait;
    struct call call = calling(unlock_slowly, &mutex);
    start_call(&call);
    while (!lw_mutex_is_locked(&mutex))
        continue;
    assert_int_equal(lw_loop_init(&own), 0);
    assert_int_equal(
        lw_mutex_lock_async(&mutex, &fresh(&wait)->request, &own, LW_FOREVER, done, &wait), 0);
    lw_loop_run(&own);
    __atomic_store_n(&is_slow, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&rings, __ATOMIC_ACQUIRE))
        continue;
    __atomic_store_n(&is_slow, false, __ATOMIC_RELEASE);
    const int64_t used = used_ns();
    assert_int_equal(lw_loop_destroy(&own), 0);
    assert_in_range(used_ns() - used, 0, 40 * NS_PER_MS);
    assert_int_equal(end_call(&call), 0);
}

RUN_TESTS("region-loop")
