/*
 * check-table.c: threads and memory of systems other than Linux. Most of them do not tell whether a
 * thread sleeps: lw_sleep (src/wait/table.h), which the linker lets call through here, says so.
 * macOS does tell, and its linker cannot do that.
 */
#ifndef _WIN32
#define _GNU_SOURCE
#endif
#include "check-system.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <sys/mman.h>
#include <time.h>
#endif
#ifdef __APPLE__
#include <mach/mach.h>
#endif

#include <lockword/self.h>

#define PAGE 4096

#ifdef __APPLE__

uint32_t number_of_this_thread(struct helper *helper)
{
    (void)helper;
    return lw_self();
}

static thread_basic_info_data_t info_of(const struct helper *helper)
{
    thread_basic_info_data_t info = {0};
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    thread_info(pthread_mach_thread_np(helper->thread), THREAD_BASIC_INFO, (thread_info_t)&info,
                &count);
    return info;
}

bool is_asleep(const struct helper *helper)
{
    return info_of(helper).run_state == TH_STATE_WAITING;
}

#else

static __thread struct helper *own;

struct lw_sleeper;
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
    return lw_self();
}

bool is_asleep(const struct helper *helper)
{
    return __atomic_load_n(&helper->is_asleep, __ATOMIC_ACQUIRE);
}

#endif

#ifdef _WIN32
#define TICK_NS 100 /* GetThreadTimes counts these */

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

#else

struct usage usage_of(const struct helper *helper)
{
    struct usage usage = {__atomic_load_n(&helper->sleeps, __ATOMIC_RELAXED), 0};
#ifdef __APPLE__
    const thread_basic_info_data_t info = info_of(helper);
    usage.cpu_ns = (info.user_time.seconds + info.system_time.seconds) * (int64_t)1000000000 +
                   (info.user_time.microseconds + info.system_time.microseconds) * (int64_t)1000;
#else
    clockid_t clock;
    struct timespec used = {0, 0};
    assert_int_equal(pthread_getcpuclockid(helper->thread, &clock), 0);
    assert_int_equal(clock_gettime(clock, &used), 0);
    usage.cpu_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
#endif
    return usage;
}

void *allocate_page(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    return page;
}

void free_page(void *page)
{
    munmap(page, PAGE);
}

#endif
