/* region.c: regions: opening, names, and holders that die. Processes are forked children. */
#define _GNU_SOURCE
#include <lockword/any.h>
#include <lockword/region.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/wait/kernel.h"
#include "check.h"

/* The file system that regions are meant for. */
static const char *folder = "/dev/shm";

/* A file there that no other run of this test has. */
static const char *path(void)
{
    static char name[64];
    static pid_t pid;
    if (!pid) /* once, for the children are others */
        pid = getpid();
    snprintf(name, sizeof name, "%s/lockword-test-%d", folder, pid);
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

/*
 * The first test: no region was open in this process before. A process that cannot read the id of
 * the boot must not take the others for those of another boot.
 */
TEST(a_process_that_has_no_descriptor_left)
{
    enum { SIZE = 1 << 20 };
    void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        lw_region *region;
        alarm(30);
        if (lw_region_open_memory(&region, memory, SIZE, LW_REGION_CREATE) != 0)
            _exit(100);
        hold(region, ends[1]);
    }
    close(ends[1]);
    const struct process holder = {pid, ends[0]};
    assert_int_equal(listen_to(&holder), 0);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0);
    lw_region *region;
    assert_int_equal(lw_region_open_memory(&region, memory, SIZE, 0), EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(lw_region_open_memory(&region, memory, SIZE, 0), 0);
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
    assert_int_equal(kill_one(&holder), -SIGKILL);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
    assert_int_equal(lw_region_close(region), 0);
    munmap(memory, SIZE);
}

TEST(a_path_that_has_no_region)
{
    lw_region *region;
    unlink(path());
    assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), ENOENT);
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 4096), EINVAL);
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, SIZE_MAX), EINVAL);
    assert_int_equal(lw_region_open(&region, NULL, LW_REGION_CREATE, 0600, 0), EINVAL);
    assert_int_equal(lw_region_open(&region, "/dev/shm", 0, 0600, 0), EISDIR);
    assert_int_equal(lw_region_open(&region, "/dev/null", LW_REGION_ANY_OWNER, 0, 0), EINVAL);
    assert_int_equal(lw_region_open(&region, "/no/such/folder", LW_REGION_CREATE, 0600, 0), ENOENT);
    assert_int_equal(symlink("/dev/shm/elsewhere", path()), 0);
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 0), ELOOP);
    unlink(path());
}

/* How much of malloc's memory is in use, bytes; 0 where the C library does not tell. */
static size_t allocated(void)
{
#ifdef __GLIBC__
    return mallinfo2().uordblks;
#else
    return 0;
#endif
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

/* What a thread knows of a region goes with it. */
TEST(opens_and_closes_for_ever)
{
    size_t before = 0;
    for (int i = 0; i < 300; i++) {
        lw_region *region = create();
        assert_int_equal(lw_region_name_thread(region, "the test"), 0);
        destroy(region);
        if (i == 100)
            before = allocated();
    }
    assert_true(allocated() <= before + 1000);
}

TEST(foreign_and_damaged_files)
{
    lw_region *region = create();
    assert_int_equal(lw_region_close(region), 0);
    overwrite(8, 77); /* the version */
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 0), EPROTO);
    overwrite(8, 4);
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

/* Who may open it is said by the mode, less the umask, and by the caller's flags. */
TEST(a_region_of_another_user)
{
    if (geteuid() != 0)
        skip();
    lw_region *region;
    struct stat status;
    unlink(path());
    mode_t mask = umask(022);
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0666, 0), 0);
    assert_int_equal(stat(path(), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        lw_region *mine;
        if (setuid(12345) != 0)
            _exit(102);
        say(ends[1], (char)lw_region_open(&mine, path(), LW_REGION_ANY_OWNER, 0, 0));
        sleep_ms(50); /* until the other user may write */
        say(ends[1], (char)lw_region_open(&mine, path(), 0, 0, 0));
        if (lw_region_open(&mine, path(), LW_REGION_ANY_OWNER, 0, 0) != 0)
            _exit(103);
        hold(mine, ends[1]);
    }
    close(ends[1]);
    const struct process other = {pid, ends[0]};
    assert_int_equal(listen_to(&other), EACCES);
    assert_int_equal(chmod(path(), 0666), 0);
    assert_int_equal(listen_to(&other), EPERM);
    assert_int_equal(listen_to(&other), 0);
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
    assert_int_equal(kill_one(&other), -SIGKILL);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
    umask(mask);
    destroy(region);
}

TEST(a_file_that_was_opened_to_read)
{
    lw_region *region = create();
    const int fd = open(path(), O_RDONLY);
    lw_region *again;
    assert_int_equal(lw_region_open_fd(&again, fd, 0, 0), EACCES);
    assert_int_equal(lw_region_open_fd(&again, -1, 0, 0), EBADF);
    close(fd);
    destroy(region);
}

TEST(a_file_that_was_cut)
{
    lw_region *region = create();
    assert_int_equal(lw_region_close(region), 0);
    assert_int_equal(truncate(path(), 300000), 0);
    assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 0), EBADMSG);
    assert_int_equal(truncate(path(), 0), 0);
    assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), EBADMSG);
    unlink(path());
}

