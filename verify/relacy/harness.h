/*
 * harness.h: simulates a primitive's scenarios as they are written, then with each memory order of
 * the core weakened, one at a time: Relacy must notice.
 */
#ifndef LOCKWORD_RELACY_HARNESS_H
#define LOCKWORD_RELACY_HARNESS_H

#include <lockword/core/word.h>

#include "orders.h"
#include "simulate.h"

#include <stdio.h>

namespace harness
{

template <unsigned n> void check_as_written(const test (&tests)[n], unsigned iterations)
{
    for (const test &test : tests)
        report(check_one(test, by_chance, iterations, true));
}

/* An order that the primitive could do without, and stays for a reason. */
struct spare {
    const char *function;
    int from, to;
};

template <unsigned n> bool is_spare(const spare (&spares)[n], const orders::site &site, int order)
{
    for (const spare &spare : spares) {
        if (strcmp(site.function, spare.function) == 0 && site.order == spare.from &&
            order == spare.to)
            return true;
    }
    return false;
}

template <unsigned n, unsigned m>
void check_weakened(const test (&tests)[n], const spare (&spares)[m], unsigned index, int order,
                    unsigned iterations)
{
    const orders::site site = orders::sites[index];
    orders::weak_site = index;
    orders::weak_order = order;
    const bool is_argued = is_spare(spares, site, order);
    bool caught = false;
    char how[80] = "nothing";
    for (const test &test : tests) {
        const verdict verdict = by_chance(test, is_argued ? iterations / 10 : iterations);
        if (!verdict.ok) {
            snprintf(how, sizeof how, "%s, execution %lu", verdict.error, verdict.iterations);
            caught = true;
            break;
        }
    }
    orders::weak_site = ~0u;
    printf("  %-22s line %-4d %s -> %-8s %s%s\n", site.function, site.line,
           orders::name(site.order), orders::name(order), how,
           is_argued ? " (argued to be spare)"
           : caught  ? ""
                     : ": SURVIVES");
    report(caught != is_argued);
}

template <unsigned n, unsigned m>
void check_weakenings(const test (&tests)[n], const spare (&spares)[m], unsigned iterations)
{
    const int all[] = {lw_acquire, lw_release, lw_relaxed};
    for (unsigned i = 0; i < orders::site_count; i++) {
        for (int order : all) {
            if (orders::is_weaker(order, orders::sites[i].order))
                check_weakened(tests, spares, i, order, iterations);
        }
    }
}

/*
 * A primitive that waits as core/waiters.h says could do without these orders. They put a notify
 * after the wait for which it is meant, and the critical sections of the list do so already
 * (mutex.cpp). Nor does the change that opens a latch, say, have to acquire what the others
 * released: the waiter reads what it wrote, and so acquires from all of them. The party that ends a
 * barrier's cycle acquired all arrivals when it looked at the state that it changes.
 */
const spare waiters_spares[] = {
    {"lw_waiters_wait", lw_release, lw_relaxed},
    {"lw_waiters_change", lw_acq_rel, lw_release},
};

/*
 * The program of most primitives. Each of their weakened orders is found within 300 executions, so
 * 20,000 are many.
 */
template <unsigned n, unsigned m>
int check(const char *name, const test (&tests)[n], const spare (&spares)[m],
          unsigned iterations = 20000)
{
    printf("The %s as written, under a weak memory:\n", name);
    check_as_written(tests, iterations);
    puts("\nWith one memory order weakened, what finds it:");
    check_weakenings(tests, spares, iterations);
    return finish();
}

} // namespace harness

#endif
