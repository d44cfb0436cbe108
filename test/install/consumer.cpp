/* consumer.cpp: what C++ programs do with lockword.hpp, in C++17 and later; ends with 0 if all is
 * as it says. */
#include <lockword/lockword.hpp>

#include "expect.hpp"

#include <cmath>
#include <shared_mutex>
#include <type_traits>

using namespace std::chrono_literals;

static_assert(sizeof(lw::mutex) == sizeof(lw_mutex) && alignof(lw::mutex) == alignof(lw_mutex), "");
static_assert(!std::is_copy_constructible_v<lw::mutex> && !std::is_move_assignable_v<lw::mutex>,
              "");
static_assert(std::is_standard_layout_v<lw::barrier>, "");

static lw::mutex made_before_main;

/* Two calls have their mutexes at the same addresses. They are not the same mutexes, and a race
 * detector knows. */
static void lock_two(bool backwards)
{
    lw::mutex first, second;
    const std::lock_guard outer(backwards ? second : first);
    const std::lock_guard inner(backwards ? first : second);
}

static void test_mutexes()
{
    lock_two(false);
    lock_two(true);
    lw::mutex other;
    lw::recursive_mutex recursive;
    int count = 0;
    const auto count_up = [&] {
        for (int i = 0; i < 10000; i++) {
            const std::scoped_lock both(made_before_main, other);
            const std::lock_guard again(recursive);
            count++;
        }
    };
    at_once(count_up, count_up, count_up);
    EXPECT(count == 30000);

    std::unique_lock lock(made_before_main, 1s);
    EXPECT(lock.owns_lock());
    at_once([] {
        EXPECT(!made_before_main.try_lock());
        EXPECT(!made_before_main.try_lock_for(1ms));
        EXPECT(!made_before_main.try_lock_until(std::chrono::system_clock::now() + 1ms));
        EXPECT(!made_before_main.try_lock_until(std::chrono::steady_clock::time_point::min()));
        EXPECT(!made_before_main.try_lock_until(std::chrono::system_clock::time_point::min()));
        using long_ago = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
        EXPECT(!made_before_main.try_lock_until(long_ago::min()));
        EXPECT(!made_before_main.try_lock_for(std::chrono::duration<double>(NAN)));
        EXPECT(!made_before_main.try_lock_for(-1h));
        EXPECT_ERROR(EPERM, made_before_main.unlock());
    });
    EXPECT_ERROR(EDEADLK, made_before_main.lock());
    EXPECT(lw_mutex_is_mine(made_before_main.native_handle()));
}

static void test_shared_mutex()
{
    lw::shared_mutex mutex;
    {
        const std::shared_lock first(mutex);
        at_once([&mutex] {
            const std::shared_lock second(mutex, 1h);
            EXPECT(second.owns_lock());
            EXPECT(!mutex.try_lock());
            EXPECT(!mutex.try_lock_for(1ms));
        });
    }
    mutex.lock_upgradable();
    EXPECT(mutex.try_lock_shared());
    mutex.unlock_shared();
    mutex.upgrade();
    at_once([&mutex] { EXPECT(!mutex.try_lock_shared() && !mutex.try_lock_upgradable()); });
    mutex.downgrade_to_upgradable();
    EXPECT(mutex.try_upgrade());
    mutex.downgrade();
    at_once([&mutex] {
        EXPECT(mutex.try_lock_shared_until(std::chrono::steady_clock::now()));
        mutex.unlock_shared();
    });
    mutex.unlock_shared();
    const std::unique_lock last(mutex, 1h);
    EXPECT(last.owns_lock());
}

static void test_condition()
{
    lw::mutex mutex;
    lw::condition changed;
    int turn = 0;
    const auto take_turns = [&](int mine) {
        return [&, mine] {
            for (int i = 0; i < 100; i++) {
                std::unique_lock lock(mutex);
                changed.wait(lock, [&] { return turn == mine; });
                turn = 1 - mine;
                changed.notify_one();
            }
        };
    };
    at_once(take_turns(0), take_turns(1));
    EXPECT(turn == 0);

    std::unique_lock lock(mutex);
    EXPECT(changed.wait_for(lock, 1ms) == std::cv_status::timeout);
    EXPECT(changed.wait_until(lock, std::chrono::system_clock::now() + 1ms) ==
           std::cv_status::timeout);
    EXPECT(!changed.wait_for(lock, 1ms, [] { return false; }));
    EXPECT(changed.wait_for(lock, 1ms, [] { return true; }));
    EXPECT(!changed.wait_until(lock, std::chrono::steady_clock::now(), [] { return false; }));

    std::condition_variable_any any;
    EXPECT(any.wait_for(lock, 1ms) == std::cv_status::timeout);

    lw::recursive_mutex recursive;
    const std::lock_guard once(recursive);
    std::unique_lock twice(recursive);
    EXPECT(changed.wait_for(twice, 1ms) == std::cv_status::timeout);
}

