/* A cell that threads add to, the mutex that guards it, and a barrier at which they meet before
 * they begin. */
#ifndef CELL_H
#define CELL_H

#include <lockword/barrier.h>
#include <lockword/mutex.h>

struct cell {
    lw_mutex lock;
    lw_barrier start;
    int32_t value;
};

/* Adds 1 to the cell so many times. Not guarded: shows what is lost. */
void add(struct cell *cell, int times, int guarded);

#endif
