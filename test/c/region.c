/* region.c: regions: opening, names, and mutexes whose holders die. Processes are forked children.
 */
#define _GNU_SOURCE
#include <lockword/region.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* A file that no other run of this test has, on the file system that regions are meant for. */
static const char *path(void)
{
    static char name[64];
    if (!name[0]) /* once, for the children are others */
        snprintf(name, sizeof name, "/dev/shm/lockword-test-%d", getpid());
    return name;
}

static lw_region *create(void)
{
    lw_region *region;
    unlink(path());
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 0), 0);
    return region;
}

static void destroy(lw_region *region)
{
    assert_int_equal(lw_region_close(region), 0);
    unlink(path());
}

static lw_region_mutex named(lw_region *region, const char *name)
{
    lw_region_mutex mutex;
    assert_int_equal(lw_region_mutex_named(region, name, &mutex), 0);
    return mutex;
}

/* A process that opens the region by itself, and says by a byte in `says` that it is ready. */
struct process {
    pid_t pid;
    int says;
};

static struct process fork_one(void (*body)(lw_region *region, int say))
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        lw_region *region;
        alarm(30);
        close(ends[0]);
        if (lw_region_open(&region, path(), 0, 0, 0) != 0)
            _exit(100);
        body(region, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    return (struct process){pid, ends[0]};
}

static char listen_to(const struct process *process)
{
    char said = 0;
    assert_int_equal(read(process->says, &said, 1), 1);
    return said;
}

/* The exit status, or minus the signal. */
static int end_of(const struct process *process)
{
    int status;
    assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
    close(process->says);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int kill_one(const struct process *process)
{
    kill(process->pid, SIGKILL);
    return end_of(process);
}

static void say(int end, char what)
{
    if (write(end, &what, 1) != 1)
        _exit(101);
}

static void hold(lw_region *region, int end)
{
    lw_region_mutex mutex;
    if (lw_region_mutex_named(region, "lock", &mutex) == 0)
        say(end, (char)lw_region_mutex_lock(&mutex));
    for (;;)
        pause();
}

TEST(a_path_that_has_no_region)
{
    lw_region *region;
    unlink(path());
    assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), ENOENT);
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 4096), EINVAL);
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, (size_t)1 << 33),
                     EINVAL);
    assert_int_equal(lw_region_open(&region, NULL, LW_REGION_CREATE, 0600, 0), EINVAL);
    assert_int_equal(lw_region_open(&region, "/dev/shm", 0, 0600, 0), EISDIR);
    assert_int_equal(lw_region_open(&region, "/dev/null", LW_REGION_ANY_OWNER, 0, 0), EINVAL);
    assert_int_equal(lw_region_open(&region, "/no/such/folder", LW_REGION_CREATE, 0600, 0), ENOENT);
    assert_int_equal(symlink("/dev/shm/elsewhere", path()), 0);
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 0), ELOOP);
    unlink(path());
}

TEST(creates_once)
{
    const mode_t mask = umask(0);
    lw_region *region = create();
    umask(mask);
    struct stat status;
    assert_int_equal(stat(path(), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    lw_region *again;
    const unsigned exclusive = LW_REGION_CREATE | LW_REGION_EXCLUSIVE;
    assert_int_equal(lw_region_open(&again, path(), exclusive, 0600, 0), EEXIST);
    assert_int_equal(lw_region_open(&again, path(), LW_REGION_CREATE, 0600, 0), 0);
    /* Two handles of one process are two processes to the region. */
    lw_region_mutex mutex = named(region, "lock");
    lw_region_mutex same = named(again, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_trylock(&same), EBUSY);
    assert_int_equal(lw_region_mutex_unlock(&same), EPERM);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_region_close(again), 0);
    destroy(region);
}

static void overwrite(size_t offset, uint32_t word)
{
    const int fd = open(path(), O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &word, sizeof word, (off_t)offset), sizeof word);
    close(fd);
}

TEST(foreign_and_damaged_files)
{
    lw_region *region = create();
    assert_int_equal(lw_region_close(region), 0);
    overwrite(8, 77); /* the version */
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 0), EPROTO);
    overwrite(8, 1);
    overwrite(12, UINT32_MAX); /* the size */
    assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), EBADMSG);
    overwrite(12, 64);
    assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), EBADMSG);
    overwrite(0, 1); /* the magic */
    assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), EBADMSG);
    assert_int_equal(truncate(path(), 100), 0);
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 0), EBADMSG);
    unlink(path());
    if (geteuid() == 0) {
        region = create();
        assert_int_equal(lw_region_close(region), 0);
        assert_int_equal(chown(path(), 12345, 12345), 0);
        assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), EPERM);
        assert_int_equal(lw_region_open(&region, path(), LW_REGION_ANY_OWNER, 0, 0), 0);
        destroy(region);
    }
}