/* Where the tests are run, and in /tmp: ext4, overlayfs or whatever there is. */
TEST(other_file_systems)
{
    static const char *const others[] = {".", "/tmp"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        folder = others[i];
        lw_region *region = create();
        lw_region_mutex mutex = named(region, "lock");
        const struct process holder = fork_one(hold);
        assert_int_equal(listen_to(&holder), 0);
        assert_int_equal(kill_one(&holder), -SIGKILL);
        assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
        destroy(region);
    }
    folder = "/dev/shm";
}

/* Whenever that was, there is no region then, or a whole one. */
TEST(a_process_that_is_killed_while_it_makes_the_file)
{
    uint32_t seed = (uint32_t)getpid();
    int whole = 0;
    for (int i = 0; i < 200; i++) {
        unlink(path());
        const pid_t pid = fork();
        if (pid == 0) {
            lw_region *region;
            _exit(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, 0) != 0);
        }
        const int64_t end = now_ns() + next_random(&seed) % 600000;
        while (now_ns() < end)
            continue;
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        lw_region *region;
        const int error = lw_region_open(&region, path(), 0, 0, 0);
        assert_true(error == 0 || error == ENOENT);
        whole += error == 0;
        if (error)
            region = create();
        lw_region_mutex mutex = named(region, "lock");
        assert_int_equal(lw_region_mutex_lock(&mutex), 0);
        destroy(region);
    }
    printf("%d of 200 were whole\n", whole);
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

enum { SCATTERED = 200 };

static void name_scattered(lw_region *region, int i, lw_region_mutex *mutex)
{
    char name[16];
    snprintf(name, sizeof name, "lock %d", i);
    if (lw_region_mutex_named(region, name, mutex) != 0)
        _exit(102);
}

static void hold_scattered(lw_region *region, int end)
{
    lw_region_mutex mutex;
    for (int i = 0; i < SCATTERED; i++) {
        name_scattered(region, i, &mutex);
        lw_region_mutex_lock(&mutex);
    }
    say(end, 0);
    for (;;)
        pause();
}

/* A burial passes over what was never used, in parts of one slot, of two and of 32. */
TEST(a_holder_of_locks_everywhere_in_small_and_large_regions)
{
    const size_t sizes[] = {400 << 10, 1 << 20, 32 << 20};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        lw_region *region;
        unlink(path());
        assert_int_equal(lw_region_open(&region, path(), LW_REGION_CREATE, 0600, sizes[k]), 0);
        const struct process holder = fork_one(hold_scattered);
        assert_int_equal(listen_to(&holder), 0);
        assert_int_equal(kill_one(&holder), -SIGKILL);
        for (int i = 0; i < SCATTERED; i++) {
            lw_region_mutex mutex;
            name_scattered(region, i, &mutex);
            assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(5000)), EOWNERDEAD);
            assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
        }
        destroy(region);
    }
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
    start_sleeper(&call);
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
    start_sleeper(&call);
    lw_cancel_fire(&cancel);
    assert_int_equal(end_call(&call), ECANCELED);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    destroy(region);
}

TEST(leaves_what_a_death_has_left)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_leave(&mutex), EPERM);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_leave(&mutex), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_abandon(&mutex), 0);
    assert_int_equal(lw_region_mutex_reset(&mutex), 0);
    struct call call;
    start_calls(&call, 1, calling(lock_it, &mutex));
    await_sleeps(&call, 1);
    assert_int_equal(lw_region_mutex_leave(&mutex), 0);
    assert_int_equal(end_call(&call), EOWNERDEAD);
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
    end_calls_with(calls, COUNT_OF(calls), ENOTRECOVERABLE);
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

/*
 * The kernel wakes one keeper for a death. One that is stopped is not woken, and one that is killed
 * together with the holder wakes another one.
 */
TEST(keepers_that_are_stopped_or_killed)
{
    enum { OTHERS = 2 };
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    struct lw_region_info info = {.waiters = 0};
    int64_t longest = 0;
    for (int i = 0; i < 10; i++) {
        const struct process holder = fork_one(hold);
        listen_to(&holder);
        const struct process others[OTHERS] = {fork_one(hold), fork_one(hold)};
        do
            sleep_ms(1);
        while (lw_region_describe(region, "lock", &info) == 0 && info.waiters < OTHERS);
        for (int k = 0; k < OTHERS; k++) {
            kill(others[k].pid, i % 2 ? SIGSTOP : SIGKILL);
            if (i % 2)
                waitpid(others[k].pid, NULL, WUNTRACED);
        }
        const int64_t start = now_ns();
        kill(holder.pid, SIGKILL);
        assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
        if (now_ns() - start > longest)
            longest = now_ns() - start;
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
        for (int k = 0; k < OTHERS; k++)
            assert_int_equal(kill_one(&others[k]), -SIGKILL);
        end_of(&holder);
    }
    printf("the longest: %.1f ms\n", (double)longest / NS_PER_MS);
    assert_true(longest < 500 * (int64_t)NS_PER_MS);
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
    enum { FIRST = 331776, BYTES = 128 };
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

/* It had removed the name, and had not told those that know the mutex. */
TEST(a_process_that_dies_while_it_removes_a_name)
{
    lw_region *region = create();
    lw_region_mutex mutex = named(region, "lock");
    const struct process remover = fork_one(hold);
    assert_int_equal(listen_to(&remover), 0);
    overwrite(slot_of_only_name(), 2 << 8 | 0xff);
    assert_int_equal(kill_one(&remover), -SIGKILL);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EIDRM);
    lw_region_mutex again = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&again), 0);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY); /* the same place */
    assert_int_equal(lw_region_mutex_unlock(&again), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), EIDRM);
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

