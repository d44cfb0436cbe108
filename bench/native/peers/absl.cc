/* Abseil's mutex without its deadlock detection, which costs several times the lock itself. */
#include <new>

#include "absl/synchronization/mutex.h"

#define PEER_SYMBOL bench_absl
#define PEER_NAME "absl::Mutex"
#define PEER_CONTENDS true

typedef absl::Mutex peer_mutex;

static inline void peer_init(peer_mutex *mutex)
{
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    new (mutex) absl::Mutex;
}

#define peer_destroy(mutex) (mutex)->~Mutex()
#define peer_lock(mutex) (mutex)->Lock()
#define peer_unlock(mutex) (mutex)->Unlock()

#include "peer.h"
