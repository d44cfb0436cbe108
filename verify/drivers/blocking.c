/*
 * blocking.c: prints the rows (drivers.h) of src/blocking.c, which waits here by a script: what its
 * step returns, how its waits end, when it is cancelled and whether it has a deadline. All scripts
 * of up to so many choices are run.
 */
#include "../../src/blocking.h"
#include "../../src/region/care.h"
#include "../../src/wait/awake.h"
#include "drivers.h"

#include <stdlib.h>

/* After so many calls the step returns LW_DONE. */
#define MOST_CALLS 4
#define MOST_CHOICES 64

static uint32_t script[MOST_CHOICES];
static uint32_t chosen; /* so far in this run */
static uint32_t length; /* of what is given; what follows is 0 */
static uint32_t ways[MOST_CHOICES];

static uint32_t choose(uint32_t count)
{
    if (chosen == MOST_CHOICES)
        abort();
    if (chosen >= length)
        script[chosen] = 0;
    ways[chosen] = count;
    return script[chosen++];
}

/* Goes on to the next script, and returns whether there is one. */
static bool next_script(void)
{
    length = chosen;
    while (length > 0 && script[length - 1] + 1 == ways[length - 1])
        length--;
    if (length > 0)
        script[length - 1]++;
    chosen = 0;
    return length > 0;
}

static const char driver[] = "src/blocking.c";
static lw_word words[WORDS];
static lw_cancel cancel;
static int64_t now;
static lw_answer last;
static uint32_t last_why;
static bool has_waited, was_woken; /* since then */
static bool has_fired;             /* the cancel */
static uint32_t calls;

/* The first thing that is wrong stands for all. */
static void check(bool right, const char *what)
{
    static bool was_wrong;
    if (!right && !was_wrong)
        printf("%s: %s\n", driver, what);
    was_wrong |= !right;
}

static lw_answer step(lw_word *its_words, uint32_t wanted, uint32_t why, lw_phase phase)
{
    print_row(driver, last_why, lw_answer_what(last) | (has_waited ? WAITED : 0), why);
    has_waited = false;
    check(its_words == words && wanted == 7, "calls with other arguments");
    check(phase == lw_answer_phase(last), "calls with another phase");
    last = answer_as_told(calls++ < MOST_CALLS ? told[choose(TOLD)] : LW_DONE, why, phase);
    last_why = why;
    return last;
}

/* No word is a region's. */
struct lw_region *lw_shared_by(const uint32_t *word)
{
    (void)word;
    return NULL;
}

/* Spinning is what comes before, and is not what is tested here. */
bool lw_may_try_again(struct lw_tries *tries, lw_deadline deadline)
{
    (void)tries, (void)deadline;
    return false;
}

static const struct lw_held held;

bool lw_may_look(const lw_word *its_words)
{
    check(its_words == words, "looks at something else");
    return false;
}

void lw_note_taken(const lw_word *its_words)
{
    (void)its_words;
}

bool lw_spin_for(const struct lw_held *its_held, lw_word *its_words, uint32_t wanted,
                 lw_deadline deadline, uint32_t *result)
{
    (void)deadline, (void)result;
    check(its_held == &held && its_words == words && wanted == 7, "spins for something else");
    return false;
}

bool lw_take_soon(const struct lw_held *its_held, lw_word *its_words, uint32_t wanted,
                  lw_deadline deadline, uint32_t *result)
{
    return lw_spin_for(its_held, its_words, wanted, deadline, result);
}

void lw_spin_until_free(const struct lw_held *its_held, lw_word *its_words, uint32_t wanted,
                        int wakes, lw_deadline deadline)
{
    uint32_t result;
    lw_spin_for(its_held, its_words, wanted, deadline, &result);
    check((wakes > 0) == was_woken, "does not know whether it was woken");
    check(has_waited, "spins again before it has waited");
    check(!has_fired, "spins although it is cancelled");
}

