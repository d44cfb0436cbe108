/* lockword's own mutex, with its fast paths inlined as in any user's code. */
#include <lockword/mutex.h>

#ifndef PEER_NAME
#define PEER_NAME "lockword"
#endif
#define PEER_SYMBOL bench_lockword
#define PEER_CONTENDS true

typedef lw_mutex peer_mutex;

static inline void peer_init(peer_mutex *mutex)
{
    *mutex = (lw_mutex)LW_MUTEX_INIT;
}

static inline void peer_destroy(peer_mutex *mutex)
{
    (void)mutex;
}

static inline void peer_lock(peer_mutex *mutex)
{
    lw_mutex_lock(mutex);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    lw_mutex_unlock(mutex);
}

#include "peer.h"
