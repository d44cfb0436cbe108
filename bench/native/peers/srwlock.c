/* Windows' slim reader-writer lock, taken for writing. */
#include <windows.h>

#define PEER_SYMBOL bench_srwlock
#define PEER_NAME "SRWLOCK"
#define PEER_CONTENDS true

typedef SRWLOCK peer_mutex;

static inline void peer_init(peer_mutex *mutex)
{
    InitializeSRWLock(mutex);
}

static inline void peer_destroy(peer_mutex *mutex)
{
    (void)mutex;
}

static inline void peer_lock(peer_mutex *mutex)
{
    AcquireSRWLockExclusive(mutex);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    ReleaseSRWLockExclusive(mutex);
}

#include "peer.h"
