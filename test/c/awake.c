/*
 * awake.c: a thread that finds a lock held spins before it sleeps, and yields meanwhile; here, a
 * yield is a hook. Each test is of every kind of lock.
 */
#include "check.h"
#include "yields.h"

#include <errno.h>

#include <lockword/core/waiters.h>
#include <lockword/lockword.h>

#include "../../src/blocking.h"
#include "../../src/wait/awake.h"

/* An id that is no thread's: the kernel's ids end at 2^22. */
#define NOBODY 0x1fffffffu

/* No thread yields more often before it sleeps. */
#define MANY 64

static lw_mutex mutex;
static lw_sem sem;
static lw_rwlock rwlock;

static int lock(struct call *call)
{
    return lw_mutex_lock_cancel(&mutex, call->deadline, call->cancel);
}

static int acquire(struct call *call)
{
    return lw_sem_acquire_cancel(&sem, 1, call->deadline, call->cancel);
}

static int write_lock(struct call *call)
{
    return lw_rwlock_wrlock_cancel(&rwlock, call->deadline, call->cancel);
}

/* A lock, and values of its state. */
static const struct kind {
    lw_word *words;
    int (*lock)(struct call *call);
    uint32_t held;
    uint32_t held_by_another; /* has cleared the marks, as an unlock does */
    uint32_t free;
    uint32_t reserved;
} kinds[] = {
    {mutex.word, lock, NOBODY, NOBODY - 1, 0, LW_MUTEX_RESERVED},
    {sem.word, acquire, 0, 0, 1, LW_SEM_RESERVED},
    {rwlock.word, write_lock, LW_RWLOCK_WRITER, LW_RWLOCK_WRITER, 0, LW_RWLOCK_RESERVED},
};

static const struct kind *kind;

#define FOR_EACH_KIND for (kind = kinds; kind < kinds + COUNT_OF(kinds); kind++)

static uint32_t read_state(void)
{
    return __atomic_load_n(&kind->words[0], __ATOMIC_ACQUIRE);
}

static void write_state(uint32_t value)
{
    __atomic_store_n(&kind->words[0], value, __ATOMIC_RELEASE);
}

static void begin(uint32_t value, void (*between)(void))
{
    rwlock.word[LW_RWLOCK_OWNER] = NOBODY;
    write_state(value);
    yields = sleeps = 0;
    hook = between;
}

/* On a new thread: a thread remembers what it has met while it spun. */
static int lock_within(int64_t ms)
{
    struct call call = {.function = kind->lock, .deadline = lw_after_ms(ms)};
    start_call(&call);
    return end_call(&call);
}

static bool was_marked;

static void free_it_at_the_third(void)
{
    was_marked |= read_state() != kind->held && read_state() != kind->free;
    if (yields == 3)
        write_state(kind->free);
}

TEST(a_thread_that_finds_it_freed_has_left_no_mark_and_not_slept)
{
    FOR_EACH_KIND
    {
        begin(kind->held, free_it_at_the_third);
        was_marked = false;
        assert_int_equal(lock_within(10000), 0);
        assert_int_equal(yields, 3);
        assert_int_equal(sleeps, 0);
        assert_false(was_marked);
    }
}

TEST(a_thread_that_finds_it_held_sleeps_soon)
{
    FOR_EACH_KIND
    {
        begin(kind->held, NULL);
        assert_int_equal(lock_within(20), ETIMEDOUT);
        assert_in_range(yields, 1, MANY);
        assert_in_range(sleeps, 1, 1000);
    }
}

static void reserve_it_at_the_third(void)
{
    if (yields == 3)
        write_state(kind->held | LW_BLOCKED_WAITERS | kind->reserved);
}

TEST(a_thread_that_sees_that_it_is_reserved_sleeps)
{
    FOR_EACH_KIND
    {
        begin(kind->held, reserve_it_at_the_third);
        assert_int_equal(lock_within(20), ETIMEDOUT);
        assert_int_equal(yields, 3);

        begin(kind->held | kind->reserved, NULL);
        assert_int_equal(lock_within(20), ETIMEDOUT);
        assert_int_equal(yields, 0);
    }
}

static bool has_slept;

static void free_it_unmarked(void)
{
    if (has_slept && read_state() == kind->held_by_another)
        write_state(kind->free);
}

/* Otherwise each thread of a convoy would sleep at once, and each unlock would have to wake one. */
TEST(a_thread_that_is_woken_in_vain_spins_before_it_sleeps_again)
{
    FOR_EACH_KIND
    {
        has_slept = false;
        begin(kind->held, free_it_unmarked);
        struct call call = {.function = kind->lock, .deadline = lw_after_ms(10000)};
        start_sleeper(&call);
        has_slept = true;
        for (int i = 0; i < 100 && (read_state() & LW_BLOCKED_WAITERS); i++) {
            /* Between two re-checks it might see this before the notify, and mark it. */
            write_state(kind->held_by_another);
            lw_notify(&kind->words[0], 1);
            sleep_ms(20);
        }
        assert_int_equal(end_call(&call), 0);
    }
}

