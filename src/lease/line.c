/*
 * line.c: the keys of a lock in etcd and what they say; all lines as they are, or the first of one;
 * removing a key.
 */
#define _GNU_SOURCE
#include "line.h"

#include "../quiet.h"

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

/* What lw_lease_lock has by default: how long one server has for its response, and all of them. */
enum { PATIENCE_NS = NS_PER_S / 4 * 5 };
#define ALL_PATIENCE_NS (8 * (int64_t)PATIENCE_NS)

/* Of so many, the first in the line, the times of their leases are asked for: one request each. */
enum { TIMES = 16 };

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

void line_copy(char *to, size_t size, const char *from)
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
    line_copy(text, sizeof text, holder ? holder : "");
    gethostname(host, sizeof host - 1);
    cJSON *value = cJSON_CreateObject();
    etcd_add_text(value, "holder", text);
    etcd_add_text(value, "host", host);
    etcd_need(value, cJSON_AddNumberToObject(value, "pid", getpid()));
    etcd_need(value, cJSON_AddNumberToObject(value, "came", (double)came));
    if (held)
        etcd_need(value, cJSON_AddNumberToObject(value, "held", (double)held));
    char *printed = cJSON_PrintUnformatted(value);
    cJSON_Delete(value);
    return printed;
}

cJSON *line_transaction(const char *key, const char *target, const char *field, int64_t value)
{
    cJSON *body = cJSON_CreateObject();
    cJSON *compare = etcd_add_list(body, "compare", cJSON_CreateObject());
    etcd_add_bytes(compare, "key", key);
    etcd_add_text(compare, "target", target);
    etcd_add_int(compare, field, value);
    return body;
}

cJSON *line_operation(cJSON *body, const char *when, const char *request)
{
    return etcd_add_object(etcd_add_list(body, when, cJSON_CreateObject()), request);
}

