/*
 * awake.c: what a thread does before it sleeps.
 *
 * To fall asleep and be woken takes longer than most sections last, and the thread that unlocks
 * pays for the wake-up. So a thread spins for some tens of microseconds first. What it does between
 * two attempts is what measured best: docs/experiments.md.
 *
 * For a lock, that is, for a mutex, a write lock or permits, with owners or without, which a holder
 * gives back soon:
 *
 *   - A newcomer looks at the lock a few times before all else: two threads that take turns wait
 *     for less than the rest of this takes.
 *   - It spins closely, and takes the lock as soon as it is free. That is right if a section is
 *     longer than a cache line takes from one CPU to another. In a shorter section the spinner only
 *     takes the cache line away from the thread that makes good use of it: it sees the lock free,
 * and loses the race for it to the thread that has just unlocked it. If that happens too often, all
 * threads back off from this lock for some milliseconds, and look at it now and then. A thread that
 * does so comes at any moment, and may lose a race in longer sections, too. Such a race counts for
 * less: otherwise threads that have once backed off would never stop.
 *   - If a waiter sees the lock go from one other thread to the next, it is one of a crowd. Then
 *     for some milliseconds one thread at a time may touch the lock, the poller. The others rest
 *     away from its cache line. What is seen before a sleep and after it counts together: threads
 *     that find the word changed whenever they are about to sleep, and look only once in between,
 *     would never see that they are a crowd.
 *   - The first rest of a wait lasts as long as the thread's last wait, and each further one three
 *     quarters of the one before. So those that have waited for long look more often than those
 *     that have just come, and the more threads wait, the longer they rest.
 *   - A thread that spins closely in vain, and never sees the lock free or with another holder,
 *     waits for a long section: the holder may be asleep. After two such waits in a row, threads
 *     sleep at once for some milliseconds. Two waits at the same time are no two in a row: they may
 *     be for one holder that has lost its CPU, and threads that sleep at once do not yield.
 *   - A thread that was woken takes the role of the poller from any other one.
 *   - It yields, since the thread that it waits for may be next on this CPU. A thread that never
 *     has to wait for long yields, too, once in two quanta. So threads that share a CPU take turns
 *     within microseconds instead of the scheduler's milliseconds, and none needs to sleep for it.
 *     A thread that nobody shares its CPU with, as its last two yields told, yields less often. One
 *     does not tell: the scheduler may let this thread go on because others of its CPU had more.
 *   - A newcomer spins for longer if others ran in its yield. A section may last somewhat longer
 *     than a spin. If the threads of a CPU gave it to one another whenever the lock is about to be
 *     free, each turn would cost a yield.
 *   - A waiter that was woken in vain before does not yield first. It may share its CPU with the
 *     thread that has just unlocked, which would go on meanwhile, and take the lock again.
 *   - Two yields of a thread in a row that take milliseconds say that the CPUs are oversubscribed.
 *     A single one may be due to a program, or a hypervisor, that stopped a CPU for a moment: all
 *     threads of that CPU see one long yield then. Where a busy thread competes, a yield lasts as
 *     long as its next time slice, or no time if that thread has just had one, whereas a thread
 *     that sleeps runs soon after it is woken. So for a while no thread of the process yields, and
 *     all sleep sooner. If the next yield after that is long again, the next while is longer.
 *
 * Each attempt is a newcomer's, so that the lock's rules need not know of this. A thread that
 * returns from a sleep waits in the same way until the lock is free. Then its step takes it.
 *
 * For several permits at once it tries a few times, and pauses in between. Then its step claims
 * them, and the others wait for it. It does not yield: a thread that yields forfeits a slice on
 * Linux, and threads that ask for one permit mostly get it without a wait, and never yield.
 *
 * For everything else it tries a few times, and yields in between. A try and a yield that together
 * take half a millisecond say that the CPU is oversubscribed. Then, for many times as long, all
 * threads of the process sleep at once. They also do where threads that wait for locks do not
 * yield.
 */
