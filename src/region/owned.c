/*
 * owned.c: what else has an owner, besides the mutex: recursive mutex, once and read-write lock, by
 * the steps of the core, with a thread's id in the region as the owner. And the condition's wait,
 * which frees and takes a mutex.
 */
#include "region.h"

#include "../blocking.h"

static lw_word *depth_of(const lw_region_mutex *mutex)
{
    return &mutex->words[(offsetof(struct slot, other) - offsetof(struct slot, words)) /
                         sizeof(lw_word)];
}

int lw_region_rmutex_named(lw_region *region, const char *name, lw_region_rmutex *rmutex)
{
    return lw_region_find_mutex(region, name, LW_REGION_RMUTEX, &rmutex->mutex);
}

/* Returns EBUSY if another thread, or none, has it; else takes it once more. */
static int take_again(const lw_region_rmutex *rmutex)
{
    uint32_t self;
    const int error = lw_region_agent_holding(&rmutex->mutex, &self);
    if (error)
        return error == EPERM ? EBUSY : error;
    lw_word *word = depth_of(&rmutex->mutex);
    const uint32_t depth = lw_load(word, lw_relaxed);
    if (depth == LW_RMUTEX_AGAIN)
        return EOVERFLOW;
    lw_store(word, depth + 1, lw_relaxed);
    return 0;
}

/* Notes that the mutex was taken for the first time, if it was. */
static int taken(const lw_region_rmutex *rmutex, int error)
{
    if (error == 0 || error == EOWNERDEAD)
        lw_store(depth_of(&rmutex->mutex), 0, lw_relaxed);
    return error;
}

int lw_region_rmutex_lock_cancel(const lw_region_rmutex *rmutex, lw_deadline deadline,
                                 lw_cancel *cancel)
{
    const int error = take_again(rmutex);
    return error == EBUSY
               ? taken(rmutex, lw_region_mutex_lock_cancel(&rmutex->mutex, deadline, cancel))
               : error;
}
SHORTER(lw_region_rmutex_lock, lw_region_rmutex)

int lw_region_rmutex_trylock(const lw_region_rmutex *rmutex)
{
    const int error = take_again(rmutex);
    return error == EBUSY ? taken(rmutex, lw_region_mutex_trylock(&rmutex->mutex)) : error;
}

/* Returns EBUSY if the caller has it once, or not at all; else gives it back once. */
static int give_again(const lw_region_rmutex *rmutex)
{
    uint32_t self;
    const int error = lw_region_agent_holding(&rmutex->mutex, &self);
    if (error)
        return error == EPERM ? EBUSY : error;
    lw_word *word = depth_of(&rmutex->mutex);
    const uint32_t depth = lw_load(word, lw_relaxed);
    if (depth == 0)
        return EBUSY;
    lw_store(word, depth - 1, lw_relaxed);
    return 0;
}

int lw_region_rmutex_unlock(const lw_region_rmutex *rmutex)
{
    const int error = give_again(rmutex);
    return error == EBUSY ? lw_region_mutex_unlock(&rmutex->mutex) : error;
}

int lw_region_rmutex_leave(const lw_region_rmutex *rmutex)
{
    const int error = give_again(rmutex);
    return error == EBUSY ? lw_region_mutex_leave(&rmutex->mutex) : error;
}

int lw_region_rmutex_abandon(const lw_region_rmutex *rmutex)
{
    return lw_region_mutex_abandon(&rmutex->mutex);
}

int lw_region_rmutex_reset(const lw_region_rmutex *rmutex)
{
    return taken(rmutex, lw_region_mutex_reset(&rmutex->mutex));
}

int lw_region_cond_wait_cancel(lw_cond *cond, const lw_region_mutex *mutex, lw_deadline deadline,
                               lw_cancel *cancel)
{
    uint32_t self;
    int error = lw_region_agent_holding(mutex, &self);
    if (error)
        return error;
    /* Of a recursive mutex: the caller has it as often again afterwards. */
    const uint32_t depth = lw_load(depth_of(mutex), lw_relaxed);
    const uint32_t sequence = lw_cond_enter_step(cond->word);
    lw_region_mutex_unlock(mutex);
    const int ended = lw_error_of(lw_cond_wait_for_notify(cond, sequence, deadline, cancel));
    error = lw_region_mutex_lock(mutex);
    if (error == 0 || error == EOWNERDEAD)
        lw_store(depth_of(mutex), depth, lw_relaxed);
    return error ? error : ended;
}

int lw_region_cond_wait_until(lw_cond *cond, const lw_region_mutex *mutex, lw_deadline deadline)
{
    return lw_region_cond_wait_cancel(cond, mutex, deadline, NULL);
}