static lw_cancel cancel;
static int yields_once_cancelled;

static void count_those_once_cancelled(void)
{
    yields_once_cancelled += lw_cancel_fired(&cancel);
}

TEST(a_thread_that_is_cancelled_does_not_spin_first)
{
    FOR_EACH_KIND
    {
        begin(kind->held, count_those_once_cancelled);
        cancel = (lw_cancel)LW_CANCEL_INIT;
        struct call call = {.function = kind->lock, .deadline = LW_FOREVER, .cancel = &cancel};
        start_sleeper(&call);
        /* What it knows of the lock by now would keep it from spinning. */
        pass_ns(20 * NS_PER_MS);
        lw_cancel_fire(&cancel);
        assert_int_equal(end_call(&call), ECANCELED);
        assert_int_equal(yields_once_cancelled, 0);
    }
}

/*
 * One that asks for one permit mostly gets it without a wait, and never yields: it would get the
 * slices that the other one forfeits.
 */
TEST(a_thread_that_asks_for_several_permits_does_not_yield)
{
    kind = &kinds[1];
    begin(1, NULL);
    assert_int_equal(lw_sem_acquire_until(&sem, 2, lw_after_ms(20)), ETIMEDOUT);
    assert_int_equal(yields, 0);
    assert_in_range(sleeps, 1, 1000);
}

/* A lock whose holder always comes back first: a thread that sees it free loses the race. */
static lw_word lost[LW_MUTEX_WORDS];
static int looks;
static int64_t last_look;
static int64_t since_last_look;
static bool has_yielded;
static bool (*is_free)(void);

static uint32_t look(const lw_word *words, uint32_t wanted, uint32_t *owner)
{
    (void)words, (void)wanted;
    since_last_look = pass_ns(0) - last_look;
    last_look += since_last_look;
    looks++;
    *owner = NOBODY;
    return is_free() ? 0 : LW_SEEN_HELD;
}

static bool lose(lw_word *words, uint32_t wanted, uint32_t *result)
{
    (void)words, (void)wanted, (void)result;
    return false;
}

static const struct lw_held lost_race = {.look = look, .take = lose};

static bool is_always_free(void)
{
    return true;
}

static bool is_never_free(void)
{
    return false;
}

/* A thread that spins closely looks at the clock, and so lets 100 ns pass, between two looks. */
static bool is_free_after_a_rest(void)
{
    return since_last_look > 240;
}

static bool is_free_after_a_yield(void)
{
    const bool result = has_yielded;
    has_yielded = false;
    return result;
}

static void note_yield(void)
{
    has_yielded = true;
}

/* Waits for so long. Returns whether the thread has spun closely, that is, has looked often. */
static bool spins_closely(int64_t ns)
{
    uint32_t result;
    looks = 0;
    assert_false(lw_spin_for(&lost_race, lost, 0, lw_after_ns(ns), &result));
    return looks > MANY;
}

/* A thread that rests looks at any moment, and may lose a race although the section is long. */
TEST(threads_that_have_backed_off_spin_closely_again)
{
    if (lw_has_one_cpu())
        skip();
    hook = NULL;
    is_free = is_always_free;
    spins_closely(NS_PER_MS);
    assert_false(spins_closely(NS_PER_MS));

    bool closely = false;
    const int64_t end = pass_ns(0) + 20 * NS_PER_MS;
    for (int n = 0; !closely && pass_ns(0) < end; n++) {
        is_free = n % 32 ? is_never_free : is_free_after_a_rest;
        closely = spins_closely(NS_PER_MS);
    }
    assert_true(closely);
}

TEST(a_race_that_is_lost_directly_after_a_yield_tells_nothing)
{
    if (lw_has_one_cpu())
        skip();
    hook = note_yield;
    is_free = is_free_after_a_yield;
    for (int n = 0; n < 8; n++) {
        pass_ns(NS_PER_MS / 20);
        spins_closely(500);
    }
    is_free = is_never_free;
    assert_true(spins_closely(NS_PER_MS));
}

static bool win(lw_word *words, uint32_t wanted, uint32_t *result)
{
    (void)words, (void)wanted, (void)result;
    return true;
}

static const struct lw_held won_race = {.look = look, .take = win};

static bool is_free_at_the_third_look(void)
{
    return looks == 3;
}

static bool is_taken_at_once(void)
{
    uint32_t result;
    looks = 0;
    return lw_take_at_once(&won_race, lost, 0, &result);
}

/* All that holds for a period is over, and this thread has just yielded. */
static void forget_what_is_known_of_the_lock(void)
{
    uint32_t result;
    pass_ns(20 * NS_PER_MS);
    is_free = is_always_free;
    assert_true(lw_spin_for(&won_race, lost, 0, LW_FOREVER, &result));
}

