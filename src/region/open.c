/*
 * open.c: makes regions, checks those that there are, and maps them.
 *
 * A file appears at its path only once it is complete: it is made without a name, or under a
 * temporary one, and then linked. In other memory, whoever finds zeros makes the region. All that
 * is written is constant, but for the size, which is decided by a compare-and-swap: so several
 * processes may do so at once, and another one goes on if one is killed.
 */
#define _GNU_SOURCE
#include "care.h"
#include "region.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../wait/platform.h"

#define LEAST_BYTES (sizeof(struct memory) + 2 * sizeof(struct slot))
#define DEFAULT_BYTES (sizeof(struct memory) + 2 * 2048 * sizeof(struct slot))
#define MOST_SLOTS 65536u
#define MOST_BYTES (UINT32_MAX - 4095)
#define LEAST_BLOCK 512 /* of a file system */
#define NO_REPLACE 1    /* RENAME_NOREPLACE, which musl does not have */

static bool are_flags(unsigned flags)
{
    return flags & LW_REGION_CREATE || !(flags & LW_REGION_EXCLUSIVE);
}

static bool is_size(size_t size)
{
    return LEAST_BYTES <= size && size <= MOST_BYTES;
}

/* Half of the room is for names, and half for ranges of bytes. */
static uint32_t slots_of(size_t size)
{
    const size_t slots = (size - sizeof(struct memory)) / (2 * sizeof(struct slot));
    return slots < MOST_SLOTS ? (uint32_t)slots : MOST_SLOTS;
}

/*
 * Writes the header of a region of this size, unless there is one already. Returns whether the
 * caller makes the region: one of those that do so at once.
 */
static bool initialise(struct header *header, size_t size)
{
    lw_store(&header->version, LW_REGION_VERSION, lw_relaxed);
    const bool is_first = lw_cas(&header->size, 0, (uint32_t)size, lw_acq_rel) == 0;
    lw_store(&header->magic[0], LW_REGION_MAGIC_0, lw_release);
    lw_store(&header->magic[1], LW_REGION_MAGIC_1, lw_release);
    return is_first;
}

/* Returns whether there is no region yet, at most one that is being made. */
static bool is_blank(const struct header *header)
{
    const uint32_t version = lw_load(&header->version, lw_acquire);
    const uint32_t first = lw_load(&header->magic[0], lw_acquire);
    return lw_load(&header->magic[1], lw_acquire) == 0 &&
           (first == 0 || first == LW_REGION_MAGIC_0) &&
           (version == 0 || version == LW_REGION_VERSION);
}

/* Returns 0 and the region's size, EBADMSG or EPROTO. */
static int check(const struct header *header, size_t available, size_t *size)
{
    if (lw_load(&header->magic[1], lw_acquire) != LW_REGION_MAGIC_1 ||
        lw_load(&header->magic[0], lw_acquire) != LW_REGION_MAGIC_0)
        return EBADMSG;
    if (lw_load(&header->version, lw_relaxed) != LW_REGION_VERSION)
        return EPROTO;
    *size = lw_load(&header->size, lw_relaxed);
    return is_size(*size) && *size <= available ? 0 : EBADMSG;
}

/* Makes an open region of memory that has been checked. Returns 0 or an errno code. */
static int attach(lw_region **out, void *memory, size_t size)
{
    int error = lw_region_learn_boot();
    if (error)
        return error;
    lw_region *region = calloc(1, sizeof *region);
    if (!region)
        return ENOMEM;
    region->memory = memory;
    region->slots = slots_of(size);
    while ((region->slots - 1) >> region->slots_part_shift >= 32 * USED_SLOTS)
        region->slots_part_shift++;
    region->bytes = (uint32_t)(sizeof(struct memory) + region->slots * sizeof(struct slot));
    region->end = (uint32_t)size;
    __atomic_store_n(&lw_carer, &lw_region_carer, __ATOMIC_RELEASE);
    error = lw_share(memory, size, region, &region->memory->header.doorbell);
    if (!error) {
        lw_region_register(region);
        /* The dead are buried here, even if this process never takes a mutex. */
        error = lw_region_join(region);
        if (error) {
            lw_region_unregister(region);
            lw_unshare(region);
        }
    }
    if (error)
        free(region);
    else
        *out = region;
    return error;
}

