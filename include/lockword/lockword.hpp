/*
 * lockword.hpp: the primitives for C++17 and later, under the standard library's names where it has
 * them.
 *
 *     lw::mutex mutex;
 *     lw::condition not_empty;
 *
 *     std::unique_lock lock(mutex);                  // std::lock_guard, std::scoped_lock, ...
 *     not_empty.wait(lock, [] { return !queue.empty(); });
 *
 *     if (mutex.try_lock_for(10ms)) ...              // std::chrono, any clock
 *     if (semaphore.acquire(stop_token)) ...         // C++20: ends when a stop is requested
 *     co_await mutex.lock(loop);                     // C++20: never blocks the lw::loop's thread
 *
 * Each class is the C primitive and nothing else: lw::mutex is eight bytes, and native_handle()
 * gives what the C functions, other languages and WebAssembly workers share. A class is neither
 * copied nor moved, since its address is what waiters wait at.
 *
 * What a caller must not do (lock twice, unlock what it does not hold, exceed a limit) throws
 * std::system_error with the error of the C function, as std::mutex may; without exceptions it
 * calls std::terminate. Waits that end by time or by a stop return false.
 */
#ifndef LOCKWORD_LOCKWORD_HPP
#define LOCKWORD_LOCKWORD_HPP

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <mutex>
#include <system_error>
#include <utility>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif
#ifdef __cpp_lib_coroutine
#include <coroutine>
#endif

#include <lockword/lockword.h>

namespace lw
{

/*
 * The event loop of the thread that makes it: <lockword/loop.h> says how it works. Poll fd(), and
 * call run() whenever it is readable. With a loop as its argument, a function returns something to
 * co_await: the coroutine goes on in run(), with what it waited for. It must not be destroyed while
 * it waits; a loop that ends first throws ECANCELED into it.
 */
class loop
{
  public:
    /* Throws if the system has no descriptor left. */
    loop();

    loop(const loop &) = delete;
    loop &operator=(const loop &) = delete;

    ~loop()
    {
        lw_loop_destroy(&native_);
    }

    int fd() const noexcept
    {
        return lw_loop_fd(&native_);
    }

    /* Returns how many waits have ended. */
    std::uint32_t run()
    {
        return lw_loop_run(&native_);
    }

    lw_loop *native_handle() noexcept
    {
        return &native_;
    }

