/*
 * faults.c: what may go wrong outside of a program, for those it is linked into. A look-up of the
 * host name "hangs" takes 20 s; with LW_CLOCK set, the wall clock jumps by days at each look; and
 * once the file LW_SLEPT exists, the machine has slept for an hour.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    int (*original)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&original = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node && strcmp(node, "hangs") == 0)
        sleep(20);
    return original(node, service, hints, found);
}

static time_t jump(void)
{
    static _Thread_local unsigned looks;
    enum { DAY = 24 * 60 * 60 };
    return getenv("LW_CLOCK") ? (looks++ % 7 - 3) * 10 * DAY : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int error = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += jump();
    const char *slept = getenv("LW_SLEPT");
    if (clock == CLOCK_BOOTTIME && slept && access(slept, F_OK) == 0)
        now->tv_sec += 60 * 60;
    return error;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    *now = (struct timeval){.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}
