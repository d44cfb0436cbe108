/*
 * loop.c: event loops: the driver of everything that must not block. It runs the steps that
 * blocking.c runs. The words' notifies come through the parking lot (lot.h).
 *
 * A request has one waiter, or several, of which the first to succeed ends it. A waiter's step runs
 * when it becomes the head of its line, when it was notified, and when its request is to look again
 * or to give up. A request that has ended waits in `ended` for lw_loop_run to call its `done`.
 */
#include "lot.h"

#include "../region/care.h"
#include "../wait/awake.h"

#include <lockword/core/waiters.h>

#include <pthread.h>

/*
 * How many requests, or steps, one call of lw_loop_run deals with, so that the other events of the
 * thread get their turn: some ten microseconds.
 */
#ifndef BUDGET
#define BUDGET 256
#endif

/* How often a wait for fairness gets twice as long: the longest one lasts half a minute. */
#define MAX_SLICES 16

static lw_request *request_at(lw_link *link)
{
    return LW_CONTAINER(link, lw_request, place);
}

/* The loop's timers: its requests that are to look again or to give up, a pairing heap by time. */

static lw_request *meld(lw_request *a, lw_request *b)
{
    if (!a || !b)
        return a ? a : b;
    if (b->wake_at < a->wake_at) {
        lw_request *later = a;
        a = b;
        b = later;
    }
    b->before = a;
    b->next = a->child;
    if (b->next)
        b->next->before = b;
    a->child = b;
    return a;
}

