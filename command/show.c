/* show.c: `lockword list` and `lockword show`. */
#include "command.h"

#include <cjson/cJSON.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char *state_of(const struct lw_region_info *info)
{
    return info->fate == ENOTRECOVERABLE ? "abandoned"
           : info->holder_pid            ? "held"
           : info->fate == EOWNERDEAD    ? "free, its holder died"
                                         : "free";
}

static cJSON *json_of(const struct lw_region_info *info)
{
    cJSON *lock = cJSON_CreateObject();
    cJSON_AddStringToObject(lock, "name", info->name);
    cJSON_AddBoolToObject(lock, "held", info->holder_pid != 0);
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

static void print_json(cJSON *json)
{
    char *text = cJSON_Print(json);
    if (!text)
        errx(FAILED, "out of memory");
    puts(text);
    free(text);
    cJSON_Delete(json);
}

int command_list(const struct options *options, char **words)
{
    (void)words;
    lw_region *region = open_region(options, false);
    cJSON *locks = options->is_json ? cJSON_CreateArray() : NULL;
    if (!locks)
        printf("%-24s %-22s %8s %8s %8s %8s  %s\n", "NAME", "STATE", "WAITERS", "TAKEN", "DEATHS",
               "PID", "COMMAND");
    struct lw_region_info info;
    for (uint32_t cursor = 0; region && lw_region_next(region, &cursor, &info) == 0;) {
        if (locks) {
            cJSON_AddItemToArray(locks, json_of(&info));
            continue;
        }
        printf("%-24s %-22s %8u %8u %8u", info.name, state_of(&info), info.waiters,
               info.acquisitions, info.recoveries);
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
    lw_region *region = open_region(options, false);
    struct lw_region_info info;
    if (!region || lw_region_describe(region, words[0], &info)) {
        warnx("there is no lock '%s'", words[0]);
        return NOT_TAKEN;
    }
    if (options->is_json) {
        print_json(json_of(&info));
        return 0;
    }
    printf("%s: %s\n", info.name, state_of(&info));
    if (info.holder_pid) {
        char command[1024];
        describe_process(info.holder_pid, command, sizeof command);
        printf("  holder     %s, thread %u of process %u: %s\n", info.holder, info.holder_tid,
               info.holder_pid, command);
    }
    printf("  waiters    %u, the first for %lld ms\n", info.waiters, (long long)info.longest_ms);
    printf("  taken      %u times, %u of them after a wait\n", info.acquisitions, info.contended);
    printf("  deaths     %u\n", info.recoveries);
    return 0;
}
