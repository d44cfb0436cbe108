/*
 * mutex.c: the mutex's steps. The meaning of the words is in core/mutex.h.
 *
 * Why no waiter is stranded: the four rules below, each of which mutants break (verify/README.md).
 *
 *   1. A waiter marks the word before it waits, and waits only while the mark stands. An async
 *      waiter cannot do both at once, so it queues first and marks then: a notify between the two
 *      finds it queued.
 *   2. An unlocker frees the word and learns of the waiters in one operation. Then it notifies one
 *      thread and all event loops, if it saw their marks. An event loop runs when its own work lets
 *      it. If only one were notified, and it were busy, the others would wait for it.
 *   3. A notify wakes one thread, but the mark stood for all of them. So a thread that may have
 *      consumed a notify owes one: it takes the mutex with the mark set again, or marks before it
 *      waits again, or notifies when it gives up. A wake orders memory, in ECMAScript and in the
 *      kernel: the woken thread never reads the mark that was cleared by the unlock which woke it.
 *      An event loop owes nothing: the notify that ended its wait ended all waits at the gate.
 *   4. A waiter that was overtaken too often reserves the mutex. From then on only agents that have
 *      returned from a wait may take it, whatever ended that wait. If a notify alone entitled them,
 *      a waiter that found the word changed would bar all agents, including itself. A reserver that
 *      gives up withdraws the reservation. If no waiter comes for a free, reserved mutex (the
 *      reserver's event loop is busy, or it died), a newcomer's brief wait ends, and then the
 *      newcomer is entitled, too.
 */
#include <lockword/core/mutex.h>

/*
 * How many waits may end without the mutex before a waiter reserves it. Natively a waiter usually
 * reserves sooner, after a slice (src/wait/awake.h), and no measurement tells 1 from 32. In an
 * engine, where slices are long, this constant is what gives lockAsync its turn:
 * docs/experiments.md, 'Constants'.
 */
#ifndef MAX_FAILED_WAITS
#define MAX_FAILED_WAITS 8u
#endif

/*
 * How often a starving waiter re-checks before it sleeps until it is woken. Its driver makes each
 * of these waits longer than the one before. Re-checks give unlucky waiters their share beside busy
 * threads. No waiter needs one in order to be woken (verify/README.md).
 */
#ifndef MAX_RECHECKS
#define MAX_RECHECKS 7u
#endif

/*
 * The phase: what a locker remembers from one call to the next. The count never wraps: see
 * count_failed_wait and RESTS.
 */
#define OWES 0x0001u            /* may have consumed a notify, and has not passed it on */
#define ENTITLED 0x0002u        /* has returned from a wait */
#define ONE_FAILED_WAIT 0x0004u /* bits from here on: the number of waits without success */
/* From this count on, the waiter reserves the mutex. */
#define STARVES ((MAX_FAILED_WAITS + 1) * ONE_FAILED_WAIT)
/* The highest count: the waiter re-checks no more. */
#define RESTS (STARVES + MAX_RECHECKS * ONE_FAILED_WAIT)

static bool is_free(uint32_t state)
{
    return (state & LW_MUTEX_OWNER) == 0;
}

static void notify_waiters(lw_word *mutex, uint32_t state)
{
    if (state & LW_MUTEX_BLOCKED)
        lw_notify(&mutex[LW_MUTEX_STATE], 1);
    if (state & LW_MUTEX_ASYNC)
        lw_notify_async(&mutex[LW_MUTEX_GATE], LW_ALL);
}

static bool is_starving(lw_phase phase)
{
    return phase >= STARVES;
}

/*
 * Returns the phase after one more wait without success. For a starving waiter, only re-checks
 * count.
 */
static lw_phase count_failed_wait(lw_phase phase)
{
    return is_starving(phase) ? phase : phase + ONE_FAILED_WAIT;
}

/* Returns the phase after one more re-check. From the first re-check on, the waiter starves. */
static lw_phase count_recheck(lw_phase phase)
{
    if (!is_starving(phase))
        return STARVES;
    return phase < RESTS ? phase + ONE_FAILED_WAIT : phase;
}

/*
 * Returns the phase of a caller that was resumed for this reason. A wait that has begun paid what
 * was owed before it: rule 3.
 */
static lw_phase resume(lw_phase phase, uint32_t why)
{
    switch (why & LW_WHY) {
    case LW_OK:
        return count_failed_wait(phase | OWES | ENTITLED);
    case LW_NOT_EQUAL:
        return count_failed_wait((phase & ~OWES) | ENTITLED);
    case LW_TIMED_OUT:
        return (phase & ~OWES) | ENTITLED;
    case LW_SLICE:
        return count_recheck(phase) | OWES | ENTITLED;
    case LW_CANCELLED:
        return phase | OWES;
    default:
        return phase;
    }
}

/*
 * Returns how to wait while the word holds `state`. A brief wait is for a mutex that is free, but
 * reserved, and for a caller that has not waited yet. So each operation makes at most one brief
 * wait.
 */