/* A clock whose epoch is to come, as that of std::filesystem. */
struct early {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<early>;
    static constexpr bool is_steady = true;
    static time_point now()
    {
        return time_point(std::chrono::steady_clock::now().time_since_epoch() - 200 * 365 * 24h);
    }
};

static void test_the_others()
{
    lw::counting_semaphore<3> semaphore(3);
    semaphore.acquire(2);
    EXPECT(!semaphore.try_acquire(2) && semaphore.try_acquire());
    EXPECT(!semaphore.try_acquire_for(1ms));
    EXPECT(!semaphore.try_acquire_until(std::chrono::system_clock::now() + 1ms));
    semaphore.release(3);
    EXPECT(semaphore.available() == 3);
    EXPECT_ERROR(EOVERFLOW, semaphore.release(LW_SEM_MAX));
    EXPECT_ERROR(EINVAL, lw::semaphore(LW_SEM_MAX + 1));
    EXPECT_ERROR(EINVAL, semaphore.when(LW_SEM_MAX + 1));
    EXPECT_ERROR(EINVAL, lw::barrier(0); lw::barrier(LW_BARRIER_MAX + 1));
    EXPECT_ERROR(EINVAL, lw::latch(LW_LATCH_MAX + 1));
    EXPECT_ERROR(EINVAL, lw::counter(LW_COUNTER_MAX + 1));
    EXPECT(lw::latch(0).try_wait() && lw::counter(LW_COUNTER_MAX).value() == LW_COUNTER_MAX);

    lw::permits gpus(2);
    EXPECT(gpus.acquire() == 0 && gpus.try_acquire() == 1u && !gpus.try_acquire());
    EXPECT(!gpus.try_acquire_for(1ms) && gpus.available() == 0);
    EXPECT(!gpus.try_acquire_until(std::chrono::system_clock::now() + 1ms));
    gpus.release(1);
    EXPECT(gpus.try_acquire_for(1ms) == 1u);
    EXPECT_ERROR(EPERM, gpus.release(2));
    EXPECT_ERROR(EINVAL, lw::permits(0));

    lw::latch latch(3);
    EXPECT(!latch.try_wait() && !latch.wait_for(1ms));
    latch.count_down();
    at_once([&latch] { latch.arrive_and_wait(); }, [&latch] { latch.arrive_and_wait(); });
    latch.wait();
    EXPECT_ERROR(EINVAL, latch.count_down());

    lw::barrier barrier(2);
    lw::counter leaders;
    const auto meet = [&] {
        for (int i = 0; i < 50; i++)
            if (barrier.arrive_and_wait())
                leaders.add(1);
    };
    at_once(meet, meet);
    EXPECT(leaders.value() == 50);
    EXPECT_ERROR(ETIMEDOUT, barrier.arrive_and_wait_for(1ms); barrier.reset());

    lw::event event;
    lw::auto_reset_event automatic;
    EXPECT(!event.wait_for(1ms) && !automatic.is_set());
    at_once([&event] { event.wait(); }, [&event] { event.set(); });
    automatic.set();
    EXPECT(event.wait_until(std::chrono::system_clock::now()));
    event.reset();
    at_once([&event] { EXPECT(event.wait_until(early::time_point::max() - 1h)); },
            [&event] {
                std::this_thread::sleep_for(20ms);
                event.set();
            });
    EXPECT(lw::wait_any({semaphore.when(4), automatic.when(), event.when()}) == 1);
    EXPECT(!automatic.is_set() && event.reset());

    lw::wait_group group;
    group.add(2);
    at_once([&group] { group.done(); }, [&group] { group.done(); }, [&group] { group.wait(); });
    EXPECT(group.pending() == 0);
    EXPECT_ERROR(EOVERFLOW, leaders.add(-51));
    leaders.wait_at_least(50);
    EXPECT(!leaders.wait_at_most_for(49, 1ms));

    lw::once_flag once;
    int calls = 0;
    EXPECT_ERROR(EAGAIN, lw::call_once(once, [] { lw::detail::fail(EAGAIN, "once"); }));
    const auto call = [&] {
        lw::call_once(
            once, [&calls](int n) { calls += n; }, 1);
    };
    at_once(call, call, call);
    EXPECT(calls == 1 && once.is_done());

    lw::once_flag by_member;
    lw::call_once(by_member, &lw::counter::add, &leaders, 1);
    EXPECT(leaders.value() == 51 && by_member.is_done());
}