/* A damaged file, or what region.h says of PID namespaces. The keeper must not spin. */
TEST(a_process_that_looks_dead_to_itself)
{
    enum { MEMBERS = 16 / 4, TOKEN = 4096 / 4 };
    lw_region *region = create();
    const int fd = open(path(), O_RDWR);
    uint32_t *words = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    const uint32_t token = words[TOKEN];
    __atomic_store_n(&words[TOKEN], token | FUTEX_OWNER_DIED, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&words[MEMBERS], 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &words[MEMBERS], FUTEX_WAKE, 1000);
    struct rusage before;
    struct rusage after;
    getrusage(RUSAGE_SELF, &before);
    sleep_ms(200);
    getrusage(RUSAGE_SELF, &after);
    const int64_t us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
                       (after.ru_utime.tv_usec - before.ru_utime.tv_usec);
    assert_true(us < 20000);
    __atomic_store_n(&words[TOKEN], token, __ATOMIC_SEQ_CST);
    munmap(words, 8192);
    destroy(region);
}

TEST(more_regions_than_a_process_may_open)
{
    enum { REGIONS = 64 };
    lw_region *regions[REGIONS];
    lw_region *one_more;
    regions[0] = create();
    for (int i = 1; i < REGIONS; i++)
        assert_int_equal(lw_region_open(&regions[i], path(), 0, 0, 0), 0);
    assert_int_equal(lw_region_open(&one_more, path(), 0, 0, 0), EMFILE);
    for (int i = 1; i < REGIONS; i++)
        assert_int_equal(lw_region_close(regions[i]), 0);
    destroy(regions[0]);
}

enum { IN_ONE = 60, MANY = 6 }; /* openings in a process, and processes */

static void hold_many(int of, int end)
{
    for (int i = 0; i < IN_ONE; i++) {
        char name[16];
        lw_region *region;
        lw_region_mutex mutex;
        snprintf(name, sizeof name, "%d", of * IN_ONE + i);
        if (lw_region_open(&region, path(), 0, 0, 0) != 0 ||
            lw_region_mutex_named(region, name, &mutex) != 0 || lw_region_mutex_lock(&mutex) != 0)
            _exit(1);
    }
    say(end, 'h');
    for (;;)
        pause();
}

/*
 * More processes than a keeper can wait on, all but one of them killed at once. To the region each
 * opening counts as a process.
 */
TEST(many_processes)
{
    lw_region *region = create();
    struct process holders[MANY];
    for (int of = 0; of < MANY; of++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        holders[of] = (struct process){fork(), ends[0]};
        if (holders[of].pid == 0) {
            alarm(60);
            hold_many(of, ends[1]);
        }
        close(ends[1]);
    }
    for (int of = 0; of < MANY; of++)
        assert_int_equal(listen_to(&holders[of]), 'h');
    for (int of = 0; of < MANY; of++)
        kill(holders[of].pid, SIGKILL);
    for (int of = 0; of < MANY; of++)
        assert_int_equal(end_of(&holders[of]), -SIGKILL);
    /* To try looks for no dead process, nor does to find a name: only a keeper does. */
    const int64_t end = now_ns() + 10000 * (int64_t)NS_PER_MS;
    for (int i = 0; i < MANY * IN_ONE; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        const lw_region_mutex mutex = named(region, name);
        int error;
        while ((error = lw_region_mutex_trylock(&mutex)) == EBUSY && now_ns() < end)
            sleep_ms(5);
        assert_int_equal(error, EOWNERDEAD);
    }
    destroy(region);
}

static int open_one_more(struct call *call)
{
    lw_region *region;
    const int error = lw_region_open(&region, path(), 0, 0, 0);
    if (!error)
        lw_region_close(region);
    (void)call;
    return error;
}

enum { PROCESSES_AT = 4096, PROCESSES = 1024, USED_PROCESSES_AT = 528 };

/* These rows seem to belong to processes that live, and that have no keepers. */
static void fill_rows(size_t from, size_t to)
{
    uint32_t boot;
    const int fd = open(path(), O_RDONLY);
    assert_int_equal(pread(fd, &boot, sizeof boot, PROCESSES_AT + 4), sizeof boot);
    close(fd);
    overwrite(USED_PROCESSES_AT, UINT32_MAX);
    overwrite(USED_PROCESSES_AT + 4, UINT32_MAX);
    for (size_t row = from; row < to; row++) {
        overwrite(PROCESSES_AT + row * 64 + 4, boot);
        overwrite(PROCESSES_AT + row * 64, 1);
    }
}

