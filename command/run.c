/*
 * run.c: `lockword run`, which is three processes: the holder of the lock, which is the one that
 * was called; its child, the watcher; and the watcher's child, the command.
 *
 * If the holder is killed, the kernel frees the lock, and sends the watcher a signal
 * (PR_SET_PDEATHSIG), which continues it if it is stopped. The watcher kills the command and all
 * that it has started: orphans among them become the watcher's children (PR_SET_CHILD_SUBREAPER).
 * It does so, too, if the command is killed. If the watcher is killed, the kernel kills the
 * command, and the orphans become the holder's children: the holder kills them, and ends as if it
 * had been killed, too.
 *
 * That takes a moment, and both may be killed at once. So the command, and what it starts, inherit
 * a guard: an open file description with a read lock (OFD) on a byte of the region's file, one for
 * each name. A next holder that learns that the last one died waits until nobody has the guard.
 * Then nothing of the last command runs any more, but for what has closed its files, as daemons do.
 * When a command ends well, its guard is given up for all that has inherited it.
 *
 * With --at the lock is a lease on etcd, and the watcher stops the command before another machine
 * could get the lock. There is no guard then.
 */
#define _GNU_SOURCE
#include "command.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CANNOT_RUN = 126, NOT_FOUND = 127 };

/* Ends as the child did that a signal has killed. */
_Noreturn static void die_of(int signal)
{
    sigset_t set;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    sigemptyset(&set);
    sigaddset(&set, signal);
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigaction(signal, &by_default, NULL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), signal);
    _exit(128 + signal);
}

/* Calls it for each child. */
static void for_each_child(void (*call)(pid_t))
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *children = fopen(path, "re");
    for (int child; children && fscanf(children, "%d", &child) == 1;)
        call(child);
    if (children)
        fclose(children);
}

struct numbers {
    int *all;
    size_t count;
};

static void add(struct numbers *numbers, int number)
{
    int *more = realloc(numbers->all, (numbers->count + 1) * sizeof *more);
    if (!more)
        err(FAILED, "cannot remember what was there before");
    numbers->all = more;
    numbers->all[numbers->count++] = number;
}

static bool has(const struct numbers *numbers, int number)
{
    for (size_t i = 0; i < numbers->count; i++) {
        if (numbers->all[i] == number)
            return true;
    }
    return false;
}

/* Children that the holder had before it was lockword: a shell has them that calls it by exec. */
static struct numbers others;

static void spare(pid_t child)
{
    add(&others, child);
}

static bool has_killed;

static void kill_one(pid_t child)
{
    if (!has(&others, child))
        has_killed |= kill(child, SIGKILL) == 0;
}

/* Kills all children, and theirs, which become children then. */
static void kill_what_it_may(void)
{
    do {
        has_killed = false;
        for_each_child(kill_one);
    } while (waitpid(-1, NULL, has_killed ? 0 : WNOHANG) > 0);
}

/*
 * The same beside this child, which is known where /proc, which tells of the others, is missing;
 * and waits for those that it may not kill, since they have another user. 0: no child.
 */
static void kill_all(pid_t child)
{
    if (child)
        kill(child, SIGKILL);
    do
        kill_what_it_may();
    while (waitpid(-1, NULL, 0) > 0);
}

/*
 * Whether a signal has ended it that does not ask but kills. Signals that ask go to all processes
 * of a group or a service, too: what the command has started may be about to end.
 */
static bool was_killed(int status)
{
    static const int asking[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
        if (WIFSIGNALED(status) && WTERMSIG(status) == asking[i])
            return false;
    }
    return WIFSIGNALED(status);
}

static pid_t holder; /* 0: no lock of a region is held, and no command runs */

/*
 * The watcher gets SIGCONT when the holder has died. Others may send that, too; and a signal that
 * stops a process takes it away, but comes itself. So whatever signal comes, the watcher looks.
 */
static bool holder_has_died(void)
{
    return getpid() != holder && getppid() != holder;
}

static void end_if_holder_has_died(pid_t child)
{
    if (holder_has_died()) {
        kill_all(child);
        _exit(FAILED);
    }
}

/*
 * With --at, the lease's thread in the holder tells the watcher here until when the lock is held.
 * The watcher, and not the holder, stops the command: so it is stopped if the holder hangs, too.
 */
struct tenure {
    _Atomic int64_t stop; /* ns of CLOCK_BOOTTIME: the lease is lost; 0: it is lost already */
    _Atomic int64_t end;  /* all has to have ended */
    atomic_int watcher;
    atomic_bool has_ended; /* the watcher has seen the end of the command */
    atomic_bool is_paused; /* the watcher stops itself, since the command was stopped */
};

