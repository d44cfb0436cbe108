/*
 * care.h: what a thread or a loop that waits for a word of a region does besides (blocking.c,
 * loop.c).
 *
 * A thread's agent says what it waits for. Both look once a second for the dead, and then at
 * the words again, if no keeper has: the one that the kernel woke may have been stopped (keeper.c).
 * A loop hears of notifies by the region's bells.
 */
#ifndef LOCKWORD_REGION_CARE_H
#define LOCKWORD_REGION_CARE_H

#include "../blocking.h"
#include "../wait/platform.h"

#if LW_LINUX

/* These are no symbols of the shared library. */
#pragma GCC visibility push(hidden)

#define LW_CARE_NS 1000000000

/*
 * All waiters look within LW_LOOKS_NS after a whole second. A waiter that has waited twice as long
 * as another one looks LW_LOOKS_STEP_NS earlier.
 */
#define LW_LOOKS_NS 50000000
#define LW_LOOKS_STEP_NS 2500000

struct lw_care {
    lw_deadline look; /* when to return LW_TIMED_OUT from the wait at the latest */
    uint64_t begun;   /* for which words an agent has said that it waits, a bit each */
    /* The alarm of the process that has what is waited for, if there is one: one word more. */
    const struct lw_waited *alarm;
};
_Static_assert(LW_BLOCK_MAX <= 64, "a bit for each word");

/*
 * Set when a region is opened, and not before: a program that opens none links none of what they
 * need. `begin` returns whether the thread's agent has said what it waits for: it says one thing
 * for all words of a region, since any of their notifies wakes it. `alarm` sets which word besides
 * to wait on, if any; it changes when that process has died, and when it was buried.
 */
struct lw_carer {
    bool (*begin)(struct lw_region *region, const lw_word *word);
    void (*end)(struct lw_region *region);
    bool (*alarm)(struct lw_region *region, const lw_word *word, struct lw_waited *alarm);
    int (*listen)(struct lw_region *region);
    void (*look)(struct lw_region *region, const lw_word *word);
};
extern const struct lw_carer *lw_carer;
extern const struct lw_carer lw_region_carer;

#pragma GCC visibility pop

/*
 * In how many ns a thread that has waited since then looks next. Whoever looks goes to the end of
 * the kernel's queue. So all do it in about the order in which they came, and are in that order
 * again a moment later. Otherwise the order would be that of their last looks, whoever came first.
 */
static inline int64_t lw_care_ns(lw_deadline since)
{
    const lw_deadline now = lw_now();
    const lw_deadline second = (now / LW_CARE_NS + 1) * LW_CARE_NS;
    /* How long it has waited then, and a second more, in units of 2^20 ns: the logarithm of it. */
    const uint64_t age = 1024 + ((uint64_t)(second - since) >> 20);
    const int octave = 63 - __builtin_clzll(age);
    const int64_t rest = (int64_t)(age - (UINT64_C(1) << octave));
    const int64_t earlier =
        (octave - 10) * (int64_t)LW_LOOKS_STEP_NS + (rest * LW_LOOKS_STEP_NS >> octave);
    return second - now + (earlier < LW_LOOKS_NS ? LW_LOOKS_NS - earlier : 0);
}

/*
 * There is room for one word more behind the n words; *all: how many there are to wait on. *since:
 * when the first of these waits began; 0: this is it.
 */
static inline struct lw_care lw_care_begin(struct lw_waited *waited, uint32_t n, uint32_t *all,
                                           lw_deadline *since)
{
    struct lw_care care = {LW_FOREVER, 0, NULL};
    *all = n;
    for (uint32_t i = 0; i < n; i++) {
        struct lw_region *region = lw_shared_by(waited[i].word);
        if (!region)
            continue;
        const struct lw_carer *carer = __atomic_load_n(&lw_carer, __ATOMIC_ACQUIRE);
        if (*since == 0)
            *since = lw_now();
        if (care.look == LW_FOREVER)
            care.look = lw_after_ns(lw_care_ns(*since));
        if (carer->begin(region, waited[i].word))
            care.begun |= (uint64_t)1 << i;
        if (!care.alarm && carer->alarm(region, waited[i].word, &waited[n])) {
            care.alarm = &waited[n];
            *all = n + 1;
        }
    }
    return care;
}

/* Returns whether it has looked for the dead. */
static inline bool lw_care_end(const struct lw_care *care, const struct lw_waited *waited,
                               uint32_t n)
{
    if (care->look == LW_FOREVER)
        return false;
    const struct lw_carer *carer = __atomic_load_n(&lw_carer, __ATOMIC_ACQUIRE);
    const bool rings =
        care->alarm && lw_load(care->alarm->word, lw_acquire) != care->alarm->expected;
    const bool looks = rings || lw_now() >= care->look;
    for (uint32_t i = 0; i < n; i++) {
        struct lw_region *region = lw_shared_by(waited[i].word);
        if (!region)
            continue;
        if (care->begun & (uint64_t)1 << i)
            carer->end(region);
        if (looks)
            carer->look(region, waited[i].word);
    }
    return looks;
}

/*
 * Before a loop waits for this word. Returns 0, or EAGAIN: the system refused the thread that
 * listens to the region's bells.
 */
static inline int lw_care_listen(const lw_word *word)
{
    struct lw_region *region = lw_shared_by(word);
    return region ? __atomic_load_n(&lw_carer, __ATOMIC_ACQUIRE)->listen(region) : 0;
}

/* Looks for the dead, before a loop looks again at this word of a region. */
static inline void lw_care_look(const lw_word *word)
{
    struct lw_region *region = lw_shared_by(word);
    if (region)
        __atomic_load_n(&lw_carer, __ATOMIC_ACQUIRE)->look(region, word);
}

#else

struct lw_care {
    lw_deadline look;
};

static inline struct lw_care lw_care_begin(struct lw_waited *waited, uint32_t n, uint32_t *all,
                                           lw_deadline *since)
{
    (void)waited, (void)since;
    *all = n;
    return (struct lw_care){LW_FOREVER};
}

static inline bool lw_care_end(const struct lw_care *care, const struct lw_waited *waited,
                               uint32_t n)
{
    (void)care, (void)waited, (void)n;
    return false;
}

#endif

#endif
