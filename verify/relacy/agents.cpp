#include <lockword/core/word.h>

#include "agents.h"

namespace agents
{

list *lists;
bool wakes_order = true;
bool joins_at_once = true;

list::list() = default;
list::~list() = default;

bool list::remove(agent *who)
{
    for (unsigned i = 0; i < size; i++) {
        if (waiters[i] == who) {
            waiters[i] = waiters[--size];
            return true;
        }
    }
    return false;
}

namespace
{

list &list_of(const lw_word *word)
{
    list *found = lists;
    while (found->address != word)
        found++;
    return *found;
}

/* Compares and joins. */
bool join(lw_word *word, uint32_t expected, agent &self)
{
    list &waiting = list_of(word);
    const bool was_equal = joins_at_once || word->value.load(rl::mo_relaxed, $) == expected;
    waiting.lock.lock($);
    const bool equal = joins_at_once ? word->value.load(rl::mo_relaxed, $) == expected : was_equal;
    if (equal) {
        self.notified = false;
        waiting.waiters[waiting.size++] = &self;
    }
    waiting.lock.unlock($);
    return equal;
}

/* Sleeps until notified, or until chance says that time is up. */
void sleep(agent &self, bool may_time_out)
{
    if (!self.notified)
        self.bed.park_current(rl::ctx(), may_time_out, false, false, $);
}

/* Whether a notify had come before the agent could leave the list. */
bool leave(lw_word *word, agent &self)
{
    list &waiting = list_of(word);
    waiting.lock.lock($);
    waiting.remove(&self);
    waiting.lock.unlock($);
    return self.notified;
}

uint32_t wait(lw_word *word, uint32_t expected, agent &self, bool may_time_out)
{
    if (!join(word, expected, self))
        return LW_NOT_EQUAL;
    sleep(self, may_time_out);
    return (self.notified && !wakes_order) || leave(word, self) ? LW_OK : LW_TIMED_OUT;
}

/*
 * How a wait of a blocking agent ended: a timed one takes some timeouts for a re-check, others for
 * its deadline.
 */
uint32_t wait_blocking(lw_word *word, lw_answer answer, agent &self, bool is_timed)
{
    const bool brief = lw_answer_what(answer) == LW_WAIT_BRIEF;
    const uint32_t why = wait(word, lw_answer_expected(answer), self, is_timed || brief);
    return why == LW_TIMED_OUT && (!is_timed || rl::rand(2) == 0) ? uint32_t(LW_SLICE) : why;
}

/* An async wait that is cancelled stays in the list: a waitAsync cannot be withdrawn. */
uint32_t wait_async(lw_word *gate, agent &self, bool may_cancel)
{
    sleep(self, may_cancel);
    if (!self.notified)
        return LW_CANCELLED;
    if (wakes_order)
        leave(gate, self);
    self.pending = false;
    return LW_OK;
}

} // namespace

bool run(lw_step *step, lw_word *words, uint32_t wanted, agent &self, kind kind)
{
    const bool is_async = kind == async || kind == aborting;
    uint32_t why = LW_START;
    uint32_t phase = 0;
    for (;;) {
        const uint32_t abilities =
            is_async ? LW_ASYNC | (self.pending ? uint32_t(LW_QUEUED) : 0) : 0;
        const lw_answer answer = step(words, wanted, why | abilities, phase);
        lw_word *word = &words[lw_answer_word(answer)];
        phase = lw_answer_phase(answer);
        switch (lw_answer_what(answer)) {
        case LW_DONE:
            return true;
        case LW_WAIT:
        case LW_WAIT_IDLE:
        case LW_WAIT_BRIEF:
            why = is_async ? wait_async(word, self, kind == aborting)
                           : wait_blocking(word, answer, self, kind == timed);
            break;
        case LW_QUEUE:
            self.pending = join(word, 0, self);
            why = LW_AGAIN;
            break;
        case LW_RETRY:
            break;
        default:
            return false;
        }
    }
}

void end(lw_word *gate, agent &self)
{
    self.abandoned = true;
    if (self.pending && self.notified)
        lw_notify(gate, 1);
}

} // namespace agents

uint32_t lw_notify(lw_word *word, uint32_t n)
{
    agents::list &waiting = agents::list_of(word);
    uint32_t woken = 0;
    waiting.lock.lock($);
    while (woken < n && waiting.size > 0) {
        agents::agent *chosen = waiting.waiters[rl::rand(waiting.size)];
        waiting.remove(chosen);
        chosen->notified = true;
        chosen->bed.unpark_one(rl::ctx(), $);
        woken += !chosen->abandoned;
    }
    waiting.lock.unlock($);
    return woken;
}
