/* Windows' own primitives. Its barrier is left out: Wine does not have it. */
#include <windows.h>

#include "family.h"

ACTION(hold_init, CRITICAL_SECTION, InitializeCriticalSection(it))
ACTION(hold_destroy, CRITICAL_SECTION, DeleteCriticalSection(it))
OPERATION(hold, CRITICAL_SECTION, EnterCriticalSection(it); LeaveCriticalSection(it))
OPERATION(recursion, CRITICAL_SECTION, EnterCriticalSection(it); EnterCriticalSection(it);
          LeaveCriticalSection(it); LeaveCriticalSection(it))
ACTION(handle_destroy, HANDLE, CloseHandle(*it))
ACTION(permit_init, HANDLE, *it = CreateSemaphoreA(NULL, 1, 1, NULL))
OPERATION(permit, HANDLE, WaitForSingleObject(*it, INFINITE); ReleaseSemaphore(*it, 1, NULL))

/* One that stays set until it is reset, and is. */
ACTION(event_init, HANDLE, *it = CreateEventA(NULL, TRUE, TRUE, NULL))
OPERATION(set, HANDLE, SetEvent(*it); ResetEvent(*it))
OPERATION(is_set, HANDLE, WaitForSingleObject(*it, INFINITE))
OPERATION(rw_read, SRWLOCK, AcquireSRWLockShared(it); ReleaseSRWLockShared(it))
OPERATION(rw_write, SRWLOCK, AcquireSRWLockExclusive(it); ReleaseSRWLockExclusive(it))

static BOOL CALLBACK do_nothing(INIT_ONCE *once, void *parameter, void **context)
{
    (void)once, (void)parameter, (void)context;
    return TRUE;
}

OPERATION(done, INIT_ONCE, InitOnceExecuteOnce(it, do_nothing, NULL, NULL))
ACTION(run_once, INIT_ONCE, done(it))
OPERATION(notify, CONDITION_VARIABLE, WakeConditionVariable(it))

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
