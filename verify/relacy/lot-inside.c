/* src/loop/lot.c, or a broken one, and what the programs change inside it. */
#include "../../src/loop/lot.h"

/* A link that is still in a ring would break it. */
#define lw_link_put(link, before) (model_expect(lw_link_is_alone(link)), lw_link_put(link, before))

#include LOT

void model_empty_lot(void);
void model_age_lot(void);

void model_empty_lot(void)
{
    memset(buckets, 0, sizeof buckets);
    at_conditions = 0;
}

/* As if half of 2^32 others had parked meanwhile. */
void model_age_lot(void)
{
    for (unsigned i = 0; i < LW_BUCKETS; i++)
        buckets[i].parkings += UINT64_C(1) << 31;
}
