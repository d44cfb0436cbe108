/*
 * region.hpp: regions for C++17 and later: named locks that processes share, and that outlive any
 * holder. On Linux.
 *
 *     lw::region region("/dev/shm/bank");
 *     lw::region_mutex accounts = region.mutex("accounts");
 *     auto &table = region.bytes<struct table>("table"); // zeros at first
 *
 *     lw::region_guard guard(accounts);  // as std::unique_lock, also (accounts, 10ms)
 *     if (guard.owner_died())            // a holder died, and none has unlocked the mutex since
 *         mend(table);
 *     change(table);
 *
 * What region.h promises, and what is illegal, is so here. The rest is as in lockword.hpp: the
 * standard library's guards, std::chrono and, in C++20, std::stop_token and co_await work with
 * these locks. A lock is a small value that any threads may use or copy, while the region is open.
 *
 * What a death means. The next thread to take the lock has it, and owner_died() returns true. To
 * unlock declares the data sound, and so does a wait at a condition. A block that ends by an
 * exception may not have come to the end of its mending: region_guard then tells the next holder,
 * too. The standard library's guards unlock in any case. std::scoped_lock of several locks may also
 * unlock one before it has all: take locks one by one, in the same order everywhere.
 *
 * What a caller must not do, and what the system refuses, throws std::system_error with the error
 * of the C function, as in lockword.hpp. To take a lock also throws ENOTRECOVERABLE: a holder has
 * abandoned it; EIDRM: its name has been removed; EAGAIN: the region has no room for one more
 * process or thread.
 */
#ifndef LOCKWORD_REGION_HPP
#define LOCKWORD_REGION_HPP

#include <lockword/lockword.hpp>
#include <lockword/region.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lw
{

namespace detail
{

/* A name as C has it; of one that is too long, so much that C refuses it. */
struct c_name {
    char text[LW_REGION_NAME_MAX + 2];

    explicit c_name(std::string_view name)
    {
        check(name.find('\0') == name.npos ? 0 : EINVAL, "name");
        text[name.copy(text, sizeof text - 1)] = '\0';
    }
};

/* A lock of a region, as C has it. */
template <class Native> class handle
{
  public:
    using native_type = Native;

    explicit handle(const Native &native) noexcept : native_(native)
    {
    }

    /* For the functions of <lockword/region.h>. */
    const Native *native_handle() const noexcept
    {
        return &native_;
    }

  protected:
    Native native_;
};

/* The functions of a lock that outlives its holders, which has a mutex. `wr`: in some names. */
template <class Native> struct calls;
#define LW_DETAIL_CALLS(type, wr, member)                                                          \
    template <> struct calls<type> {                                                               \
        static constexpr auto lock = type##_##wr##lock_cancel;                                     \
        static constexpr auto try_lock = type##_try##wr##lock;                                     \
        static constexpr auto unlock = type##_unlock;                                              \
        static constexpr auto leave = type##_leave;                                                \
        static constexpr auto abandon = type##_abandon;                                            \
        static constexpr auto reset = type##_reset;                                                \
        static const lw_region_mutex *mutex(const type &native) noexcept                           \
        {                                                                                          \
            return &native member;                                                                 \
        }                                                                                          \
    };
LW_DETAIL_CALLS(lw_region_mutex, , )
LW_DETAIL_CALLS(lw_region_rmutex, , .mutex)
LW_DETAIL_CALLS(lw_region_rwtable, wr, .mutex)
#undef LW_DETAIL_CALLS

/* A lock of a region that outlives its holders: Lockable and TimedLockable. */
template <class Native> class robust : public handle<Native>, public lockable<robust<Native>>
{
    friend class lockable<robust>;
    int lock_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return calls<Native>::lock(&this->native_, deadline, cancel);
    }

  public:
    using handle<Native>::handle;

    [[nodiscard]] bool try_lock()
    {
        return succeeded(calls<Native>::try_lock(&this->native_), "try_lock");
    }

    /* Declares the data sound. Throws EPERM if the caller does not hold it. */
    void unlock()
    {
        check(calls<Native>::unlock(&this->native_), "unlock");
    }

    /* The same, but declares nothing: if this holder was told of a death, so is the next one. */
    void leave()
    {
        check(calls<Native>::leave(&this->native_), "leave");
    }

    /* Frees it, however often it is held; declares the data lost: nobody gets it before reset(). */
    void abandon()
    {
        check(calls<Native>::abandon(&this->native_), "abandon");
    }

    /*
     * Takes it if it was abandoned, to make the data anew; waits without a limit. Returns whether
     * it was. If not, the caller does not hold it.
     */
    [[nodiscard]] bool reset()
    {
        const int error = calls<Native>::reset(&this->native_);
        check(error == EALREADY ? 0 : error, "reset");
        return error == 0;
    }

    /*
     * For a holder: whether the data may be half written. A holder died, or it was reset, and none
     * has unlocked since.
     */
    [[nodiscard]] bool owner_died() const noexcept
    {
        const lw_region_mutex *mutex = calls<Native>::mutex(this->native_);
        return lw_robust_fate(mutex->words) == (mutex->fate | LW_ROBUST_OWNER_DIED);
    }
};

/* One that a condition can be waited for with. */
template <class Native> class robust_mutex : public robust<Native>
{
    friend class lw::condition;
    int wait_by(lw_cond *cond, lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_region_cond_wait_cancel(cond, calls<Native>::mutex(this->native_), deadline,
                                          cancel);
    }

  public:
    using robust<Native>::robust;

    /* Whether a thread holds it right now. */
    [[nodiscard]] bool is_locked() const noexcept
    {
        return lw_region_mutex_is_locked(calls<Native>::mutex(this->native_));
    }

    /* Whether this thread does. */
    [[nodiscard]] bool is_mine() const noexcept
    {
        return lw_region_mutex_is_mine(calls<Native>::mutex(this->native_));
    }
};

} // namespace detail

