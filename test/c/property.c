/*
 * property.c: any mixture of calls to each primitive, by several threads, with deadlines and
 * cancels: what it promises holds, and every call ends. test/js/family/property.test.js does the
 * same in JavaScript. More: PROPERTY_RUNS=1000 build/gcc/test/c/test-property
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

enum { THREADS = 4, CALLS = 60, RUNS = 12 };

/* A thread that has not ended by then will not. */
#define STRANDED_NS (10 * 1000 * (int64_t)NS_PER_MS)

/* What all threads share. `cells` are what each program says. */
struct room {
    union {
        lw_rwlock rwlock;
        lw_sem sem;
        lw_event event;
        lw_rmutex rmutex;
        lw_barrier barrier;
        lw_once once;
        lw_counter counter;
        lw_waitgroup group;
        lw_latch latch;
        lw_cond cond;
    } it;
    lw_mutex mutex;
    int cells[3];
    int running;
};

struct player {
    struct helper helper;
    struct room *room;
    void (*program)(struct player *player);
    uint32_t seed;
    const char *error;
    lw_cancel
        cancels[CALLS]; /* one for each call, so that one that is fired too late is still there */
    int call;           /* the number of the present one */
};

static uint32_t random_below(struct player *player, uint32_t n)
{
    return next_random(&player->seed) % n;
}

static int add(int *cell, int n)
{
    return __atomic_add_fetch(cell, n, __ATOMIC_RELAXED);
}

static int look(const int *cell)
{
    return __atomic_load_n(cell, __ATOMIC_RELAXED);
}

static void check(struct player *player, bool condition, const char *what)
{
    if (!condition && !player->error)
        player->error = what;
}

/* A new limit for the next wait. */
static lw_deadline some_deadline(struct player *player)
{
    const uint32_t way = random_below(player, 4);
    return way == 0 ? LW_NOW : way == 1 ? lw_after_ns(random_below(player, 100000)) : LW_FOREVER;
}

static lw_cancel *some_cancel(struct player *player)
{
    return random_below(player, 2) ? &player->cancels[player->call] : NULL;
}

/* Whether a call has succeeded. If not, it must have had a reason. */
static bool succeeded(struct player *player, int error)
{
    check(player, error == 0 || error == ETIMEDOUT || error == ECANCELED,
          "ends with an error that it has not");
    return error == 0;
}

static void pause_a_while(struct player *player)
{
    const int64_t until =
        now_ns() + (random_below(player, 3) ? 0 : (int64_t)random_below(player, 20000));
    while (now_ns() < until)
        ;
}

/* cells: readers, upgradable readers, writers. */
static void enter(struct player *player, int which)
{
    int *cells = player->room->cells;
    add(&cells[which], 1);
    if (which == 2)
        check(player, look(&cells[0]) + look(&cells[1]) == 0 && look(&cells[2]) == 1,
              "writes beside others");
    else
        check(player, look(&cells[2]) == 0 && look(&cells[1]) <= 1,
              "reads beside a writer, or two read upgradably");
    pause_a_while(player);
    add(&cells[which], -1);
}

static void play_rwlock(struct player *player)
{
    lw_rwlock *lock = &player->room->it.rwlock;
    const uint32_t way = random_below(player, 3);
    const lw_deadline deadline = some_deadline(player);
    lw_cancel *cancel = some_cancel(player);
    if (!succeeded(player, way == 0   ? lw_rwlock_rdlock_cancel(lock, deadline, cancel)
                           : way == 1 ? lw_rwlock_uplock_cancel(lock, deadline, cancel)
                                      : lw_rwlock_wrlock_cancel(lock, deadline, cancel)))
        return;
    enter(player, (int)way);
    if (way == 1 &&
        succeeded(player, lw_rwlock_upgrade_cancel(lock, some_deadline(player), cancel)))
        enter(player, 2);
    if (way > 0 && random_below(player, 2)) {
        check(player, lw_rwlock_downgrade(lock) == 0, "cannot downgrade");
        enter(player, 0);
    }
    check(player, lw_rwlock_unlock(lock) == 0, "cannot unlock");
}

/* cells: permits that are had, of three. */
static void play_sem(struct player *player)
{
    struct room *room = player->room;
    const int n = 1 + (int)random_below(player, 3);
    if (!succeeded(player, lw_sem_acquire_cancel(&room->it.sem, (uint32_t)n, some_deadline(player),
                                                 some_cancel(player))))
        return;
    check(player, add(&room->cells[0], n) <= 3, "more permits are had than there are");
    pause_a_while(player);
    add(&room->cells[0], -n);
    check(player, lw_sem_release(&room->it.sem, (uint32_t)n) == 0, "cannot release");
}

