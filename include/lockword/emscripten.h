/*
 * emscripten.h: the lock, semaphore and condition variable of Emscripten's Wasm Workers, under the
 * same names, made of lockword's.
 *
 *     #include <lockword/emscripten.h>                   // instead of <emscripten/wasm_worker.h>
 *
 *     static emscripten_lock_t lock = EMSCRIPTEN_LOCK_T_STATIC_INITIALIZER;
 *
 *     if (emscripten_lock_wait_acquire(&lock, 5000000))  // in a worker, 5 ms at most
 *         emscripten_lock_release(&lock);
 *     // anywhere: calls entered() later, from the event loop
 *     emscripten_lock_async_acquire(&lock, entered, user_data, 5.0);
 *
 * A program has to change only its include. It gets deadlines that are kept, asynchronous and
 * blocking waiters that do not starve each other, and the same locks in JavaScript. An
 * emscripten_lock_t is an lw_mutex and a Mutex, an emscripten_semaphore_t is an lw_sem and a
 * Semaphore, and an emscripten_condvar_t is an lw_cond and a Condition, at the same address: for
 * lw_mutex_lock, write `(lw_mutex *)&lock`. Under emcc the rest of <emscripten/wasm_worker.h> stays
 * available; under plain clang there is only what this file declares.
 *
 * The asynchronous functions, and those that report misuse, are JavaScript: `imports` of
 * 'lockword/emscripten' for an instance of plain WebAssembly, `--js-library` under emcc
 * (docs/building.md).
 *
 * Differences to Emscripten's types. Each is a volatile number of 64 bits, a semaphore of 128, not
 * of 32. As there, zeroed memory is an unused one, and
 * `lock = EMSCRIPTEN_LOCK_T_STATIC_INITIALIZER` and `*lock = 0` make one, if no worker uses it. A
 * lock's number is 0 while the lock is free and no worker waits, and means nothing otherwise. A
 * semaphore's number is how many permits it has, until a call first waits for permits; after that
 * only its low 28 bits are. A program that passes the address of one of these as a uint32_t *, or
 * uses an atomic operation on 4 bytes, must be changed: the compiler warns of the pointer.
 *
 * A lock has an owner: the worker that acquired it, in whatever way. A release of a lock that
 * another worker holds, or that is free, throws an OwnershipError in JavaScript, and changes
 * nothing; Emscripten lets any worker release any lock. Where one worker acquires and another
 * releases, use a semaphore of 1. A worker that waits without a limit for a lock that it holds gets
 * a DeadlockError, where Emscripten's sleeps or spins for ever; with a limit it is refused at once.
 * The holder may call the asynchronous function, which waits for the release.
 *
 * A semaphore counts to 2^28 - 1. A release of more than fits, a negative number of permits, and a
 * wait for more than there can be throw a RangeError and change nothing. A wait for a condition
 * variable without holding the lock throws an OwnershipError and changes nothing.
 *
 * A timeout limits the whole call, however many spurious wake-ups it has, and never ends early.
 *
 * The functions that wait need a thread that may block. A page's main thread may not: the engine
 * traps. The busyspin, async and try functions work there.
 */
#ifndef LOCKWORD_EMSCRIPTEN_H
#define LOCKWORD_EMSCRIPTEN_H

#if defined __EMSCRIPTEN__ && __has_include(<emscripten/wasm_worker.h>)
#define LW_HAS_WASM_WORKERS
/* These headers declare the names below, before the names get another meaning. */
#include <emscripten/wasm_worker.h>
#if __has_include(<emscripten/threading_primitives.h>)
#include <emscripten/threading_primitives.h>
#endif
#undef EMSCRIPTEN_LOCK_T_STATIC_INITIALIZER
#undef EMSCRIPTEN_SEMAPHORE_T_STATIC_INITIALIZER
#undef EMSCRIPTEN_CONDVAR_T_STATIC_INITIALIZER
#else
#include <stdbool.h>
typedef bool EM_BOOL;
#define EM_TRUE true
#define EM_FALSE false
typedef int ATOMICS_WAIT_RESULT_T;
typedef int ATOMICS_WAIT_TOKEN_T;
typedef int EMSCRIPTEN_RESULT;
#define ATOMICS_WAIT_OK 0
#define ATOMICS_WAIT_NOT_EQUAL 1
#define ATOMICS_WAIT_TIMED_OUT 2
#define ATOMICS_WAIT_DURATION_INFINITE -1ll
#define EMSCRIPTEN_NOTIFY_ALL_WAITERS (-1ll)
#define EMSCRIPTEN_WAIT_ASYNC_INFINITY __builtin_inf()
#define EMSCRIPTEN_IS_VALID_WAIT_TOKEN(token) ((token) <= 0)
#define EMSCRIPTEN_RESULT_SUCCESS 0
#define EMSCRIPTEN_RESULT_INVALID_PARAM -5
#endif

