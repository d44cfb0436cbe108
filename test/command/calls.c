/*
 * calls.c: a user of liblockword-lease. `lease-calls SERVERS CHECK` makes calls that go
 * wrong, and says what is not as lease.h has it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include <lockword/lease.h>

static const char *servers;
static int wrong;

#define EXPECT(what, ...)                                                                          \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("%s: ", #what);                                                                 \
            printf(__VA_ARGS__);                                                                   \
            putchar('\n');                                                                         \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

/* No memory: for the allocation that is so many ones away in this thread, or for all. */
static _Thread_local int away;
static atomic_bool has_none;

static bool fails(void)
{
    return atomic_load(&has_none) || (away && --away == 0);
}

/* The linker puts these in place of those that the library calls: --wrap. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static int lock(lw_lease **lease, const char *name, uint32_t ttl)
{
    const struct lw_lease_options options = {.deadline = LW_NOW, .ttl = ttl};
    return lw_lease_lock(lease, servers, name, &options);
}

/* A lock that nobody has. */
static lw_lease *take(const char *name, uint32_t ttl)
{
    lw_lease *lease;
    const int error = lock(&lease, name, ttl);
    if (error) {
        printf("%s: %s\n", name, strerror(error));
        exit(1);
    }
    return lease;
}

/* What fails for want of memory grants nothing, hides nobody, and loses nothing. */
static void check_memory(void)
{
    const struct lw_lease_options options = {.deadline = LW_FOREVER};
    lw_lease *other;
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = __wrap_malloc, .free_fn = free});
    lw_lease *held = take("m", 30);
    const int64_t token = lw_lease_token(held);
    for (int n = 1, left = 0; left == 0; n++) {
        away = n;
        const int error = lock(&other, "m", 30);
        left = away;
        away = 0;
        EXPECT(error, "allocation %d: the lock is taken beside its holder", n);
        EXPECT(error == EBUSY || error == ENOMEM, "allocation %d: %s", n, strerror(error));
        if (!error)
            lw_lease_unlock(other);
    }
    for (int n = 1, left = 0; left == 0; n++) {
        struct lw_lease_info *all;
        size_t count;
        away = n;
        const int error = lw_lease_list(&all, &count, servers, "m", &options);
        left = away;
        away = 0;
        EXPECT(error || (count && all->token == token), "allocation %d: %zu", n, count);
        EXPECT(!error || error == ENOMEM, "allocation %d: %s", n, strerror(error));
        free(all);
    }
    EXPECT(lw_lease_unlock(held) == 0, "it was lost");
    for (int n = 1, left = 0; left == 0; n++) {
        other = take("b", 30);
        away = n;
        const int error = lw_lease_break(servers, "b", lw_lease_token(other), &options);
        left = away;
        away = 0;
        EXPECT(!error || error == ENOMEM, "allocation %d: %s", n, strerror(error));
        const int freed = lw_lease_unlock(other);
        EXPECT(freed == (error ? 0 : ESTALE), "allocation %d: %s", n, strerror(freed));
    }
    /* The renewal of a lease of 2 s is due after half a second. */
    held = take("r", 2);
    usleep(400000);
    atomic_store(&has_none, true);
    usleep(400000);
    atomic_store(&has_none, false);
    sleep(1);
    EXPECT(lw_lease_is_held(held), "a renewal had no memory for a moment");
    EXPECT(lw_lease_unlock(held) == 0, "it was lost");
}

enum { ERRNO = 77 };

/* The thread is to end, and errno has something: both stay as they are. */
static void *call_all(void *unused)
{
    const struct lw_lease_options options = {.deadline = lw_after_ms(200)};
    struct lw_lease_info *all;
    lw_lease *lease, *other;
    size_t count;
    (void)unused;
    pthread_cancel(pthread_self());
    for (int i = 0; i < 5; i++) {
        int error = 0, state;
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        errno = ERRNO;
        if (i == 0)
            error = lw_lease_lock(&lease, servers, "q", &options);
        else if (i == 1)
            error = lw_lease_lock(&other, servers, "q", &options) == ETIMEDOUT ? 0 : EINVAL;
        else if (i == 2)
            error = lw_lease_list(&all, &count, servers, "q", &options);
        else if (i == 3)
            error = lw_lease_break(servers, "q", lw_lease_token(lease), &options);
        else
            error = lw_lease_unlock(lease) == ESTALE ? 0 : EINVAL;
        const int after = errno;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        EXPECT(error == 0 && after == ERRNO, "call %d: %d, errno %d", i, error, after);
        EXPECT(state == PTHREAD_CANCEL_ENABLE, "call %d", i);
    }
    free(all);
    return &wrong;
}

static void check_quiet(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, call_all, NULL);
    pthread_join(thread, &result);
    EXPECT(result == &wrong, "the thread has ended in a call");
}

static void check_now(void)
{
    char reason[40] = "x";
    const struct lw_lease_options options = {
        .deadline = LW_NOW, .reason = reason, .reason_size = sizeof reason};
    struct lw_lease_info *all;
    size_t count;
    lw_lease *lease = take("n", 10);
    int error = lw_lease_list(&all, &count, servers, "n", &options);
    EXPECT(error == 0 && count == 1, "%s: %s", strerror(error), reason);
    free(all);
    error = lw_lease_break(servers, "n", lw_lease_token(lease), &options);
    EXPECT(error == 0, "%s: %s", strerror(error), reason);
    error = lw_lease_break(servers, "n", lw_lease_token(lease), &options);
    EXPECT(error == ENOENT, "%s: %s", strerror(error), reason);
    lw_lease_unlock(lease);
}

static void check_reason(void)
{
    char reason[8];
    const struct lw_lease_options options = {.reason = reason, .reason_size = sizeof reason};
    struct lw_lease_info *all;
    size_t count;
    lw_lease *lease;
    for (int i = 0; i < 3; i++) {
        memset(reason, 'x', sizeof reason);
        const int error = i == 0   ? lw_lease_lock(&lease, "none", "n", &options)
                          : i == 1 ? lw_lease_list(&all, &count, "none", "n", &options)
                                   : lw_lease_break("none", "n", 1, &options);
        EXPECT(error == EINVAL && !*reason, "call %d: %d", i, error);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*check)(void);
    } checks[] = {{"memory", check_memory},
                  {"quiet", check_quiet},
                  {"now", check_now},
                  {"reason", check_reason}};
    servers = argc > 2 ? argv[1] : "";
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (argc > 2 && strcmp(argv[2], checks[i].name) == 0)
            checks[i].check();
    }
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
