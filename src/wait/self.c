/*
 * self.c: from a system's number of a thread to an agent's id, which has 29 bits.
 *
 * A number below 2^27 is the id itself, so that an owner field, and lw_mutex_describe, name the
 * thread as a debugger does. Any other thread gets the next id from 2^27 on, below those of
 * engines, which begin with 2^28: no two kinds meet. A process that has started 2^27 such threads
 * begins again, and a thread may then get the id of an old one that still runs. On Linux, where a
 * number is less than 2^22, no thread comes to that.
 */
#include "platform.h"

#define FIRST_COUNTED 0x08000000u

static lw_word counted;

static uint32_t count_thread(void)
{
    return FIRST_COUNTED |
           (__atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED) & (FIRST_COUNTED - 1));
}

static bool fits(uint64_t number)
{
    return 0 < number && number < FIRST_COUNTED;
}

#if LW_WINDOWS

static LW_AGENT_LOCAL uint32_t id_if_counted;

uint32_t lw_self_slow(void)
{
    const uint64_t number = lw_thread_id();
    if (fits(number))
        return (uint32_t)number;
    if (id_if_counted == 0)
        id_if_counted = count_thread();
    return id_if_counted;
}

#else

#if LW_SELF_IS_HIDDEN
static LW_AGENT_LOCAL uint32_t own_id = LW_SELF_UNKNOWN;
#else
LW_AGENT_LOCAL uint32_t lw_self_cached = LW_SELF_UNKNOWN;
#define own_id lw_self_cached
#endif

uint32_t lw_self_slow(void)
{
    if (own_id == LW_SELF_UNKNOWN) {
        const uint64_t number = lw_thread_id();
        own_id = fits(number) ? (uint32_t)number : count_thread();
    }
    return own_id;
}

void lw_self_forget(void)
{
    own_id = LW_SELF_UNKNOWN;
}

#endif
