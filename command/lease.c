/* lease.c: what the subcommands do with --at, where a lock is a line of leases on etcd. */
#define _GNU_SOURCE
#include "command.h"

#include "../src/lease/line.h"

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

/* How long etcd may take to say who holds a lock. */
enum { PATIENCE_S = 5 };

enum { REASON = 300 };

/*
 * Whether someone ends a process by this signal that does nothing about it. SIGQUIT is the only one
 * of those that dump core: the others tell of an error or a limit of the process itself.
 */
static bool is_ending(int signal)
{
    static const int others[] = {SIGKILL, SIGSTOP, SIGTSTP,  SIGTTIN, SIGTTOU, SIGCONT,
                                 SIGCHLD, SIGURG,  SIGWINCH, SIGABRT, SIGBUS,  SIGFPE,
                                 SIGILL,  SIGSEGV, SIGSYS,   SIGTRAP, SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i] == signal)
            return false;
    }
    return true;
}

/*
 * A descriptor that is readable when a signal came that ends this process. They are blocked. One
 * that is ignored, as SIGHUP under nohup, or that was blocked before, does not end it.
 */
static int ending_signals(sigset_t *before)
{
    struct sigaction action;
    sigset_t ending;
    sigemptyset(&ending);
    sigprocmask(SIG_BLOCK, NULL, before);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        /* The C library refuses those that it uses itself. */
        if (is_ending(signal) && sigaction(signal, NULL, &action) == 0 &&
            action.sa_handler != SIG_IGN && !sigismember(before, signal))
            sigaddset(&ending, signal);
    }
    sigprocmask(SIG_BLOCK, &ending, NULL);
    const int fd = signalfd(-1, &ending, SFD_CLOEXEC);
    if (fd < 0)
        err(FAILED, "cannot wait for signals");
    return fd;
}

/* Ends this process: etcd cannot be asked, or does not want to. */
_Noreturn static void give_up(const char *name, int error, const char *reason)
{
    if (error == EINVAL && !*reason)
        errx(FAILED, "%s", name && !*name ? "not a name" : "--at is to be etcd://HOST:PORT,...");
    errx(FAILED, "%s%s%s%s%s", name ? name : "", name ? ": " : "",
         error == EHOSTUNREACH   ? "etcd does not respond"
         : error == ENAMETOOLONG ? "the name is too long"
                                 : strerror(error),
         *reason ? ": " : "", reason);
}

/*
 * The environment of what runs by virtue of leases: a ',', and for each `run --at` that is above it
 * "TOKEN:PID,". Tokens are never given twice; the process tells those of two clusters apart.
 * Numbers of processes alone would not do: other machines and containers have the same ones.
 */
static const char holders_name[] = "LOCKWORD_HOLDERS";

void pass_holders_on(const lw_lease *lease)
{
    const char *above = getenv(holders_name);
    char *all;
    if (asprintf(&all, "%s%lld:%d,", above ? above : ",", (long long)lw_lease_token(lease),
                 (int)getpid()) < 0)
        return;
    setenv(holders_name, all, true);
    free(all);
}

static bool is_above(const struct lw_lease_info *holder)
{
    const char *all = getenv(holders_name);
    char one[48];
    snprintf(one, sizeof one, ",%lld:%u,", (long long)holder->token, holder->pid);
    return all && strstr(all, one);
}

/*
 * Says which process is waited for: with -v, or if it has started this one, and so may be waiting
 * for it. Others pay nothing for it. If etcd does not respond, the wait says so.
 */
static void say_holder(const struct options *options, const char *name, lw_deadline deadline)
{
    struct lw_lease_info holder;
    const lw_deadline soon = lw_after_ns(PATIENCE_S * 1000000000LL);
    const struct lw_lease_options lease_options = {.deadline = deadline < soon ? deadline : soon};
    if ((!options->is_verbose && !getenv(holders_name)) ||
        line_first(&holder, false, options->at, name, &lease_options))
        return;
    if (is_above(&holder)) {
        warnx("waiting for '%s': process %u holds it, which has started this one: %s", name,
              holder.pid, plain(holder.holder));
    } else if (options->is_verbose) {
        char who[32 + LW_LEASE_HOST_MAX] = "a program";
        if (holder.pid)
            snprintf(who, sizeof who, "process %u on %s", holder.pid, plain(holder.host));
        warnx("waiting for '%s': %s holds it%s%s", name, who, *holder.holder ? ": " : "",
              plain(holder.holder));
    }
}

