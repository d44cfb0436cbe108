/*
 * lease.c: a lock is a queue of keys in etcd, lockword/NAME/LEASE, each with a lease of its own.
 * The holder has the key that was created first. Each other one watches the key before its own.
 */
#define _GNU_SOURCE
#include <lockword/lease.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../quiet.h"
#include "etcd.h"
#include "line.h"

enum { DEFAULT_TTL = 10, LEAST_TTL = 2, MOST_TTL = 3600 };

/* One server has an eighth of the time-to-live for its response, but no longer than so many s. */
enum { MOST_PATIENCE = 5 };

/* In the time that so many servers have, a lock is given back; and a waiter looks at the queue
 * again, if the watch should be mute, as behind a proxy that keeps what it says. */
enum { ROUNDS = 10 };

/* So many leases that do not exist, one after the other, are no accident: these servers are not one
 * cluster. */
enum { MOST_IN_VAIN = 10 };

/* In eighths of the time-to-live: when the next renewal is due; when the lease is lost; when the
 * holder has to have stopped. */
enum { RENEW = 2, STOP = 5, END = 7, WHOLE = 8 };

/*
 * A holder that had to wait writes down since when it holds the lock, after so long. Other holders
 * pay nothing for it.
 */
enum { NOTE_AFTER_NS = NS_PER_S };

struct lw_lease {
    struct lw_lease_options options;
    struct etcd_cluster cluster;
    struct etcd waiter;  /* the caller's */
    struct etcd renewer; /* the thread's */
    pthread_t thread;
    struct line line;
    char holder[LW_LEASE_HOLDER_MAX + 1];
    char key[LINE_KEY + 16];
    char *before; /* the key that this one waits for; NULL: none */
    int64_t id, token, ttl_ns, came_ms;
    int64_t revision;       /* of the last look at the queue */
    _Atomic int64_t stop;   /* when the lease is lost; 0: it is lost */
    int timer, over, moved; /* the thread's timer; events: it has to end; look again */
    pthread_mutex_t lock;   /* of what follows, the timer, and what the callbacks are told */
    bool is_granted, has_thread, has_joined, has_waited;
    int64_t due;     /* the next renewal */
    int64_t held_ms; /* since when, which others do not know yet; 0: they do */
};

static void raise_event(int event)
{
    const uint64_t one = 1;
    if (write(event, &one, sizeof one) < 0)
        return; /* it is raised already */
}

static cJSON *body_with_id(int64_t id)
{
    cJSON *body = cJSON_CreateObject();
    etcd_add_int(body, "ID", id);
    return body;
}

/* Adds a put of the lease's key to a transaction. Returns 0 or ENOMEM. */
static int add_put(const lw_lease *lease, cJSON *body, int64_t held_ms)
{
    char *value = line_value(lease->holder, lease->came_ms, held_ms);
    if (!value)
        return ENOMEM;
    cJSON *put = line_operation(body, "success", "request_put");
    etcd_add_bytes(put, "key", lease->key);
    etcd_add_bytes(put, "value", value);
    etcd_add_int(put, "lease", lease->id);
    free(value);
    return 0;
}

/* Joins the queue. Done twice, as after a response that was lost, it is done once. */
static int create_key(lw_lease *lease, int64_t until)
{
    cJSON *body = line_transaction(lease->key, "VERSION", "version", 0), *reply;
    int error = add_put(lease, body, 0);
    if (error) {
        cJSON_Delete(body);
        return error;
    }
    etcd_add_bytes(line_operation(body, "failure", "request_range"), "key", lease->key);
    error = etcd_ask(&lease->waiter, "kv/txn", body, until, &reply);
    if (!error) {
        const cJSON *keys = cJSON_GetObjectItem(etcd_range_of(reply), "kvs");
        lease->token = cJSON_IsTrue(cJSON_GetObjectItem(reply, "succeeded"))
                           ? etcd_int(cJSON_GetObjectItem(reply, "header"), "revision")
                           : etcd_int(cJSON_GetArrayItem(keys, 0), "create_revision");
    }
    cJSON_Delete(reply);
    return error || lease->token > 0 ? error : EHOSTUNREACH;
}