  private:
    lw_loop native_;
};

namespace detail
{

[[noreturn]] inline void fail(int error, const char *what)
{
#ifdef __cpp_exceptions
    throw std::system_error(error, std::generic_category(), what);
#else
    static_cast<void>(error), static_cast<void>(what);
    std::terminate();
#endif
}

inline void check(int error, const char *what)
{
    if (error != 0)
        fail(error, what);
}

} // namespace detail

inline loop::loop()
{
    detail::check(lw_loop_init(&native_), "loop");
}

namespace detail
{

/* Returns whether the wait ended with what it was for; false: by time or by a stop. */
inline bool succeeded(int error, const char *what)
{
    if (error == ETIMEDOUT || error == ECANCELED || error == EBUSY)
        return false;
    check(error, what);
    return true;
}

/* Rounds up, so that no wait ends early. */
template <class Rep, class Period> lw_deadline after(const std::chrono::duration<Rep, Period> &time)
{
    const std::chrono::duration<long double, std::nano> ns = time;
    if (ns.count() >= static_cast<long double>(INT64_MAX))
        return LW_FOREVER;
    if (ns.count() <= 0)
        return LW_NOW;
    return lw_after_ns(std::chrono::ceil<std::chrono::nanoseconds>(ns).count());
}

/* Calls wait(deadline), again if a clock that is not steady says that it is not yet time. */
template <class Clock, class Duration, class Wait>
int until(const std::chrono::time_point<Clock, Duration> &time, const Wait &wait)
{
    for (;;) {
        const int error = wait(after(time - Clock::now()));
        if (error != ETIMEDOUT || Clock::is_steady || Clock::now() >= time)
            return error;
    }
}

#ifdef __cpp_lib_jthread
/* Calls wait(cancel), and has cancel fire when a stop is requested. */
template <class Wait> int unless(const std::stop_token &stop, const Wait &wait)
{
    lw_cancel cancel = LW_CANCEL_INIT;
    const std::stop_callback fire(stop, [&cancel] { lw_cancel_fire(&cancel); });
    return wait(&cancel);
}
#endif

#ifdef __cpp_lib_coroutine
/* What co_await takes: start(request, loop, deadline, done, context) is one of C's _async forms. */
template <class Start> class awaitable
{
  public:
    awaitable(lw_loop *loop, const Start &start, const char *what) noexcept
        : loop_(loop), what_(what), start_(start)
    {
    }

    bool await_ready() const noexcept
    {
        return false;
    }

    bool await_suspend(std::coroutine_handle<> waiting)
    {
        waiting_ = waiting;
        result_ = start_(&request_, loop_, LW_FOREVER, &awaitable::done, this);
        return result_ == 0;
    }

    void await_resume() const
    {
        check(result_, what_);
    }

  private:
    static void done(lw_request *, int result, void *context)
    {
        awaitable *self = static_cast<awaitable *>(context);
        self->result_ = result;
        self->waiting_.resume();
    }

    lw_request request_;
    lw_loop *loop_;
    const char *what_;
    Start start_;
    std::coroutine_handle<> waiting_;
    int result_ = 0;
};

/* A method that co_await takes instead of blocking: it waits in the given loop. */
#define LW_DETAIL_AWAITED(method, form)                                                            \
    [[nodiscard]] auto method(loop &in) noexcept                                                   \
    {                                                                                              \
        const auto start = [this](auto... rest) { return form(&native_, rest...); };               \
        return detail::awaitable(in.native_handle(), start, #method);                              \
    }
#else
#define LW_DETAIL_AWAITED(method, form)
#endif

/* An object of C that stays where it is. */
template <class Native> class primitive
{
  public:
    primitive(const primitive &) = delete;
    primitive &operator=(const primitive &) = delete;

    /* The C primitive, for the functions of <lockword/lockword.h>. */
    Native *native_handle() noexcept
    {
        return &native_;
    }

  protected:
    constexpr explicit primitive(const Native &native) noexcept : native_(native)
    {
    }

    /* What comes to this address next is another lock: race detectors must not mix them up. */
#if LW_ANNOTATE
    ~primitive()
    {
        LW_NOTE_GONE(native_.word);
    }
#else
    ~primitive() = default;
#endif

    Native native_;
};

/* Lockable and TimedLockable, from Self::lock_by(deadline, cancel), and what that returns. */
template <class Self> class lockable
{
  public:
    /* Takes it. Throws EDEADLK if the caller holds it already in a way that excludes this. */
    void lock()
    {
        check(lock_by(LW_FOREVER, LW_NULL), "lock");
    }

    /* The same, but for so long at most. Returns whether it was taken. */
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        return succeeded(lock_by(after(time), LW_NULL), "try_lock_for");
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return succeeded(until(time, [this](lw_deadline end) { return lock_by(end, LW_NULL); }),
                         "try_lock_until");
    }

#ifdef __cpp_lib_jthread
    /* Takes it unless a stop is requested before. Returns whether it was taken. */
    [[nodiscard]] bool lock(const std::stop_token &stop)
    {
        return succeeded(
            unless(stop, [this](lw_cancel *cancel) { return lock_by(LW_FOREVER, cancel); }),
            "lock");
    }
#endif

  protected:
    ~lockable() = default;

  private:
    int lock_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return static_cast<Self *>(this)->lock_by(deadline, cancel);
    }
};

/* What can be waited for, from Self::wait_by(deadline, cancel), and what that returns. */
template <class Self> class waitable
{
  public:
    void wait()
    {
        check(wait_by(LW_FOREVER, LW_NULL), "wait");
    }

    /* Waits for so long at most. Returns whether it has come. */
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period> &time)
    {
        return succeeded(wait_by(after(time), LW_NULL), "wait_for");
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return succeeded(until(time, [this](lw_deadline end) { return wait_by(end, LW_NULL); }),
                         "wait_until");
    }

#ifdef __cpp_lib_jthread
    /* Waits until it has come, or a stop is requested. Returns whether it has come. */
    [[nodiscard]] bool wait(const std::stop_token &stop)
    {
        return succeeded(
            unless(stop, [this](lw_cancel *cancel) { return wait_by(LW_FOREVER, cancel); }),
            "wait");
    }
#endif