/* The only keeper waits on the rows before it. */
TEST(a_process_that_no_keeper_waits_on)
{
    lw_region *region = create();
    fill_rows(1, 200);
    const struct process holder = fork_one(hold);
    assert_int_equal(listen_to(&holder), 0);
    assert_int_equal(kill_one(&holder), -SIGKILL);
    const lw_region_mutex mutex = named(region, "lock");
    int error = EBUSY;
    for (int i = 0; i < 1000 && error == EBUSY; i++) {
        sleep_ms(5);
        error = lw_region_mutex_trylock(&mutex);
    }
    assert_int_equal(error, EOWNERDEAD);
    destroy(region);
}

TEST(more_processes_than_rows)
{
    lw_region *region = create();
    fill_rows(1, PROCESSES);
    assert_int_equal(by_another(open_one_more, region), EAGAIN);
    overwrite(PROCESSES_AT + (PROCESSES - 1) * 64, 0);
    assert_int_equal(by_another(open_one_more, region), 0);
    assert_int_equal(by_another(open_one_more, region), 0);
    destroy(region);
}

static int name_this_thread(struct call *call)
{
    return lw_region_name_thread(call->on, "one more");
}

TEST(more_threads_than_rows)
{
    enum { AGENTS_AT = 69632, AGENTS = 4096, USED_AGENTS_AT = 512 };
    lw_region *region = create();
    assert_int_equal(lw_region_name_thread(region, "the test"), 0);
    const int fd = open(path(), O_RDWR);
    for (int i = 0; i < AGENTS; i++) {
        uint32_t state;
        const off_t at = AGENTS_AT + i * 64;
        assert_int_equal(pread(fd, &state, sizeof state, at), sizeof state);
        if (state == 0)
            overwrite((size_t)at, 1 << 11 | 1); /* a thread of this process */
    }
    close(fd);
    for (int i = 0; i < 4; i++)
        overwrite(USED_AGENTS_AT + 4 * (size_t)i, UINT32_MAX);
    lw_region_mutex mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(by_another(name_this_thread, region), EAGAIN);
    /* They end with the process. */
    assert_int_equal(lw_region_close(region), 0);
    assert_int_equal(lw_region_open(&region, path(), 0, 0, 0), 0);
    assert_int_equal(by_another(name_this_thread, region), 0);
    destroy(region);
}

/* Asks for a name as this kind. */
static int ask(lw_region *region, const char *name, int kind)
{
    union {
        lw_region_mutex mutex;
        lw_region_rmutex rmutex;
        lw_region_once once;
        lw_region_rwlock rwlock;
        lw_event *event;
        lw_sem *sem;
        lw_counter *counter;
        lw_waitgroup *waitgroup;
        lw_latch *latch;
        lw_barrier *barrier;
        lw_cond *cond;
        lw_region_permits permits;
        lw_region_rwtable rwtable;
        void *bytes;
    } it;
    switch (kind) {
    case LW_REGION_MUTEX:
        return lw_region_mutex_named(region, name, &it.mutex);
    case LW_REGION_RMUTEX:
        return lw_region_rmutex_named(region, name, &it.rmutex);
    case LW_REGION_ONCE:
        return lw_region_once_named(region, name, &it.once);
    case LW_REGION_RWLOCK:
        return lw_region_rwlock_named(region, name, &it.rwlock);
    case LW_REGION_EVENT:
        return lw_region_event_named(region, name, NULL, &it.event);
    case LW_REGION_SEM:
        return lw_region_sem_named(region, name, NULL, &it.sem);
    case LW_REGION_COUNTER:
        return lw_region_counter_named(region, name, NULL, &it.counter);
    case LW_REGION_WAITGROUP:
        return lw_region_waitgroup_named(region, name, NULL, &it.waitgroup);
    case LW_REGION_LATCH:
        return lw_region_latch_named(region, name, NULL, &it.latch);
    case LW_REGION_BARRIER:
        return lw_region_barrier_named(region, name, NULL, &it.barrier);
    case LW_REGION_COND:
        return lw_region_cond_named(region, name, NULL, &it.cond);
    case LW_REGION_PERMITS:
        return lw_region_permits_named(region, name, 10, &it.permits);
    case LW_REGION_RWTABLE:
        return lw_region_rwtable_named(region, name, &it.rwtable);
    default:
        return lw_region_bytes(region, name, 10, &it.bytes);
    }
}

TEST(a_name_is_of_one_kind)
{
    lw_region *region = create();
    for (int kind = 1; kind < LW_REGION_KINDS; kind++) {
        const char name[] = {(char)('a' + kind), 0};
        struct lw_region_info info;
        assert_int_equal(ask(region, name, kind), 0);
        assert_int_equal(lw_region_describe(region, name, &info), 0);
        assert_int_equal(info.kind, kind);
        assert_int_equal(info.size, kind == LW_REGION_BYTES ? 10 : 0);
        for (int other = 1; other < LW_REGION_KINDS; other++)
            assert_int_equal(ask(region, name, other), other == kind ? 0 : EEXIST);
        assert_int_equal(lw_region_remove(region, name), 0);
        assert_int_equal(lw_region_describe(region, name, &info), ENOENT);
    }
    destroy(region);
}