int take_at(const struct options *options, const char *name, const char *program,
            void (*renewed)(void *, int64_t, int64_t), lw_lease **lease, sigset_t *before)
{
    char reason[REASON] = "";
    const lw_deadline deadline = options->tries ? LW_NOW : deadline_of(options);
    if (!options->tries && (options->timeout < 0 || options->timeout > 0))
        say_holder(options, name, deadline);
    const int signals = ending_signals(before);
    const struct lw_lease_options lease_options = {
        .deadline = deadline,
        .ttl = options->ttl,
        .cancel_fd = signals,
        .holder = program,
        .renewed = renewed,
        .reason = reason,
        .reason_size = sizeof reason,
    };
    const int error = lw_lease_lock(lease, options->at, name, &lease_options);
    close(signals);
    if (error)
        sigprocmask(SIG_SETMASK, before, NULL); /* a signal that came ends this process here */
    if (error == ECANCELED)
        raise(SIGPIPE); /* the only one that libcurl discards: for moments it ignores it */
    if (error && error != EBUSY && error != ETIMEDOUT)
        give_up(name, error, reason);
    return error;
}

bool free_at(const char *name, lw_lease *lease)
{
    const int error = lw_lease_unlock(lease);
    if (error == EHOSTUNREACH)
        warnx("%s: etcd does not respond, and frees the lock when the lease has run out", name);
    return error != ESTALE;
}

int wait_at(const struct options *options, const char *name)
{
    lw_lease *lease;
    sigset_t before;
    if (take_at(options, name, "lockword wait", NULL, &lease, &before))
        return options->not_taken;
    free_at(name, lease);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return 0;
}

/* What etcd has of this name; NULL: of all names. */
static struct lw_lease_info *read_lines(const struct options *options, const char *name,
                                        size_t *count)
{
    char reason[REASON] = "";
    struct lw_lease_info *all;
    const struct lw_lease_options lease_options = {
        .deadline = lw_after_ns(PATIENCE_S * 1000000000LL),
        .reason = reason,
        .reason_size = sizeof reason,
    };
    const int error = lw_lease_list(&all, count, options->at, name, &lease_options);
    if (error)
        give_up(name, error, reason);
    return all;
}

/* Since when it holds or waits, by the clock of its machine. Returns false if it is unknown. */
static bool print_since(char *text, size_t size, const struct lw_lease_info *info, bool is_utc)
{
    const int64_t ms = info->held_ms ? info->held_ms : info->came_ms;
    const time_t seconds = ms / 1000;
    struct tm tm;
    *text = '\0';
    if (ms == 0 || !(is_utc ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm)))
        return false;
    const size_t length = strftime(text, size, is_utc ? "%FT%T" : "%F %T", &tm);
    if (is_utc && length)
        snprintf(text + length, size - length, ".%03dZ", (int)(ms % 1000));
    return length > 0;
}

static cJSON *json_of(const struct lw_lease_info *info)
{
    char since[40];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "token", (double)info->token);
    if (*info->host)
        cJSON_AddStringToObject(json, "host", info->host);
    if (info->pid)
        cJSON_AddNumberToObject(json, "pid", info->pid);
    cJSON_AddStringToObject(json, "command", info->holder);
    if (print_since(since, sizeof since, info, true))
        cJSON_AddStringToObject(json, "since", since);
    if (info->left_s >= 0) {
        cJSON_AddNumberToObject(json, "ttlSeconds", (double)info->ttl_s);
        cJSON_AddNumberToObject(json, "leftSeconds", (double)info->left_s);
    }
    return json;
}

/* How many of them have the name of the first. */
static size_t length_of(const struct lw_lease_info *line, const struct lw_lease_info *end)
{
    size_t length = 1;
    while (line + length < end && line[length].place)
        length++;
    return length;
}