/* The name in a key: what is between the first two '/'. Returns whether there is one. */
static bool parse_name(char *name, const char *key)
{
    static const char root[] = ROOT "/";
    if (strncmp(key, root, sizeof root - 1) != 0)
        return false;
    const char *from = key + sizeof root - 1, *end = strchr(from, '/');
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
    line_copy(info->holder, sizeof info->holder, holder ? holder : text);
    line_copy(info->host, sizeof info->host, host ? host : "");
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

/* What a key and its value say. Returns 0; ENOENT: it is another program's; or ENOMEM. */
static int parse_key(struct lw_lease_info *info, const cJSON *key, const char *text)
{
    *info = (struct lw_lease_info){.ttl_s = -1, .left_s = -1};
    if (!text)
        return ENOMEM;
    if (!parse_name(info->name, text))
        return ENOENT;
    char *value = etcd_bytes(key, "value");
    if (!value && cJSON_HasObjectItem(key, "value"))
        return ENOMEM;
    info->token = etcd_int(key, "create_revision");
    info->id = etcd_int(key, "lease");
    parse_value(info, value ? value : "");
    free(value);
    return 0;
}

static int add_key(struct infos *infos, const cJSON *key, const char *text)
{
    struct lw_lease_info info;
    const int error = parse_key(&info, key, text);
    if (error)
        return error == ENOENT ? 0 : error;
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
            error = add_key(infos, key, text);
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

/* Until when the caller waits for servers; 0: for as long as they may take, as with LW_NOW. */
static int64_t limit_of(const struct lw_lease_options *options)
{
    const int64_t until = etcd_until(options->deadline);
    return etcd_now() < until ? until : 0;
}

/* Until when one request is made of them. */
static int64_t until_of(int64_t limit)
{
    const int64_t most = etcd_now() + ALL_PATIENCE_NS;
    return limit && limit < most ? limit : most;
}

/* Reads the keys page by page: so those of the last page may be younger than those of the first. */
static int read_keys(struct etcd *etcd, const struct line *line, int64_t limit, struct infos *infos)
{
    char *from = strdup(line->from);
    int error = from ? 0 : ENOMEM;
    for (bool is_more = true; !error && is_more;) {
        cJSON *body = cJSON_CreateObject(), *reply;
        etcd_add_bytes(body, "key", from);
        etcd_add_bytes(body, "range_end", line->to);
        etcd_add_int(body, "limit", PAGE);
        error = etcd_ask(etcd, "kv/range", body, until_of(limit), &reply);
        const cJSON *keys = cJSON_GetObjectItem(reply, "kvs");
        is_more = cJSON_GetArraySize(keys) > 0 && cJSON_IsTrue(cJSON_GetObjectItem(reply, "more"));
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
static int ask_time(struct etcd *etcd, struct lw_lease_info *info, int64_t limit)
{
    if (!info->id)
        return 0;
    cJSON *body = cJSON_CreateObject(), *reply;
    etcd_add_int(body, "ID", info->id);
    const int error = etcd_ask(etcd, "lease/timetolive", body, until_of(limit), &reply);
    if (!error) {
        const int64_t left = etcd_int(reply, "TTL");
        info->left_s = left > 0 ? left : 0;
        info->ttl_s = etcd_int(reply, "grantedTTL");
    }
    cJSON_Delete(reply);
    return error == ENOENT ? 0 : error;
}

void line_begin_reason(const struct lw_lease_options *options)
{
    if (options->reason && options->reason_size)
        *options->reason = '\0';
}

/* What the functions below begin with. */
static int begin(struct etcd *etcd, struct etcd_cluster *cluster, struct line *line,
                 const char *servers, const char *name, const struct lw_lease_options *options)
{
    int error = line_of(line, name);
    if (!error)
        error = etcd_parse(cluster, servers);
    if (error)
        return error;
    error = etcd_open(etcd, cluster);
    if (error)
        free(cluster->text);
    etcd->patience_ns = PATIENCE_NS;
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

static int list(struct infos *infos, const char *servers, const char *name,
                const struct lw_lease_options *options)
{
    struct etcd_cluster cluster;
    struct etcd etcd;
    struct line line;
    int error = begin(&etcd, &cluster, &line, servers, name, options);
    if (error)
        return error;
    const int64_t limit = limit_of(options);
    error = read_keys(&etcd, &line, limit, infos);
    if (infos->count)
        qsort(infos->all, infos->count, sizeof *infos->all, compare);
    for (size_t i = 0; i < infos->count && !error; i++) {
        struct lw_lease_info *info = &infos->all[i];
        if (i && strcmp(info->name, info[-1].name) == 0)
            info->place = info[-1].place + 1;
        if (name && i < TIMES)
            error = ask_time(&etcd, info, limit);
    }
    end(&etcd, &cluster, options);
    return error;
}

int lw_lease_list(struct lw_lease_info **all, size_t *count, const char *servers, const char *name,
                  const struct lw_lease_options *options)
{
    const struct lw_quiet before = lw_begin_quietly();
    struct infos infos = {0};
    line_begin_reason(options);
    const int error = list(&infos, servers, name, options);
    if (error)
        free(infos.all);
    *all = error ? NULL : infos.all;
    *count = error ? 0 : infos.count;
    lw_end_quietly(before);
    return error;
}

int line_first(struct lw_lease_info *first, bool with_times, const char *servers, const char *name,
               const struct lw_lease_options *options)
{
    struct etcd_cluster cluster;
    struct etcd etcd;
    struct line line;
    int error = begin(&etcd, &cluster, &line, servers, name, options);
    if (error)
        return error;
    const int64_t limit = limit_of(options);
    cJSON *body = cJSON_CreateObject(), *reply;
    etcd_add_bytes(body, "key", line.from);
    etcd_add_bytes(body, "range_end", line.to);
    etcd_add_text(body, "sort_target", "CREATE");
    etcd_add_text(body, "sort_order", "ASCEND");
    etcd_add_int(body, "limit", 1);
    error = etcd_ask(&etcd, "kv/range", body, until_of(limit), &reply);
    const cJSON *found = cJSON_GetArrayItem(cJSON_GetObjectItem(reply, "kvs"), 0);
    char *key = etcd_bytes(found, "key");
    if (!error)
        error = found ? parse_key(first, found, key) : ENOENT;
    free(key);
    cJSON_Delete(reply);
    if (!error && with_times)
        error = ask_time(&etcd, first, limit);
    end(&etcd, &cluster, options);
    return error;
}

int line_delete(struct etcd *etcd, const char *key, int64_t token, int64_t until)
{
    cJSON *body = line_transaction(key, "CREATE", "create_revision", token), *reply;
    etcd_add_bytes(line_operation(body, "success", "request_delete_range"), "key", key);
    etcd->is_alone = true;
    int error = etcd_ask(etcd, "kv/txn", body, until, &reply);
    etcd->is_alone = false;
    if (!error && !cJSON_IsTrue(cJSON_GetObjectItem(reply, "succeeded")))
        error = etcd->is_later ? 0 : ENOENT;
    cJSON_Delete(reply);
    return error;
}

static int break_one(const char *servers, const char *name, int64_t token,
                     const struct lw_lease_options *options)
{
    struct etcd_cluster cluster;
    struct etcd etcd;
    struct line line;
    int error = name ? begin(&etcd, &cluster, &line, servers, name, options) : EINVAL;
    if (error)
        return error;
    const int64_t limit = limit_of(options);
    cJSON *body = cJSON_CreateObject(), *reply;
    etcd_add_bytes(body, "key", line.from);
    etcd_add_bytes(body, "range_end", line.to);
    etcd_add_int(body, "min_create_revision", token);
    etcd_add_int(body, "max_create_revision", token);
    error = etcd_ask(&etcd, "kv/range", body, until_of(limit), &reply);
    const cJSON *found = cJSON_GetArrayItem(cJSON_GetObjectItem(reply, "kvs"), 0);
    const int64_t id = etcd_int(found, "lease");
    char *key = etcd_bytes(found, "key");
    if (!error)
        error = key ? line_delete(&etcd, key, token, until_of(limit)) : found ? ENOMEM : ENOENT;
    free(key);
    cJSON_Delete(reply);
    if (!error && id) {
        /* Its lease serves nothing any more. If this fails, the lease runs out. */
        body = cJSON_CreateObject();
        etcd_add_int(body, "ID", id);
        etcd_ask(&etcd, "lease/revoke", body, until_of(limit), &reply);
        cJSON_Delete(reply);
    }
    end(&etcd, &cluster, options);
    return error;
}

int lw_lease_break(const char *servers, const char *name, int64_t token,
                   const struct lw_lease_options *options)
{
    const struct lw_quiet before = lw_begin_quietly();
    line_begin_reason(options);
    const int error = break_one(servers, name, token, options);
    lw_end_quietly(before);
    return error;
}
