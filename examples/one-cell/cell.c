/* The same program for native threads (threads.c) and for workers that run WebAssembly (mixed.js).
 */
#include "cell.h"

#define NAP_NS 50000

/* Between reading and writing, anything may take its time on a busy machine. Here it always does.
 */
static void nap(void)
{
    static const uint32_t nap_word = 0;
    lw_wait(&nap_word, 0, lw_after_ns(NAP_NS));
}

void add(struct cell *cell, int times, int guarded)
{
    lw_barrier_wait(&cell->start);
    for (int i = 0; i < times; i++) {
        if (guarded)
            lw_mutex_lock(&cell->lock);
        int32_t seen = cell->value;
        nap();
        cell->value = seen + 1;
        if (guarded)
            lw_mutex_unlock(&cell->lock);
    }
}