#include <lockword/api.h>
#include <lockword/cond.h>
#include <lockword/mutex.h>
#include <lockword/sem.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The words of an lw_mutex or an lw_cond as one number, since programs assign to
 * Emscripten's types, and compare them. As with those, the address has to be a multiple of 4.
 */
typedef volatile uint64_t __attribute__((__may_alias__, __aligned__(4))) lw_emscripten_words;

/* The same for an lw_sem, which has three words. */
__extension__ typedef volatile unsigned __int128 __attribute__((__may_alias__, __aligned__(4)))
lw_emscripten_semaphore;

/*
 * Casts such words to a primitive. The cast goes by way of an integer, since no other cast drops
 * `volatile` in C and in C++.
 */
#ifdef __cplusplus
#define LW_EMSCRIPTEN_AS(type, words) reinterpret_cast<type *>(reinterpret_cast<uintptr_t>(words))
#else
#define LW_EMSCRIPTEN_AS(type, words) ((type *)(uintptr_t)(words))
#endif

#undef emscripten_lock_t
#undef emscripten_semaphore_t
#undef emscripten_condvar_t
#define emscripten_lock_t lw_emscripten_words
#define emscripten_semaphore_t lw_emscripten_semaphore
#define emscripten_condvar_t lw_emscripten_words
#define EMSCRIPTEN_LOCK_T_STATIC_INITIALIZER 0
#define EMSCRIPTEN_SEMAPHORE_T_STATIC_INITIALIZER(num) LW_CAST(uint32_t, num)
#define EMSCRIPTEN_CONDVAR_T_STATIC_INITIALIZER 0

/*
 * The callbacks of asynchronous waits. `result` is ATOMICS_WAIT_OK or ATOMICS_WAIT_TIMED_OUT. The
 * meaning of `value` depends on the function: see below.
 */
typedef void (*lw_emscripten_acquired)(volatile void *address, uint32_t value,
                                       ATOMICS_WAIT_RESULT_T result, void *user_data);
typedef void (*lw_emscripten_signaled)(int32_t *address, uint32_t value,
                                       ATOMICS_WAIT_RESULT_T result, void *user_data);

/*
 * Implemented in JavaScript (js/src/emscripten.js), and imported from env under emcc, from lockword
 * elsewhere.
 */
#if defined(__wasm__) && !defined(__EMSCRIPTEN__)
#define LW_IMPORTED(name) __attribute__((import_module("lockword"), import_name(#name)))
#else
#define LW_IMPORTED(name)
#endif

/* The lock: as lw_mutex (lockword/mutex.h) in all that is not said here. */

/* Makes it a free lock. No worker may be using it. */
LW_API void lw_emscripten_lock_init(emscripten_lock_t *lock)
{
    *lock = EMSCRIPTEN_LOCK_T_STATIC_INITIALIZER;
}

/* Acquires the lock if it is free, and returns whether it did. Never waits. */
LW_API bool lw_emscripten_lock_try_acquire(emscripten_lock_t *lock)
{
    return lw_mutex_trylock(LW_EMSCRIPTEN_AS(lw_mutex, lock)) == 0;
}

/*
 * Acquires the lock, sleeping this many ns at most, not at all if negative. Returns whether it did.
 */
LW_API bool lw_emscripten_lock_wait_acquire(emscripten_lock_t *lock, int64_t max_wait_ns)
{
    return lw_emscripten_lock_try_acquire(lock) ||
           lw_mutex_lock_until(LW_EMSCRIPTEN_AS(lw_mutex, lock), lw_after_ns(max_wait_ns)) == 0;
}

