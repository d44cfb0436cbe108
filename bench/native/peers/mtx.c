/* C11's plain mutex; glibc's is its POSIX mutex behind one more call. */
#include <threads.h>

#define PEER_SYMBOL bench_mtx
#define PEER_NAME "C11 mtx"
#define PEER_CONTENDS true

typedef mtx_t peer_mutex;

#define peer_init(mutex) mtx_init(mutex, mtx_plain)
#define peer_destroy mtx_destroy
#define peer_lock mtx_lock
#define peer_unlock mtx_unlock

#include "peer.h"
