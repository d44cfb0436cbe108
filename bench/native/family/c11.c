/* C11's call_once; the rest of <threads.h> is glibc's POSIX primitives behind one more call. */
#include <threads.h>

#include "family.h"

static void do_nothing(void)
{
}

ACTION(run_once, once_flag, *it = (once_flag)ONCE_FLAG_INIT; call_once(it, do_nothing))
OPERATION(done, once_flag, call_once(it, do_nothing))

BENCH_FAMILY bench_family_c11[];
const struct bench_operation bench_family_c11[] = {
    {BENCH_DONE, "C11 call_once", false, run_once, 0, done_turns, 0},
    {BENCH_SUBJECTS, 0, false, 0, 0, 0, 0},
};
