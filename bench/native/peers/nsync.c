/* nsync's reader-writer mutex, taken for writing. */
#include <nsync.h>

#define PEER_SYMBOL bench_nsync
#define PEER_NAME "nsync"
#define PEER_CONTENDS true

typedef nsync_mu peer_mutex;

#define peer_init nsync_mu_init
#define peer_destroy peer_leave
#define peer_lock nsync_mu_lock
#define peer_unlock nsync_mu_unlock

#include "peer.h"