static void use_what_has_no_owner(lw_region *region, int end)
{
    const lw_event automatic = LW_EVENT_AUTO_INIT;
    const lw_barrier two = LW_BARRIER_INIT(2);
    const lw_latch one = LW_LATCH_INIT(1);
    const lw_sem none = LW_SEM_INIT(7); /* it exists already */
    lw_event *event;
    lw_barrier *barrier;
    lw_latch *latch;
    lw_sem *sem;
    lw_counter *counter;
    lw_waitgroup *group;
    if (lw_region_event_named(region, "event", &automatic, &event) ||
        lw_region_barrier_named(region, "barrier", &two, &barrier) ||
        lw_region_latch_named(region, "latch", &one, &latch) ||
        lw_region_sem_named(region, "sem", &none, &sem) ||
        lw_region_counter_named(region, "counter", NULL, &counter) ||
        lw_region_waitgroup_named(region, "group", NULL, &group))
        _exit(1);
    lw_waitgroup_add(group, 1);
    say(end, 1);
    lw_sem_release(sem, 3);
    lw_event_set(event);
    lw_latch_count_down(latch, 1);
    sleep_ms(2);
    lw_counter_add(counter, 5, NULL);
    lw_barrier_wait(barrier);
    lw_waitgroup_done(group);
}

TEST(what_has_no_owner_works_between_processes)
{
    lw_region *region = create();
    const lw_event automatic = LW_EVENT_AUTO_INIT;
    const lw_barrier two = LW_BARRIER_INIT(2);
    const lw_latch one = LW_LATCH_INIT(1);
    const lw_sem permits = LW_SEM_INIT(2);
    lw_event *event;
    lw_barrier *barrier;
    lw_latch *latch;
    lw_sem *sem;
    lw_counter *counter;
    lw_waitgroup *group;
    assert_int_equal(lw_region_event_named(region, "event", &automatic, &event), 0);
    assert_int_equal(lw_region_barrier_named(region, "barrier", &two, &barrier), 0);
    assert_int_equal(lw_region_latch_named(region, "latch", &one, &latch), 0);
    assert_int_equal(lw_region_sem_named(region, "sem", &permits, &sem), 0);
    assert_int_equal(lw_region_counter_named(region, "counter", NULL, &counter), 0);
    assert_int_equal(lw_region_waitgroup_named(region, "group", NULL, &group), 0);
    const struct process other = fork_one(use_what_has_no_owner);
    assert_int_equal(listen_to(&other), 1);
    const lw_deadline soon = lw_after_ms(20000);
    assert_int_equal(lw_sem_acquire_until(sem, 5, soon), 0);
    assert_int_equal(lw_event_wait_until(event, soon), 0);
    assert_int_equal(lw_latch_wait_until(latch, soon), 0);
    assert_int_equal(lw_counter_wait_at_least(counter, 5, soon, NULL), 0);
    const int led = lw_barrier_wait_until(barrier, soon);
    assert_true(led == 0 || led == LW_BARRIER_LEADER);
    assert_int_equal(lw_waitgroup_wait_until(group, soon), 0);
    assert_int_equal(end_of(&other), 0);
    assert_false(lw_event_is_set(event));
    destroy(region);
}

static lw_event *event_named(lw_region *region)
{
    lw_event *event;
    return lw_region_event_named(region, "event", NULL, &event) == 0 ? event : NULL;
}

static int wait_for_event(struct call *call)
{
    return lw_event_wait_until(call->on, call->deadline);
}

/* Changes the word as lw_event_set does, and dies before it notifies. */
static void set_and_die(lw_region *region, int end)
{
    (void)end;
    lw_event *event = event_named(region);
    sleep_ms(20);
    __atomic_store_n(&event->word[0], LW_EVENT_SET, __ATOMIC_RELEASE);
    kill(getpid(), SIGKILL);
}

/* The wake-up dies with its process. A waiter that was not woken would look after a second. */
static void assert_woken(lw_event *event, int (*wait)(struct call *call), void *on)
{
    int64_t least = INT64_MAX;
    for (int round = 0; round < 4; round++) {
        lw_event_reset(event);
        struct call call = calling(wait, on);
        start_sleeper(&call);
        const int64_t start = now_ns();
        const struct process setter = fork_one(set_and_die);
        assert_int_equal(end_of(&setter), -SIGKILL);
        assert_int_equal(end_call(&call), 0);
        if (now_ns() - start < least)
            least = now_ns() - start;
    }
    assert_true(least < 500 * (int64_t)NS_PER_MS);
}

TEST(a_wake_up_that_died_is_replaced)
{
    lw_region *region = create();
    lw_event *event = event_named(region);
    assert_woken(event, wait_for_event, event);
    destroy(region);
}

static int wait_for_three(struct call *call)
{
    lw_event *const *events = call->on;
    const lw_source sources[] = {lw_source_event(events[0]), lw_source_event(events[1]),
                                 lw_source_event(events[2])};
    uint32_t which = 0;
    const int error = lw_wait_any(sources, COUNT_OF(sources), call->deadline, NULL, &which);
    return error == 0 && which != 2 ? EINVAL : error;
}

