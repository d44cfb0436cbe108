/* FreeBSD's, as its manual _umtx_op(2) describes it, on Linux's futex. */
#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UMTX_OP_WAIT_UINT_PRIVATE 15
#define UMTX_OP_WAKE_PRIVATE 16
#define UMTX_ABSTIME 0x01

struct _umtx_time {
    struct timespec _timeout;
    uint32_t _flags;
    uint32_t _clockid;
};

static inline int _umtx_op(void *word, int operation, unsigned long value, void *size, void *time)
{
    if (operation == UMTX_OP_WAKE_PRIVATE)
        return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, value, NULL, NULL, 0) < 0 ? -1 : 0;
    const struct _umtx_time *until = time;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    /* A time_t of 32 bits, as on i386, would not hold a far time. */
    if (until && until->_timeout.tv_sec > now.tv_sec + 100001)
        abort();
    if (operation != UMTX_OP_WAIT_UINT_PRIVATE || (uintptr_t)size != (until ? sizeof *until : 0) ||
        (until && (until->_flags != UMTX_ABSTIME || until->_clockid != CLOCK_MONOTONIC)))
        abort();
    return (int)syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value,
                        until ? &until->_timeout : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
}