TEST(a_full_disk_and_a_read_only_one)
{
    char folder[] = "/tmp/lockword-region-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char mount[256];
    char file[256];
    snprintf(file, sizeof file, "%s/region", folder);
    snprintf(mount, sizeof mount, "mount -t tmpfs -o size=64k none %s 2>/dev/null", folder);
    if (geteuid() != 0 || system(mount) != 0) {
        rmdir(folder);
        skip();
    }
    lw_region *region;
    assert_int_equal(lw_region_open(&region, file, LW_REGION_CREATE, 0600, 0), ENOSPC);
    assert_int_equal(access(file, F_OK), -1);
    snprintf(mount, sizeof mount, "mount -o remount,ro,size=64k %s", folder);
    assert_int_equal(system(mount), 0);
    assert_int_equal(lw_region_open(&region, file, LW_REGION_CREATE, 0600, 0), EROFS);
    snprintf(mount, sizeof mount, "umount %s", folder);
    assert_int_equal(system(mount), 0);
    rmdir(folder);
}

TEST(a_memfd_and_mapped_memory)
{
    lw_region *region;
    const int fd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(lw_region_open_fd(&region, fd, 0, 0), EBADMSG);
    assert_int_equal(lw_region_open_fd(&region, fd, LW_REGION_CREATE, 1 << 20), 0);
    assert_int_equal(ftruncate(fd, 4096), -1);
    lw_region *again;
    assert_int_equal(lw_region_open_fd(&again, fd, LW_REGION_CREATE, 0), 0);
    lw_region_mutex mutex = named(region, "lock");
    lw_region_mutex same = named(again, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_trylock(&same), EBUSY);
    assert_int_equal(lw_region_close(again), 0);
    assert_int_equal(lw_region_close(region), 0);
    close(fd);

    const size_t size = 1 << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(lw_region_open_memory(&region, memory, size, 0), EBADMSG);
    assert_int_equal(lw_region_open_memory(&region, memory + 4, size - 4, LW_REGION_CREATE),
                     EINVAL);
    assert_int_equal(lw_region_open_memory(&region, memory, size, LW_REGION_CREATE), 0);
    mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), EDEADLK);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), EPERM);
    assert_int_equal(lw_region_close(region), 0);
    munmap(memory, size);
}

TEST(the_names)
{
    lw_region *region = create();
    lw_region_mutex mutex;
    char long_name[LW_REGION_NAME_MAX + 2];
    memset(long_name, 'x', sizeof long_name);
    long_name[LW_REGION_NAME_MAX + 1] = 0;
    assert_int_equal(lw_region_mutex_named(region, "", &mutex), EINVAL);
    assert_int_equal(lw_region_mutex_named(region, NULL, &mutex), EINVAL);
    assert_int_equal(lw_region_mutex_named(region, long_name, &mutex), ENAMETOOLONG);
    assert_int_equal(lw_region_mutex_named(region, long_name + 1, &mutex), 0);
    assert_int_equal(lw_region_remove(region, long_name + 1), 0);
    assert_int_equal(lw_region_remove(region, long_name + 1), ENOENT);

    int made = 0;
    int error;
    do {
        char name[16];
        snprintf(name, sizeof name, "%d", made);
        error = lw_region_mutex_named(region, name, &mutex);
        made += error == 0;
    } while (error == 0);
    assert_int_equal(error, ENOSPC);
    assert_int_equal(made, 2048);
    struct lw_region_info info;
    uint32_t cursor = 0;
    bool seen[2048] = {false};
    while (lw_region_next(region, &cursor, &info) == 0) {
        assert_false(seen[atoi(info.name)]);
        seen[atoi(info.name)] = true;
        made--;
    }
    assert_int_equal(made, 0);
    destroy(region);
}

TEST(removes_a_name)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_remove(region, "lock"), EBUSY);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_region_remove(region, "lock"), 0);
    struct lw_region_info info;
    assert_int_equal(lw_region_describe(region, "lock", &info), ENOENT);
    assert_int_equal(lw_region_mutex_lock(&mutex), EIDRM);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EIDRM);
    lw_region_mutex again = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), EIDRM);
    assert_int_equal(lw_region_mutex_lock(&again), 0);
    assert_int_equal(lw_region_mutex_unlock(&again), 0);
    destroy(region);
}

