/* region.c: regions: opening, names, and holders that die. Processes are forked children. */
#define _GNU_SOURCE
#include "check-region.h"

#include <lockword/any.h>

#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../../src/wait/kernel.h"

/* Where the C library is older. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

static lw_region_mutex named(lw_region *region, const char *name)
{
    lw_region_mutex mutex;
    assert_int_equal(lw_region_mutex_named(region, name, &mutex), 0);
    return mutex;
}

/*
 * The first two tests: no region was open in this process before. A process that cannot read the id
 * of the boot must not take the others for those of another boot.
 */

enum { SIZE = 1 << 20 };

static void open_in(void *memory)
{
    if (lw_region_open_memory(&region, memory, SIZE, LW_REGION_CREATE) != 0 ||
        lw_region_mutex_named(region, "lock", &mutex) != 0)
        _exit(100);
}

/* A process that holds the mutex of a new region in this memory. */
static struct process spawn_holder_in(void **memory)
{
    *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct process holder = fork_child();
    if (holder.pid == 0) {
        open_in(*memory);
        hold();
    }
    assert_int_equal(hear(&holder), 0);
    return holder;
}

/* Mounts a file over the boot's id, for the caller alone. Returns whether the system lets it. */
static bool cover_boot_id(void)
{
    char file[] = "/tmp/lockword-boot-XXXXXX";
    const int fd = mkstemp(file);
    const char id[] = "00000000-0000-4000-8000-000000000000\n";
    const bool is_covered =
        fd >= 0 && write(fd, id, sizeof id - 1) == sizeof id - 1 &&
        (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount(file, "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL) == 0;
    unlink(file);
    close(fd);
    return is_covered;
}

/* systemd-nspawn and LXC give each container an id of its own. */
TEST(a_container_that_covers_the_id_of_the_boot)
{
    enum { COULD_NOT = 's' };
    void *memory;
    const struct process holder = spawn_holder_in(&memory);
    const struct process contained = fork_child();
    if (contained.pid == 0) {
        if (!cover_boot_id()) {
            say(COULD_NOT);
            _exit(0);
        }
        open_in(memory);
        say((char)lw_region_mutex_trylock(&mutex));
        _exit(0);
    }
    const char said = hear(&contained);
    assert_int_equal(end_of(&contained), 0);
    kill_it(&holder);
    munmap(memory, SIZE);
    if (said == COULD_NOT)
        skip();
    assert_int_equal(said, EBUSY);
}

TEST(a_process_that_has_no_descriptor_left)
{
    void *memory;
    const struct process holder = spawn_holder_in(&memory);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0);
    assert_int_equal(lw_region_open_memory(&region, memory, SIZE, 0), EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(lw_region_open_memory(&region, memory, SIZE, 0), 0);
    mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
    kill_it(&holder);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
    assert_int_equal(lw_region_close(region), 0);
    munmap(memory, SIZE);
}

TEST(a_path_that_has_no_region)
{
    choose_path();
    assert_int_equal(lw_region_open(&region, path, 0, 0, 0), ENOENT);
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 4096), EINVAL);
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, SIZE_MAX), EINVAL);
    assert_int_equal(lw_region_open(&region, NULL, LW_REGION_CREATE, 0600, 0), EINVAL);
    assert_int_equal(lw_region_open(&region, "/dev/shm", 0, 0600, 0), EISDIR);
    assert_int_equal(lw_region_open(&region, "/dev/null", LW_REGION_ANY_OWNER, 0, 0), EINVAL);
    assert_int_equal(lw_region_open(&region, "/no/such/folder", LW_REGION_CREATE, 0600, 0), ENOENT);
    assert_int_equal(symlink("/dev/shm/elsewhere", path), 0);
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0), ELOOP);
    unlink(path);
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
    begin();
    umask(mask);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    lw_region *again;
    const unsigned exclusive = LW_REGION_CREATE | LW_REGION_EXCLUSIVE;
    assert_int_equal(lw_region_open(&again, path, exclusive, 0600, 0), EEXIST);
    assert_int_equal(lw_region_open(&again, path, LW_REGION_CREATE, 0600, 0), 0);
    /* Two handles of one process are two processes to the region. */
    lw_region_mutex same = named(again, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_trylock(&same), EBUSY);
    assert_int_equal(lw_region_mutex_unlock(&same), EPERM);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(lw_region_close(again), 0);
    end();
    assert_int_equal(lw_region_open(&region, path, exclusive, 0600, 0), 0);
    end();
}

static void overwrite(size_t offset, uint32_t word)
{
    const int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &word, sizeof word, (off_t)offset), sizeof word);
    close(fd);
}

TEST(makes_nothing_without_create)
{
    begin();
    end();
    unlink(path);
    lw_region *none;
    for (size_t size = 0; size <= 10; size += 10) {
        assert_int_equal(lw_region_open(&none, path, 0, 0600, size), ENOENT);
        assert_int_equal(lw_region_open(&none, path, LW_REGION_EXCLUSIVE, 0600, size), EINVAL);
        assert_int_equal(access(path, F_OK), -1);
    }
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(lw_region_open_fd(&none, fd, LW_REGION_EXCLUSIVE, 0), EINVAL);
    const unsigned exclusive = LW_REGION_CREATE | LW_REGION_EXCLUSIVE;
    assert_int_equal(lw_region_open_fd(&region, fd, exclusive, 0), 0);
    assert_int_equal(lw_region_open_fd(&none, fd, exclusive, 0), EEXIST);
    assert_int_equal(lw_region_open_fd(&none, fd, LW_REGION_EXCLUSIVE, 0), EINVAL);
    close(fd);
    end();
}

/*
 * Another process makes it: it has stored the size, and nothing else yet. Who finds that completes
 * it, in case that one was killed, but has not made it alone.
 */
TEST(an_exclusive_maker_that_is_not_the_first)
{
    const unsigned exclusive = LW_REGION_CREATE | LW_REGION_EXCLUSIVE;
    lw_region *again;
    choose_path();
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, SIZE), 0);
    overwrite(12, SIZE); /* the size */
    assert_int_equal(lw_region_open_fd(&region, fd, exclusive, 0), EEXIST);
    assert_int_equal(lw_region_open_fd(&region, fd, 0, 0), 0);
    assert_int_equal(lw_region_open_fd(&again, fd, exclusive, 0), EEXIST);
    close(fd);
    end();
}

/* It gets its room at once, not when it is used, since a full disk would be a SIGBUS then. */
TEST(a_file_that_is_long_but_empty)
{
    struct stat status;
    const int fd = memfd_create("region", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, SIZE), 0);
    assert_int_equal(lw_region_open_fd(&region, fd, 0, 0), EBADMSG);
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(512 * (long long)status.st_blocks < SIZE);
    assert_int_equal(lw_region_open_fd(&region, fd, LW_REGION_CREATE, 0), 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, SIZE);
    assert_true(512 * (long long)status.st_blocks >= SIZE);
    assert_int_equal(lw_region_close(region), 0);
    close(fd);
}