static struct tenure *tenure;

/* What the watcher gets when it has to look at the tenure. */
static int tenure_signal(void)
{
    return SIGRTMIN + 1;
}

static void prolong(void *context, int64_t stop, int64_t end)
{
    (void)context;
    atomic_store(&tenure->end, end);
    atomic_store(&tenure->stop, stop);
    const int watcher = atomic_load(&tenure->watcher);
    if (stop == 0 && watcher)
        kill(watcher, tenure_signal());
}

static int64_t boot_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The watcher gets the tenure's signal then. */
static void look_at(int64_t then)
{
    static timer_t timer;
    static bool has_timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = tenure_signal()};
    const struct itimerspec at = {
        .it_value = {.tv_sec = then / 1000000000, .tv_nsec = then % 1000000000}};
    if (!has_timer && timer_create(CLOCK_BOOTTIME, &event, &timer))
        err(FAILED, "cannot make a timer");
    has_timer = true;
    timer_settime(timer, TIMER_ABSTIME, &at, NULL);
}

/*
 * Sees whether the lock is still held. If the lease is lost, asks the command to end, and kills all
 * at the end.
 */
static void look_at_tenure(pid_t child)
{
    static bool is_lost;
    const int64_t stop = atomic_load(&tenure->stop), end = atomic_load(&tenure->end);
    const int64_t now = boot_time();
    if (now < stop && !is_lost) {
        look_at(stop);
        return;
    }
    if (!is_lost)
        warnx("the lease is lost: the command has to end");
    if (now < end) {
        if (!is_lost) {
            kill(child, SIGTERM);
            kill(child, SIGCONT);
        }
        look_at(end);
        is_lost = true;
        return;
    }
    kill_all(child);
    atomic_store(&tenure->has_ended, true);
    _exit(FAILED);
}

/* Whether a terminal has sent this. All else that the kernel sends concerns this process alone. */
static bool is_from_terminal(const siginfo_t *got)
{
    static const int sent[] = {SIGINT,  SIGQUIT, SIGTSTP, SIGTTIN,
                               SIGTTOU, SIGHUP,  SIGCONT, SIGWINCH};
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        if (got->si_signo == sent[i])
            return got->si_code == SI_KERNEL;
    }
    return false;
}

/* The child, or the process group that it leads, as kill has them. */
static pid_t group_of(pid_t child)
{
    return getpgid(child) == child ? -child : child;
}

static void pass_on(pid_t child, const siginfo_t *got)
{
    const int signal = got->si_signo;
    /* A hangup, which SIGCONT follows, the kernel tells the leader of the session alone. */
    const bool is_for_one = (signal == SIGHUP || signal == SIGCONT) && getsid(0) == getpid();
    if (is_from_terminal(got) && !is_for_one) {
        /* The whole process group has got it. */
        if (getpgid(child) != getpgrp())
            kill(group_of(child), signal);
        return;
    }
    /* A pipe without a reader, or a file that is too long: this process's own affair. */
    if (got->si_code == SI_USER && got->si_pid == getpid())
        return;
    if (got->si_code == SI_QUEUE)
        sigqueue(child, signal, got->si_value);
    else
        kill(child, signal);
}

/*
 * The child has been stopped by this signal: stops this process until it is continued, and
 * continues the child. If nobody could continue this process, as no shell does in an orphaned
 * process group, SIGTSTP does not stop it.
 */
static void stop_as(pid_t child, int stopped_by)
{
    const int signal = stopped_by == SIGTSTP ? SIGTSTP : SIGSTOP;
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    const struct timespec now = {0};
    siginfo_t continued = {0};
    sigset_t continuation, stop;
    sigemptyset(&continuation);
    sigaddset(&continuation, SIGCONT);
    sigemptyset(&stop);
    sigaddset(&stop, signal);
    sigaction(signal, &by_default, NULL);
    const bool is_watcher = tenure && getpid() == atomic_load(&tenure->watcher);
    /* What would continue the child may have come before the child stopped. */
    if (sigtimedwait(&continuation, NULL, &now) < 0) {
        if (is_watcher)
            atomic_store(&tenure->is_paused, true);
        /* If it dies between these two, a SIGSTOP hides that until this process is continued. */
        end_if_holder_has_died(child);
        raise(signal);
        end_if_holder_has_died(child);         /* SIGTSTP is blocked as yet */
        sigprocmask(SIG_UNBLOCK, &stop, NULL); /* this process is stopped here */
        if (is_watcher)
            atomic_store(&tenure->is_paused, false);
        sigprocmask(SIG_BLOCK, &stop, NULL);
        sigtimedwait(&continuation, NULL, &now);
    }
    end_if_holder_has_died(child);
    /* The lease may have run out meanwhile. */
    if (is_watcher)
        look_at_tenure(child);
    /* A shell continues the whole group: then the child need not be told. */
    if (waitid(P_PID, (id_t)child, &continued, WCONTINUED | WNOHANG) < 0 || !continued.si_pid)
        kill(group_of(child), SIGCONT);
}