/* The same, without a limit. */
void lw_emscripten_lock_waitinf_acquire(emscripten_lock_t *lock);

/*
 * Acquires the lock, trying again and again for this many ms at most, without ever giving up the
 * CPU.
 */
bool lw_emscripten_lock_busyspin_wait_acquire(emscripten_lock_t *lock, double max_wait_ms);
void lw_emscripten_lock_busyspin_waitinf_acquire(emscripten_lock_t *lock);

/*
 * Acquires the lock asynchronously. It begins when the caller has returned to its event loop, and
 * calls back from there, when the lock is held (OK) or after this many ms (TIMED_OUT). The value is
 * 0 if the lock is held, (uint32_t)-1 if not.
 */
LW_IMPORTED(lw_emscripten_lock_async_acquire)
void lw_emscripten_lock_async_acquire(emscripten_lock_t *lock, lw_emscripten_acquired finished,
                                      void *user_data, double max_wait_ms);

/* Releases the lock, which this worker holds. */
void lw_emscripten_lock_release(emscripten_lock_t *lock);

/* The semaphore: as lw_sem (lockword/sem.h) in all that is not said here. */

/* Makes it a semaphore of this many permits. No worker may be using it. */
void lw_emscripten_semaphore_init(emscripten_semaphore_t *sem, int num);

/*
 * Acquires `num` permits if there are as many. Returns their index, that is, how many are left, or
 * -1. Never waits.
 */
int lw_emscripten_semaphore_try_acquire(emscripten_semaphore_t *sem, int num);

/* The same, sleeping this many ns at most; or without a limit. */
int lw_emscripten_semaphore_wait_acquire(emscripten_semaphore_t *sem, int num, int64_t max_wait_ns);
int lw_emscripten_semaphore_waitinf_acquire(emscripten_semaphore_t *sem, int num);

/* The same asynchronously, as the lock is acquired. The value is the index, or (uint32_t)-1. */
LW_IMPORTED(lw_emscripten_semaphore_async_acquire)
void lw_emscripten_semaphore_async_acquire(emscripten_semaphore_t *sem, int num,
                                           lw_emscripten_acquired finished, void *user_data,
                                           double max_wait_ms);

/* Adds `num` permits. Returns how many there were before. */
uint32_t lw_emscripten_semaphore_release(emscripten_semaphore_t *sem, int num);

/* The condition variable: as lw_cond (lockword/cond.h) in all that is not said here. */

/* Makes it an unused condition variable. */
LW_API void lw_emscripten_condvar_init(emscripten_condvar_t *condvar)
{
    *condvar = EMSCRIPTEN_CONDVAR_T_STATIC_INITIALIZER;
}

/*
 * Gives up the lock, sleeps until signaled, and acquires the lock again. The wake-up may be
 * spurious: check what you wait for.
 */
void lw_emscripten_condvar_waitinf(emscripten_condvar_t *condvar, emscripten_lock_t *lock);

/*
 * The same, for this many ns at most in all, for ever if negative. Returns true if it was signaled;
 * the lock is held then. Returns false if the time was up; the lock is not held then. A signal that
 * came too late to acquire the lock in time is passed on to another waiter.
 */
bool lw_emscripten_condvar_wait(emscripten_condvar_t *condvar, emscripten_lock_t *lock,
                                int64_t max_wait_ns);

/*
 * Gives up the lock at once, and calls back from the event loop when signaled (OK), or after this
 * many ms (TIMED_OUT), without the lock. The value is how often the condition variable had been
 * signaled. Returns a token for emscripten_atomic_cancel_wait_async.
 */
LW_IMPORTED(lw_emscripten_condvar_wait_async)
ATOMICS_WAIT_TOKEN_T lw_emscripten_condvar_wait_async(emscripten_condvar_t *condvar,
                                                      emscripten_lock_t *lock,
                                                      lw_emscripten_signaled finished,
                                                      void *user_data, double max_wait_ms);

