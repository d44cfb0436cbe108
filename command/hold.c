/*
 * hold.c: what `lockword run` and `lockword wait` hold of a region: a mutex; a read-write lock, in
 * either way; or a permit.
 */
#define _GNU_SOURCE
#include "command.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lockword/event.h>

/* Below it are the numbers that scripts use, unless there are no others. */
enum { LEAST_GUARD = 64 };

static const struct timespec one_ms = {.tv_nsec = 1000000};

/*
 * The byte of the region's file that guards what runs by virtue of this hold: FNV-1a, of 62 bits.
 * `whose`: readers have another byte than writers, and each permit has its own.
 */
static off_t guard_of(const char *name, const char *whose)
{
    uint64_t hash = 0xcbf29ce484222325;
    while (*name)
        hash = (hash ^ (unsigned char)*name++) * 0x100000001b3;
    while (*whose)
        hash = (hash ^ (unsigned char)*whose++) * 0x100000001b3;
    return (off_t)(hash >> 2);
}

/* The region's file may have been removed, and made anew, while this process waited. */
static int open_guard(const struct options *options, int mode)
{
    const int file = open(options->region, mode | O_CLOEXEC);
    if (file < 0)
        err(FAILED, "%s", options->region);
    if (!is_region(file))
        errx(FAILED, "%s: another file is there now, with other locks", options->region);
    return file;
}

/*
 * `how`: F_OFD_SETLK, or F_OFD_SETLKW to wait. Returns 0; EAGAIN: another one has the guard, or a
 * signal has ended the wait; or why it cannot be locked.
 */
static int ask_for_guard(int file, off_t guard, short type, int how)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = guard, .l_len = 1};
    if (fcntl(file, how, &lock) == 0)
        return 0;
    return errno == EACCES || errno == EINTR ? EAGAIN : errno;
}

_Noreturn static void fail_to_lock(int error)
{
    errx(FAILED, "cannot lock a byte of the region's file: %s", strerror(error));
}

/* Returns whether it has the guard now. */
static bool lock_guard(int file, off_t guard, short type)
{
    const int error = ask_for_guard(file, guard, type, F_OFD_SETLK);
    if (error && error != EAGAIN)
        fail_to_lock(error);
    return error == 0;
}

/* The same, where another one may have it for a moment, to look whether anybody has it. */
static bool lock_guard_soon(int file, off_t guard, short type)
{
    bool has_guard = false;
    for (int i = 0; !has_guard && i < 100; i++) {
        has_guard = lock_guard(file, guard, type);
        if (!has_guard)
            nanosleep(&one_ms, NULL);
    }
    return has_guard;
}

int keep_name(const struct options *options, const char *name, bool removes)
{
    const int file = open_guard(options, removes ? O_RDWR : O_RDONLY);
    const off_t guard = guard_of(name, "\nfinders");
    if (removes ? lock_guard(file, guard, F_WRLCK) : lock_guard_soon(file, guard, F_RDLCK))
        return file;
    close(file);
    return -1;
}

static bool has_table(enum lw_region_kind kind)
{
    return kind == LW_REGION_PERMITS || kind == LW_REGION_RWTABLE;
}

/* What the name is to be: what it is, unless the options say what. */
static enum lw_region_kind kind_of(const struct options *options, const struct lw_region_info *info)
{
    if (options->permits)
        return LW_REGION_PERMITS;
    if (options->shares || options->excludes)
        return LW_REGION_RWTABLE;
    return has_table(info->kind) ? info->kind : LW_REGION_MUTEX;
}

/* There may be room for a name, and none for a table: then it is no use to remove a mutex. */
static const char *why_no_room(lw_region *region, enum lw_region_kind kind)
{
    struct lw_region_info info;
    for (uint32_t cursor = 0; has_table(kind) && lw_region_next(region, &cursor, &info) == 0;) {
        if (has_table(info.kind))
            return "no room for more permits or read-write locks: 'lockword remove' forgets one "
                   "of these";
    }
    return "no room for another name: 'lockword remove' forgets one";
}

