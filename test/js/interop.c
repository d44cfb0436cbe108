/* interop.c: what a C worker does in interop.test.js: counts under the lock, on memory that it
 * shares with JavaScript. */
#include <lockword/mutex.h>

/* How a turn is taken: each must be the very same lock. */
static int take(lw_mutex *mutex, uint32_t turn)
{
    switch (turn % 4) {
    case 0:
        return lw_mutex_trylock(mutex);
    case 1:
        return lw_mutex_lock_until(mutex, lw_after_ns(20000));
    default:
        return lw_mutex_lock(mutex);
    }
}

/* Adds one to the counter, under the lock, this often. 0, or the first error. The counter is as
 * plain as any: no atomics help. */
int interop_add(lw_mutex *mutex, volatile uint32_t *counter, uint32_t times)
{
    for (uint32_t turn = 0; turn < times; turn++) {
        int error = take(mutex, turn);
        if (error == EBUSY || error == ETIMEDOUT)
            error = lw_mutex_lock(mutex);
        if (error)
            return error;
        *counter = *counter + 1;
        error = lw_mutex_unlock(mutex);
        if (error)
            return error;
    }
    return 0;
}

/* C and JavaScript of one worker are one agent. */
int interop_lock(lw_mutex *mutex)
{
    return lw_mutex_lock(mutex);
}

int interop_trylock(lw_mutex *mutex)
{
    return lw_mutex_trylock(mutex);
}

int interop_lock_for(lw_mutex *mutex, uint32_t ms)
{
    return lw_mutex_lock_until(mutex, lw_after_ms(ms));
}

int interop_unlock(lw_mutex *mutex)
{
    return lw_mutex_unlock(mutex);
}
