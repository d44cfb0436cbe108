/* async.c: the waits of event loops (lockword/loop.h) for what has an owner in a region. */
#include <lockword/core/waiters.h>
#include <lockword/loop.h>

#include "../wait/platform.h"
#include "care.h"
#include "region.h"

static lw_region_mutex mutex_of(const lw_request *request, lw_word *words)
{
    lw_region *region = lw_shared_by(words);
    return (lw_region_mutex){region, words, region->serial, request->fate};
}

/* The words are taken, or not: what they are worth. */
static int judge(lw_request *request, int result, int gave_up)
{
    (void)gave_up;
    if (result)
        return result;
    uint32_t self;
    const lw_region_mutex mutex = mutex_of(request, request->waiter.words);
    /* The thread has an id: it has taken the words by it. */
    lw_region_agent(mutex.region, &self);
    return lw_region_mutex_judge(&mutex);
}

/* The name was removed before the request was made. */
static int judge_removed(lw_request *request, int result, int gave_up)
{
    judge(request, result, gave_up);
    return EIDRM;
}

/*
 * A table's lock: the mutex, and then a place among the readers, or that there is none (table.c).
 * `other` is what the request does not wait for just now, and `depth` the mutex's result.
 */
static int judge_table(lw_request *request, lw_step *step, int result, int gave_up)
{
    lw_waiter *waiter = &request->waiter;
    if (waiter->step != step) {
        result = judge(request, result, gave_up);
        if (result && result != EOWNERDEAD)
            return result;
        request->depth = (uint32_t)result;
        lw_word *readers = request->other;
        request->other = waiter->words;
        if (!gave_up) {
            lw_request_go_on(request, step, readers);
            return LW_GOES_ON;
        }
        const lw_answer looked = step(readers, request->owner, LW_TIMED_OUT, 0);
        result = lw_answer_what(looked) == LW_DONE ? 0 : gave_up;
        waiter->words = readers;
    }
    if (result == 0 && step == lw_permits_drain_step) {
        /* From here on its death is one that has to be told. */
        lw_store(&waiter->words[LW_PERMITS_WRITER], request->owner, lw_relaxed);
    } else {
        const lw_region_mutex mutex = mutex_of(request, request->other);
        lw_region_mutex_leave(&mutex);
    }
    return result ? result : (int)request->depth;
}

static int judge_reader(lw_request *request, int result, int gave_up)
{
    return judge_table(request, lw_permits_acquire_step, result, gave_up);
}

static int judge_writer(lw_request *request, int result, int gave_up)
{
    return judge_table(request, lw_permits_drain_step, result, gave_up);
}

/* As lw_request_prepare. The requests of a thread have its id in the region. */
static int prepare(lw_region *region, lw_word *words, enum lw_request_kind kind,
                   LW_ASYNC_PARAMETERS)
{
    uint32_t self;
    int error = lw_region_agent(region, &self);
    if (!error)
        error = lw_request_prepare(words, kind, request, loop, deadline, done, context);
    if (!error)
        request->owner = self;
    return error;
}

static int lock(const lw_region_mutex *mutex, lw_word *other, lw_judge *judge_it,
                LW_ASYNC_PARAMETERS)
{
    const bool is_named = lw_region_is_named(mutex);
    const int error = prepare(mutex->region, mutex->words, LW_REQUEST_PLAIN, request, loop,
                              is_named ? deadline : LW_NOW, done, context);
    if (error)
        return error;
    request->judge = is_named ? judge_it : judge_removed;
    request->other = other;
    request->fate = mutex->fate;
    lw_request_start(request, lw_mutex_lock_step, mutex->words, request->owner, LW_WAITERS_GATE);
    return 0;
}

int lw_region_mutex_lock_async(const lw_region_mutex *mutex, LW_ASYNC_PARAMETERS)
{
    return lock(mutex, NULL, judge, request, loop, deadline, done, context);
}

int lw_region_rwtable_rdlock_async(const lw_region_rwtable *table, LW_ASYNC_PARAMETERS)
{
    return lock(&table->mutex, table->readers.words, judge_reader, request, loop, deadline, done,
                context);
}

int lw_region_rwtable_wrlock_async(const lw_region_rwtable *table, LW_ASYNC_PARAMETERS)
{
    return lock(&table->mutex, table->readers.words, judge_writer, request, loop, deadline, done,
                context);
}

int lw_region_cond_wait_async(lw_cond *cond, const lw_region_mutex *mutex, LW_ASYNC_PARAMETERS)
{
    uint32_t self;
    int error = lw_region_agent_holding(mutex, &self);
    /* The condition may be no region's, or another one's. */
    if (!error)
        error = lw_care_listen(mutex->words);
    if (!error)
        error = prepare(mutex->region, cond->word, LW_REQUEST_PLAIN, request, loop, deadline, done,
                        context);
    if (error)
        return error;
    request->judge = judge;
    request->fate = mutex->fate;
    request->relock = mutex->words;
    lw_request_start(request, lw_cond_wait_step, cond->word, lw_cond_enter_step(cond->word),
                     LW_COND_SEQUENCE);
    lw_region_mutex_unlock(mutex);
    return 0;
}

static int begin(lw_region *region, enum lw_request_kind kind, lw_step *step, lw_word *words,
                 LW_ASYNC_PARAMETERS)
{
    const int error = prepare(region, words, kind, request, loop, deadline, done, context);
    if (!error)
        lw_request_start(request, step, words, request->owner, LW_WAITERS_GATE);
    return error;
}

int lw_region_permits_acquire_async(const lw_region_permits *permits, LW_ASYNC_PARAMETERS)
{
    return begin(permits->region, LW_REQUEST_PLAIN, lw_permits_acquire_step, permits->words,
                 request, loop, deadline, done, context);
}

int lw_region_rwlock_rdlock_async(const lw_region_rwlock *rwlock, LW_ASYNC_PARAMETERS)
{
    return begin(rwlock->region, LW_REQUEST_PLAIN, lw_rwlock_read_step, rwlock->words, request,
                 loop, deadline, done, context);
}

int lw_region_rwlock_wrlock_async(const lw_region_rwlock *rwlock, LW_ASYNC_PARAMETERS)
{
    return begin(rwlock->region, LW_REQUEST_PLAIN, lw_rwlock_write_step, rwlock->words, request,
                 loop, deadline, done, context);
}

int lw_region_once_begin_async(const lw_region_once *once, LW_ASYNC_PARAMETERS)
{
    return begin(once->region, LW_REQUEST_RUNS, lw_once_begin_step, once->words, request, loop,
                 deadline, done, context);
}
