/* The C library's POSIX mutex, default attributes. */
#include <pthread.h>

#define PEER_SYMBOL bench_pthread
#define PEER_NAME "pthread_mutex"
#define PEER_CONTENDS true

typedef pthread_mutex_t peer_mutex;

static inline void peer_init(peer_mutex *mutex)
{
    pthread_mutex_init(mutex, 0);
}

static inline void peer_destroy(peer_mutex *mutex)
{
    pthread_mutex_destroy(mutex);
}

static inline void peer_lock(peer_mutex *mutex)
{
    pthread_mutex_lock(mutex);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    pthread_mutex_unlock(mutex);
}

#include "peer.h"
