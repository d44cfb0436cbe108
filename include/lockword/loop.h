/*
 * loop.h: event loops in C. Every wait without blocking, for programs on epoll, libuv, io_uring,
 * GLib or libevent.
 *
 *     static lw_loop loop;                                // one per thread that has an event loop
 *     static lw_request request;                          // one per wait, in the caller's memory
 *
 *     lw_loop_init(&loop);
 *     // add lw_loop_fd(&loop) to the poll set; whenever it is readable: lw_loop_run(&loop)
 *
 *     lw_mutex_lock_async(&lock, &request, &loop, lw_after_ms(100), locked, context);
 *
 *     static void locked(lw_request *request, int result, void *context)
 *     {
 *         if (result == 0) {                              // or ETIMEDOUT, ECANCELED
 *             balance += amount;
 *             lw_mutex_unlock(&lock);
 *         }
 *     }
 *
 * A request that was accepted (0) calls `done` exactly once, from lw_loop_run or lw_loop_destroy,
 * and never from within the call that made or cancelled it. Its result is what the blocking form
 * returns. Until then the request's memory belongs to the loop; from the call on it is the caller's
 * again, to be freed or used for the next request. Nothing is allocated. A loop takes 128
 * bytes and three descriptors, a request 256 bytes, if pointers have 64 bits.
 *
 * What it promises. Requests of one loop for one lock are served in the order in which they came.
 * When the time of a request is up, it tries once more, unless others stand before it. Requests
 * exclude each other, although the loop's thread is the owner whichever of them has the lock: that
 * thread unlocks, in `done` or later. A busy loop holds nobody up: a lock that is free may be taken
 * by others until the loop gets to it. There are three exceptions. A loop that was overtaken, or
 * waits to write, reserves the lock: when it becomes free, others give way to that loop for half a
 * millisecond. A condition's notify may choose a waiter of a busy loop. And a request that has
 * claimed permits of a semaphore (sem.h) holds others up for half a millisecond, or, if none of
 * them comes or is woken meanwhile, until the loop turns. Fairness against threads is the blocking
 * forms'.
 *
 * What is illegal. A loop belongs to the thread that initialized it: other threads get EPERM, and
 * may only fire an lw_cancel. To block that thread for a lock that one of its requests holds
 * (EDEADLK, where the primitive has an owner). To free a primitive for which a request waits, or to
 * move a loop or a request in memory. To wake a loop in a signal handler, by an lw_event_set or an
 * lw_cancel_fire, say: the handler may have interrupted its own thread as that wakes a loop.
 *
 * When its thread ends, a loop is destroyed, after the thread's functions have been left: a loop
 * that may still be there then, and its requests, must not lie on that thread's stack. A forked
 * child has no loops: there every function returns EPERM, and lw_loop_destroy only closes the
 * child's copy of the descriptors. A child that was forked in `done` calls no further `done`: its
 * lw_loop_run returns.
 *
 * On Linux only. In WebAssembly, JavaScript waits without blocking (lockAsync).
 */
#ifndef LOCKWORD_LOOP_H
#define LOCKWORD_LOOP_H

#include <lockword/annotate.h>
#include <lockword/any.h>
#include <lockword/api.h>
#include <lockword/barrier.h>
#include <lockword/cancel.h>
#include <lockword/cond.h>
#include <lockword/counter.h>
#include <lockword/event.h>
#include <lockword/latch.h>
#include <lockword/mutex.h>
#include <lockword/once.h>
#include <lockword/permits.h>
#include <lockword/region.h>
#include <lockword/rmutex.h>
#include <lockword/rwlock.h>
#include <lockword/sem.h>
#include <lockword/waitgroup.h>

#if !LW_LINUX
#error "lockword/loop.h is for Linux only (in WebAssembly, JavaScript waits without blocking)"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_loop lw_loop;
typedef struct lw_request lw_request;

/*
 * Called when a request has ended. May do anything but destroy the loop (EBUSY). In C++ it may
 * throw out of lw_loop_run, but not out of lw_loop_destroy.
 */
