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
 *     if (co_await mutex.try_lock_for(loop, 10ms)) ... // the same with a limit, or a stop_token
 *
 * Each class is the C primitive and nothing else: lw::mutex is eight bytes, and native_handle()
 * gives what the C functions, other languages and WebAssembly workers share. A class is neither
 * copied nor moved, since its address is what waiters wait at.
 *
 * What a caller must not do (lock twice, unlock what it does not hold, exceed a limit) throws
 * std::system_error with the error of the C function, as std::mutex may; without exceptions it
 * calls std::terminate. Waits that end by time or by a stop return false.
 *
 * For locks that processes share, on Linux: region.hpp.
 */
#ifndef LOCKWORD_LOCKWORD_HPP
#define LOCKWORD_LOCKWORD_HPP

#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error "lockword.hpp needs C++17; the C headers, lockword/NAME.h, can be included from C++11 on"
#endif

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif
#include <lockword/lockword.h>
#if LW_LINUX && defined(__cpp_lib_coroutine)
#define LW_DETAIL_AWAITS
#include <coroutine>
#endif

namespace lw
{

#if LW_LINUX
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
#endif

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

/* EOWNERDEAD: a region's lock, which is held (region.hpp). */
inline void check(int error, const char *what)
{
    if (error != 0 && error != EOWNERDEAD)
        fail(error, what);
}

/* What a primitive begins with: throws EINVAL if it is not least to most. */
constexpr std::uint32_t within(std::uint32_t least, std::uint32_t value, std::uint32_t most,
                               const char *what)
{
    if (value < least || value > most)
        fail(EINVAL, what);
    return value;
}

} // namespace detail

#if LW_LINUX
inline loop::loop()
{
    detail::check(lw_loop_init(&native_), "loop");
}
#endif

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
    if (!(ns.count() > 0)) /* or it is no number */
        return LW_NOW;
    return lw_after_ns(std::chrono::ceil<std::chrono::nanoseconds>(ns).count());
}

/*
 * A clock's least and greatest times are too far from now for their difference to fit into its
 * type. So are more of them if its epoch is to come, as that of std::filesystem's clock. LW_NOW:
 * the time has come.
 */
template <class Clock, class Duration>
lw_deadline at_time(const std::chrono::time_point<Clock, Duration> &time)
{
    const std::chrono::duration<long double, std::nano> then = time.time_since_epoch();
    const auto now = Clock::now();
    const std::chrono::duration<long double, std::nano> left = then - now.time_since_epoch();
    if ((then < left ? left : then).count() >= static_cast<long double>(INT64_MAX))
        return LW_FOREVER;
    return left.count() > 0 ? after(time - now) : LW_NOW;
}