static cJSON *json_of_line(const struct lw_lease_info *line, size_t length)
{
    cJSON *lock = cJSON_CreateObject();
    cJSON_AddStringToObject(lock, "name", line->name);
    cJSON_AddBoolToObject(lock, "held", true);
    cJSON_AddItemToObject(lock, "holder", json_of(line));
    cJSON_AddNumberToObject(lock, "waiters", (double)(length - 1));
    cJSON *waiting = cJSON_AddArrayToObject(lock, "line");
    for (size_t i = 1; i < length; i++)
        cJSON_AddItemToArray(waiting, json_of(&line[i]));
    return lock;
}

int list_at(const struct options *options)
{
    size_t count;
    struct lw_lease_info *all = read_lines(options, NULL, &count), *end = all + count;
    cJSON *locks = options->is_json ? cJSON_CreateArray() : NULL;
    int width = NAME_WIDTH;
    for (size_t i = 0; i < count; i++)
        width = widen(width, all[i].name);
    if (!locks)
        printf("%-*s %10s %8s  %-19s %-16s %8s  %s\n", width, "NAME", "TOKEN", "WAITERS", "SINCE",
               "HOST", "PID", "COMMAND");
    for (struct lw_lease_info *line = all; line < end;) {
        const size_t length = length_of(line, end);
        char since[40];
        if (locks) {
            cJSON_AddItemToArray(locks, json_of_line(line, length));
        } else {
            print_since(since, sizeof since, line, false);
            printf("%-*s %10lld %8zu  %-19s %-16s %8u  %s\n", width, plain(line->name),
                   (long long)line->token, length - 1, since, plain(line->host), line->pid,
                   plain(line->holder));
        }
        line += length;
    }
    if (locks)
        print_json(locks);
    free(all);
    return 0;
}

/* "process 7 on alpha: ./report", or as much of that as is known. */
static void print_process(FILE *out, struct lw_lease_info *info)
{
    if (info->pid)
        fprintf(out, "process %u on %s: ", info->pid, plain(info->host));
    fputs(*info->holder ? plain(info->holder) : "a program that has not said its name", out);
}

int show_at(const struct options *options, const char *name)
{
    size_t count;
    struct lw_lease_info *line = read_lines(options, name, &count);
    if (!count) {
        warnx("nobody holds '%s'", name);
        return NOT_TAKEN;
    }
    if (options->is_json) {
        print_json(json_of_line(line, count));
        free(line);
        return 0;
    }
    printf("%s, on etcd: held, %zu %s\n", plain(line->name), count - 1,
           count == 2 ? "waits" : "wait");
    for (size_t i = 0; i < count; i++) {
        char since[40], place[32];
        snprintf(place, sizeof place, "waiter %zu", i);
        printf("  %-10s ", i ? place : "holder");
        print_process(stdout, &line[i]);
        printf("\n  %-10s token %lld", "", (long long)line[i].token);
        if (print_since(since, sizeof since, &line[i], false))
            printf(", since %s", since);
        if (line[i].left_s >= 0)
            printf(", %lld of %lld s left", (long long)line[i].left_s, (long long)line[i].ttl_s);
        putchar('\n');
    }
    free(line);
    return 0;
}

/*
 * The holder's key is deleted, wherever it runs. So the next one may run beside it, for as long as
 * the holder does not know.
 */
int break_at(const struct options *options, const char *name)
{
    char reason[REASON] = "";
    struct lw_lease_info holder;
    struct lw_lease_options lease_options = {
        .deadline = lw_after_ns(PATIENCE_S * 1000000000LL),
        .reason = reason,
        .reason_size = sizeof reason,
    };
    int error = line_first(&holder, true, options->at, name, &lease_options);
    if (error == ENOENT) {
        warnx("nobody holds '%s'", name);
        return NOT_TAKEN;
    }
    if (error)
        give_up(name, error, reason);
    lease_options.deadline = lw_after_ns(PATIENCE_S * 1000000000LL);
    error = lw_lease_break(options->at, name, holder.token, &lease_options);
    if (error == ENOENT) {
        warnx("'%s' has changed hands meanwhile", name);
        return NOT_TAKEN;
    }
    if (error)
        give_up(name, error, reason);
    printf("took '%s' from ", plain(holder.name));
    print_process(stdout, &holder);
    puts("");
    if (holder.ttl_s > 0)
        printf("it is killed at its next renewal, within %.1f s: until then it may run beside the "
               "next holder\n",
               (double)holder.ttl_s / 4);
    return 0;
}