/* Passes signals on to this child until it has ended. Returns its status, as waitpid has it. */
static int attend(pid_t child, const sigset_t *signals)
{
    for (;;) {
        siginfo_t got;
        int status;
        if (sigwaitinfo(signals, &got) < 0)
            continue;
        end_if_holder_has_died(child);
        if (tenure && got.si_signo == tenure_signal()) {
            if (getpid() == atomic_load(&tenure->watcher))
                look_at_tenure(child);
            continue;
        }
        if (got.si_signo != SIGCHLD) {
            pass_on(child, &got);
            continue;
        }
        for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
            if (ended != child) /* an orphan */
                continue;
            if (!WIFSTOPPED(status))
                return status;
            /*
             * Somebody has stopped the watcher alone: the command runs on, and would run beside
             * the next holder if this process stopped, too, and renewed the lease no more.
             */
            if (tenure && getpid() == holder && !atomic_load(&tenure->is_paused))
                kill(child, SIGCONT);
            else
                stop_as(child, WSTOPSIG(status));
        }
    }
}

/* A child that the kernel sends this signal when its parent dies. Returns as fork does. */
static pid_t fork_bound(int signal)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0)
        err(FAILED, "cannot start another process");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, signal);
        if (getppid() != parent) /* it died before that */
            _exit(FAILED);
    }
    return child;
}

/* The descriptors that were open when this process began: the command gets no others. */
static struct numbers given;

/* Calls it for each open descriptor. */
static void for_each_descriptor(void (*call)(int))
{
    DIR *folder = opendir("/proc/self/fd");
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        const int fd = atoi(entry->d_name);
        if (*entry->d_name != '.' && fd != dirfd(folder))
            call(fd);
    }
    if (folder)
        closedir(folder);
}

static void remember(int fd)
{
    add(&given, fd);
}

static void close_if_own(int fd)
{
    if (!has(&given, fd))
        close(fd);
}

_Noreturn static void watch(char **command, const sigset_t *signals, const sigset_t *before)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    others.count = 0; /* they are the holder's */
    /* The lease has connections, and libcurl has descriptors that outlive exec. */
    if (tenure)
        for_each_descriptor(close_if_own);
    const pid_t child = fork_bound(SIGKILL);
    if (child == 0) {
        /* This process may have been frozen since the lock was taken. */
        if (tenure && boot_time() >= atomic_load(&tenure->stop))
            _exit(FAILED);
        sigprocmask(SIG_SETMASK, before, NULL);
        execvp(command[0], command);
        warn("%s", command[0]);
        _exit(errno == ENOENT ? NOT_FOUND : CANNOT_RUN);
    }
    if (tenure) {
        atomic_store(&tenure->watcher, getpid());
        look_at_tenure(child);
    }
    const int status = attend(child, signals);
    /* What ends because the lease is lost has failed, whatever it says. */
    const bool is_lost = tenure && boot_time() >= atomic_load(&tenure->stop);
    if (is_lost)
        kill_all(0);
    else if (was_killed(status))
        kill_what_it_may();
    if (tenure)
        atomic_store(&tenure->has_ended, true);
    if (is_lost)
        _exit(FAILED);
    if (WIFSIGNALED(status))
        die_of(WTERMSIG(status));
    _exit(WEXITSTATUS(status));
}

