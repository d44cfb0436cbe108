/* raw.h: what the floors have in common. They are no locks: no thread could wait. */
#include <stdbool.h>
#include <stdint.h>

#define PEER_CONTENDS false

typedef uint32_t peer_mutex;

#define peer_init(mutex) (*(mutex) = 0)
#define peer_destroy peer_leave

/* A value that is not expected is a bug of the benchmark; to look at it belongs to the cost. */
static inline bool raw_cas(peer_mutex *mutex, uint32_t from, uint32_t to, int order)
{
    return __atomic_compare_exchange_n(mutex, &from, to, false, order, __ATOMIC_RELAXED);
}

static inline void peer_lock(peer_mutex *mutex)
{
    if (__builtin_expect(!raw_cas(mutex, 0, 1, __ATOMIC_ACQUIRE), 0))
        __builtin_trap();
}
