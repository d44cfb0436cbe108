/*
 * awake.h: the waiting policy. How long an agent spins before it sleeps, how it makes room for
 * agents that run meanwhile, and how long a sleep lasts. Nothing but time depends on it: drivers
 * and interfaces ask it what to do next, and steps know nothing of it.
 *
 * Its terms, here and in JavaScript:
 *
 *   spin            poll a word again and again, without sleeping
 *   back off        leave the word's cache line to other CPUs for a while
 *   yield           let another thread run on this CPU
 *   oversubscribed  a CPU that more threads want, of which some have nothing to do with the lock
 */
#ifndef LOCKWORD_AWAKE_H
#define LOCKWORD_AWAKE_H

#include "platform.h"

/*
 * How long a sleep lasts at most, by what the step asked for (lockword/core/step.h), ns:
 *
 *   LW_SLICE_NS  an LW_WAIT, the first time; each further time twice as long, up to LW_IDLE_NS.
 *                Directly after a re-check, only beside busy threads; else LW_IDLE_NS
 *   LW_IDLE_NS   an LW_WAIT_IDLE
 *   LW_BRIEF_NS  an LW_WAIT_BRIEF
 *   LW_LOOK_NS   a wait on several words, before the first look at those that the platform cannot
 *                wait on
 */
#if LW_ENGINE
/* A terminated agent may have consumed a notify, so every wait re-checks; seldom, as that costs. */
#define LW_SLICE_NS 1000000000
#define LW_IDLE_NS 1000000000
#define LW_LOOK_NS 4000000
#else
/* A thread does not die alone, so that no notify is lost. */
#define LW_SLICE_NS 500000
#define LW_IDLE_NS LW_FOREVER
#define LW_LOOK_NS 1000000
#endif
#define LW_BRIEF_NS 500000

/* What a spinner sees of a lock. 0: a newcomer may take it. */
enum lw_seen {
    LW_SEEN_HELD = 1,   /* no agent may take it */
    LW_SEEN_CLOSED = 2, /* no newcomer may, but perhaps a waiter that has slept */
    LW_SEEN_BARRED = 4, /* no newcomer may for a long time: it should sleep */
};

/* What the policy asks of a lock, that is, of what a holder gives back soon. */
struct lw_held {
    /*
     * Looks, and returns what it has seen (enum lw_seen). *owner is 0 before. If one agent holds
     * the lock, and its id is known, this sets *owner to that id.
     */
    uint32_t (*look)(const lw_word *words, uint32_t wanted, uint32_t *owner);
    /*
     * Takes the lock for a newcomer if it is free. Returns whether it did. *result is what the step
     * would have told; of a step whose result nobody reads, it stays.
     */
    bool (*take)(lw_word *words, uint32_t wanted, uint32_t *result);
    bool is_anonymous; /* no holder's id is ever known */
    bool has_several;  /* it is known that several agents may have it at once */
};

/* How often a waiter has tried so far, and when it tried last. Zeros at first. */
struct lw_tries {
    int64_t last;
    int count;
};

#if LW_ENGINE

/* An engine has no yield, so C does not spin there. */
static inline void lw_spin_until_free(const struct lw_held *held, lw_word *words, uint32_t wanted,
                                      int wakes, lw_deadline deadline)
{
    (void)held, (void)words, (void)wanted, (void)wakes, (void)deadline;
}

static inline bool lw_may_try_again(struct lw_tries *tries, lw_deadline deadline)
{
    (void)tries, (void)deadline;
    return false;
}

static inline bool lw_back_off(int lost, lw_deadline deadline)
{
    (void)lost, (void)deadline;
    return false;
}

static inline bool lw_is_beside_busy_threads(void)
{
    return true;
}

#else

#pragma GCC visibility push(hidden)

/* Returns whether a newcomer should look at this lock a few times before all else. */
bool lw_may_look(const lw_word *words);

/* To be called when one of these looks has taken the lock. */
void lw_note_taken(const lw_word *words);

/* How many: docs/experiments.md, 'Constants'. */
#define LW_FIRST_LOOKS 16

/*
 * Takes the lock if one of the first looks finds it free. Returns whether it has; if not, spin.
 * Inlined where the lock is known: two threads that take turns wait for as long as some calls take.
 * Not for permits without owners: their threads would back off too seldom.
 */
static inline bool lw_take_at_once(const struct lw_held *held, lw_word *words, uint32_t wanted,
                                   uint32_t *result)
{
    if (held->is_anonymous || !lw_may_look(words))
        return false;
    for (int i = 0; i < LW_FIRST_LOOKS; i++) {
        uint32_t owner = 0;
        const uint32_t seen = held->look(words, wanted, &owner);
        if (seen == 0) {
            if (!held->take(words, wanted, result))
                return false;
            lw_note_taken(words);
            return true;
        }
        if (seen != LW_SEEN_HELD)
            return false;
        LW_RELAX();
    }
    return false;
}

/* Spins, backs off and yields. Returns whether it has taken the lock; if not, sleep now. */
bool lw_spin_for(const struct lw_held *held, lw_word *words, uint32_t wanted, lw_deadline deadline,
                 uint32_t *result);

/*
 * The same for a waiter that has returned from a sleep, and whose step comes next: returns when the
 * lock seems to be free, or when it is time to sleep again. `wakes` is 0 if no notify has ended the
 * sleep, else how many sleeps of this wait a notify has ended.
 */
void lw_spin_until_free(const struct lw_held *held, lw_word *words, uint32_t wanted, int wakes,
                        lw_deadline deadline);

/*
 * For what the step claims. Tries a few times, pauses in between, and never yields. Returns whether
 * it has taken the lock; if not, claim it now.
 */
bool lw_take_soon(const struct lw_held *held, lw_word *words, uint32_t wanted, lw_deadline deadline,
                  uint32_t *result);

/*
 * For a wait that no holder ends. Returns whether to try once more before a sleep. Yields first,
 * unless it is the first try.
 */
bool lw_may_try_again(struct lw_tries *tries, lw_deadline deadline);

/*
 * For a reader that has lost a race with other readers; `lost` is the number of races lost before.
 * Backs off, each time twice as long, and returns true. Returns false if it has backed off often
 * enough.
 */
bool lw_back_off(int lost, lw_deadline deadline);

/*
 * Returns whether busy threads share the CPU with this thread or with other waiters of the process,
 * as long yields have told. Then whoever is woken may not run for milliseconds, and re-checks give
 * the others their share meanwhile.
 */
bool lw_is_beside_busy_threads(void);

#pragma GCC visibility pop

#endif

#endif