/* No signal ends it. */
TEST(a_limit_for_the_size_of_files)
{
    choose_path();
    const int memory = memfd_create("region", MFD_CLOEXEC);
    const int opened = fork();
    if (opened == 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){10000, 10000});
        const int error = lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0);
        _exit(error == lw_region_open_fd(&region, memory, LW_REGION_CREATE, 0) ? error : 100);
    }
    int status;
    assert_int_equal(waitpid(opened, &status, 0), opened);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EFBIG);
    assert_int_equal(access(path, F_OK), -1);
    close(memory);
}

/* What a thread knows of a region goes with it. */
TEST(opens_and_closes_for_ever)
{
    size_t before = 0;
    for (int i = 0; i < 300; i++) {
        begin();
        assert_int_equal(lw_region_name_thread(region, "the test"), 0);
        end();
        if (i == 100)
            before = allocated();
    }
    assert_true(allocated() <= before + 1000);
}

/* No call is a cancellation point, also where it opens files, or ends a thread. */

static int use_as_cancelled(struct call *call)
{
    (void)call;
    pthread_cancel(pthread_self());
    lw_region *own;
    lw_region_mutex own_lock;
    uint32_t found;
    int state;
    int error = lw_region_open(&own, path, LW_REGION_CREATE, 0600, 0);
    if (!error)
        error = lw_region_mutex_named(own, "lock", &own_lock);
    if (!error)
        error = lw_region_mutex_lock(&own_lock);
    if (!error)
        error = lw_region_mutex_unlock(&own_lock);
    if (!error && lw_region_deadlock(own, NULL, 0, &found) != ENOENT)
        error = EBUSY;
    if (!error)
        error = lw_region_close(own);
    /* It can be cancelled afterwards. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return error || state == PTHREAD_CANCEL_ENABLE ? error : ECANCELED;
}

TEST(a_thread_that_is_cancelled_uses_a_region)
{
    choose_path();
    struct call call = calling(use_as_cancelled, NULL);
    start_call(&call);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(unlink(path), 0);
}

TEST(foreign_and_damaged_files)
{
    begin();
    assert_int_equal(lw_region_close(region), 0);
    overwrite(8, 77); /* the version */
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0), EPROTO);
    overwrite(8, 4);
    overwrite(12, UINT32_MAX); /* the size */
    assert_int_equal(lw_region_open(&region, path, 0, 0, 0), EBADMSG);
    overwrite(12, 64);
    assert_int_equal(lw_region_open(&region, path, 0, 0, 0), EBADMSG);
    overwrite(0, 1); /* the magic */
    assert_int_equal(lw_region_open(&region, path, 0, 0, 0), EBADMSG);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0), EBADMSG);
    unlink(path);
    if (geteuid() == 0) {
        begin();
        assert_int_equal(lw_region_close(region), 0);
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(lw_region_open(&region, path, 0, 0, 0), EPERM);
        assert_int_equal(lw_region_open(&region, path, LW_REGION_ANY_OWNER, 0, 0), 0);
        end();
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
    struct stat status;
    choose_path();
    mode_t mask = umask(022);
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0666, 0), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    const struct process other = fork_child();
    if (other.pid == 0) {
        if (setuid(12345) != 0)
            _exit(102);
        say((char)lw_region_open(&region, path, LW_REGION_ANY_OWNER, 0, 0));
        await_word(); /* until the other user may write */
        say((char)lw_region_open(&region, path, 0, 0, 0));
        if (lw_region_open(&region, path, LW_REGION_ANY_OWNER, 0, 0) != 0 ||
            lw_region_mutex_named(region, "lock", &mutex) != 0)
            _exit(103);
        hold();
    }
    assert_int_equal(hear(&other), EACCES);
    assert_int_equal(chmod(path, 0666), 0);
    tell(&other);
    assert_int_equal(hear(&other), EPERM);
    assert_int_equal(hear(&other), 0);
    mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
    kill_it(&other);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
    umask(mask);
    end();
}

REGION_TEST(a_file_that_was_opened_to_read)
{
    const int fd = open(path, O_RDONLY);
    lw_region *again;
    assert_int_equal(lw_region_open_fd(&again, fd, 0, 0), EACCES);
    assert_int_equal(lw_region_open_fd(&again, -1, 0, 0), EBADF);
    close(fd);
}

TEST(a_file_that_was_cut)
{
    begin();
    assert_int_equal(lw_region_close(region), 0);
    assert_int_equal(truncate(path, 300000), 0);
    assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, 0), EBADMSG);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(lw_region_open(&region, path, 0, 0, 0), EBADMSG);
    unlink(path);
}

/* Where the tests are run, and in /tmp: ext4, overlayfs or whatever there is. */
TEST(other_file_systems)
{
    static const char *const others[] = {".", "/tmp"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        folder = others[i];
        begin();
        leave_a_dead_holder();
        assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
        end();
    }
    folder = "/dev/shm";
}

/* Whenever that was, there is no region then, or a whole one. */
TEST(a_process_that_is_killed_while_it_makes_the_file)
{
    uint32_t seed = (uint32_t)getpid();
    int whole = 0;
    for (int i = 0; i < 200; i++) {
        choose_path();
        const pid_t pid = fork();
        if (pid == 0)
            _exit(open_region() != 0);
        const int64_t until = now_ns() + next_random(&seed) % 600000;
        while (now_ns() < until)
            continue;
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        const int error = lw_region_open(&region, path, 0, 0, 0);
        assert_true(error == 0 || error == ENOENT);
        whole += error == 0;
        if (error)
            begin();
        mutex = named(region, "lock");
        assert_int_equal(lw_region_mutex_lock(&mutex), 0);
        end();
    }
    printf("%d of 200 were whole\n", whole);
}

