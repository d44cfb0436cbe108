/* policies.h: the mutexes that are simulated. */
#ifndef SIMULATE_POLICIES_H
#define SIMULATE_POLICIES_H

#include <stdbool.h>

struct policy {
    const char *name;
    bool sleeps; /* if not: for threads that have a CPU of their own */
    void (*reset)(void);
    void (*lock)(int thread);
    void (*unlock)(int thread);
    const void *line; /* the mutex's */
    bool shares;      /* several threads may have it at once */
    bool is_extra;    /* only simulated if it is named */
};

/* The last one has no name. */
extern const struct policy policies[];

#endif