static uint32_t way_to_wait(uint32_t state, lw_phase phase)
{
    return is_free(state) ? LW_WAIT_BRIEF : phase < RESTS ? LW_WAIT : LW_WAIT_IDLE;
}

/*
 * Takes back a reservation. A free, reserved mutex becomes free for all agents, and the waiters
 * that its marks stand for are notified.
 */
static void withdraw(lw_word *mutex)
{
    uint32_t seen = lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed);
    while (seen & LW_MUTEX_RESERVED) {
        const uint32_t state = seen;
        const uint32_t next = is_free(state) ? 0 : state & ~LW_MUTEX_RESERVED;
        seen = lw_cas(&mutex[LW_MUTEX_STATE], state, next, lw_acquire);
        if (seen == state) {
            if (next == 0)
                notify_waiters(mutex, state);
            return;
        }
    }
}

static lw_answer give_up(lw_word *mutex, uint32_t owed, lw_phase phase)
{
    if (is_starving(phase))
        withdraw(mutex);
    if (phase & OWES)
        notify_waiters(mutex, owed);
    return lw_answer_of(LW_GAVE_UP, 0, 0, 0);
}

lw_answer lw_mutex_lock_step(lw_word *mutex, uint32_t self, uint32_t why, lw_phase phase)
{
    const bool async = why & LW_ASYNC;
    const uint32_t flag = async ? LW_MUTEX_ASYNC : LW_MUTEX_BLOCKED;
    const uint32_t owed = async ? 0 : LW_MUTEX_BLOCKED;
    phase = resume(phase, why);
    if ((why & LW_WHY) == LW_CANCELLED)
        return give_up(mutex, owed, phase);

    uint32_t seen = lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed);
    for (;;) {
        const uint32_t state = seen;
        if (is_free(state) && (!(state & LW_MUTEX_RESERVED) || phase & ENTITLED)) {
            const uint32_t taken = (state & ~LW_MUTEX_RESERVED) | self | (phase & OWES ? owed : 0);
            seen = lw_cas(&mutex[LW_MUTEX_STATE], state, taken, lw_acquire);
            if (seen == state)
                return lw_answer_of(LW_DONE, 0, 0, 0);
            continue;
        }
        if ((why & LW_WHY) == LW_TIMED_OUT)
            return give_up(mutex, owed, phase);
        if ((state & LW_MUTEX_OWNER) == self && !async)
            return lw_answer_of(LW_DEADLOCK, 0, 0, 0);
        if (async && !(why & LW_QUEUED))
            return lw_answer_of(LW_QUEUE, LW_MUTEX_GATE, phase, 0);

        const uint32_t marked =
            state | flag | (is_starving(phase) && !is_free(state) ? LW_MUTEX_RESERVED : 0);
        if (marked != state) {
            /*
             * Release: an unlocker that sees the mark also sees the wait that was queued before it.
             */
            seen = lw_cas(&mutex[LW_MUTEX_STATE], state, marked, lw_release);
            if (seen != state)
                continue;
        }
        return lw_answer_of(way_to_wait(marked, phase), async ? LW_MUTEX_GATE : LW_MUTEX_STATE,
                            phase, async ? 0 : marked);
    }
}

uint32_t lw_mutex_owner(const lw_word *mutex)
{
    return lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed) & LW_MUTEX_OWNER;
}

bool lw_mutex_try_step(lw_word *mutex, uint32_t self)
{
    uint32_t seen = lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed);
    while (is_free(seen)) {
        const uint32_t state = seen;
        seen = lw_cas(&mutex[LW_MUTEX_STATE], state, state | self, lw_acquire);
        if (seen == state)
            return true;
    }
    return false;
}

bool lw_mutex_unlock_step(lw_word *mutex, uint32_t self)
{
    uint32_t seen = lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        if ((state & LW_MUTEX_OWNER) != self)
            return false;
        /*
         * Acquire: pairs with the mark, so that the notify below comes after the wait for which it
         * is meant.
         */
        seen = lw_cas(&mutex[LW_MUTEX_STATE], state, state & LW_MUTEX_RESERVED, lw_acq_rel);
    } while (seen != state);
    /* From here on the memory may be gone: the next owner may have freed it. */
    notify_waiters(mutex, state);
    return true;
}

/*
 * A dead agent makes no further step. If the word names it as the owner, because it held the mutex
 * or was about to free it, only this function can free the mutex.
 *
 * The dead agent may also have consumed a wake that it owed to other waiters: it freed the mutex
 * and had not yet notified (rule 2), or it was woken and had done nothing yet (rule 3). The words
 * do not tell whether it did. So this function wakes those waiters that an unlock would notify, in
 * any case. If no wake was lost, these wake-ups are spurious, and every wait survives that.
 *
 * A dead agent can also leave marks, which cost the next unlock a notify, and a reservation, which
 * a newcomer's brief wait ends (rule 4).
 */
void lw_mutex_bury_step(lw_word *mutex, uint32_t dead)
{
    lw_mutex_unlock_step(mutex, dead);
    notify_waiters(mutex, LW_MUTEX_BLOCKED | LW_MUTEX_ASYNC);
}