TEST(a_newcomer_looks_before_all_else_unless_a_yield_is_due)
{
    if (lw_has_one_cpu())
        skip();
    hook = NULL;
    forget_what_is_known_of_the_lock();
    is_free = is_free_at_the_third_look;
    assert_true(is_taken_at_once());
    assert_int_equal(looks, 3);
    is_free = is_never_free;
    assert_false(is_taken_at_once());
    assert_int_equal(looks, LW_FIRST_LOOKS);
    pass_ns(NS_PER_MS);
    assert_false(is_taken_at_once());
    assert_int_equal(looks, 0);
}

TEST(threads_that_back_off_do_not_look_at_once)
{
    if (lw_has_one_cpu())
        skip();
    hook = NULL;
    forget_what_is_known_of_the_lock();
    assert_true(is_taken_at_once());
    spins_closely(NS_PER_MS);
    assert_false(is_taken_at_once());
    assert_int_equal(looks, 0);
}

TEST(threads_that_sleep_at_once_do_not_look_first)
{
    if (lw_has_one_cpu())
        skip();
    hook = NULL;
    forget_what_is_known_of_the_lock();
    is_free = is_never_free;
    spins_closely(NS_PER_MS);
    assert_true(spins_closely(NS_PER_MS));
    assert_false(is_taken_at_once());
    assert_int_equal(looks, 0);
}

static lw_answer wait_step(lw_word *words, uint32_t wanted, uint32_t why, lw_phase phase)
{
    (void)words, (void)wanted, (void)phase;
    return lw_answer_of(lw_gives_up(why) ? LW_GAVE_UP : LW_WAIT, 0, 0, 0);
}

TEST(a_newcomer_that_has_no_time_looks_once)
{
    const struct lw_operation operation = {wait_step, lost, 0};
    hook = NULL;
    forget_what_is_known_of_the_lock();
    is_free = is_never_free;
    looks = 0;
    assert_int_equal(lw_hold(&lost_race, operation, LW_NOW, NULL).ending, LW_ENDED_TIMED_OUT);
    assert_int_equal(looks, 1);
}

/* Takes the lock a hundred times in a millisecond, and returns how often the thread yields. */
static int yields_in_a_millisecond(void (*between)(void))
{
    uint32_t result;
    hook = between;
    is_free = is_always_free;
    yields = 0;
    for (int i = 0; i < 100; i++) {
        pass_ns(NS_PER_MS / 100);
        if (!is_taken_at_once())
            assert_true(lw_spin_for(&won_race, lost, 0, LW_FOREVER, &result));
    }
    return yields;
}

static void run_for_a_while(void)
{
    pass_ns(5000);
}

TEST(a_thread_yields_once_in_a_quantum_and_seldom_if_it_is_alone)
{
    if (lw_has_one_cpu())
        skip();
    forget_what_is_known_of_the_lock();
    assert_in_range(yields_in_a_millisecond(run_for_a_while), 8, 50);
    yields_in_a_millisecond(NULL);
    assert_in_range(yields_in_a_millisecond(NULL), 2, 4);
}

/* What a busy thread of another program does to a thread that yields to it. */
static void take_long(void)
{
    pass_ns(4 * NS_PER_MS);
}

/* For tens of milliseconds after two, and then after one more for hundreds of them. */
TEST(threads_that_share_their_cpus_with_busy_ones_yield_thrice_in_all)
{
    int all = 0;
    for (int i = 0; i < 2; i++) {
        FOR_EACH_KIND
        {
            begin(kind->held, take_long);
            assert_int_equal(lock_within(40), ETIMEDOUT);
            assert_in_range(sleeps, 1, 1000);
            all += yields;
        }
    }
    assert_int_equal(all, 3);
}

static void let_it_go_on_after_a_long_one(void)
{
    if (yields % 3 == 1)
        take_long();
}

static void let_others_run_after_a_long_one(void)
{
    if (yields % 2 == 1)
        take_long();
    else
        run_for_a_while();
}

/* A scheduler lets a thread go on that had to wait for milliseconds before. */
TEST(a_yield_that_is_over_at_once_does_not_end_a_row_of_long_ones)
{
    pass_ns(INT64_C(4000) * NS_PER_MS);
    kind = &kinds[0];
    begin(kind->held, let_it_go_on_after_a_long_one);
    assert_int_equal(lock_within(200), ETIMEDOUT);
    assert_int_equal(yields, 4);
}

TEST(a_yield_in_which_others_run_ends_a_row_of_long_ones)
{
    pass_ns(INT64_C(4000) * NS_PER_MS);
    kind = &kinds[0];
    begin(kind->held, let_others_run_after_a_long_one);
    assert_int_equal(lock_within(200), ETIMEDOUT);
    assert_in_range(yields, 10, MANY);
}

TEST(a_thread_that_has_no_time_does_not_spin)
{
    FOR_EACH_KIND
    {
        begin(kind->held, NULL);
        struct call call = {.function = kind->lock, .deadline = LW_NOW};
        assert_int_equal(kind->lock(&call), ETIMEDOUT);
        assert_int_equal(yields, 0);
    }
}

RUN_TESTS("awake")