#include "awake.h"

/* All constants: docs/experiments.md, 'Constants'. */

/* For a lock. */
#define ROUNDS 16             /* spins and yields before a sleep; half on an oversubscribed CPU */
#define SPIN_NS 1000u         /* how long the close spin of a round lasts, */
#define AFTER_OTHERS 2u       /* or so many times as long if others ran in the yield before */
#define LOST_RACES 3          /* all threads back off after so many lost races */
#define LOOKS 256             /* so many looks without one cancel a lost race */
#define RARE_LOOKS 16         /* the same while threads back off */
#define OVERTAKEN 4           /* so many changes of owner, seen in one wait, are a crowd */
#define IN_VAIN 2u            /* so many spins in vain, one after the other: sections are long */
#define PERIOD 4u             /* how long each holds for a lock, in units of 2^20 ns */
#define QUANTUM_NS 20000      /* the longest rest */
#define QUANTA 2              /* a thread yields if it has not for so many quanta, */
#define ALONE 16              /* or for so many, if it is alone on its CPU */
#define LONG_YIELD_NS 2000000 /* a yield of more is a long one */
#define LONG_YIELDS 2         /* so many in a row: the CPUs are oversubscribed, */
#define OVERSUBSCRIBED_FACTOR 8u /* for so many times as long as the second one lasted. If the */
                                 /* next one is long, too, so many times as long again, */
#define LONGEST 1024u            /* up to so many units */

/* The shortest pause. The longest one lasts a quantum. */
#define PAUSE_NS (SPIN_NS / 4)

/* For everything else. */
#define TRIES 8
#define LONG_TRY_NS 500000 /* a try and a yield of so long: the CPU is oversubscribed, */
#define ASLEEP_FACTOR 16   /* and threads sleep at once for so many times as long */

/* For readers. On two CPUs, and nothing else was measured, no reader gets to the last back-off. */
#define BACKOFFS 4
#define BACKOFF_NS 1000

static LW_AGENT_LOCAL struct {
    int64_t next_yield; /* when it is due, unless there is one before */
    bool was_alone;     /* in the last yield no other thread of this CPU ran */
    int long_yields;    /* in a row, the last one included */
    int64_t pause;      /* how long to pause in the next wait, among a crowd */
    int losses;         /* lost races, times LOOKS, less the other looks */
    uint32_t owner;     /* the last one that was seen in this wait */
    int changes;        /* of the owner, in this wait */
} me;

static bool has_several_cpus; /* other threads can run while this one spins */