  protected:
    ~waitable() = default;

  private:
    int wait_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return static_cast<Self *>(this)->wait_by(deadline, cancel);
    }
};

} // namespace detail

/* A mutex, as std::timed_mutex. */
class mutex : public detail::primitive<lw_mutex>, public detail::lockable<mutex>
{
    friend class detail::lockable<mutex>;
    int lock_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_mutex_lock_cancel(&native_, deadline, cancel);
    }

  public:
    constexpr mutex() noexcept : primitive(lw_mutex LW_MUTEX_INIT)
    {
    }

    using lockable::lock;

    LW_DETAIL_AWAITED(lock, lw_mutex_lock_async)

    [[nodiscard]] bool try_lock()
    {
        return lw_mutex_trylock(&native_) == 0;
    }

    /* Throws EPERM if the caller does not hold it. */
    void unlock()
    {
        detail::check(lw_mutex_unlock(&native_), "unlock");
    }
};

/* A mutex that its holder may lock again, as std::recursive_timed_mutex. */
class recursive_mutex : public detail::primitive<lw_rmutex>,
                        public detail::lockable<recursive_mutex>
{
    friend class detail::lockable<recursive_mutex>;
    int lock_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_rmutex_lock_cancel(&native_, deadline, cancel);
    }

  public:
    constexpr recursive_mutex() noexcept : primitive(lw_rmutex LW_RMUTEX_INIT)
    {
    }

    [[nodiscard]] bool try_lock()
    {
        return detail::succeeded(lw_rmutex_trylock(&native_), "try_lock");
    }

    void unlock()
    {
        detail::check(lw_rmutex_unlock(&native_), "unlock");
    }
};

/*
 * A read-write lock, as std::shared_timed_mutex. In addition one holder at a time may read
 * upgradably: it reads beside other readers, and can become the writer with no other writer in
 * between.
 */
class shared_mutex : public detail::primitive<lw_rwlock>, public detail::lockable<shared_mutex>
{
    friend class detail::lockable<shared_mutex>;
    int lock_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_rwlock_wrlock_cancel(&native_, deadline, cancel);
    }

  public:
    constexpr shared_mutex() noexcept : primitive(lw_rwlock LW_RWLOCK_INIT)
    {
    }

    using lockable::lock;

    LW_DETAIL_AWAITED(lock, lw_rwlock_wrlock_async)
    LW_DETAIL_AWAITED(lock_shared, lw_rwlock_rdlock_async)
    LW_DETAIL_AWAITED(lock_upgradable, lw_rwlock_uplock_async)
    LW_DETAIL_AWAITED(upgrade, lw_rwlock_upgrade_async)

    [[nodiscard]] bool try_lock()
    {
        return detail::succeeded(lw_rwlock_trywrlock(&native_), "try_lock");
    }

    void unlock()
    {
        detail::check(lw_rwlock_unlock(&native_), "unlock");
    }

    void lock_shared()
    {
        detail::check(lw_rwlock_rdlock(&native_), "lock_shared");
    }

    [[nodiscard]] bool try_lock_shared()
    {
        return detail::succeeded(lw_rwlock_tryrdlock(&native_), "try_lock_shared");
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
    {
        return detail::succeeded(lw_rwlock_rdlock_until(&native_, detail::after(time)),
                                 "try_lock_shared_for");
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return detail::succeeded(
            detail::until(
                time, [this](lw_deadline end) { return lw_rwlock_rdlock_until(&native_, end); }),
            "try_lock_shared_until");
    }

    void unlock_shared()
    {
        detail::check(lw_rwlock_unlock(&native_), "unlock_shared");
    }

    void lock_upgradable()
    {
        detail::check(lw_rwlock_uplock(&native_), "lock_upgradable");
    }

    [[nodiscard]] bool try_lock_upgradable()
    {
        return detail::succeeded(lw_rwlock_tryuplock(&native_), "try_lock_upgradable");
    }

    void unlock_upgradable()
    {
        detail::check(lw_rwlock_unlock(&native_), "unlock_upgradable");
    }

    /* Makes the upgradable reader the writer: waits for the other readers. */
    void upgrade()
    {
        detail::check(lw_rwlock_upgrade(&native_), "upgrade");
    }

    [[nodiscard]] bool try_upgrade()
    {
        return detail::succeeded(lw_rwlock_tryupgrade(&native_), "try_upgrade");
    }

    /* Makes the writer, or the upgradable reader, a reader: unlock_shared() ends that. */
    void downgrade()
    {
        detail::check(lw_rwlock_downgrade(&native_), "downgrade");
    }

    /* Makes the writer an upgradable reader: unlock_upgradable() ends that. */
    void downgrade_to_upgradable()
    {
        detail::check(lw_rwlock_downgrade_upgradable(&native_), "downgrade_to_upgradable");
    }
};

