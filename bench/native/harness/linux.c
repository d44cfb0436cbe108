/* linux.c: the CPUs that threads are pinned to. */
#define _GNU_SOURCE
#include "measure.h"

#include <sched.h>

/* The CPUs this process was started on, remembered before anybody is pinned. */
static cpu_set_t allowed;

__attribute__((constructor)) static void remember_allowed(void)
{
    sched_getaffinity(0, sizeof allowed, &allowed);
}

int bench_cpus(void)
{
    return CPU_COUNT(&allowed);
}

void bench_pin(int k)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    k %= bench_cpus();
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && k-- == 0) {
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}