/* An automatic event as a token. cells: the threads that have it. */
static void play_event(struct player *player)
{
    struct room *room = player->room;
    if (!succeeded(player, lw_event_wait_cancel(&room->it.event, some_deadline(player),
                                                some_cancel(player))))
        return;
    check(player, add(&room->cells[0], 1) == 1, "two are released by one set");
    pause_a_while(player);
    add(&room->cells[0], -1);
    lw_event_set(&room->it.event);
}

/* cells: the threads that hold it. */
static void play_rmutex(struct player *player)
{
    struct room *room = player->room;
    const uint32_t times = 1 + random_below(player, 3);
    if (!succeeded(player, lw_rmutex_lock_cancel(&room->it.rmutex, some_deadline(player),
                                                 some_cancel(player))))
        return;
    for (uint32_t i = 1; i < times; i++)
        check(player, lw_rmutex_lock(&room->it.rmutex) == 0, "cannot take it again");
    check(player, add(&room->cells[0], 1) == 1, "two hold it");
    pause_a_while(player);
    add(&room->cells[0], -1);
    for (uint32_t i = 0; i < times; i++)
        check(player, lw_rmutex_unlock(&room->it.rmutex) == 0, "cannot give it back");
}

/* Those who see it broken meet no more. cells: passed, leaders. */
static void play_barrier(struct player *player)
{
    struct room *room = player->room;
    if (lw_barrier_is_broken(&room->it.barrier))
        return;
    const bool limited = random_below(player, 50) == 0;
    const int error =
        lw_barrier_wait_cancel(&room->it.barrier, limited ? some_deadline(player) : LW_FOREVER,
                               limited ? some_cancel(player) : NULL);
    if (error == 0 || error == LW_BARRIER_LEADER)
        add(&room->cells[0], 1);
    else
        check(player, lw_barrier_is_broken(&room->it.barrier),
              "is told that it broke, and it did not");
    if (error == LW_BARRIER_LEADER)
        add(&room->cells[1], 1);
}

/* cells: the threads that run it, how often it was tried, how often it succeeded. */
static void play_once(struct player *player)
{
    struct room *room = player->room;
    const int error =
        lw_once_begin_cancel(&room->it.once, some_deadline(player), some_cancel(player));
    if (error != LW_ONCE_RUN) {
        if (succeeded(player, error))
            check(player, look(&room->cells[2]) == 1, "passes, and it has not been run");
        return;
    }
    check(player, add(&room->cells[0], 1) == 1 && look(&room->cells[2]) == 0, "two run it");
    pause_a_while(player);
    const bool success = add(&room->cells[1], 1) > THREADS * CALLS / 3;
    add(&room->cells[2], success);
    add(&room->cells[0], -1);
    check(player, lw_once_finish(&room->it.once, success) == 0, "cannot finish");
}

/* Every call is one more, and waits for as many as all may have made. */
static void play_counter(struct player *player)
{
    struct room *room = player->room;
    check(player, lw_counter_add(&room->it.counter, 1, NULL) == 0, "cannot add");
    const uint32_t n = 1 + random_below(player, THREADS * ((uint32_t)player->call + 1));
    if (succeeded(player, lw_counter_wait_at_least(&room->it.counter, n, some_deadline(player),
                                                   some_cancel(player))))
        check(player, lw_counter_get(&room->it.counter) >= n, "has waited in vain");
}

/* Adds, and waits for all that others have added, too. */
static void play_waitgroup(struct player *player)
{
    struct room *room = player->room;
    check(player, lw_waitgroup_add(&room->it.group, 1) == 0, "cannot add");
    pause_a_while(player);
    check(player, lw_waitgroup_done(&room->it.group) == 0, "cannot be done");
    succeeded(player, lw_waitgroup_wait_cancel(&room->it.group, some_deadline(player),
                                               some_cancel(player)));
}

/* Every call counts down. The last one of each thread waits for all of them. */
static void play_latch(struct player *player)
{
    struct room *room = player->room;
    if (player->call < CALLS - 1) {
        check(player, lw_latch_count_down(&room->it.latch, 1) == 0, "cannot count down");
        pause_a_while(player);
    } else if (succeeded(player,
                         lw_latch_arrive_and_wait_cancel(&room->it.latch, some_deadline(player),
                                                         some_cancel(player)))) {
        check(player, lw_latch_try_wait(&room->it.latch), "has waited in vain");
    }
}

/* Players put something into a store, and others take it, as often. cells: how much is there, how
 * many are inside, how many have given up. */
static void play_cond(struct player *player)
{
    struct room *room = player->room;
    const bool puts = player->call % 2 == 0;
    check(player, lw_mutex_lock(&room->mutex) == 0, "cannot lock");
    check(player, add(&room->cells[1], 1) == 1, "two are inside");
    if (puts) {
        room->cells[0]++;
    } else {
        const lw_deadline deadline = some_deadline(player);
        lw_cancel *cancel = some_cancel(player);
        int error = 0;
        while (room->cells[0] == 0 && error == 0) {
            add(&room->cells[1], -1);
            error = lw_cond_wait_cancel(&room->it.cond, &room->mutex, deadline, cancel);
            check(player, add(&room->cells[1], 1) == 1, "two are inside after a wait");
        }
        succeeded(player, error);
        if (room->cells[0] > 0)
            room->cells[0]--;
        else
            room->cells[2]++;
    }
    add(&room->cells[1], -1);
    check(player, lw_mutex_unlock(&room->mutex) == 0, "cannot unlock");
    if (puts)
        lw_cond_notify_one(&room->it.cond);
}