/*
 * A condition, as std::condition_variable, for std::unique_lock of lw::mutex and of
 * lw::recursive_mutex, which it gives up entirely while it waits.
 */
class condition : public detail::primitive<lw_cond>
{
    int wait_by(lw::mutex &mutex, lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_cond_wait_cancel(&native_, mutex.native_handle(), deadline, cancel);
    }

    int wait_by(lw::recursive_mutex &mutex, lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_cond_wait_recursive_cancel(&native_, mutex.native_handle(), deadline, cancel);
    }

  public:
    constexpr condition() noexcept : primitive(lw_cond LW_COND_INIT)
    {
    }

    void notify_one() noexcept
    {
        lw_cond_notify_one(&native_);
    }

    void notify_all() noexcept
    {
        lw_cond_notify_all(&native_);
    }

    template <class Mutex> void wait(std::unique_lock<Mutex> &lock)
    {
        detail::check(wait_by(*lock.mutex(), LW_FOREVER, LW_NULL), "wait");
    }

    template <class Mutex, class Predicate>
    void wait(std::unique_lock<Mutex> &lock, Predicate holds)
    {
        while (!holds())
            wait(lock);
    }

    /* Returns std::cv_status, or, given a condition, whether it holds. */
    template <class Mutex, class Clock, class Duration>
    std::cv_status wait_until(std::unique_lock<Mutex> &lock,
                              const std::chrono::time_point<Clock, Duration> &time)
    {
        const auto wait = [this, &lock](lw_deadline end) {
            return wait_by(*lock.mutex(), end, LW_NULL);
        };
        return detail::succeeded(detail::until(time, wait), "wait_until")
                   ? std::cv_status::no_timeout
                   : std::cv_status::timeout;
    }

    template <class Mutex, class Clock, class Duration, class Predicate>
    bool wait_until(std::unique_lock<Mutex> &lock,
                    const std::chrono::time_point<Clock, Duration> &time, Predicate holds)
    {
        while (!holds()) {
            if (wait_until(lock, time) == std::cv_status::timeout)
                return holds();
        }
        return true;
    }

    template <class Mutex, class Rep, class Period>
    std::cv_status wait_for(std::unique_lock<Mutex> &lock,
                            const std::chrono::duration<Rep, Period> &time)
    {
        return detail::succeeded(wait_by(*lock.mutex(), detail::after(time), LW_NULL), "wait_for")
                   ? std::cv_status::no_timeout
                   : std::cv_status::timeout;
    }

