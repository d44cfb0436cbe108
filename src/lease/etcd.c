/* etcd.c: requests to an etcd cluster, by its JSON gateway, with libcurl. */
#define _GNU_SOURCE
#include "etcd.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>
#include <sys/socket.h>

/* The codes of gRPC that a retry does not change. */
enum { INVALID_ARGUMENT = 3, NOT_FOUND = 5, PERMISSION_DENIED = 7, UNAUTHENTICATED = 16 };

/* Before the first server is asked again. */
enum { PAUSE_NS = NS_PER_S / 10 };

/* Within such a time, at most, a request notices that its time is up. */
enum { SOON_NS = NS_PER_S / 4 };

static const char default_port[] = "2379";

/* No response is longer. */
enum { LONGEST_RESPONSE = 1 << 20 };

struct text {
    char *bytes;
    size_t length;
};

int64_t etcd_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t etcd_until(lw_deadline deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t left = deadline - ((int64_t)now.tv_sec * NS_PER_S + now.tv_nsec);
    const int64_t boot = etcd_now();
    return left <= 0 ? boot : left > INT64_MAX - boot ? INT64_MAX : boot + left;
}

/* What follows the ':' of a server, which may be an IPv6 address in brackets; NULL: no port. */
static const char *port_of(const char *server)
{
    const char *bracket = strrchr(server, ']');
    const char *colon = strchr(bracket ? bracket : server, ':');
    return colon ? colon + 1 : NULL;
}

int etcd_parse(struct etcd_cluster *cluster, const char *servers)
{
    static const char scheme[] = "etcd://";
    *cluster = (struct etcd_cluster){0};
    if (!servers || strncmp(servers, scheme, sizeof scheme - 1) != 0)
        return EINVAL;
    servers += sizeof scheme - 1;
    /* What curl would take for a path, a user or another scheme is no server. */
    if (strpbrk(servers, "/@?# \\"))
        return EINVAL;
    cluster->text = strdup(servers);
    if (!cluster->text)
        return ENOMEM;
    for (char *rest = cluster->text, *server; (server = strsep(&rest, ","));) {
        const char *port = port_of(server);
        if (!*server || *server == ':' || cluster->count == ETCD_SERVERS ||
            (port && (!*port || port[strspn(port, "0123456789")]))) {
            free(cluster->text);
            return EINVAL;
        }
        cluster->servers[cluster->count++] = server;
    }
    return 0;
}

static void begin_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

int etcd_open(struct etcd *etcd, struct etcd_cluster *cluster)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_curl);
    *etcd = (struct etcd){
        .cluster = cluster,
        .multi = curl_multi_init(),
        .easy = curl_easy_init(),
        .cancel_fds = {-1, -1},
    };
    if (etcd->multi && etcd->easy)
        return 0;
    etcd_close(etcd);
    return ENOMEM;
}

void etcd_close(struct etcd *etcd)
{
    if (etcd->easy)
        curl_easy_cleanup(etcd->easy);
    if (etcd->multi)
        curl_multi_cleanup(etcd->multi);
    etcd->easy = etcd->multi = NULL;
}

static size_t append(char *bytes, size_t size, size_t count, void *to)
{
    struct text *text = to;
    count *= size;
    char *longer = text->length + count > LONGEST_RESPONSE
                       ? NULL
                       : realloc(text->bytes, text->length + count + 1);
    if (!longer)
        return 0;
    memcpy(longer + text->length, bytes, count);
    text->bytes = longer;
    text->length += count;
    longer[text->length] = '\0';
    return count;
}

/* Removes the first line of what has come so far, and parses it. */
static cJSON *next_message(struct text *text)
{
    char *end = text->bytes ? memchr(text->bytes, '\n', text->length) : NULL;
    if (!end)
        return NULL;
    *end++ = '\0';
    cJSON *message = cJSON_Parse(text->bytes);
    text->length -= (size_t)(end - text->bytes);
    memmove(text->bytes, end, text->length + 1);
    return message ? message : cJSON_CreateNull();
}

