/*
 * line.c: the keys of a lock in etcd and what they say; all lines as they are, or the first of one;
 * removing a key.
 */
#define _GNU_SOURCE
#include "line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROOT "lockword"

/* A response has so many keys at most: with the longest texts they stay below its limit. */
enum { PAGE = 256 };

enum { DEFAULT_PATIENCE_NS = NS_PER_S / 4 * 5 };

int line_of(struct line *line, const char *name)
{
    char escaped[3 * LW_LEASE_NAME_MAX + 1], *to = escaped;
    if (!name) {
        *line = (struct line){.from = ROOT "/", .to = ROOT "0"}; /* '/' + 1 */
        return 0;
    }
    if (!*name)
        return EINVAL;
    if (strlen(name) > LW_LEASE_NAME_MAX)
        return ENAMETOOLONG;
    for (; *name; name++) {
        if (*name == '/' || *name == '%')
            to += sprintf(to, "%%%02X", *name);
        else
            *to++ = *name;
    }
    *to = '\0';
    snprintf(line->from, sizeof line->from, ROOT "/%s/", escaped);
    snprintf(line->to, sizeof line->to, ROOT "/%s0", escaped);
    return 0;
}

int64_t line_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Copies as much as there is room for; never a part of a character. */
static void copy(char *to, size_t size, const char *from)
{
    size_t length = strnlen(from, size);
    if (length == size)
        for (length--; length && ((unsigned char)from[length] & 0xc0) == 0x80;)
            length--;
    memcpy(to, from, length);
    to[length] = '\0';
}

char *line_value(const char *holder, int64_t came, int64_t held)
{
    char text[LW_LEASE_HOLDER_MAX + 1], host[LW_LEASE_HOST_MAX + 1] = "";
    copy(text, sizeof text, holder ? holder : "");
    gethostname(host, sizeof host - 1);
    cJSON *value = cJSON_CreateObject();
    cJSON_AddStringToObject(value, "holder", text);
    cJSON_AddStringToObject(value, "host", host);
    cJSON_AddNumberToObject(value, "pid", getpid());
    cJSON_AddNumberToObject(value, "came", (double)came);
    if (held)
        cJSON_AddNumberToObject(value, "held", (double)held);
    char *printed = cJSON_PrintUnformatted(value);
    cJSON_Delete(value);
    return printed;
}

cJSON *line_transaction(const char *key, const char *target, const char *field, int64_t value)
{
    cJSON *body = cJSON_CreateObject();
    cJSON *compare = cJSON_CreateObject();
    cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "compare"), compare);
    etcd_add_bytes(compare, "key", key);
    cJSON_AddStringToObject(compare, "target", target);
    etcd_add_int(compare, field, value);
    return body;
}

cJSON *line_operation(cJSON *body, const char *when, const char *request)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(cJSON_AddArrayToObject(body, when), item);
    return cJSON_AddObjectToObject(item, request);
}

/* The name in a key: what is between the first two '/'. Returns whether there is one. */
static bool parse_name(char *name, const char *key)
{
    const char *from = key + strlen(ROOT "/"), *end = strchr(from, '/');
    size_t length = 0;
    for (; end && from < end; from++) {
        char code[3] = "";
        if (*from == '%' && end - from > 2)
            memcpy(code, from + 1, 2);
        if (length == LW_LEASE_NAME_MAX)
            return false;
        name[length++] = *code ? (char)strtol(code, NULL, 16) : *from;
        from += *code ? 2 : 0;
    }
    name[length] = '\0';
    return length > 0;
}

static int64_t number_of(const cJSON *value, const char *name)
{
    const double number = cJSON_GetNumberValue(cJSON_GetObjectItem(value, name));
    return number > 0 && number < 1e15 ? (int64_t)number : 0;
}

/* What a value says. Whatever else stands there is a text about the holder. */
static void parse_value(struct lw_lease_info *info, const char *text)
{
    cJSON *value = cJSON_Parse(text);
    const char *holder = cJSON_GetStringValue(cJSON_GetObjectItem(value, "holder"));
    const char *host = cJSON_GetStringValue(cJSON_GetObjectItem(value, "host"));
    copy(info->holder, sizeof info->holder, holder ? holder : text);
    copy(info->host, sizeof info->host, host ? host : "");
    info->pid = (uint32_t)number_of(value, "pid");
    info->came_ms = number_of(value, "came");
    info->held_ms = number_of(value, "held");
    cJSON_Delete(value);
}

