/*
 * awake.c: what a thread does before it sleeps.
 *
 * To fall asleep and be woken takes longer than most sections last, and the thread that unlocks
 * pays for the wake-up. So a thread spins for some tens of microseconds first. What it does between
 * two attempts is what measured best: docs/experiments.md.
 *
 * For a mutex:
 *
 *   - It spins closely, and takes the mutex as soon as it is free. That is right if a section is
 *     longer than a cache line takes from one CPU to another. In a shorter section the spinner only
 *     takes the line away from the threads that make good use of it. Those are faster than the
 *     spinner, and by that it knows them: a thread that loses three races in one round backs off,
 *     and polls less often for the next 200 rounds.
 *   - It yields, since the thread that it waits for may be next on this CPU. A thread that never
 *     has to wait for long yields, too, once in a quantum. So threads that share a CPU take turns
 *     within microseconds instead of the scheduler's milliseconds, and none needs to sleep for it.
 *   - Two yields that take milliseconds say that the CPU is oversubscribed. There each yield lasts
 *     as long as the busy thread's next time slice, whereas a thread that sleeps runs soon after it
 *     is woken. So for a while it does not yield, and sleeps sooner.
 *
 * Each attempt is a newcomer's, so that the mutex's rules need not know of this.
 *
 * For everything else it tries a few times, and yields in between. A try and a yield that together
 * take half a millisecond say that the CPU is oversubscribed. Then, for many times as long, all
 * threads of the process sleep at once.
 */
#include "awake.h"

#include <lockword/core/mutex.h>

/* All constants: docs/experiments.md, 'Constants'. */

/* For a mutex. */
#define ROUNDS 16               /* spins and yields before a sleep */
#define OVERSUBSCRIBED_ROUNDS 8 /* the same on an oversubscribed CPU, without yields */
#define SPIN_NS 1000            /* how long the close spin of a round lasts */
#define LOST_RACES 3            /* so many lost races in one round make a thread back off */
#define BACKOFF_ROUNDS 200      /* it backs off in so many rounds to come, */
#define BACKOFF_AT_ONCE 6       /* but in at most so many of one wait for a mutex */
#define QUANTUM_NS 20000        /* a thread yields if it has not for so long */
#define PAUSE_NS 250            /* a pause that replaces a yield */
#define LONG_YIELD_NS 2000000   /* a yield of so long is a long one */
#define APART_NS 50000000       /* two long yields within so long: the CPU is oversubscribed, */
#define OVERSUBSCRIBED_FACTOR 8 /* for so many times as long as the second one lasted */

/* For everything else. */
#define TRIES 8
#define LONG_TRY_NS 500000 /* a try and a yield of so long: the CPU is oversubscribed, */
#define ASLEEP_FACTOR 16   /* and threads sleep at once for so many times as long */

/* For readers. On two CPUs, and nothing else was measured, no reader gets to the last back-off. */
#define BACKOFFS 4
#define BACKOFF_NS 1000

static LW_AGENT_LOCAL struct {
    int64_t last_yield;
    int64_t last_long_yield;
    int64_t oversubscribed_until;
    int backoff_rounds; /* how many are yet to come */
} me;

static bool others_run; /* other threads can run while this one spins */

LW_CONSTRUCTOR static void count_cpus(void)
{
    others_run = !lw_has_one_cpu();
}

/* Keeps the CPU, and leaves the word's cache line to other threads. Returns the time. */
static int64_t pause_until(int64_t until)
{
    int64_t now;
    do {
        LW_RELAX();
        now = lw_now();
    } while (now < until);
    return now;
}

static bool is_oversubscribed(int64_t now)
{
    return now < me.oversubscribed_until;
}

/*
 * Lets other threads run: on this CPU or, if it is oversubscribed, on the other ones. Returns the
 * time.
 */
