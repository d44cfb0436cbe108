/* C11's call_once; the rest of <threads.h> is glibc's POSIX primitives behind one more call. */
#include <threads.h>

#include "family.h"

static void do_nothing(void)
{
}

static void run_once(void *once)
{
    *(once_flag *)once = (once_flag)ONCE_FLAG_INIT;
    call_once(once, do_nothing);
}

static inline void done(once_flag *once)
{
    call_once(once, do_nothing);
}
FAMILY_TURNS(done, once_flag)

BENCH_FAMILY bench_family_c11[];
const struct bench_operation bench_family_c11[] = {
    {BENCH_DONE, "C11 call_once", false, run_once, 0, done_turns, 0},
    {BENCH_SUBJECTS, 0, false, 0, 0, 0, 0},
};