static int open_memory(lw_region **region, void *memory, size_t size, unsigned flags)
{
    if (!memory || (uintptr_t)memory % 64 != 0 || size < sizeof(struct header) || !are_flags(flags))
        return EINVAL;
    struct header *header = memory;
    if (flags & LW_REGION_CREATE && is_blank(header)) {
        if (!is_size(size))
            return EINVAL;
        if (!initialise(header, size) && flags & LW_REGION_EXCLUSIVE)
            return EEXIST;
    } else if (flags & LW_REGION_CREATE && flags & LW_REGION_EXCLUSIVE) {
        return EEXIST;
    }
    const int error = check(header, size, &size);
    return error ? error : attach(region, memory, size);
}

int lw_region_open_memory(lw_region **region, void *memory, size_t size, unsigned flags)
{
    const struct lw_quiet before = lw_begin_quietly();
    const int error = open_memory(region, memory, size, flags);
    lw_end_quietly(before);
    return error;
}

/* How much of a file is mapped, if so many bytes are there. */
static size_t bytes_to_map(size_t available)
{
    return available < MOST_BYTES ? available : MOST_BYTES;
}

static int map_and_open(lw_region **region, int fd, size_t available, unsigned flags)
{
    if (available < LEAST_BYTES)
        return EBADMSG;
    const size_t mapped = bytes_to_map(available);
    void *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return errno;
    const int error = open_memory(region, memory, mapped, flags);
    if (error)
        munmap(memory, mapped);
    else
        (*region)->mapped = mapped;
    return error;
}

/*
 * Writes a zero to each block that has one, as glibc's posix_fallocate does, and musl's does not:
 * another process may have made the region meanwhile.
 */
static int write_zeros(int fd, size_t size)
{
    char byte = 0;
    for (size_t end = size; end > 0; end = end > LEAST_BLOCK ? end - LEAST_BLOCK : 0) {
        const off_t last = (off_t)end - 1;
        if (pread(fd, &byte, 1, last) < 0 || (byte == 0 && pwrite(fd, &byte, 1, last) < 0))
            return errno;
    }
    return 0;
}

/*
 * Reserves space, so that a full disk is an error now and not a SIGBUS later. Beyond the process's
 * limit for files, the kernel would send SIGXFSZ.
 */
static int reserve(int fd, size_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size)
        return EFBIG;
    int error;
    do {
        error = posix_fallocate(fd, 0, (off_t)size);
    } while (error == EINTR);
    return error == EOPNOTSUPP ? write_zeros(fd, size) : error;
}

/* Reserves what a new region of the file needs. The file is this long. Returns an errno code. */
static int make_room(int fd, size_t length, size_t wanted)
{
    struct header header;
    if (length == 0)
        return is_size(wanted) ? reserve(fd, wanted) : EINVAL;
    /* As ftruncate leaves it, it is long, and has no space. */
    const bool is_new = length >= LEAST_BYTES &&
                        pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                        is_blank(&header);
    return is_new ? reserve(fd, bytes_to_map(length)) : 0;
}

static int open_fd(lw_region **region, int fd, unsigned flags, size_t size)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode) || !are_flags(flags))
        return EINVAL;
    if (!(flags & LW_REGION_ANY_OWNER) && status.st_uid != geteuid())
        return EPERM;
    if (size == 0)
        size = DEFAULT_BYTES;
    if (flags & LW_REGION_CREATE) {
        const int error = make_room(fd, (size_t)status.st_size, size);
        if (error)
            return error;
        if (fstat(fd, &status) != 0)
            return errno;
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK); /* fails for all but memfds that allow it */
    /* Another process may just make a larger region of the same empty file. */
    int error;
    off_t mapped;
    do {
        mapped = status.st_size;
        error = map_and_open(region, fd, (size_t)mapped, flags);
    } while (error == EBADMSG && fstat(fd, &status) == 0 && status.st_size > mapped);
    if (!error) {
        (*region)->device = status.st_dev;
        (*region)->inode = status.st_ino;
    }
    return error;
}