struct hold find_hold(lw_region *region, const char *name, const struct options *options)
{
    struct lw_region_info info = {.kind = 0};
    bool exists = lw_region_describe(region, name, &info) == 0;
    struct hold hold = {.region = region,
                        .name = name,
                        .kind = kind_of(options, &info),
                        .shares = options->shares,
                        .kept = -1};
    if (hold.kind == LW_REGION_PERMITS) {
        hold.kept = keep_name(options, name, false);
        if (hold.kept < 0)
            errx(FAILED, "%s: another process removes it", name);
        exists = lw_region_describe(region, name, &info) == 0;
        hold.kind = kind_of(options, &info);
    }
    int error;
    if (hold.kind == LW_REGION_PERMITS)
        error = lw_region_permits_named(
            region, name, options->permits ? options->permits : info.permits, &hold.permits);
    else if (hold.kind == LW_REGION_RWTABLE)
        error = lw_region_rwtable_named(region, name, &hold.table);
    else
        error = lw_region_mutex_named(region, name, &hold.mutex);
    if (error == EEXIST && exists && info.kind == hold.kind)
        errx(FAILED, "%s: it has %u permits, not %u: 'lockword remove' forgets that", name,
             info.permits, options->permits);
    if (error == EEXIST)
        errx(FAILED, "%s: it is a %s: use it as such, or 'lockword remove' it first", name,
             exists ? name_of_kind(info.kind) : "lock of another kind");
    if (error)
        errx(FAILED, "%s: %s", name,
             error == EINVAL         ? "not a name"
             : error == ENAMETOOLONG ? "the name is too long"
             : error == ENOSPC       ? why_no_room(region, hold.kind)
                                     : strerror(error));
    return hold;
}

static int try_hold(struct hold *hold)
{
    if (hold->kind == LW_REGION_PERMITS)
        return lw_region_permits_tryacquire(&hold->permits, &hold->which);
    if (hold->kind == LW_REGION_MUTEX)
        return lw_region_mutex_trylock(&hold->mutex);
    return hold->shares ? lw_region_rwtable_tryrdlock(&hold->table)
                        : lw_region_rwtable_trywrlock(&hold->table);
}

static int wait_for_hold(struct hold *hold, lw_deadline deadline)
{
    if (hold->kind == LW_REGION_PERMITS)
        return lw_region_permits_acquire_until(&hold->permits, &hold->which, deadline);
    if (hold->kind == LW_REGION_MUTEX)
        return lw_region_mutex_lock_until(&hold->mutex, deadline);
    return hold->shares ? lw_region_rwtable_rdlock_until(&hold->table, deadline)
                        : lw_region_rwtable_wrlock_until(&hold->table, deadline);
}

void free_hold(const struct hold *hold)
{
    if (hold->kind == LW_REGION_PERMITS)
        lw_region_permits_release(&hold->permits, hold->which);
    else if (hold->kind == LW_REGION_MUTEX)
        lw_region_mutex_unlock(&hold->mutex);
    else
        lw_region_rwtable_unlock(&hold->table);
}

/* NULL: the lock has no such count. */
static lw_word *runs_in(const struct hold *hold)
{
    return hold->kind == LW_REGION_PERMITS || hold->shares ? NULL
           : hold->kind == LW_REGION_MUTEX                 ? &hold->mutex.words[LW_REGION_RUNS]
                                           : &hold->table.mutex.words[LW_REGION_RUNS];
}

uint32_t runs_of(const struct hold *hold)
{
    const lw_word *runs = runs_in(hold);
    return runs ? lw_load(runs, lw_acquire) : 0;
}

void count_run(const struct hold *hold)
{
    lw_word *runs = runs_in(hold);
    if (runs)
        lw_store(runs, lw_load(runs, lw_relaxed) + 1, lw_release);
}

void leave_hold(const struct hold *hold)
{
    if (hold->kind == LW_REGION_PERMITS)
        lw_region_permits_release(&hold->permits, hold->which);
    else if (hold->kind == LW_REGION_MUTEX)
        lw_region_mutex_leave(&hold->mutex);
    else
        lw_region_rwtable_leave(&hold->table);
}

/*
 * Says who holds the lock. Unless it says all, it names only a holder that has started this
 * process, and so may be waiting for it.
 */
static void say_holders(const struct hold *hold, bool says_all)
{
    struct lw_region_holder holder;
    char running[200];
    for (uint32_t cursor = 0;
         lw_region_next_holder(hold->region, hold->name, &cursor, &holder) == 0;) {
        const bool is_above = has_started_this(holder.pid) && maps_region(holder.pid, false);
        if (!is_above && !says_all)
            continue;
        describe_process(holder.pid, running, sizeof running);
        warnx("waiting for '%s': process %u holds it%s: %s", hold->name, holder.pid,
              is_above ? ", which has started this one" : "", running);
    }
}

/* Whether those that wait need not do so. */
static bool is_free(const struct lw_region_info *info)
{
    return info->kind == LW_REGION_PERMITS ? info->held < info->permits
                                           : info->held == 0 && info->holder_pid == 0;
}

/*
 * First come, first served: those that wait already get the lock before this process asks for it.
 * They need an instant to wake up; but what does not run at all is not waited for.
 */
static void let_others_go_first(const struct hold *hold)
{
    struct lw_region_info info;
    for (int i = 0; i < 50; i++) {
        if (lw_region_describe(hold->region, hold->name, &info) || !is_free(&info) || !info.waiters)
            return;
        nanosleep(&one_ms, NULL);
    }
}