LW_CONSTRUCTOR static void count_cpus(void)
{
    has_several_cpus = !lw_has_one_cpu();
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

/* Times that threads share are words, in units of 2^20 ns, about a millisecond, modulo 2^32. */
#define UNIT_BITS 20

static uint32_t units(int64_t ns)
{
    return (uint32_t)(ns >> UNIT_BITS);
}

/*
 * Returns whether the time in this word has yet to come: whether it is 1 to LONGEST units ahead,
 * modulo 2^32. Nothing holds for longer.
 */
static bool holds(const lw_word *until, int64_t now)
{
    return lw_load(until, lw_relaxed) - units(now) - 1 < LONGEST;
}

/* What the process knows of its CPUs. All threads read it, and it is seldom written. */
static struct {
    _Alignas(128) lw_word oversubscribed_until;
    lw_word oversubscribed_for;
} known_cpus;

static bool is_oversubscribed(int64_t now)
{
    return holds(&known_cpus.oversubscribed_until, now);
}

/* Returns whether a yield was so short that no other thread of this CPU wanted to run. */
static bool was_alone(int64_t began, int64_t ended)
{
    return ended - began < SPIN_NS;
}

/* Notes how long a yield of this thread lasted. One that took no time does not end a row. */
static void note_yield(int64_t began, int64_t ended)
{
    if (ended - began <= LONG_YIELD_NS) {
        if (!was_alone(began, ended))
            me.long_yields = 0;
        return;
    }
    const uint32_t until = lw_load(&known_cpus.oversubscribed_until, lw_relaxed);
    uint32_t lasts = lw_load(&known_cpus.oversubscribed_for, lw_relaxed);
    me.long_yields++;
    /* The last while ended no longer ago than it had lasted. */
    if (units(began) - until < lasts)
        lasts *= OVERSUBSCRIBED_FACTOR;
    else if (me.long_yields >= LONG_YIELDS)
        lasts = OVERSUBSCRIBED_FACTOR * units(ended - began);
    else
        return;
    lasts = lasts < LONGEST ? lasts : LONGEST;
    lw_store(&known_cpus.oversubscribed_for, lasts, lw_relaxed);
    lw_store(&known_cpus.oversubscribed_until, units(ended) + lasts, lw_relaxed);
}

/*
 * What the threads of the process know of a lock, or of all locks that have this entry by their
 * addresses. If it is wrong for one of them, that costs time only. The words of the first cache
 * line are read by all and seldom written.
 */
#define KNOWN_LOCKS 64 /* a power of two */

static struct known_lock {
    _Alignas(128) lw_word short_until; /* sections are short: threads back off */
    lw_word crowded_until;
    lw_word long_until;           /* sections are long: threads sleep at once */
    lw_word in_vain;              /* spins in vain since the last one that took the lock */
    _Alignas(128) lw_word poller; /* since when there is one, ns; 0: none */
} known_locks[KNOWN_LOCKS];

static struct known_lock *known_lock_of(const lw_word *words)
{
    return &known_locks[((uintptr_t)words >> 6) % KNOWN_LOCKS];
}

/* `until` is the unit after a period's last one, modulo 2^32. */
static void set_for_a_period(lw_word *until, int64_t now)
{
    lw_store(until, units(now) + PERIOD, lw_relaxed);
}

/*
 * One wait for a lock. A newcomer takes it. A waiter that has returned from a sleep only looks
 * whether its step can.
 */
struct spin {
    const struct lw_held *held;
    lw_word *words;
    uint32_t wanted;
    uint32_t result; /* of a take */
    bool is_newcomer;
    bool has_lost;     /* a race */
    bool just_yielded; /* before the first round */
    bool others_ran;   /* in its last yield */
    int wakes;         /* by a notify; 0: it was not woken now */
    uint32_t in_vain;  /* what the lock's word was when the wait began */
    uint32_t poller;   /* what the role's word is while this thread has the role; 0: it has not */
    struct known_lock *known; /* of the lock */
    int64_t now;              /* when the clock was read last */
};

/*
 * Tries to become the poller of a crowd. A waiter that was woken takes the role from any other one,
 * since it would have to sleep behind all others again.
 */
static bool becomes_poller(struct spin *spin)
{
    lw_word *poller = &spin->known->poller;
    const uint32_t now = (uint32_t)spin->now | 1; /* 0: no poller */
    const uint32_t since = lw_load(poller, lw_relaxed);
    /*
     * A close spin lasts AFTER_OTHERS * SPIN_NS at most. An older poller has lost its CPU, or was
     * another thread of the process that forked. One that read the clock after this thread did may
     * seem to be of the future: that is the third SPIN_NS.
     */
    const bool is_taken = since != 0 && now - since + SPIN_NS <= 3u * SPIN_NS;
    if ((is_taken && !spin->wakes) || lw_cas(poller, since, now, lw_relaxed) != since)
        return false;
    spin->poller = now;
    return true;
}

static bool is_poller(const struct spin *spin)
{
    return lw_load(&spin->known->poller, lw_relaxed) == spin->poller;
}

static void note_owner(struct spin *spin, uint32_t owner)
{
    if (me.owner && owner && owner != me.owner && ++me.changes % OVERTAKEN == 0)
        set_for_a_period(&spin->known->crowded_until, spin->now);
    me.owner = owner;
}

static uint32_t look(const struct spin *spin, uint32_t *owner)
{
    *owner = 0;
    return spin->held->look(spin->words, spin->wanted, owner);
}

/*
 * Notes a race that was lost, if the winner is the thread that has just unlocked. The winner is
 * another thread if it is not the owner that was seen last; in a crowd, also if none was seen.
 * Among several permits, any of their holders may have come back for the one that was free: there
 * races are lost in long sections, too.
 */
static void note_loss(struct spin *spin)
{
    if (spin->held->has_several)
        return;
    uint32_t winner;
    look(spin, &winner);
    if (winner && me.owner != winner && (me.owner || holds(&spin->known->crowded_until, spin->now)))
        return;
    me.losses += holds(&spin->known->short_until, spin->now) ? RARE_LOOKS : LOOKS;
    if (me.losses >= LOST_RACES * LOOKS) {
        me.losses = 0;
        set_for_a_period(&spin->known->short_until, spin->now);
    }
}

/*
 * Looks at the lock. A newcomer takes it if it is free, and this returns whether it has it. After a
 * sleep this returns whether the lock is free. A race that is lost directly after the first yield
 * tells nothing: a yield may last as long as another thread's turn.
 */
static bool attempt(struct spin *spin)
{
    uint32_t owner;
    const uint32_t seen = look(spin, &owner);
    const bool just_yielded = spin->just_yielded;
    spin->just_yielded = false;
    if (me.losses > 0)
        me.losses--;
    if (seen & LW_SEEN_HELD) {
        note_owner(spin, owner);
        return false;
    }
    if (!spin->is_newcomer)
        return true;
    if (seen != 0)
        return false;
    if (!spin->held->take(spin->words, spin->wanted, &spin->result)) {
        spin->has_lost = true;
        if (!just_yielded)
            note_loss(spin);
        return false;
    }
    return true;
}

/*
 * A newcomer may not overtake waiters for which the lock is kept, nor wait for itself. It may
 * overtake others that sleep.
 */
static bool may_spin(struct spin *spin)
{
    uint32_t owner;
    const uint32_t seen = look(spin, &owner);
    if (!me.owner)
        me.owner = owner;
    return !spin->is_newcomer || !(seen & LW_SEEN_BARRED);
}

/*
 * Takes the lock as soon as it is free, and returns true. Returns false if the round is over, or
 * if it has learnt that it should not spin closely.
 */
static bool spin_closely(struct spin *spin, bool crowded)
{
    const bool longer = spin->others_ran && spin->is_newcomer;
    const int64_t end = spin->now + (longer ? AFTER_OTHERS * SPIN_NS : SPIN_NS);
    do {
        LW_RELAX();
        if (attempt(spin))
            return true;
        if (holds(&spin->known->short_until, spin->now) ||
            (!crowded && holds(&spin->known->crowded_until, spin->now)))
            return false;
        /* Not at once: in a short section it would cost too much to look at one cache line more. */
        if (spin->poller && spin->now > end - SPIN_NS / 2 && !is_poller(spin))
            return false;
        spin->now = lw_now();
    } while (spin->now < end);
    return false;
}

/*
 * Tries to become the poller, where there is one: in a crowd. Of a lock whose holder has no name,
 * one cannot see that it goes from one to another: so there is a poller without a crowd, too, and
 * two that would be it are a crowd.
 */
static bool may_touch(struct spin *spin, bool *crowded)
{
    spin->poller = 0;
    if ((!*crowded && !spin->held->is_anonymous) || becomes_poller(spin))
        return true;
    if (!*crowded) {
        set_for_a_period(&spin->known->crowded_until, spin->now);
        *crowded = true;
    }
    return false;
}

/* Lets other threads run: on this CPU or, if it is oversubscribed, on the other ones. */
static void yield(struct spin *spin)
{
    const int64_t before = spin->now;
    spin->others_ran = false;
    if (is_oversubscribed(before)) {
        spin->now = pause_until(before + PAUSE_NS);
        return;
    }
    lw_yield();
    spin->now = lw_now();
    const bool alone = was_alone(before, spin->now);
    me.next_yield = spin->now + (alone && me.was_alone ? ALONE : QUANTA) * QUANTUM_NS;
    me.was_alone = alone;
    spin->others_ran = !alone;
    note_yield(before, spin->now);
}

/*
 * Yields until this time. If no other thread of this CPU wants to run, it pauses instead, away from
 * the lock's cache line, and returns true.
 */
static bool rest_until(struct spin *spin, int64_t until)
{
    while (spin->now < until) {
        yield(spin);
        if (!spin->others_ran) {
            if (has_several_cpus)
                spin->now = pause_until(until);
            return true;
        }
    }
    return false;
}

static int64_t shorter(int64_t pause)
{
    return pause / 4 * 3 > PAUSE_NS ? pause / 4 * 3 : PAUSE_NS;
}

/*
 * Returns the pause for the next wait. A thread that finds the lock free directly after its first
 * pause has paused for too long.
 */
static int64_t next_pause(const struct spin *spin, int64_t began, int64_t rested)
{
    if (!spin->is_newcomer)
        return me.pause;
    const int64_t pause = spin->now == rested ? me.pause / 2 : spin->now - began;
    return pause < QUANTUM_NS ? pause : QUANTUM_NS;
}

/* What is known of short sections and of a crowd is surer than what one thread has seen. */
static bool is_long(const struct spin *spin)
{
    return holds(&spin->known->long_until, spin->now) &&
           !holds(&spin->known->short_until, spin->now) &&
           !holds(&spin->known->crowded_until, spin->now);
}

/* Notes a wait in vain, unless another one has been noted since it began. */
static void note_vain(const struct spin *spin)
{
    const uint32_t before = spin->in_vain;
    const uint32_t in_vain = before + 1 < IN_VAIN ? before + 1 : 0;
    if (lw_cas(&spin->known->in_vain, before, in_vain, lw_relaxed) == before && in_vain == 0)
        set_for_a_period(&spin->known->long_until, spin->now);
}

static void note_success(struct known_lock *known)
{
    if (lw_load(&known->in_vain, lw_relaxed) != 0)
        lw_store(&known->in_vain, 0, lw_relaxed);
}

/* Before the first round. A waiter that was woken in vain before does not yield here. */
static void yield_if_due(struct spin *spin, lw_deadline deadline)
{
    if (spin->wakes >= 2 || spin->now >= deadline || spin->now <= me.next_yield ||
        is_oversubscribed(spin->now))
        return;
    yield(spin);
    spin->just_yielded = true;
}

/*
 * The rounds of one wait. In each a thread spins closely, and yields then; or, where it should not
 * spin closely, it rests, and looks once. In a crowd it first becomes the poller; if it cannot, it
 * rests until the next round. Returns as `attempt` does.
 */
static bool spin_for(struct spin *spin, lw_deadline deadline)
{
    if (!may_spin(spin))
        return false;
    spin->now = lw_now();
    if (is_long(spin))
        return false;
    yield_if_due(spin, deadline);
    const int64_t began = spin->now;
    spin->in_vain = lw_load(&spin->known->in_vain, lw_relaxed);
    int64_t rested = 0; /* when it had rested for the first time */
    int64_t pause = spin->is_newcomer && me.pause > PAUSE_NS ? me.pause : PAUSE_NS;
    bool rests = false;
    const int changes = me.changes;
    const bool oversubscribed = is_oversubscribed(spin->now);
    const int rounds = oversubscribed ? ROUNDS / 2 : ROUNDS;
    for (int i = 0; i < rounds && spin->now < deadline; i++) {
        bool crowded = holds(&spin->known->crowded_until, spin->now);
        const bool closely = has_several_cpus && !holds(&spin->known->short_until, spin->now);
        if (rests || !closely) {
            if (rest_until(spin, spin->now + pause))
                pause = shorter(pause);
            rested = rested ? rested : spin->now;
        }
        rests = !may_touch(spin, &crowded);
        if (rests)
            continue;
        const bool taken = closely ? spin_closely(spin, crowded) : attempt(spin);
        if (spin->poller)
            lw_cas(&spin->known->poller, spin->poller, 0, lw_relaxed);
        if (taken) {
            me.pause = next_pause(spin, began, rested);
            /* A woken thread that finds the lock free at once has not spun. */
            if (spin->is_newcomer || spin->now != began)
                note_success(spin->known);
            return true;
        }
        if (!may_spin(spin))
            return false;
        if (closely)
            yield(spin);
    }
    me.pause = next_pause(spin, began, 0);
    if (!oversubscribed && spin->now < deadline && !rested && !spin->has_lost &&
        me.changes == changes)
        note_vain(spin);
    return false;
}

/* Not where threads back off, are a crowd, or sleep at once, nor if a yield is due. */
bool lw_may_look(const lw_word *words)
{
    const struct known_lock *known = known_lock_of(words);
    const int64_t now = lw_now();
    return has_several_cpus && now <= me.next_yield && !holds(&known->short_until, now) &&
           !holds(&known->crowded_until, now) && !holds(&known->long_until, now);
}

void lw_note_taken(const lw_word *words)
{
    note_success(known_lock_of(words));
}

bool lw_spin_for(const struct lw_held *held, lw_word *words, uint32_t wanted, lw_deadline deadline,
                 uint32_t *result)
{
    /* The caller may have lost a race for one permit beside others. */
    if (held->is_anonymous && held->take(words, wanted, result))
        return true;
    struct spin spin = {.held = held,
                        .words = words,
                        .wanted = wanted,
                        .is_newcomer = true,
                        .known = known_lock_of(words)};
    me.owner = 0;
    me.changes = 0;
    const bool taken = spin_for(&spin, deadline);
    *result = spin.result;
    return taken;
}

void lw_spin_until_free(const struct lw_held *held, lw_word *words, uint32_t wanted, int wakes,
                        lw_deadline deadline)
{
    struct spin spin = {.held = held,
                        .words = words,
                        .wanted = wanted,
                        .wakes = wakes,
                        .known = known_lock_of(words)};
    spin_for(&spin, deadline);
}

bool lw_take_soon(const struct lw_held *held, lw_word *words, uint32_t wanted, lw_deadline deadline,
                  uint32_t *result)
{
    int64_t now = lw_now();
    for (int i = 0; has_several_cpus && i < TRIES && now < deadline; i++) {
        if (held->take(words, wanted, result))
            return true;
        now = pause_until(now + PAUSE_NS);
    }
    return false;
}

/* Until when all threads sleep at once. */
static lw_word asleep_until;

static bool is_beside_busy_threads(int64_t now)
{
    return is_oversubscribed(now) || holds(&asleep_until, now);
}

static void sleep_at_once(int64_t now, int64_t ns)
{
    lw_store(&asleep_until, units(now) + (units(ns) < LONGEST ? units(ns) : LONGEST), lw_relaxed);
}

bool lw_may_try_again(struct lw_tries *tries, lw_deadline deadline)
{
    if (tries->count > 0)
        lw_yield();
    const int64_t now = lw_now();
    if (tries->count == 0 && is_beside_busy_threads(now))
        return false;
    if (tries->count > 0 && now - tries->last >= LONG_TRY_NS) {
        sleep_at_once(now, ASLEEP_FACTOR * (now - tries->last));
        note_yield(tries->last, now);
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

bool lw_is_beside_busy_threads(void)
{
    return is_beside_busy_threads(lw_now());
}
