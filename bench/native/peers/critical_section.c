/* Windows' recursive mutex. Its holder is known, as with lockword's. */
#include <windows.h>

#define PEER_SYMBOL bench_critical_section
#define PEER_NAME "CRITICAL_SECTION"
#define PEER_CONTENDS true

typedef CRITICAL_SECTION peer_mutex;

static inline void peer_init(peer_mutex *mutex)
{
    InitializeCriticalSection(mutex);
}

static inline void peer_destroy(peer_mutex *mutex)
{
    DeleteCriticalSection(mutex);
}

static inline void peer_lock(peer_mutex *mutex)
{
    EnterCriticalSection(mutex);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    LeaveCriticalSection(mutex);
}

#include "peer.h"
