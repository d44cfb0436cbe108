/*
 * mutex.c: the mutex's steps. The meaning of the words is in core/mutex.h.
 *
 * Why no waiter is stranded: a wake obliges (core/waiters.h, rules 1 to 4). An unlock serves one
 * thread. Mutants break each of the rules (verify/README.md).
 */
#include <lockword/core/mutex.h>
#include <lockword/core/waiters.h>

static bool is_free(uint32_t state)
{
    return (state & LW_MUTEX_OWNER) == 0;
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
                lw_waiters_notify(mutex, state, 1);
            return;
        }
    }
}

static lw_answer give_up(lw_word *mutex, lw_phase phase)
{
    if (lw_waiters_starves(phase))
        withdraw(mutex);
    if (phase & LW_OWES)
        lw_notify(&mutex[LW_MUTEX_STATE], 1);
    return lw_answer_of(LW_GAVE_UP, 0, 0, 0);
}

lw_answer lw_mutex_lock_step(lw_word *mutex, uint32_t self, uint32_t why, lw_phase phase)
{
    const bool async = why & LW_ASYNC;
    const uint32_t flag = async ? LW_MUTEX_ASYNC : LW_MUTEX_BLOCKED;
    phase = lw_waiters_resume(phase, why);
    if ((why & LW_WHY) == LW_CANCELLED)
        return give_up(mutex, phase);

    uint32_t seen = lw_load(&mutex[LW_MUTEX_STATE], lw_relaxed);
    for (;;) {
        const uint32_t state = seen;
        if (is_free(state) && (!(state & LW_MUTEX_RESERVED) || phase & LW_ENTITLED)) {
            const uint32_t taken =
                (lw_waiters_unreserves(phase, why) ? state & ~LW_MUTEX_RESERVED : state) | self |
                (phase & LW_OWES ? LW_MUTEX_BLOCKED : 0);
            seen = lw_cas(&mutex[LW_MUTEX_STATE], state, taken, lw_acquire);
            if (seen == state)
                return lw_answer_of(LW_DONE, 0, 0, 0);
            continue;
        }
        if ((why & LW_WHY) == LW_TIMED_OUT)
            return give_up(mutex, phase);
        if ((state & LW_MUTEX_OWNER) == self && !async)
            return lw_answer_of(LW_DEADLOCK, 0, 0, 0);
        if (async && !(why & LW_QUEUED))
            return lw_answer_of(LW_QUEUE, LW_MUTEX_GATE, phase, 0);

        const uint32_t marked =
            state | flag | (lw_waiters_starves(phase) && !is_free(state) ? LW_MUTEX_RESERVED : 0);
        if (marked != state) {
            /*
             * Release: an unlocker that sees the mark also sees the wait that was queued before it.
             */
            seen = lw_cas(&mutex[LW_MUTEX_STATE], state, marked, lw_release);
            if (seen != state)
                continue;
        }
        return lw_answer_of(lw_waiters_way(phase, is_free(marked)),
                            async ? LW_MUTEX_GATE : LW_MUTEX_STATE, phase, async ? 0 : marked);
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
    lw_waiters_notify(mutex, state, 1);
    return true;
}

/*
 * A dead agent makes no further step. If the word names it as the owner, because it held the mutex
 * or was about to free it, only this function can free the mutex.
 *
 * The dead agent may also have consumed a wake that it owed to other waiters (core/waiters.h): it
 * freed the mutex and had not yet notified (rule 2), or it was woken and had done nothing yet (rule
 * 3). The words do not tell whether it did. So this function wakes those waiters that an unlock
 * would notify, in any case. If no wake was lost, these wake-ups are spurious, and every wait
 * survives that.
 *
 * A dead agent can also leave marks, which cost the next unlock a notify, and a reservation, which
 * a newcomer's brief wait ends (rule 4).
 */
void lw_mutex_bury_step(lw_word *mutex, uint32_t dead)
{
    lw_mutex_unlock_step(mutex, dead);
    lw_waiters_notify(mutex, LW_MUTEX_BLOCKED | LW_MUTEX_ASYNC, 1);
}
