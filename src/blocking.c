/* blocking.c: the driver of everything that blocks. */
#include "blocking.h"

#include "wait/platform.h"

/* Waits as the answer says, but not past the next re-check, and tells why it ended. */
static uint32_t wait_a_slice(lw_word *words, lw_answer answer, lw_deadline deadline)
{
    int64_t slice = lw_answer_what(answer) == LW_WAIT_BRIEF ? lw_pace.brief_ns : lw_pace.slice_ns;
    lw_deadline recheck = lw_now() + slice;
    lw_deadline until = recheck < deadline ? recheck : deadline;
    lw_woken why = lw_wait(&words[lw_answer_word(answer)], lw_answer_expected(answer), until);
    return why == LW_TIMED_OUT && until < deadline ? LW_SLICE : (uint32_t)why;
}

enum lw_what lw_block(lw_step *step, lw_word *words, lw_deadline deadline)
{
    const uint32_t self = lw_self();
    const uint32_t abilities = lw_pace.pauses ? LW_PAUSES : 0;
    uint32_t why = LW_START;
    uint32_t phase = 0;
    for (;;) {
        lw_answer answer = step(words, self, why | abilities, phase);
        phase = lw_answer_phase(answer);
        const enum lw_what what = (enum lw_what)lw_answer_what(answer);
        switch (what) {
        case LW_WAIT:
        case LW_WAIT_BRIEF:
            why = wait_a_slice(words, answer, deadline);
            break;
        case LW_PAUSE:
            lw_pause();
            why = LW_AGAIN;
            break;
        default:
            return what;
        }
    }
}
