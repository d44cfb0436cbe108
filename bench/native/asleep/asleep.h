/* asleep.h: how a peer says what its threads can be blocked in (bench.h). */
#include <assert.h>

#include "../bench.h"

/* Defines hold_NAME, wait_NAME and release_NAME for an object that a thread takes and gives back. */
#define ASLEEP_AT(name, type, init, take, give)                                                                                    \
    static_assert(sizeof(type) <= BENCH_OBJECT_SIZE, "an object fits");                                                            \
    static void hold_##name(void *object, int waiters)                                                                             \
    {                                                                                                                              \
        (void)waiters;                                                                                                             \
        init((type *)object);                                                                                                      \
        take((type *)object);                                                                                                      \
    }                                                                                                                              \
    static void wait_##name(void *object)                                                                                          \
    {                                                                                                                              \
        take((type *)object);                                                                                                      \
        give((type *)object);                                                                                                      \
    }                                                                                                                              \
    static void release_##name(void *object)                                                                                       \
    {                                                                                                                              \
        give((type *)object);                                                                                                      \
    }

/* The same for readers behind a writer. hold_write and release_write have been defined. */
#define ASLEEP_AT_READ(type, take, give)                                                                                           \
    static void wait_read(void *object)                                                                                            \
    {                                                                                                                              \
        take((type *)object);                                                                                                      \
        give((type *)object);                                                                                                      \
    }

/* The same for a condition: `struct waited` has a mutex, a cond and an int, go. */
#define ASLEEP_AT_CONDITION(init, lock, unlock, wait, notify_all)                                                                  \
    static_assert(sizeof(struct waited) <= BENCH_OBJECT_SIZE, "an object fits");                                                   \
    static void hold_condition(void *object, int waiters)                                                                          \
    {                                                                                                                              \
        (void)waiters;                                                                                                             \
        init((struct waited *)object);                                                                                             \
    }                                                                                                                              \
    static void wait_condition(void *object)                                                                                       \
    {                                                                                                                              \
        struct waited *waited = (struct waited *)object;                                                                           \
        lock(&waited->mutex);                                                                                                      \
        while (!waited->go)                                                                                                        \
            wait(&waited->cond, &waited->mutex);                                                                                   \
        unlock(&waited->mutex);                                                                                                    \
    }                                                                                                                              \
    static void release_condition(void *object)                                                                                    \
    {                                                                                                                              \
        struct waited *waited = (struct waited *)object;                                                                           \
        lock(&waited->mutex);                                                                                                      \
        waited->go = 1;                                                                                                            \
        unlock(&waited->mutex);                                                                                                    \
        notify_all(&waited->cond);                                                                                                 \
    }
