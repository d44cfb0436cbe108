/*
 * loop.cpp: event loops (src/loop/loop.c and lot.c, and the steps that they run) under Relacy: two
 * loops and a thread. The loops' requests are cancelled, their deadlines pass, and loops end, while
 * the thread unlocks, notifies and fires. A loop runs when its bell has rung, and only then; nobody
 * looks again by time, so that a lost wake-up is a deadlock.
 *
 * If loop.c is a broken one, the argument is `broken`, and the program ends with 0 if a scenario
 * notices.
 */
#include "world.h"

using namespace harness;

extern "C" {

/* The words are no region's. */
struct lw_region *lw_shared_by(const uint32_t *)
{
    return nullptr;
}

const struct lw_carer *lw_carer;
}

int lw_alarm_open(int *fds)
{
    world::bell &bell = now->bells[rl::ctx().current_thread()];
    bell.fds = fds;
    bell.is_rung = bell.is_due = bell.is_gone = false;
    return 0;
}

void lw_alarm_close(const int *fds)
{
    now->of_fds(fds).is_gone = true;
}

void lw_alarm_hush(const int *fds)
{
    now->of_fds(fds).is_rung = false;
}

void lw_alarm_set(const int *fds, lw_deadline deadline)
{
    now->of_fds(fds).is_due = deadline <= lw_now();
}

namespace
{

enum { PENDING = -1, POISON = 0x55 };

struct two_loops : scenario {
    static constexpr unsigned threads = 3;

    struct wait {
        lw_request request;
        lw_waiter waiter;
        two_loops *all;
        int result;
        unsigned index; /* of its loop */
    };

    world all;
    lw_loop loops[world::loops];
    wait waits[world::loops][3];
    lw_mutex mutex;
    lw_cond cond;
    lw_cancel cancel;
    unsigned holder;
    unsigned ended[world::loops];

    virtual void prepare() = 0;

    void before() override
    {
        now = &all;
        all.used = 0;
        model_empty_lot();
        for (world::bell &bell : all.bells) {
            bell.fds = nullptr;
            bell.is_gone = false;
        }
        mutex = LW_MUTEX_INIT;
        cond = LW_COND_INIT;
        cancel = LW_CANCEL_INIT;
        holder = 0;
        memset(ended, 0, sizeof ended);
        for (unsigned index = 0; index < world::loops; index++) {
            for (unsigned number = 0; number < 3; number++)
                spare(index, number);
        }
        prepare();
    }

    /* Nobody has written to what the loops gave back, and the mutex is free. */
    void after() override
    {
        const unsigned char *bytes = reinterpret_cast<unsigned char *>(loops);
        for (size_t i = 0; i < sizeof loops; i++)
            RL_ASSERT(bytes[i] == POISON);
        for (auto &all : waits) {
            for (wait &each : all) {
                bytes = reinterpret_cast<unsigned char *>(&each.request);
                for (size_t i = 0; i < sizeof each.request; i++)
                    RL_ASSERT(bytes[i] == POISON);
            }
        }
        RL_ASSERT(mutex.word[LW_MUTEX_STATE] == 0);
    }

    wait *fresh(unsigned index, unsigned number)
    {
        wait *each = &waits[index][number];
        each->all = this;
        each->index = index;
        each->result = PENDING;
        return each;
    }

    /* The memory of a request that is not made. */
    void spare(unsigned index, unsigned number)
    {
        memset(static_cast<void *>(&waits[index][number].request), POISON, sizeof(lw_request));
    }

    void enter()
    {
        RL_ASSERT(holder == 0);
        holder = model_self();
        model_point();
    }

    void leave()
    {
        RL_ASSERT(holder == model_self());
        holder = 0;
        lw_mutex_unlock_step(mutex.word, model_self());
    }

    /* Takes what nobody holds for long. */
    void take()
    {
        while (!lw_mutex_take(mutex.word, model_self()))
            rl::yield(1, $);
        enter();
    }

    static void end(wait *each, int result)
    {
        RL_ASSERT(each->result == PENDING);
        each->result = result;
        each->all->ended[each->index]++;
        each->all->spare(each->index, each - each->all->waits[each->index]);
        memset(static_cast<void *>(&each->waiter), POISON, sizeof each->waiter);
    }

    /* The `done` of a lock. */
    static void locked(lw_request *, int result, void *context)
    {
        wait *each = static_cast<wait *>(context);
        two_loops *all = each->all;
        end(each, result);
        if (result == 0) {
            all->enter();
            all->leave();
        }
    }

    void lock(unsigned index, unsigned number, lw_deadline deadline)
    {
        wait *each = fresh(index, number);
        const int error =
            lw_mutex_lock_async(&mutex, &each->request, &loops[index], deadline, locked, each);
        RL_ASSERT(error == 0);
    }

    void run(unsigned index, unsigned enough)
    {
        world::bell &bell = all.bells[index];
        while (ended[index] < enough) {
            if (!bell.is_rung && !bell.is_due)
                bell.bed.park_current(rl::ctx(), false, false, false, $);
            lw_loop_run(&loops[index]);
        }
    }

    /* Lets the others come as far as they may. */
    static void pause()
    {
        for (unsigned i = rl::rand(32); i > 0; i--)
            rl::yield(1, $);
    }