TEST(a_memfd_and_mapped_memory)
{
    const int fd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(lw_region_open_fd(&region, fd, 0, 0), EBADMSG);
    assert_int_equal(lw_region_open_fd(&region, fd, LW_REGION_CREATE, 1 << 20), 0);
    assert_int_equal(ftruncate(fd, 4096), -1);
    lw_region *again;
    assert_int_equal(lw_region_open_fd(&again, fd, LW_REGION_CREATE, 0), 0);
    mutex = named(region, "lock");
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

REGION_TEST(the_names)
{
    assert_int_equal(lw_region_remove(region, "lock"), 0);
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
}

/* Where there is no room behind them, the gap of one that was removed is found at once. */
TEST(many_ranges)
{
    enum { RANGES = 16384, BYTES = 128 };
    const size_t size = 331776 + RANGES * (128 + BYTES); /* docs/layout.md */
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *bytes, *gap = NULL;
    char name[16];
    assert_int_equal(lw_region_open_memory(&region, memory, size, LW_REGION_CREATE), 0);
    for (int i = 0; i < RANGES; i++) {
        snprintf(name, sizeof name, "range %d", i);
        assert_int_equal(lw_region_bytes(region, name, BYTES, &bytes), 0);
        if (i == RANGES / 2)
            gap = bytes;
    }
    snprintf(name, sizeof name, "range %d", RANGES / 2);
    assert_int_equal(lw_region_remove(region, name), 0);
    const int64_t before = used_ns();
    assert_int_equal(lw_region_bytes(region, "another", BYTES + 1, &bytes), ENOSPC);
    assert_int_equal(lw_region_bytes(region, "another", BYTES, &bytes), 0);
    assert_true(used_ns() - before < (int64_t)100 * NS_PER_MS);
    assert_true(bytes == gap);
    assert_int_equal(lw_region_close(region), 0);
    munmap(memory, size);
}

REGION_TEST(removes_a_name)
{
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
}

/* The name that has its place now is another mutex, whoever holds that. */
REGION_TEST(a_removed_mutex_is_nobodys)
{
    lw_cond *cond;
    assert_int_equal(lw_region_cond_named(region, "cond", NULL, &cond), 0);
    assert_int_equal(lw_region_remove(region, "lock"), 0);
    lw_region_mutex again = named(region, "lock");
    assert_true(again.words == mutex.words);
    assert_int_equal(lw_region_mutex_lock(&again), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), EIDRM);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, LW_NOW), EIDRM);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EIDRM);
    assert_int_equal(lw_region_mutex_reset(&mutex), EIDRM);
    assert_int_equal(lw_region_mutex_unlock(&mutex), EPERM);
    assert_int_equal(lw_region_mutex_leave(&mutex), EPERM);
    assert_int_equal(lw_region_mutex_abandon(&mutex), EPERM);
    assert_int_equal(lw_region_cond_wait(cond, &mutex), EPERM);
    assert_false(lw_region_mutex_is_locked(&mutex) || lw_region_mutex_is_mine(&mutex));
    assert_true(lw_region_mutex_is_mine(&again));
    assert_int_equal(lw_region_mutex_unlock(&again), 0);
    assert_int_equal(lw_region_mutex_lock(&again), 0);
}

REGION_TEST(a_removed_recursive_mutex_is_nobodys)
{
    lw_region_rmutex before;
    lw_region_rmutex again;
    assert_int_equal(lw_region_rmutex_named(region, "recursive", &before), 0);
    assert_int_equal(lw_region_remove(region, "recursive"), 0);
    assert_int_equal(lw_region_rmutex_named(region, "recursive", &again), 0);
    assert_true(again.mutex.words == before.mutex.words);
    assert_int_equal(lw_region_rmutex_lock(&again), 0);
    assert_int_equal(lw_region_rmutex_lock(&again), 0);
    assert_int_equal(lw_region_rmutex_lock(&before), EIDRM);
    assert_int_equal(lw_region_rmutex_trylock(&before), EIDRM);
    assert_int_equal(lw_region_rmutex_unlock(&before), EPERM);
    assert_int_equal(lw_region_rmutex_leave(&before), EPERM);
    assert_int_equal(lw_region_rmutex_unlock(&again), 0);
    assert_int_equal(lw_region_rmutex_unlock(&again), 0);
    assert_int_equal(lw_region_rmutex_unlock(&again), EPERM);
}

REGION_TEST(describes)
{
    assert_int_equal(told("lock").holder_pid, 0);
    assert_int_equal(lw_region_name_thread(region, "the loader"), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    const int64_t start = now_ns();
    const struct process other = spawn(hold);
    struct lw_region_info info;
    do {
        sleep_ms(5);
        info = told("lock");
    } while (info.waiters == 0 || info.longest_ms == 0);
    assert_true(info.longest_ms <= (now_ns() - start) / NS_PER_MS + 1);
    assert_int_equal(info.held_ms, info.longest_ms);
    assert_string_equal(info.name, "lock");
    assert_int_equal(info.fate, 0);
    assert_int_equal(info.holder_pid, getpid());
    assert_int_equal(info.holder_tid, gettid());
    assert_string_equal(info.holder, "the loader");
    assert_int_equal(info.waiters, 1);
    assert_int_equal(info.acquisitions, 1);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(hear(&other), 0);
    info = told("lock");
    assert_int_equal(info.holder_pid, other.pid);
    assert_int_equal(info.acquisitions, 2);
    assert_int_equal(info.contended, 1);
    kill_it(&other);
    assert_int_equal(lw_region_mutex_lock(&mutex), EOWNERDEAD);
    info = told("lock");
    assert_int_equal(info.recoveries, 1);
    assert_int_equal(info.fate, EOWNERDEAD);
}

REGION_TEST(a_holder_that_is_killed)
{
    for (int round = 0; round < 10; round++) {
        const struct process holder = spawn_holder();
        assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(20)), ETIMEDOUT);
        assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
        kill_it(&holder);
        assert_int_equal(lw_region_mutex_lock(&mutex), EOWNERDEAD);
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
        assert_int_equal(lw_region_mutex_lock(&mutex), 0);
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    }
}

enum { SCATTERED = 200 };

static void name_scattered(int i)
{
    char name[16];
    snprintf(name, sizeof name, "lock %d", i);
    if (lw_region_mutex_named(region, name, &mutex) != 0)
        _exit(102);
}

static void hold_scattered(void)
{
    for (int i = 0; i < SCATTERED; i++) {
        name_scattered(i);
        lw_region_mutex_lock(&mutex);
    }
    say(0);
    stay();
}

/*
 * A burial passes over what was never used, in parts of one slot, of two and of 32. In /tmp, since
 * a container's /dev/shm may be small.
 */
TEST(a_holder_of_locks_everywhere_in_small_and_large_regions)
{
    const size_t sizes[] = {400 << 10, 1 << 20, 32 << 20};
    folder = "/tmp";
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        choose_path();
        assert_int_equal(lw_region_open(&region, path, LW_REGION_CREATE, 0600, sizes[k]), 0);
        const struct process holder = spawn(hold_scattered);
        assert_int_equal(hear(&holder), 0);
        kill_it(&holder);
        for (int i = 0; i < SCATTERED; i++) {
            name_scattered(i);
            assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(5000)), EOWNERDEAD);
            assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
        }
        end();
    }
    folder = "/dev/shm";
}

static int lock_it(struct call *call)
{
    return lw_region_mutex_lock_cancel(call->on, call->deadline, call->cancel);
}

static int unlock_it(struct call *call)
{
    return lw_region_mutex_unlock(call->on);
}

