/* Windows' recursive mutex. Its holder is known, as with lockword's. */
#include <windows.h>

#define PEER_SYMBOL bench_critical_section
#define PEER_NAME "CRITICAL_SECTION"
#define PEER_CONTENDS true

typedef CRITICAL_SECTION peer_mutex;

#define peer_init InitializeCriticalSection
#define peer_destroy DeleteCriticalSection
#define peer_lock EnterCriticalSection
#define peer_unlock LeaveCriticalSection

#include "peer.h"
