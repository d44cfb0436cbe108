/*
 * windows.c: the CPUs that threads are pinned to; and what is not measured on Windows. What blocked
 * threads cost is read off counters of context switches, which it does not show.
 */
#include "measure.h"

#include <windows.h>

#include "herd.h"

/* The CPUs this process was started on. */
static DWORD_PTR allowed;

__attribute__((constructor)) static void remember_allowed(void)
{
    DWORD_PTR all;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &allowed, &all) || allowed == 0)
        allowed = 1;
}

int bench_cpus(void)
{
    return __builtin_popcountll(allowed);
}

void bench_pin(int k)
{
    DWORD_PTR left = allowed;
    for (k %= bench_cpus(); k > 0; k--)
        left &= left - 1;
    SetThreadAffinityMask(GetCurrentThread(), left & -left);
}

void bench_asleep_add(struct bench_asleep *asleep, const struct bench_wait *wait)
{
    (void)asleep, (void)wait;
}

void bench_asleep_measure(struct bench_asleep *asleep)
{
    (void)asleep;
}

void bench_print_asleep(const struct bench_asleep *asleep, FILE *out)
{
    (void)asleep, (void)out;
}

void bench_print_asleep_json(const struct bench_asleep *asleep, FILE *out)
{
    (void)asleep, (void)out;
}

void bench_herd_add(struct bench_herd *herd, const struct bench_wait *wait)
{
    (void)herd, (void)wait;
}

void bench_herd_measure(struct bench_herd *herd)
{
    (void)herd;
}

void bench_print_herd(struct bench_herd *herd, FILE *out)
{
    (void)herd, (void)out;
}

void bench_print_herd_json(struct bench_herd *herd, FILE *out)
{
    (void)herd, (void)out;
}