/* All that have been read so far. */
struct infos {
    struct lw_lease_info *all;
    size_t count, room;
};

/* What a key and its value say. Returns false if it is another program's. */
static bool parse_key(struct lw_lease_info *info, const cJSON *key, const char *text)
{
    *info = (struct lw_lease_info){.ttl_s = -1, .left_s = -1};
    if (!parse_name(info->name, text))
        return false;
    char *value = etcd_bytes(key, "value");
    info->token = etcd_int(key, "create_revision");
    info->id = etcd_int(key, "lease");
    parse_value(info, value ? value : "");
    free(value);
    return true;
}

static int add_key(struct infos *infos, const cJSON *key, const char *text)
{
    struct lw_lease_info info;
    if (!parse_key(&info, key, text))
        return 0;
    if (infos->count == infos->room) {
        const size_t room = infos->room ? 2 * infos->room : PAGE;
        struct lw_lease_info *more = realloc(infos->all, room * sizeof *more);
        if (!more)
            return ENOMEM;
        infos->all = more;
        infos->room = room;
    }
    infos->all[infos->count++] = info;
    return 0;
}

/* Adds a page's keys, and puts what the next page begins with in place of *from. */
static int add_page(struct infos *infos, const cJSON *keys, char **from)
{
    const cJSON *key;
    int error = 0;
    cJSON_ArrayForEach(key, keys)
    {
        char *text = etcd_bytes(key, "key");
        if (!error)
            error = text ? add_key(infos, key, text) : ENOMEM;
        if (!error && !key->next) {
            free(*from);
            if (asprintf(from, "%s\x01", text) < 0) {
                *from = NULL;
                error = ENOMEM;
            }
        }
        free(text);
    }
    return error;
}

/* Reads the keys page by page: so those of the last page may be younger than those of the first. */
static int read_keys(struct etcd *etcd, const struct line *line, int64_t until, struct infos *infos)
{
    char *from = strdup(line->from);
    int error = from ? 0 : ENOMEM;
    for (bool is_more = true; !error && is_more;) {
        cJSON *body = cJSON_CreateObject(), *reply;
        etcd_add_bytes(body, "key", from);
        etcd_add_bytes(body, "range_end", line->to);
        etcd_add_int(body, "limit", PAGE);
        error = etcd_ask(etcd, "kv/range", body, until, &reply);
        const cJSON *keys = cJSON_GetObjectItem(reply, "kvs");
        is_more = keys && cJSON_IsTrue(cJSON_GetObjectItem(reply, "more"));
        if (!error)
            error = add_page(infos, keys, &from);
        cJSON_Delete(reply);
    }
    free(from);
    return error;
}

static int compare(const void *one, const void *other)
{
    const struct lw_lease_info *a = one, *b = other;
    const int names = strcmp(a->name, b->name);
    return names ? names : (a->token > b->token) - (a->token < b->token);
}

/* Asks for the time that a lease has left. A key without a lease has no end. */
static int ask_time(struct etcd *etcd, struct lw_lease_info *info, int64_t until)
{
    if (!info->id)
        return 0;
    cJSON *body = cJSON_CreateObject(), *reply;
    etcd_add_int(body, "ID", info->id);
    const int error = etcd_ask(etcd, "lease/timetolive", body, until, &reply);
    if (!error) {
        const int64_t left = etcd_int(reply, "TTL");
        info->left_s = left > 0 ? left : 0;
        info->ttl_s = etcd_int(reply, "grantedTTL");
    }
    cJSON_Delete(reply);
    return error == ENOENT ? 0 : error;
}

/* What the functions below begin with. */
static int begin(struct etcd *etcd, struct etcd_cluster *cluster, const char *servers,
                 const struct lw_lease_options *options)
{
    int error = etcd_parse(cluster, servers);
    if (error)
        return error;
    error = etcd_open(etcd, cluster);
    if (error)
        free(cluster->text);
    etcd->patience_ns = DEFAULT_PATIENCE_NS;
    if (options->cancel_fd > 0)
        etcd->cancel_fds[0] = options->cancel_fd;
    return error;
}

static void end(struct etcd *etcd, struct etcd_cluster *cluster,
                const struct lw_lease_options *options)
{
    if (options->reason && options->reason_size)
        snprintf(options->reason, options->reason_size, "%s", etcd->reason);
    etcd_close(etcd);
    free(cluster->text);
}

