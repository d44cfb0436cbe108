/*
 * drivers.h: a step for drivers, which returns what it is told to, and the rows that say what a
 * driver does with it.
 *
 * A row is one line: the driver; the reason of a caller's last call and what its step returned, or
 * `new`; whether the caller, if it blocks, has waited since; and the reason of the next call.
 * `leaves` means that there is none, although the step has not ended. ../drivers.js compares the
 * rows of the explorer's model with those of the real drivers, and records the rows of
 * JavaScript's.
 */
#ifndef DRIVERS_H
#define DRIVERS_H

#include <lockword/core/step.h>

#include <stdio.h>
#include <string.h>

/* The step's two words: the one on which it waits, and its gate. */
enum { WORD, GATE, WORDS };

/* What the step may be told to return. */
static const uint32_t told[] = {LW_DONE,       LW_OVERFLOW, LW_WAIT, LW_WAIT_IDLE,
                                LW_WAIT_BRIEF, LW_QUEUE,    LW_RETRY};
#define TOLD (sizeof told / sizeof *told)

/*
 * Returns what a step may return that was called for this reason, if it was told this. A step that
 * waits counts on: a driver that loses the phase is noticed.
 */
static inline lw_answer answer_as_told(uint32_t told_what, uint32_t why, lw_phase phase)
{
    uint32_t what = told_what;
    const bool waits = what >= LW_WAIT && what != LW_RETRY;
    if (waits && lw_gives_up(why))
        what = LW_GAVE_UP;
    else if (waits && (why & (LW_ASYNC | LW_QUEUED)) == LW_ASYNC)
        what = LW_QUEUE;
    else if (what == LW_QUEUE)
        what = LW_WAIT;
    if (what == LW_QUEUE || what == LW_RETRY)
        return lw_answer_of(what, GATE, phase, 0);
    return lw_answer_of(what, WORD, (phase + 1) % 4, told_what);
}

/* Or-ed to what a step returned: its caller has slept since, or tried to. */
#define WAITED 0x10u

#define NO_CALL UINT32_MAX

static inline void print_why(uint32_t why)
{
    static const char *const names[] = {"START", "OK",    "NOT_EQUAL", "TIMED_OUT",
                                        "SLICE", "AGAIN", "?",         "CANCELLED"};
    printf("%s%s%s", names[why & 7], why & LW_ASYNC ? "+ASYNC" : "",
           why & LW_QUEUED ? "+QUEUED" : "");
}

/*
 * Prints a row, and each row of a driver only once. NO_CALL as `before`: no call was made;
 * as `next`: none follows.
 */
static inline void print_row(const char *driver, uint32_t before, uint32_t what, uint32_t next)
{
    static const char *const names[] = {"DONE", "GAVE_UP",   "DEADLOCK",   "OVERFLOW", "NOT_OWNER",
                                        "WAIT", "WAIT_IDLE", "WAIT_BRIEF", "QUEUE",    "RETRY"};
    static const char *last_driver;
    static bool is_printed[256][32][256];
    if (driver != last_driver)
        memset(is_printed, 0, sizeof is_printed);
    last_driver = driver;
    bool *printed = &is_printed[before & 255][what][next & 255];
    if (*printed)
        return;
    *printed = true;
    printf("%s: ", driver);
    if (before == NO_CALL) {
        printf("new");
    } else {
        print_why(before);
        printf(" %s%s", names[what & 15], what & WAITED ? ", waited" : "");
    }
    printf(" -> ");
    if (next == NO_CALL)
        printf("leaves");
    else
        print_why(next);
    printf("\n");
}

#endif
