#include "orders.h"

namespace orders
{

site sites[64];
unsigned site_count;
unsigned weak_site = ~0u;
int weak_order;

static unsigned find(const char *function, int line, int order)
{
    for (unsigned i = 0; i < site_count; i++) {
        if (sites[i].line == line && strcmp(sites[i].function, function) == 0)
            return i;
    }
    if (site_count == sizeof sites / sizeof *sites)
        abort();
    sites[site_count] = {function, line, order};
    return site_count++;
}

const char *name(int order)
{
    return rl::format(rl::memory_order(order));
}

bool is_weaker(int order, int than)
{
    return order != than && (order == lw_relaxed ||
                             (than == lw_acq_rel && (order == lw_acquire || order == lw_release)));
}

} // namespace orders

int order_at(const char *function, int line, int order)
{
    return orders::find(function, line, order) == orders::weak_site ? orders::weak_order : order;
}

uint32_t word_load(const lw_word *word, int order, rl::debug_info_param info)
{
    return word->value.load(rl::memory_order(order), info);
}

void word_store(lw_word *word, uint32_t desired, int order, rl::debug_info_param info)
{
    word->value.store(desired, rl::memory_order(order), info);
}

uint32_t word_cas(lw_word *word, uint32_t expected, uint32_t desired, int order,
                  rl::debug_info_param info)
{
    word->value.compare_exchange(rl::bool_t<false>(), expected, desired, rl::memory_order(order),
                                 rl::mo_relaxed, info);
    return expected;
}
