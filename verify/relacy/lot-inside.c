/* src/loop/lot.c, or a broken one, and what the programs change inside it. */
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