/*
 * Writes since when the lock is held, for others to read. If that fails, it is not written: the
 * next renewal waits for it, and an etcd that is full renews leases, but writes nothing.
 */
static void note_grant(lw_lease *lease, int64_t held_ms)
{
    const int64_t stop = atomic_load(&lease->stop);
    const int64_t patient_until = etcd_now() + lease->renewer.patience_ns;
    const int64_t until = stop < patient_until ? stop : patient_until;
    cJSON *body = line_transaction(lease->key, "CREATE", "create_revision", lease->token), *reply;
    if (add_put(lease, body, held_ms))
        cJSON_Delete(body);
    else if (etcd_ask(&lease->renewer, "kv/txn", body, until, &reply) == 0)
        cJSON_Delete(reply);
}

/*
 * Looks at the queue, by a majority of the cluster. Returns 0, with the key before this one, which
 * is NULL if there is none; ENOENT: the lease's own key is gone; or what etcd_ask returns. *term:
 * that of the leader.
 */
static int look(lw_lease *lease, struct etcd *etcd, int64_t until, int64_t *term)
{
    cJSON *body = line_transaction(lease->key, "CREATE", "create_revision", lease->token);
    cJSON *range = line_operation(body, "success", "request_range");
    etcd_add_bytes(range, "key", lease->line.from);
    etcd_add_bytes(range, "range_end", lease->line.to);
    etcd_add_int(range, "max_create_revision", lease->token - 1);
    etcd_add_text(range, "sort_order", "DESCEND");
    etcd_add_text(range, "sort_target", "CREATE");
    etcd_add_int(range, "limit", 1);
    etcd_need(range, cJSON_AddBoolToObject(range, "keys_only", true));
    cJSON *reply;
    int error = etcd_ask(etcd, "kv/txn", body, until, &reply);
    if (!error && !cJSON_IsTrue(cJSON_GetObjectItem(reply, "succeeded")))
        error = ENOENT;
    else if (!error && !cJSON_IsObject(etcd_range_of(reply)))
        error = EHOSTUNREACH; /* this does not say that the queue is empty */
    if (!error && term) {
        *term = etcd_int(cJSON_GetObjectItem(reply, "header"), "raft_term");
    } else if (!error) {
        const cJSON *keys = cJSON_GetObjectItem(etcd_range_of(reply), "kvs");
        const cJSON *before = cJSON_GetArrayItem(keys, 0);
        free(lease->before);
        lease->before = etcd_bytes(before, "key");
        lease->revision = etcd_int(cJSON_GetObjectItem(reply, "header"), "revision");
        if (before && !lease->before)
            error = ENOMEM; /* and not: nobody is before this one */
    }
    cJSON_Delete(reply);
    return error;
}

static int64_t stop_of(const lw_lease *lease, int64_t from)
{
    return from + lease->ttl_ns / WHOLE * STOP;
}

/* Tells a holder until when it may hold. The lease's lock is held. */
static void tell(lw_lease *lease, int64_t stop)
{
    const int64_t end = stop ? stop + lease->ttl_ns / WHOLE * (END - STOP) : 0;
    if (lease->is_granted && lease->options.renewed)
        lease->options.renewed(lease->options.context, stop, end);
}

/*
 * Renews the lease, or tries to until it is lost. The look after it finds out whether the leader
 * that has renewed it was the cluster's: the header of the renewal has the server's term before,
 * and a leader that a majority follows in the same term after it has led all the time. A server
 * that was deposed, and does not know yet, renews leases in its own memory only.
 */
static int renew(lw_lease *lease, int64_t *from)
{
    struct etcd *etcd = &lease->renewer;
    const int64_t until = atomic_load(&lease->stop);
    for (;;) {
        *from = etcd_now();
        if (*from >= until)
            return EHOSTUNREACH;
        cJSON *reply;
        int64_t term = 0;
        int error = etcd_ask(etcd, "lease/keepalive", body_with_id(lease->id), until, &reply);
        const cJSON *result = cJSON_GetObjectItem(reply, "result");
        const int64_t before = etcd_int(cJSON_GetObjectItem(result, "header"), "raft_term");
        if (!error && etcd_int(result, "TTL") <= 0)
            error = ENOENT;
        cJSON_Delete(reply);
        if (!error)
            error = look(lease, etcd, until, &term);
        if (error && error != ENOMEM)
            return error;
        if (!error && before == term && term)
            return 0;
        if (etcd_pause(etcd))
            return ECANCELED;
    }
}

