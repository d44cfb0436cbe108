/* Windows' slim reader-writer lock, taken for writing. */
#include <windows.h>

#define PEER_SYMBOL bench_srwlock
#define PEER_NAME "SRWLOCK"
#define PEER_CONTENDS true

typedef SRWLOCK peer_mutex;

#define peer_init InitializeSRWLock
#define peer_destroy peer_leave
#define peer_lock AcquireSRWLockExclusive
#define peer_unlock ReleaseSRWLockExclusive

#include "peer.h"