int lw_lease_list(struct lw_lease_info **all, size_t *count, const char *servers, const char *name,
                  const struct lw_lease_options *options)
{
    struct etcd_cluster cluster;
    struct etcd etcd;
    struct line line;
    struct infos infos = {0};
    *all = NULL;
    *count = 0;
    int error = line_of(&line, name);
    if (!error)
        error = begin(&etcd, &cluster, servers, options);
    if (error)
        return error;
    const int64_t until = etcd_until(options->deadline);
    error = read_keys(&etcd, &line, until, &infos);
    if (infos.count)
        qsort(infos.all, infos.count, sizeof *infos.all, compare);
    for (size_t i = 0; i < infos.count && !error; i++) {
        struct lw_lease_info *info = &infos.all[i];
        if (i && strcmp(info->name, info[-1].name) == 0)
            info->place = info[-1].place + 1;
        if (name)
            error = ask_time(&etcd, info, until);
    }
    end(&etcd, &cluster, options);
    if (error) {
        free(infos.all);
        return error;
    }
    *all = infos.all;
    *count = infos.count;
    return 0;
}

int line_first(struct lw_lease_info *first, const char *servers, const char *name,
               const struct lw_lease_options *options)
{
    struct etcd_cluster cluster;
    struct etcd etcd;
    struct line line;
    int error = line_of(&line, name);
    if (!error)
        error = begin(&etcd, &cluster, servers, options);
    if (error)
        return error;
    cJSON *body = cJSON_CreateObject(), *reply;
    etcd_add_bytes(body, "key", line.from);
    etcd_add_bytes(body, "range_end", line.to);
    cJSON_AddStringToObject(body, "sort_target", "CREATE");
    cJSON_AddStringToObject(body, "sort_order", "ASCEND");
    etcd_add_int(body, "limit", 1);
    error = etcd_ask(&etcd, "kv/range", body, etcd_until(options->deadline), &reply);
    const cJSON *found = cJSON_GetArrayItem(cJSON_GetObjectItem(reply, "kvs"), 0);
    char *key = etcd_bytes(found, "key");
    if (!error)
        error = key && parse_key(first, found, key) ? 0 : ENOENT;
    free(key);
    cJSON_Delete(reply);
    end(&etcd, &cluster, options);
    return error;
}

/* The key is deleted in a transaction that sees whether it is still the same one. */
static int delete_key(struct etcd *etcd, const char *key, int64_t token, int64_t until)
{
    cJSON *body = line_transaction(key, "CREATE", "create_revision", token), *reply;
    etcd_add_bytes(line_operation(body, "success", "request_delete_range"), "key", key);
    int error = etcd_ask(etcd, "kv/txn", body, until, &reply);
    if (!error && !cJSON_IsTrue(cJSON_GetObjectItem(reply, "succeeded")))
        error = ENOENT;
    cJSON_Delete(reply);
    return error;
}

int lw_lease_break(const char *servers, const char *name, int64_t token,
                   const struct lw_lease_options *options)
{
    struct etcd_cluster cluster;
    struct etcd etcd;
    struct line line;
    int error = name ? line_of(&line, name) : EINVAL;
    if (!error)
        error = begin(&etcd, &cluster, servers, options);
    if (error)
        return error;
    const int64_t until = etcd_until(options->deadline);
    cJSON *body = cJSON_CreateObject(), *reply;
    etcd_add_bytes(body, "key", line.from);
    etcd_add_bytes(body, "range_end", line.to);
    etcd_add_int(body, "min_create_revision", token);
    etcd_add_int(body, "max_create_revision", token);
    error = etcd_ask(&etcd, "kv/range", body, until, &reply);
    const cJSON *found = cJSON_GetArrayItem(cJSON_GetObjectItem(reply, "kvs"), 0);
    const int64_t id = etcd_int(found, "lease");
    char *key = etcd_bytes(found, "key");
    cJSON_Delete(reply);
    if (!error)
        error = key ? delete_key(&etcd, key, token, until) : ENOENT;
    free(key);
    if (!error && id) {
        /* Its lease serves nothing any more. If this fails, the lease runs out. */
        body = cJSON_CreateObject();
        etcd_add_int(body, "ID", id);
        etcd_ask(&etcd, "lease/revoke", body, until, &reply);
        cJSON_Delete(reply);
    }
    end(&etcd, &cluster, options);
    return error;
}
