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

#include <lockword/core/waiters.h>

using namespace harness;

extern "C" {

/* lot-inside.c */
void model_age_lot(void);
}

namespace
{

lw_word words[2];

lw_answer no_step(lw_word *, uint32_t, uint32_t, lw_phase)
{
    return 0;
}

struct two_loops : scenario {
    static constexpr unsigned threads = 3;

    world all;
    lw_loop loops[world::loops];
    lw_request requests[world::loops][2];
    rl::atomic<unsigned> state;
    rl::var<unsigned> count;

    virtual void prepare() = 0;

    void before() override
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
        prepare();
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
template <bool cancels> struct lock_test : two_loops {
    void prepare() override
    {
        state.store(HELD, rl::mo_relaxed, $);
    }

    void unlock()
    {
        const unsigned seen = state.exchange(FREE, rl::mo_acq_rel, $);
        if (seen & MARKED)
            lw_notify_async(&words[1], LW_ALL);
    }

    bool swap(unsigned seen, unsigned next, rl::memory_order order)
    {
        return state.compare_exchange(rl::bool_t<false>(), seen, next, order, rl::mo_relaxed, $);
    }

    /* As loop.c's advance and the mutex's step: returns whether the head has the lock. */
    bool advance(lw_waiter *head)
    {
        for (;;) {
            const unsigned seen = state.load(rl::mo_relaxed, $);
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

    void thread(unsigned index) override
    {
        if (index == 2) {
            count($) = count($) + 1;
            unlock();
            return;
        }
        const unsigned wants = index == 0 ? 2 : 1;
        unsigned left = wants;
        for (unsigned i = 0; i < wants; i++) {
            lw_waiter *waiter = &requests[index][i].waiter;
            if (join(index, i, LW_WAITERS_GATE, 0) && lw_inbox_put(waiter, LW_START))
                lw_inbox_ring(&loops[index]);
        }
        model_age_lot();
        if (cancels && index == 0 && rl::rand(2)) {
            leave(&requests[0][0].waiter);
            left--;
        }
        while (left > 0) {
            lw_waiter *head = next_ready(index);
            if (!advance(head))
                continue;
            leave(head);
            left--;
            count($) = count($) + 1;
            unlock();
        }
        end(index);
    }
};

/*
 * A condition: two loops wait once each, and each of two notifies of one comes when the condition
 * has become true for one more. One of the loops may be cancelled.
 */
template <bool cancels> struct cond_test : two_loops {
    rl::mutex mutex;
    rl::waitset<3> notifier;
    unsigned entered, needed;

    void prepare() override
    {
        state.store(0, rl::mo_relaxed, $);
        entered = needed = 0;
    }

    void thread(unsigned index) override
    {
        if (index == 2) {
            for (unsigned i = 1; i <= 2; i++) {
                needed = i;
                if (entered < needed)
                    notifier.park_current(rl::ctx(), false, false, false, $);
                mutex.lock($);
                mutex.unlock($);
                state.fetch_add(1, rl::mo_relaxed, $);
                lw_notify_both(&words[0], 1);
            }
            return;
        }
        lw_waiter *waiter = &requests[index][0].waiter;
        mutex.lock($);
        const unsigned sequence = state.load(rl::mo_relaxed, $);
        join(index, 0, 0, sequence);
        mutex.unlock($);
        if (++entered == needed)
            notifier.unpark_one(rl::ctx(), $);
        if (cancels && index == 0 && rl::rand(2)) {
            leave(waiter);
            end(index);
            return;
        }
        while (state.load(rl::mo_relaxed, $) == sequence) {
            RL_ASSERT(next_ready(index) == waiter);
            if (state.load(rl::mo_relaxed, $) == sequence)
                lw_lot_park(waiter);
        }
        leave(waiter);
        end(index);
    }
};

const test tests[] = {
    {"a lock, two loops and a thread", of<lock_test<false>>},
    {"the same, and a cancel", of<lock_test<true>>},
    {"a condition and two loops", of<cond_test<false>>},
    {"the same, and a cancel", of<cond_test<true>>},
};

} // namespace

int main(int argc, char **)
{
    return run(tests, with_preemptions, 2, argc > 1);
}
