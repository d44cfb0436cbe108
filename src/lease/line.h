/* line.h: what stands in etcd. A lock is a line of keys, lockword/NAME/LEASE. */
#ifndef LOCKWORD_LEASE_LINE_H
#define LOCKWORD_LEASE_LINE_H

#include <lockword/lease.h>

#include "etcd.h"

enum { LINE_KEY = 3 * LW_LEASE_NAME_MAX + 16 };

/* The keys of a line: from `from`, with which each begins, to before `to`. */
struct line {
    char from[LINE_KEY], to[LINE_KEY];
};

/* The line of this name; NULL: all lines. Returns 0, EINVAL or ENAMETOOLONG. */
int line_of(struct line *line, const char *name);

/* Now, in ms since 1970 by the wall clock, which only people read. */
int64_t line_time(void);

/* Copies as much as there is room for; never a part of a character. */
void line_copy(char *to, size_t size, const char *from);

/*
 * What a key has as its value: JSON, for people who look into etcd. `held` is 0, or when the lock
 * was got after a wait. The caller frees it; NULL if there is no memory.
 */
char *line_value(const char *holder, int64_t came, int64_t held);

/* A transaction that begins by the comparison of a number of this key. */
cJSON *line_transaction(const char *key, const char *target, const char *field, int64_t value);

/*
 * Who holds the lock of this name. Returns 0; ENOENT: nobody; or what lw_lease_list does. However
 * many wait, this is one request, and another one for the times of the lease.
 */
int line_first(struct lw_lease_info *first, bool with_times, const char *servers, const char *name,
               const struct lw_lease_options *options);

/*
 * Deletes a key, in a transaction that sees whether it is still the same one. Returns 0; ENOENT: it
 * is not; or what etcd_ask does. If the request was repeated, it may have been an earlier try that
 * deleted it: 0.
 */
int line_delete(struct etcd *etcd, const char *key, int64_t token, int64_t until);

/* "" until there is a reason. */
void line_begin_reason(const struct lw_lease_options *options);

/* An operation of a transaction, which is done if the comparison is true ("success") or not. */
cJSON *line_operation(cJSON *body, const char *when, const char *request);

#endif
