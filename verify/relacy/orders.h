/*
 * orders.h: the places of the core that ask for a memory order, and weakening one of them at a
 * time.
 */
#ifndef LOCKWORD_RELACY_ORDERS_H
#define LOCKWORD_RELACY_ORDERS_H

#include <lockword/core/word.h>

namespace orders
{

/* Fixed arrays: Relacy would take heap memory for the tested program's. */
struct site {
    const char *function;
    int line;
    int order;
};

static site sites[64];
static unsigned site_count;
static unsigned weak_site = ~0u;
static int weak_order;

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

static const char *name(int order)
{
    return rl::format(rl::memory_order(order));
}

static bool is_weaker(int order, int than)
{
    return order != than && (order == lw_relaxed ||
                             (than == lw_acq_rel && (order == lw_acquire || order == lw_release)));
}

} // namespace orders

int order_at(const char *function, int line, int order)
{
    return orders::find(function, line, order) == orders::weak_site ? orders::weak_order : order;
}

#endif
