/*
 * spin.c: waiting for a mutex awake.
 *
 * To sleep and be woken takes longer than most sections, and the unlock pays for the wake. So a thread tries for some tens of
 * microseconds before it sleeps. Each attempt is a newcomer's, so that the mutex's rules know nothing of this file; nor does
 * anything but time depend on it. What it does between two attempts is what measured best (docs/design.md, 'Awake'):
 *
 *   - It looks closely, and takes the mutex as soon as it is free. That is right if the section is longer than a cache line's way
 *     from one CPU to another. In a shorter one it only takes the line away from those who make good use of it. They show by being
 *     faster: who saw the mutex free, and thrice did not get it, is shy for a while, looks seldom, and lets them.
 *   - It yields the CPU, since whom it waits for may be next on it. One that never has to wait for long yields, too, once in a
 *     quantum: so those who share a CPU take turns within microseconds instead of the scheduler's milliseconds, and nobody needs to
 *     sleep for that.
 *   - Yields that take milliseconds say that a busy stranger shares the CPU. Each yield is the stranger's next slice, whereas
 *     one who sleeps runs soon after it is woken. So for a while it does not yield, and sleeps sooner.
 */
#define _GNU_SOURCE
#include "platform.h"

#include <sched.h>

#include <lockword/core/mutex.h>

#define ROUNDS 16           /* of looking and yielding, before it sleeps; */
#define ROUNDS_IN_A_CROWD 8 /* and where it does not yield */
#define LOOKING_NS 1000     /* one round's closer look */
#define LOST_RACES 3        /* in one round make it shy, ... */
#define SHY_ROUNDS 200      /* for so many rounds to come, ... */
#define SHY_AT_ONCE 6       /* but for the first ones only, of those that it waits for one mutex */
#define QUANTUM_NS 20000    /* without a yield */
#define PAUSE_NS 250        /* instead of a yield */
#define LONG_YIELD_NS 2000000
#define STRANGERS_COME_BACK_NS 50000000 /* another such yield within so long is theirs, too */
#define CROWDED_YIELDS 8                /* how many times as long as such a yield it does not yield again */

#if defined(__x86_64__) || defined(__i386__)
#define relax() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define relax() __asm__ volatile("isb" ::: "memory")
#else
#define relax() __asm__ volatile("" ::: "memory")
#endif

static __thread struct {
    int64_t rested;        /* when it last yielded */
    int64_t crowded_until; /* when its CPU may be rid of busy strangers */
    int64_t last_long_yield;
    int shy; /* so many rounds yet */
} me __attribute__((tls_model("initial-exec")));

/* Whether others may run while this thread looks. */
static bool others_run;

__attribute__((constructor)) static void count_cpus(void)
{
    cpu_set_t cpus;
    others_run = sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) > 1;
}

static bool is_crowded(int64_t now)
{
    return now < me.crowded_until;
}

/* Lets others run: on this CPU, or, in a crowd, on the other ones. Answers the time. */
static int64_t rest(int64_t before)
{
    int64_t now;
    if (is_crowded(before)) {
        do {
            relax();
            now = lw_now();
        } while (now < before + PAUSE_NS);
        return now;
    }
    lw_pause();
    now = me.rested = lw_now();
    if (now - before > LONG_YIELD_NS) {
        /* Not after one alone: a host that stops this machine for a moment is no stranger. */
        if (now - me.last_long_yield < STRANGERS_COME_BACK_NS)
            me.crowded_until = now + CROWDED_YIELDS * (now - before);
        me.last_long_yield = now;
    }
    return now;
}

/* Whether to wait awake: not beside those who sleep, who would be overtaken; nor for oneself. */
static bool is_worth_it(const lw_word *mutex, uint32_t self)
{
    const uint32_t state = lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed);
    return !(state & (LW_MUTEX_BLOCKED | LW_MUTEX_RESERVED)) && (state & LW_MUTEX_OWNER) != self;
}

/* Takes the mutex as soon as it is free. Not if it takes long, and not if others are faster. */
static bool take_by_looking(lw_word *mutex, uint32_t self, int64_t *now)
{
    const int64_t end = *now + LOOKING_NS;
    int lost = 0;
    do {
        relax();
        if (lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed) == 0) {
            if (lw_mutex_take(mutex, self))
                return true;
            if (++lost == LOST_RACES) {
                me.shy = SHY_ROUNDS;
                return false;
            }
        }
        *now = lw_now();
    } while (*now < end);
    return false;
}

bool lw_take_soon(lw_word *mutex, uint32_t self, lw_deadline deadline)
{
    if (!is_worth_it(mutex, self))
        return false;
    int64_t now = lw_now();
    if (now < deadline && now - me.rested > QUANTUM_NS && !is_crowded(now)) {
        now = rest(now);
        if (lw_mutex_take(mutex, self))
            return true;
    }
    for (int round = 0; round < (is_crowded(now) ? ROUNDS_IN_A_CROWD : ROUNDS) && now < deadline; round++) {
        if (me.shy > 0 && round < SHY_AT_ONCE) {
            me.shy--;
            now = rest(now);
        } else if (others_run && take_by_looking(mutex, self, &now)) {
            return true;
        }
        now = rest(now);
        if (lw_mutex_take(mutex, self))
            return true;
        if (!is_worth_it(mutex, self))
            return false;
    }
    return false;
}
