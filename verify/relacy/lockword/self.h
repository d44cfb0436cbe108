/* self.h for Relacy: its threads are fibers of one thread, so the test says who calls. */
#ifndef LOCKWORD_SELF_H
#define LOCKWORD_SELF_H

#include <stdint.h>

static uint32_t caller;

static inline uint32_t lw_self(void)
{
    return caller;
}

#endif
