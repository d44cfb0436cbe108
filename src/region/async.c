/* async.c: the waits of event loops (lockword/loop.h) for what has an owner in a region. */
#include <lockword/loop.h>

#include "../wait/platform.h"
#include "region.h"

/* The words are taken: what they are worth. */
static int judge(const lw_request *request)
{
    lw_word *words = request->waiter.words;
    lw_region *region = lw_shared_by(words);
    uint32_t self;
    /* The thread has an id: it has taken the words by it. */
    lw_region_agent(region, &self);
    const lw_region_mutex mutex = {region, words, region->serial, request->fate};
    return lw_region_mutex_judge(&mutex);
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

static void set_judge(lw_request *request, const lw_region_mutex *mutex)
{
    request->judge = judge;
    request->fate = mutex->fate;
}

int lw_region_mutex_lock_async(const lw_region_mutex *mutex, LW_ASYNC_PARAMETERS)
{
    const int error = prepare(mutex->region, mutex->words, LW_REQUEST_PLAIN, request, loop,
                              deadline, done, context);
    if (error)
        return error;
    set_judge(request, mutex);
    lw_request_start(request, lw_mutex_lock_step, mutex->words, request->owner, LW_MUTEX_GATE);
    return 0;
}

int lw_region_cond_wait_async(lw_cond *cond, const lw_region_mutex *mutex, LW_ASYNC_PARAMETERS)
{
    uint32_t self;
    int error = lw_region_agent(mutex->region, &self);
    if (error)
        return error;
    if (lw_mutex_owner(mutex->words) != self)
        return EPERM;
    error = prepare(mutex->region, cond->word, LW_REQUEST_PLAIN, request, loop, deadline, done,
                    context);
    if (error)
        return error;
    set_judge(request, mutex);
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
        lw_request_start(request, step, words, request->owner, LW_MUTEX_GATE);
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
