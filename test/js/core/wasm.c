/* wasm.c: a C program that uses lockword (wasm.test.js). */
#include <lockword/lockword.h>

static lw_mutex mutex = LW_MUTEX_INIT;
static uint32_t counter;

__attribute__((export_name("mutex"))) lw_mutex *address(void)
{
    return &mutex;
}

__attribute__((export_name("lock"))) int lock(int64_t ms)
{
    return lw_mutex_lock_until(&mutex, lw_after_ms(ms));
}

__attribute__((export_name("trylock"))) int trylock(void)
{
    return lw_mutex_trylock(&mutex);
}

__attribute__((export_name("unlock"))) int unlock(void)
{
    return lw_mutex_unlock(&mutex);
}

uint32_t count(uint32_t times)
{
    while (times-- > 0) {
        lw_mutex_lock(&mutex);
        counter++;
        lw_mutex_unlock(&mutex);
    }
    return counter;
}
