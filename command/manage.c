/* manage.c: `lockword wait`, `break` and `remove`. */
#define _GNU_SOURCE
#include "command.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Takes the lock, and gives it back. If a holder has died, this process ends while it holds the
 * lock, so that the next one that takes it is still told.
 */
int command_wait(const struct options *options, char **words)
{
    lw_region *region = open_region(options, false);
    struct lw_region_info info;
    if (!region || lw_region_describe(region, words[0], &info))
        return 0;
    const lw_region_mutex lock = find_lock(region, words[0]);
    const int error = options->tries ? lw_region_mutex_trylock(&lock)
                                     : lw_region_mutex_lock_until(&lock, deadline_of(options));
    if (error == EBUSY || error == ETIMEDOUT)
        return options->not_taken;
    if (error == 0)
        lw_region_mutex_unlock(&lock);
    return 0;
}

/* The process is held by a descriptor, so that no other one can get its number meanwhile. */
int command_break(const struct options *options, char **words)
{
    lw_region *region = open_region(options, false);
    struct lw_region_info info, again;
    if (!region || lw_region_describe(region, words[0], &info)) {
        warnx("there is no lock '%s'", words[0]);
        return NOT_TAKEN;
    }
    if (!info.holder_pid) {
        warnx("nobody holds '%s'", words[0]);
        return NOT_TAKEN;
    }
    char command[200];
    describe_process(info.holder_pid, command, sizeof command);
    const int process = (int)syscall(SYS_pidfd_open, info.holder_pid, 0);
    if (process < 0 || lw_region_describe(region, words[0], &again) ||
        again.holder_pid != info.holder_pid) {
        warnx("'%s' has changed hands meanwhile", words[0]);
        return NOT_TAKEN;
    }
    if (syscall(SYS_pidfd_send_signal, process, options->signal, NULL, 0) < 0)
        err(FAILED, "cannot send a signal to process %u", info.holder_pid);
    printf("sent %s to process %u: %s\n", strsignal(options->signal), info.holder_pid, command);
    return 0;
}

int command_remove(const struct options *options, char **words)
{
    lw_region *region = open_region(options, false);
    const int error = region ? lw_region_remove(region, words[0]) : ENOENT;
    if (error == 0)
        return 0;
    if (error == ENOENT)
        warnx("there is no lock '%s'", words[0]);
    else if (error == EBUSY)
        warnx("'%s' is held", words[0]);
    else
        errx(FAILED, "%s: %s", words[0], strerror(error));
    return NOT_TAKEN;
}