/* Melds the heaps of a list: in pairs first, which is what makes it fast. */
static lw_request *meld_all(lw_request *list)
{
    lw_request *pairs = NULL;
    while (list) {
        lw_request *a = list;
        lw_request *b = a->next;
        list = b ? b->next : NULL;
        a->next = NULL;
        if (b)
            b->next = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    lw_request *heap = NULL;
    while (pairs) {
        lw_request *next = pairs->next;
        pairs->next = NULL;
        heap = meld(heap, pairs);
        pairs = next;
    }
    return heap;
}

static void remove_timer(lw_request *request)
{
    lw_loop *loop = request->loop;
    if (request->wake_at == LW_FOREVER)
        return;
    lw_request *below = meld_all(request->child);
    if (request == loop->timers) {
        loop->timers = below;
    } else {
        if (request->before->child == request)
            request->before->child = request->next;
        else
            request->before->next = request->next;
        if (request->next)
            request->next->before = request->before;
        loop->timers = meld(loop->timers, below);
    }
    request->child = request->next = request->before = NULL;
    request->wake_at = LW_FOREVER;
}

/* Sets when the request looks again or gives up. */
static void set_timer(lw_request *request, lw_deadline time)
{
    if (time == request->wake_at)
        return;
    remove_timer(request);
    request->wake_at = time;
    if (time != LW_FOREVER)
        request->loop->timers = meld(request->loop->timers, request);
}

static void ring_self(lw_loop *loop)
{
    if (loop->is_running || loop->will_run)
        return;
    loop->will_run = true;
    if (lw_inbox_claim_ring(loop))
        lw_inbox_ring(loop);
}

/*
 * Wakes the loop at its first timer. While it runs, that is left to the end of the run. To set the
 * system's timer to the past takes ten times as long as to ring.
 */
static void arm(lw_loop *loop)
{
    const lw_deadline first = loop->timers ? loop->timers->wake_at : LW_FOREVER;
    if (loop->is_running || first >= loop->armed)
        return;
    if (first <= LW_NOW) {
        ring_self(loop);
        return;
    }
    loop->armed = first;
    lw_alarm_set(loop->fds, first);
}

static void make_ready(lw_waiter *waiter, uint32_t why)
{
    if (lw_inbox_put(waiter, why))
        lw_inbox_ring(waiter->request->loop);
}

static void leave_line(lw_waiter *waiter)
{
    if (!waiter->is_in_line)
        return;
    waiter->is_in_line = false;
    lw_waiter *next = lw_lot_leave(waiter);
    if (next)
        make_ready(next, LW_START);
}

static void advance(lw_waiter *waiter, uint32_t why);

static void join_line(lw_waiter *waiter)
{
    waiter->is_in_line = true;
    if (lw_lot_join(waiter))
        advance(waiter, LW_START);
}

static bool is_at_condition(const lw_request *request)
{
    return request->relock && !request->is_relocking;
}

/* The request waits by this step, at a gate, instead of what it has waited for. */
static void change_step(lw_request *request, lw_step *step, lw_word *words)
{
    lw_waiter *waiter = &request->waiter;
    waiter->step = step;
    waiter->words = words;
    waiter->gate = LW_WAITERS_GATE;
    waiter->wanted = request->owner;
    waiter->phase = 0;
    join_line(waiter);
}

void lw_request_go_on(lw_request *request, lw_step *step, lw_word *words)
{
    leave_line(&request->waiter);
    request->slices = 0;
    change_step(request, step, words);
}

/* Runs the step once, for this reason, and again while the word changes. */
static lw_answer run_step(lw_waiter *waiter, uint32_t why)
{
    lw_answer answer;
    do {
        answer = waiter->step(waiter->words, waiter->wanted, why | LW_ASYNC, waiter->phase);
        waiter->phase = (uint16_t)lw_answer_phase(answer);
    } while (lw_answer_what(answer) == LW_RETRY);
    return answer;
}

static void end(lw_request *request, int result)
{
    lw_loop *loop = request->loop;
    for (lw_waiter *waiter = &request->waiter; waiter; waiter = waiter->sibling) {
        leave_line(waiter);
        /* One of several that did not come may have claimed what it waited for. */
        if (waiter->phase != 0 && request->kind == LW_REQUEST_PICKS)
            run_step(waiter, LW_CANCELLED);
    }
    if (request->cancel && request->cancel->is_in_line) {
        leave_line(request->cancel);
        request->cancel = NULL;
    }
    set_timer(request, LW_FOREVER);
    if (request->result == 0)
        request->result = result;
    if (is_at_condition(request) && !loop->is_closing) {
        /* A condition's wait has ended: it cannot fail any more. */
        lw_word *mutex = request->relock;
        request->relock = request->waiter.words;
        request->deadline = LW_FOREVER;
        request->is_relocking = true;
        change_step(request, lw_mutex_lock_step, mutex);
        return;
    }
    request->has_ended = true;
    lw_link_remove(&request->place);
    lw_link_put(&request->place, &loop->ended);
    ring_self(loop);
}

/* Ends the request with what the waiter's step has returned. */
static void finish(lw_waiter *waiter, lw_answer answer, int gave_up)
{
    lw_request *request = waiter->request;
    const uint32_t what = lw_answer_what(answer);
    const uint32_t value = lw_answer_expected(answer);
    int result = what == LW_GAVE_UP ? gave_up : lw_error_of(lw_ending_of(what));
    if (result == 0 && waiter == request->cancel) {
        /* Out of its line it stays the request's: lw_request_note tells the tools which it was. */
        leave_line(waiter);
        lw_request_cancel(request);
        return;
    }
    request->value = value;
    if (is_at_condition(request)) {
        end(request, result);
        return;
    }
    if (request->judge) {
        result = request->judge(request, result, gave_up);
        if (result == LW_GOES_ON)
            return;
        /* A region's lock: it counts more than why a condition's wait has ended. */
        if (result != 0)
            request->result = result;
    } else if (request->kind == LW_REQUEST_PICKS) {
        uint32_t index = 0;
        for (lw_waiter *each = &request->waiter; each != waiter; each = each->sibling)
            index++;
        request->value = index;
        if (waiter->number)
            *waiter->number = value;
    } else if (result == 0 && request->kind == LW_REQUEST_REENTERS) {
        lw_rmutex_entered_step(waiter->words, waiter->wanted | LW_RMUTEX_TASK, request->depth);
    } else if (result == 0 && request->kind == LW_REQUEST_RUNS) {
        result = value ? LW_ONCE_RUN : 0;
    } else if (result == 0 && request->kind == LW_REQUEST_MEETS) {
        result = lw_barrier_error_of(value);
    }
    if (request->is_relocking)
        request->value = result == 0 || result == EOWNERDEAD;
    end(request, result);
}

/* Whether others of the waiter's line go before it. A condition's notify tells who goes. */
static bool is_behind(const lw_waiter *waiter)
{
    return !is_at_condition(waiter->request) && waiter->is_in_line && !waiter->leads;
}

/*
 * Runs the step of a waiter that gives up, which has its last try by that. One that stood behind
 * others has none of a lock, or it would overtake them; and as its step has never run, it has left
 * nothing in the words. The step of anything else is told of a cancel: then it takes no permits,
 * and still learns that an event has been set. (It may take an automatic event, or a once.)
 */
static lw_answer run_last_step(lw_waiter *waiter, uint32_t why, bool was_behind)
{
    const uint32_t kind = waiter->request->kind;
    if (was_behind && kind >= LW_REQUEST_WRITES && kind <= LW_REQUEST_REENTERS)
        return lw_answer_of(LW_GAVE_UP, 0, 0, 0);
    return run_step(waiter, was_behind ? LW_CANCELLED : why);
}

/*
 * Ends a request whose time is up, or that was cancelled. Its waiter leaves the line first: were a
 * condition's waiter notified between its last look and its leaving, it would take the notify with
 * it. Of several waiters none may succeed any more after a cancel.
 */
static void give_up(lw_request *request, uint32_t why)
{
    const int result = why == LW_TIMED_OUT ? ETIMEDOUT : ECANCELED;
    lw_waiter *waiter = &request->waiter;
    if (request->kind != LW_REQUEST_PICKS) {
        const bool was_behind = is_behind(waiter);
        leave_line(waiter);
        finish(waiter, run_last_step(waiter, why, was_behind), result);
        return;
    }
    for (; waiter && why == LW_TIMED_OUT; waiter = waiter->sibling) {
        const lw_answer answer = run_last_step(waiter, why, is_behind(waiter));
        if (lw_answer_what(answer) == LW_DONE) {
            finish(waiter, answer, result);
            return;
        }
    }
    end(request, result);
}

/*
 * Says when to look again, after a step that has to wait in this way. Of several waiters the
 * earliest time counts. The waiter at a cancel needs none. In a region a waiter looks for the dead.
 */
static void wait_as(lw_waiter *waiter, uint32_t way)
{
    lw_request *request = waiter->request;
    lw_deadline wake_at = request->deadline;
    if (waiter == request->cancel)
        return;
    int64_t patience = lw_lot_is_of_region(waiter) ? LW_CARE_NS : LW_FOREVER;
    if (way == LW_WAIT_BRIEF)
        patience = LW_BRIEF_NS;
    else if (way == LW_WAIT && (int64_t)LW_SLICE_NS << request->slices < patience)
        patience = (int64_t)LW_SLICE_NS << request->slices;
    if (patience != LW_FOREVER) {
        const lw_deadline slice = lw_now() + patience;
        if (slice < wake_at)
            wake_at = slice;
    }
    if (request->kind == LW_REQUEST_PICKS && request->wake_at < wake_at)
        wake_at = request->wake_at;
    set_timer(request, wake_at);
    arm(request->loop);
}

/* Runs the step of a head, until it has to wait. */
static void advance(lw_waiter *waiter, uint32_t why)
{
    for (;;) {
        /* If a notify comes just now, the inbox has it. */
        const uint32_t queued = lw_lot_is_parked(waiter) ? LW_QUEUED : 0;
        const lw_answer answer = run_step(waiter, why | queued);
        const uint32_t what = lw_answer_what(answer);
        if (what < LW_WAIT) {
            finish(waiter, answer, 0);
            return;
        }
        if (queued) {
            wait_as(waiter, what);
            return;
        }
        if (!lw_lot_park(waiter))
            return;
        why = LW_AGAIN;
    }
}

/* The request looks again, or gives up if its time is up. */
static void run_timer(lw_request *request)
{
    if (request->deadline <= request->loop->now) {
        give_up(request, LW_TIMED_OUT);
        return;
    }
    if (request->slices < MAX_SLICES)
        request->slices++;
    set_timer(request, request->deadline);
    lw_waiter *waiter = &request->waiter;
    for (; waiter && !request->has_ended; waiter = waiter->sibling) {
        if (!waiter->leads)
            continue;
        if (lw_lot_is_of_region(waiter))
            lw_care_look(waiter->words);
        advance(waiter, LW_SLICE);
    }
}

/* Whether this is a forked child, and the loop its parent's. */
static bool is_parents(const lw_loop *loop)
{
    return loop->forks != lw_lot_forks();
}

static bool is_own(const lw_loop *loop)
{
    return loop->self == lw_self() && !is_parents(loop);
}

/* The loops of each thread, which end with it. */
static pthread_key_t loops_key;
static bool has_loops_key;
static lw_mutex making_loops_key = LW_MUTEX_INIT;
static bool is_loops_key_deleted;
static pthread_once_t forks_once = PTHREAD_ONCE_INIT;

/* A `done` may destroy other loops of its thread: these leave the list. */
static void destroy_loops(void *first)
{
    pthread_setspecific(loops_key, first);
    for (lw_loop *loop; (loop = pthread_getspecific(loops_key)) != NULL;) {
        loop->is_running = false; /* if its thread ended in a `done` */
        if (lw_loop_destroy(loop) != 0)
            pthread_setspecific(loops_key, loop->next);
    }
}

/*
 * A forked child may use the memory of its parent's loops, and the numbers of their descriptors,
 * for something else. Another thread may have been making the key.
 */
static void forget_loops(void)
{
    making_loops_key = (lw_mutex)LW_MUTEX_INIT;
    if (has_loops_key && !is_loops_key_deleted)
        pthread_setspecific(loops_key, NULL);
}

static void expect_forks(void)
{
    pthread_atfork(NULL, NULL, forget_loops);
}

/* By a lock, not by a once: if no key is left now, one may be later. Returns 0 or EAGAIN. */
static int make_loops_key(void)
{
    int error = 0;
    pthread_once(&forks_once, expect_forks);
    lw_mutex_lock(&making_loops_key);
    if (!has_loops_key) {
        error = pthread_key_create(&loops_key, destroy_loops);
        __atomic_store_n(&has_loops_key, error == 0, __ATOMIC_RELEASE);
    }
    lw_mutex_unlock(&making_loops_key);
    return error;
}

/* The number of keys is limited, and a program may load a library again and again. */
LW_DESTRUCTOR static void delete_loops_key(void)
{
    is_loops_key_deleted = true;
    if (has_loops_key)
        pthread_key_delete(loops_key);
}

int lw_loop_init(lw_loop *loop)
{
    lw_lot_open();
    int error = __atomic_load_n(&has_loops_key, __ATOMIC_ACQUIRE) ? 0 : make_loops_key();
    if (error != 0)
        return error;
    *loop = (lw_loop){.armed = LW_FOREVER,
                      .self = lw_self(),
                      .forks = lw_lot_forks(),
                      .next = pthread_getspecific(loops_key)};
    lw_link_init(&loop->ready);
    lw_link_init(&loop->pending);
    lw_link_init(&loop->ended);
    error = lw_alarm_open(loop->fds);
    if (error != 0)
        return error;
    error = pthread_setspecific(loops_key, loop);
    /* Any other error: the process ends, and the key is gone. */
    if (error != ENOMEM)
        return 0;
    lw_alarm_close(loop->fds);
    return error;
}

int lw_loop_fd(const lw_loop *loop)
{
    return loop->fds[0];
}

bool lw_loop_begin(lw_loop *loop)
{
    if (!is_own(loop))
        return false;
    if (loop->is_running) {
        /* A `done` turns the thread's events. The present run sets the timer again at its end. */
        lw_alarm_hush(loop->fds);
        lw_alarm_set(loop->fds, LW_FOREVER);
        loop->armed = LW_FOREVER;
        return false;
    }
    loop->is_running = true;
    loop->will_run = false;
    loop->budget = BUDGET;
    lw_inbox_wake(loop);
    lw_alarm_hush(loop->fds);
    if (loop->timers || loop->armed != LW_FOREVER)
        loop->now = lw_now();
    if (loop->armed <= loop->now) {
        loop->armed = LW_FOREVER;
        loop->has_fired = true;
    }
    return true;
}

/* Ends the run. From here on others ring. */
static void end_run(lw_loop *loop, bool is_idle)
{
    loop->is_running = false;
    if (loop->has_fired && !loop->timers)
        lw_alarm_set(loop->fds, LW_FOREVER);
    loop->has_fired = false;
    arm(loop);
    if (!is_idle)
        lw_alarm_ring(loop->fds);
}

lw_request *lw_loop_next(lw_loop *loop)
{
    bool is_idle = false;
    if (is_parents(loop))
        return NULL; /* this child was forked in `done` */
    for (; loop->budget > 0 && !is_idle; loop->budget--) {
        if (!lw_link_is_alone(&loop->ended)) {
            lw_request *request = request_at(loop->ended.next);
            lw_link_remove(&request->place);
            loop->budget--;
            return request;
        }
        /*
         * Notifies come first, so that what came in time succeeds, and in order. In the second half
         * of a run deadlines do, since notifies may never end.
         */
        const bool is_due = loop->timers && loop->timers->wake_at <= loop->now;
        const bool is_late = is_due && loop->budget <= BUDGET / 2;
        uint32_t why;
        lw_waiter *waiter = is_late ? NULL : lw_inbox_take(loop, &why);
        if (waiter)
            advance(waiter, why);
        else if (is_due)
            run_timer(loop->timers);
        else
            is_idle = lw_inbox_rest(loop);
    }
    if (!loop->is_closing)
        end_run(loop, is_idle);
    return NULL;
}

/*
 * Ends a request of a loop that ends. A condition's wait will not have its mutex, and so cannot use
 * a notify that it has got: the next waiter gets it.
 */
static void cut_short(lw_request *request)
{
    lw_word *cond = is_at_condition(request) ? request->waiter.words : request->relock;
    bool is_notified = request->is_relocking && request->result == 0;
    request->result = 0;
    give_up(request, LW_CANCELLED);
    if (!cond)
        return;
    is_notified = is_notified || request->result == 0;
    request->result = ECANCELED;
    request->is_relocking = false;
    if (is_notified)
        lw_cond_notify_step(cond, 1);
}

int lw_loop_close(lw_loop *loop)
{
    if (is_parents(loop))
        return 0; /* no request was the child's */
    if (loop->self != lw_self())
        return EPERM;
    if (loop->is_running)
        return EBUSY;
    loop->is_running = true;
    loop->is_closing = true;
    loop->budget = UINT32_MAX;
    while (!lw_link_is_alone(&loop->pending))
        cut_short(request_at(loop->pending.next));
    return 0;
}

void lw_loop_free(lw_loop *loop)
{
    /* A child may have been forked while others had the lock, or were about to ring. */
    if (!is_parents(loop))
        lw_inbox_close(loop);
    lw_alarm_close(loop->fds);
    lw_loop *first = pthread_getspecific(loops_key);
    if (first == loop) {
        pthread_setspecific(loops_key, loop->next);
        return;
    }
    while (first && first->next != loop)
        first = first->next;
    if (first)
        first->next = loop->next;
}

/* All but its places in rings and in time, which it gets when it joins a line. */
static void init_waiter(lw_waiter *waiter, lw_request *request, lw_step *step, lw_word *words,
                        uint32_t wanted, uint8_t gate)
{
    waiter->request = request;
    waiter->step = step;
    waiter->words = words;
    waiter->number = NULL;
    waiter->wanted = wanted;
    waiter->phase = 0;
    waiter->gate = gate;
    waiter->why = 0;
    waiter->parked = waiter->leads = waiter->is_ready = waiter->is_in_line = false;
    waiter->sibling = NULL;
}

int lw_request_prepare(lw_word *words, enum lw_request_kind kind, LW_ASYNC_PARAMETERS)
{
    if (!is_own(loop))
        return EPERM;
    if (loop->is_closing)
        return ECANCELED;
    const int error = lw_care_listen(words);
    if (error != 0)
        return error;
    /* All but the waiter, one by one: a literal would clear all of the 256 bytes first. */
    request->loop = loop;
    request->done = done;
    request->context = context;
    request->deadline = deadline;
    request->wake_at = LW_FOREVER;
    request->child = request->next = request->before = NULL;
    request->cancel = NULL;
    request->relock = request->other = NULL;
    request->judge = NULL;
    request->owner = loop->self;
    request->fate = request->depth = request->value = 0;
    request->result = 0;
    request->kind = (uint8_t)kind;
    request->slices = 0;
    request->has_ended = request->is_relocking = false;
    lw_link_put(&request->place, &loop->pending);
    set_timer(request, deadline);
    return 0;
}

/* Lets the waiter wait, unless the request has ended already. */
static void set_out(lw_waiter *waiter)
{
    lw_request *request = waiter->request;
    if (!request->has_ended && !request->is_relocking)
        join_line(waiter);
    arm(request->loop);
}

void lw_request_start(lw_request *request, lw_step *step, lw_word *words, uint32_t wanted,
                      uint8_t gate)
{
    init_waiter(&request->waiter, request, step, words, wanted, gate);
    set_out(&request->waiter);
}

int lw_request_begin(lw_request *request, lw_loop *loop, enum lw_request_kind kind, lw_step *step,
                     lw_word *words, uint32_t wanted, lw_deadline deadline, lw_done *done,
                     void *context)
{
    const int error = lw_request_prepare(words, kind, request, loop, deadline, done, context);
    if (error != 0)
        return error;
    if (kind == LW_REQUEST_MEETS) {
        const lw_answer arrival = lw_barrier_arrive_step(words);
        wanted = lw_answer_expected(arrival);
        if (lw_answer_what(arrival) != LW_BARRIER_WAITS) {
            init_waiter(&request->waiter, request, step, words, wanted, LW_WAITERS_GATE);
            end(request, lw_barrier_error_of(lw_answer_what(arrival)));
            return 0;
        }
    }
    lw_request_start(request, step, words, wanted, LW_WAITERS_GATE);
    return 0;
}

/*
 * The waiter is in the lot before the mutex is given up. So the next holder's notify finds it.
 */
int lw_cond_begin(lw_cond *cond, lw_word *mutex, bool is_recursive, LW_ASYNC_PARAMETERS)
{
    const int error =
        lw_request_prepare(cond->word, is_recursive ? LW_REQUEST_REENTERS : LW_REQUEST_WRITES,
                           request, loop, deadline, done, context);
    if (error != 0)
        return error;
    request->relock = mutex;
    lw_request_start(request, lw_cond_wait_step, cond->word, lw_cond_enter_step(cond->word),
                     LW_COND_SEQUENCE);
    if (is_recursive) {
        request->depth = lw_load(&mutex[LW_RMUTEX_DEPTH], lw_relaxed);
        lw_rmutex_entered_step(mutex, 0, 0);
    }
    lw_mutex_unlock_step(mutex, loop->self);
    return 0;
}

int lw_wait_any_async(const lw_source *sources, uint32_t n, lw_waiter *waiters, LW_ASYNC_PARAMETERS)
{
    int error = lw_sources_can_come(sources, n) ? 0 : EINVAL;
    for (uint32_t i = 1; i < n && error == 0; i++)
        error = lw_care_listen(sources[i].words);
    if (error == 0)
        error = lw_request_prepare(sources[0].words, LW_REQUEST_PICKS, request, loop, deadline,
                                   done, context);
    if (error != 0)
        return error;
    lw_waiter *last = &request->waiter;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            last = last->sibling = &waiters[i - 1];
        init_waiter(last, request, sources[i].step, sources[i].words, sources[i].wanted,
                    LW_WAITERS_GATE);
        last->number = sources[i].number;
    }
    for (lw_waiter *waiter = &request->waiter; waiter; waiter = waiter->sibling)
        set_out(waiter);
    return 0;
}

int lw_request_cancel(lw_request *request)
{
    if (!is_own(request->loop))
        return EPERM;
    if (!request->has_ended && !request->is_relocking)
        give_up(request, LW_CANCELLED);
    return 0;
}

int lw_request_cancel_by(lw_request *request, lw_waiter *waiter, lw_cancel *cancel)
{
    if (!is_own(request->loop))
        return EPERM;
    if (request->has_ended || request->is_relocking)
        return 0;
    const int error = lw_care_listen(cancel->word);
    if (error != 0)
        return error;
    init_waiter(waiter, request, lw_event_wait_step, cancel->word, 0, LW_WAITERS_GATE);
    request->cancel = waiter;
    set_out(waiter);
    return 0;
}
