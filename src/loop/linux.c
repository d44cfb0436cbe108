/*
 * linux.c: the alarm: an epoll of an eventfd, which is rung, and a timerfd. libc's read, write and
 * close are cancellation points: a thread that is cancelled (pthread_cancel) would end as it rings,
 * and the loop would wait for it for ever. So read and write are called by `syscall`, where they
 * are none; and while files are closed, cancellation is off.
 */
#define _GNU_SOURCE
#include "../wait/platform.h"
#include "lot.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* What lies at each place of `fds`. */
enum {
    BOTH,
    BELL,
    TIMER,
};

static int add(const int *fds, int which)
{
    struct epoll_event event = {.events = EPOLLIN};
    return fds[which] < 0 ? -1 : epoll_ctl(fds[BOTH], EPOLL_CTL_ADD, fds[which], &event);
}

int lw_alarm_open(int *fds)
{
    const int saved = errno;
    fds[BOTH] = epoll_create1(EPOLL_CLOEXEC);
    fds[BELL] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fds[TIMER] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int error = 0;
    if (fds[BOTH] < 0 || add(fds, BELL) != 0 || add(fds, TIMER) != 0) {
        error = errno;
        lw_alarm_close(fds);
    }
    errno = saved;
    return error;
}

void lw_alarm_close(const int *fds)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    for (int i = BOTH; i <= TIMER; i++) {
        if (fds[i] >= 0)
            close(fds[i]); /* not by `syscall`: ThreadSanitizer has to see it */
    }
    pthread_setcancelstate(before, NULL);
}

/* A full counter is readable, too: no error matters. */
void lw_alarm_ring(const int *fds)
{
    const int saved = errno;
    const uint64_t one = 1;
    const long written = syscall(SYS_write, fds[BELL], &one, sizeof one);
    (void)written;
    errno = saved;
}

void lw_alarm_hush(const int *fds)
{
    const int saved = errno;
    uint64_t rings;
    const long n = syscall(SYS_read, fds[BELL], &rings, sizeof rings);
    (void)n;
    errno = saved;
}

/*
 * To set it also makes it unreadable until then. A time of 0 would be none. Where a time_t has 32
 * bits, it ends after 68 years: then the loop looks, and sets the rest.
 */
void lw_alarm_set(const int *fds, lw_deadline deadline)
{
    struct itimerspec time = {0};
    if (deadline != LW_FOREVER) {
        const lw_deadline at = deadline > 0 ? deadline : 1;
        const lw_deadline s = at / NS_PER_S;
        time.it_value = (struct timespec){
            .tv_sec = sizeof(time_t) == 4 && s > INT32_MAX ? (time_t)INT32_MAX : (time_t)s,
            .tv_nsec = (long)(at % NS_PER_S)};
    }
    timerfd_settime(fds[TIMER], TFD_TIMER_ABSTIME, &time, NULL);
}
