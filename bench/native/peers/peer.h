/*
 * peer.h: the measured loops. A peer includes it after it has defined
 *
 *     PEER_SYMBOL, PEER_NAME, PEER_CONTENDS    the variable to define, the name to print, whether it is a lock at all
 *     peer_mutex                               a type of at most BENCH_MUTEX_SIZE bytes
 *     peer_init, peer_destroy, peer_lock, peer_unlock
 */
#include "../bench.h"

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

/* volatile: the increment is a load and a store in memory, inside the section, and n of them are not one addition. */
static void peer_increments(void *memory, uint64_t n, uint64_t *count)
{
    peer_mutex *mutex = (peer_mutex *)memory;
    volatile uint64_t *counter = count;
    for (uint64_t i = 0; i < n; i++) {
        peer_lock(mutex);
        *counter = *counter + 1;
        peer_unlock(mutex);
    }
}

static void peer_contend(struct bench_thread *thread)
{
    peer_mutex *mutex = (peer_mutex *)thread->mutex;
    volatile uint64_t *counter = thread->count;
    const uint64_t steps = thread->steps;
    uint64_t turns = 0;
    while (__atomic_load_n(thread->stop, __ATOMIC_RELAXED) == 0) {
        uint64_t asked = 0;
        if (thread->stamped)
            asked = bench_stamp();
        peer_lock(mutex);
        if (thread->stamped)
            bench_waited(thread, asked, bench_stamp());
        *counter = *counter + 1;
        if (steps)
            bench_work(steps);
        peer_unlock(mutex);
        turns++;
        if (steps)
            bench_work(steps);
    }
    thread->turns = turns;
}

BENCH_PEER PEER_SYMBOL;

const struct bench_peer PEER_SYMBOL = {
    PEER_NAME, PEER_CONTENDS, peer_init_any, peer_destroy_any, peer_pairs, peer_increments, peer_contend,
};