/* Runs it with this signal mask; NULL: that of now. */
static int run_command(char **command, const sigset_t *mask)
{
    /* An error of this process itself causes these. */
    static const int errors[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};
    sigset_t signals, before;
    sigfillset(&signals);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        sigdelset(&signals, errors[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &by_default, NULL); /* else statuses would be lost */

    holder = getpid();
    for_each_child(spare);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t watcher = fork_bound(SIGCONT);
    if (watcher == 0)
        watch(command, &signals, mask ? mask : &before);
    const int status = attend(watcher, &signals);
    if (was_killed(status))
        kill_what_it_may();
    return status;
}

/* A command's words in one line, cut to the size. */
static void join_words(char *text, size_t size, char **words)
{
    size_t length = 0;
    *text = '\0';
    for (; *words && length + 1 < size; words++)
        length += (size_t)snprintf(text + length, size - length, length ? " %s" : "%s", *words);
    if (length >= size)
        cut_at_character(text);
}

/* With --at: the lock is a lease on etcd. */
static int run_at(const struct options *options, const char *name, char **command)
{
    char program[LW_LEASE_HOLDER_MAX + 1], token[24];
    lw_lease *lease;
    sigset_t before;
    for_each_descriptor(remember);
    tenure = mmap(NULL, sizeof *tenure, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tenure == MAP_FAILED)
        err(FAILED, "cannot share memory");
    join_words(program, sizeof program, command);
    if (take_at(options, name, program, prolong, &lease, &before)) {
        if (options->is_verbose)
            warnx("'%s' is held, and '%s' was not run", name, command[0]);
        return options->not_taken;
    }
    snprintf(token, sizeof token, "%lld", (long long)lw_lease_token(lease));
    setenv("LOCKWORD_NAME", name, true);
    setenv("LOCKWORD_TOKEN", token, true);
    pass_holders_on(lease);
    unsetenv("LOCKWORD_OWNER_DIED");
    unsetenv("LOCKWORD_PERMIT");
    const int status = run_command(command, &before);
    if (!atomic_load(&tenure->has_ended)) /* what the command has started may still run */
        errx(FAILED,
             "%s: a part of this program was killed: etcd frees the lock when the lease has "
             "run out",
             name);
    if (!free_at(name, lease))
        return FAILED;
    if (WIFSIGNALED(status))
        die_of(WTERMSIG(status));
    return WEXITSTATUS(status);
}

static struct hold held;

/*
 * If this process gives up before the command has begun, nothing has died: the lock is left as it
 * was found. Once the command runs, this process ends by _exit or a signal only.
 */
static void leave_at_exit(void)
{
    if (holder == getpid())
        leave_hold(&held);
}

int command_run(const struct options *options, char **words)
{
    const char *name = words[0];
    char **command = words + 1 + (strcmp(words[1], "--") == 0);
    if (!*command)
        errx(FAILED, "run: the command is missing");
    if (options->at)
        return run_at(options, name, command);
    lw_region *region = open_region(options, true);
    const char *slash = strrchr(*command, '/');
    lw_region_name_thread(region, slash ? slash + 1 : *command);
    const lw_deadline deadline = deadline_of(options);
    struct hold hold;
    uint32_t runs;
    int error;
    do {
        hold = find_hold(region, name, options);
        if (options->is_once && hold.kind == LW_REGION_PERMITS)
            errx(FAILED, "%s: it is for several: --once is for a lock that one process holds",
                 name);
        runs = runs_of(&hold);
        error = take_hold(&hold, options, deadline);
    } while (error == EIDRM); /* somebody has removed the name */
    if (error == EBUSY || error == ETIMEDOUT) {
        if (options->is_verbose)
            warnx("'%s' is held, and '%s' was not run", name, command[0]);
        return options->not_taken;
    }
    held = hold;
    holder = getpid();
    atexit(leave_at_exit);
    if (!outlast(&hold, options, error == EOWNERDEAD, deadline))
        return options->not_taken; /* the next holder, too, is told that one died */
    /* A holder that only waited, or whose command has failed, has not run it. */
    if (options->is_once && error == 0 && runs_of(&hold) != runs) {
        if (options->is_verbose)
            warnx("another process has run it: '%s' was not run", command[0]);
        return 0;
    }
    setenv("LOCKWORD_NAME", name, true);
    if (error == EOWNERDEAD)
        setenv("LOCKWORD_OWNER_DIED", "1", true);
    else
        unsetenv("LOCKWORD_OWNER_DIED");
    char number[12];
    snprintf(number, sizeof number, "%u", hold.which);
    if (hold.kind == LW_REGION_PERMITS)
        setenv("LOCKWORD_PERMIT", number, true);
    else
        unsetenv("LOCKWORD_PERMIT");
    const int guard = pass_guard_on(&hold, options);
    const int status = run_command(command, NULL);
    /* As if this process had been killed: the next holder is told. */
    if (WIFSIGNALED(status))
        die_of(WTERMSIG(status));
    /* Else a process in the background would be taken for one of a later holder that dies. */
    take_guard_back(&hold, guard);
    if (WEXITSTATUS(status) == 0)
        count_run(&hold);
    free_hold(&hold);
    holder = 0;
    return WEXITSTATUS(status);
}