/* The thread wakes up then, or if the lock was granted after a wait soon, so that others can read
 * since when it is held. The lease's lock is held. */
static void set_timer(lw_lease *lease)
{
    const int64_t soon = etcd_now() + NOTE_AFTER_NS;
    const int64_t at = lease->held_ms && soon < lease->due ? soon : lease->due;
    const struct itimerspec timer = {
        .it_value = {.tv_sec = at / NS_PER_S, .tv_nsec = at % NS_PER_S}};
    timerfd_settime(lease->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}

/* Sleeps until the next renewal is due. Returns false if the thread has to end. */
static bool sleep_until(lw_lease *lease, int64_t due)
{
    struct pollfd fds[] = {{.fd = lease->over, .events = POLLIN},
                           {.fd = lease->timer, .events = POLLIN}};
    pthread_mutex_lock(&lease->lock);
    lease->due = due;
    set_timer(lease);
    pthread_mutex_unlock(&lease->lock);
    while (poll(fds, 2, -1) < 0)
        continue;
    return !fds[0].revents;
}

static void *keep_alive(void *of)
{
    lw_lease *lease = of;
    int64_t from = atomic_load(&lease->stop) - stop_of(lease, 0);
    unsigned server = atomic_load(&lease->cluster.current);
    while (sleep_until(lease, from + lease->ttl_ns / WHOLE * RENEW)) {
        const int error = renew(lease, &from);
        if (error == ECANCELED)
            return NULL;
        pthread_mutex_lock(&lease->lock);
        /* A renewal may come too late, as after the machine has slept. */
        const bool is_lost = error || etcd_now() >= atomic_load(&lease->stop);
        atomic_store(&lease->stop, is_lost ? 0 : stop_of(lease, from));
        if (!is_lost || error == ENOENT)
            tell(lease, atomic_load(&lease->stop));
        const bool has_holder = lease->is_granted;
        const int64_t held_ms = lease->held_ms;
        lease->held_ms = 0;
        pthread_mutex_unlock(&lease->lock);
        /* The watch may be at a server that does not respond. */
        if (is_lost || atomic_load(&lease->cluster.current) != server)
            raise_event(lease->moved);
        server = atomic_load(&lease->cluster.current);
        if (is_lost) {
            if (has_holder && lease->options.lost)
                lease->options.lost(lease->options.context);
            return NULL;
        }
        if (held_ms)
            note_grant(lease, held_ms);
    }
    return NULL;
}

static int start_thread(lw_lease *lease)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int error = pthread_create(&lease->thread, NULL, keep_alive, lease);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    lease->has_thread = error == 0;
    return error;
}

static void end_thread(lw_lease *lease)
{
    uint64_t count;
    raise_event(lease->over);
    if (lease->has_thread)
        pthread_join(lease->thread, NULL);
    lease->has_thread = false;
    if (read(lease->over, &count, sizeof count) < 0 || read(lease->moved, &count, sizeof count) < 0)
        return; /* nothing was raised */
}

/* Leaves the queue. */
static int leave(lw_lease *lease, int64_t until)
{
    cJSON *reply;
    end_thread(lease);
    lease->waiter.cancel_fds[0] = lease->waiter.cancel_fds[1] = -1;
    const int error =
        etcd_ask(&lease->waiter, "lease/revoke", body_with_id(lease->id), until, &reply);
    cJSON_Delete(reply);
    return error;
}

/* Gets a lease and joins the queue. */
static int join(lw_lease *lease, int64_t until)
{
    cJSON *body = cJSON_CreateObject(), *reply;
    lease->came_ms = line_time();
    lease->has_waited = false;
    etcd_add_int(body, "TTL", lease->options.ttl);
    const int64_t from = etcd_now();
    int error = etcd_ask(&lease->waiter, "lease/grant", body, until, &reply);
    if (error)
        return error == ENOENT ? EHOSTUNREACH : error; /* no such service: this is no etcd */
    const int64_t ttl = etcd_int(reply, "TTL");
    lease->id = etcd_int(reply, "ID");
    lease->ttl_ns = (ttl > MOST_TTL ? MOST_TTL : ttl) * NS_PER_S;
    cJSON_Delete(reply);
    if (lease->id == 0 || lease->ttl_ns <= 0)
        return EHOSTUNREACH; /* this is no etcd */
    atomic_store(&lease->stop, stop_of(lease, from));
    snprintf(lease->key, sizeof lease->key, "%s%016llx", lease->line.from,
             (unsigned long long)lease->id);
    error = create_key(lease, until);
    lease->has_joined = error == 0;
    return error ? error : start_thread(lease);
}

