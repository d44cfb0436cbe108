/* The floor of a lock that knows its owner: an unlock that can refuse a stranger has to compare
 * before it swaps. */
#include "raw.h"

#define PEER_SYMBOL bench_raw_owned
#define PEER_NAME "raw cas+cas"

static inline void peer_unlock(peer_mutex *mutex)
{
    if (__builtin_expect(!raw_cas(mutex, 1, 0, __ATOMIC_RELEASE), 0))
        __builtin_trap();
}

#include "peer.h"
