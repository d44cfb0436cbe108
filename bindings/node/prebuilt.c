/*
 * prebuilt.c: what lets one addon run with glibc from 2.28 on, which is as old as Node needs, and
 * with musl. It is linked against no C library: it takes what the process has, without versions.
 * The two agree on what the addon uses, on x64 and arm64, but for these names. test/package looks
 * up all others in both.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc has no functions of these names before 2.33. The kernel's struct stat is that of both. */
int fstat(int fd, struct stat *about)
{
    return (int)syscall(SYS_fstat, fd, about);
}

int lstat(const char *restrict path, struct stat *restrict about)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}

/* musl's, and glibc's, whose linker adds the other to what it links. NULL: not this C library. */
typedef void handler(void);
__attribute__((weak)) int of_musl(handler *, handler *, handler *) __asm__("pthread_atfork");
__attribute__((weak)) int __register_atfork(handler *, handler *, handler *, void *library);

/* The addon is compiled with this name instead of pthread_atfork. */
int lw_atfork(handler *prepare, handler *parent, handler *child);
int lw_atfork(handler *prepare, handler *parent, handler *child)
{
    return __register_atfork ? __register_atfork(prepare, parent, child, NULL)
                             : of_musl(prepare, parent, child);
}