static void make_nothing(struct room *room)
{
    (void)room;
}

static void make_sem(struct room *room)
{
    const lw_sem sem = LW_SEM_INIT(3);
    room->it.sem = sem;
}

static void make_latch(struct room *room)
{
    lw_latch_init(&room->it.latch, THREADS * CALLS);
}

static void make_event(struct room *room)
{
    const lw_event event = LW_EVENT_AUTO_INIT;
    room->it.event = event;
    lw_event_set(&room->it.event);
}

static void make_barrier(struct room *room)
{
    lw_barrier_init(&room->it.barrier, THREADS);
}

/* What must be left, besides marks: the words. */
static const struct subject {
    const char *name;
    void (*make)(struct room *room);
    void (*program)(struct player *player);
    uint32_t left;
} subjects[] = {
    {"rwlock", make_nothing, play_rwlock, 0},
    {"semaphore", make_sem, play_sem, 3},
    {"event", make_event, play_event, LW_EVENT_SET},
    {"recursive mutex", make_nothing, play_rmutex, 0},
    {"barrier", make_barrier, play_barrier, 0},
    {"once", make_nothing, play_once, LW_ONCE_RAN},
    {"counter", make_nothing, play_counter, THREADS *CALLS},
    {"wait group", make_nothing, play_waitgroup, 0},
    {"latch", make_latch, play_latch, 0},
    {"condition", make_nothing, play_cond, 0},
};

static void play(void *argument)
{
    struct player *player = argument;
    for (int call = 0; call < CALLS; call++) {
        __atomic_store_n(&player->call, call, __ATOMIC_RELAXED);
        player->program(player);
    }
    add(&player->room->running, -1);
}

/* Fires the cancels of calls that go on, as long as anybody plays. */
static void fire_now_and_then(struct player *players, uint32_t seed)
{
    const int64_t end = now_ns() + STRANDED_NS;
    while (look(&players[0].room->running) && now_ns() < end) {
        struct player *player = &players[next_random(&seed) % THREADS];
        lw_cancel_fire(&player->cancels[look(&player->call)]);
        const int64_t until = now_ns() + next_random(&seed) % 50000;
        while (now_ns() < until)
            ;
    }
}

/* What the state means besides marks, generations and rounds. */
static uint32_t meaning(const struct subject *subject, const struct room *room)
{
    const uint32_t state = room->it.sem.word[0] & ~LW_WAITERS;
    if (subject->program == play_event)
        return state & LW_EVENT_SET;
    if (subject->program == play_waitgroup)
        return state & LW_WAITGROUP_MAX;
    return subject->program == play_barrier || subject->program == play_cond ? 0 : state;
}

static void run(const struct subject *subject, uint32_t seed)
{
    static struct room room;
    static struct player players[THREADS];
    memset(&room, 0, sizeof room);
    memset(players, 0, sizeof players);
    room.running = THREADS;
    subject->make(&room);
    for (uint32_t i = 0; i < THREADS; i++) {
        players[i].room = &room;
        players[i].program = subject->program;
        players[i].seed = seed * THREADS + i;
        start(&players[i].helper, play, &players[i]);
    }
    fire_now_and_then(players, seed);
    for (size_t i = 0; i < THREADS; i++) {
        if (look(&room.running))
            fail_msg("%s: %d calls do not end", subject->name, look(&room.running));
        join(&players[i].helper);
        if (players[i].error)
            fail_msg("%s: %s", subject->name, players[i].error);
    }
    assert_int_equal(meaning(subject, &room), subject->left);
    if (subject->program == play_barrier)
        assert_true(room.cells[0] / THREADS <= room.cells[1] &&
                    room.cells[1] <= (room.cells[0] + THREADS - 1) / THREADS);
    if (subject->program == play_cond) {
        assert_int_equal(room.cells[0], room.cells[2]);
        assert_int_equal(room.it.cond.word[LW_COND_WAITERS], 0);
        assert_int_equal(room.mutex.word[LW_MUTEX_STATE], 0);
    }
}

TEST(whatever_is_called_it_keeps_its_promises_and_everybody_ends)
{
    const char *runs = getenv("PROPERTY_RUNS");
    for (uint32_t i = 0; i < (runs ? (uint32_t)atoi(runs) : RUNS); i++) {
        for (uint32_t k = 0; k < COUNT_OF(subjects); k++)
            run(&subjects[k], 16 * i + k);
    }
}

RUN_TESTS("property")