/* The cancel may fire now. */
static void may_fire(const lw_word *event)
{
    check(event == cancel.word, "asks another lw_cancel");
    has_fired = has_fired || (calls <= MOST_CALLS && choose(2) != 0);
}

uint32_t lw_event_state(const lw_word *event)
{
    check(event == cancel.word, "asks another lw_cancel");
    return has_fired ? LW_EVENT_SET : 0;
}

lw_answer lw_event_wait_step(lw_word *event, uint32_t wanted, uint32_t why, lw_phase phase)
{
    (void)wanted, (void)phase;
    may_fire(event);
    return lw_answer_of(lw_gives_up(why) ? LW_GAVE_UP
                        : has_fired      ? LW_DONE
                                         : LW_WAIT_IDLE,
                        0, 0, 0);
}

static lw_woken waited(const uint32_t *word, uint32_t expected, lw_deadline until)
{
    check(word == &words[lw_answer_word(last)] && expected == lw_answer_expected(last),
          "waits for something else than the step says");
    check(until == LW_FOREVER || until >= now, "waits for what is past");
    static const lw_woken outcomes[] = {LW_OK, LW_NOT_EQUAL, LW_TIMED_OUT};
    const lw_woken woken = outcomes[choose(until == LW_FOREVER ? 2 : 3)];
    if (woken == LW_TIMED_OUT)
        now = until;
    has_waited = true;
    was_woken = woken == LW_OK;
    return woken;
}

lw_woken lw_wait(const uint32_t *word, uint32_t expected, lw_deadline until)
{
    return waited(word, expected, until);
}

lw_woken lw_wait_many(const struct lw_waited *all, uint32_t n, lw_deadline until, int64_t *look_ns)
{
    (void)look_ns;
    check(n == 2 && all[1].word == cancel.word, "does not wait for the lw_cancel");
    may_fire(all[1].word);
    return waited(all[0].word, all[0].expected, until);
}

int64_t lw_now(void)
{
    return now;
}

/* Only a region's words are looked after. */
lw_deadline lw_after_ns(int64_t ns)
{
    return now + ns;
}

/* Whether a waiter that has re-checked does so again. */
bool lw_is_beside_busy_threads(void)
{
    return choose(2) == 0;
}

static enum lw_ending expected_ending(void)
{
    const uint32_t what = lw_answer_what(last);
    return what == LW_DONE            ? LW_ENDED_DONE
           : last_why == LW_CANCELLED ? LW_ENDED_CANCELLED
           : what == LW_OVERFLOW      ? LW_ENDED_OVERFLOW
                                      : LW_ENDED_TIMED_OUT;
}

int main(void)
{
    uint32_t scripts = 0;
    do {
        now = 1;
        calls = 0;
        last = 0;
        last_why = NO_CALL;
        has_waited = has_fired = false;
        /* The deadline comes before the first slice's end, or after some, or never. */
        static const lw_deadline deadlines[] = {LW_FOREVER, LW_BRIEF_NS / 2,
                                                LW_SLICE_NS + LW_SLICE_NS / 2};
        const lw_deadline deadline = deadlines[choose(3)];
        lw_cancel *its_cancel = choose(2) ? &cancel : NULL;
        const struct lw_operation operation = {step, words, 7};
        const uint32_t how = choose(3);
        const struct lw_end end = how == 0   ? lw_hold(&held, operation, deadline, its_cancel)
                                  : how == 1 ? lw_claim(&held, operation, deadline, its_cancel)
                                             : lw_block(operation, deadline, its_cancel);
        if (lw_answer_what(last) >= LW_WAIT)
            print_row(driver, last_why, lw_answer_what(last), NO_CALL);
        else
            check(end.ending == expected_ending() &&
                      (end.ending != LW_ENDED_DONE || end.result == lw_answer_expected(last)),
                  "returns something else than its step");
        scripts++;
    } while (next_script());
    fprintf(stderr, "%s: %u scripts\n", driver, scripts);
    return 0;
}
