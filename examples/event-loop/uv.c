/*
 * uv: the server of epoll.c on libuv, which polls the loop's descriptor by a uv_poll_t.
 *
 *     cc examples/event-loop/uv.c examples/event-loop/table.c -llockword -luv -pthread
 */
#define _GNU_SOURCE
#include "table.h"

#include <unistd.h>

#include <uv.h>

#include <lockword/loop.h>

static lw_loop locks;
static lw_request request; /* the client asks for one thing at a time */
static uv_poll_t locks_poll, socket_poll;
static uv_timer_t timer;
static int socket_fd;
static unsigned char key;

static void on_locks(uv_poll_t *handle, int status, int events)
{
    (void)handle, (void)status, (void)events;
    lw_loop_run(&locks);
}

static void on_timer(uv_timer_t *handle)
{
    (void)handle;
    tick();
}

static void answer(lw_request *ended, int result, void *context)
{
    (void)ended, (void)context;
    if (result != 0)
        return;
    const long count = visit(key);
    lw_mutex_unlock(&table.lock);
    if (write(socket_fd, &count, sizeof count) < 0)
        return;
}

static void on_socket(uv_poll_t *handle, int status, int events)
{
    (void)status, (void)events;
    if (read(socket_fd, &key, 1) == 1)
        lw_mutex_lock_async(&table.lock, &request, &locks, LW_FOREVER, answer, NULL);
    else
        uv_stop(handle->loop); /* the client has closed its end */
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    socket_fd = start();
    if (lw_loop_init(&locks) != 0 || socket_fd < 0)
        return 2;
    uv_poll_init(loop, &locks_poll, lw_loop_fd(&locks));
    uv_poll_start(&locks_poll, UV_READABLE, on_locks);
    uv_poll_init(loop, &socket_poll, socket_fd);
    uv_poll_start(&socket_poll, UV_READABLE, on_socket);
    uv_timer_init(loop, &timer);
    uv_timer_start(&timer, on_timer, 1, 1);
    uv_run(loop, UV_RUN_DEFAULT);

    lw_loop_destroy(&locks);
    return finish();
}