typedef void lw_done(lw_request *request, int result, void *context);

/* What the rest of these declarations contain is the library's business. */

/* What a request's ending is worth, or LW_GOES_ON: it waits for something else now. */
typedef int lw_judge(lw_request *request, int result, int gave_up);

/* A place in a ring. */
typedef struct lw_link {
    struct lw_link *next;
    struct lw_link *before;
} lw_link;

/*
 * One wait of a request, at one primitive. A request contains one; a request for any of several
 * things, or under an lw_cancel, needs more of them, in the caller's memory, for as long as it
 * lives.
 */
typedef struct lw_waiter {
    lw_request *request;
    lw_step *step;
    lw_word *words;
    lw_word *heard_at;  /* the word whose notify it hears: its gate, or a region's bell */
    uint32_t *number;   /* where to say which permit it is, or NULL */
    uint64_t parked_at; /* its place in time among the waiters of its bucket */
    uint32_t wanted;
    uint16_t phase;
    uint8_t gate;              /* the word that it parks at */
    uint8_t why;               /* the reason for which its step has to run */
    bool parked;               /* a notify ends its wait */
    bool leads;                /* it is the head of its line */
    bool is_ready;             /* it is in its loop's inbox */
    bool is_in_line;           /* it has joined its line: a condition's notify may take it out */
    lw_link lot;               /* of a head: its place in the bucket */
    lw_link line;              /* its place in its line */
    lw_link ready;             /* its place in the inbox */
    struct lw_waiter *sibling; /* the next waiter of the same request, or NULL */
} lw_waiter;

struct lw_request {
    lw_waiter waiter;
    lw_loop *loop;
    lw_done *done;
    void *context;
    lw_deadline deadline;
    /* When it looks again or gives up; LW_FOREVER: never, and it is not among the loop's timers. */
    lw_deadline wake_at;
    /* In the heap of timers. `before` is the sibling before it or, of a first child, the parent. */
    lw_request *child, *next, *before;
    lw_link place;     /* in the loop's `pending` or `ended` */
    lw_waiter *cancel; /* the one that waits at an lw_cancel, or ended the request; or NULL */
    lw_word *relock;   /* of a condition's wait: the mutex; once is_relocking, the condition */
    lw_judge *judge;
    lw_word *other; /* for `judge`, and `fate` */
    uint32_t owner; /* who takes it: an agent's id */
    uint32_t fate;
    uint32_t depth;
    uint32_t value;
    int result;
    uint8_t kind;
    uint8_t slices; /* how often it has looked again, each time after twice as long */
    bool has_ended;
    bool is_relocking;
};

struct lw_loop {
    lw_mutex lock;    /* guards the next three; and `ready`, `is_ready` and `why` of each waiter */
    lw_link ready;    /* the inbox */
    uint32_t ringers; /* threads that are about to ring the loop */
    bool is_rung;     /* nobody need ring it: it runs, or has been rung */

    lw_link pending;    /* requests that wait */
    lw_link ended;      /* requests whose `done` is to be called */
    lw_request *timers; /* the earliest, the root of the heap, or NULL */
    lw_deadline armed;  /* for when the system's timer is set; LW_FOREVER: it is not */
    lw_deadline now;    /* the clock, as this run has read it */
    uint32_t self;
    uint32_t forks;  /* lw_lot_forks() when it was initialized */
    uint32_t budget; /* how much this run may still do */
    int fds[3];
    bool is_running;
    bool will_run; /* its own thread need not ring it any more */
    bool is_closing;
    bool has_fired; /* the system's timer, in this run */
    lw_loop *next;  /* of the same thread */
};

/* How a request is ended, for the functions below. */
enum lw_request_kind {
    LW_REQUEST_PLAIN,
    LW_REQUEST_WRITES,   /* locks, for one agent */
    LW_REQUEST_READS,    /* locks, beside others */
    LW_REQUEST_UPGRADES, /* exchanges a read for a write */
    LW_REQUEST_REENTERS, /* locks a recursive mutex */
    LW_REQUEST_RUNS,     /* begins a once */
    LW_REQUEST_MEETS,    /* waits at a barrier */
    LW_REQUEST_PICKS,    /* waits for any of several */
};

