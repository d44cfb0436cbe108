/* The C library's POSIX mutex, default attributes. */
#include <pthread.h>

#define PEER_SYMBOL bench_pthread
#define PEER_NAME "pthread_mutex"
#define PEER_CONTENDS true

typedef pthread_mutex_t peer_mutex;

#define peer_init(mutex) pthread_mutex_init(mutex, 0)
#define peer_destroy pthread_mutex_destroy
#define peer_lock pthread_mutex_lock
#define peer_unlock pthread_mutex_unlock

#include "peer.h"