    template <class Mutex, class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<Mutex> &lock, const std::chrono::duration<Rep, Period> &time,
                  Predicate holds)
    {
        const lw_deadline end = detail::after(time);
        while (!holds()) {
            if (!detail::succeeded(wait_by(*lock.mutex(), end, LW_NULL), "wait_for"))
                return holds();
        }
        return true;
    }

#ifdef __cpp_lib_jthread
    /* Waits until it holds, or a stop is requested. Returns whether it holds. */
    template <class Mutex, class Predicate>
    bool wait(std::unique_lock<Mutex> &lock, const std::stop_token &stop, Predicate holds)
    {
        while (!holds()) {
            const auto wait = [this, &lock](lw_cancel *cancel) {
                return wait_by(*lock.mutex(), LW_FOREVER, cancel);
            };
            if (!detail::succeeded(detail::unless(stop, wait), "wait"))
                return holds();
        }
        return true;
    }
#endif
};

using condition_variable = condition;

/* A semaphore, as std::counting_semaphore; any number of permits at once. */
class semaphore : public detail::primitive<lw_sem>
{
    int acquire_by(std::uint32_t n, lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_sem_acquire_cancel(&native_, n, deadline, cancel);
    }

  public:
    static constexpr std::ptrdiff_t max() noexcept
    {
        return LW_SEM_MAX;
    }

    constexpr explicit semaphore(std::uint32_t permits) noexcept
        : primitive(lw_sem LW_SEM_INIT(permits))
    {
    }

    /* Takes n permits, all at once. */
    void acquire(std::uint32_t n = 1)
    {
        detail::check(acquire_by(n, LW_FOREVER, LW_NULL), "acquire");
    }

#ifdef __cpp_lib_coroutine
    /* Without blocking: co_await it. */
    [[nodiscard]] auto acquire(loop &in, std::uint32_t n = 1) noexcept
    {
        const auto start = [this, n](auto... form) {
            return lw_sem_acquire_async(&native_, n, form...);
        };
        return detail::awaitable(in.native_handle(), start, "acquire");
    }
#endif

    [[nodiscard]] bool try_acquire(std::uint32_t n = 1)
    {
        return detail::succeeded(lw_sem_tryacquire(&native_, n), "try_acquire");
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period> &time,
                                       std::uint32_t n = 1)
    {
        return detail::succeeded(acquire_by(n, detail::after(time), LW_NULL), "try_acquire_for");
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &time,
                                         std::uint32_t n = 1)
    {
        const auto wait = [this, n](lw_deadline end) { return acquire_by(n, end, LW_NULL); };
        return detail::succeeded(detail::until(time, wait), "try_acquire_until");
    }

#ifdef __cpp_lib_jthread
    [[nodiscard]] bool acquire(const std::stop_token &stop, std::uint32_t n = 1)
    {
        const auto wait = [this, n](lw_cancel *cancel) {
            return acquire_by(n, LW_FOREVER, cancel);
        };
        return detail::succeeded(detail::unless(stop, wait), "acquire");
    }
#endif

    /* Throws EOVERFLOW if there would be more than max(). */
    void release(std::uint32_t n = 1)
    {
        detail::check(lw_sem_release(&native_, n), "release");
    }

    std::uint32_t available() const noexcept
    {
        return lw_sem_available(&native_);
    }

    /* For wait_any: n permits. */
    lw_source when(std::uint32_t n = 1) noexcept
    {
        return lw_source_sem(&native_, n);
    }
};

template <std::ptrdiff_t = LW_SEM_MAX> using counting_semaphore = semaphore;
using binary_semaphore = semaphore;

