/*
 * self.h, as the explorer has it, for those functions of the faces that ask who calls: the one that
 * the model says.
 */
#ifndef LOCKWORD_SELF_H
#define LOCKWORD_SELF_H

#include <stdint.h>

extern uint32_t runs_self;

static inline uint32_t lw_self(void)
{
    return runs_self;
}

static inline uint32_t lw_self_as_owner(void)
{
    return runs_self;
}

#endif