    void close(unsigned index)
    {
        RL_ASSERT(lw_loop_destroy(&loops[index]) == 0);
        memset(static_cast<void *>(&loops[index]), POISON, sizeof loops[index]);
    }
};

enum how { CANCELS, EXPIRES, IS_FIRED_AT, ENDS };

/*
 * The thread holds the mutex and gives it up. One loop has two requests; the first of them is
 * cancelled, or the loop ends with both, or runs on. The other loop gets the mutex in any case.
 */
template <how how> struct lock_test : two_loops {
    void prepare() override
    {
        mutex.word[LW_MUTEX_STATE] = 3;
        holder = 3;
    }

    void thread(unsigned index) override
    {
        if (index == 2) {
            if (how == IS_FIRED_AT)
                lw_cancel_fire(&cancel);
            leave();
            return;
        }
        lw_loop_init(&loops[index]);
        lock(index, 0, how == EXPIRES && index == 0 ? LW_NOW : LW_FOREVER);
        if (index == 1) {
            run(1, 1);
            RL_ASSERT(waits[1][0].result == 0);
            close(1);
            return;
        }
        wait &first = waits[0][0];
        if (how == IS_FIRED_AT)
            lw_request_cancel_by(&first.request, &first.waiter, &cancel);
        lock(0, 1, LW_FOREVER);
        pause();
        if (how == CANCELS && rl::rand(2))
            lw_request_cancel(&first.request);
        if (how != ENDS) {
            run(0, 2);
            RL_ASSERT(waits[0][1].result == 0);
        } else if (rl::rand(2)) {
            run(0, 1);
        }
        close(0);
        RL_ASSERT(ended[0] == 2);
    }
};

/*
 * Each loop waits at the condition for a token. The thread makes one, and notifies one waiter. The
 * loop that gets it makes the next one. One loop's wait may be cancelled: then it takes no token,
 * and no notify with it.
 */
template <how how> struct cond_test : two_loops {
    unsigned waiting, tokens;

    void prepare() override
    {
        waiting = tokens = 0;
    }

    static void notified(lw_request *, int result, void *context)
    {
        wait *each = static_cast<wait *>(context);
        cond_test *all = static_cast<cond_test *>(each->all);
        const bool has_mutex = result == 0 || how != ENDS || each->index == 1;
        if (has_mutex)
            all->enter();
        if (result == 0 && all->tokens == 0) {
            all->ask(each);
            return;
        }
        end(each, result);
        if (result == 0)
            lw_cond_notify_one(&all->cond); /* a token for the next one */
        if (has_mutex)
            all->leave();
    }

    void ask(wait *each)
    {
        holder = 0;
        const int error = lw_cond_wait_async(&cond, &mutex, &each->request, &loops[each->index],
                                             LW_FOREVER, notified, each);
        RL_ASSERT(error == 0);
    }

    void thread(unsigned index) override
    {
        if (index == 2) {
            while (waiting < 2)
                rl::yield(1, $);
            take();
            tokens++;
            leave();
            lw_cond_notify_one(&cond);
            return;
        }
        lw_loop_init(&loops[index]);
        take();
        ask(fresh(index, 0));
        waiting++;
        pause();
        if (index == 0 && how == CANCELS && rl::rand(2))
            lw_request_cancel(&waits[0][0].request);
        if (index == 1 || how != ENDS || rl::rand(2))
            run(index, 1);
        close(index);
        RL_ASSERT(ended[index] == 1);
        RL_ASSERT(index == 0 || waits[1][0].result == 0);
    }
};

/*
 * Three requests of one loop wait at the condition, and the first may be cancelled. The thread has
 * begun a notify before them, and ends it, by waking one, at any time; then it notifies each.
 */
struct crowd_test : two_loops {
    unsigned waiting;

    void prepare() override
    {
        memset(static_cast<void *>(&loops[1]), POISON, sizeof loops[1]);
        waiting = 0;
    }

    static void notified(lw_request *, int result, void *context)
    {
        wait *each = static_cast<wait *>(context);
        crowd_test *all = static_cast<crowd_test *>(each->all);
        all->enter();
        end(each, result);
        all->leave();
    }

    void thread(unsigned index) override
    {
        if (index == 1)
            return;
        if (index == 2) {
            for (const unsigned begun = rl::rand(4); waiting < begun;)
                rl::yield(1, $);
            pause();
            lw_notify_both(&cond.word[LW_COND_SEQUENCE], 1);
            while (waiting < 3)
                rl::yield(1, $);
            for (unsigned i = 0; i < 3; i++)
                lw_cond_notify_one(&cond);
            return;
        }
        lw_loop_init(&loops[0]);
        for (; waiting < 3; waiting++) {
            take();
            holder = 0;
            wait *each = fresh(0, waiting);
            RL_ASSERT(lw_cond_wait_async(&cond, &mutex, &each->request, &loops[0], LW_FOREVER,
                                         notified, each) == 0);
            pause();
        }
        if (rl::rand(2))
            lw_request_cancel(&waits[0][0].request);
        run(0, 3);
        close(0);
        RL_ASSERT(waits[0][1].result == 0 && waits[0][2].result == 0);
    }
};

const test tests[] = {
    {"a cancel against a grant", of<lock_test<CANCELS>>},
    {"a deadline against a grant", of<lock_test<EXPIRES>>},
    {"an lw_cancel against a grant", of<lock_test<IS_FIRED_AT>>},
    {"the end of a loop against a grant", of<lock_test<ENDS>>},
    {"a cancel against a condition's notify", of<cond_test<CANCELS>>},
    {"the end of a loop against its notify", of<cond_test<ENDS>>},
    {"a notify that wakes one of a loop late", of<crowd_test>},
};

} // namespace

int main(int argc, char **)
{
    return run(tests, by_chance, 20000, argc > 1);
}