/* Wakes this many waiters, in the order in which they came; EMSCRIPTEN_NOTIFY_ALL_WAITERS: all. */
LW_API void lw_emscripten_condvar_signal(emscripten_condvar_t *condvar, int64_t num_waiters)
{
    const uint32_t n =
        num_waiters < 0 || num_waiters > UINT32_MAX ? LW_ALL : LW_CAST(uint32_t, num_waiters);
    lw_cond_notify(LW_EMSCRIPTEN_AS(lw_cond, condvar), n);
}

/*
 * Cancels a wait of this worker for a condition variable. Returns whether its callback was still to
 * come: now it will not be called.
 */
LW_IMPORTED(lw_emscripten_cancel)
bool lw_emscripten_cancel(ATOMICS_WAIT_TOKEN_T token);

/* The same for all waits at this address, or anywhere if NULL. Returns how many it cancelled. */
LW_IMPORTED(lw_emscripten_cancel_all)
int lw_emscripten_cancel_all(const void *address);

/*
 * Emscripten's own functions for that see only waits by emscripten_atomic_wait_async. Under emcc
 * these functions see both kinds.
 */
LW_API EMSCRIPTEN_RESULT lw_emscripten_atomic_cancel_wait_async(ATOMICS_WAIT_TOKEN_T token)
{
    if (lw_emscripten_cancel(token))
        return EMSCRIPTEN_RESULT_SUCCESS;
#ifdef LW_HAS_WASM_WORKERS
    return emscripten_atomic_cancel_wait_async(token);
#else
    return EMSCRIPTEN_RESULT_INVALID_PARAM;
#endif
}

LW_API int lw_emscripten_atomic_cancel_all_wait_asyncs(void)
{
#ifdef LW_HAS_WASM_WORKERS
    return lw_emscripten_cancel_all(LW_NULL) + emscripten_atomic_cancel_all_wait_asyncs();
#else
    return lw_emscripten_cancel_all(LW_NULL);
#endif
}

LW_API int lw_emscripten_atomic_cancel_all_wait_asyncs_at_address(int32_t *address)
{
#ifdef LW_HAS_WASM_WORKERS
    return lw_emscripten_cancel_all(address) +
           emscripten_atomic_cancel_all_wait_asyncs_at_address(address);
#else
    return lw_emscripten_cancel_all(address);
#endif
}

/*
 * These are macros, since under emcc functions of these names exist, and take locks of another
 * type.
 */
#define emscripten_lock_init lw_emscripten_lock_init
#define emscripten_lock_try_acquire lw_emscripten_lock_try_acquire
#define emscripten_lock_wait_acquire lw_emscripten_lock_wait_acquire
#define emscripten_lock_waitinf_acquire lw_emscripten_lock_waitinf_acquire
#define emscripten_lock_busyspin_wait_acquire lw_emscripten_lock_busyspin_wait_acquire
#define emscripten_lock_busyspin_waitinf_acquire lw_emscripten_lock_busyspin_waitinf_acquire
#define emscripten_lock_async_acquire lw_emscripten_lock_async_acquire
#define emscripten_lock_release lw_emscripten_lock_release
#define emscripten_semaphore_init lw_emscripten_semaphore_init
#define emscripten_semaphore_try_acquire lw_emscripten_semaphore_try_acquire
#define emscripten_semaphore_wait_acquire lw_emscripten_semaphore_wait_acquire
#define emscripten_semaphore_waitinf_acquire lw_emscripten_semaphore_waitinf_acquire
#define emscripten_semaphore_async_acquire lw_emscripten_semaphore_async_acquire
#define emscripten_semaphore_release lw_emscripten_semaphore_release
#define emscripten_condvar_init lw_emscripten_condvar_init
#define emscripten_condvar_waitinf lw_emscripten_condvar_waitinf
#define emscripten_condvar_wait lw_emscripten_condvar_wait
#define emscripten_condvar_wait_async lw_emscripten_condvar_wait_async
#define emscripten_condvar_signal lw_emscripten_condvar_signal
#define emscripten_atomic_cancel_wait_async lw_emscripten_atomic_cancel_wait_async
#define emscripten_atomic_cancel_all_wait_asyncs lw_emscripten_atomic_cancel_all_wait_asyncs
#define emscripten_atomic_cancel_all_wait_asyncs_at_address                                        \
    lw_emscripten_atomic_cancel_all_wait_asyncs_at_address

#ifdef __cplusplus
}
#endif

#endif