REGION_TEST(a_waiter_of_a_killed_holder)
{
    const struct process holder = spawn_holder();
    struct call call = calling(lock_it, &mutex);
    start_sleeper(&call);
    kill_it(&holder);
    assert_int_equal(end_call(&call), EOWNERDEAD);
    /* The thread has exited, and could not unlock. */
    assert_int_equal(lw_region_mutex_lock(&mutex), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

REGION_TEST(a_thread_that_exits_with_a_lock)
{
    assert_int_equal(by_another(lock_it, &mutex), 0);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(5000)), EOWNERDEAD);
    assert_int_equal(by_another(unlock_it, &mutex), EPERM);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

REGION_TEST(a_wait_is_cancelled)
{
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    lw_cancel cancel = LW_CANCEL_INIT;
    struct call call = calling(lock_it, &mutex);
    call.cancel = &cancel;
    start_sleeper(&call);
    lw_cancel_fire(&cancel);
    assert_int_equal(end_call(&call), ECANCELED);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

static int look_whose_it_is(struct call *call)
{
    return lw_region_mutex_is_locked(call->on) + 2 * lw_region_mutex_is_mine(call->on);
}

REGION_TEST(tells_whether_it_is_held_and_by_the_caller)
{
    enum { LOCKED = 1, MINE = 2 };
    struct call look = calling(look_whose_it_is, &mutex);
    assert_int_equal(look_whose_it_is(&look), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(look_whose_it_is(&look), LOCKED + MINE);
    assert_int_equal(by_another(look_whose_it_is, &mutex), LOCKED);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);

    const struct process holder = spawn_holder();
    assert_int_equal(look_whose_it_is(&look), LOCKED);
    kill_it(&holder);
    assert_int_equal(lw_region_mutex_lock(&mutex), EOWNERDEAD);
    assert_int_equal(look_whose_it_is(&look), LOCKED + MINE);
    assert_int_equal(lw_region_mutex_abandon(&mutex), 0);
    assert_int_equal(look_whose_it_is(&look), 0);
}

/* What has the removed name's place is another mutex. */
REGION_TEST(a_mutex_that_was_removed_is_not_held)
{
    lw_region_mutex other;
    assert_int_equal(lw_region_remove(region, "lock"), 0);
    assert_int_equal(lw_region_mutex_named(region, "lock", &other), 0);
    assert_true(other.words == mutex.words);
    assert_int_equal(lw_region_mutex_lock(&other), 0);
    assert_true(lw_region_mutex_is_locked(&other));
    assert_true(lw_region_mutex_is_mine(&other));
    assert_false(lw_region_mutex_is_locked(&mutex));
    assert_false(lw_region_mutex_is_mine(&mutex));
    assert_int_equal(lw_region_mutex_unlock(&other), 0);
}

REGION_TEST(leaves_what_a_death_has_left)
{
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
}

REGION_TEST(abandons_and_resets)
{
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
}

/* Returns the first CPU on which the caller may run, or CPU_SETSIZE if it has no other one. */
static size_t one_of_several_cpus(void)
{
    cpu_set_t set;
    size_t cpu = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
        return CPU_SETSIZE;
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    return cpu;
}

static void run_on(size_t cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* On a CPU that another process is to keep busy, it takes long to end. */
static struct process spawn_slow_holder(size_t cpu)
{
    const struct process holder = fork_child();
    if (holder.pid == 0) {
        run_on(cpu);
        sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
        if (open_region() != 0)
            _exit(100);
        hold();
    }
    assert_int_equal(hear(&holder), 0);
    return holder;
}

static struct process spawn_busy(size_t cpu)
{
    const struct process busy = fork_child();
    if (busy.pid == 0) {
        run_on(cpu);
        say('.');
        for (;;)
            continue;
    }
    hear(&busy);
    return busy;
}

/*
 * When memory is short, the kernel takes that of a killed process before its threads have ended
 * (process_mrelease, and without a call when it has killed the process itself). What is mapped
 * shared it leaves.
 */
REGION_TEST(a_holder_whose_memory_is_taken_before_it_ends)
{
    const size_t cpu = one_of_several_cpus();
    bool is_taken = false;
    for (int round = 0; round < 5 && !is_taken && cpu < CPU_SETSIZE; round++) {
        const struct process holder = spawn_slow_holder(cpu);
        const struct process busy = spawn_busy(cpu);
        const int fd = (int)syscall(SYS_pidfd_open, holder.pid, 0);
        kill(holder.pid, SIGKILL);
        is_taken = syscall(SYS_process_mrelease, fd, 0) == 0;
        close(fd);
        kill_it(&busy);
        assert_int_equal(end_of(&holder), -SIGKILL);
        assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(9000)), EOWNERDEAD);
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    }
    if (!is_taken) {
        end();
        skip(); /* before Linux 5.15, not allowed, or with one CPU */
    }
}

static void exec_while_holding(void)
{
    say((char)lw_region_mutex_lock(&mutex));
    execlp("sleep", "sleep", "20", (char *)NULL);
}

REGION_TEST(a_holder_that_executes_another_program)
{
    const struct process holder = spawn(exec_while_holding);
    assert_int_equal(hear(&holder), 0);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
    kill_it(&holder);
}

REGION_TEST(a_holder_that_is_stopped)
{
    const struct process holder = spawn_holder();
    kill(holder.pid, SIGSTOP);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(1500)), ETIMEDOUT);
    kill_it(&holder);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
}

/*
 * The kernel wakes one keeper for a death. One that is stopped is not woken, and one that is killed
 * together with the holder wakes another one.
 */
REGION_TEST(keepers_that_are_stopped_or_killed)
{
    enum { OTHERS = 2 };
    struct lw_region_info info = {.waiters = 0};
    int late[2] = {0, 0}; /* rounds of each kind, of ten. A busy machine may be late, once */
    for (int i = 0; i < 20; i++) {
        const struct process holder = spawn(hold);
        hear(&holder);
        const struct process others[OTHERS] = {spawn(hold), spawn(hold)};
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
        late[i % 2] += now_ns() - start > 500 * (int64_t)NS_PER_MS;
        assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
        for (int k = 0; k < OTHERS; k++)
            kill_it(&others[k]);
        end_of(&holder);
    }
    assert_in_range(late[0], 0, 1);
    assert_in_range(late[1], 0, 1);
}

REGION_TEST(a_forked_child_holds_nothing)
{
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    const struct process child = fork_child();
    if (child.pid == 0) {
        if (lw_region_mutex_unlock(&mutex) != EPERM || lw_region_mutex_trylock(&mutex) != EBUSY)
            _exit(1);
        say(1);
        if (lw_region_mutex_lock(&mutex) != 0)
            _exit(2);
        say(2);
        stay();
    }
    assert_int_equal(hear(&child), 1);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(hear(&child), 2);
    kill_it(&child);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EOWNERDEAD);
}

