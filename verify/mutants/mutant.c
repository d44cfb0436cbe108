/* mutant.c: an explorer of the mutant that LW_MUTANT names. */
#include "mutant.h"

#include <stdio.h>
#include <stdlib.h>

int lw_mutant;
bool lw_reached;
unsigned lw_turns;

__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("LW_MUTANT");
    lw_mutant = number ? atoi(number) : 0;
}

/* In the words of --kill. */
void lw_stop(const char *why)
{
    printf("0\t0\t%s\n", why);
    exit(1);
}
