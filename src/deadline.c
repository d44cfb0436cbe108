/* deadline.c: from a timeout to a deadline. */
#include "wait/platform.h"

lw_deadline lw_after_ns(int64_t ns)
{
    int64_t now = lw_now();
    if (ns < 0)
        return LW_NOW;
    return ns > LW_FOREVER - now ? LW_FOREVER : now + ns;
}

lw_deadline lw_after_ms(int64_t ms)
{
    return ms > LW_FOREVER / NS_PER_MS ? LW_FOREVER : ms < 0 ? LW_NOW : lw_after_ns(ms * NS_PER_MS);
}
