/* nsync's reader-writer mutex, taken for writing. */
#include <nsync.h>

#define PEER_SYMBOL bench_nsync
#define PEER_NAME "nsync"
#define PEER_CONTENDS true

typedef nsync_mu peer_mutex;

static inline void peer_init(peer_mutex *mutex)
{
    nsync_mu_init(mutex);
}

static inline void peer_destroy(peer_mutex *mutex)
{
    (void)mutex;
}

static inline void peer_lock(peer_mutex *mutex)
{
    nsync_mu_lock(mutex);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    nsync_mu_unlock(mutex);
}

#include "peer.h"
