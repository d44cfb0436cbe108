/* The floor: one compare-and-swap and one exchange, the least that a lock's two ends can cost. It is no lock: nobody could wait. */
#include <stdbool.h>
#include <stdint.h>

#define PEER_SYMBOL bench_raw
#define PEER_NAME "raw cas+exchange"
#define PEER_CONTENDS false

typedef uint32_t peer_mutex;

static inline void peer_init(peer_mutex *mutex)
{
    *mutex = 0;
}

static inline void peer_destroy(peer_mutex *mutex)
{
    (void)mutex;
}

static inline void peer_lock(peer_mutex *mutex)
{
    uint32_t expected = 0;
    if (__builtin_expect(!__atomic_compare_exchange_n(mutex, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 0))
        __builtin_trap();
}

static inline void peer_unlock(peer_mutex *mutex)
{
    if (__builtin_expect(__atomic_exchange_n(mutex, 0, __ATOMIC_RELEASE) != 1, 0))
        __builtin_trap();
}

#include "peer.h"