/* A latch, as std::latch. */
class latch : public detail::primitive<lw_latch>, public detail::waitable<latch>
{
    friend class detail::waitable<latch>;
    int wait_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_latch_wait_cancel(&native_, deadline, cancel);
    }

  public:
    using waitable::wait;

    LW_DETAIL_AWAITED(wait, lw_latch_wait_async)

    static constexpr std::ptrdiff_t max() noexcept
    {
        return LW_LATCH_MAX;
    }

    constexpr explicit latch(std::uint32_t count) noexcept
        : primitive(lw_latch LW_LATCH_INIT(count))
    {
    }

    void count_down(std::uint32_t n = 1)
    {
        detail::check(lw_latch_count_down(&native_, n), "count_down");
    }

    [[nodiscard]] bool try_wait() const noexcept
    {
        return lw_latch_try_wait(&native_);
    }

    void arrive_and_wait()
    {
        detail::check(lw_latch_arrive_and_wait(&native_), "arrive_and_wait");
    }

    lw_source when() noexcept
    {
        return lw_source_latch(&native_);
    }
};

/*
 * A barrier. Where std::barrier has a function that runs when all have arrived, here one party of
 * each cycle learns that it is the leader. A party whose time is up breaks the barrier: all others
 * throw EPIPE until it is reset.
 */
class barrier : public detail::primitive<lw_barrier>
{
    static bool leads(int error)
    {
        if (error == LW_BARRIER_LEADER)
            return true;
        detail::check(error, "barrier");
        return false;
    }

  public:
    static constexpr std::ptrdiff_t max() noexcept
    {
        return LW_BARRIER_MAX;
    }

    constexpr explicit barrier(std::uint32_t parties) noexcept
        : primitive(lw_barrier LW_BARRIER_INIT(parties))
    {
    }

    /* Returns whether the caller is the leader. */
    bool arrive_and_wait()
    {
        return leads(lw_barrier_wait(&native_));
    }

    /* The same; throws ETIMEDOUT, and breaks the barrier, if the others do not come in time. */
    template <class Rep, class Period>
    bool arrive_and_wait_for(const std::chrono::duration<Rep, Period> &time)
    {
        return leads(lw_barrier_wait_until(&native_, detail::after(time)));
    }

    /* Arrives, for the last time. Never waits. */
    void arrive_and_drop()
    {
        leads(lw_barrier_drop(&native_));
    }

    void reset()
    {
        lw_barrier_reset(&native_);
    }

    bool is_broken() const noexcept
    {
        return lw_barrier_is_broken(&native_);
    }
};

/* Something has happened: a manual event releases all waiters until it is reset. */
class event : public detail::primitive<lw_event>, public detail::waitable<event>
{
    friend class detail::waitable<event>;
    int wait_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_event_wait_cancel(&native_, deadline, cancel);
    }

  protected:
    constexpr explicit event(const lw_event &native) noexcept : primitive(native)
    {
    }

  public:
    using waitable::wait;

    LW_DETAIL_AWAITED(wait, lw_event_wait_async)

    constexpr event() noexcept : primitive(lw_event LW_EVENT_INIT)
    {
    }

    void set() noexcept
    {
        lw_event_set(&native_);
    }

    /* Returns whether it was set. */
    bool reset() noexcept
    {
        return lw_event_reset(&native_);
    }

    [[nodiscard]] bool is_set() const noexcept
    {
        return lw_event_is_set(&native_);
    }

    lw_source when() noexcept
    {
        return lw_source_event(&native_);
    }
};

/* An event that releases one waiter, which resets it. */
class auto_reset_event : public event
{
  public:
    constexpr auto_reset_event() noexcept : event(lw_event LW_EVENT_AUTO_INIT)
    {
    }
};

/* A number of tasks to wait for, as Go's sync.WaitGroup. */
class wait_group : public detail::primitive<lw_waitgroup>, public detail::waitable<wait_group>
{
    friend class detail::waitable<wait_group>;
    int wait_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_waitgroup_wait_cancel(&native_, deadline, cancel);
    }

  public:
    using waitable::wait;

    LW_DETAIL_AWAITED(wait, lw_waitgroup_wait_async)

    constexpr wait_group() noexcept : primitive(lw_waitgroup LW_WAITGROUP_INIT)
    {
    }

    void add(std::uint32_t n = 1)
    {
        detail::check(lw_waitgroup_add(&native_, n), "add");
    }

    void done()
    {
        detail::check(lw_waitgroup_done(&native_), "done");
    }

    std::uint32_t pending() const noexcept
    {
        return lw_waitgroup_pending(&native_);
    }

    lw_source when() noexcept
    {
        return lw_source_waitgroup(&native_);
    }
};