/* What a watch says: 0: it has begun, or nothing yet; 1: the key has changed; -1: it is over. */
static int is_news(struct text *text)
{
    int news = 0;
    for (cJSON *message; !news && (message = next_message(text));) {
        const cJSON *result = cJSON_GetObjectItem(message, "result");
        news = cJSON_GetObjectItem(result, "events")                              ? 1
               : !result || cJSON_IsTrue(cJSON_GetObjectItem(result, "canceled")) ? -1
                                                                                  : 0;
        cJSON_Delete(message);
    }
    return news;
}

static bool is_cancelled(const struct etcd *etcd)
{
    for (int i = 0; i < 2; i++) {
        struct pollfd fd = {.fd = etcd->cancel_fds[i], .events = POLLIN};
        if (fd.fd >= 0 && poll(&fd, 1, 0) > 0)
            return true;
    }
    return false;
}

/* Waits for curl's sockets and for a cancel, at most until then. */
static void await(struct etcd *etcd, int64_t until)
{
    struct curl_waitfd fds[2];
    unsigned count = 0;
    for (int i = 0; i < 2; i++) {
        if (etcd->cancel_fds[i] >= 0)
            fds[count++] =
                (struct curl_waitfd){.fd = etcd->cancel_fds[i], .events = CURL_WAIT_POLLIN};
    }
    const int64_t ms = (until - etcd_now()) / 1000000 + 1;
    curl_multi_poll(etcd->multi, fds, count, (int)(ms < 0 ? 0 : ms > 3600000 ? 3600000 : ms), NULL);
}

/*
 * The clock that poll waits by stands still while the machine sleeps. So a request looks at the
 * time again soon, since its thread may have to tell that a lease is lost. A watch need not:
 * another thread ends it.
 */
static int64_t until_soon(int64_t until)
{
    const int64_t soon = etcd_now() + SOON_NS;
    return until < soon ? until : soon;
}

/* The other servers get the next requests, unless another thread has seen to that. */
static void move_on(struct etcd *etcd, unsigned from)
{
    atomic_compare_exchange_strong(&etcd->cluster->current, &from, from + 1);
}

/* A socket that programs which this one executes do not get. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)context, (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/*
 * One request of one server. With `is_watch` the response has no end, and the request is over when
 * there is news. Returns 0, ETIMEDOUT, ECANCELED or EHOSTUNREACH.
 */
static int transfer(struct etcd *etcd, const char *path, const char *body, int64_t until,
                    bool is_watch, struct text *text)
{
    const char *server =
        etcd->cluster->servers[atomic_load(&etcd->cluster->current) % etcd->cluster->count];
    const bool has_port = port_of(server);
    char url[512];
    if (snprintf(url, sizeof url, "http://%s%s%s/v3/%s", server, has_port ? "" : ":",
                 has_port ? "" : default_port, path) >= (int)sizeof url)
        return EHOSTUNREACH;
    CURL *easy = etcd->easy;
    char words[CURL_ERROR_SIZE] = "";
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, text);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, words);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(etcd->patience_ns / 1000000));
    /* curl repeats by itself what had no response on a connection that it used again. */
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, (long)etcd->is_alone);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* A look-up of a host name that hangs is left behind, and frees its memory when it ends. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl_multi_add_handle(etcd->multi, easy);
    int error = 0, news = 0;
    for (int running = 1; running;) {
        if (curl_multi_perform(etcd->multi, &running) != CURLM_OK)
            error = EHOSTUNREACH;
        else if (is_watch && (news = is_news(text)))
            break;
        else if (running && is_cancelled(etcd))
            error = ECANCELED;
        else if (running && etcd_now() >= until)
            error = ETIMEDOUT;
        else if (running)
            await(etcd, is_watch ? until : until_soon(until));
        if (error)
            break;
    }
    int left;
    const CURLMsg *done = curl_multi_info_read(etcd->multi, &left);
    const bool has_failed = done && done->msg == CURLMSG_DONE && done->data.result != CURLE_OK;
    if (!error && (has_failed || (is_watch && news <= 0)))
        error = EHOSTUNREACH;
    if (error == ETIMEDOUT || error == EHOSTUNREACH)
        snprintf(etcd->reason, sizeof etcd->reason, "%.100s: %.150s", server,
                 error == ETIMEDOUT                                     ? "no response"
                 : has_failed && done->data.result == CURLE_WRITE_ERROR ? "the response is too long"
                 : *words                                               ? words
                 : is_watch                                             ? "the watch has ended"
                                                                        : "the connection failed");
    etcd->status = etcd->sent = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &etcd->status);
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &etcd->sent);
    curl_multi_remove_handle(etcd->multi, easy);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
    return error;
}

