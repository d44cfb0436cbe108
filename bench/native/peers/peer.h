/*
 * peer.h: the measured loops. A peer includes it after it has defined
 *
 *     PEER_SYMBOL    the variable to define
 *     PEER_NAME      the name to print
 *     PEER_CONTENDS  whether it is a lock at all
 *     peer_mutex     a type of at most BENCH_MUTEX_SIZE bytes
 *     peer_init, peer_destroy, peer_lock, peer_unlock
 *
 * These four may be macros; peer_leave is for a mutex of which nothing is to be destroyed.
 */
#include "../bench.h"

#define peer_leave(mutex) (void)(mutex)

static void peer_init_any(void *mutex)
{
    peer_init((peer_mutex *)mutex);
}

static void peer_destroy_any(void *mutex)
{
    peer_destroy((peer_mutex *)mutex);
}

static void peer_pairs(void *memory, uint64_t n)
{
    peer_mutex *mutex = (peer_mutex *)memory;
    for (uint64_t i = 0; i < n; i++) {
        peer_lock(mutex);
        __asm__ volatile("" ::: "memory");
        peer_unlock(mutex);
    }
}

/* In memory, inside the section; n of them are not one addition. Not by a volatile counter: gcc
 * would take three instructions. */
static inline void peer_increment(uint64_t *count)
{
    __asm__ volatile("" ::: "memory");
    *count += 1;
    __asm__ volatile("" ::: "memory");
}

static void peer_increments(void *memory, uint64_t n, uint64_t *count)
{
    peer_mutex *mutex = (peer_mutex *)memory;
    for (uint64_t i = 0; i < n; i++) {
        peer_lock(mutex);
        peer_increment(count);
        peer_unlock(mutex);
    }
}

/*
 * A function for each kind of turn, so that a turn of nothing but a lock and an increment is just
 * that, and has all registers for itself. What `thread` says is copied first, since the lock's
 * operations make the compiler read memory again.
 */
static inline __attribute__((always_inline)) void peer_take_turns(struct bench_thread *thread,
                                                                  bool stamped, bool works)
{
    peer_mutex *const mutex = (peer_mutex *)thread->mutex;
    uint64_t *const count = thread->count;
    const uint32_t *const stop = thread->stop;
    const uint64_t steps = thread->steps;
    uint64_t turns = 0;
    while (__atomic_load_n(stop, __ATOMIC_RELAXED) == 0) {
        const uint64_t asked = stamped ? bench_stamp() : 0;
        peer_lock(mutex);
        if (stamped)
            bench_waited(thread, asked, bench_stamp());
        peer_increment(count);
        if (works)
            bench_work(steps);
        peer_unlock(mutex);
        turns++;
        if (works)
            bench_work(steps);
    }
    thread->turns = turns;
}

#define PEER_TURNS(name, stamped, works)                                                           \
    static __attribute__((noinline)) void peer_##name(struct bench_thread *thread)                 \
    {                                                                                              \
        peer_take_turns(thread, stamped, works);                                                   \
    }
PEER_TURNS(turns, false, false)
PEER_TURNS(long_turns, false, true)
PEER_TURNS(stamped_turns, true, false)
PEER_TURNS(stamped_long_turns, true, true)

static void peer_contend(struct bench_thread *thread)
{
    if (thread->stamped && thread->steps)
        peer_stamped_long_turns(thread);
    else if (thread->stamped)
        peer_stamped_turns(thread);
    else if (thread->steps)
        peer_long_turns(thread);
    else
        peer_turns(thread);
}

BENCH_PEER PEER_SYMBOL;

const struct bench_peer PEER_SYMBOL = {
    PEER_NAME,  PEER_CONTENDS,   peer_init_any, peer_destroy_any,
    peer_pairs, peer_increments, peer_contend,
};
