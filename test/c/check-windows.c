/*
 * check-windows.c: threads and memory as Windows has them. Nobody else can know there that a thread
 * sleeps: lw_sleep (src/wait/windows.c), which the linker lets call through here, says so.
 */
#include "check-system.h"

#include <windows.h>

#include <wait/table.h>

#define PAGE 4096
#define TICK_NS 100 /* GetThreadTimes counts these */

static __thread struct helper *own;

void __real_lw_sleep(struct lw_sleeper *sleeper, lw_deadline deadline);
void __wrap_lw_sleep(struct lw_sleeper *sleeper, lw_deadline deadline);

void __wrap_lw_sleep(struct lw_sleeper *sleeper, lw_deadline deadline)
{
    if (own != NULL) {
        __atomic_fetch_add(&own->sleeps, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&own->is_asleep, true, __ATOMIC_RELEASE);
    }
    __real_lw_sleep(sleeper, deadline);
    if (own != NULL)
        __atomic_store_n(&own->is_asleep, false, __ATOMIC_RELEASE);
}

uint32_t number_of_this_thread(struct helper *helper)
{
    own = helper;
    return GetCurrentThreadId();
}

bool is_asleep(const struct helper *helper)
{
    return __atomic_load_n(&helper->is_asleep, __ATOMIC_ACQUIRE);
}

bool join_within(struct helper *helper, int seconds)
{
    for (int ms = 0; !__atomic_load_n(&helper->has_ended, __ATOMIC_ACQUIRE); ms++) {
        if (ms == 1000 * seconds)
            return false;
        sleep_ms(1);
    }
    return pthread_join(helper->thread, NULL) == 0;
}

struct usage usage_of(const struct helper *helper)
{
    FILETIME times[4];
    struct usage usage = {__atomic_load_n(&helper->sleeps, __ATOMIC_RELAXED), 0};
    HANDLE thread = OpenThread(THREAD_QUERY_INFORMATION, FALSE, helper->tid);
    assert_true(GetThreadTimes(thread, &times[0], &times[1], &times[2], &times[3]));
    CloseHandle(thread);
    for (int i = 2; i < 4; i++)
        usage.cpu_ns +=
            (((int64_t)times[i].dwHighDateTime << 32) + times[i].dwLowDateTime) * TICK_NS;
    return usage;
}

void *allocate_page(void)
{
    void *page = VirtualAlloc(NULL, PAGE, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    assert_ptr_not_equal(page, NULL);
    return page;
}

void free_page(void *page)
{
    VirtualFree(page, 0, MEM_RELEASE);
}
