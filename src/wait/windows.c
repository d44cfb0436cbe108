/*
 * windows.c: waiting on Windows 8 and later, by WaitOnAddress. A thread sleeps on a word of its
 * own; table.c says for which words. WakeByAddressSingle does not say whether it wakes a thread,
 * and WaitOnAddress takes one word only.
 *
 * Memory is one process's: these waits do not cross processes.
 */
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#endif
#include "table.h"

#include <windows.h>

_Static_assert(sizeof(SRWLOCK) == sizeof(lw_table_lock), "table.h reserves its memory");

/* A lock of zeros is free, and Windows has no fork. */
void lw_table_begin(void)
{
}

void lw_table_make(lw_table_lock *lock)
{
    InitializeSRWLock((SRWLOCK *)lock);
}

void lw_table_enter(lw_table_lock *lock)
{
    AcquireSRWLockExclusive((SRWLOCK *)lock);
}

void lw_table_leave(lw_table_lock *lock)
{
    ReleaseSRWLockExclusive((SRWLOCK *)lock);
}

void lw_bed_make(lw_bed *bed)
{
    *bed = 0;
}

void lw_bed_remove(lw_bed *bed)
{
    (void)bed;
}

uint64_t lw_thread_id(void)
{
    return GetCurrentThreadId();
}

bool lw_has_one_cpu(void)
{
    DWORD_PTR process;
    DWORD_PTR machine;
    return GetProcessAffinityMask(GetCurrentProcess(), &process, &machine) && process != 0 &&
           (process & (process - 1)) == 0;
}

/* The counter begins when the machine does. It never fails. */
int64_t lw_now(void)
{
    static int64_t per_second;
    int64_t frequency = __atomic_load_n(&per_second, __ATOMIC_RELAXED);
    LARGE_INTEGER number;
    if (frequency == 0) {
        QueryPerformanceFrequency(&number);
        frequency = number.QuadPart;
        __atomic_store_n(&per_second, frequency, __ATOMIC_RELAXED);
    }
    QueryPerformanceCounter(&number);
    return number.QuadPart / frequency * NS_PER_S +
           number.QuadPart % frequency * NS_PER_S / frequency;
}

void lw_yield(void)
{
    SwitchToThread();
}

void lw_sleep(struct lw_sleeper *sleeper, lw_deadline deadline)
{
    const DWORD saved = GetLastError();
    uint32_t asleep = 0;
    DWORD ms = INFINITE;
    if (deadline != LW_FOREVER) {
        const int64_t left_ns = deadline - lw_now();
        const int64_t nap_ns = left_ns < LONGEST_NAP_NS ? left_ns : LONGEST_NAP_NS;
        ms = nap_ns <= 0 ? 0 : (DWORD)((nap_ns + NS_PER_MS - 1) / NS_PER_MS);
    }
    WaitOnAddress(&sleeper->is_notified, &asleep, sizeof asleep, ms);
    SetLastError(saved);
}

void lw_rouse(struct lw_sleeper *sleeper)
{
    WakeByAddressSingle(&sleeper->is_notified);
}