static int64_t yield(int64_t before)
{
    if (is_oversubscribed(before))
        return pause_until(before + PAUSE_NS);
    lw_yield();
    const int64_t now = me.last_yield = lw_now();
    if (now - before > LONG_YIELD_NS) {
        /*
         * A single long yield may be a hypervisor's, which has stopped this machine for a moment.
         */
        if (now - me.last_long_yield < APART_NS)
            me.oversubscribed_until = now + OVERSUBSCRIBED_FACTOR * (now - before);
        me.last_long_yield = now;
    }
    return now;
}

/*
 * A thread may not spin beside threads that sleep, which it would overtake, nor if it holds the
 * mutex.
 */
static bool may_spin(const lw_word *mutex, uint32_t self)
{
    const uint32_t state = lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed);
    return !(state & (LW_MUTEX_BLOCKED | LW_MUTEX_RESERVED)) && (state & LW_MUTEX_OWNER) != self;
}

/*
 * Takes the mutex as soon as it is free, and returns true. Returns false if the round is over, or
 * other threads are faster.
 */
static bool spin_closely(lw_word *mutex, uint32_t self, int64_t *now)
{
    const int64_t end = *now + SPIN_NS;
    int lost = 0;
    do {
        LW_RELAX();
        if (lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed) == 0) {
            if (lw_mutex_take(mutex, self))
                return true;
            if (++lost == LOST_RACES) {
                me.backoff_rounds = BACKOFF_ROUNDS;
                return false;
            }
        }
        *now = lw_now();
    } while (*now < end);
    return false;
}

bool lw_spin_for_mutex(lw_word *mutex, uint32_t self, lw_deadline deadline)
{
    if (!may_spin(mutex, self))
        return false;
    int64_t now = lw_now();
    if (now < deadline && now - me.last_yield > QUANTUM_NS && !is_oversubscribed(now)) {
        now = yield(now);
        if (lw_mutex_take(mutex, self))
            return true;
    }
    for (int i = 0; i < (is_oversubscribed(now) ? OVERSUBSCRIBED_ROUNDS : ROUNDS) && now < deadline;
         i++) {
        if (me.backoff_rounds > 0 && i < BACKOFF_AT_ONCE) {
            me.backoff_rounds--;
            now = yield(now);
        } else if (others_run && spin_closely(mutex, self, &now)) {
            return true;
        }
        now = yield(now);
        if (lw_mutex_take(mutex, self))
            return true;
        if (!may_spin(mutex, self))
            return false;
    }
    return false;
}

/*
 * The time until which all threads sleep at once, in units of 2^20 ns (about a millisecond), modulo
 * 2^32, so that it fits into a word.
 */
static lw_word asleep_until;

#define UNIT_BITS 20
#define LONGEST_ASLEEP 4096u /* units */

static bool must_sleep_at_once(int64_t now)
{
    const uint32_t units = lw_load(&asleep_until, lw_relaxed) - (uint32_t)(now >> UNIT_BITS);
    return 0 < units && units <= LONGEST_ASLEEP; /* if more, the difference has wrapped */
}

static void sleep_at_once(int64_t now, int64_t ns)
{
    const int64_t units = ns >> UNIT_BITS;
    const uint32_t bounded = units < LONGEST_ASLEEP ? (uint32_t)units : LONGEST_ASLEEP;
    lw_store(&asleep_until, (uint32_t)(now >> UNIT_BITS) + bounded, lw_relaxed);
}

bool lw_may_try_again(struct lw_tries *tries, lw_deadline deadline)
{
    if (tries->count > 0)
        lw_yield();
    const int64_t now = lw_now();
    if (tries->count == 0 && must_sleep_at_once(now))
        return false;
    if (tries->count > 0 && now - tries->last >= LONG_TRY_NS) {
        sleep_at_once(now, ASLEEP_FACTOR * (now - tries->last));
        return false;
    }
    tries->last = now;
    return tries->count++ < TRIES && now < deadline;
}

bool lw_back_off(int lost, lw_deadline deadline)
{
    if (lost == BACKOFFS)
        return false;
    const lw_deadline until = lw_now() + (BACKOFF_NS << lost);
    pause_until(until < deadline ? until : deadline);
    return true;
}