REGION_TEST(all_die_and_the_next_to_open_is_told)
{
    assert_int_equal(lw_region_close(region), 0);
    leave_a_dead_holder();
    assert_int_equal(open_region(), 0);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

/* Where the file has the slot of the only name: docs/layout.md. */
static size_t slot_of_only_name(void)
{
    enum { FIRST = 331776, BYTES = 128 };
    const int fd = open(path, O_RDONLY);
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
REGION_TEST(a_process_that_dies_while_it_makes_a_name)
{
    const struct process maker = spawn_holder();
    overwrite(slot_of_only_name(), 0);
    kill_it(&maker);
    assert_int_equal(by_another(name_it, region), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

/* It had removed the name, and had not told those that know the mutex. */
REGION_TEST(a_process_that_dies_while_it_removes_a_name)
{
    const struct process remover = spawn_holder();
    overwrite(slot_of_only_name(), 2 << 8 | 0xff);
    kill_it(&remover);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(10000)), EIDRM);
    lw_region_mutex again = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&again), 0);
    assert_true(again.words == mutex.words);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EIDRM);
    assert_int_equal(lw_region_mutex_unlock(&again), 0);
    assert_int_equal(lw_region_mutex_lock(&mutex), EIDRM);
}

/* A damaged file says that an agent that does not exist holds a mutex. */
REGION_TEST(a_holder_that_never_was)
{
    overwrite(slot_of_only_name() + 64, 77 << 12 | 99);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EBUSY);
    assert_int_equal(lw_region_mutex_lock_until(&mutex, lw_after_ms(9000)), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    overwrite(32, 77 << 12 | 99); /* the directory's */
    lw_region_mutex other = named(region, "other");
    assert_int_equal(lw_region_mutex_lock(&other), 0);
    assert_int_equal(lw_region_mutex_unlock(&other), 0);
}

/*
 * The machine was switched off: the tokens are those of live threads, but of another boot. The
 * holder is stopped, since its keeper would correct the boot.
 */
REGION_TEST(the_machine_has_booted_again)
{
    assert_int_equal(lw_region_close(region), 0);
    const struct process holder = spawn_holder();
    kill(holder.pid, SIGSTOP);
    waitpid(holder.pid, NULL, WUNTRACED);
    overwrite(4096 + 4, 1234567); /* the boot of the first process row */
    assert_int_equal(open_region(), 0);
    assert_int_equal(lw_region_mutex_trylock(&mutex), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    kill_it(&holder);
}

/* A damaged file, or what region.h says of PID namespaces. The keeper must not spin. */
REGION_TEST(a_process_that_looks_dead_to_itself)
{
    enum { MEMBERS = 16 / 4, TOKEN = 4096 / 4 };
    const int fd = open(path, O_RDWR);
    uint32_t *words = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    const uint32_t token = words[TOKEN];
    __atomic_store_n(&words[TOKEN], token | FUTEX_OWNER_DIED, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&words[MEMBERS], 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &words[MEMBERS], FUTEX_WAKE, 1000);
    int64_t used;
    int chances = 3; /* since a CPU that the host took away may count as used */
    do {
        const int64_t before = used_ns();
        sleep_ms(200);
        used = used_ns() - before;
    } while (used >= 20 * NS_PER_MS && --chances);
    assert_true(used < 20 * NS_PER_MS);
    __atomic_store_n(&words[TOKEN], token, __ATOMIC_SEQ_CST);
    munmap(words, 8192);
}

REGION_TEST(more_regions_than_a_process_may_open)
{
    enum { REGIONS = 64 };
    lw_region *regions[REGIONS];
    lw_region *one_more;
    for (int i = 1; i < REGIONS; i++)
        assert_int_equal(lw_region_open(&regions[i], path, 0, 0, 0), 0);
    assert_int_equal(lw_region_open(&one_more, path, 0, 0, 0), EMFILE);
    for (int i = 1; i < REGIONS; i++)
        assert_int_equal(lw_region_close(regions[i]), 0);
}

enum { IN_ONE = 60, MANY = 6 }; /* openings in a process, and processes */

static void hold_many(int of)
{
    for (int i = 0; i < IN_ONE; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", of * IN_ONE + i);
        if (lw_region_open(&region, path, 0, 0, 0) != 0 ||
            lw_region_mutex_named(region, name, &mutex) != 0 || lw_region_mutex_lock(&mutex) != 0)
            _exit(1);
    }
    say('h');
    stay();
}

/*
 * More processes than a keeper can wait on, all but one of them killed at once. To the region each
 * opening counts as a process.
 */
REGION_TEST(many_processes)
{
    struct process holders[MANY];
    for (int of = 0; of < MANY; of++) {
        holders[of] = fork_child();
        if (holders[of].pid == 0)
            hold_many(of);
    }
    for (int of = 0; of < MANY; of++)
        assert_int_equal(hear(&holders[of]), 'h');
    for (int of = 0; of < MANY; of++)
        kill(holders[of].pid, SIGKILL);
    for (int of = 0; of < MANY; of++)
        assert_int_equal(end_of(&holders[of]), -SIGKILL);
    /* To try looks for no dead process, nor does to find a name: only a keeper does. */
    const int64_t limit = now_ns() + 10000 * (int64_t)NS_PER_MS;
    for (int i = 0; i < MANY * IN_ONE; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        mutex = named(region, name);
        int error;
        while ((error = lw_region_mutex_trylock(&mutex)) == EBUSY && now_ns() < limit)
            sleep_ms(5);
        assert_int_equal(error, EOWNERDEAD);
    }
}

static int open_one_more(struct call *call)
{
    lw_region *more;
    const int error = lw_region_open(&more, path, 0, 0, 0);
    if (!error)
        lw_region_close(more);
    (void)call;
    return error;
}

enum { PROCESSES_AT = 4096, PROCESSES = 1024, USED_PROCESSES_AT = 528 };

/* These rows seem to belong to processes that have no keepers, and live if the token is 1. */
static void fill_rows(size_t from, size_t to, uint32_t token)
{
    uint32_t boot;
    const int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, &boot, sizeof boot, PROCESSES_AT + 4), sizeof boot);
    close(fd);
    overwrite(USED_PROCESSES_AT, UINT32_MAX);
    overwrite(USED_PROCESSES_AT + 4, UINT32_MAX);
    for (size_t row = from; row < to; row++) {
        overwrite(PROCESSES_AT + row * 64 + 4, boot);
        overwrite(PROCESSES_AT + row * 64, token);
    }
}

/* The only keeper waits on the rows before it. */
REGION_TEST(a_process_that_no_keeper_waits_on)
{
    fill_rows(1, 200, 1);
    leave_a_dead_holder();
    int error = EBUSY;
    for (int i = 0; i < 1000 && error == EBUSY; i++) {
        sleep_ms(5);
        error = lw_region_mutex_trylock(&mutex);
    }
    assert_int_equal(error, EOWNERDEAD);
}