/* As above, beside events of the same region and of another one. */
TEST(a_wake_up_that_died_of_a_waiter_for_several)
{
    enum { SIZE = 1 << 20 };
    void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lw_region *other;
    assert_int_equal(lw_region_open_memory(&other, memory, SIZE, LW_REGION_CREATE), 0);
    lw_region *region = create();
    lw_event *events[] = {event_named(other), NULL, event_named(region)};
    assert_int_equal(lw_region_event_named(region, "first", NULL, &events[1]), 0);
    assert_woken(events[2], wait_for_three, events);
    destroy(region);
    assert_int_equal(lw_region_close(other), 0);
    munmap(memory, SIZE);
}

/* The region does not know of the process: the waiter looks. */
TEST(a_wake_up_that_died_in_a_forked_child)
{
    lw_region *region = create();
    lw_event *event = event_named(region);
    struct call call = calling(wait_for_event, event);
    start_sleeper(&call);
    const pid_t pid = fork();
    if (pid == 0) {
        __atomic_store_n(&event->word[0], LW_EVENT_SET, __ATOMIC_RELEASE);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(end_call(&call), 0);
    destroy(region);
}

/* To close one of two regions over the same memory leaves the other one's waits shared. */
TEST(memory_that_is_opened_twice)
{
    const size_t size = 1 << 20;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lw_region *region;
    lw_region *again;
    assert_int_equal(lw_region_open_memory(&region, memory, size, LW_REGION_CREATE), 0);
    assert_int_equal(lw_region_open_memory(&again, memory, size, LW_REGION_CREATE), 0);
    assert_int_equal(lw_region_close(again), 0);
    lw_event *event = event_named(region);
    const pid_t pid = fork();
    if (pid == 0) {
        sleep_ms(50);
        lw_event_set(event);
        _exit(0);
    }
    assert_int_equal(lw_event_wait_until(event, lw_after_ms(5000)), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(lw_region_close(region), 0);
    munmap(memory, size);
}

TEST(what_is_waited_for_is_not_removed)
{
    lw_region *region = create();
    lw_event *event = event_named(region);
    struct call call = calling(wait_for_event, event);
    start_sleeper(&call);
    struct lw_region_info info;
    do {
        sleep_ms(2);
        assert_int_equal(lw_region_describe(region, "event", &info), 0);
    } while (info.longest_ms == 0);
    assert_int_equal(info.waiters, 1);
    assert_int_equal(lw_region_remove(region, "event"), EBUSY);
    lw_event_set(event);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(lw_region_remove(region, "event"), 0);
    destroy(region);
}

static lw_region_once once_named(lw_region *region)
{
    lw_region_once once = {NULL, NULL};
    lw_region_once_named(region, "once", &once);
    return once;
}

static void run_for_ever(lw_region *region, int end)
{
    const lw_region_once once = once_named(region);
    say(end, (char)lw_region_once_begin(&once));
    for (;;)
        pause();
}

static int begin_once(struct call *call)
{
    return lw_region_once_begin_until(call->on, call->deadline);
}

TEST(a_once_whose_runner_dies)
{
    lw_region *region = create();
    lw_region_once once = once_named(region);
    const struct process runner = fork_one(run_for_ever);
    assert_int_equal(listen_to(&runner), LW_ONCE_RUN);
    assert_int_equal(lw_region_once_begin_until(&once, lw_after_ms(20)), ETIMEDOUT);
    assert_int_equal(lw_region_once_finish(&once, true), EPERM);
    assert_int_equal(lw_region_remove(region, "once"), EBUSY);
    struct lw_region_info info;
    assert_int_equal(lw_region_describe(region, "once", &info), 0);
    assert_int_equal(info.holder_pid, runner.pid);
    struct call call = calling(begin_once, &once);
    start_sleeper(&call);
    assert_int_equal(kill_one(&runner), -SIGKILL);
    assert_int_equal(end_call(&call), LW_ONCE_RUN);
    /* That thread has exited, and could not finish. */
    assert_int_equal(lw_region_once_begin_until(&once, lw_after_ms(9000)), LW_ONCE_RUN);
    assert_int_equal(lw_region_once_begin(&once), EDEADLK);
    assert_int_equal(lw_region_once_finish(&once, false), 0);
    assert_int_equal(lw_region_once_begin(&once), LW_ONCE_RUN);
    assert_false(lw_region_once_is_done(&once));
    assert_int_equal(lw_region_once_finish(&once, true), 0);
    assert_true(lw_region_once_is_done(&once));
    assert_int_equal(lw_region_once_begin(&once), 0);
    assert_int_equal(lw_region_describe(region, "once", &info), 0);
    assert_int_equal(info.recoveries, 2);
    destroy(region);
}

static lw_region_rmutex rmutex_named(lw_region *region)
{
    lw_region_rmutex rmutex;
    assert_int_equal(lw_region_rmutex_named(region, "lock", &rmutex), 0);
    return rmutex;
}

static void hold_twice(lw_region *region, int end)
{
    lw_region_rmutex rmutex;
    int error = lw_region_rmutex_named(region, "lock", &rmutex);
    error |= lw_region_rmutex_lock(&rmutex) | lw_region_rmutex_lock(&rmutex);
    say(end, (char)error);
    for (;;)
        pause();
}

static int trylock_recursive(struct call *call)
{
    return lw_region_rmutex_trylock(call->on);
}

TEST(a_recursive_mutex)
{
    lw_region *region = create();
    lw_region_rmutex rmutex = rmutex_named(region);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_trylock(&rmutex), 0);
    for (int depth = 3; depth > 0; depth--) {
        assert_int_equal(by_another(trylock_recursive, &rmutex), EBUSY);
        assert_int_equal(lw_region_rmutex_unlock(&rmutex), 0);
    }
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), EPERM);
    const struct process holder = fork_one(hold_twice);
    assert_int_equal(listen_to(&holder), 0);
    assert_int_equal(lw_region_rmutex_lock_until(&rmutex, lw_after_ms(20)), ETIMEDOUT);
    assert_int_equal(kill_one(&holder), -SIGKILL);
    assert_int_equal(lw_region_rmutex_lock_until(&rmutex, lw_after_ms(9000)), EOWNERDEAD);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_abandon(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), ENOTRECOVERABLE);
    assert_int_equal(lw_region_rmutex_reset(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), 0);
    assert_int_equal(by_another(trylock_recursive, &rmutex), 0);
    destroy(region);
}

