/* C11's plain mutex; glibc's is its POSIX mutex behind one more call. */
#include <threads.h>

#define PEER_SYMBOL bench_mtx
#define PEER_NAME "C11 mtx"
#define PEER_CONTENDS true

typedef mtx_t peer_mutex;

static inline void peer_init(peer_mutex *mutex)
{
    mtx_init(mutex, mtx_plain);
}

static inline void peer_destroy(peer_mutex *mutex)
{
    mtx_destroy(mutex);
}

static inline void peer_lock(peer_mutex *mutex)
{
    mtx_lock(mutex);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    mtx_unlock(mutex);
}

#include "peer.h"