/* Calls wait(deadline), again if a clock that is not steady says that it is not yet time. */
template <class Clock, class Duration, class Wait>
int until(const std::chrono::time_point<Clock, Duration> &time, const Wait &wait)
{
    for (;;) {
        const int error = wait(at_time(time));
        if (error != ETIMEDOUT || Clock::is_steady || at_time(time) == LW_NOW)
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

#ifdef LW_DETAIL_AWAITS
/* When a co_await gives up: never, at a deadline, when a clock says so, when a stop is requested.
 */
struct never {
    lw_deadline deadline() const noexcept
    {
        return LW_FOREVER;
    }
    bool is_over() const noexcept
    {
        return true;
    }
    void begin(lw_request *) noexcept
    {
    }
    void end() noexcept
    {
    }
};

struct at : never {
    lw_deadline time;

    explicit at(lw_deadline given) noexcept : time(given)
    {
    }
    lw_deadline deadline() const noexcept
    {
        return time;
    }
};

template <class Clock, class Duration> struct by_clock : never {
    std::chrono::time_point<Clock, Duration> time;

    explicit by_clock(const std::chrono::time_point<Clock, Duration> &given) : time(given)
    {
    }
    lw_deadline deadline() const
    {
        return at_time(time);
    }
    bool is_over() const
    {
        return Clock::is_steady || at_time(time) == LW_NOW;
    }
};

#ifdef __cpp_lib_jthread
struct by_stop : never {
    struct fire {
        lw_cancel *cancel;
        void operator()() const noexcept
        {
            lw_cancel_fire(cancel);
        }
    };

    std::stop_token stop;
    std::optional<std::stop_callback<fire>> callback;
    lw_cancel cancel = LW_CANCEL_INIT;
    lw_waiter waiter;

    explicit by_stop(const std::stop_token &given) noexcept : stop(given)
    {
    }
    void begin(lw_request *request)
    {
        lw_request_cancel_by(request, &waiter, &cancel);
        callback.emplace(stop, fire{&cancel});
    }
    void end() noexcept
    {
        callback.reset();
    }
};
#endif

/*
 * What co_await takes: start(request, loop, deadline, done, context) is one of C's _async forms,
 * and finish(result, request) makes of its result what co_await returns.
 */
template <class Limit, class Start, class Finish> class awaitable
{
  public:
    template <class Given>
    awaitable(loop &in, const Given &limit, Start start, Finish finish)
        : loop_(in.native_handle()), start_(std::move(start)), finish_(std::move(finish)),
          limit_(limit)
    {
    }

    awaitable(const awaitable &) = delete;
    awaitable &operator=(const awaitable &) = delete;

    bool await_ready() const noexcept
    {
        return false;
    }

    bool await_suspend(std::coroutine_handle<> waiting)
    {
        waiting_ = waiting;
        return begin();
    }

    auto await_resume()
    {
        return finish_(result_, request_);
    }

  private:
    bool begin()
    {
        result_ = start_(&request_, loop_, limit_.deadline(), &awaitable::done, this);
        if (result_ == 0)
            limit_.begin(&request_);
        else
            request_.loop = nullptr;
        return result_ == 0;
    }

    static void done(lw_request *, int result, void *context)
    {
        awaitable *self = static_cast<awaitable *>(context);
        self->limit_.end();
        self->result_ = result;
        if (result == ETIMEDOUT && !self->limit_.is_over() && self->begin())
            return;
        self->waiting_.resume();
    }

    lw_request request_ = {}; /* of no loop, until it has begun, and if it was refused */
    lw_loop *loop_;
    Start start_;
    Finish finish_;
    Limit limit_;
    std::coroutine_handle<> waiting_;
    int result_ = 0;
};

template <class Limit, class Given, class Start, class Finish>
auto await(loop &in, const Given &limit, Start start, Finish finish)
{
    return awaitable<Limit, Start, Finish>(in, limit, std::move(start), std::move(finish));
}

/* For as long as it takes. */
template <class Start> auto await(loop &in, const Start &start, const char *what)
{
    return await<never>(in, never(), start,
                        [what](int result, const lw_request &) { check(result, what); });
}

/* Whether what was waited for within a limit has come. The loop's end is no limit of the caller's.
 */
inline bool has_come(int result, const lw_request &request, const char *what)
{
    if (result == ECANCELED && (!request.loop || request.loop->is_closing))
        fail(result, what);
    return succeeded(result, what);
}

/* Within a limit: true, or false if it is over. */
template <class Limit, class Given, class Start>
auto await_within(loop &in, const Given &limit, const Start &start, const char *what)
{
    return await<Limit>(in, limit, start, [what](int result, const lw_request &request) {
        return has_come(result, request, what);
    });
}

template <class Rep, class Period, class Start>
auto await_for(loop &in, const std::chrono::duration<Rep, Period> &time, const Start &start,
               const char *what)
{
    return await_within<at>(in, after(time), start, what);
}

template <class Clock, class Duration, class Start>
auto await_until(loop &in, const std::chrono::time_point<Clock, Duration> &time, const Start &start,
                 const char *what)
{
    return await_within<by_clock<Clock, Duration>>(in, time, start, what);
}

/*
 * Methods that co_await takes instead of blocking: they wait in the given loop. Those with a limit
 * return whether they have succeeded.
 */
#define LW_DETAIL_AWAITED(method, timed, form)                                                     \
    [[nodiscard]] auto method(loop &in)                                                            \
    {                                                                                              \
        return detail::await(in, LW_DETAIL_START(form), #method);                                  \
    }                                                                                              \
    template <class Rep, class Period>                                                             \
    [[nodiscard]] auto timed##_for(loop &in, const std::chrono::duration<Rep, Period> &time)       \
    {                                                                                              \
        return detail::await_for(in, time, LW_DETAIL_START(form), #timed "_for");                  \
    }                                                                                              \
    template <class Clock, class Duration>                                                         \
    [[nodiscard]] auto timed##_until(loop &in,                                                     \
                                     const std::chrono::time_point<Clock, Duration> &time)         \
    {                                                                                              \
        return detail::await_until(in, time, LW_DETAIL_START(form), #timed "_until");              \
    }                                                                                              \
    LW_DETAIL_AWAITED_STOP(method, form)
#define LW_DETAIL_START(form) [this](auto... rest) { return form(&native_, rest...); }
#ifdef __cpp_lib_jthread
#define LW_DETAIL_AWAITED_STOP(method, form)                                                       \
    [[nodiscard]] auto method(loop &in, const std::stop_token &stop)                               \
    {                                                                                              \
        return detail::await_within<detail::by_stop>(in, stop, LW_DETAIL_START(form), #method);    \
    }
#else
#define LW_DETAIL_AWAITED_STOP(method, form)
#endif

/* The same of a counter. */
#define LW_DETAIL_AWAITED_COUNT(method, form)                                                      \
    [[nodiscard]] auto method(loop &in, std::uint32_t n)                                           \
    {                                                                                              \
        const auto start = [this, n](auto... rest) { return form(&native_, n, rest...); };         \
        return detail::await(in, start, #method);                                                  \
    }                                                                                              \
    template <class Rep, class Period>                                                             \
    [[nodiscard]] auto method##_for(loop &in, std::uint32_t n,                                     \
                                    const std::chrono::duration<Rep, Period> &time)                \
    {                                                                                              \
        const auto start = [this, n](auto... rest) { return form(&native_, n, rest...); };         \
        return detail::await_for(in, time, start, #method "_for");                                 \
    }
#else
#define LW_DETAIL_AWAITED(method, timed, form)
#define LW_DETAIL_AWAITED_COUNT(method, form)
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

/* SharedLockable and SharedTimedLockable, from Self::lock_shared_by(deadline, cancel). */
template <class Self> class shared_lockable
{
  public:
    void lock_shared()
    {
        check(lock_shared_by(LW_FOREVER, LW_NULL), "lock_shared");
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
    {
        return succeeded(lock_shared_by(after(time), LW_NULL), "try_lock_shared_for");
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return succeeded(
            until(time, [this](lw_deadline end) { return lock_shared_by(end, LW_NULL); }),
            "try_lock_shared_until");
    }

#ifdef __cpp_lib_jthread
    /* Takes it unless a stop is requested before. Returns whether it was taken. */
    [[nodiscard]] bool lock_shared(const std::stop_token &stop)
    {
        return succeeded(
            unless(stop, [this](lw_cancel *cancel) { return lock_shared_by(LW_FOREVER, cancel); }),
            "lock_shared");
    }
#endif

  protected:
    ~shared_lockable() = default;

  private:
    int lock_shared_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return static_cast<Self *>(this)->lock_shared_by(deadline, cancel);
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

    friend class condition;
    int wait_by(lw_cond *cond, lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_cond_wait_cancel(cond, &native_, deadline, cancel);
    }

#ifdef LW_DETAIL_AWAITS
    template <class... Rest> int begin_wait(lw_cond *cond, Rest... rest)
    {
        return lw_cond_wait_async(cond, &native_, rest...);
    }
#endif

  public:
    constexpr mutex() noexcept : primitive(lw_mutex LW_MUTEX_INIT)
    {
    }

    using lockable::lock;
    using lockable::try_lock_for;
    using lockable::try_lock_until;

    LW_DETAIL_AWAITED(lock, try_lock, lw_mutex_lock_async)

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

    friend class condition;
    int wait_by(lw_cond *cond, lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_cond_wait_recursive_cancel(cond, &native_, deadline, cancel);
    }

  public:
    constexpr recursive_mutex() noexcept : primitive(lw_rmutex LW_RMUTEX_INIT)
    {
    }

    /*
     * A coroutine that has co_awaited lock_task holds it for a task of the loop: other tasks and
     * the thread's own calls are kept out. The task locks it again and unlocks it by the two
     * functions after this.
     */
    LW_DETAIL_AWAITED(lock_task, try_lock_task, lw_rmutex_lock_async)

#if LW_LINUX
    void relock_task()
    {
        detail::check(lw_rmutex_relock_task(&native_), "relock_task");
    }

    void unlock_task()
    {
        detail::check(lw_rmutex_unlock_task(&native_), "unlock_task");
    }
#endif

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
class shared_mutex : public detail::primitive<lw_rwlock>,
                     public detail::lockable<shared_mutex>,
                     public detail::shared_lockable<shared_mutex>
{
    friend class detail::lockable<shared_mutex>;
    int lock_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_rwlock_wrlock_cancel(&native_, deadline, cancel);
    }

    friend class detail::shared_lockable<shared_mutex>;
    int lock_shared_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_rwlock_rdlock_cancel(&native_, deadline, cancel);
    }

  public:
    constexpr shared_mutex() noexcept : primitive(lw_rwlock LW_RWLOCK_INIT)
    {
    }

    using lockable::lock;
    using lockable::try_lock_for;
    using lockable::try_lock_until;
    using shared_lockable::lock_shared;
    using shared_lockable::try_lock_shared_for;
    using shared_lockable::try_lock_shared_until;

    LW_DETAIL_AWAITED(lock, try_lock, lw_rwlock_wrlock_async)
    LW_DETAIL_AWAITED(lock_shared, try_lock_shared, lw_rwlock_rdlock_async)
    LW_DETAIL_AWAITED(lock_upgradable, try_lock_upgradable, lw_rwlock_uplock_async)
    LW_DETAIL_AWAITED(upgrade, try_upgrade, lw_rwlock_upgrade_async)

    [[nodiscard]] bool try_lock()
    {
        return detail::succeeded(lw_rwlock_trywrlock(&native_), "try_lock");
    }

    void unlock()
    {
        detail::check(lw_rwlock_unlock(&native_), "unlock");
    }

    [[nodiscard]] bool try_lock_shared()
    {
        return detail::succeeded(lw_rwlock_tryrdlock(&native_), "try_lock_shared");
    }

    void unlock_shared()
    {
        detail::check(lw_rwlock_rdunlock(&native_), "unlock_shared");
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
    /* A region's mutex was abandoned or removed meanwhile: the lock has it no more. */
    static bool is_lost(int error)
    {
        return error == ENOTRECOVERABLE || error == EIDRM;
    }

    template <class Mutex>
    int wait_by(std::unique_lock<Mutex> &lock, lw_deadline deadline, lw_cancel *cancel)
    {
        const int error = lock.mutex()->wait_by(&native_, deadline, cancel);
        if (is_lost(error))
            lock.release();
        return error;
    }

#ifdef LW_DETAIL_AWAITS
    template <class Mutex, class... Rest> int begin(std::unique_lock<Mutex> &lock, Rest... rest)
    {
        return lock.owns_lock() ? lock.mutex()->begin_wait(&native_, rest...) : EPERM;
    }

    template <class... Rest> int begin(lw::recursive_mutex &mutex, Rest... rest)
    {
        return lw_cond_wait_recursive_async(&native_, mutex.native_handle(), rest...);
    }

    /* The wait has given the mutex up, or was refused, and has it still. */
    template <class Mutex> static void lose(std::unique_lock<Mutex> &lock, bool has_it)
    {
        if (has_it)
            lock.unlock();
        lock.release();
    }

    static void lose(lw::recursive_mutex &mutex, bool has_it)
    {
        while (has_it && lw_rmutex_unlock_task(mutex.native_handle()) == 0) {
        }
    }

    template <class Limit, class Given, class Lock>
    auto await_by(loop &in, const Given &limit, Lock &lock)
    {
        const auto start = [this, &lock](auto... rest) { return this->begin(lock, rest...); };
        return detail::await<Limit>(in, limit, start, [&lock](int result, const lw_request &ended) {
            const bool has_waited = ended.loop != nullptr;
            if (has_waited ? !lw_request_value(&ended) : result == ECANCELED) {
                lose(lock, !has_waited);
                /* Else the loop has ended. */
                detail::fail(is_lost(result) ? result : ECANCELED, "wait");
            }
            return detail::succeeded(result, "wait");
        });
    }
#endif

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
        detail::check(wait_by(lock, LW_FOREVER, LW_NULL), "wait");
    }

    template <class Mutex, class Predicate>
    void wait(std::unique_lock<Mutex> &lock, Predicate holds)
    {
        while (!holds())
            wait(lock);
    }

#ifdef LW_DETAIL_AWAITS
    /*
     * Without blocking: co_await it, with a lock on an lw::mutex, or with a recursive mutex that a
     * task holds. It has the mutex again afterwards, except when the loop's end throws ECANCELED:
     * then the lock owns nothing. With a limit it returns whether it was notified.
     */
    template <class Lock> [[nodiscard]] auto wait(loop &in, Lock &lock)
    {
        return await_by<detail::never>(in, detail::never(), lock);
    }

    template <class Lock, class Rep, class Period>
    [[nodiscard]] auto wait_for(loop &in, Lock &lock,
                                const std::chrono::duration<Rep, Period> &time)
    {
        return await_by<detail::at>(in, detail::after(time), lock);
    }

    template <class Lock, class Clock, class Duration>
    [[nodiscard]] auto wait_until(loop &in, Lock &lock,
                                  const std::chrono::time_point<Clock, Duration> &time)
    {
        return await_by<detail::by_clock<Clock, Duration>>(in, time, lock);
    }

#ifdef __cpp_lib_jthread
    template <class Lock> [[nodiscard]] auto wait(loop &in, Lock &lock, const std::stop_token &stop)
    {
        return await_by<detail::by_stop>(in, stop, lock);
    }
#endif
#endif

    /* Returns std::cv_status, or, given a condition, whether it holds. */
    template <class Mutex, class Clock, class Duration>
    std::cv_status wait_until(std::unique_lock<Mutex> &lock,
                              const std::chrono::time_point<Clock, Duration> &time)
    {
        const auto wait = [this, &lock](lw_deadline end) { return wait_by(lock, end, LW_NULL); };
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
        return detail::succeeded(wait_by(lock, detail::after(time), LW_NULL), "wait_for")
                   ? std::cv_status::no_timeout
                   : std::cv_status::timeout;
    }

    template <class Mutex, class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<Mutex> &lock, const std::chrono::duration<Rep, Period> &time,
                  Predicate holds)
    {
        const lw_deadline end = detail::after(time);
        while (!holds()) {
            if (!detail::succeeded(wait_by(lock, end, LW_NULL), "wait_for"))
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
                return wait_by(lock, LW_FOREVER, cancel);
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

#ifdef LW_DETAIL_AWAITS
    auto acquire_start(std::uint32_t n)
    {
        return [this, n](auto... rest) { return lw_sem_acquire_async(&native_, n, rest...); };
    }
#endif

  public:
    static constexpr std::ptrdiff_t max() noexcept
    {
        return LW_SEM_MAX;
    }

    /* permits: 0 to max(), else throws EINVAL. */
    constexpr explicit semaphore(std::uint32_t permits)
        : primitive(lw_sem LW_SEM_INIT(detail::within(0, permits, LW_SEM_MAX, "semaphore")))
    {
    }

    /* Takes n permits, all at once. */
    void acquire(std::uint32_t n = 1)
    {
        detail::check(acquire_by(n, LW_FOREVER, LW_NULL), "acquire");
    }

#ifdef LW_DETAIL_AWAITS
    /* Without blocking: co_await it. */
    [[nodiscard]] auto acquire(loop &in, std::uint32_t n = 1)
    {
        return detail::await(in, acquire_start(n), "acquire");
    }

    template <class Rep, class Period>
    [[nodiscard]] auto try_acquire_for(loop &in, const std::chrono::duration<Rep, Period> &time,
                                       std::uint32_t n = 1)
    {
        return detail::await_for(in, time, acquire_start(n), "try_acquire_for");
    }

    template <class Clock, class Duration>
    [[nodiscard]] auto try_acquire_until(loop &in,
                                         const std::chrono::time_point<Clock, Duration> &time,
                                         std::uint32_t n = 1)
    {
        return detail::await_until(in, time, acquire_start(n), "try_acquire_until");
    }

#ifdef __cpp_lib_jthread
    [[nodiscard]] auto acquire(loop &in, const std::stop_token &stop, std::uint32_t n = 1)
    {
        return detail::await_within<detail::by_stop>(in, stop, acquire_start(n), "acquire");
    }
#endif
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
    lw_source when(std::uint32_t n = 1)
    {
        return lw_source_sem(&native_, detail::within(0, n, LW_SEM_MAX, "when"));
    }
};

template <std::ptrdiff_t = LW_SEM_MAX> using counting_semaphore = semaphore;
using binary_semaphore = semaphore;

namespace detail
{

/*
 * Permits that have numbers, from Self::acquire_by(which, deadline, cancel), try_acquire_by(which)
 * and begin_acquire(...), and what these return.
 */
template <class Self> class numbered
{
    template <class Wait> std::optional<std::uint32_t> acquired(const char *what, Wait wait)
    {
        std::uint32_t which = 0;
        return succeeded(wait(&which), what) ? std::optional(which) : std::nullopt;
    }

    int acquire_by(std::uint32_t *which, lw_deadline deadline, lw_cancel *cancel)
    {
        return static_cast<Self *>(this)->acquire_by(which, deadline, cancel);
    }

#ifdef LW_DETAIL_AWAITS
    template <class Limit, class Given, class Finish>
    auto await_acquire(loop &in, const Given &limit, Finish finish)
    {
        Self *self = static_cast<Self *>(this);
        const auto start = [self](auto... rest) { return self->begin_acquire(rest...); };
        return await<Limit>(in, limit, start, finish);
    }

    template <class Limit, class Given>
    auto await_within(loop &in, const Given &limit, const char *what)
    {
        return await_acquire<Limit>(in, limit, [what](int result, const lw_request &request) {
            return has_come(result, request, what) ? std::optional(lw_request_value(&request))
                                                   : std::nullopt;
        });
    }
#endif

  public:
    [[nodiscard]] std::uint32_t acquire()
    {
        std::uint32_t which = 0;
        check(acquire_by(&which, LW_FOREVER, LW_NULL), "acquire");
        return which;
    }

#ifdef LW_DETAIL_AWAITS
    /* Without blocking: co_await it. The loop's thread has the permit, and releases it. */
    [[nodiscard]] auto acquire(loop &in)
    {
        return await_acquire<never>(in, never(), [](int result, const lw_request &request) {
            check(result, "acquire");
            return lw_request_value(&request);
        });
    }

    template <class Rep, class Period>
    [[nodiscard]] auto try_acquire_for(loop &in, const std::chrono::duration<Rep, Period> &time)
    {
        return await_within<at>(in, after(time), "try_acquire_for");
    }

    template <class Clock, class Duration>
    [[nodiscard]] auto try_acquire_until(loop &in,
                                         const std::chrono::time_point<Clock, Duration> &time)
    {
        return await_within<by_clock<Clock, Duration>>(in, time, "try_acquire_until");
    }

#ifdef __cpp_lib_jthread
    [[nodiscard]] auto acquire(loop &in, const std::stop_token &stop)
    {
        return await_within<by_stop>(in, stop, "acquire");
    }
#endif
#endif

    [[nodiscard]] std::optional<std::uint32_t> try_acquire()
    {
        Self *self = static_cast<Self *>(this);
        return acquired("try_acquire", [self](auto *which) { return self->try_acquire_by(which); });
    }

    template <class Rep, class Period>
    [[nodiscard]] std::optional<std::uint32_t>
    try_acquire_for(const std::chrono::duration<Rep, Period> &time)
    {
        return acquired("try_acquire_for",
                        [&](auto *which) { return acquire_by(which, after(time), LW_NULL); });
    }

    template <class Clock, class Duration>
    [[nodiscard]] std::optional<std::uint32_t>
    try_acquire_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return acquired("try_acquire_until", [&](auto *which) {
            return until(time, [&](lw_deadline end) { return acquire_by(which, end, LW_NULL); });
        });
    }

#ifdef __cpp_lib_jthread
    [[nodiscard]] std::optional<std::uint32_t> acquire(const std::stop_token &stop)
    {
        return acquired("acquire", [&](auto *which) {
            return unless(stop,
                          [&](lw_cancel *cancel) { return acquire_by(which, LW_FOREVER, cancel); });
        });
    }
#endif

  protected:
    ~numbered() = default;
};

} // namespace detail

/*
 * Up to 252 permits that have numbers and owners: a pool of GPUs, ports or connections. An acquire
 * returns which permit it is, from 0 on, and the same thread releases it.
 */
class permits : public detail::primitive<lw_permits>, public detail::numbered<permits>
{
    friend class detail::numbered<permits>;
    int acquire_by(std::uint32_t *which, lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_permits_acquire_cancel(&native_, which, deadline, cancel);
    }

    int try_acquire_by(std::uint32_t *which)
    {
        return lw_permits_tryacquire(&native_, which);
    }

#ifdef LW_DETAIL_AWAITS
    template <class... Rest> int begin_acquire(Rest... rest)
    {
        return lw_permits_acquire_async(&native_, rest...);
    }
#endif

  public:
    static constexpr std::ptrdiff_t max() noexcept
    {
        return LW_PERMITS_MAX;
    }

    /* n: 1 to max(), else throws EINVAL. */
    constexpr explicit permits(std::uint32_t n)
        : primitive(lw_permits LW_PERMITS_INIT(detail::within(1, n, LW_PERMITS_MAX, "permits")))
    {
    }

    /* Throws EPERM if it is not this thread's permit. */
    void release(std::uint32_t which)
    {
        detail::check(lw_permits_release(&native_, which), "release");
    }

    std::uint32_t available() const noexcept
    {
        return lw_permits_available(&native_);
    }

    /* For wait_any, in this thread: sets `which` to the permit that it got, if this comes first. */
    lw_source when(std::uint32_t &which) noexcept
    {
        return lw_source_permits(&native_, &which);
    }
};

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
    using waitable::wait_for;
    using waitable::wait_until;

    LW_DETAIL_AWAITED(wait, wait, lw_latch_wait_async)

    static constexpr std::ptrdiff_t max() noexcept
    {
        return LW_LATCH_MAX;
    }

    /* count: 0 to max(), else throws EINVAL. */
    constexpr explicit latch(std::uint32_t count)
        : primitive(lw_latch LW_LATCH_INIT(detail::within(0, count, LW_LATCH_MAX, "latch")))
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

#ifdef LW_DETAIL_AWAITS
    auto wait_start()
    {
        return [this](auto... rest) { return lw_barrier_wait_async(&native_, rest...); };
    }

    static bool leads_of(int result, const lw_request &)
    {
        return leads(result);
    }
#endif

  public:
    static constexpr std::ptrdiff_t max() noexcept
    {
        return LW_BARRIER_MAX;
    }

    /* parties: 1 to max(), else throws EINVAL. */
    constexpr explicit barrier(std::uint32_t parties)
        : primitive(
              lw_barrier LW_BARRIER_INIT(detail::within(1, parties, LW_BARRIER_MAX, "barrier")))
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

#ifdef LW_DETAIL_AWAITS
    /* The same without blocking: co_await it. The co_await arrives. */
    [[nodiscard]] auto arrive_and_wait(loop &in)
    {
        return detail::await<detail::never>(in, detail::never(), wait_start(), leads_of);
    }

    template <class Rep, class Period>
    [[nodiscard]] auto arrive_and_wait_for(loop &in, const std::chrono::duration<Rep, Period> &time)
    {
        return detail::await<detail::at>(in, detail::after(time), wait_start(), leads_of);
    }
#endif

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
    using waitable::wait_for;
    using waitable::wait_until;

    LW_DETAIL_AWAITED(wait, wait, lw_event_wait_async)

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
    using waitable::wait_for;
    using waitable::wait_until;

    LW_DETAIL_AWAITED(wait, wait, lw_waitgroup_wait_async)

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

    /* value: 0 to max(), else throws EINVAL. */
    constexpr explicit counter(std::uint32_t value = 0)
        : primitive(lw_counter LW_COUNTER_INIT(detail::within(0, value, LW_COUNTER_MAX, "counter")))
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

    LW_DETAIL_AWAITED_COUNT(wait_at_least, lw_counter_wait_at_least_async)
    LW_DETAIL_AWAITED_COUNT(wait_at_most, lw_counter_wait_at_most_async)

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

namespace detail
{

/*
 * Calls the function if `begun` says that it is to be run; ends the run of the once by
 * finish(once, success), also after an exception.
 */
template <class Once, class Function, class... Arguments>
void run_once(int begun, Once *once, int (*finish)(Once *, bool), Function &&function,
              Arguments &&...arguments)
{
    if (begun != LW_ONCE_RUN)
        return check(begun, "call_once");
    struct run {
        Once *once;
        int (*finish)(Once *, bool);
        bool success;
        ~run()
        {
            finish(once, success);
        }
    } mine = {once, finish, false};
    std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
    mine.success = true;
}

#ifdef LW_DETAIL_AWAITS
template <class Once, class Start, class Function>
auto await_once(loop &in, const Start &start, Once *once, int (*finish)(Once *, bool),
                Function function)
{
    return await<never>(
        in, never(), start,
        [once, finish, function = std::move(function)](int begun, const lw_request &) mutable {
            run_once(begun, once, finish, function);
        });
}
#endif

} // namespace detail

/*
 * Calls the function unless it has been called, and waits for another thread's call. If the call
 * throws, the next caller tries. Throws EDEADLK if the caller is in the midst of that call.
 */
template <class Function, class... Arguments>
void call_once(once_flag &flag, Function &&function, Arguments &&...arguments)
{
    lw_once *once = flag.native_handle();
    detail::run_once(lw_once_begin(once), once, lw_once_finish, std::forward<Function>(function),
                     std::forward<Arguments>(arguments)...);
}

#ifdef LW_DETAIL_AWAITS
/* The same without blocking: co_await it. The function is called in the loop. */
template <class Function> [[nodiscard]] auto call_once(loop &in, once_flag &flag, Function function)
{
    lw_once *once = flag.native_handle();
    const auto start = [once](auto... rest) { return lw_once_begin_async(once, rest...); };
    return detail::await_once(in, start, once, lw_once_finish, std::move(function));
}

/* The same without blocking: co_await wait_any(loop, stop.when(), jobs.when()). */
template <class... Sources> [[nodiscard]] auto wait_any(loop &in, const Sources &...sources)
{
    constexpr std::size_t count = sizeof...(sources);
    struct several {
        lw_source sources[count];
        lw_waiter waiters[count];
    };
    several all = {{sources...}, {}};
    auto start = [all](auto... rest) mutable {
        return lw_wait_any_async(all.sources, count, all.waiters, rest...);
    };
    return detail::await<detail::never>(in, detail::never(), start,
                                        [](int result, const lw_request &request) {
                                            detail::check(result, "wait_any");
                                            return std::size_t(lw_request_value(&request));
                                        });
}
#endif

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

#endif