/*
 * Initializes a loop in unused memory, for the calling thread. Returns 0, or the error with which
 * the system refused a descriptor: EMFILE, ENFILE, ENOMEM; ENOMEM also if it refused the memory to
 * note that the thread has loops; EAGAIN: the process has no thread-specific key left.
 */
int lw_loop_init(lw_loop *loop);

/* The parts of lw_loop_run and lw_loop_destroy. Call those functions instead. */
bool lw_loop_begin(lw_loop *loop);
lw_request *lw_loop_next(lw_loop *loop);
int lw_loop_close(lw_loop *loop);
void lw_loop_free(lw_loop *loop);

/*
 * Returns the words of what the request has waited for: of several sources, that of the one that
 * came first.
 */
static inline lw_word *lw_request_words(const lw_request *request)
{
    const lw_waiter *waiter = &request->waiter;
    if (request->kind == LW_REQUEST_PICKS && request->result == 0) {
        for (uint32_t i = 0; i < request->value; i++)
            waiter = waiter->sibling;
    }
    return waiter->words;
}

/* Tells the tools of annotate.h what the request has acquired. */
static inline void lw_request_note(const lw_request *request)
{
    lw_word *words = lw_request_words(request);
    const bool locks = request->kind >= LW_REQUEST_WRITES && request->kind <= LW_REQUEST_REENTERS;
    /* A cancel that the request has kept to its end has ended it. */
    if (LW_ANNOTATE && request->result == ECANCELED && request->cancel)
        LW_NOTE_ACQUIRE(request->cancel->words);
    /* A condition's wait has its mutex again, whatever its result. */
    if (!LW_ANNOTATE || (locks && request->result != 0 && !request->is_relocking))
        return;
    if (request->kind == LW_REQUEST_UPGRADES) {
        LW_NOTE_UNLOCKING(words, LW_NOTE_READ);
        LW_NOTE_UNLOCKED(words, LW_NOTE_READ);
    }
    if (locks) {
        const int how = LW_NOTE_TRY | (request->kind == LW_REQUEST_READS ? LW_NOTE_READ : 0);
        LW_NOTE_LOCKING(words, how);
        LW_NOTE_LOCKED(words, how, true);
    } else {
        LW_NOTE_ACQUIRE(words);
    }
}

#ifdef __cplusplus
/* If a `done` throws, the run ends, and the next one has the rest. */
struct lw_run {
    lw_loop *loop;

    ~lw_run()
    {
        if (loop) {
            loop->budget = 0;
            lw_loop_next(loop);
        }
    }
};
#endif

static inline uint32_t lw_loop_call_ended(lw_loop *loop)
{
#ifdef __cplusplus
    lw_run run = {loop};
#endif
    uint32_t called = 0;
    for (lw_request *request; (request = lw_loop_next(loop)) != LW_NULL; called++) {
        lw_request_note(request);
        request->done(request, request->result, request->context);
    }
#ifdef __cplusplus
    run.loop = LW_NULL;
#endif
    return called;
}

/*
 * Ends all requests, with ECANCELED unless they have ended otherwise, calls their `done`, and frees
 * the descriptors. A condition's wait that does not have its mutex again yet ends without it, and a
 * notify that it has got goes to another waiter. After this nothing touches the loop's memory, or
 * its requests'. Requests made meanwhile are refused (ECANCELED). Returns 0; EBUSY: called from
 * `done`; EPERM: not the loop's thread. May wait, very briefly, for a thread that is about to wake
 * the loop.
 */
LW_API int lw_loop_destroy(lw_loop *loop)
{
    const int error = lw_loop_close(loop);
    if (error != 0)
        return error;
    lw_loop_call_ended(loop);
    lw_loop_free(loop);
    return 0;
}

/*
 * Returns a descriptor that is readable when lw_loop_run has something to do: also when a deadline
 * has passed. It is the loop's own; poll it, level- or edge-triggered, and leave it open.
 */
int lw_loop_fd(const lw_loop *loop);

