/* asleep.cc: what threads of the peers in C and C++ wait for, as a table; rust/src/asleep.rs has
 * Rust's. */
#include <pthread.h>
#include <semaphore.h>

#include <functional>
#include <new>

#include <lockword/lockword.h>
#ifdef BENCH_HAS_ABSL
#include "absl/synchronization/mutex.h"
#endif

#ifdef _WIN32
#include <windows.h>
#endif

#include "bench.h"

#ifdef BENCH_HAS_NSYNC
/* In C++, nsync's headers are those of another library of that project. This is the one that the
 * mutex's benchmark measures. */
extern "C" {
struct nsync_mu {
    void *words[2];
};
struct nsync_cv {
    void *words[2];
};
void nsync_mu_lock(nsync_mu *);
void nsync_mu_unlock(nsync_mu *);
void nsync_mu_rlock(nsync_mu *);
void nsync_mu_runlock(nsync_mu *);
void nsync_cv_wait(nsync_cv *, nsync_mu *);
void nsync_cv_signal(nsync_cv *);
}
#endif

namespace
{

using section_type = bool (*)(void *);

template <typename T> void zeroed(T *)
{
}

template <typename T> T *at(void *object)
{
    static_assert(sizeof(T) <= BENCH_OBJECT_SIZE, "an object fits");
    return static_cast<T *>(object);
}

/* Takes and gives back a lock that another thread holds in another way: reads behind a writer. */
template <bench_block block, typename T, auto hold, auto release, auto take, auto give,
          auto init = zeroed<T>>
constexpr bench_wait behind(const char *peer)
{
    return {
        block,
        peer,
        [](void *object, int) {
            init(at<T>(object));
            std::invoke(hold, at<T>(object));
        },
        [](void *object, section_type section, void *argument) {
            std::invoke(take, at<T>(object));
            if (section(argument))
                std::invoke(give, at<T>(object));
        },
        [](void *object) { std::invoke(release, at<T>(object)); },
    };
}

/* The same in the same way. */
template <bench_block block, typename T, auto take, auto give, auto init = zeroed<T>>
constexpr bench_wait lock(const char *peer)
{
    return behind<block, T, take, give, take, give, init>(peer);
}

template <typename M, typename C> struct waited {
    M mutex;
    C cond;
    int permits;
};

template <typename M, typename C, auto lock, auto unlock, auto notify_one>
void give_permit(void *object)
{
    waited<M, C> *all = at<waited<M, C>>(object);
    std::invoke(lock, &all->mutex);
    all->permits++;
    std::invoke(unlock, &all->mutex);
    std::invoke(notify_one, &all->cond);
}

/* A permit that is handed on under a mutex, by a notify for one waiter. */
template <typename M, typename C, auto lock, auto unlock, auto wait, auto notify_one,
          auto init = zeroed<waited<M, C>>>
constexpr bench_wait condition(const char *peer)
{
    using T = waited<M, C>;
    return {
        BENCH_AT_CONDITION,
        peer,
        [](void *object, int) { init(at<T>(object)); },
        [](void *object, section_type section, void *argument) {
            T *all = at<T>(object);
            std::invoke(lock, &all->mutex);
            while (all->permits == 0)
                std::invoke(wait, &all->cond, &all->mutex);
            all->permits--;
            std::invoke(unlock, &all->mutex);
            if (section(argument))
                give_permit<M, C, lock, unlock, notify_one>(object);
        },
        give_permit<M, C, lock, unlock, notify_one>,
    };
}

/* `prepare` knows how many will wait; then they wait until `release`. */
template <bench_block block, typename T, auto prepare, auto wait, auto release>
constexpr bench_wait until(const char *peer)
{
    return {
        block,
        peer,
        [](void *object, int waiters) { prepare(at<T>(object), static_cast<unsigned>(waiters)); },
        [](void *object, section_type section, void *argument) {
            wait(at<T>(object));
            section(argument);
        },
        [](void *object) { release(at<T>(object)); },
    };
}

template <typename T> void nothing(T *, unsigned)
{
}

/* lockword's, where a call takes more than the object. */
template <uint32_t n> void permits(lw_sem *sem)
{
    lw_sem_release(sem, n);
}

template <uint32_t n> void acquire(lw_sem *sem)
{
    lw_sem_acquire(sem, n);
}

void fail(lw_once *once)
{
    lw_once_finish(once, false);
}

void one_more(lw_barrier *barrier, unsigned waiters)
{
    lw_barrier_init(barrier, waiters + 1);
}

void one_task(lw_waitgroup *group, unsigned)
{
    lw_waitgroup_add(group, 1);
}

void await_one(lw_counter *counter)
{
    lw_counter_wait_at_least(counter, 1, LW_FOREVER, nullptr);
}

void add_one(lw_counter *counter)
{
    lw_counter_add(counter, 1, nullptr);
}

/* The C library's. */
void plain(pthread_mutex_t *mutex)
{
    pthread_mutex_init(mutex, nullptr);
}

void recursive(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

template <unsigned n> void posix_permits(sem_t *sem)
{
    sem_init(sem, 0, n);
}

void posix_rwlock(pthread_rwlock_t *rwlock)
{
    pthread_rwlock_init(rwlock, nullptr);
}

void posix_waited(waited<pthread_mutex_t, pthread_cond_t> *all)
{
    pthread_mutex_init(&all->mutex, nullptr);
    pthread_cond_init(&all->cond, nullptr);
}

void posix_one_more(pthread_barrier_t *barrier, unsigned waiters)
{
    pthread_barrier_init(barrier, nullptr, waiters + 1);
}

#ifdef BENCH_HAS_ABSL
template <typename T> void made(T *object)
{
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    new (object) T{};
}
#endif

#ifdef _WIN32
/* The address of a function of a DLL is no constant. */
void srw_write(SRWLOCK *lock)
{
    AcquireSRWLockExclusive(lock);
}

void srw_end_write(SRWLOCK *lock)
{
    ReleaseSRWLockExclusive(lock);
}

void srw_read(SRWLOCK *lock)
{
    AcquireSRWLockShared(lock);
}

void srw_end_read(SRWLOCK *lock)
{
    ReleaseSRWLockShared(lock);
}

/* Never closed: a process has room for millions. */
template <int n> void windows_permits(HANDLE *sem)
{
    *sem = CreateSemaphoreA(nullptr, n, n, nullptr);
}

void windows_acquire(HANDLE *sem)
{
    WaitForSingleObject(*sem, INFINITE);
}

void windows_release(HANDLE *sem)
{
    ReleaseSemaphore(*sem, 1, nullptr);
}
#endif

} // namespace

BENCH_WAITS bench_asleep[];
const bench_wait bench_asleep[] = {
    lock<BENCH_AT_MUTEX, lw_mutex, lw_mutex_lock, lw_mutex_unlock>("lockword"),
    lock<BENCH_AT_RECURSIVE, lw_rmutex, lw_rmutex_lock, lw_rmutex_unlock>("lockword"),
    condition<lw_mutex, lw_cond, lw_mutex_lock, lw_mutex_unlock, lw_cond_wait, lw_cond_notify_one>(
        "lockword"),
    lock<BENCH_AT_PERMIT, lw_sem, acquire<1>, permits<1>, permits<1>>("lockword"),
    behind<BENCH_AT_READ, lw_rwlock, lw_rwlock_wrlock, lw_rwlock_unlock, lw_rwlock_rdlock,
           lw_rwlock_unlock>("lockword"),
    lock<BENCH_AT_WRITE, lw_rwlock, lw_rwlock_wrlock, lw_rwlock_unlock>("lockword"),
    until<BENCH_AT_BARRIER, lw_barrier, one_more, lw_barrier_wait, lw_barrier_wait>("lockword"),
    until<BENCH_AT_GROUP, lw_waitgroup, one_task, lw_waitgroup_wait, lw_waitgroup_done>("lockword"),
    until<BENCH_AT_EVENT, lw_event, nothing<lw_event>, lw_event_wait, lw_event_set>("lockword"),
    lock<BENCH_AT_ONCE, lw_once, lw_once_begin, fail>("lockword"),
    until<BENCH_AT_COUNTER, lw_counter, nothing<lw_counter>, await_one, add_one>("lockword"),
    lock<BENCH_AT_ONE_OF_THREE, lw_sem, acquire<1>, permits<1>, permits<3>>("lockword"),
    lock<BENCH_AT_ALL_OF_THREE, lw_sem, acquire<3>, permits<3>, permits<3>>("lockword"),

    lock<BENCH_AT_MUTEX, pthread_mutex_t, pthread_mutex_lock, pthread_mutex_unlock, plain>(
        "pthread_mutex"),
    lock<BENCH_AT_RECURSIVE, pthread_mutex_t, pthread_mutex_lock, pthread_mutex_unlock, recursive>(
        "pthread_mutex, recursive"),
    condition<pthread_mutex_t, pthread_cond_t, pthread_mutex_lock, pthread_mutex_unlock,
              pthread_cond_wait, pthread_cond_signal, posix_waited>("pthread_cond"),
    lock<BENCH_AT_PERMIT, sem_t, sem_wait, sem_post, posix_permits<1>>("sem_t"),
    behind<BENCH_AT_READ, pthread_rwlock_t, pthread_rwlock_wrlock, pthread_rwlock_unlock,
           pthread_rwlock_rdlock, pthread_rwlock_unlock, posix_rwlock>("pthread_rwlock"),
    lock<BENCH_AT_WRITE, pthread_rwlock_t, pthread_rwlock_wrlock, pthread_rwlock_unlock,
         posix_rwlock>("pthread_rwlock"),
    until<BENCH_AT_BARRIER, pthread_barrier_t, posix_one_more, pthread_barrier_wait,
          pthread_barrier_wait>("pthread_barrier"),
    lock<BENCH_AT_ONE_OF_THREE, sem_t, sem_wait, sem_post, posix_permits<3>>("sem_t"),

#ifdef _WIN32
    behind<BENCH_AT_READ, SRWLOCK, srw_write, srw_end_write, srw_read, srw_end_read>("SRWLOCK"),
    lock<BENCH_AT_WRITE, SRWLOCK, srw_write, srw_end_write>("SRWLOCK"),
    lock<BENCH_AT_PERMIT, HANDLE, windows_acquire, windows_release, windows_permits<1>>(
        "CreateSemaphore"),
    lock<BENCH_AT_ONE_OF_THREE, HANDLE, windows_acquire, windows_release, windows_permits<3>>(
        "CreateSemaphore"),
#endif

#ifdef BENCH_HAS_NSYNC
    lock<BENCH_AT_MUTEX, nsync_mu, nsync_mu_lock, nsync_mu_unlock>("nsync"),
    condition<nsync_mu, nsync_cv, nsync_mu_lock, nsync_mu_unlock, nsync_cv_wait, nsync_cv_signal>(
        "nsync"),
    behind<BENCH_AT_READ, nsync_mu, nsync_mu_lock, nsync_mu_unlock, nsync_mu_rlock,
           nsync_mu_runlock>("nsync"),
    lock<BENCH_AT_WRITE, nsync_mu, nsync_mu_lock, nsync_mu_unlock>("nsync"),
#endif

#ifdef BENCH_HAS_ABSL
    lock<BENCH_AT_MUTEX, absl::Mutex, &absl::Mutex::Lock, &absl::Mutex::Unlock, made<absl::Mutex>>(
        "absl"),
    condition<absl::Mutex, absl::CondVar, &absl::Mutex::Lock, &absl::Mutex::Unlock,
              &absl::CondVar::Wait, &absl::CondVar::Signal,
              made<waited<absl::Mutex, absl::CondVar>>>("absl"),
    behind<BENCH_AT_READ, absl::Mutex, &absl::Mutex::Lock, &absl::Mutex::Unlock,
           &absl::Mutex::ReaderLock, &absl::Mutex::ReaderUnlock, made<absl::Mutex>>("absl"),
    lock<BENCH_AT_WRITE, absl::Mutex, &absl::Mutex::Lock, &absl::Mutex::Unlock, made<absl::Mutex>>(
        "absl"),
#endif

    {BENCH_BLOCKS, nullptr, nullptr, nullptr, nullptr},
};
