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

extern site sites[64];
extern unsigned site_count;
extern unsigned weak_site;
extern int weak_order;

const char *name(int order);

bool is_weaker(int order, int than);

} // namespace orders

#endif