int lw_region_open_fd(lw_region **region, int fd, unsigned flags, size_t size)
{
    const struct lw_quiet before = lw_begin_quietly();
    const int error = open_fd(region, fd, flags, size);
    lw_end_quietly(before);
    return error;
}

/* Writes a region's header to the file, and reserves its space. Returns 0 or an errno code. */
static int fill(int fd, size_t size)
{
    const int error = reserve(fd, size);
    if (error)
        return error;
    struct header header = {0};
    initialise(&header, size);
    const ssize_t written = pwrite(fd, &header, sizeof header, 0);
    return written == (ssize_t)sizeof header ? 0 : written < 0 ? errno : EIO;
}

static int link_nameless(int fd, const char *path)
{
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Puts the file of the temporary name at the path, and takes that name away. */
static int give_path(const char *name, const char *path)
{
    if (link(name, path) == 0) {
        unlink(name);
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP)
        return errno;
    /* The file system has no hard links. */
    if (syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, path, NO_REPLACE) == 0)
        return 0;
    return errno == EEXIST ? EEXIST : EOPNOTSUPP;
}

/* Where files without a name do not exist: if it is killed, its temporary file stays. */
static int make_by_temporary_name(const char *path, unsigned mode, size_t size)
{
    char name[PATH_MAX];
    uint32_t n = (uint32_t)getpid();
    int fd;
    do {
        if (snprintf(name, sizeof name, "%s.%x", path, n++) >= (int)sizeof name)
            return ENAMETOOLONG;
        fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, (mode_t)mode);
    } while (fd < 0 && errno == EEXIST);
    if (fd < 0)
        return errno;
    int error = fill(fd, size);
    if (!error)
        error = give_path(name, path);
    if (error)
        unlink(name);
    close(fd);
    return error;
}

/* Makes a file with a region at the path. Returns 0 or an errno code, such as EEXIST. */
static int make(const char *path, unsigned mode, size_t size)
{
    char folder[PATH_MAX];
    const size_t length = strlen(path);
    if (length >= sizeof folder)
        return ENAMETOOLONG;
    memcpy(folder, path, length + 1);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    else
        memcpy(folder, ".", 2);
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t)mode);
    if (fd < 0)
        return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL
                   ? make_by_temporary_name(path, mode, size)
                   : errno;
    int error = fill(fd, size);
    if (!error) {
        error = link_nameless(fd, path);
        if (error == ENOENT) /* no /proc, or no such folder any more */
            error = make_by_temporary_name(path, mode, size);
    }
    close(fd);
    return error;
}

static int open_path(lw_region **region, const char *path, unsigned flags, unsigned mode,
                     size_t size)
{
    if (size == 0)
        size = DEFAULT_BYTES;
    if (!path || !are_flags(flags) || (flags & LW_REGION_CREATE && !is_size(size)))
        return EINVAL;
    for (;;) {
        if (!(flags & LW_REGION_EXCLUSIVE)) {
            const int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
            if (fd >= 0) {
                const int error = open_fd(region, fd, flags & LW_REGION_ANY_OWNER, 0);
                close(fd);
                return error;
            }
            if (errno != ENOENT || !(flags & LW_REGION_CREATE))
                return errno;
        }
        const int error = make(path, mode, size);
        if (error && (error != EEXIST || flags & LW_REGION_EXCLUSIVE))
            return error;
        flags &= ~(unsigned)LW_REGION_EXCLUSIVE;
    }
}

int lw_region_open(lw_region **region, const char *path, unsigned flags, unsigned mode, size_t size)
{
    const struct lw_quiet before = lw_begin_quietly();
    const int error = open_path(region, path, flags, mode, size);
    lw_end_quietly(before);
    return error;
}

int lw_region_close(lw_region *region)
{
    const struct lw_quiet before = lw_begin_quietly();
    lw_region_stop_listening(region);
    /* First: a thread that exits gives back its id, which another process may have once this one
     * has left. */
    lw_region_unregister(region);
    lw_region_leave(region);
    lw_unshare(region);
    if (region->mapped)
        munmap(region->memory, region->mapped);
    free(region);
    lw_end_quietly(before);
    return 0;
}