static void test_stops()
{
#ifdef __cpp_lib_jthread
    lw::mutex mutex;
    lw::shared_mutex table;
    lw::condition never;
    lw::semaphore none(0);
    lw::event event;
    std::stop_source source;
    const std::stop_token stop = source.get_token();
    const std::scoped_lock held(mutex, table);
    at_once([&] { EXPECT(!mutex.lock(stop)); }, [&] { EXPECT(!none.acquire(stop)); },
            [&] { EXPECT(!table.lock_shared(stop)); }, [&] { EXPECT(!event.wait(stop)); },
            [&] {
                lw::mutex own;
                std::unique_lock lock(own);
                EXPECT(!never.wait(lock, stop, [] { return false; }));
            },
            [&] {
                std::this_thread::sleep_for(5ms);
                source.request_stop();
            });
    none.release();
    EXPECT(none.acquire(stop)); // it need not wait
#endif
}

#if LW_LINUX && defined(__cpp_lib_coroutine)
struct things {
    lw::mutex mutex;
    lw::shared_mutex table;
    lw::semaphore permits{0};
    lw::permits gpus{1};
    lw::event ready;
    lw::latch latch{1};
    lw::wait_group group;
    lw::counter count;
    lw::condition changed;
    lw::recursive_mutex recursive;
    lw::barrier meeting{2};
    lw::once_flag once;
    int sum = 0;
    int ended = 0;
};

static task add(lw::loop &loop, things &on, int n)
{
    co_await on.mutex.lock(loop);
    const std::unique_lock lock(on.mutex, std::adopt_lock);
    const int before = on.sum;
    co_await on.ready.wait(loop);
    on.sum = before + n; // the other tasks have waited
    on.ended++;
}

static task visit_all(lw::loop &loop, things &on)
{
    co_await on.table.lock_upgradable(loop);
    co_await on.table.upgrade(loop);
    on.table.unlock();
    co_await on.table.lock_shared(loop);
    on.table.unlock_shared();
    co_await on.table.lock(loop);
    on.table.unlock();
    co_await on.permits.acquire(loop, 2);
    co_await on.latch.wait(loop);
    co_await on.group.wait(loop);
    on.ended++;
}

/* Each of these ends by time. */
static task try_all(lw::loop &loop, things &on)
{
    const auto soon = std::chrono::system_clock::now() + 2ms;
    on.mutex.lock(); // by the loop's thread
    EXPECT(!co_await on.mutex.try_lock_for(loop, 1ms));
    EXPECT(!co_await on.mutex.try_lock_until(loop, soon));
    EXPECT(std::chrono::system_clock::now() >= soon);
    on.mutex.unlock();
    EXPECT(co_await on.mutex.try_lock_for(loop, 1h));
    {
        std::unique_lock lock(on.mutex, std::adopt_lock);
        EXPECT(!co_await on.changed.wait_for(loop, lock, 1ms));
        EXPECT(!co_await on.changed.wait_until(loop, lock, soon));
        EXPECT(lock.owns_lock());
    }
    EXPECT(co_await on.table.try_lock_upgradable_for(loop, 1h));
    EXPECT(co_await on.table.try_upgrade_for(loop, 1h));
    EXPECT(!co_await on.table.try_lock_shared_until(loop, soon));
    on.table.unlock();
    EXPECT(!co_await on.permits.try_acquire_for(loop, 1ms, 2));
    EXPECT(!co_await on.permits.try_acquire_until(loop, soon));
    EXPECT(!co_await on.latch.wait_for(loop, 1ms));
    EXPECT(!co_await on.ready.wait_until(loop, soon));
    EXPECT(!co_await on.count.wait_at_least_for(loop, 1, 1ms));
    EXPECT(co_await on.count.wait_at_most_for(loop, 0, 1ms));
    EXPECT(co_await on.recursive.try_lock_task_for(loop, 1h));
    on.recursive.relock_task();
    EXPECT(!on.recursive.try_lock());
    EXPECT(!co_await on.changed.wait_for(loop, on.recursive, 1ms));
    on.recursive.unlock_task();
    on.recursive.unlock_task();
    lw::barrier barrier(2);
    try {
        co_await barrier.arrive_and_wait_for(loop, 1ms);
        EXPECT(false);
    } catch (const std::system_error &error) {
        EXPECT(error.code() == std::errc::timed_out);
    }
    on.ended++;
}

