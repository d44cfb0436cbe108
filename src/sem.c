/* sem.c: the semaphore's C interface: the functions that wait. */
#include <lockword/sem.h>

#include "blocking.h"

_Static_assert(sizeof(lw_sem) == 12, "docs/layout.md: a semaphore is three words");

enum lw_ending lw_sem_acquire_slow(lw_sem *sem, uint32_t n, lw_deadline deadline, lw_cancel *cancel)
{
    return lw_spin_then_block((struct lw_operation){lw_sem_acquire_step, sem->word, n}, deadline,
                              cancel)
        .ending;
}
