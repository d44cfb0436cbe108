/*
 * table.c: permits that have owners, and the read-write lock that is made of a mutex and such
 * permits, which are its readers' table. A reader has the mutex for the moment in which it takes a
 * permit. A writer has the mutex, and waits until no reader has a permit. So all of them stand in
 * the mutex's line; and only the one that has the mutex waits for permits.
 */
#include "region.h"

#include "../blocking.h"

static int wait_for(const lw_region_permits *permits, lw_step *step, uint32_t self, uint32_t *which,
                    lw_deadline deadline, lw_cancel *cancel)
{
    /* As a caller that only looks: it can neither consume a notify nor owe one. */
    const lw_answer looked = step(permits->words, self, LW_TIMED_OUT, 0);
    if (lw_answer_what(looked) == LW_DONE) {
        *which = lw_answer_expected(looked);
        return 0;
    }
    /* Of a writer that gave up: lw_region_blocker tells writers from readers by it. */
    lw_word *state = &permits->words[LW_PERMITS_STATE];
    if (step == lw_permits_acquire_step && lw_load(state, lw_relaxed) & LW_PERMITS_DRAINS)
        __atomic_fetch_and(state, ~LW_PERMITS_DRAINS, __ATOMIC_RELAXED);
    struct agent *agent = lw_region_begin(permits->region, permits->busy, self);
    const struct lw_operation operation = {step, permits->words, self};
    const struct lw_end end =
        step == lw_permits_acquire_step
            ? lw_hold(lw_held_owned(permits->words), operation, deadline, cancel)
            : lw_spin_then_block(operation, deadline, cancel);
    lw_region_end(agent);
    *which = end.result;
    return lw_error_of(end.ending);
}

/* Which permit it was is not asked for where `which` is NULL. */
static int acquire(const lw_region_permits *permits, uint32_t self, uint32_t *which,
                   lw_deadline deadline, lw_cancel *cancel)
{
    uint32_t got;
    const int error = wait_for(permits, lw_permits_acquire_step, self, &got, deadline, cancel);
    if (!error && which)
        *which = got;
    return error;
}

/* Finds the permits of a slot of this kind. Returns 0 or EBADMSG: the file is damaged. */
static int find_permits(lw_region *region, const struct slot *slot, uint32_t kind,
                        lw_region_permits *permits)
{
    lw_word *words = lw_region_table(region, slot, kind);
    if (!words)
        return EBADMSG;
    *permits = (lw_region_permits){region, words, lw_region_busy(region, slot)};
    return 0;
}

int lw_region_permits_named(lw_region *region, const char *name, uint32_t n,
                            lw_region_permits *permits)
{
    if (n == 0 || n > LW_PERMITS_MAX)
        return EINVAL;
    struct slot *slot;
    uint32_t type;
    const int error = lw_region_named(region, name, LW_REGION_PERMITS, NULL, n, &slot, &type);
    return error ? error : find_permits(region, slot, LW_REGION_PERMITS, permits);
}

int lw_region_permits_acquire_cancel(const lw_region_permits *permits, uint32_t *which,
                                     lw_deadline deadline, lw_cancel *cancel)
{
    uint32_t self;
    const int error = lw_region_agent(permits->region, &self);
    return error ? error : acquire(permits, self, which, deadline, cancel);
}

int lw_region_permits_acquire_until(const lw_region_permits *permits, uint32_t *which,
                                    lw_deadline deadline)
{
    return lw_region_permits_acquire_cancel(permits, which, deadline, NULL);
}

int lw_region_permits_acquire(const lw_region_permits *permits, uint32_t *which)
{
    return lw_region_permits_acquire_cancel(permits, which, LW_FOREVER, NULL);
}

int lw_region_permits_tryacquire(const lw_region_permits *permits, uint32_t *which)
{
    uint32_t self;
    const int error = lw_region_agent(permits->region, &self);
    if (error)
        return error;
    const uint32_t got = lw_permits_try_step(permits->words, self);
    if (got == LW_PERMITS_NONE)
        return EBUSY;
    if (which)
        *which = got;
    return 0;
}

static bool release(const lw_region_permits *permits, uint32_t which, uint32_t self)
{
    struct agent *agent = lw_region_begin(permits->region, permits->busy | BUSY_NOTIFIES, self);
    const bool released = lw_permits_release_step(permits->words, which, self);
    lw_region_end(agent);
    return released;
}

int lw_region_permits_release(const lw_region_permits *permits, uint32_t which)
{
    uint32_t self;
    const int error = lw_region_agent(permits->region, &self);
    if (error)
        return error;
    return release(permits, which, self) ? 0 : EPERM;
}

uint32_t lw_region_permits_available(const lw_region_permits *permits)
{
    return lw_permits_of(permits->words, 0);
}

int lw_region_rwtable_named(lw_region *region, const char *name, lw_region_rwtable *lock)
{
    struct slot *slot;
    uint32_t type;
    const int error =
        lw_region_named(region, name, LW_REGION_RWTABLE, NULL, LW_PERMITS_MAX, &slot, &type);
    if (error)
        return error;
    lock->mutex = lw_region_mutex_in(region, slot, type);
    return find_permits(region, slot, LW_REGION_RWTABLE, &lock->readers);
}

static bool has(int error)
{
    return error == 0 || error == EOWNERDEAD;
}

/* What a reader that reads once more is told: the same, since no writer unlocks meanwhile. */
static int told_again(const lw_region_rwtable *lock)
{
    return lw_robust_fate(lock->mutex.words) & LW_ROBUST_OWNER_DIED ? EOWNERDEAD : 0;
}