/*
 * What a response means; it is NULL if it was no JSON. EHOSTUNREACH: ask another server. All that
 * is no failure has a header, and a transaction tells what it has done. Up to version 3.5 a failure
 * has an "error" besides its code; that of a stream is an object.
 */
static int judge(struct etcd *etcd, const cJSON *reply)
{
    const cJSON *failure = cJSON_GetObjectItem(reply, "error");
    const cJSON *result = cJSON_GetObjectItem(reply, "result"); /* of a stream */
    const cJSON *header = cJSON_GetObjectItem(result ? result : reply, "header");
    const cJSON *done = cJSON_GetArrayItem(cJSON_GetObjectItem(reply, "responses"), 0);
    const bool is_whole =
        cJSON_IsObject(header) && (done || !cJSON_IsTrue(cJSON_GetObjectItem(reply, "succeeded")));
    if (is_whole && !failure && etcd->status == 200)
        return 0;
    const cJSON *holder = cJSON_IsObject(failure) ? failure : reply;
    const char *message = cJSON_GetStringValue(cJSON_GetObjectItem(holder, "message"));
    const cJSON *number = cJSON_GetObjectItem(holder, "grpc_code");
    if (!number)
        number = cJSON_GetObjectItem(holder, "code");
    const int code = cJSON_IsNumber(number) ? number->valueint : 0;
    snprintf(etcd->reason, sizeof etcd->reason, "%s: %s",
             etcd->cluster->servers[atomic_load(&etcd->cluster->current) % etcd->cluster->count],
             message ? message : "no response of etcd's JSON gateway (version 3.4 or later)");
    return code == NOT_FOUND                                      ? ENOENT
           : code == PERMISSION_DENIED || code == UNAUTHENTICATED ? EACCES
           : code == INVALID_ARGUMENT                             ? EINVAL
                                                                  : EHOSTUNREACH;
}

int etcd_pause(struct etcd *etcd)
{
    await(etcd, etcd_now() + PAUSE_NS);
    return is_cancelled(etcd) ? ECANCELED : 0;
}

int etcd_ask(struct etcd *etcd, const char *path, cJSON *body, int64_t until, cJSON **reply)
{
    char *request = cJSON_PrintUnformatted(body);
    cJSON_Delete(body);
    *reply = NULL;
    if (!request)
        return ENOMEM;
    int error;
    char reason[ETCD_REASON] = "";
    etcd->is_later = false;
    for (unsigned tried = 1;; tried++) {
        const unsigned server = atomic_load(&etcd->cluster->current);
        const int64_t patient_until = etcd_now() + etcd->patience_ns;
        struct text text = {0};
        error = transfer(etcd, path, request, patient_until < until ? patient_until : until, false,
                         &text);
        if (!error) {
            *reply = text.bytes ? cJSON_Parse(text.bytes) : NULL;
            error = judge(etcd, *reply);
            if (error) {
                cJSON_Delete(*reply);
                *reply = NULL;
            }
        }
        free(text.bytes);
        if (error != ETIMEDOUT && error != EHOSTUNREACH)
            break;
        etcd->is_later |= etcd->sent > 0;
        /* A last request that had too little time says nothing about the servers. */
        if (error == ETIMEDOUT && *reason && etcd_now() >= until)
            memcpy(etcd->reason, reason, sizeof reason);
        memcpy(reason, etcd->reason, sizeof reason);
        move_on(etcd, server);
        const bool pauses = tried % etcd->cluster->count == 0;
        error = EHOSTUNREACH;
        if (etcd_now() + (pauses ? PAUSE_NS : 0) >= until)
            break;
        if (pauses ? etcd_pause(etcd) : is_cancelled(etcd)) {
            error = ECANCELED;
            break;
        }
    }
    free(request);
    return error;
}