/* A number that threads can wait for. */
class counter : public detail::primitive<lw_counter>
{
  public:
    static constexpr std::uint32_t max() noexcept
    {
        return LW_COUNTER_MAX;
    }

    constexpr explicit counter(std::uint32_t value = 0) noexcept
        : primitive(lw_counter LW_COUNTER_INIT(value))
    {
    }

    std::uint32_t value() const noexcept
    {
        return lw_counter_get(&native_);
    }

    /* Adds n, and returns the value before. Throws EOVERFLOW if it would leave its range. */
    std::uint32_t add(std::int32_t n)
    {
        std::uint32_t before = 0;
        detail::check(lw_counter_add(&native_, n, &before), "add");
        return before;
    }

    void wait_at_least(std::uint32_t n)
    {
        detail::check(lw_counter_wait_at_least(&native_, n, LW_FOREVER, LW_NULL), "wait_at_least");
    }

    void wait_at_most(std::uint32_t n)
    {
        detail::check(lw_counter_wait_at_most(&native_, n, LW_FOREVER, LW_NULL), "wait_at_most");
    }

    template <class Rep, class Period>
    [[nodiscard]] bool wait_at_least_for(std::uint32_t n,
                                         const std::chrono::duration<Rep, Period> &time)
    {
        return detail::succeeded(
            lw_counter_wait_at_least(&native_, n, detail::after(time), LW_NULL),
            "wait_at_least_for");
    }

    template <class Rep, class Period>
    [[nodiscard]] bool wait_at_most_for(std::uint32_t n,
                                        const std::chrono::duration<Rep, Period> &time)
    {
        return detail::succeeded(lw_counter_wait_at_most(&native_, n, detail::after(time), LW_NULL),
                                 "wait_at_most_for");
    }

    lw_source when_at_least(std::uint32_t n) noexcept
    {
        return lw_source_at_least(&native_, n);
    }

    lw_source when_at_most(std::uint32_t n) noexcept
    {
        return lw_source_at_most(&native_, n);
    }
};

/* For call_once, as std::once_flag. */
class once_flag : public detail::primitive<lw_once>
{
  public:
    constexpr once_flag() noexcept : primitive(lw_once LW_ONCE_INIT)
    {
    }

    [[nodiscard]] bool is_done() const noexcept
    {
        return lw_once_is_done(&native_);
    }
};

/*
 * Calls the function unless it has been called, and waits for another thread's call. If the call
 * throws, the next caller tries. Throws EDEADLK if the caller is in the midst of that call.
 */
template <class Function, class... Arguments>
void call_once(once_flag &flag, Function &&function, Arguments &&...arguments)
{
    /* Ends the run, also by an exception. */
    struct run {
        lw_once *once;
        bool success;
        ~run()
        {
            lw_once_finish(once, success);
        }
    };
    const int error = lw_once_begin(flag.native_handle());
    if (error != LW_ONCE_RUN)
        return detail::check(error, "call_once");
    run mine = {flag.native_handle(), false};
    std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
    mine.success = true;
}

/*
 * Waits for one of several and returns its place in the list: wait_any({stop.when(), jobs.when()}).
 * Only that one happens: of the others no permit is taken and no event reset. At most LW_ANY_MAX.
 */
inline std::size_t wait_any(std::initializer_list<lw_source> sources)
{
    std::uint32_t which = 0;
    detail::check(lw_wait_any(sources.begin(), static_cast<std::uint32_t>(sources.size()),
                              LW_FOREVER, LW_NULL, &which),
                  "wait_any");
    return which;
}

} // namespace lw

#undef LW_DETAIL_AWAITED

#endif
