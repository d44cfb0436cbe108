/*
 * chances.c: see chances.h. Each state's chance is the mean of its successors' chances, taken over
 * agents first. At first every chance is 1, which is too high. A mean of values that are too high
 * is too high. So after any number of rounds the result is an upper bound.
 */
#include "chances.h"

#include <stdlib.h>

#include "memory.h"
#include "model.h"

#define MOST_ROUNDS 2000
#define CLOSE 0.9999 /* a round that improves the result by less is the last one */

void chances_add(struct chances *chances, uint32_t from, uint32_t to, int agent)
{
    if (chances->count == chances->capacity) {
        chances->capacity = chances->capacity ? chances->capacity * 2 : 1 << 12;
        chances->from = reallocate(chances->from, chances->capacity, sizeof *chances->from);
        chances->to = reallocate(chances->to, chances->capacity, sizeof *chances->to);
        chances->agents = reallocate(chances->agents, chances->capacity, sizeof *chances->agents);
    }
    chances->from[chances->count] = from;
    chances->to[chances->count] = to;
    chances->agents[chances->count++] = (unsigned char)agent;
}

void chances_close(struct chances *chances)
{
    free(chances->from);
    free(chances->to);
    free(chances->agents);
    *chances = (struct chances){0};
}

/* The mean over the transitions first to end - 1, which are all that leave one state. */
static double mean(const struct chances *chances, size_t first, size_t end, const double *chance)
{
    double sums[MAX_AGENTS] = {0};
    int counts[MAX_AGENTS] = {0};
    for (size_t i = first; i < end; i++) {
        sums[chances->agents[i]] += chances->to[i] == TOO_MANY ? 1 : chance[chances->to[i]];
        counts[chances->agents[i]]++;
    }
    double sum = 0;
    int agents = 0;
    for (int agent = 0; agent < MAX_AGENTS; agent++) {
        if (counts[agent]) {
            sum += sums[agent] / counts[agent];
            agents++;
        }
    }
    return sum / agents;
}

/* One round, from the last state to the first: the successors of later states tend to be known. */
static void improve(const struct chances *chances, const unsigned char *ends, double *chance)
{
    for (size_t end = chances->count; end > 0;) {
        const uint32_t state = chances->from[end - 1];
        size_t first = end - 1;
        while (first > 0 && chances->from[first - 1] == state)
            first--;
        if (!ends[state])
            chance[state] = mean(chances, first, end, chance);
        end = first;
    }
}

double chances_of_too_many(const struct chances *chances, const unsigned char *begins,
                           const unsigned char *ends, uint32_t states)
{
    double *chance = allocate(states, sizeof *chance);
    for (uint32_t s = 0; s < states; s++)
        chance[s] = !ends[s];
    double worst = 1, before = 1;
    for (int round = 0; round < MOST_ROUNDS && (worst == 1 || worst < before * CLOSE); round++) {
        improve(chances, ends, chance);
        before = worst;
        worst = 0;
        for (uint32_t s = 0; s < states; s++) {
            if (begins[s] && chance[s] > worst)
                worst = chance[s];
        }
    }
    free(chance);
    return worst;
}