REGION_TEST(more_processes_than_rows)
{
    fill_rows(1, PROCESSES, 1);
    assert_int_equal(by_another(open_one_more, region), EAGAIN);
    overwrite(PROCESSES_AT + (PROCESSES - 1) * 64, 0); /* the last is for one that buries */
    assert_int_equal(by_another(open_one_more, region), EAGAIN);
    overwrite(PROCESSES_AT + 7 * 64, 0);
    assert_int_equal(by_another(open_one_more, region), 0);
    assert_int_equal(by_another(open_one_more, region), 0);
}

/* They were killed at the same time. */
REGION_TEST(rows_that_all_belong_to_the_dead)
{
    assert_int_equal(lw_region_close(region), 0);
    fill_rows(0, PROCESSES - 1, 1 | FUTEX_OWNER_DIED);
    assert_int_equal(lw_region_open(&region, path, 0, 0, 0), 0);
    assert_int_equal(by_another(open_one_more, region), 0);
    mutex = named(region, "lock");
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
}

static int name_this_thread(struct call *call)
{
    return lw_region_name_thread(call->on, "one more");
}

/* Returns the line of a call that does not tell that there is no row for this thread, or 0. */
static int need_a_row(struct call *call)
{
    lw_region_rmutex recursive;
    lw_region_once once;
    lw_region_permits permits;
    lw_region_rwtable table;
    lw_region_rwlock rwlock;
    uint32_t which;
    if (lw_region_rmutex_named(call->on, "recursive", &recursive) != 0 ||
        lw_region_once_named(call->on, "once", &once) != 0 ||
        lw_region_permits_named(call->on, "permits", 2, &permits) != 0 ||
        lw_region_rwtable_named(call->on, "table", &table) != 0 ||
        lw_region_rwlock_named(call->on, "rwlock", &rwlock) != 0)
        return __LINE__;
#define REFUSED(call)                                                                              \
    do {                                                                                           \
        if ((call) != EAGAIN)                                                                      \
            return __LINE__;                                                                       \
    } while (0)
    REFUSED(lw_region_name_thread(call->on, "one more"));
    REFUSED(lw_region_mutex_lock(&mutex));
    REFUSED(lw_region_mutex_trylock(&mutex));
    REFUSED(lw_region_mutex_unlock(&mutex));
    REFUSED(lw_region_mutex_reset(&mutex));
    REFUSED(lw_region_rmutex_lock(&recursive));
    REFUSED(lw_region_rmutex_trylock(&recursive));
    REFUSED(lw_region_rmutex_unlock(&recursive));
    REFUSED(lw_region_rmutex_leave(&recursive));
    REFUSED(lw_region_once_begin(&once));
    REFUSED(lw_region_once_finish(&once, true));
    REFUSED(lw_region_permits_acquire(&permits, &which));
    REFUSED(lw_region_permits_tryacquire(&permits, &which));
    REFUSED(lw_region_permits_release(&permits, 0));
    REFUSED(lw_region_rwtable_rdlock(&table));
    REFUSED(lw_region_rwtable_wrlock(&table));
    REFUSED(lw_region_rwtable_tryrdlock(&table));
    REFUSED(lw_region_rwtable_trywrlock(&table));
    REFUSED(lw_region_rwtable_unlock(&table));
    REFUSED(lw_region_rwtable_leave(&table));
    REFUSED(lw_region_rwtable_abandon(&table));
    REFUSED(lw_region_rwtable_reset(&table));
    REFUSED(lw_region_rwlock_wrlock(&rwlock));
    REFUSED(lw_region_rwlock_trywrlock(&rwlock));
    REFUSED(lw_region_rwlock_unlock(&rwlock));
    REFUSED(lw_region_remove(call->on, "rwlock"));
    return 0;
}

REGION_TEST(more_threads_than_rows)
{
    lw_region_rmutex recursive;
    lw_region_once once;
    lw_region_permits permits;
    lw_region_rwtable table;
    lw_region_rwlock rwlock;
    assert_int_equal(lw_region_rmutex_named(region, "recursive", &recursive), 0);
    assert_int_equal(lw_region_once_named(region, "once", &once), 0);
    assert_int_equal(lw_region_permits_named(region, "permits", 2, &permits), 0);
    assert_int_equal(lw_region_rwtable_named(region, "table", &table), 0);
    assert_int_equal(lw_region_rwlock_named(region, "rwlock", &rwlock), 0);
    enum { AGENTS_AT = 69632, AGENTS = 4096, USED_AGENTS_AT = 512 };
    assert_int_equal(lw_region_name_thread(region, "the test"), 0);
    const int fd = open(path, O_RDWR);
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
    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(by_another(need_a_row, region), 0);
    /* They end with the process. */
    assert_int_equal(lw_region_close(region), 0);
    assert_int_equal(lw_region_open(&region, path, 0, 0, 0), 0);
    assert_int_equal(by_another(name_this_thread, region), 0);
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

REGION_TEST(a_name_is_of_one_kind)
{
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
}

static void use_what_has_no_owner(void)
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
    say(1);
    lw_sem_release(sem, 3);
    lw_event_set(event);
    lw_latch_count_down(latch, 1);
    sleep_ms(2);
    lw_counter_add(counter, 5, NULL);
    lw_barrier_wait(barrier);
    lw_waitgroup_done(group);
}

REGION_TEST(what_has_no_owner_works_between_processes)
{
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
    const struct process other = spawn(use_what_has_no_owner);
    assert_int_equal(hear(&other), 1);
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
}

static lw_event *event_named(lw_region *in)
{
    lw_event *event;
    return lw_region_event_named(in, "event", NULL, &event) == 0 ? event : NULL;
}

static int wait_for_event(struct call *call)
{
    return lw_event_wait_until(call->on, call->deadline);
}

/* Changes the word as lw_event_set does, and dies before it notifies. */
static void set_and_die(void)
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
        const struct process setter = spawn(set_and_die);
        assert_int_equal(end_of(&setter), -SIGKILL);
        assert_int_equal(end_call(&call), 0);
        if (now_ns() - start < least)
            least = now_ns() - start;
    }
    assert_true(least < 500 * (int64_t)NS_PER_MS);
}

REGION_TEST(a_wake_up_that_died_is_replaced)
{
    lw_event *event = event_named(region);
    assert_woken(event, wait_for_event, event);
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
    begin();
    lw_event *events[] = {event_named(other), NULL, event_named(region)};
    assert_int_equal(lw_region_event_named(region, "first", NULL, &events[1]), 0);
    assert_woken(events[2], wait_for_three, events);
    end();
    assert_int_equal(lw_region_close(other), 0);
    munmap(memory, SIZE);
}

/* The region does not know of the process: the waiter looks. */
REGION_TEST(a_wake_up_that_died_in_a_forked_child)
{
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
}