TEST(describes)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    struct lw_region_info info;
    assert_int_equal(lw_region_describe(region, "lock", &info), 0);
    assert_int_equal(info.holder_pid, 0);
    assert_int_equal(lw_region_name_thread(region, "the loader"), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    const struct process other = fork_one(hold);
    do {
        sleep_ms(5);
        assert_int_equal(lw_region_describe(region, "lock", &info), 0);
    } while (info.waiters == 0 || info.longest_ms == 0);
    assert_string_equal(info.name, "lock");
    assert_int_equal(info.fate, 0);
    assert_int_equal(info.holder_pid, getpid());
    assert_int_equal(info.holder_tid, gettid());
    assert_string_equal(info.holder, "the loader");
    assert_int_equal(info.waiters, 1);
    assert_int_equal(info.acquisitions, 1);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(listen_to(&other), 0);
    assert_int_equal(lw_region_describe(region, "lock", &info), 0);
    assert_int_equal(info.holder_pid, other.pid);
    assert_int_equal(info.acquisitions, 2);
    assert_int_equal(info.contended, 1);
    assert_int_equal(kill_one(&other), -SIGKILL);
    assert_int_equal(lw_region_mutex_lock(&mutex), EOWNERDEAD);
    assert_int_equal(lw_region_describe(region, "lock", &info), 0);
    assert_int_equal(info.recoveries, 1);
    assert_int_equal(info.fate, EOWNERDEAD);
    destroy(region);
}

TEST(a_holder_that_is_killed)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    for (int round = 0; round < 10; round++) {
        const struct process holder = fork_one(hold);
        assert_int_equal(listen_to(&holder), 0);
        assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(20)), ETIMEDOUT);
        assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
        assert_int_equal(kill_one(&holder), -SIGKILL);
        assert_int_equal(lw_region_mutex_lock(&mutex), EOWNERDEAD);
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
        assert_int_equal(lw_region_mutex_lock(&mutex), 0);
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    }
    destroy(region);
}

static int lock_it(struct call *call)
{
    return lw_region_mutex_lock_cancel(call->on, call->deadline, call->cancel);
}

static int unlock_it(struct call *call)
{
    return lw_region_mutex_unlock(call->on);
}

TEST(a_waiter_of_a_killed_holder)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    const struct process holder = fork_one(hold);
    assert_int_equal(listen_to(&holder), 0);
    struct call call = calling(lock_it, &mutex);
    start_call(&call);
    await_sleep(&call.helper);
    assert_int_equal(kill_one(&holder), -SIGKILL);
    assert_int_equal(end_call(&call), EOWNERDEAD);
    /* The thread has exited, and could not unlock. */
    assert_int_equal(lw_region_mutex_lock(&mutex), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    destroy(region);
}

TEST(a_thread_that_exits_with_a_lock)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(by_another(lock_it, &mutex), 0);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(5000)), EOWNERDEAD);
    assert_int_equal(by_another(unlock_it, &mutex), EPERM);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    destroy(region);
}

TEST(a_wait_is_cancelled)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    lw_cancel cancel = LW_CANCEL_INIT;
    struct call call = calling(lock_it, &mutex);
    call.cancel = &cancel;
    start_call(&call);
    await_sleep(&call.helper);
    lw_cancel_fire(&cancel);
    assert_int_equal(end_call(&call), ECANCELED);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    destroy(region);
}

TEST(abandons_and_resets)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_abandon(&mutex), EPERM);
    assert_int_equal(lw_region_mutex_reset(&mutex), EALREADY);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    struct call calls[3];
    start_calls(calls, COUNT_OF(calls), calling(lock_it, &mutex));
    await_sleeps(calls, COUNT_OF(calls));
    assert_int_equal(lw_region_mutex_abandon(&mutex), 0);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        assert_int_equal(end_call(&calls[i]), ENOTRECOVERABLE);
    assert_int_equal(lw_region_mutex_lock(&mutex), ENOTRECOVERABLE);
    assert_int_equal(lw_region_mutex_trylock(&mutex), ENOTRECOVERABLE);
    assert_int_equal(lw_region_mutex_reset(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    destroy(region);
}

static void exec_while_holding(lw_region *region, int end)
{
    lw_region_mutex mutex;
    if (lw_region_mutex_named(region, "lock", &mutex) == 0)
        say(end, (char)lw_region_mutex_lock(&mutex));
    execlp("sleep", "sleep", "20", (char *)NULL);
}

TEST(a_holder_that_executes_another_program)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    const struct process holder = fork_one(exec_while_holding);
    assert_int_equal(listen_to(&holder), 0);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
    assert_int_equal(kill_one(&holder), -SIGKILL);
    destroy(region);
}