/* Whether the lease lives, by the clock of this machine; from then on it has a holder. */
static bool grant(lw_lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    const int64_t stop = atomic_load(&lease->stop);
    lease->is_granted = etcd_now() < stop;
    if (lease->is_granted) {
        tell(lease, stop);
        lease->held_ms = lease->has_waited ? line_time() : 0;
        set_timer(lease);
    }
    pthread_mutex_unlock(&lease->lock);
    return lease->is_granted;
}

static bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return fd >= 0 && poll(&poll_fd, 1, 0) > 0;
}

/* Waits for its turn. Returns ESTALE if the lease was lost meanwhile. */
static int stand_in_line(lw_lease *lease, bool waits, int64_t until)
{
    for (;;) {
        uint64_t count;
        if (is_readable(lease->moved) && read(lease->moved, &count, sizeof count) > 0 &&
            atomic_load(&lease->stop) == 0)
            return ESTALE;
        const int64_t now = etcd_now(), watch_until = now + ROUNDS * lease->waiter.patience_ns;
        /* A server that was asked in time may respond. */
        const int64_t least = now + lease->waiter.patience_ns, most = now + lease->ttl_ns;
        const int64_t look_until = until < least ? least : until;
        int error =
            look(lease, &lease->waiter, waits && look_until < most ? look_until : most, NULL);
        if (error == EHOSTUNREACH && waits)
            etcd_pause(&lease->waiter); /* it may have been told at once */
        if (!error && !lease->before)
            return grant(lease) ? 0 : ESTALE;
        if (!error && !waits)
            return EBUSY;
        lease->has_waited = true;
        if (!error) {
            error = etcd_watch(&lease->waiter, lease->before, lease->revision,
                               until < watch_until ? until : watch_until);
            if (etcd_now() >= until)
                return ETIMEDOUT;
        }
        if (error == ENOENT)
            return ESTALE;
        if (error == ECANCELED && !is_readable(lease->options.cancel_fd))
            continue; /* the thread wants it to look again */
        if ((error == EHOSTUNREACH || error == ETIMEDOUT) && etcd_now() < until)
            continue; /* as long as the lease is renewed */
        if (error)
            return error;
    }
}

static int acquire(lw_lease *lease)
{
    const int64_t until = etcd_until(lease->options.deadline);
    const bool waits = etcd_now() < until;
    const int64_t ttl_ns = (int64_t)lease->options.ttl * NS_PER_S, begin = etcd_now();
    for (int in_vain = 0;; in_vain = lease->has_joined ? 0 : in_vain + 1) {
        const int64_t patient_until = etcd_now() + ttl_ns;
        lease->id = 0;
        lease->has_joined = false;
        int error = join(lease, waits && until < patient_until ? until : patient_until);
        if (!error)
            error = stand_in_line(lease, waits, until);
        if (!error)
            return 0;
        char reason[ETCD_REASON];
        memcpy(reason, lease->waiter.reason, sizeof reason);
        if (lease->id)
            leave(lease, etcd_now() + 2 * lease->waiter.patience_ns);
        memcpy(lease->waiter.reason, reason, sizeof reason);
        lease->waiter.cancel_fds[0] = lease->options.cancel_fd;
        lease->waiter.cancel_fds[1] = lease->moved;
        if (error != ESTALE && error != ENOENT)
            return error;
        if (waits && etcd_now() >= until)
            return ETIMEDOUT;
        if (in_vain == MOST_IN_VAIN || (!waits && etcd_now() >= begin + ttl_ns))
            return EHOSTUNREACH;
        if (etcd_pause(&lease->waiter) && is_readable(lease->options.cancel_fd))
            return ECANCELED;
    }
}

