/* mutex.c: the mutexes of a region: core/robust.h, with a thread's id in the region as the owner.
 */
#include "care.h"
#include "region.h"

#include "../blocking.h"
#include "../wait/awake.h"
#include "../wait/kernel.h"

struct agent *lw_region_begin(const struct lw_region *region, uint32_t busy, uint32_t self)
{
    struct agent *agent = lw_region_agent_of(region, self);
    const uint32_t slot = (busy & ~BUSY_NOTIFIES) - 1;
    if (slot < region->slots)
        lw_store(&agent->seen, lw_load(&region->memory->slots[slot].acquisitions, lw_relaxed),
                 lw_relaxed);
    lw_store(&agent->since, (uint32_t)(lw_now() / NS_PER_MS), lw_relaxed);
    lw_store(&agent->waits, lw_load(&agent->waits, lw_relaxed) + 1, lw_relaxed);
    lw_store(&agent->busy, busy, lw_release);
    return agent;
}

void lw_region_end(struct agent *agent)
{
    lw_store(&agent->busy, 0, lw_release);
}

static bool care_begin(struct lw_region *region, const lw_word *word)
{
    const struct slot *slot = lw_region_slot_of(region, word);
    uint32_t self;
    if (!slot || lw_region_agent(region, &self) != 0 ||
        lw_load(&lw_region_agent_of(region, self)->busy, lw_relaxed) != 0)
        return false;
    lw_region_begin(region, lw_region_busy(region, slot), self);
    return true;
}

static void care_look(struct lw_region *region, const lw_word *word)
{
    /* A forked child, before it has joined, would bury in its parent's name. */
    if (lw_region_join(region) != 0)
        return;
    lw_region_bury_the_dead(region);
    lw_region_bury_nobody(region, word);
}

/*
 * The kernel wakes a thread that waits for what a process has, when the process dies, if it can
 * wait on several words at once. Whose death that would be is looked up when the wait begins; of
 * later holders a keeper takes care.
 */
static bool care_alarm(struct lw_region *region, const lw_word *word, struct lw_waited *alarm)
{
    const struct slot *slot = lw_region_slot_of(region, word);
    if (!slot || !lw_can_wait_for_many())
        return false;
    const uint32_t owner = lw_mutex_owner(slot->words);
    const uint32_t row = lw_region_process_of(region, owner);
    if (row == PROCESSES || row == region->row)
        return false;
    alarm->word = &region->memory->processes[row].alarm;
    alarm->expected = lw_load(alarm->word, lw_acquire);
    return alarm->expected != 0 && !(alarm->expected & FUTEX_OWNER_DIED);
}

static void care_end(struct lw_region *region)
{
    uint32_t self;
    if (lw_region_agent(region, &self) == 0)
        lw_region_end(lw_region_agent_of(region, self));
}

const struct lw_carer lw_region_carer = {
    care_begin, care_end, care_alarm, lw_region_listen, care_look,
};

int lw_region_take(struct lw_region *region, lw_word *words, uint32_t busy, uint32_t self,
                   lw_deadline deadline, lw_cancel *cancel)
{
    struct agent *agent = lw_region_begin(region, busy, self);
    const enum lw_ending ending =
        lw_hold(&lw_held_mutex, (struct lw_operation){lw_mutex_lock_step, words, self}, deadline,
                cancel)
            .ending;
    lw_region_end(agent);
    return lw_error_of(ending);
}

bool lw_region_free(struct lw_region *region, lw_word *words, uint32_t busy, uint32_t self)
{
    struct agent *agent = lw_region_begin(region, busy | BUSY_NOTIFIES, self);
    const bool freed = lw_robust_unlock(words, self);
    lw_region_end(agent);
    return freed;
}

static struct slot *slot_of(const lw_region_mutex *mutex)
{
    return (struct slot *)(void *)((char *)mutex->words - offsetof(struct slot, words));
}