/* A mutex of a region, as lw::mutex. */
class region_mutex : public detail::robust_mutex<lw_region_mutex>
{
#ifdef LW_DETAIL_AWAITS
    friend class condition;
    template <class... Rest> int begin_wait(lw_cond *cond, Rest... rest)
    {
        return lw_region_cond_wait_async(cond, &native_, rest...);
    }
#endif

  public:
    using robust_mutex::robust_mutex;

    using lockable::lock;
    using lockable::try_lock_for;
    using lockable::try_lock_until;

    LW_DETAIL_AWAITED(lock, try_lock, lw_region_mutex_lock_async)
};

/* A mutex of a region that its holder may lock again. No coroutine waits for it. */
class region_recursive_mutex : public detail::robust_mutex<lw_region_rmutex>
{
  public:
    using robust_mutex::robust_mutex;
};

/*
 * A read-write lock of a region, with a table of its readers: at most 252 at a time. A reader is
 * told of a writer's death, too, and declares nothing when it unlocks. A reader may read once more.
 * Each of the three that end a lock, unlock, unlock_shared and leave, ends the caller's.
 */
class region_rwtable : public detail::robust<lw_region_rwtable>,
                       public detail::shared_lockable<region_rwtable>
{
    friend class detail::shared_lockable<region_rwtable>;
    int lock_shared_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_region_rwtable_rdlock_cancel(&native_, deadline, cancel);
    }

  public:
    using robust::robust;

    using lockable::lock;
    using lockable::try_lock_for;
    using lockable::try_lock_until;
    using shared_lockable::lock_shared;
    using shared_lockable::try_lock_shared_for;
    using shared_lockable::try_lock_shared_until;

    LW_DETAIL_AWAITED(lock, try_lock, lw_region_rwtable_wrlock_async)
    LW_DETAIL_AWAITED(lock_shared, try_lock_shared, lw_region_rwtable_rdlock_async)

    [[nodiscard]] bool try_lock_shared()
    {
        return detail::succeeded(lw_region_rwtable_tryrdlock(&native_), "try_lock_shared");
    }

    void unlock_shared()
    {
        unlock();
    }
};

/*
 * A read-write lock of a region that does not know its readers: if a holder dies, it stays locked.
 * SharedTimedLockable.
 */
