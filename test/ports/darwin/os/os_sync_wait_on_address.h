/* macOS's, as the comments of its header describe it, on Linux's futex. */
#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OS_SYNC_WAIT_ON_ADDRESS_NONE 0
#define OS_SYNC_WAKE_BY_ADDRESS_NONE 0

static inline int os_sync_wait_on_address_with_timeout(void *word, uint64_t value, size_t size,
                                                       uint32_t flags, uint32_t clock, uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    if (size != 4 || flags != 0 || clock != OS_CLOCK_MACH_ABSOLUTE_TIME || ns == 0)
        abort();
    return (int)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, (uint32_t)value, &time, NULL, 0);
}

static inline int os_sync_wake_by_address_any(void *word, size_t size, uint32_t flags)
{
    if (size != 4 || flags != 0)
        abort();
    return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) > 0 ? 0 : -1;
}
