/*
 * no-locks.c: loaded into a program by LD_PRELOAD, the system cannot wait for the lock of a file
 * any more, as if it had no memory for it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

int fcntl(int file, int command, ...)
{
    int (*original)(int, int, ...);
    *(void **)&original = dlsym(RTLD_NEXT, "fcntl");
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (command != F_OFD_SETLKW)
        return original(file, command, argument);
    errno = ENOLCK;
    return -1;
}
