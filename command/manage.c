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

/* Takes the lock, and gives it back. If a holder has died, the next one is still told. */
int command_wait(const struct options *options, char **words)
{
    if (options->at)
        return wait_at(options, words[0]);
    /* A script's empty variable is no lock that is free. */
    if (!*words[0] || strlen(words[0]) > LW_REGION_NAME_MAX)
        errx(FAILED, "%s: %s", words[0], *words[0] ? "the name is too long" : "not a name");
    lw_region *region = open_region(options, false);
    const lw_deadline deadline = deadline_of(options);
    struct lw_region_info info;
    struct hold hold;
    int error;
    do {
        if (!region || lw_region_describe(region, words[0], &info))
            return 0;
        hold = find_hold(region, words[0], options);
        error = take_hold(&hold, options, deadline);
    } while (error == EIDRM); /* somebody has removed the name */
    if (error == EBUSY || error == ETIMEDOUT)
        return options->not_taken;
    leave_hold(&hold);
    return 0;
}

/* Returns whether the process still holds the name, as the region says. */
static bool holds(lw_region *region, const char *name, uint32_t pid)
{
    struct lw_region_holder holder;
    for (uint32_t cursor = 0; lw_region_next_holder(region, name, &cursor, &holder) == 0;) {
        if (holder.pid == pid)
            return true;
    }
    return false;
}

/* The same after a moment, in which a process that has just died is buried. */
static bool holds_on(lw_region *region, const char *name, uint32_t pid)
{
    const struct timespec one_ms = {.tv_nsec = 1000000};
    for (int i = 0; i < 100 && holds(region, name, pid); i++)
        nanosleep(&one_ms, NULL);
    return holds(region, name, pid);
}

/*
 * The process is held by a descriptor, so that no other one can get its number meanwhile. Returns
 * whether it was sent the signal.
 */
static bool break_one(lw_region *region, const char *name, uint32_t pid, int signal)
{
    char command[200];
    describe_process(pid, command, sizeof command);
    const int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process < 0 && holds_on(region, name, pid)) {
        warnx("process %u, which has '%s' by the region's file, does not exist here: is the file a "
              "copy, or the holder in another PID namespace?",
              pid, name);
        return false;
    }
    if (process < 0 || !holds(region, name, pid)) {
        warnx("'%s' has changed hands meanwhile", name);
        return false;
    }
    const bool is_allowed = syscall(SYS_pidfd_send_signal, process, 0, NULL, 0) == 0;
    if (!maps_region(pid, !is_allowed)) {
        warnx("process %u does not hold '%s' here: is the holder in another PID namespace, or "
              "the file a copy?",
              pid, name);
        return false;
    }
    if (syscall(SYS_pidfd_send_signal, process, signal, NULL, 0) < 0)
        err(FAILED, "cannot send a signal to process %u", pid);
    printf("sent SIG%s to process %u: %s\n", name_of_signal(signal), pid, command);
    close(process);
    return true;
}

int command_break(const struct options *options, char **words)
{
    if (options->at)
        return break_at(options, words[0]);
    lw_region *region = open_region(options, false);
    struct lw_region_info info;
    if (!region || lw_region_describe(region, words[0], &info)) {
        warnx("there is no lock '%s'", words[0]);
        return NOT_TAKEN;
    }
    struct lw_region_holder holder;
    uint32_t last = 0;
    bool is_held = false, has_broken = false;
    for (uint32_t cursor = 0; lw_region_next_holder(region, words[0], &cursor, &holder) == 0;
         last = holder.pid) {
        is_held = true;
        if (holder.pid != last) /* one process may have several permits */
            has_broken |= break_one(region, words[0], holder.pid, options->signal);
    }
    if (!is_held)
        warnx("nobody holds '%s'", words[0]);
    return has_broken ? 0 : NOT_TAKEN;
}

int command_remove(const struct options *options, char **words)
{
    lw_region *region = open_region(options, false);
    if (region && keep_name(options, words[0], true) < 0) {
        warnx("'%s' is waited for", words[0]);
        return NOT_TAKEN;
    }
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
