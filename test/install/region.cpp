/* region.cpp: what C++ programs do with region.hpp, in C++17 and later; ends with 0 if all is as it
 * says. */
#include <lockword/region.hpp>

#include "expect.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <shared_mutex>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;

static const std::filesystem::path path = "region-of-cpp";

/* A process that does this, and is killed. */
template <class Call> static void killed(const Call &call)
{
    const pid_t child = fork();
    if (child == 0) {
        call();
        raise(SIGKILL);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static_assert(!std::is_copy_constructible_v<lw::region>, "");
static_assert(std::is_nothrow_move_constructible_v<lw::region>, "");
static_assert(std::is_nothrow_move_assignable_v<lw::region>, "");
static_assert(std::is_copy_assignable_v<lw::region_mutex>, "");

static void test_regions()
{
    EXPECT_ERROR(ENOENT, lw::region(path, 0));
    lw::region first(path, LW_REGION_CREATE | LW_REGION_EXCLUSIVE, 0640, 1 << 20);
    EXPECT(std::filesystem::file_size(path) == 1 << 20);
    EXPECT_ERROR(EEXIST, lw::region(path, LW_REGION_CREATE | LW_REGION_EXCLUSIVE));
    EXPECT_ERROR(EINVAL, lw::region(path.string() + '\0' + "more"));
    EXPECT_ERROR(EINVAL, lw::region("region-too-small", LW_REGION_CREATE, 0600, 1000));

    lw::region second = std::move(first);
    EXPECT(!first.native_handle() && second.native_handle());
    EXPECT_ERROR(EBADF, first.mutex("closed"));
    EXPECT_ERROR(EBADF, first.list());
    first = std::move(second);
    lw::region &same = first;
    first = std::move(same);
    lw::region_mutex mutex = first.mutex("mutex");
    const std::string longest(LW_REGION_NAME_MAX, 'n');
    first.mutex(longest);
    EXPECT(first.list().size() == 2 && first.describe(longest)->kind == LW_REGION_MUTEX);
    EXPECT_ERROR(ENAMETOOLONG, first.mutex(longest + 'n'));
    EXPECT_ERROR(EINVAL, first.mutex(""));
    EXPECT_ERROR(EINVAL, first.mutex(std::string_view("mutex\0more", 10)));
    EXPECT_ERROR(EEXIST, first.event("mutex"));
    EXPECT(!first.describe("none") && first.holders("none").empty());
    first.name_thread("the test");
    EXPECT_ERROR(EINVAL, first.name_thread(longest));
    mutex.lock();
    EXPECT(first.describe("mutex")->holder == std::string_view("the test"));
    EXPECT(first.holders("mutex").size() == 1 &&
           first.holders("mutex")[0].pid == static_cast<std::uint32_t>(getpid()));
    EXPECT_ERROR(EBUSY, first.remove("mutex"));
    mutex.unlock();
    first.remove("mutex");
    EXPECT_ERROR(ENOENT, first.remove("mutex"));
    EXPECT_ERROR(EIDRM, mutex.lock());
    EXPECT_ERROR(EIDRM, static_cast<void>(mutex.try_lock()));
    first.close();
    first.close();
    EXPECT(!first.native_handle());

    const int fd = memfd_create("region", 0);
    lw::region in_file = lw::region::from_fd(fd);
    in_file.counter("n").add(1);
    EXPECT(lw::region::from_fd(fd, 0).counter("n").value() == 1);
    close(fd);
    EXPECT_ERROR(EBADF, lw::region::from_fd(fd));
    constexpr std::size_t size = 1 << 20;
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lw::region in_memory = lw::region::from_memory(memory, size);
    in_memory.counter("n").add(2);
    in_file = std::move(in_memory);
    EXPECT(in_file.counter("n").value() == 2);
}

static void test_mutexes(lw::region &region)
{
    lw::region_mutex mutex = region.mutex("mutex");
    const lw::region_mutex copy(*mutex.native_handle());
    lw::region_recursive_mutex recursive = region.recursive_mutex("recursive");
    int &count = region.bytes<int>("count");
    const auto count_up = [&] {
        for (int i = 0; i < 10000; i++) {
            const std::scoped_lock both(mutex, recursive);
            const std::lock_guard again(recursive);
            count++;
        }
    };
    at_once(count_up, count_up, [&] { killed(count_up); });
    EXPECT(count == 30000);

    EXPECT(!mutex.is_locked());
    std::unique_lock lock(mutex, 1s);
    EXPECT(lock.owns_lock() && copy.is_locked() && copy.is_mine() && !copy.owner_died());
    at_once([&] {
        EXPECT(mutex.is_locked() && !mutex.is_mine());
        EXPECT(!mutex.try_lock());
        EXPECT(!mutex.try_lock_for(1ms));
        EXPECT(!mutex.try_lock_until(std::chrono::system_clock::now() + 1ms));
        EXPECT_ERROR(EPERM, mutex.unlock());
        EXPECT_ERROR(EPERM, mutex.leave());
        EXPECT_ERROR(EPERM, mutex.abandon());
        EXPECT_ERROR(EPERM, recursive.unlock());
    });
    EXPECT_ERROR(EDEADLK, mutex.lock());
    EXPECT_ERROR(EDEADLK, static_cast<void>(mutex.reset()));
}

/* The same for each lock that outlives its holders. */
template <class Lock> static void test_deaths(Lock lock)
{
    killed([&lock] { lock.lock(); });
    EXPECT(lock.try_lock_for(1h) && lock.owner_died());
    lock.leave();
    lock.lock();
    EXPECT(lock.owner_died());
    lock.unlock();
    EXPECT(lock.try_lock() && !lock.owner_died());
    lock.unlock();
    killed([&lock] { EXPECT(lock.try_lock()); });
    {
        const lw::region_guard guard(lock, 1h);
        EXPECT(guard.owner_died());
    }
    {
        lw::region_guard guard(lock);
        EXPECT(!guard.owner_died());
        guard.abandon();
        EXPECT(!guard.owns_lock() && !guard.owner_died());
        EXPECT_ERROR(EPERM, guard.abandon());
    }
    EXPECT_ERROR(ENOTRECOVERABLE, lock.lock());
    EXPECT_ERROR(ENOTRECOVERABLE, static_cast<void>(lock.try_lock_for(1h)));
    EXPECT_ERROR(ENOTRECOVERABLE, static_cast<void>(lock.try_lock()));
    EXPECT(lock.reset() && lock.owner_died());
    lock.unlock();
    EXPECT(!lock.reset());
    EXPECT(lock.try_lock() && !lock.owner_died());
    lock.unlock();
}

#ifdef __cpp_exceptions
struct mends_when_unwound {
    lw::region_mutex &mutex;
    ~mends_when_unwound()
    {
        const lw::region_guard guard(mutex);
        EXPECT(guard.owner_died());
    }
};

/* What a block has for its lock, and whether the next holder is told if it throws. */
template <class Guard, class Lock> static bool throw_in_block(Lock &lock)
{
    try {
        const Guard guard(lock);
        throw EAGAIN;
    } catch (int) {
    }
    const std::lock_guard next(lock);
    return lock.owner_died();
}

template <class Lock> static void test_guards(Lock lock)
{
    EXPECT(!throw_in_block<lw::region_guard<Lock>>(lock));
    killed([&lock] { lock.lock(); });
    {
        /* It catches what is thrown inside, and mends. */
        const lw::region_guard guard(lock);
        try {
            throw EAGAIN;
        } catch (int) {
        }
    }
    EXPECT(lock.try_lock() && !lock.owner_died());
    lock.unlock();
    killed([&lock] { lock.lock(); });
    try {
        const lw::region_guard guard(lock);
        throw EAGAIN;
    } catch (int) {
        lw::region_guard guard(lock, std::try_to_lock);
        EXPECT(guard.owner_died());
        guard.unlock();
    }
    EXPECT(!throw_in_block<std::lock_guard<Lock>>(lock));
    killed([&lock] { lock.lock(); });
    EXPECT(!throw_in_block<std::unique_lock<Lock>>(lock));
    killed([&lock] { lock.lock(); });
    EXPECT(throw_in_block<lw::region_guard<Lock>>(lock));
}

static void test_more_guards(lw::region_mutex mutex)
{
    killed([&mutex] { mutex.lock(); });
    try {
        const mends_when_unwound at_end{mutex};
        throw EAGAIN;
    } catch (int) {
    }
    EXPECT(mutex.try_lock() && !mutex.owner_died());
    /* What is released in another way ends quietly. */
    try {
        const lw::region_guard guard(mutex, std::adopt_lock);
        mutex.unlock();
        throw EAGAIN;
    } catch (int) {
    }
    EXPECT(!mutex.is_locked());
}
#endif

template <class Lock> static void test_condition(lw::condition &changed, Lock mutex, int &turn)
{
    const auto take_turns = [&](int mine) {
        return [&, mine] {
            for (int i = 0; i < 100; i++) {
                lw::region_guard guard(mutex);
                changed.wait(guard, [&] { return turn == mine; });
                turn = 1 - mine;
                changed.notify_one();
            }
        };
    };
    turn = 0;
    at_once(take_turns(0), [&] { killed(take_turns(1)); });
    EXPECT(turn == 0);

    std::unique_lock lock(mutex);
    EXPECT(changed.wait_for(lock, 1ms) == std::cv_status::timeout);
    EXPECT(changed.wait_until(lock, std::chrono::system_clock::now() + 1ms) ==
           std::cv_status::timeout);
    EXPECT(!changed.wait_for(lock, 1ms, [] { return false; }) && lock.owns_lock());
    lock.unlock();
    killed([&mutex] { mutex.lock(); });
    /* Whoever dies while this waits is told of, too. */
    lw::region_guard guard(mutex);
    std::thread dies([&] {
        killed([&] {
            mutex.lock();
            changed.notify_all();
        });
    });
    EXPECT(guard.owner_died());
    changed.wait(guard, [&guard, told = 0]() mutable { return told++ > 0 && guard.owner_died(); });
    dies.join();
#ifdef __cpp_exceptions
    std::thread abandons([&] {
        mutex.lock();
        mutex.abandon();
        changed.notify_all();
    });
    EXPECT_ERROR(ENOTRECOVERABLE, for (;;) changed.wait(guard));
    EXPECT(!guard.owns_lock());
    abandons.join();
    EXPECT(mutex.reset());
    mutex.unlock();
#endif
}

#ifdef __cpp_exceptions
/* The name goes while a wait has the mutex unlocked. */
static void test_removed(lw::region &region)
{
    lw::region_mutex mutex = region.mutex("removed");
    lw::condition &changed = region.condition("changed");
    lw::region_guard guard(mutex);
    std::thread removes([&] {
        while (lw_region_remove(region.native_handle(), "removed") == EBUSY)
            std::this_thread::sleep_for(1ms);
        changed.notify_all();
    });
    EXPECT_ERROR(EIDRM, for (;;) changed.wait(guard));
    EXPECT(!guard.owns_lock());
    removes.join();
}
#endif

static void test_read_write_locks(lw::region &region)
{
    lw::region_rwtable table = region.rwtable("table");
    lw::region_rwlock plain = region.rwlock("plain");
    const auto test = [](auto &lock) {
        {
            const std::shared_lock first(lock);
            at_once([&lock] {
                const std::shared_lock second(lock, 1h);
                EXPECT(second.owns_lock());
                EXPECT(!lock.try_lock());
            });
            at_once([&lock] { EXPECT(!lock.try_lock_for(1ms)); });
        }
        const std::unique_lock writes(lock, 1h);
        at_once([&lock] {
            EXPECT(!lock.try_lock_shared() && !lock.try_lock_shared_for(1ms));
            EXPECT(!lock.try_lock_shared_until(std::chrono::steady_clock::now()));
        });
        EXPECT_ERROR(EDEADLK, lock.lock());
        EXPECT_ERROR(EDEADLK, lock.lock_shared());
    };
    test(table);
    test(plain);
    EXPECT_ERROR(EPERM, table.unlock());
    EXPECT_ERROR(EPERM, plain.unlock_shared());

    killed([&table] { table.lock_shared(); });
    EXPECT(table.try_lock_for(1h) && !table.owner_died());
    table.unlock();
    killed([&table] { table.lock(); });
    {
        const std::shared_lock reads(table);
        EXPECT(table.owner_died());
        EXPECT_ERROR(EDEADLK, table.lock());
        EXPECT_ERROR(EPERM, table.abandon());
    }
    const lw::region_guard writes(table);
    EXPECT(writes.owner_died());
}

static void test_the_others(lw::region &region)
{
    lw::region_permits gpus = region.permits("gpus", 2);
    EXPECT_ERROR(EEXIST, region.permits("gpus", 3));
    EXPECT_ERROR(EINVAL, region.permits("more", 253));
    killed([&gpus] { EXPECT(gpus.acquire() == 0); });
    EXPECT(gpus.acquire() + gpus.acquire() == 1 && !gpus.try_acquire());
    EXPECT(!gpus.try_acquire_for(1ms) && gpus.available() == 0);
    EXPECT(region.holders("gpus").size() == 2);
    gpus.release(1);
    EXPECT(gpus.try_acquire_for(1h) == 1u);
    EXPECT_ERROR(EPERM, gpus.release(2));

    const lw::region_once once = region.once("once");
    int &calls = region.bytes<int>("calls");
    killed([&] { lw::call_once(once, [] { raise(SIGKILL); }); });
    EXPECT_ERROR(EAGAIN, lw::call_once(once, [] { lw::detail::fail(EAGAIN, "once"); }));
    EXPECT(!once.is_done());
    const auto call = [&] {
        lw::call_once(
            once, [&calls](int n) { calls += n; }, 1);
    };
    at_once(call, call, [&] { killed(call); });
    EXPECT(calls == 1 && once.is_done());

    lw::semaphore &semaphore = region.semaphore("semaphore", 3);
    EXPECT_ERROR(EINVAL, region.semaphore("too many", LW_SEM_MAX + 1));
    lw::event &event = region.event("event");
    lw::auto_reset_event &automatic = region.auto_reset_event("automatic");
    lw::counter &counter = region.counter("counter", 7);
    lw::wait_group &group = region.wait_group("group");
    lw::latch &latch = region.latch("latch", 2);
    lw::barrier &barrier = region.barrier("barrier", 2);
    group.add();
    automatic.set();
    killed([&] {
        semaphore.acquire(2);
        event.set();
        automatic.wait();
        counter.add(1);
        group.done();
        latch.count_down();
    });
    EXPECT(semaphore.available() == 1 && counter.value() == 8);
    EXPECT(&region.semaphore("semaphore", 9) == &semaphore);
    EXPECT(event.wait_for(1h) && event.wait_for(1h) && !automatic.is_set());
    group.wait();
    latch.arrive_and_wait();
    lw::counter &leaders = region.counter("leaders");
    const auto meet = [&] {
        if (barrier.arrive_and_wait())
            leaders.add(1);
    };
    at_once(meet, [&] { killed(meet); });
    EXPECT(leaders.value() == 1);
    EXPECT(lw::wait_any({automatic.when(), event.when()}) == 1);

    struct record {
        std::atomic<int> state;
        double values[4];
    };
    record &ours = region.bytes<record>("record");
    EXPECT(ours.state == 0);
    killed([&region] {
        record &same = region.bytes<record>("record");
        same.values[3] = 2.5;
        same.state = 1;
    });
    EXPECT(ours.state == 1 && ours.values[3] == 2.5);
    EXPECT(region.bytes("record", sizeof(record)) == &ours);
    EXPECT_ERROR(EEXIST, region.bytes<char[7]>("record"));
    EXPECT_ERROR(EINVAL, region.bytes("nothing", 0));
}

/* A ring of threads, each of which waits for what the next one holds. */
static void test_deadlock(lw::region &region)
{
    constexpr std::uint32_t n = 9;
    lw::barrier all(n);
    lw_cancel cancel = LW_CANCEL_INIT;
    std::atomic<int> cancelled = 0;
    EXPECT(region.deadlock().empty());
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < n; i++)
        threads.emplace_back([&, i] {
            lw::region_mutex mine = region.mutex(std::to_string(i));
            lw::region_mutex next = region.mutex(std::to_string((i + 1) % n));
            const std::lock_guard guard(mine);
            all.arrive_and_wait();
            if (lw_region_mutex_lock_cancel(next.native_handle(), LW_FOREVER, &cancel) == ECANCELED)
                cancelled++;
            else
                next.unlock(); // of a thread that was cancelled before
        });
    while (region.deadlock().size() != n)
        std::this_thread::sleep_for(1ms);
    for (const lw_region_link &link : region.deadlock())
        EXPECT(link.pid == static_cast<std::uint32_t>(getpid()) && link.waits_for[0] != 0);
    lw_cancel_fire(&cancel);
    for (std::thread &thread : threads)
        thread.join();
    EXPECT(cancelled > 0);
}

static void test_stops(lw::region &region)
{
#ifdef __cpp_lib_jthread
    lw::region_mutex mutex = region.mutex("mutex");
    lw::region_rwtable table = region.rwtable("table");
    lw::region_permits seat = region.permits("seat", 1);
    lw::condition &never = region.condition("never");
    std::stop_source source;
    const std::stop_token stop = source.get_token();
    const std::scoped_lock held(mutex, table);
    const std::uint32_t taken = seat.acquire();
    at_once([&] { EXPECT(!mutex.lock(stop)); }, [&] { EXPECT(!table.lock(stop)); },
            [&] { EXPECT(!table.lock_shared(stop)); }, [&] { EXPECT(!seat.acquire(stop)); },
            [&] {
                lw::region_mutex own = region.mutex("own");
                lw::region_guard guard(own);
                EXPECT(!never.wait(guard, stop, [] { return false; }));
            },
            [&] {
                std::this_thread::sleep_for(5ms);
                source.request_stop();
            });
    seat.release(taken);
#else
    static_cast<void>(region);
#endif
}

#ifdef LW_DETAIL_AWAITS
struct things {
    lw::region_mutex mutex;
    lw::region_rwtable table;
    lw::region_rwlock plain;
    lw::region_permits gpus;
    lw::region_once once;
    lw::event &event;
    lw::condition &changed;
    bool waits = false;
    int ended = 0;
};

static task visit_all(lw::loop &loop, things &on)
{
    co_await on.mutex.lock(loop); // its holder has died
    {
        lw::region_guard guard(on.mutex, std::adopt_lock);
        EXPECT(guard.owner_died());
        EXPECT(!co_await on.changed.wait_for(loop, guard, 1ms));
        EXPECT(!guard.owner_died());
        std::thread abandons([&on] {
            on.mutex.lock();
            on.mutex.abandon();
            on.changed.notify_all();
        });
        try {
            for (;;)
                co_await on.changed.wait(loop, guard);
        } catch (const std::system_error &error) {
            EXPECT(error.code() == std::errc::state_not_recoverable);
        }
        EXPECT(!guard.owns_lock());
        abandons.join();
    }
    try {
        co_await on.mutex.lock(loop);
        EXPECT(false);
    } catch (const std::system_error &error) {
        EXPECT(error.code() == std::errc::state_not_recoverable);
    }
    EXPECT(on.mutex.reset());
    EXPECT(!co_await on.mutex.try_lock_for(loop, 1ms));
    on.mutex.unlock();

    EXPECT(co_await on.table.try_lock_for(loop, 1h));
    EXPECT(on.table.owner_died());
    EXPECT(!co_await on.table.try_lock_shared_for(loop, 1ms));
    on.table.unlock();
    co_await on.table.lock_shared(loop);
    on.table.unlock_shared();
    co_await on.plain.lock(loop);
    on.plain.unlock();
    co_await on.plain.lock_shared(loop);
    on.plain.unlock_shared();
    const std::uint32_t gpu = co_await on.gpus.acquire(loop);
    EXPECT(!co_await on.gpus.try_acquire_for(loop, 1ms));
    on.gpus.release(gpu);
    int calls = 0;
    co_await lw::call_once(loop, on.once, [&calls] { calls++; });
    co_await lw::call_once(loop, on.once, [&calls] { calls++; });
    EXPECT(calls == 1 && on.once.is_done());
    co_await on.event.wait(loop);
    on.ended++;
}

/* The loop's end throws: then the guard holds nothing. */
static task outlive(lw::loop &loop, things &on)
{
    co_await on.mutex.lock(loop);
    lw::region_guard guard(on.mutex, std::adopt_lock);
    on.waits = true;
    try {
        co_await on.changed.wait(loop, guard);
        EXPECT(false);
    } catch (const std::system_error &error) {
        EXPECT(error.code() == std::errc::operation_canceled);
    }
    EXPECT(!guard.owns_lock());
    on.ended++;
}
#endif

static void test_coroutines(lw::region &region)
{
#ifdef LW_DETAIL_AWAITS
    things on = {region.mutex("awaited"),     region.rwtable("awaited table"),
                 region.rwlock("awaited rw"), region.permits("awaited gpus", 1),
                 region.once("awaited once"), region.event("awaited event"),
                 region.condition("changed")};
    killed([&on] {
        on.mutex.lock();
        on.table.lock();
        on.event.set();
    });
    lw::loop loop;
    visit_all(loop, on);
    run_until(loop, on.ended, 1);
    {
        lw::loop ends;
        outlive(ends, on);
        while (!on.waits)
            ends.run();
    }
    EXPECT(on.ended == 2 && on.mutex.try_lock() && !on.mutex.owner_died());
    on.mutex.unlock();
#else
    static_cast<void>(region);
#endif
}

int main()
{
    alarm(60);
    std::filesystem::remove(path);
    test_regions();
    {
        lw::region region(path);
        test_mutexes(region);
        test_deaths(region.mutex("mutex"));
        test_deaths(region.recursive_mutex("recursive"));
        test_deaths(region.rwtable("table"));
#ifdef __cpp_exceptions
        test_guards(region.mutex("mutex"));
        test_guards(region.recursive_mutex("recursive"));
        test_guards(region.rwtable("table"));
        test_more_guards(region.mutex("mutex"));
        test_removed(region);
#endif
        lw::condition &changed = region.condition("changed");
        test_condition(changed, region.mutex("mutex"), region.bytes<int>("turn"));
        test_condition(changed, region.recursive_mutex("recursive"), region.bytes<int>("turn"));
        test_read_write_locks(region);
        test_the_others(region);
        test_deadlock(region);
        test_stops(region);
        test_coroutines(region);
    }
    std::filesystem::remove(path);
    return wrong;
}
