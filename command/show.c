/* show.c: `lockword list`, `show` and `deadlocks`. */
#include "command.h"

#include <cjson/cJSON.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[LW_REGION_KINDS] = {
    [LW_REGION_MUTEX] = "mutex",     [LW_REGION_RMUTEX] = "recursive",
    [LW_REGION_ONCE] = "once",       [LW_REGION_RWLOCK] = "rwlock",
    [LW_REGION_EVENT] = "event",     [LW_REGION_SEM] = "semaphore",
    [LW_REGION_COUNTER] = "counter", [LW_REGION_WAITGROUP] = "wait group",
    [LW_REGION_LATCH] = "latch",     [LW_REGION_BARRIER] = "barrier",
    [LW_REGION_COND] = "condition",  [LW_REGION_BYTES] = "bytes",
    [LW_REGION_PERMITS] = "permits", [LW_REGION_RWTABLE] = "read-write",
};

const char *name_of_kind(enum lw_region_kind kind)
{
    return kinds[kind];
}

/* Only the first kinds have a holder: of the others nothing is known but who waits. */
static bool has_holder(const struct lw_region_info *info)
{
    return info->kind <= LW_REGION_RWLOCK || info->kind >= LW_REGION_PERMITS;
}

static const char *state_of(const struct lw_region_info *info)
{
    static char text[40];
    if (info->kind == LW_REGION_PERMITS)
        snprintf(text, sizeof text, "%u of %u held", info->held, info->permits);
    if (info->kind == LW_REGION_RWTABLE)
        snprintf(text, sizeof text, "read by %u", info->held);
    return info->kind == LW_REGION_PERMITS || info->held > 0 ? text
           : !has_holder(info)                               ? ""
           : info->fate == ENOTRECOVERABLE                   ? "abandoned"
           : info->holder_pid                                ? "held"
           : info->fate == EOWNERDEAD                        ? "free, its holder died"
                                                             : "free";
}

static cJSON *json_of_holders(lw_region *region, const char *name)
{
    cJSON *holders = cJSON_CreateArray();
    struct lw_region_holder holder;
    for (uint32_t cursor = 0; lw_region_next_holder(region, name, &cursor, &holder) == 0;) {
        char command[1024];
        describe_process(holder.pid, command, sizeof command);
        cJSON *json = cJSON_CreateObject();
        cJSON_AddNumberToObject(json, "pid", holder.pid);
        cJSON_AddNumberToObject(json, "tid", holder.tid);
        cJSON_AddStringToObject(json, "name", holder.thread);
        cJSON_AddStringToObject(json, "command", command);
        cJSON_AddNumberToObject(json, "permit", holder.which);
        cJSON_AddItemToArray(holders, json);
    }
    return holders;
}

static cJSON *json_of(lw_region *region, const struct lw_region_info *info)
{
    cJSON *lock = cJSON_CreateObject();
    cJSON_AddStringToObject(lock, "name", info->name);
    cJSON_AddStringToObject(lock, "kind", kinds[info->kind]);
    cJSON_AddBoolToObject(lock, "held", info->holder_pid != 0 || info->held > 0);
    if (info->kind == LW_REGION_PERMITS)
        cJSON_AddNumberToObject(lock, "permits", info->permits);
    if (info->held > 0)
        cJSON_AddItemToObject(lock, "holders", json_of_holders(region, info->name));
    cJSON_AddBoolToObject(lock, "ownerDied", info->fate == EOWNERDEAD);
    cJSON_AddBoolToObject(lock, "abandoned", info->fate == ENOTRECOVERABLE);
    if (info->holder_pid) {
        char command[1024];
        describe_process(info->holder_pid, command, sizeof command);
        cJSON *holder = cJSON_AddObjectToObject(lock, "holder");
        cJSON_AddNumberToObject(holder, "pid", info->holder_pid);
        cJSON_AddNumberToObject(holder, "tid", info->holder_tid);
        cJSON_AddStringToObject(holder, "name", info->holder);
        cJSON_AddStringToObject(holder, "command", command);
    }
    cJSON_AddNumberToObject(lock, "waiters", info->waiters);
    cJSON_AddNumberToObject(lock, "longestWaitMs", (double)info->longest_ms);
    cJSON_AddNumberToObject(lock, "acquisitions", info->acquisitions);
    cJSON_AddNumberToObject(lock, "contended", info->contended);
    cJSON_AddNumberToObject(lock, "deaths", info->recoveries);
    return lock;
}