static void notify_or_die(lw_region *region, int end)
{
    lw_cond *cond;
    lw_region_mutex mutex;
    if (lw_region_cond_named(region, "cond", NULL, &cond) ||
        lw_region_mutex_named(region, "lock", &mutex))
        _exit(1);
    lw_region_mutex_lock(&mutex);
    lw_cond_notify_one(cond);
    lw_region_mutex_unlock(&mutex);
    say(end, 1);
    lw_event_wait(event_named(region));
    lw_region_mutex_lock(&mutex); /* once the parent waits again */
    lw_cond_notify_all(cond);
    kill(getpid(), SIGKILL);
}

TEST(a_condition)
{
    lw_region *region = create();
    lw_region_rmutex rmutex = rmutex_named(region);
    lw_region_mutex *mutex = &rmutex.mutex;
    lw_cond *cond;
    assert_int_equal(lw_region_cond_named(region, "cond", NULL, &cond), 0);
    assert_int_equal(lw_region_cond_wait(cond, mutex), EPERM);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_cond_wait_until(cond, mutex, lw_after_ms(10)), ETIMEDOUT);
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), 0);
    assert_int_equal(lw_region_remove(region, "lock"), 0);

    lw_region_mutex plain = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&plain), 0);
    const struct process other = fork_one(notify_or_die);
    assert_int_equal(lw_region_cond_wait_until(cond, &plain, lw_after_ms(9000)), 0);
    assert_int_equal(listen_to(&other), 1);
    lw_event_set(event_named(region));
    assert_int_equal(lw_region_cond_wait_until(cond, &plain, lw_after_ms(9000)), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&plain), 0);
    assert_int_equal(end_of(&other), -SIGKILL);
    destroy(region);
}

static void write_for_ever(lw_region *region, int end)
{
    lw_region_rwlock rwlock;
    if (lw_region_rwlock_named(region, "rwlock", &rwlock))
        _exit(1);
    say(end, (char)lw_region_rwlock_wrlock(&rwlock));
    for (;;)
        pause();
}

TEST(a_read_write_lock)
{
    lw_region *region = create();
    lw_region_rwlock rwlock;
    assert_int_equal(lw_region_rwlock_named(region, "rwlock", &rwlock), 0);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), EPERM);
    assert_int_equal(lw_region_rwlock_rdlock(&rwlock), 0);
    assert_int_equal(lw_region_rwlock_tryrdlock(&rwlock), 0);
    assert_int_equal(lw_region_rwlock_trywrlock(&rwlock), EBUSY);
    const struct process writer = fork_one(write_for_ever);
    struct lw_region_info info;
    do
        assert_int_equal(lw_region_describe(region, "rwlock", &info), 0);
    while (info.waiters == 0);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), 0);
    assert_int_equal(listen_to(&writer), 0);
    assert_int_equal(lw_region_describe(region, "rwlock", &info), 0);
    assert_int_equal(info.holder_pid, writer.pid);
    assert_int_equal(lw_region_rwlock_rdlock_until(&rwlock, lw_after_ms(10)), ETIMEDOUT);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), EPERM);
    assert_int_equal(kill_one(&writer), -SIGKILL);
    /* As region.h says: its write is not given back. */
    assert_int_equal(lw_region_rwlock_wrlock_until(&rwlock, lw_after_ms(30)), ETIMEDOUT);
    destroy(region);
}