class region_rwlock : public detail::handle<lw_region_rwlock>,
                      public detail::lockable<region_rwlock>,
                      public detail::shared_lockable<region_rwlock>
{
    friend class detail::lockable<region_rwlock>;
    int lock_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_region_rwlock_wrlock_cancel(&native_, deadline, cancel);
    }

    friend class detail::shared_lockable<region_rwlock>;
    int lock_shared_by(lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_region_rwlock_rdlock_cancel(&native_, deadline, cancel);
    }

  public:
    using handle::handle;

    using lockable::lock;
    using lockable::try_lock_for;
    using lockable::try_lock_until;
    using shared_lockable::lock_shared;
    using shared_lockable::try_lock_shared_for;
    using shared_lockable::try_lock_shared_until;

    LW_DETAIL_AWAITED(lock, try_lock, lw_region_rwlock_wrlock_async)
    LW_DETAIL_AWAITED(lock_shared, try_lock_shared, lw_region_rwlock_rdlock_async)

    [[nodiscard]] bool try_lock()
    {
        return detail::succeeded(lw_region_rwlock_trywrlock(&native_), "try_lock");
    }

    [[nodiscard]] bool try_lock_shared()
    {
        return detail::succeeded(lw_region_rwlock_tryrdlock(&native_), "try_lock_shared");
    }

    void unlock()
    {
        detail::check(lw_region_rwlock_unlock(&native_), "unlock");
    }

    void unlock_shared()
    {
        unlock();
    }
};

/* Permits of a region, as lw::permits. Those of a thread that dies are free again. */
class region_permits : public detail::handle<lw_region_permits>,
                       public detail::numbered<region_permits>
{
    friend class detail::numbered<region_permits>;
    int acquire_by(std::uint32_t *which, lw_deadline deadline, lw_cancel *cancel)
    {
        return lw_region_permits_acquire_cancel(&native_, which, deadline, cancel);
    }

    int try_acquire_by(std::uint32_t *which)
    {
        return lw_region_permits_tryacquire(&native_, which);
    }

#ifdef LW_DETAIL_AWAITS
    template <class... Rest> int begin_acquire(Rest... rest)
    {
        return lw_region_permits_acquire_async(&native_, rest...);
    }
#endif

  public:
    using handle::handle;

    /* Throws EPERM if it is not this thread's permit. */
    void release(std::uint32_t which)
    {
        detail::check(lw_region_permits_release(&native_, which), "release");
    }

    std::uint32_t available() const noexcept
    {
        return lw_region_permits_available(&native_);
    }
};

/* For call_once, in any process. If a process dies in the midst of its call, the next one tries. */
class region_once : public detail::handle<lw_region_once>
{
  public:
    using handle::handle;

    [[nodiscard]] bool is_done() const noexcept
    {
        return lw_region_once_is_done(&native_);
    }
};

/* The same as for an lw::once_flag. */
template <class Function, class... Arguments>
void call_once(const region_once &flag, Function &&function, Arguments &&...arguments)
{
    const lw_region_once *once = flag.native_handle();
    detail::run_once(lw_region_once_begin(once), once, lw_region_once_finish,
                     std::forward<Function>(function), std::forward<Arguments>(arguments)...);
}

#ifdef LW_DETAIL_AWAITS
template <class Function>
[[nodiscard]] auto call_once(loop &in, const region_once &flag, Function function)
{
    const lw_region_once *once = flag.native_handle();
    const auto start = [once](auto... rest) { return lw_region_once_begin_async(once, rest...); };
    return detail::await_once(in, start, once, lw_region_once_finish, std::move(function));
}
#endif

/*
 * std::unique_lock of a region_mutex, a region_recursive_mutex or, to write, a region_rwtable. If
 * its block ends by an exception, it frees the lock by leave(), else by unlock().
 */
template <class Lock> class region_guard : public std::unique_lock<Lock>
{
  public:
    using std::unique_lock<Lock>::unique_lock;

    ~region_guard()
    {
        /* What is thrown says more than that the lock was freed by other means. */
        if (this->owns_lock() && std::uncaught_exceptions() > exceptions_)
            detail::calls<typename Lock::native_type>::leave(this->release()->native_handle());
    }

    /* Whether it holds the lock, and what that guards may be half written. */
    [[nodiscard]] bool owner_died() const noexcept
    {
        return this->owns_lock() && this->mutex()->owner_died();
    }

    /* The lock's abandon(). Throws EPERM if it does not hold the lock. */
    void abandon()
    {
        detail::check(this->owns_lock() ? 0 : EPERM, "abandon");
        this->release()->abandon();
    }

  private:
    const int exceptions_ = std::uncaught_exceptions();
};