TEST(a_holder_that_is_stopped)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    const struct process holder = fork_one(hold);
    assert_int_equal(listen_to(&holder), 0);
    kill(holder.pid, SIGSTOP);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(1500)), ETIMEDOUT);
    assert_int_equal(kill_one(&holder), -SIGKILL);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
    destroy(region);
}

TEST(a_forked_child_holds_nothing)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        if (lw_region_mutex_unlock(&mutex) != EPERM || lw_region_mutex_trylock(&mutex) != EBUSY)
            _exit(1);
        say(ends[1], 1);
        if (lw_region_mutex_lock(&mutex) != 0)
            _exit(2);
        say(ends[1], 2);
        for (;;)
            pause();
    }
    close(ends[1]);
    const struct process child = {pid, ends[0]};
    assert_int_equal(listen_to(&child), 1);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(listen_to(&child), 2);
    assert_int_equal(kill_one(&child), -SIGKILL);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
    destroy(region);
}

TEST(all_die_and_the_next_to_open_is_told)
{
    lw_region *region = create();
    assert_int_equal(lw_region_close(region), 0);
    const struct process holder = fork_one(hold);
    assert_int_equal(listen_to(&holder), 0);
    assert_int_equal(kill_one(&holder), -SIGKILL);
    assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), 0);
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_trylock(&mutex), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    destroy(region);
}

/* Where the file has the slot of the only name: docs/layout.md. */
static size_t slot_of_only_name(void)
{
    enum { FIRST = 274432, BYTES = 128 };
    const int fd = open(path(), O_RDONLY);
    uint32_t type = 0;
    size_t at = FIRST;
    while (pread(fd, &type, sizeof type, (off_t)at) == sizeof type && type == 0)
        at += BYTES;
    close(fd);
    assert_int_not_equal(type, 0);
    return at;
}

static int name_it(struct call *call)
{
    lw_region_mutex mutex;
    return lw_region_mutex_named(call->on, "lock", &mutex);
}

/* It held the slot's mutex, and had not stored the type yet. */
TEST(a_process_that_dies_while_it_makes_a_name)
{
    lw_region *region = create();
    const struct process maker = fork_one(hold);
    assert_int_equal(listen_to(&maker), 0);
    overwrite(slot_of_only_name(), 0);
    assert_int_equal(kill_one(&maker), -SIGKILL);
    assert_int_equal(by_another(name_it, region), 0);
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    destroy(region);
}

/* A damaged file says that an agent that does not exist holds a mutex. */
TEST(a_holder_that_never_was)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    overwrite(slot_of_only_name() + 64, 77 << 12 | 99);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(9000)), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    overwrite(32, 77 << 12 | 99); /* the directory's */
    lw_region_mutex other = named(region, "other");
    assert_int_equal(lw_region_mutex_lock(&other), 0);
    assert_int_equal(lw_region_mutex_unlock(&other), 0);
    destroy(region);
}

/* The machine was switched off: the tokens are those of live threads, but of another boot. */
TEST(the_machine_has_booted_again)
{
    lw_region *region = create();
    assert_int_equal(lw_region_close(region), 0);
    const struct process holder = fork_one(hold);
    assert_int_equal(listen_to(&holder), 0);
    overwrite(4096 + 4, 1234567); /* the boot of the first process row */
    assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), 0);
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_trylock(&mutex), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(kill_one(&holder), -SIGKILL);
    destroy(region);
}

static int open_it(lw_region **region, int fd)
{
    return lw_region_open_fd(region, fd, 0, 0);
}

TEST(more_processes_than_rows)
{
    enum { IN_ONE = 64 };
    const int fd = memfd_create("region", MFD_CLOEXEC);
    lw_region *regions[IN_ONE];
    for (int i = 0; i < IN_ONE; i++)
        assert_int_equal(lw_region_open_fd(&regions[i], fd, LW_REGION_CREATE, 0), 0);
    lw_region *one_more;
    assert_int_equal(open_it(&one_more, fd), EMFILE);
    const pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < IN_ONE; i++)
            lw_region_close(regions[i]); /* gives back nothing: they are the parent's */
        int error = 0;
        for (int i = 0; i < IN_ONE; i++)
            error |= open_it(&regions[i], fd);
        if (error)
            _exit(1);
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            for (int i = 0; i < IN_ONE; i++)
                lw_region_close(regions[i]);
            _exit(open_it(&regions[0], fd) == EAGAIN ? 0 : 2);
        }
        int status;
        _exit(waitpid(grandchild, &status, 0) == grandchild ? WEXITSTATUS(status) : 3);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (int i = 0; i < IN_ONE; i++)
        assert_int_equal(lw_region_close(regions[i]), 0);
    close(fd);
}

RUN_TESTS("region")
