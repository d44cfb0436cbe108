/*
 * word.h: the only code that touches shared memory.
 *
 * A word is 32 bits, 4-byte aligned, zero when unused. The algorithms in src/core reach it only
 * through the functions below. So the very same sources run on hardware (this file), under the
 * explorer (verify/explorer/lockword/core/word.h) and under Relacy
 * (verify/relacy/lockword/core/word.h): the file that comes first on the include path is used. In
 * JavaScript and WebAssembly every order is sequentially consistent, but for lw_unordered in
 * JavaScript.
 */
#ifndef LOCKWORD_CORE_WORD_H
#define LOCKWORD_CORE_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include <lockword/compiler.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t lw_word;

/*
 * The memory order of an operation. A compare-and-swap that fails is always relaxed: its value only
 * guides the next attempt. A loop that looks at other words in between loads with acquire instead.
 *
 * lw_unordered is lw_relaxed natively. In JavaScript it is a plain access, which costs an engine
 * far less than one by Atomics. An engine may use one such load for many turns of a loop, so the
 * value may be outdated for any time. It is for what only the holder of a lock changes, and for a
 * first guess at what a compare-and-swap will find. If the guess alone decides that there is none,
 * a caller that polls could wait for ever.
 */
enum {
    lw_unordered = __ATOMIC_RELAXED,
    lw_relaxed = __ATOMIC_RELAXED,
    lw_acquire = __ATOMIC_ACQUIRE,
    lw_release = __ATOMIC_RELEASE,
    lw_acq_rel = __ATOMIC_ACQ_REL,
};

/* Orders must be constants where they reach the compiler's builtins, even without optimization. */
#define LW_INLINE static inline __attribute__((always_inline))

LW_INLINE uint32_t lw_load(const lw_word *word, int order)
{
    return __atomic_load_n(word, order);
}

LW_INLINE void lw_store(lw_word *word, uint32_t value, int order)
{
    __atomic_store_n(word, value, order);
}

/*
 * If *word holds `expected`, stores `desired`. Returns the value that it found, as
 * Atomics.compareExchange does. Never fails spuriously.
 */
LW_INLINE uint32_t lw_cas(lw_word *word, uint32_t expected, uint32_t desired, int order)
{
    uint32_t found = expected;
    if (__atomic_compare_exchange_n(word, &found, desired, false, order, lw_relaxed))
        return expected;
    /* With this, a caller's comparison becomes a branch on the instruction's flags. */
    if (found == expected)
        __builtin_unreachable();
    return found;
}

/*
 * Announces a change of the word: its cache line is fetched for writing. A load that came first
 * would fetch it for reading, and the change would fetch it again.
 */
LW_INLINE void lw_will_change(const lw_word *word)
{
    LW_PREFETCH_FOR_WRITE(word);
}

/*
 * Wakes up to n agents asleep on this address and returns how many it woke. Never reads or writes
 * the word: it may be called on memory that has been freed since the caller's last atomic operation
 * on it.
 */
uint32_t lw_notify(lw_word *word, uint32_t n);

/*
 * The same for event loops that wait at this address, and for agents of both kinds. In an engine
 * all agents queue in one place, and the three functions do the same. Natively threads sleep in the
 * kernel, and event loops queue in the parking lot (src/loop/lot.h).
 */
uint32_t lw_notify_async(lw_word *word, uint32_t n);
uint32_t lw_notify_both(lw_word *word, uint32_t n);

#define LW_ALL UINT32_MAX

#ifdef __cplusplus
}
#endif

#endif
