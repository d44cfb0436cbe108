/*
 * What macOS has in <time.h> and <pthread.h>, as its manuals describe it; and which version this
 * is: before 14.4 if OLD_MACOS is 1.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define __builtin_available(...) (!OLD_MACOS)
#define CLOCK_UPTIME_RAW 8

static inline uint64_t clock_gettime_nsec_np(int clock)
{
    struct timespec now;
    clock_gettime(clock == CLOCK_UPTIME_RAW ? CLOCK_MONOTONIC : clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline int pthread_threadid_np(pthread_t *thread, uint64_t *id)
{
    *id = (uint64_t)syscall(SYS_gettid) << 32; /* more than an agent's id has room for */
    return thread ? -1 : 0;
}

static inline int pthread_cond_timedwait_relative_np(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                                     const struct timespec *time)
{
    const uint64_t ns = (uint64_t)time->tv_nsec + clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
    const struct timespec until = {time->tv_sec + (time_t)(ns / 1000000000),
                                   (long)(ns % 1000000000)};
    return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until);
}