/* The caller has the mutex. Lets it go if it does not get a place among the readers, too. */
static int read_then_leave(const lw_region_rwtable *lock, int had, uint32_t self,
                           lw_deadline deadline, lw_cancel *cancel)
{
    const int error = acquire(&lock->readers, self, NULL, deadline, cancel);
    lw_region_mutex_leave(&lock->mutex);
    return error ? error : had;
}

int lw_region_rwtable_rdlock_cancel(const lw_region_rwtable *lock, lw_deadline deadline,
                                    lw_cancel *cancel)
{
    uint32_t self;
    int error = lw_region_agent(lock->mutex.region, &self);
    if (error)
        return error;
    /* Once more, at once or never: a writer ahead of the caller would wait for it. */
    if (lw_permits_find(lock->readers.words, self) != LW_PERMITS_NONE)
        return lw_permits_try_step(lock->readers.words, self) != LW_PERMITS_NONE ? told_again(lock)
                                                                                 : EOVERFLOW;
    error = lw_region_mutex_lock_cancel(&lock->mutex, deadline, cancel);
    return has(error) ? read_then_leave(lock, error, self, deadline, cancel) : error;
}
SHORTER(lw_region_rwtable_rdlock, lw_region_rwtable)

/* The caller has the mutex. Lets it go if readers stay. */
static int write_or_leave(const lw_region_rwtable *lock, int had, uint32_t self,
                          lw_deadline deadline, lw_cancel *cancel)
{
    uint32_t ignored;
    const int error =
        wait_for(&lock->readers, lw_permits_drain_step, self, &ignored, deadline, cancel);
    if (error) {
        lw_region_mutex_leave(&lock->mutex);
        return error;
    }
    /* From here on its death is one that has to be told. */
    lw_store(&lock->readers.words[LW_PERMITS_WRITER], self, lw_relaxed);
    return had;
}

int lw_region_rwtable_wrlock_cancel(const lw_region_rwtable *lock, lw_deadline deadline,
                                    lw_cancel *cancel)
{
    uint32_t self;
    int error = lw_region_agent(lock->mutex.region, &self);
    if (error)
        return error;
    if (lw_permits_find(lock->readers.words, self) != LW_PERMITS_NONE)
        return EDEADLK;
    error = lw_region_mutex_lock_cancel(&lock->mutex, deadline, cancel);
    return has(error) ? write_or_leave(lock, error, self, deadline, cancel) : error;
}
SHORTER(lw_region_rwtable_wrlock, lw_region_rwtable)

int lw_region_rwtable_tryrdlock(const lw_region_rwtable *lock)
{
    uint32_t self;
    int error = lw_region_agent(lock->mutex.region, &self);
    if (error)
        return error;
    if (lw_permits_find(lock->readers.words, self) != LW_PERMITS_NONE) {
        error = lw_region_permits_tryacquire(&lock->readers, NULL);
        return error ? error : told_again(lock);
    }
    error = lw_region_mutex_trylock(&lock->mutex);
    if (!has(error))
        return error;
    const int got = lw_region_permits_tryacquire(&lock->readers, NULL);
    lw_region_mutex_leave(&lock->mutex);
    return got ? got : error;
}

int lw_region_rwtable_trywrlock(const lw_region_rwtable *lock)
{
    uint32_t self;
    int error = lw_region_agent(lock->mutex.region, &self);
    if (!error)
        error = lw_region_mutex_trylock(&lock->mutex);
    if (!has(error))
        return error;
    if (lw_permits_of(lock->readers.words, 0) < lw_permits_count(lock->readers.words)) {
        lw_region_mutex_leave(&lock->mutex);
        return EBUSY;
    }
    lw_store(&lock->readers.words[LW_PERMITS_WRITER], self, lw_relaxed);
    return error;
}

/* Returns whether the caller writes; from then on it does not, but has the mutex. */
static bool ends_writing(const lw_region_rwtable *lock, uint32_t self)
{
    lw_word *writer = &lock->readers.words[LW_PERMITS_WRITER];
    if (lw_load(writer, lw_relaxed) != self)
        return false;
    lw_store(writer, 0, lw_relaxed);
    return true;
}

int lw_region_rwtable_unlock(const lw_region_rwtable *lock)
{
    uint32_t self;
    const int error = lw_region_agent(lock->mutex.region, &self);
    if (error)
        return error;
    if (ends_writing(lock, self))
        return lw_region_mutex_unlock(&lock->mutex);
    const uint32_t which = lw_permits_find(lock->readers.words, self);
    return which != LW_PERMITS_NONE && release(&lock->readers, which, self) ? 0 : EPERM;
}

int lw_region_rwtable_leave(const lw_region_rwtable *lock)
{
    uint32_t self;
    const int error = lw_region_agent(lock->mutex.region, &self);
    if (error)
        return error;
    return ends_writing(lock, self) ? lw_region_mutex_leave(&lock->mutex)
                                    : lw_region_rwtable_unlock(lock);
}

int lw_region_rwtable_abandon(const lw_region_rwtable *lock)
{
    uint32_t self;
    const int error = lw_region_agent(lock->mutex.region, &self);
    if (error)
        return error;
    /* The fate first: if the caller dies in between, the data are lost all the same. */
    if (lw_load(&lock->readers.words[LW_PERMITS_WRITER], lw_relaxed) == self)
        lw_robust_decide(lock->mutex.words, lock->mutex.fate | LW_ROBUST_ABANDONED);
    return ends_writing(lock, self) ? lw_region_mutex_abandon(&lock->mutex) : EPERM;
}

int lw_region_rwtable_reset(const lw_region_rwtable *lock)
{
    uint32_t self;
    int error = lw_region_agent(lock->mutex.region, &self);
    if (!error)
        error = lw_region_mutex_reset(&lock->mutex);
    return error ? error : write_or_leave(lock, 0, self, LW_FOREVER, NULL);
}