/* To close one of two regions over the same memory leaves the other one's waits shared. */
TEST(memory_that_is_opened_twice)
{
    const size_t size = 1 << 20;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
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

REGION_TEST(what_is_waited_for_is_not_removed)
{
    lw_event *event = event_named(region);
    struct call call = calling(wait_for_event, event);
    start_sleeper(&call);
    while (told("event").longest_ms == 0)
        sleep_ms(2);
    assert_int_equal(told("event").waiters, 1);
    assert_int_equal(lw_region_remove(region, "event"), EBUSY);
    lw_event_set(event);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(lw_region_remove(region, "event"), 0);
}

static lw_region_once once_named(void)
{
    lw_region_once once = {NULL, NULL};
    lw_region_once_named(region, "once", &once);
    return once;
}

static void run_for_ever(void)
{
    const lw_region_once once = once_named();
    say((char)lw_region_once_begin(&once));
    stay();
}

static int begin_once(struct call *call)
{
    return lw_region_once_begin_until(call->on, call->deadline);
}

REGION_TEST(a_once_whose_runner_dies)
{
    lw_region_once once = once_named();
    const struct process runner = spawn(run_for_ever);
    assert_int_equal(hear(&runner), LW_ONCE_RUN);
    assert_int_equal(lw_region_once_begin_until(&once, lw_after_ms(20)), ETIMEDOUT);
    assert_int_equal(lw_region_once_finish(&once, true), EPERM);
    assert_int_equal(lw_region_remove(region, "once"), EBUSY);
    assert_int_equal(told("once").holder_pid, runner.pid);
    struct call call = calling(begin_once, &once);
    start_sleeper(&call);
    kill_it(&runner);
    assert_int_equal(end_call(&call), LW_ONCE_RUN);
    /* That thread has exited, and could not finish. */
    assert_int_equal(lw_region_once_begin_until(&once, lw_after_ms(9000)), LW_ONCE_RUN);
    assert_int_equal(lw_region_once_begin(&once), EDEADLK);
    assert_int_equal(lw_region_once_finish(&once, false), 0);
    assert_int_equal(lw_region_once_begin(&once), LW_ONCE_RUN);
    assert_false(lw_region_once_is_done(&once));
    start_sleeper(&call);
    assert_int_equal(lw_region_once_finish(&once, true), 0);
    assert_int_equal(end_call(&call), 0);
    assert_true(lw_region_once_is_done(&once));
    assert_int_equal(lw_region_once_begin(&once), 0);
    assert_int_equal(told("once").recoveries, 2);
}

static lw_region_rmutex rmutex_named(void)
{
    lw_region_rmutex rmutex;
    assert_int_equal(lw_region_rmutex_named(region, "recursive", &rmutex), 0);
    return rmutex;
}

static void hold_twice(void)
{
    lw_region_rmutex rmutex;
    int error = lw_region_rmutex_named(region, "recursive", &rmutex);
    error |= lw_region_rmutex_lock(&rmutex) | lw_region_rmutex_lock(&rmutex);
    say((char)error);
    stay();
}

static int trylock_recursive(struct call *call)
{
    return lw_region_rmutex_trylock(call->on);
}

REGION_TEST(a_recursive_mutex)
{
    lw_region_rmutex rmutex = rmutex_named();
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_trylock(&rmutex), 0);
    for (int depth = 3; depth > 0; depth--) {
        assert_int_equal(by_another(trylock_recursive, &rmutex), EBUSY);
        assert_int_equal(lw_region_rmutex_unlock(&rmutex), 0);
    }
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), EPERM);
    lw_word *depth = &rmutex.mutex.words[8]; /* docs/layout.md */
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    *depth = LW_RMUTEX_AGAIN - 1;
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), EOVERFLOW);
    assert_int_equal(*depth, LW_RMUTEX_AGAIN);
    *depth = 0;
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), 0);
    const struct process holder = spawn(hold_twice);
    assert_int_equal(hear(&holder), 0);
    assert_int_equal(lw_region_rmutex_lock_until(&rmutex, lw_after_ms(20)), ETIMEDOUT);
    kill_it(&holder);
    assert_int_equal(lw_region_rmutex_lock_until(&rmutex, lw_after_ms(9000)), EOWNERDEAD);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_leave(&rmutex), 0);
    assert_true(lw_region_mutex_is_mine(&rmutex.mutex));
    assert_int_equal(lw_region_rmutex_leave(&rmutex), 0);
    assert_false(lw_region_mutex_is_locked(&rmutex.mutex));
    assert_int_equal(lw_region_rmutex_leave(&rmutex), EPERM);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), EOWNERDEAD);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_abandon(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), ENOTRECOVERABLE);
    assert_int_equal(lw_region_rmutex_reset(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), 0);
    assert_int_equal(by_another(trylock_recursive, &rmutex), 0);
}

static lw_cond *notified;

static int lock_once_and_notify(struct call *call)
{
    int error = lw_region_rmutex_lock(call->on);
    lw_cond_notify_one(notified);
    return error | lw_region_rmutex_unlock(call->on);
}

static void notify_or_die(void)
{
    lw_cond *cond;
    if (lw_region_cond_named(region, "cond", NULL, &cond))
        _exit(1);
    lw_region_mutex_lock(&mutex);
    lw_cond_notify_one(cond);
    lw_region_mutex_unlock(&mutex);
    say(1);
    lw_event_wait(event_named(region));
    lw_region_mutex_lock(&mutex); /* once the parent waits again */
    lw_cond_notify_all(cond);
    kill(getpid(), SIGKILL);
}

REGION_TEST(a_condition)
{
    lw_region_rmutex rmutex = rmutex_named();
    lw_cond *cond;
    assert_int_equal(lw_region_cond_named(region, "cond", NULL, &cond), 0);
    assert_int_equal(lw_region_cond_wait(cond, &rmutex.mutex), EPERM);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_lock(&rmutex), 0);
    assert_int_equal(lw_region_cond_wait_until(cond, &rmutex.mutex, lw_after_ms(10)), ETIMEDOUT);
    /* It has the mutex twice again, though another thread had it once meanwhile. */
    struct call call = calling(lock_once_and_notify, &rmutex);
    notified = cond;
    start_call(&call);
    assert_int_equal(lw_region_cond_wait_until(cond, &rmutex.mutex, lw_after_ms(9000)), 0);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), 0);
    assert_int_equal(lw_region_rmutex_unlock(&rmutex), EPERM);

    assert_int_equal(lw_region_mutex_lock(&mutex), 0);
    const struct process other = spawn(notify_or_die);
    assert_int_equal(lw_region_cond_wait_until(cond, &mutex, lw_after_ms(9000)), 0);
    assert_int_equal(hear(&other), 1);
    lw_event_set(event_named(region));
    assert_int_equal(lw_region_cond_wait_until(cond, &mutex, lw_after_ms(9000)), EOWNERDEAD);
    assert_int_equal(lw_region_mutex_unlock(&mutex), 0);
    assert_int_equal(end_of(&other), -SIGKILL);
}

