/* mutex.c: the mutexes of a region: core/robust.h, with a thread's id in the region as the owner.
 */
#include "region.h"

#include "../blocking.h"
#include "../wait/awake.h"

/*
 * A thread that has waited for so long buries the dead itself, if no keeper has: the one that the
 * kernel woke may have been stopped (keeper.c). Then the thread waits again.
 */
#define PATIENCE_NS 1000000000

/*
 * A thread says what it is busy with before it can consume a wake-up, or owe one, and takes that
 * back afterwards. If it dies meanwhile, its burial wakes others in its place.
 */
static struct agent *begin(const struct lw_region *region, uint32_t busy, uint32_t self)
{
    struct agent *agent = lw_region_agent_of(region, self);
    lw_store(&agent->since, (uint32_t)(lw_now() / 1000000), lw_relaxed);
    lw_store(&agent->busy, busy, lw_release);
    return agent;
}

static void end(struct agent *agent)
{
    lw_store(&agent->busy, 0, lw_release);
}

static enum lw_ending wait_for(struct lw_region *region, lw_word *words, uint32_t self,
                               lw_deadline deadline, lw_cancel *cancel)
{
    if (lw_spin_for_mutex(words, self, deadline))
        return LW_ENDED_DONE;
    const struct lw_operation operation = {lw_mutex_lock_step, words, self};
    for (;;) {
        const lw_deadline look = lw_after_ns(PATIENCE_NS);
        const bool last = deadline <= look;
        const enum lw_ending ending = lw_block(operation, last ? deadline : look, cancel).ending;
        if (ending != LW_ENDED_TIMED_OUT || last)
            return ending;
        lw_region_bury_the_dead(region);
        lw_region_bury_nobody(region, words);
    }
}

int lw_region_take(struct lw_region *region, lw_word *words, uint32_t busy, uint32_t self,
                   lw_deadline deadline, lw_cancel *cancel)
{
    struct agent *agent = begin(region, busy, self);
    const enum lw_ending ending = wait_for(region, words, self, deadline, cancel);
    end(agent);
    return lw_error_of(ending);
}

bool lw_region_free(struct lw_region *region, lw_word *words, uint32_t busy, uint32_t self)
{
    struct agent *agent = begin(region, busy, self);
    const bool freed = lw_robust_unlock(words, self);
    end(agent);
    return freed;
}

static struct slot *slot_of(const lw_region_mutex *mutex)
{
    return (struct slot *)(void *)((char *)mutex->words - offsetof(struct slot, words));
}

static uint32_t busy_of(const lw_region_mutex *mutex)
{
    return (uint32_t)(slot_of(mutex) - mutex->region->memory->slots) + 1;
}

/* Counts: only the holder writes. */
static void count(lw_word *word)
{
    lw_store(word, lw_load(word, lw_relaxed) + 1, lw_relaxed);
}

/* The caller holds the words. Returns what they are worth, and keeps them only if that is enough.
 */
static int judge(const lw_region_mutex *mutex, uint32_t self)
{
    const uint32_t fate = lw_robust_fate(mutex->words);
    if (__builtin_expect(fate == mutex->fate, 1) || fate == (mutex->fate | LW_ROBUST_OWNER_DIED)) {
        count(&slot_of(mutex)->acquisitions);
        return fate == mutex->fate ? 0 : EOWNERDEAD;
    }
    /* Frees it without a word about the data. */
    struct agent *agent = begin(mutex->region, busy_of(mutex), self);
    lw_mutex_unlock_step(mutex->words, self);
    end(agent);
    return (fate & LW_ROBUST_NAME) == mutex->fate ? ENOTRECOVERABLE : EIDRM;
}

/* Takes the words, whatever they are worth. */
static int take(const lw_region_mutex *mutex, uint32_t self, lw_deadline deadline,
                lw_cancel *cancel)
{
    if (__builtin_expect(lw_mutex_take(mutex->words, self), 1))
        return 0;
    const int error =
        lw_region_take(mutex->region, mutex->words, busy_of(mutex), self, deadline, cancel);
    if (!error)
        count(&slot_of(mutex)->contended);
    return error;
}

int lw_region_mutex_lock_cancel(const lw_region_mutex *mutex, lw_deadline deadline,
                                lw_cancel *cancel)
{
    uint32_t self;
    int error = lw_region_agent(mutex->region, &self);
    if (!error)
        error = take(mutex, self, deadline, cancel);
    return error ? error : judge(mutex, self);
}

int lw_region_mutex_lock_until(const lw_region_mutex *mutex, lw_deadline deadline)
{
    return lw_region_mutex_lock_cancel(mutex, deadline, NULL);
}

int lw_region_mutex_lock(const lw_region_mutex *mutex)
{
    return lw_region_mutex_lock_cancel(mutex, LW_FOREVER, NULL);
}

int lw_region_mutex_trylock(const lw_region_mutex *mutex)
{
    uint32_t self;
    const int error = lw_region_agent(mutex->region, &self);
    if (error)
        return error;
    if (!lw_mutex_take(mutex->words, self) && !lw_mutex_try_step(mutex->words, self))
        return EBUSY;
    return judge(mutex, self);
}

int lw_region_mutex_unlock(const lw_region_mutex *mutex)
{
    uint32_t self;
    const int error = lw_region_agent(mutex->region, &self);
    if (error)
        return error;
    if (__builtin_expect(!(lw_robust_fate(mutex->words) & LW_ROBUST_OWNER_DIED), 1) &&
        __builtin_expect(lw_mutex_free(mutex->words, self), 1))
        return 0;
    return lw_region_free(mutex->region, mutex->words, busy_of(mutex), self) ? 0 : EPERM;
}

int lw_region_mutex_abandon(const lw_region_mutex *mutex)
{
    uint32_t self;
    const int error = lw_region_agent(mutex->region, &self);
    if (error)
        return error;
    if (lw_mutex_owner(mutex->words) != self)
        return EPERM;
    lw_robust_decide(mutex->words, mutex->fate | LW_ROBUST_ABANDONED);
    lw_region_free(mutex->region, mutex->words, busy_of(mutex), self);
    return 0;
}

int lw_region_mutex_reset(const lw_region_mutex *mutex)
{
    uint32_t self;
    int error = lw_region_agent(mutex->region, &self);
    if (!error)
        error = take(mutex, self, LW_FOREVER, NULL);
    if (error)
        return error;
    const uint32_t fate = lw_robust_fate(mutex->words);
    if (fate == (mutex->fate | LW_ROBUST_ABANDONED)) {
        /* Until it is unlocked, so that no holder after a death finds the data unmade. */
        lw_robust_decide(mutex->words, mutex->fate | LW_ROBUST_OWNER_DIED);
        return 0;
    }
    struct agent *agent = begin(mutex->region, busy_of(mutex), self);
    lw_mutex_unlock_step(mutex->words, self);
    end(agent);
    return (fate & LW_ROBUST_NAME) == mutex->fate ? EALREADY : EIDRM;
}