template <class Lock, class... Rest> region_guard(Lock &, Rest...) -> region_guard<Lock>;

/*
 * An open region. All that has a name is found by it, or made, and is good as long as this is open.
 * Throws, besides what lw_region_open returns: ENAMETOOLONG; EINVAL: a name is empty, or has a 0 in
 * it; EEXIST: it is that of something else; ENOSPC: there is no room for it; EBADF: it is closed.
 */
class region
{
    explicit region(std::nullptr_t) noexcept
    {
    }

    lw_region *opened() const
    {
        detail::check(native_ ? 0 : EBADF, "region");
        return native_;
    }

    template <class Handle, class Find, class... Arguments>
    Handle find(const Find &named, std::string_view name, Arguments... arguments) const
    {
        typename Handle::native_type native = {};
        detail::check(named(opened(), detail::c_name(name).text, arguments..., &native), "region");
        return Handle(native);
    }

    /* A primitive's class is the C primitive and nothing else. */
    template <class Primitive, class Native, class... Initial>
    Primitive &find_words(int (*named)(lw_region *, const char *, const Native *, Native **),
                          std::string_view name, Initial... initial) const
    {
        static_assert(sizeof(Primitive) == sizeof(Native) &&
                          alignof(Primitive) == alignof(Native) &&
                          std::is_standard_layout_v<Primitive>,
                      "");
        Primitive first{initial...};
        Native *native = nullptr;
        detail::check(named(opened(), detail::c_name(name).text, first.native_handle(), &native),
                      "region");
        return *reinterpret_cast<Primitive *>(native);
    }

    template <class T, class Next> static std::vector<T> all(const Next &next)
    {
        std::vector<T> found;
        std::uint32_t cursor = 0;
        T one = {};
        int error;
        while ((error = next(&cursor, &one)) == 0)
            found.push_back(one);
        detail::check(error == ENOENT ? 0 : error, "region");
        return found;
    }

  public:
    /*
     * Opens the region in this file, or makes it; with flags 0 it has to be there. mode and size
     * are those of a new file, less the umask, and in bytes; 0: as region.h says.
     */
    explicit region(const std::string &path, unsigned flags = LW_REGION_CREATE,
                    unsigned mode = 0600, std::size_t size = 0)
    {
        detail::check(path.find('\0') == path.npos
                          ? lw_region_open(&native_, path.c_str(), flags, mode, size)
                          : EINVAL,
                      "region");
    }

    /* In an open file, such as a memfd, which the caller may close at once. */
    static region from_fd(int fd, unsigned flags = LW_REGION_CREATE, std::size_t size = 0)
    {
        region opened(nullptr);
        detail::check(lw_region_open_fd(&opened.native_, fd, flags, size), "region");
        return opened;
    }

    /* In memory of the caller's, mapped shared at a multiple of 64, until the region is closed. */
    static region from_memory(void *memory, std::size_t size, unsigned flags = LW_REGION_CREATE)
    {
        region opened(nullptr);
        detail::check(lw_region_open_memory(&opened.native_, memory, size, flags), "region");
        return opened;
    }

    region(region &&other) noexcept : native_(std::exchange(other.native_, nullptr))
    {
    }

    region &operator=(region &&other) noexcept
    {
        region taken(std::move(other));
        std::swap(native_, taken.native_);
        return *this;
    }

    ~region()
    {
        close();
    }

    /*
     * No thread may use what it has given, meanwhile or later. What this process's threads hold is
     * treated as after their death. A second call does nothing.
     */
    void close() noexcept
    {
        if (native_)
            lw_region_close(std::exchange(native_, nullptr));
    }

    lw_region *native_handle() const noexcept
    {
        return native_;
    }

    region_mutex mutex(std::string_view name)
    {
        return find<region_mutex>(lw_region_mutex_named, name);
    }

    region_recursive_mutex recursive_mutex(std::string_view name)
    {
        return find<region_recursive_mutex>(lw_region_rmutex_named, name);
    }

    region_rwtable rwtable(std::string_view name)
    {
        return find<region_rwtable>(lw_region_rwtable_named, name);
    }

    region_rwlock rwlock(std::string_view name)
    {
        return find<region_rwlock>(lw_region_rwlock_named, name);
    }