static uint32_t busy_of(const lw_region_mutex *mutex)
{
    return lw_region_busy(mutex->region, slot_of(mutex));
}

/* Counts: only the holder writes. */
static void count(lw_word *word)
{
    lw_store(word, lw_load(word, lw_relaxed) + 1, lw_relaxed);
}

/* Frees the words, without a word about the data. */
static void let_go(const lw_region_mutex *mutex, uint32_t self)
{
    struct agent *agent = lw_region_begin(mutex->region, busy_of(mutex) | BUSY_NOTIFIES, self);
    lw_mutex_unlock_step(mutex->words, self);
    lw_region_end(agent);
}

/* The caller holds the words. Returns what they are worth; keeps them only if that is enough. */
static int judge(const lw_region_mutex *mutex, uint32_t self)
{
    const uint32_t fate = lw_robust_fate(mutex->words);
    if (__builtin_expect(fate == mutex->fate, 1) || fate == (mutex->fate | LW_ROBUST_OWNER_DIED)) {
        count(&slot_of(mutex)->acquisitions);
        return fate == mutex->fate ? 0 : EOWNERDEAD;
    }
    let_go(mutex, self);
    return (fate & LW_ROBUST_NAME) == mutex->fate ? ENOTRECOVERABLE : EIDRM;
}

int lw_region_mutex_judge(const lw_region_mutex *mutex)
{
    return judge(mutex, lw_region_last_agent.id);
}

/* Takes the words, whatever they are worth. */
static int take(const lw_region_mutex *mutex, uint32_t self, lw_deadline deadline,
                lw_cancel *cancel)
{
    if (lw_mutex_take(mutex->words, self))
        return 0;
    if (!lw_region_is_named(mutex))
        return EIDRM;
    const int error =
        lw_region_take(mutex->region, mutex->words, busy_of(mutex), self, deadline, cancel);
    if (!error)
        count(&slot_of(mutex)->contended);
    return error;
}

int lw_region_mutex_lock_slow(const lw_region_mutex *mutex, lw_deadline deadline, lw_cancel *cancel)
{
    uint32_t self;
    int error = lw_region_agent(mutex->region, &self);
    if (!error)
        error = take(mutex, self, deadline, cancel);
    return error ? error : judge(mutex, self);
}

int lw_region_mutex_trylock_slow(const lw_region_mutex *mutex)
{
    uint32_t self;
    const int error = lw_region_agent(mutex->region, &self);
    if (error)
        return error;
    if (lw_mutex_try_step(mutex->words, self))
        return judge(mutex, self);
    return lw_region_is_named(mutex) ? EBUSY : EIDRM;
}

int lw_region_mutex_unlock_slow(const lw_region_mutex *mutex)
{
    uint32_t self;
    const int error = lw_region_agent_holding(mutex, &self);
    if (error)
        return error;
    return lw_region_free(mutex->region, mutex->words, busy_of(mutex), self) ? 0 : EPERM;
}

int lw_region_mutex_leave(const lw_region_mutex *mutex)
{
    uint32_t self;
    const int error = lw_region_agent_holding(mutex, &self);
    if (error)
        return error;
    let_go(mutex, self);
    return 0;
}

int lw_region_mutex_abandon(const lw_region_mutex *mutex)
{
    uint32_t self;
    const int error = lw_region_agent_holding(mutex, &self);
    if (error)
        return error;
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
    let_go(mutex, self);
    return (fate & LW_ROBUST_NAME) == mutex->fate ? EALREADY : EIDRM;
}

bool lw_region_mutex_is_locked(const lw_region_mutex *mutex)
{
    return lw_mutex_owner(mutex->words) != 0 && lw_region_is_named(mutex);
}

bool lw_region_mutex_is_mine(const lw_region_mutex *mutex)
{
    uint32_t self;
    return lw_region_agent_holding(mutex, &self) == 0;
}