/* Each of these waits for another one. */
static task meet(lw::loop &loop, things &on, bool leads)
{
    EXPECT(co_await on.meeting.arrive_and_wait(loop) == leads);
    co_await lw::call_once(loop, on.once, [&on] { on.sum++; });
    EXPECT(on.once.is_done());
    co_await on.recursive.lock_task(loop);
    on.recursive.unlock_task();
    co_await on.mutex.lock(loop);
    std::unique_lock lock(on.mutex, std::adopt_lock);
    if (leads) {
        on.count.add(7);
        on.changed.notify_all();
    } else {
        while (on.count.value() < 7)
            co_await on.changed.wait(loop, lock);
    }
    EXPECT(lock.owns_lock());
    lock.unlock();
    co_await on.count.wait_at_least(loop, 7);
    on.ended++;
}

static task pick(lw::loop &loop, things &on, std::size_t which)
{
    EXPECT(co_await lw::wait_any(loop, on.ready.when(), on.permits.when(2)) == which);
    std::uint32_t gpu = 9;
    EXPECT(co_await lw::wait_any(loop, on.permits.when(2), on.gpus.when(gpu)) == 1);
    EXPECT(gpu == 0 && on.gpus.available() == 0);
    EXPECT(!co_await on.gpus.try_acquire_for(loop, 1ms));
    EXPECT(!co_await on.gpus.try_acquire_until(loop, std::chrono::system_clock::now()));
    on.gpus.release(gpu);
    const std::optional<std::uint32_t> same = co_await on.gpus.try_acquire_for(loop, 1h);
    EXPECT(same == 0u);
    on.gpus.release(*same);
    const std::uint32_t again = co_await on.gpus.acquire(loop);
    on.gpus.release(again);
    on.ended++;
}

#ifdef __cpp_lib_jthread
static task stop_all(lw::loop &loop, things &on, std::stop_token stop)
{
    EXPECT(!co_await on.ready.wait(loop, stop));
    EXPECT(!co_await on.latch.wait(loop, stop)); // has stopped already
    EXPECT(!co_await on.permits.acquire(loop, stop, 9));
    const std::uint32_t gpu = co_await on.gpus.acquire(loop);
    EXPECT(!co_await on.gpus.acquire(loop, stop));
    on.gpus.release(gpu);
    EXPECT(co_await on.mutex.lock(loop, stop)); // what is free is taken all the same
    std::unique_lock lock(on.mutex, std::adopt_lock);
    EXPECT(!co_await on.changed.wait(loop, lock, stop));
    EXPECT(lock.owns_lock());
    on.ended++;
}
#endif

#define EXPECT_LOOPS_END(call)                                                                     \
    try {                                                                                          \
        call;                                                                                      \
        EXPECT(false);                                                                             \
    } catch (const std::system_error &error) {                                                     \
        EXPECT(error.code() == std::errc::operation_canceled);                                     \
    }

/* The loop's end throws: then a condition's lock owns nothing, also if the wait did not begin. */
static task outlive(lw::loop &loop, things &on)
{
    co_await on.recursive.lock_task(loop);
    on.recursive.relock_task();
    co_await on.mutex.lock(loop);
    std::unique_lock lock(on.mutex, std::adopt_lock);
    EXPECT_LOOPS_END(co_await on.changed.wait_for(loop, lock, 1h));
    EXPECT(!lock.owns_lock());
    on.mutex.lock();
    std::unique_lock again(on.mutex, std::adopt_lock);
    EXPECT_LOOPS_END(co_await on.changed.wait(loop, again));
    EXPECT(!again.owns_lock());
    EXPECT_LOOPS_END(co_await on.changed.wait(loop, on.recursive));
    EXPECT_LOOPS_END(co_await on.mutex.try_lock_for(loop, 1h));
    on.ended++;
}

