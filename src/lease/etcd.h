/* etcd.h: requests to an etcd cluster, by its JSON gateway. */
#ifndef LOCKWORD_LEASE_ETCD_H
#define LOCKWORD_LEASE_ETCD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include <lockword/wait.h>

enum { ETCD_SERVERS = 16, ETCD_REASON = 512, NS_PER_S = 1000000000 };

/* The servers of a cluster. Threads share it. */
struct etcd_cluster {
    char *text; /* what the names point into */
    const char *servers[ETCD_SERVERS];
    unsigned count;
    atomic_uint current; /* which one is asked, modulo count */
};

/* What one thread needs to make requests. */
struct etcd {
    struct etcd_cluster *cluster;
    void *multi, *easy;
    int64_t patience_ns;      /* how long one server has for its response */
    int cancel_fds[2];        /* a request ends when one of these is readable; or negative */
    long sent;                /* how many bytes of the last try; 0: no server was reached */
    bool is_later;            /* the last request was repeated: an earlier try may have done it */
    bool is_alone;            /* each request has a connection of its own: else curl may repeat it,
                               * where the connection breaks, and say nothing of that */
    long status;              /* of the last response, as HTTP has it; 0: there was none */
    char reason[ETCD_REASON]; /* why the last request failed */
};

/* CLOCK_BOOTTIME, ns. */
int64_t etcd_now(void);

/* A deadline by that clock. */
int64_t etcd_until(lw_deadline deadline);

/* Parses "etcd://HOST:PORT,...". Returns 0, EINVAL or ENOMEM. */
int etcd_parse(struct etcd_cluster *cluster, const char *servers);

int etcd_open(struct etcd *etcd, struct etcd_cluster *cluster);
void etcd_close(struct etcd *etcd);

/*
 * Makes a request, of one server after another, until one responds or the time is over, and frees
 * the body. *reply is the response. Returns 0; ENOENT: the lease does not exist; EACCES; EINVAL;
 * ECANCELED: a cancel_fd is readable; EHOSTUNREACH: no server responded; or ENOMEM.
 */
int etcd_ask(struct etcd *etcd, const char *path, cJSON *body, int64_t until, cJSON **reply);

/* Waits a moment before a request is repeated. Returns 0 or ECANCELED. */
int etcd_pause(struct etcd *etcd);

/*
 * Waits until a key is deleted after the revision. Returns 0; ETIMEDOUT; ECANCELED; or, after a
 * pause, EHOSTUNREACH: the server failed, or does not watch that, and the next one is current.
 */
int etcd_watch(struct etcd *etcd, const char *key, int64_t revision, int64_t until);

/*
 * Adds bytes in base64, an int64 as the gateway writes it, a text, an object, and a list of one. If
 * there is no memory, they spoil what they add to, since a request that lacks a part asks for
 * something else: etcd finds one key where the end of a range is missing. etcd_ask returns ENOMEM
 * for what has a spoilt part.
 */
void etcd_add_bytes(cJSON *object, const char *name, const char *bytes);
void etcd_add_int(cJSON *object, const char *name, int64_t value);
void etcd_add_text(cJSON *object, const char *name, const char *text);
cJSON *etcd_add_object(cJSON *object, const char *name);
cJSON *etcd_add_list(cJSON *object, const char *name, cJSON *item);

/* Spoils the object unless this was added. */
void etcd_need(cJSON *object, const cJSON *added);

/* The number of this name; 0 if it is not there. */
int64_t etcd_int(const cJSON *object, const char *name);

/*
 * The bytes of this name, up to the first 0, for free(). Returns NULL if they are not there, or if
 * there is no memory.
 */
char *etcd_bytes(const cJSON *object, const char *name);

/* The item of a transaction's reply that has what its first operation, a range, found; or NULL. */
const cJSON *etcd_range_of(const cJSON *reply);

#endif