/*
 * Runs what is due, and calls the `done` of requests that have ended: up to some hundreds, so that
 * the thread's other events get their turn. The descriptor stays readable if there are more.
 * Returns how many it called; 0 also in a call from `done`, which only makes the descriptor
 * unreadable until the present run has ended; and in another thread.
 */
LW_API uint32_t lw_loop_run(lw_loop *loop)
{
    return lw_loop_begin(loop) ? lw_loop_call_ended(loop) : 0;
}

/*
 * Ends a request, if it has not ended yet: its `done` is called with ECANCELED, or with 0 if what
 * it waited for has happened. A condition's wait takes its mutex again first. Takes a constant
 * time. For the loop's own thread. Returns 0; EPERM: called by another thread.
 */
int lw_request_cancel(lw_request *request);

/*
 * Ends a request with ECANCELED when `cancel` fires, in whatever thread. To be called at most once,
 * after the request has been made; `waiter` must live as long. Returns 0; EPERM: not the loop's
 * thread; EAGAIN: `cancel` is in a region, and the system refused the thread that listens there.
 */
int lw_request_cancel_by(lw_request *request, lw_waiter *waiter, lw_cancel *cancel);

/*
 * In `done`, after success: the permits that a semaphore's acquire has left, the number of the
 * permit that was acquired (permits.h), the value of the counter that was waited for, or the index
 * of the source that came first. Of a condition's wait, whatever its result: 1 if its mutex is held
 * again; 0 if not, since the loop was destroyed first.
 */
LW_API uint32_t lw_request_value(const lw_request *request)
{
    return request->value;
}

/* What all functions below do. Call those instead. */
#define LW_GOES_ON (-1)
#define LW_ASYNC_PARAMETERS                                                                        \
    lw_request *request, lw_loop *loop, lw_deadline deadline, lw_done *done, void *context
void lw_request_go_on(lw_request *request, lw_step *step, lw_word *words);
int lw_request_prepare(lw_word *words, enum lw_request_kind kind, LW_ASYNC_PARAMETERS);
void lw_request_start(lw_request *request, lw_step *step, lw_word *words, uint32_t wanted,
                      uint8_t gate);
int lw_request_begin(lw_request *request, lw_loop *loop, enum lw_request_kind kind, lw_step *step,
                     lw_word *words, uint32_t wanted, lw_deadline deadline, lw_done *done,
                     void *context);

/*
 * The forms of each function that waits. They take what the blocking form does, then the request,
 * its loop, a deadline (LW_FOREVER: none), and what to call, with which context. Each returns 0;
 * EPERM: not the loop's thread; ECANCELED: the loop is being destroyed; EINVAL: there are no
 * permits, or a semaphore can never have so many; in a region also EAGAIN (below). Then `done` is
 * not called.
 */
#define LW_ASYNC(kind, step, object, wanted)                                                       \
    lw_request_begin(request, loop, kind, step, (object)->word, wanted, deadline, done, context)

LW_API int lw_mutex_lock_async(lw_mutex *mutex, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_WRITES, lw_mutex_lock_step, mutex, lw_self());
}

/*
 * A request holds a recursive mutex for one task of its loop: other requests, and blocking calls of
 * the same thread, are kept out. The task re-enters and leaves by the two functions after this one.
 */
LW_API int lw_rmutex_lock_async(lw_rmutex *rmutex, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_REENTERS, lw_mutex_lock_step, rmutex, lw_self());
}

/* Takes it once more. Returns 0; EPERM: no task of this thread holds it; EOVERFLOW. */
LW_API int lw_rmutex_relock_task(lw_rmutex *rmutex)
{
    const enum lw_reentry reentry =
        lw_rmutex_reenter_step(rmutex->word, lw_self() | LW_RMUTEX_TASK);
    return reentry == LW_REENTRY_YES ? 0 : reentry == LW_REENTRY_NO ? EPERM : EOVERFLOW;
}

