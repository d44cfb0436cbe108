/* Windows' own primitives. Its barrier is left out: Wine does not have it. */
#include <windows.h>

#include "family.h"

static void hold_init(void *section)
{
    InitializeCriticalSection(section);
}

static void hold_destroy(void *section)
{
    DeleteCriticalSection(section);
}

static inline void hold(CRITICAL_SECTION *section)
{
    EnterCriticalSection(section);
    LeaveCriticalSection(section);
}
FAMILY_TURNS(hold, CRITICAL_SECTION)

static inline void recursion(CRITICAL_SECTION *section)
{
    EnterCriticalSection(section);
    EnterCriticalSection(section);
    LeaveCriticalSection(section);
    LeaveCriticalSection(section);
}
FAMILY_TURNS(recursion, CRITICAL_SECTION)

static void handle_destroy(void *handle)
{
    CloseHandle(*(HANDLE *)handle);
}

static void permit_init(void *sem)
{
    *(HANDLE *)sem = CreateSemaphoreA(NULL, 1, 1, NULL);
}

static inline void permit(HANDLE *sem)
{
    WaitForSingleObject(*sem, INFINITE);
    ReleaseSemaphore(*sem, 1, NULL);
}
FAMILY_TURNS(permit, HANDLE)

/* One that stays set until it is reset, and is. */
static void event_init(void *event)
{
    *(HANDLE *)event = CreateEventA(NULL, TRUE, TRUE, NULL);
}

static inline void set(HANDLE *event)
{
    SetEvent(*event);
    ResetEvent(*event);
}
FAMILY_TURNS(set, HANDLE)

static inline void is_set(HANDLE *event)
{
    WaitForSingleObject(*event, INFINITE);
}
FAMILY_TURNS(is_set, HANDLE)

static inline void rw_read(SRWLOCK *lock)
{
    AcquireSRWLockShared(lock);
    ReleaseSRWLockShared(lock);
}
FAMILY_TURNS(rw_read, SRWLOCK)

static inline void rw_write(SRWLOCK *lock)
{
    AcquireSRWLockExclusive(lock);
    ReleaseSRWLockExclusive(lock);
}
FAMILY_TURNS(rw_write, SRWLOCK)

static BOOL CALLBACK do_nothing(INIT_ONCE *once, void *parameter, void **context)
{
    (void)once, (void)parameter, (void)context;
    return TRUE;
}

static inline void done(INIT_ONCE *once)
{
    InitOnceExecuteOnce(once, do_nothing, NULL, NULL);
}
FAMILY_TURNS(done, INIT_ONCE)

static void run_once(void *once)
{
    done(once);
}

static inline void notify(CONDITION_VARIABLE *cond)
{
    WakeConditionVariable(cond);
}
FAMILY_TURNS(notify, CONDITION_VARIABLE)

static inline void wait(CONDITION_VARIABLE *cond, SRWLOCK *lock)
{
    SleepConditionVariableSRW(cond, lock, INFINITE, 0);
}

struct rally {
    SRWLOCK mutex;
    CONDITION_VARIABLE cond;
    uint32_t turn;
};
FAMILY_RALLY(AcquireSRWLockExclusive, ReleaseSRWLockExclusive, wait, notify)

BENCH_FAMILY bench_family_windows[];
const struct bench_operation bench_family_windows[] = {
    {BENCH_HOLD, "CRITICAL_SECTION", false, hold_init, hold_destroy, hold_turns, NULL},
    {BENCH_RECURSION, "CRITICAL_SECTION", false, hold_init, hold_destroy, recursion_turns, NULL},
    {BENCH_PERMIT, "CreateSemaphore", false, permit_init, handle_destroy, permit_turns, NULL},
    {BENCH_READ, "SRWLOCK", false, NULL, NULL, rw_read_turns, NULL},
    {BENCH_READERS, "SRWLOCK", false, NULL, NULL, rw_read_turns, rw_read_turns},
    {BENCH_WRITE, "SRWLOCK", false, NULL, NULL, rw_write_turns, NULL},
    {BENCH_DONE, "InitOnce", false, run_once, NULL, done_turns, NULL},
    {BENCH_NOTIFY, "CONDITION_VARIABLE", false, NULL, NULL, notify_turns, NULL},
    {BENCH_SET, "CreateEvent", false, event_init, handle_destroy, set_turns, NULL},
    {BENCH_IS_SET, "CreateEvent", false, event_init, handle_destroy, is_set_turns, NULL},
    {BENCH_RALLY, "CONDITION_VARIABLE", false, NULL, NULL, rally_turns, rally_partner},
    {BENCH_RALLY_HELD, "CONDITION_VARIABLE", false, NULL, NULL, rally_held_turns,
     rally_held_partner},
    {BENCH_SUBJECTS, NULL, false, NULL, NULL, NULL, NULL},
};