int lw_region_cond_wait(lw_cond *cond, const lw_region_mutex *mutex)
{
    return lw_region_cond_wait_cancel(cond, mutex, LW_FOREVER, NULL);
}

static int run_as(uint32_t self, lw_step *step, lw_word *words, lw_deadline deadline,
                  lw_cancel *cancel, uint32_t *result)
{
    const struct lw_operation operation = {step, words, self};
    const struct lw_end end = step == lw_rwlock_write_step
                                  ? lw_hold(&lw_held_written, operation, deadline, cancel)
                                  : lw_spin_then_block(operation, deadline, cancel);
    *result = end.result;
    return lw_error_of(end.ending);
}

static int run_step(lw_region *region, lw_step *step, lw_word *words, lw_deadline deadline,
                    lw_cancel *cancel, uint32_t *result)
{
    uint32_t self;
    const int error = lw_region_agent(region, &self);
    return error ? error : run_as(self, step, words, deadline, cancel, result);
}

int lw_region_once_named(lw_region *region, const char *name, lw_region_once *once)
{
    struct slot *slot;
    uint32_t ignored;
    const int error = lw_region_named(region, name, LW_REGION_ONCE, NULL, 0, &slot, &ignored);
    if (!error)
        *once = (lw_region_once){region, slot->other};
    return error;
}

int lw_region_once_begin_cancel(const lw_region_once *once, lw_deadline deadline, lw_cancel *cancel)
{
    if (lw_once_ran(once->words))
        return 0;
    uint32_t runner = 0;
    const int error =
        run_step(once->region, lw_once_begin_step, once->words, deadline, cancel, &runner);
    return error == 0 && runner != 0 ? LW_ONCE_RUN : error;
}
SHORTER(lw_region_once_begin, lw_region_once)

int lw_region_once_finish(const lw_region_once *once, bool success)
{
    uint32_t self;
    const int error = lw_region_agent(once->region, &self);
    if (error)
        return error;
    return lw_once_end_step(once->words, self, success) ? 0 : EPERM;
}

bool lw_region_once_is_done(const lw_region_once *once)
{
    return lw_once_ran(once->words);
}

int lw_region_rwlock_named(lw_region *region, const char *name, lw_region_rwlock *rwlock)
{
    struct slot *slot;
    uint32_t ignored;
    const int error = lw_region_named(region, name, LW_REGION_RWLOCK, NULL, 0, &slot, &ignored);
    if (!error)
        *rwlock = (lw_region_rwlock){region, slot->other};
    return error;
}

int lw_region_rwlock_rdlock_cancel(const lw_region_rwlock *rwlock, lw_deadline deadline,
                                   lw_cancel *cancel)
{
    uint32_t ignored;
    return lw_rwlock_take_read(rwlock->words) ? 0
                                              : run_step(rwlock->region, lw_rwlock_read_step,
                                                         rwlock->words, deadline, cancel, &ignored);
}
SHORTER(lw_region_rwlock_rdlock, lw_region_rwlock)

int lw_region_rwlock_wrlock_cancel(const lw_region_rwlock *rwlock, lw_deadline deadline,
                                   lw_cancel *cancel)
{
    uint32_t self;
    uint32_t ignored;
    const int error = lw_region_agent(rwlock->region, &self);
    if (error)
        return error;
    return lw_rwlock_take_write(rwlock->words, self)
               ? 0
               : run_as(self, lw_rwlock_write_step, rwlock->words, deadline, cancel, &ignored);
}
SHORTER(lw_region_rwlock_wrlock, lw_region_rwlock)

int lw_region_rwlock_tryrdlock(const lw_region_rwlock *rwlock)
{
    return lw_rwlock_try_step(rwlock->words, 0, LW_RWLOCK_READER, 0) ? 0 : EBUSY;
}

int lw_region_rwlock_trywrlock(const lw_region_rwlock *rwlock)
{
    uint32_t self;
    const int error = lw_region_agent(rwlock->region, &self);
    if (error)
        return error;
    return lw_rwlock_try_step(rwlock->words, 0, LW_RWLOCK_WRITER, self) ? 0 : EBUSY;
}

int lw_region_rwlock_unlock(const lw_region_rwlock *rwlock)
{
    uint32_t self;
    const int error = lw_region_agent(rwlock->region, &self);
    if (error)
        return error;
    return lw_rwlock_free_write(rwlock->words, self) || lw_rwlock_free_read(rwlock->words) ||
                   lw_rwlock_become_step(rwlock->words, LW_RWLOCK_WRITER, 0, self) ||
                   lw_rwlock_unread_step(rwlock->words)
               ? 0
               : EPERM;
}
