/* mutant.h: included first where the sources stand with all their mutants, of which one is switched
 * on: lw_mutant. */
#ifndef MUTANT_H
#define MUTANT_H

#include <lockword/core/word.h>

extern int lw_mutant;
extern bool lw_reached; /* the mutated place was come to */
extern unsigned lw_turns;

/* Ends the call, and with it the mutant. */
_Noreturn void lw_stop(const char *why);

static inline bool lw_is(int number)
{
    return number == lw_mutant && (lw_reached = true);
}

/* Of a loop: many turns without an operation on a word. */
static inline void lw_turn(void)
{
    if (++lw_turns > 1000)
        lw_stop("a loop that does nothing does not end");
}

#define lw_load(...) (lw_turns = 0, lw_load(__VA_ARGS__))
#define lw_cas(...) (lw_turns = 0, lw_cas(__VA_ARGS__))

#endif