void print_json(cJSON *json)
{
    char *text = cJSON_Print(json);
    if (!text)
        errx(FAILED, "out of memory");
    for (const char *c = text; *c;) {
        const size_t length = length_of_character(c);
        fputs(length ? "" : "\xef\xbf\xbd", stdout);
        fwrite(c, 1, length, stdout);
        c += length ? length : 1;
    }
    putchar('\n');
    free(text);
    cJSON_Delete(json);
}

int widen(int width, const char *name)
{
    const int length = (int)strlen(name);
    return length > width ? length : width;
}

/* A name that is made meanwhile may be longer. */
static int width_of_names(lw_region *region)
{
    struct lw_region_info info;
    int width = NAME_WIDTH;
    for (uint32_t cursor = 0; region && lw_region_next(region, &cursor, &info) == 0;)
        width = widen(width, info.name);
    return width;
}

int command_list(const struct options *options, char **words)
{
    (void)words;
    if (options->at)
        return list_at(options);
    lw_region *region = open_region(options, false);
    cJSON *locks = options->is_json ? cJSON_CreateArray() : NULL;
    const int width = locks ? 0 : width_of_names(region);
    if (!locks)
        printf("%-*s %-10s %-22s %8s %8s %8s %8s  %s\n", width, "NAME", "KIND", "STATE", "WAITERS",
               "TAKEN", "DEATHS", "PID", "COMMAND");
    struct lw_region_info info;
    for (uint32_t cursor = 0; region && lw_region_next(region, &cursor, &info) == 0;) {
        if (locks) {
            cJSON_AddItemToArray(locks, json_of(region, &info));
            continue;
        }
        printf("%-*s %-10s %-22s %8u %8u %8u", width, plain(info.name), kinds[info.kind],
               state_of(&info), info.waiters, info.acquisitions, info.recoveries);
        if (info.holder_pid) {
            char command[120];
            describe_process(info.holder_pid, command, sizeof command);
            printf(" %8u  %s", info.holder_pid, command);
        }
        putchar('\n');
    }
    if (locks)
        print_json(locks);
    return 0;
}

int command_show(const struct options *options, char **words)
{
    if (options->at)
        return show_at(options, words[0]);
    lw_region *region = open_region(options, false);
    struct lw_region_info info;
    if (!region || lw_region_describe(region, words[0], &info)) {
        warnx("there is no lock '%s'", words[0]);
        return NOT_TAKEN;
    }
    if (options->is_json) {
        print_json(json_of(region, &info));
        return 0;
    }
    printf("%s, %s%s%s\n", plain(info.name), kinds[info.kind], has_holder(&info) ? ": " : "",
           state_of(&info));
    struct lw_region_holder holder;
    for (uint32_t cursor = 0; lw_region_next_holder(region, words[0], &cursor, &holder) == 0;) {
        char command[1024];
        describe_process(holder.pid, command, sizeof command);
        printf("  holder     %s, thread %u of process %u: %s\n", plain(holder.thread), holder.tid,
               holder.pid, command);
    }
    if (info.waiters)
        printf("  waiters    %u, the first for %lld ms\n", info.waiters,
               (long long)info.longest_ms);
    else
        puts("  waiters    none");
    printf("  taken      %u times, %u of them after a wait\n", info.acquisitions, info.contended);
    printf("  deaths     %u\n", info.recoveries);
    return 0;
}

static cJSON *json_of_link(const struct lw_region_link *link, const char *command)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "pid", link->pid);
    cJSON_AddNumberToObject(json, "tid", link->tid);
    cJSON_AddStringToObject(json, "name", link->thread);
    cJSON_AddStringToObject(json, "command", command);
    cJSON_AddStringToObject(json, "waitsFor", link->waits_for);
    return json;
}

int command_deadlocks(const struct options *options, char **words)
{
    (void)words;
    enum { ROOM = 256 };
    static struct lw_region_link links[ROOM];
    lw_region *region = open_region(options, false);
    uint32_t found = 0;
    const int error = region ? lw_region_deadlock(region, links, ROOM, &found) : ENOENT;
    if (error && error != ENOENT)
        errx(FAILED, "cannot look for deadlocks: %s", strerror(error));
    cJSON *cycle = options->is_json ? cJSON_CreateArray() : NULL;
    for (uint32_t i = 0; error == 0 && i < found && i < ROOM; i++) {
        char command[200];
        describe_process(links[i].pid, command, sizeof command);
        if (cycle)
            cJSON_AddItemToArray(cycle, json_of_link(&links[i], command));
        else
            printf("process %u waits for '%s', which the %s holds: %s\n", links[i].pid,
                   plain(links[i].waits_for), i + 1 < found ? "next" : "first", command);
    }
    if (cycle)
        print_json(cycle);
    return error == 0 ? NOT_TAKEN : 0;
}