int etcd_watch(struct etcd *etcd, const char *key, int64_t revision, int64_t until)
{
    cJSON *body = cJSON_CreateObject();
    cJSON *create = etcd_add_object(body, "create_request");
    etcd_add_bytes(create, "key", key);
    etcd_add_int(create, "start_revision", revision + 1);
    etcd_add_list(create, "filters", cJSON_CreateString("NOPUT"));
    char *request = cJSON_PrintUnformatted(body);
    cJSON_Delete(body);
    if (!request)
        return ENOMEM;
    const unsigned server = atomic_load(&etcd->cluster->current);
    struct text text = {0};
    int error = transfer(etcd, "watch", request, until, true, &text);
    free(text.bytes);
    free(request);
    if (error == EHOSTUNREACH) {
        move_on(etcd, server);
        if (etcd_pause(etcd))
            error = ECANCELED;
    }
    return error;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* cJSON prints nothing that has a part of an invalid type. */
void etcd_need(cJSON *object, const cJSON *added)
{
    if (object && !added)
        object->type = cJSON_Invalid;
}

void etcd_add_text(cJSON *object, const char *name, const char *text)
{
    etcd_need(object, cJSON_AddStringToObject(object, name, text));
}

cJSON *etcd_add_object(cJSON *object, const char *name)
{
    cJSON *added = cJSON_AddObjectToObject(object, name);
    etcd_need(object, added);
    return added;
}

cJSON *etcd_add_list(cJSON *object, const char *name, cJSON *item)
{
    cJSON *list = cJSON_AddArrayToObject(object, name);
    if (list && item) {
        cJSON_AddItemToArray(list, item);
        return item;
    }
    etcd_need(object, NULL);
    cJSON_Delete(item);
    return NULL;
}

void etcd_add_bytes(cJSON *object, const char *name, const char *bytes)
{
    const size_t length = strlen(bytes);
    char *text = malloc((length + 2) / 3 * 4 + 1), *to = text;
    if (!text) {
        etcd_need(object, NULL);
        return;
    }
    for (size_t i = 0; i < length; i += 3) {
        uint32_t group = 0;
        for (size_t j = 0; j < 3; j++)
            group = group << 8 | (i + j < length ? (unsigned char)bytes[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            *to++ = i + j <= length ? digits[group >> (18 - 6 * j) & 63] : '=';
    }
    *to = '\0';
    etcd_add_text(object, name, text);
    free(text);
}

void etcd_add_int(cJSON *object, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    etcd_add_text(object, name, text);
}

int64_t etcd_int(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    return text ? strtoll(text, NULL, 10) : 0;
}

char *etcd_bytes(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    char *bytes = text ? malloc(strlen(text) + 1) : NULL, *to = bytes;
    uint32_t bits = 0;
    for (int count = 0; bytes && *text && *text != '='; text++) {
        const char *digit = strchr(digits, *text);
        bits = bits << 6 | (uint32_t)(digit ? digit - digits : 0);
        count += 6;
        if (count >= 8) {
            count -= 8;
            *to++ = (char)(bits >> count & 0xff);
        }
    }
    if (bytes)
        *to = '\0';
    return bytes;
}

const cJSON *etcd_range_of(const cJSON *reply)
{
    const cJSON *responses = cJSON_GetObjectItem(reply, "responses");
    return cJSON_GetObjectItem(cJSON_GetArrayItem(responses, 0), "response_range");
}