TEST(named_bytes)
{
    lw_region *region = create();
    lw_region *again;
    assert_int_equal(lw_region_open(&again, path(), 0, 0, 0), 0);
    char *bytes;
    char *same;
    void *none;
    assert_int_equal(lw_region_bytes(region, "table", 0, &none), EINVAL);
    assert_int_equal(lw_region_bytes(region, "table", 1000, (void **)&bytes), 0);
    assert_int_equal((uintptr_t)bytes % 64, 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(bytes[i], 0);
    memset(bytes, 'x', 1000);
    assert_int_equal(lw_region_bytes(again, "table", 1000, (void **)&same), 0);
    assert_ptr_not_equal(bytes, same);
    assert_memory_equal(bytes, same, 1000);
    assert_int_equal(lw_region_bytes(again, "table", 1001, &none), EEXIST);
    assert_int_equal(lw_region_bytes(region, "all", 1 << 20, &none), ENOSPC);
    assert_int_equal(lw_region_close(again), 0);
    assert_int_equal(lw_region_remove(region, "table"), 0);
    assert_int_equal(lw_region_bytes(region, "table", 500, (void **)&bytes), 0);
    for (int i = 0; i < 500; i++)
        assert_int_equal(bytes[i], 0);
    destroy(region);
}

TEST(named_bytes_never_overlap)
{
    enum { RANGES = 300, ROUNDS = 3000, ROOM = 2048 * 128 };
    lw_region *region = create();
    static struct {
        char *at;
        uint32_t size;
    } ranges[RANGES];
    memset(ranges, 0, sizeof ranges);
    uint32_t seed = 1;
    int refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t which = next_random(&seed) % RANGES;
        char name[16];
        snprintf(name, sizeof name, "%u", which);
        if (ranges[which].at) {
            for (uint32_t i = 0; i < ranges[which].size; i++)
                assert_int_equal(ranges[which].at[i], (char)(which + 1));
            assert_int_equal(lw_region_remove(region, name), 0);
            ranges[which].at = NULL;
            continue;
        }
        ranges[which].size = 1 + next_random(&seed) % 4000;
        const int error =
            lw_region_bytes(region, name, ranges[which].size, (void **)&ranges[which].at);
        refused += error == ENOSPC;
        assert_true(error == 0 || error == ENOSPC);
        if (error)
            continue;
        memset(ranges[which].at, (int)(which + 1), ranges[which].size);
    }
    assert_true(refused > 0);
    /* What was removed is all there is again. */
    for (uint32_t i = 0; i < RANGES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        if (ranges[i].at)
            assert_int_equal(lw_region_remove(region, name), 0);
    }
    void *all;
    assert_int_equal(lw_region_bytes(region, "all", ROOM, &all), 0);
    destroy(region);
}

/* Holds the mutex "lock" and then waits for "other", which the parent holds. */
static void lock_both(lw_region *region, int end)
{
    lw_region_mutex mutex;
    lw_region_mutex other;
    if (lw_region_mutex_named(region, "lock", &mutex) ||
        lw_region_mutex_named(region, "other", &other) ||
        lw_region_name_thread(region, "the child") || lw_region_mutex_lock(&mutex))
        _exit(1);
    say(end, 1);
    if (lw_region_mutex_lock(&other) != 0)
        _exit(2);
}

static int find_deadlock(struct call *call)
{
    struct lw_region_link links[8];
    uint32_t found;
    int error;
    for (int i = 0; i < 2000; i++) {
        error = lw_region_deadlock(call->on, links, COUNT_OF(links), &found);
        if (error == 0)
            break;
        sleep_ms(2);
    }
    sleep_ms(30);
    if (error || found != 2)
        return 1;
    const bool child_first = strcmp(links[0].thread, "the child") == 0;
    const struct lw_region_link *child = &links[!child_first];
    const struct lw_region_link *parent = &links[child_first];
    struct lw_region_info info;
    return strcmp(child->waits_for, "other") != 0 || strcmp(parent->waits_for, "lock") != 0 ||
           strcmp(child->thread, "the child") != 0 || parent->pid != (uint32_t)getpid() ||
           parent->tid == 0 || lw_region_describe(call->on, "lock", &info) != 0 ||
           info.held_ms < 20 || info.holder_pid != child->pid;
}

TEST(a_deadlock_is_named)
{
    lw_region *region = create();
    uint32_t found;
    lw_region_mutex lock = named(region, "lock");
    lw_region_mutex other = named(region, "other");
    assert_int_equal(lw_region_deadlock(region, NULL, 0, &found), ENOENT);
    assert_int_equal(lw_region_mutex_lock(&other), 0);
    const struct process child = fork_one(lock_both);
    assert_int_equal(listen_to(&child), 1);
    struct lw_region_info info;
    do
        assert_int_equal(lw_region_describe(region, "other", &info), 0);
    while (info.waiters == 0);
    /* It waits, but for one that waits for nothing. */
    assert_int_equal(lw_region_deadlock(region, NULL, 0, &found), ENOENT);
    struct call call = calling(find_deadlock, region);
    start_call(&call);
    assert_int_equal(lw_region_mutex_lock_until(&lock, lw_after_ms(300)), ETIMEDOUT);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(lw_region_deadlock(region, NULL, 0, &found), ENOENT);
    assert_int_equal(found, 0);
    assert_int_equal(lw_region_mutex_unlock(&other), 0);
    assert_int_equal(end_of(&child), 0);
    destroy(region);
}

RUN_TESTS("region")
