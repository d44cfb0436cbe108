/*
 * care.h: what a thread that waits for a word of a region does besides (blocking.c).
 *
 * Its agent says what it waits for. And it looks once a second for the dead, and then at the words
 * again, if no keeper has: the one that the kernel woke may have been stopped (keeper.c).
 */
#ifndef LOCKWORD_REGION_CARE_H
#define LOCKWORD_REGION_CARE_H

#include "../wait/platform.h"

#if LW_LINUX

/* These are no symbols of the shared library. */
#pragma GCC visibility push(hidden)

struct lw_care {
    struct lw_region *region; /* NULL: none of the words is a region's */
    struct agent *agent;      /* whose `busy` was set; or NULL */
    lw_deadline look;         /* when to return LW_TIMED_OUT from the wait at the latest */
};

/*
 * Set when a region is opened, and not before: a program that opens none links none of what they
 * need. The first one has a `region` already, of which `waited` is a word.
 */
struct lw_carer {
    void (*begin)(struct lw_care *care, const struct lw_waited *waited);
    void (*end)(const struct lw_care *care, const struct lw_waited *waited);
};
extern const struct lw_carer *lw_carer;
extern const struct lw_carer lw_region_carer;

#pragma GCC visibility pop

static inline struct lw_care lw_care_begin(const struct lw_waited *waited, uint32_t n)
{
    struct lw_care care = {NULL, NULL, LW_FOREVER};
    uint32_t i = 0;
    while (i < n && !(care.region = lw_shared_by(waited[i].word)))
        i++;
    if (care.region)
        __atomic_load_n(&lw_carer, __ATOMIC_ACQUIRE)->begin(&care, &waited[i]);
    return care;
}

static inline void lw_care_end(const struct lw_care *care, const struct lw_waited *waited)
{
    if (care->region)
        __atomic_load_n(&lw_carer, __ATOMIC_ACQUIRE)->end(care, waited);
}

#else

struct lw_care {
    lw_deadline look;
};

static inline struct lw_care lw_care_begin(const struct lw_waited *waited, uint32_t n)
{
    (void)waited, (void)n;
    return (struct lw_care){LW_FOREVER};
}

static inline void lw_care_end(const struct lw_care *care, const struct lw_waited *waited)
{
    (void)care, (void)waited;
}

#endif

#endif