int take_hold(struct hold *hold, const struct options *options, lw_deadline deadline)
{
    let_others_go_first(hold);
    int error = try_hold(hold);
    if (error == EBUSY && !options->tries) {
        say_holders(hold, options->is_verbose);
        error = wait_for_hold(hold, deadline);
    }
    if (hold->kept >= 0)
        close(hold->kept);
    if (error == ENOTRECOVERABLE)
        errx(FAILED, "a holder of '%s' has abandoned it: 'lockword remove' forgets that",
             hold->name);
    const bool is_expected =
        error == 0 || error == EOWNERDEAD || error == EBUSY || error == ETIMEDOUT || error == EIDRM;
    if (!is_expected)
        errx(FAILED, "%s: %s", hold->name, strerror(error));
    return error;
}

static off_t own_guard_of(const struct hold *hold)
{
    char number[16];
    snprintf(number, sizeof number, "\n%u", hold->which);
    return guard_of(hold->name, hold->kind == LW_REGION_PERMITS ? number
                                : hold->shares                  ? "\nreaders"
                                                                : "");
}

/* A wait that a thread makes, since no deadline ends that of fcntl. It may outlive the call. */
static struct {
    int file;
    off_t guard;
    int error; /* why it has failed */
    lw_event is_over;
} guard_wait;

/* The thread does not say what went wrong: to exit is for the one that holds the lock. */
static void *wait_for_guard(void *unused)
{
    do
        guard_wait.error = ask_for_guard(guard_wait.file, guard_wait.guard, F_WRLCK, F_OFD_SETLKW);
    while (guard_wait.error == EAGAIN);
    lw_event_set(&guard_wait.is_over);
    return unused;
}

/* The thread blocks all signals: they are for this one. */
static bool lock_guard_until(int file, off_t guard, lw_deadline deadline)
{
    sigset_t all, before;
    pthread_t thread;
    guard_wait.file = file;
    guard_wait.guard = guard;
    lw_event_reset(&guard_wait.is_over);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread, NULL, wait_for_guard, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        errx(FAILED, "cannot start a thread: %s", strerror(error));
    if (lw_event_wait_until(&guard_wait.is_over, deadline))
        return false;
    pthread_join(thread, NULL);
    if (guard_wait.error)
        fail_to_lock(guard_wait.error);
    return true;
}

/*
 * Waits until nobody has this guard. Returns whether it does not have to be waited for any more. If
 * it does, this process is to end: a thread still waits.
 */
static bool outlast_guard(const struct hold *hold, off_t guard, const struct options *options,
                          lw_deadline deadline)
{
    const int file = open_guard(options, O_RDWR);
    bool is_gone = lock_guard(file, guard, F_WRLCK);
    if (!is_gone && !options->tries) {
        warnx("a holder of '%s' died: waiting until what it had started ends", hold->name);
        is_gone = lock_guard_until(file, guard, deadline);
    }
    if (is_gone)
        close(file);
    return is_gone;
}

bool outlast(const struct hold *hold, const struct options *options, bool owner_died,
             lw_deadline deadline)
{
    struct lw_region_info info;
    const bool any_died =
        lw_region_describe(hold->region, hold->name, &info) || info.recoveries > 0;
    const bool is_table = hold->kind == LW_REGION_RWTABLE;
    /* Of permits and readers nobody is told which of them died. */
    bool is_gone = true;
    if (owner_died)
        is_gone = outlast_guard(hold, guard_of(hold->name, ""), options, deadline);
    if (is_gone && any_died && is_table && !hold->shares)
        is_gone = outlast_guard(hold, guard_of(hold->name, "\nreaders"), options, deadline);
    if (is_gone && any_died && hold->kind == LW_REGION_PERMITS)
        is_gone = outlast_guard(hold, own_guard_of(hold), options, deadline);
    return is_gone;
}

int pass_guard_on(const struct hold *hold, const struct options *options)
{
    const int file = open_guard(options, O_RDONLY);
    if (!lock_guard_soon(file, own_guard_of(hold), F_RDLCK))
        errx(FAILED, "another process has locked the guard of '%s'", hold->name);
    int passed = -1;
    for (int least = LEAST_GUARD; passed < 0 && least > STDERR_FILENO; least /= 2)
        passed = fcntl(file, F_DUPFD, least);
    if (passed < 0)
        err(FAILED, "cannot pass the guard of '%s' on", hold->name);
    close(file);
    return passed;
}

void take_guard_back(const struct hold *hold, int passed)
{
    lock_guard(passed, own_guard_of(hold), F_UNLCK);
}