/* Unlocks it once. Returns 0; EPERM: no task of this thread holds it. */
LW_API int lw_rmutex_unlock_task(lw_rmutex *rmutex)
{
    const uint32_t task = lw_self() | LW_RMUTEX_TASK;
    const int how =
        LW_ANNOTATE && !lw_rmutex_is_held_once(rmutex, task) ? LW_NOTE_NOTHING : LW_NOTE_WRITE;
    LW_NOTE_UNLOCKING(rmutex->word, how);
    const int error = lw_rmutex_give(rmutex, task);
    LW_NOTE_UNLOCKED(rmutex->word, how);
    return error;
}

LW_API int lw_rwlock_rdlock_async(lw_rwlock *rwlock, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_READS, lw_rwlock_read_step, rwlock, lw_self());
}

LW_API int lw_rwlock_uplock_async(lw_rwlock *rwlock, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_READS, lw_rwlock_upread_step, rwlock, lw_self());
}

LW_API int lw_rwlock_wrlock_async(lw_rwlock *rwlock, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_WRITES, lw_rwlock_write_step, rwlock, lw_self());
}

/* `done` gets EPERM if the thread does not read upgradably. */
LW_API int lw_rwlock_upgrade_async(lw_rwlock *rwlock, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_UPGRADES, lw_rwlock_upgrade_step, rwlock, lw_self());
}

LW_API int lw_sem_acquire_async(lw_sem *sem, uint32_t n, LW_ASYNC_PARAMETERS)
{
    return n > LW_SEM_MAX ? EINVAL : LW_ASYNC(LW_REQUEST_PLAIN, lw_sem_acquire_step, sem, n);
}

/* A permit is the loop's thread's: any task of it may release what lw_request_value says. */
LW_API int lw_permits_acquire_async(lw_permits *permits, LW_ASYNC_PARAMETERS)
{
    return lw_permits_count(permits->word) == 0
               ? EINVAL
               : LW_ASYNC(LW_REQUEST_PLAIN, lw_permits_acquire_step, permits, lw_self());
}

LW_API int lw_event_wait_async(lw_event *event, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_PLAIN, lw_event_wait_step, event, lw_source_event(event).wanted);
}

LW_API int lw_counter_wait_change_async(lw_counter *counter, uint32_t value, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_PLAIN, lw_counter_change_step, counter, value);
}

LW_API int lw_counter_wait_at_least_async(lw_counter *counter, uint32_t value, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_PLAIN, lw_counter_at_least_step, counter, value);
}

LW_API int lw_counter_wait_at_most_async(lw_counter *counter, uint32_t value, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_PLAIN, lw_counter_at_most_step, counter, value);
}

LW_API int lw_waitgroup_wait_async(lw_waitgroup *group, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_PLAIN, lw_waitgroup_wait_step, group,
                    lw_waitgroup_state(group->word) & LW_WAITGROUP_ROUND);
}

LW_API int lw_latch_wait_async(lw_latch *latch, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_PLAIN, lw_latch_wait_step, latch, 0);
}

/* `done` gets LW_ONCE_RUN if it is this request's turn: then the thread calls lw_once_finish. */
LW_API int lw_once_begin_async(lw_once *once, LW_ASYNC_PARAMETERS)
{
    return LW_ASYNC(LW_REQUEST_RUNS, lw_once_begin_step, once, lw_self());
}

/* Arrives at once. `done` gets LW_BARRIER_LEADER if this request was the last to arrive. */
LW_API int lw_barrier_wait_async(lw_barrier *barrier, LW_ASYNC_PARAMETERS)
{
    LW_NOTE_RELEASE(barrier->word);
    return LW_ASYNC(LW_REQUEST_MEETS, lw_barrier_wait_step, barrier, 0);
}

/* What the two functions below do. */
int lw_cond_begin(lw_cond *cond, lw_word *mutex, bool is_recursive, LW_ASYNC_PARAMETERS);

