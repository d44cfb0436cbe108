/* OpenBSD's, as its manuals futex(2) and getthrid(2) describe it, on Linux's. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FUTEX_WAIT 1
#define FUTEX_WAKE 2
#define FUTEX_PRIVATE_FLAG 128
#define LINUX_FUTEX_WAIT_PRIVATE 128
#define LINUX_FUTEX_WAKE_PRIVATE 129

static inline int futex(volatile uint32_t *word, int operation, int value,
                        const struct timespec *time, volatile uint32_t *other)
{
    if (other != NULL)
        abort();
    switch (operation) {
    case FUTEX_WAIT | FUTEX_PRIVATE_FLAG:
        return (int)syscall(SYS_futex, word, LINUX_FUTEX_WAIT_PRIVATE, value, time, NULL, 0);
    case FUTEX_WAKE | FUTEX_PRIVATE_FLAG:
        return (int)syscall(SYS_futex, word, LINUX_FUTEX_WAKE_PRIVATE, value, NULL, NULL, 0);
    default:
        abort();
    }
}

static inline pid_t getthrid(void)
{
    return (pid_t)syscall(SYS_gettid);
}