    region_once once(std::string_view name)
    {
        return find<region_once>(lw_region_once_named, name);
    }

    /* n: 1 to 252. Throws EEXIST also if there is another number of permits. */
    region_permits permits(std::string_view name, std::uint32_t n)
    {
        return find<region_permits>(lw_region_permits_named, name, n);
    }

    /* For these the numbers are what a new one begins with. A death corrects none of them. */
    lw::event &event(std::string_view name)
    {
        return find_words<lw::event>(lw_region_event_named, name);
    }

    lw::auto_reset_event &auto_reset_event(std::string_view name)
    {
        return find_words<lw::auto_reset_event>(lw_region_event_named, name);
    }

    lw::semaphore &semaphore(std::string_view name, std::uint32_t permits)
    {
        return find_words<lw::semaphore>(lw_region_sem_named, name, permits);
    }

    lw::counter &counter(std::string_view name, std::uint32_t value = 0)
    {
        return find_words<lw::counter>(lw_region_counter_named, name, value);
    }

    lw::wait_group &wait_group(std::string_view name)
    {
        return find_words<lw::wait_group>(lw_region_waitgroup_named, name);
    }

    lw::latch &latch(std::string_view name, std::uint32_t count)
    {
        return find_words<lw::latch>(lw_region_latch_named, name, count);
    }

    lw::barrier &barrier(std::string_view name, std::uint32_t parties)
    {
        return find_words<lw::barrier>(lw_region_barrier_named, name, parties);
    }

    /* Its waits take a region_guard, or a std::unique_lock of either of the region's mutexes. */
    lw::condition &condition(std::string_view name)
    {
        return find_words<lw::condition>(lw_region_cond_named, name);
    }

    /* So many bytes, zeros at first, at a multiple of 64. Throws EEXIST also if they are others. */
    void *bytes(std::string_view name, std::size_t size)
    {
        void *found = nullptr;
        detail::check(lw_region_bytes(opened(), detail::c_name(name).text, size, &found), "bytes");
        return found;
    }

    /* The same as an object: it begins as zeros, by no constructor. */
    template <class T> T &bytes(std::string_view name)
    {
        static_assert(std::is_trivially_copyable_v<T>, "processes share its bytes alone");
        static_assert(alignof(T) <= 64, "bytes are at a multiple of 64");
        return *static_cast<T *>(bytes(name, sizeof(T)));
    }

    /* Names the calling thread, for others to see. Throws EINVAL if it has more than 31 bytes. */
    void name_thread(std::string_view name)
    {
        detail::check(lw_region_name_thread(opened(), detail::c_name(name).text), "name_thread");
    }

    /* Removes a name. Throws ENOENT if there is none, and EBUSY if it is in use. */
    void remove(std::string_view name)
    {
        detail::check(lw_region_remove(opened(), detail::c_name(name).text), "remove");
    }

    /* What is known of a name, or nothing if there is none. It may be outdated. */
    std::optional<lw_region_info> describe(std::string_view name) const
    {
        lw_region_info info = {};
        const int error = lw_region_describe(opened(), detail::c_name(name).text, &info);
        if (error == ENOENT)
            return std::nullopt;
        detail::check(error, "describe");
        return info;
    }

    /* The same of all names. */
    std::vector<lw_region_info> list() const
    {
        return all<lw_region_info>(
            [this](auto *cursor, auto *info) { return lw_region_next(opened(), cursor, info); });
    }

    /* The threads that hold what has this name; none if there is no such name. */
    std::vector<lw_region_holder> holders(std::string_view name) const
    {
        const detail::c_name named(name);
        return all<lw_region_holder>([&](auto *cursor, auto *holder) {
            return lw_region_next_holder(opened(), named.text, cursor, holder);
        });
    }

    /* The threads of a cycle, each of which waits for what the next one holds, or none. */
    std::vector<lw_region_link> deadlock() const
    {
        std::vector<lw_region_link> links;
        std::uint32_t found = 8;
        do {
            links.resize(found);
            const int error = lw_region_deadlock(opened(), links.data(),
                                                 static_cast<std::uint32_t>(links.size()), &found);
            detail::check(error == ENOENT ? 0 : error, "deadlock");
        } while (found > links.size());
        links.resize(found);
        return links;
    }

  private:
    lw_region *native_ = nullptr;
};

} // namespace lw

#endif