/* Others may lock the mutex before that function returns. If it refuses, the thread has kept it. */
static inline int lw_cond_begin_noted(lw_cond *cond, lw_word *mutex, bool is_recursive,
                                      LW_ASYNC_PARAMETERS)
{
    LW_NOTE_UNLOCKING(mutex, LW_NOTE_WRITE);
    LW_NOTE_UNLOCKED(mutex, LW_NOTE_WRITE);
    const int error =
        lw_cond_begin(cond, mutex, is_recursive, request, loop, deadline, done, context);
    if (LW_ANNOTATE && error != 0) {
        LW_NOTE_LOCKING(mutex, LW_NOTE_TRY);
        LW_NOTE_LOCKED(mutex, LW_NOTE_TRY, true);
    }
    return error;
}

/*
 * Gives up the mutex, which the thread holds, and waits for a notify. `done` is called with the
 * mutex held again, whatever its result, unless the loop is destroyed: then lw_request_value tells.
 * Among event loops, notify_one wakes one loop after another, and the requests of each in their
 * order. The mutex is not held by the thread: EPERM.
 */
LW_API int lw_cond_wait_async(lw_cond *cond, lw_mutex *mutex, LW_ASYNC_PARAMETERS)
{
    if (lw_mutex_owner(mutex->word) != lw_self())
        return EPERM;
    return lw_cond_begin_noted(cond, mutex->word, false, request, loop, deadline, done, context);
}

/* The same with a recursive mutex that a task holds. It is given up entirely. */
LW_API int lw_cond_wait_recursive_async(lw_cond *cond, lw_rmutex *rmutex, LW_ASYNC_PARAMETERS)
{
    if (lw_load(&rmutex->word[LW_RMUTEX_HOLDER], lw_relaxed) != (lw_self() | LW_RMUTEX_TASK))
        return EPERM;
    return lw_cond_begin_noted(cond, rmutex->word, true, request, loop, deadline, done, context);
}

/*
 * lw_wait_any: waits for one of n sources, whose index `done` finds as the request's value: the
 * first that is ready at the call, or else the first that the loop hears of. Any number of sources,
 * which the call only reads; EINVAL: also, none. Besides the request it needs n - 1 waiters. The
 * number of a permit (lw_source_permits) is stored before `done` is called.
 */
int lw_wait_any_async(const lw_source *sources, uint32_t n, lw_waiter *waiters,
                      LW_ASYNC_PARAMETERS);

/*
 * In a region (region.h). What has no owner is waited for by the functions above; these are for
 * what has: the thread's id in the region is the owner, and `done` gets what the blocking form
 * returns, such as EOWNERDEAD with the mutex held. The handle is only read by the call. `done` of
 * the condition's wait has the mutex, unless its result is ENOTRECOVERABLE or EIDRM, or the loop is
 * destroyed.
 * lw_region_info counts no requests among the waiters, and lw_region_deadlock does not know of
 * them. Recursive mutexes have no such form. Of a table each request that reads has a place of its
 * own among the readers, and stands in line behind writers also if its thread reads already.
 *
 * A notify from another process comes by a thread that the process has for each region in which its
 * loops wait; it is started by the first wait, which returns EAGAIN if the system refuses it. A
 * condition's notify tells all loops of other processes, and of this one. All requests have to end
 * before the region is closed.
 */
int lw_region_mutex_lock_async(const lw_region_mutex *mutex, LW_ASYNC_PARAMETERS);
int lw_region_cond_wait_async(lw_cond *cond, const lw_region_mutex *mutex, LW_ASYNC_PARAMETERS);
int lw_region_permits_acquire_async(const lw_region_permits *permits, LW_ASYNC_PARAMETERS);
int lw_region_rwtable_rdlock_async(const lw_region_rwtable *lock, LW_ASYNC_PARAMETERS);
int lw_region_rwtable_wrlock_async(const lw_region_rwtable *lock, LW_ASYNC_PARAMETERS);
int lw_region_rwlock_rdlock_async(const lw_region_rwlock *rwlock, LW_ASYNC_PARAMETERS);
int lw_region_rwlock_wrlock_async(const lw_region_rwlock *rwlock, LW_ASYNC_PARAMETERS);
int lw_region_once_begin_async(const lw_region_once *once, LW_ASYNC_PARAMETERS);

#ifdef __cplusplus
}
#endif

#endif
