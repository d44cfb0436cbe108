/* wasm.c: the mutex's fast halves, for JavaScript to call: wasm.js. */
#include <lockword/core/mutex.h>

bool take(lw_word *mutex, uint32_t self)
{
    return lw_mutex_take(mutex, self);
}

bool release(lw_word *mutex, uint32_t self)
{
    return lw_mutex_free(mutex, self);
}