/* A clock that stands still: no wait is over by it. */
struct still {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<still>;
    static constexpr bool is_steady = false;
    static time_point now()
    {
        return time_point();
    }
};

static task wait_by_still_clock(lw::loop &loop, things &on)
{
    on.mutex.lock();
    std::unique_lock lock(on.mutex, std::adopt_lock);
    EXPECT_LOOPS_END(co_await on.changed.wait_until(loop, lock, still::time_point(1ms)));
    EXPECT(!lock.owns_lock());
    on.ended++;
}

/*
 * The loop ends when the wait's time is up, and its clock has not been asked yet: so it is for one
 * of these numbers of other requests, which exhaust what a run does.
 */
static void test_loops_that_end_between()
{
    lw_done *nothing = [](lw_request *, int, void *) {};
    for (std::size_t n = 120; n < 136; n++) {
        things on;
        lw::mutex held;
        std::vector<lw_request> others(n + 1);
        const std::lock_guard lock(held);
        {
            lw::loop loop;
            wait_by_still_clock(loop, on);
            for (std::size_t i = 0; i < n; i++)
                lw_event_wait_async(on.ready.native_handle(), &others[i], loop.native_handle(),
                                    LW_NOW, nothing, nullptr);
            lw_mutex_lock_async(held.native_handle(), &others[n], loop.native_handle(), LW_FOREVER,
                                nothing, nullptr);
            std::this_thread::sleep_for(5ms);
            loop.run();
        }
        EXPECT(on.ended == 1 && on.mutex.try_lock());
        on.mutex.unlock();
    }
}

static void test_more_coroutines()
{
    things on;
    {
        lw::loop loop;
        try_all(loop, on);
        run_until(loop, on.ended, 1);
        meet(loop, on, false);
        meet(loop, on, true);
        run_until(loop, on.ended, 3);
        EXPECT(on.sum == 1);
        pick(loop, on, 1);
        on.permits.release(2);
        run_until(loop, on.ended, 4);
#ifdef __cpp_lib_jthread
        std::stop_source source;
        stop_all(loop, on, source.get_token());
        std::jthread stopper([&source] {
            std::this_thread::sleep_for(1ms);
            source.request_stop();
        });
        run_until(loop, on.ended, 5);
#endif
        on.ended = 0;
        outlive(loop, on);
        loop.run();
    }
    EXPECT(on.ended == 1);
    EXPECT(on.mutex.try_lock());
    on.mutex.unlock();
    EXPECT(on.recursive.try_lock());
    on.recursive.unlock();
    test_loops_that_end_between();
}
#endif

#if LW_LINUX && defined(__cpp_exceptions)
/* A callback that throws ends the run, and no more. */
static void test_throwing_callbacks()
{
    lw::loop loop;
    lw::mutex mutex;
    lw_request requests[2];
    int called = 0;
    lw_done *throws_first = [](lw_request *, int, void *context) {
        if (++*static_cast<int *>(context) == 1)
            throw EAGAIN;
    };
    mutex.lock();
    for (lw_request &request : requests)
        lw_mutex_lock_async(mutex.native_handle(), &request, loop.native_handle(), LW_NOW,
                            throws_first, &called);
    try {
        for (;;)
            loop.run();
    } catch (int error) {
        EXPECT(error == EAGAIN && called == 1);
    }
    pollfd readable = {loop.fd(), POLLIN, 0};
    EXPECT(poll(&readable, 1, 1000) == 1 && loop.run() == 1 && called == 2);
    mutex.unlock();
}
#endif

static void test_coroutines()
{
#if LW_LINUX && defined(__cpp_lib_coroutine)
    test_more_coroutines();
    lw::loop loop;
    things on;
    for (int i = 1; i <= 10; i++)
        add(loop, on, i);
    visit_all(loop, on);
    std::thread other([&on] {
        on.permits.release(2);
        on.latch.count_down();
        std::this_thread::sleep_for(1ms);
        on.ready.set();
    });
    run_until(loop, on.ended, 11);
    other.join();
    EXPECT(on.sum == 55);
#endif
}

int main()
{
#if LW_LINUX && defined(__cpp_exceptions)
    test_throwing_callbacks();
#endif
    test_coroutines();
    test_mutexes();
    test_shared_mutex();
    test_condition();
    test_the_others();
    test_stops();
    return wrong;
}