static void write_for_ever(void)
{
    lw_region_rwlock rwlock;
    if (lw_region_rwlock_named(region, "rwlock", &rwlock))
        _exit(1);
    say((char)lw_region_rwlock_wrlock(&rwlock));
    stay();
}

REGION_TEST(a_read_write_lock)
{
    lw_region_rwlock rwlock;
    assert_int_equal(lw_region_rwlock_named(region, "rwlock", &rwlock), 0);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), EPERM);
    assert_int_equal(lw_region_rwlock_rdlock(&rwlock), 0);
    assert_int_equal(lw_region_rwlock_tryrdlock(&rwlock), 0);
    assert_int_equal(lw_region_rwlock_trywrlock(&rwlock), EBUSY);
    const struct process writer = spawn(write_for_ever);
    await_waiters("rwlock", 1);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), 0);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), 0);
    assert_int_equal(hear(&writer), 0);
    assert_int_equal(told("rwlock").holder_pid, writer.pid);
    assert_int_equal(lw_region_rwlock_rdlock_until(&rwlock, lw_after_ms(10)), ETIMEDOUT);
    assert_int_equal(lw_region_rwlock_unlock(&rwlock), EPERM);
    kill_it(&writer);
    /* As region.h says: its write is not given back. */
    assert_int_equal(lw_region_rwlock_wrlock_until(&rwlock, lw_after_ms(30)), ETIMEDOUT);
}

REGION_TEST(named_bytes)
{
    lw_region *again;
    assert_int_equal(lw_region_open(&again, path, 0, 0, 0), 0);
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
}

REGION_TEST(named_bytes_never_overlap)
{
    enum { RANGES = 300, ROUNDS = 3000, ROOM = 2048 * 128 };
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
}

/* Holds the mutex "lock" and then waits for "other", which the parent holds. */
static void lock_both(void)
{
    lw_region_mutex other;
    if (lw_region_mutex_named(region, "other", &other) ||
        lw_region_name_thread(region, "the child") || lw_region_mutex_lock(&mutex))
        _exit(1);
    say(1);
    if (lw_region_mutex_lock(&other) != 0)
        _exit(2);
}

static int check_deadlock(lw_region *of)
{
    struct lw_region_link links[8];
    uint32_t found;
    int error;
    for (int i = 0; i < 2000; i++) {
        error = lw_region_deadlock(of, links, COUNT_OF(links), &found);
        if (error == 0)
            break;
        sleep_ms(2);
    }
    if (error || found != 2)
        return error ? error : -1;
    const bool child_first = strcmp(links[0].thread, "the child") == 0;
    const struct lw_region_link *child = &links[!child_first];
    const struct lw_region_link *parent = &links[child_first];
    if (strcmp(child->waits_for, "other") != 0 || strcmp(parent->waits_for, "lock") != 0)
        return -2;
    if (strcmp(child->thread, "the child") != 0)
        return -3;
    if (parent->pid != (uint32_t)getpid() || parent->tid == 0)
        return -4;
    struct lw_region_info info;
    sleep_ms(30);
    error = lw_region_describe(of, "lock", &info);
    if (error)
        return error;
    return info.holder_pid != child->pid ? -5 : info.held_ms < 20 ? -6 : 0;
}

/* Ends the parent's wait last: how long the lock was held is told while a thread waits for it. */
static int find_deadlock(struct call *call)
{
    const int problem = check_deadlock(call->on);
    lw_cancel_fire(call->cancel);
    return problem;
}

REGION_TEST(a_deadlock_is_named)
{
    uint32_t found;
    lw_region_mutex other = named(region, "other");
    assert_int_equal(lw_region_deadlock(region, NULL, 0, &found), ENOENT);
    assert_int_equal(lw_region_mutex_lock(&other), 0);
    const struct process child = spawn(lock_both);
    assert_int_equal(hear(&child), 1);
    await_waiters("other", 1);
    /* It waits, but for one that waits for nothing. */
    assert_int_equal(lw_region_deadlock(region, NULL, 0, &found), ENOENT);
    lw_cancel found_it = LW_CANCEL_INIT;
    struct call call = calling(find_deadlock, region);
    call.cancel = &found_it;
    start_call(&call);
    assert_int_equal(lw_region_mutex_lock_cancel(&mutex, LW_FOREVER, &found_it), ECANCELED);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(lw_region_deadlock(region, NULL, 0, &found), ENOENT);
    assert_int_equal(found, 0);
    assert_int_equal(lw_region_mutex_unlock(&other), 0);
    assert_int_equal(end_of(&child), 0);
}

/* Has the mutex "removed" after it was removed, as a thread has that has not noticed. */
static void hold_removed(void)
{
    const lw_region_mutex removed = named(region, "removed");
    uint32_t self;
    say((char)lw_region_mutex_lock(&removed));
    self = lw_region_last_agent.id;
    lw_region_mutex_unlock(&removed);
    say(1);
    await_word();
    say((char)!lw_mutex_try_step(removed.words, self));
    stay();
}

static struct process leave_a_removed_mutex(void)
{
    const struct process process = spawn(hold_removed);
    assert_int_equal(hear(&process), 0);
    assert_int_equal(hear(&process), 1);
    assert_int_equal(lw_region_remove(region, "removed"), 0);
    tell(&process);
    assert_int_equal(hear(&process), 0);
    return process;
}

static int name_removed(struct call *call)
{
    return lw_region_mutex_named(region, "removed", call->on);
}

/* It stops there, and nobody waits for it to go on. */
REGION_TEST(a_thread_has_a_mutex_that_was_removed)
{
    const struct process process = leave_a_removed_mutex();
    lw_region_mutex removed;
    lw_region_mutex again;
    assert_int_equal(by_another(name_removed, &removed), 0);
    assert_int_equal(lw_region_mutex_lock(&removed), 0);
    assert_int_equal(lw_region_mutex_named(region, "removed", &again), 0);
    assert_true(again.words == removed.words);
    assert_int_equal(lw_region_mutex_unlock(&removed), 0);
    kill_it(&process);
}

/* There is no other slot. */
REGION_TEST(a_thread_has_the_last_slot)
{
    char name[8];
    lw_region_mutex removed;
    int error = 0;
    const struct process process = leave_a_removed_mutex();
    for (int i = 0; i < 10000 && !error; i++) {
        snprintf(name, sizeof name, "%d", i);
        error = lw_region_mutex_named(region, name, &removed);
    }
    assert_int_equal(error, ENOSPC);
    kill_it(&process);
    assert_int_equal(lw_region_mutex_named(region, "removed", &removed), 0);
    assert_int_equal(lw_region_mutex_named(region, "more", &removed), ENOSPC);
}

RUN_TESTS("region")