static void release(lw_lease *lease)
{
    etcd_close(&lease->waiter);
    etcd_close(&lease->renewer);
    close(lease->timer);
    close(lease->over);
    close(lease->moved);
    pthread_mutex_destroy(&lease->lock);
    free(lease->before);
    free(lease->cluster.text);
    free(lease);
}

/* What needs memory and descriptors. */
static int prepare(lw_lease *lease)
{
    struct etcd *waiter = &lease->waiter, *renewer = &lease->renewer;
    pthread_mutex_init(&lease->lock, NULL);
    lease->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    lease->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lease->moved = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lease->timer < 0 || lease->over < 0 || lease->moved < 0)
        return errno;
    const int error = etcd_open(waiter, &lease->cluster);
    if (error || etcd_open(renewer, &lease->cluster))
        return ENOMEM;
    /* Several servers have their turn before the lease is lost. */
    const uint32_t ttl = lease->options.ttl, most = MOST_PATIENCE * WHOLE;
    waiter->patience_ns = renewer->patience_ns =
        (int64_t)(ttl < most ? ttl : most) * NS_PER_S / WHOLE;
    waiter->cancel_fds[0] = lease->options.cancel_fd;
    waiter->cancel_fds[1] = lease->moved;
    renewer->cancel_fds[0] = lease->over;
    return 0;
}

static int lock(lw_lease **to, const char *servers, const char *name,
                const struct lw_lease_options *options)
{
    if (!name || !options ||
        (options->ttl && (options->ttl < LEAST_TTL || options->ttl > MOST_TTL)))
        return EINVAL;
    struct line line;
    int error = line_of(&line, name);
    if (error)
        return error;
    lw_lease *lease = calloc(1, sizeof *lease);
    if (!lease)
        return ENOMEM;
    error = etcd_parse(&lease->cluster, servers);
    if (error) {
        free(lease);
        return error;
    }
    lease->options = *options;
    line_copy(lease->holder, sizeof lease->holder, options->holder ? options->holder : "");
    if (!options->ttl)
        lease->options.ttl = DEFAULT_TTL;
    if (options->cancel_fd <= 0)
        lease->options.cancel_fd = -1;
    lease->line = line;
    error = prepare(lease);
    if (!error)
        error = acquire(lease);
    if (error) {
        if (options->reason && options->reason_size)
            snprintf(options->reason, options->reason_size, "%s", lease->waiter.reason);
        release(lease);
        return error;
    }
    *to = lease;
    return 0;
}

int lw_lease_lock(lw_lease **to, const char *servers, const char *name,
                  const struct lw_lease_options *options)
{
    const struct lw_quiet before = lw_begin_quietly();
    *to = NULL;
    if (options)
        line_begin_reason(options);
    const int error = lock(to, servers, name, options);
    lw_end_quietly(before);
    return error;
}

int64_t lw_lease_token(const lw_lease *lease)
{
    return lease->token;
}

bool lw_lease_is_held(const lw_lease *lease)
{
    return etcd_now() < atomic_load(&((lw_lease *)lease)->stop);
}

/*
 * Deletes the key in a transaction that sees whether it was still there: that the lease lives does
 * not say so. Then the lease ends, which serves nothing any more: if that fails, it runs out.
 */
static int give_back(lw_lease *lease, int64_t until)
{
    lease->waiter.cancel_fds[0] = lease->waiter.cancel_fds[1] = -1;
    const int error = line_delete(&lease->waiter, lease->key, lease->token, until);
    if (error != EHOSTUNREACH)
        leave(lease, etcd_now() + lease->waiter.patience_ns);
    return error == 0 ? 0 : error == ENOENT ? ESTALE : EHOSTUNREACH;
}

int lw_lease_unlock(lw_lease *lease)
{
    const struct lw_quiet before = lw_begin_quietly();
    end_thread(lease);
    const int64_t stop = atomic_load(&lease->stop), now = etcd_now();
    const int64_t patient_until = now + ROUNDS * lease->waiter.patience_ns;
    int error = ESTALE;
    if (now < stop)
        error = give_back(lease, stop < patient_until ? stop : patient_until);
    else
        leave(lease, now + lease->waiter.patience_ns);
    release(lease);
    lw_end_quietly(before);
    return error;
}
