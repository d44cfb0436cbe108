/* lockword's own mutex, with its fast paths inlined as in any user's code. */
#include <lockword/mutex.h>

#ifndef PEER_NAME
#define PEER_NAME "lockword"
#endif
#define PEER_SYMBOL bench_lockword
#define PEER_CONTENDS true

typedef lw_mutex peer_mutex;

#define peer_init(mutex) (*(mutex) = (lw_mutex)LW_MUTEX_INIT)
#define peer_destroy peer_leave
#define peer_lock lw_mutex_lock
#define peer_unlock lw_mutex_unlock

#include "peer.h"
