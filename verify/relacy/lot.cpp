/*
 * lot.cpp: the parking lot and the inboxes (src/loop/lot.c) under Relacy: loops that park, leave
 * and end while others notify them. The file is compiled as it is, but for its locks, which are
 * Relacy's. Words of the scenarios are atomics of a weak memory; what the lot guards by its locks
 * is plain, and ThreadSanitizer's business (test/c/loop.c).
 *
 * If lot.c is a broken one, the argument is `broken`, and the program ends with 0 if a scenario
 * notices.
 */
#include "world.h"

extern "C" {

/* lot-inside.c */
void model_empty_lot(void);
void model_age_lot(void);
}

namespace
{

lw_word words[2];

lw_answer no_step(lw_word *, uint32_t, uint32_t, lw_phase)
{
    return 0;
}

template <class test, int threads> struct scenario : rl::test_suite<test, threads> {
    world all;
    lw_loop loops[world::loops];
    lw_request requests[world::loops][2];
    rl::atomic<unsigned> state;
    rl::var<unsigned> count;

    void before()
    {
        now = &all;
        all.used = 0;
        model_empty_lot();
        for (unsigned i = 0; i < world::loops; i++) {
            loops[i] = lw_loop();
            lw_link_init(&loops[i].ready);
            all.bells[i].fds = loops[i].fds;
            all.bells[i].is_rung = all.bells[i].is_gone = false;
        }
        count($) = 0;
        static_cast<test *>(this)->prepare();
    }

    bool join(unsigned index, unsigned number, uint8_t gate, uint32_t wanted)
    {
        lw_request &request = requests[index][number];
        request = lw_request();
        request.loop = &loops[index];
        request.waiter.request = &request;
        request.waiter.step = no_step;
        request.waiter.words = words;
        request.waiter.gate = gate;
        request.waiter.wanted = wanted;
        return lw_lot_join(&request.waiter);
    }

    void leave(lw_waiter *waiter)
    {
        lw_waiter *next = lw_lot_leave(waiter);
        waiter->request = nullptr; /* the caller's again */
        if (next && lw_inbox_put(next, LW_START))
            lw_inbox_ring(next->request->loop);
    }

    /* The next waiter whose step has to run. */
    lw_waiter *next_ready(unsigned index)
    {
        lw_loop *loop = &loops[index];
        uint32_t why;
        for (;;) {
            lw_waiter *waiter = lw_inbox_take(loop, &why);
            if (waiter) {
                RL_ASSERT(waiter->request && waiter->request->loop == loop);
                return waiter;
            }
            if (!lw_inbox_rest(loop))
                continue;
            world::bell &bell = all.bells[index];
            if (!bell.is_rung)
                bell.bed.park_current(rl::ctx(), false, false, false, $);
            bell.is_rung = false;
            lw_inbox_wake(loop);
        }
    }

    void end(unsigned index)
    {
        lw_inbox_close(&loops[index]);
        all.bells[index].is_gone = true;
    }
};

enum { FREE, HELD = 1, MARKED = 2 };

/*
 * Two loops, one with two requests of which the first may be cancelled, and a thread that holds the
 * lock. All get it.
 */
template <bool cancels> struct lock_test : scenario<lock_test<cancels>, 3> {
    void prepare()
    {
        this->state.store(HELD, rl::mo_relaxed, $);
    }

    void unlock()
    {
        const unsigned seen = this->state.exchange(FREE, rl::mo_acq_rel, $);
        if (seen & MARKED)
            lw_notify_async(&words[1], LW_ALL);
    }

    bool swap(unsigned seen, unsigned next, rl::memory_order order)
    {
        return this->state.compare_exchange(rl::bool_t<false>(), seen, next, order, rl::mo_relaxed,
                                            $);
    }

    /* As loop.c's advance and the mutex's step: returns whether the head has the lock. */
    bool advance(lw_waiter *head)
    {
        for (;;) {
            const unsigned seen = this->state.load(rl::mo_relaxed, $);
            if (!(seen & HELD)) {
                if (swap(seen, seen | HELD, rl::mo_acquire))
                    return true;
            } else if (!lw_lot_is_parked(head)) {
                lw_lot_park(head);
            } else if (seen & MARKED || swap(seen, seen | MARKED, rl::mo_release)) {
                return false;
            }
        }
    }

    void thread(unsigned index)
    {
        if (index == 2) {
            this->count($) = this->count($) + 1;
            unlock();
            return;
        }
        const unsigned wants = index == 0 ? 2 : 1;
        unsigned left = wants;
        for (unsigned i = 0; i < wants; i++) {
            lw_waiter *waiter = &this->requests[index][i].waiter;
            if (this->join(index, i, LW_MUTEX_GATE, 0) && lw_inbox_put(waiter, LW_START))
                lw_inbox_ring(&this->loops[index]);
        }
        model_age_lot();
        if (cancels && index == 0 && rl::rand(2)) {
            this->leave(&this->requests[0][0].waiter);
            left--;
        }
        while (left > 0) {
            lw_waiter *head = this->next_ready(index);
            if (!advance(head))
                continue;
            this->leave(head);
            left--;
            this->count($) = this->count($) + 1;
            unlock();
        }
        this->end(index);
    }
};

/*
 * A condition: two loops wait once each, and each of two notifies of one comes when the condition
 * has become true for one more. One of the loops may be cancelled.
 */
template <bool cancels> struct cond_test : scenario<cond_test<cancels>, 3> {
    rl::mutex mutex;
    rl::waitset<3> notifier;
    unsigned entered, needed;

    void prepare()
    {
        this->state.store(0, rl::mo_relaxed, $);
        entered = needed = 0;
    }

    void thread(unsigned index)
    {
        if (index == 2) {
            for (unsigned i = 1; i <= 2; i++) {
                needed = i;
                if (entered < needed)
                    notifier.park_current(rl::ctx(), false, false, false, $);
                mutex.lock($);
                mutex.unlock($);
                this->state.fetch_add(1, rl::mo_relaxed, $);
                lw_notify_both(&words[0], 1);
            }
            return;
        }
        lw_waiter *waiter = &this->requests[index][0].waiter;
        mutex.lock($);
        const unsigned sequence = this->state.load(rl::mo_relaxed, $);
        this->join(index, 0, 0, sequence);
        mutex.unlock($);
        if (++entered == needed)
            notifier.unpark_one(rl::ctx(), $);
        if (cancels && index == 0 && rl::rand(2)) {
            this->leave(waiter);
            this->end(index);
            return;
        }
        while (this->state.load(rl::mo_relaxed, $) == sequence) {
            RL_ASSERT(this->next_ready(index) == waiter);
            if (this->state.load(rl::mo_relaxed, $) == sequence)
                lw_lot_park(waiter);
        }
        this->leave(waiter);
        this->end(index);
    }
};

const program programs[] = {
    {"a lock, two loops and a thread", rl::simulate<lock_test<false>>},
    {"the same, and a cancel", rl::simulate<lock_test<true>>},
    {"a condition and two loops", rl::simulate<cond_test<false>>},
    {"the same, and a cancel", rl::simulate<cond_test<true>>},
};

} // namespace

int main(int argc, char **)
{
    rl::test_params how;
    how.search_type = rl::sched_bound;
    how.context_bound = 2;
    return run(programs, how, argc > 1);
}
