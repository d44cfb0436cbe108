/*
 * family.h: the loops around one operation. A peer of the family defines each OPERATION on an
 * object, and each ACTION that begins or ends one, and lists them in its array (bench.h).
 * Everything is compiled together, so that what can be inlined is.
 */
#include <assert.h>

#include "../bench.h"

/* Defines OPERATION_turns. The barrier keeps the compiler from doing the turns of a loop as one. */
#define FAMILY_TURNS(operation, type)                                                              \
    static_assert(sizeof(type) <= BENCH_OBJECT_SIZE, "an object fits");                            \
    static void operation##_turns(void *object, uint64_t n)                                        \
    {                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            operation((type *)object);                                                             \
            __asm__ volatile("" ::: "memory");                                                     \
        }                                                                                          \
    }

/* Defines what does this with the object `it`, once and OPERATION_turns. */
#define OPERATION(operation, type, ...)                                                            \
    static inline void operation(type *it)                                                         \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }                                                                                              \
    FAMILY_TURNS(operation, type)

/* Defines an init or a destroy of struct bench_operation, which does this with the object `it`. */
#define ACTION(name, type, ...)                                                                    \
    static void name(void *object)                                                                 \
    {                                                                                              \
        type *it = (type *)object;                                                                 \
        __VA_ARGS__;                                                                               \
    }

/*
 * Defines rally_turns and rally_partner: two threads hand the turn to and fro, each waiting at a
 * condition for the other; and rally_held_turns and rally_held_partner, in which they notify before
 * they unlock, not after. No peer's manual advises against either. Of the type `struct rally` only
 * `turn` is used here.
 */
#define FAMILY_RALLY(lock, unlock, wait, notify)                                                   \
    static_assert(sizeof(struct rally) <= BENCH_OBJECT_SIZE, "an object fits");                    \
    static inline void rally_as(struct rally *rally, uint32_t mine, bool held, uint64_t n)         \
    {                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            lock(&rally->mutex);                                                                   \
            while (rally->turn != mine)                                                            \
                wait(&rally->cond, &rally->mutex);                                                 \
            rally->turn = 1 - mine;                                                                \
            if (held)                                                                              \
                notify(&rally->cond);                                                              \
            unlock(&rally->mutex);                                                                 \
            if (!held)                                                                             \
                notify(&rally->cond);                                                              \
        }                                                                                          \
    }                                                                                              \
    static void rally_turns(void *object, uint64_t n)                                              \
    {                                                                                              \
        rally_as((struct rally *)object, 0, false, n);                                             \
    }                                                                                              \
    static void rally_partner(void *object, uint64_t n)                                            \
    {                                                                                              \
        rally_as((struct rally *)object, 1, false, n);                                             \
    }                                                                                              \
    static void rally_held_turns(void *object, uint64_t n)                                         \
    {                                                                                              \
        rally_as((struct rally *)object, 0, true, n);                                              \
    }                                                                                              \
    static void rally_held_partner(void *object, uint64_t n)                                       \
    {                                                                                              \
        rally_as((struct rally *)object, 1, true, n);                                              \
    }
