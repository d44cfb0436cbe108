/* The floor: one compare-and-swap and one exchange, the least that a lock's two ends can cost. */
#include "raw.h"

#define PEER_SYMBOL bench_raw
#define PEER_NAME "raw cas+exchange"

static inline void peer_unlock(peer_mutex *mutex)
{
    if (__builtin_expect(__atomic_exchange_n(mutex, 0, __ATOMIC_RELEASE) != 1, 0))
        __builtin_trap();
}

#include "peer.h"
