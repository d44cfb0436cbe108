/*
 * check-region.h: what the tests of regions share: a region, and processes, which are forked
 * children that open it, too.
 */
#ifndef LOCKWORD_TEST_CHECK_REGION_H
#define LOCKWORD_TEST_CHECK_REGION_H

#include "check.h"

#include <lockword/region.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The file system that regions are meant for, and a file there that no other run has. */
static const char *folder = "/dev/shm";
static char path[96];

/* The test's region, and its mutex "lock"; of a child, its own. */
static lw_region *region;
static lw_region_mutex mutex;

static inline void choose_path(void)
{
    snprintf(path, sizeof path, "%s/lockword-test-%d", folder, getpid());
    unlink(path);
}

/* Returns 0 or an errno code. */
static inline int open_region(void)
{
    const int error = lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0);
    return error ? error : lw_region_mutex_named(region, "lock", &mutex);
}

static inline void begin(void)
{
    choose_path();
    assert_int_equal(open_region(), 0);
}

static inline void end(void)
{
    assert_int_equal(lw_region_close(region), 0);
    unlink(path);
}

#define REGION_TEST(name) TEST_BETWEEN(begin, end, name)

static inline struct lw_region_info told(const char *name)
{
    struct lw_region_info info;
    assert_int_equal(lw_region_describe(region, name, &info), 0);
    return info;
}

static inline void await_waiters(const char *name, uint32_t n)
{
    while (told(name).waiters < n)
        sleep_ms(1);
}

/* A child, which talks with its parent by bytes. */
struct process {
    pid_t pid; /* 0: the caller is the child */
    int says, hears;
};

static int to_parent, from_parent;

static inline struct process fork_child(void)
{
    int up[2], down[2];
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    const pid_t pid = fork();
    to_parent = up[1];
    from_parent = down[0];
    close(pid ? up[1] : up[0]);
    close(pid ? down[0] : down[1]);
    if (pid == 0)
        alarm(60);
    return (struct process){pid, up[0], down[1]};
}

/* In a child. */

static inline void say(char what)
{
    if (write(to_parent, &what, 1) != 1)
        _exit(101);
}

static inline void await_word(void)
{
    char what;
    if (read(from_parent, &what, 1) != 1)
        _exit(0);
}

static inline _Noreturn void stay(void)
{
    for (;;)
        pause();
}

static inline void hold(void)
{
    say((char)lw_region_mutex_lock(&mutex));
    stay();
}

/* In the parent. The child opens the region by itself, and says '.' when the body has returned. */

static inline struct process spawn(void (*body)(void))
{
    const struct process process = fork_child();
    if (process.pid)
        return process;
    if (open_region() != 0)
        _exit(100);
    body();
    say('.');
    _exit(0);
}

static inline char hear(const struct process *process)
{
    char what = 0;
    assert_int_equal(read(process->says, &what, 1), 1);
    return what;
}

static inline void tell(const struct process *process)
{
    assert_int_equal(write(process->hears, "!", 1), 1);
}

/* Returns the exit status, or minus the signal. */
static inline int end_of(const struct process *process)
{
    int status;
    assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
    close(process->says);
    close(process->hears);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static inline void kill_it(const struct process *process)
{
    kill(process->pid, SIGKILL);
    assert_int_equal(end_of(process), -SIGKILL);
}

/* A process that holds the mutex. */
static inline struct process spawn_holder(void)
{
    const struct process holder = spawn(hold);
    assert_int_equal(hear(&holder), 0);
    return holder;
}

/* One that held it, and was killed. */
static inline void leave_a_dead_holder(void)
{
    const struct process holder = spawn_holder();
    kill_it(&holder);
}

#endif
