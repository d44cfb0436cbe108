/*
 * epoll [--blocking]: a server on epoll, whose table a pool of threads uses, too. The loop waits
 * for the mutex without blocking; with --blocking, it blocks, and all its events with it.
 *
 *     cc examples/event-loop/epoll.c examples/event-loop/table.c -llockword -pthread
 */
#define _GNU_SOURCE
#include "table.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <lockword/loop.h>

static int socket_fd, timer_fd;
static unsigned char key;

static void answer(lw_request *request, int result, void *context)
{
    (void)request, (void)context;
    if (result != 0)
        return;
    const long count = visit(key);
    lw_mutex_unlock(&table.lock);
    if (write(socket_fd, &count, sizeof count) < 0)
        return;
}

int main(int argc, char **argv)
{
    const bool blocks = argc > 1 && strcmp(argv[1], "--blocking") == 0;
    lw_loop loop;
    lw_request request; /* the client asks for one thing at a time */
    socket_fd = start();
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (lw_loop_init(&loop) != 0 || socket_fd < 0 || timer_fd < 0 || epoll_fd < 0)
        return 2;
    const struct timespec ms = {.tv_nsec = 1000000};
    timerfd_settime(timer_fd, 0, &(struct itimerspec){.it_interval = ms, .it_value = ms}, NULL);

    const int fds[] = {socket_fd, timer_fd, lw_loop_fd(&loop)};
    for (int i = 0; i < 3; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[i], &event);
    }

    struct epoll_event event;
    while (epoll_wait(epoll_fd, &event, 1, -1) == 1) {
        uint64_t expirations;
        if (event.data.fd == timer_fd) {
            if (read(timer_fd, &expirations, sizeof expirations) > 0)
                tick();
        } else if (event.data.fd != socket_fd) {
            lw_loop_run(&loop); /* calls `answer` */
        } else if (read(socket_fd, &key, 1) != 1) {
            break; /* the client has closed its end */
        } else if (blocks) {
            answer(&request, lw_mutex_lock(&table.lock), NULL);
        } else {
            lw_mutex_lock_async(&table.lock, &request, &loop, LW_FOREVER, answer, NULL);
        }
    }
    lw_loop_destroy(&loop);
    return finish();
}
