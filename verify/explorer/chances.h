/*
 * chances.h: how likely it is that a waiter loses more turns than it may, if chance decides which
 * agent makes the next operation. All agents that can make one are equally likely. A notify then
 * wakes any of the agents that sleep at its word, with equal chances, too.
 */
#ifndef EXPLORER_CHANCES_H
#define EXPLORER_CHANCES_H

#include <stddef.h>
#include <stdint.h>

/* The transitions, in the order of the states that they come from. */
struct chances {
    uint32_t *from;
    uint32_t *to;
    unsigned char *agents;
    size_t count, capacity;
};

/* Where a transition leads with which one turn too many is lost. */
#define TOO_MANY UINT32_MAX

void chances_add(struct chances *chances, uint32_t from, uint32_t to, int agent);
void chances_close(struct chances *chances);

/*
 * At most this likely is TOO_MANY, from the worst of the states that are marked `begins`; from
 * those marked `ends` it cannot come to that.
 */
double chances_of_too_many(const struct chances *chances, const unsigned char *begins,
                           const unsigned char *ends, uint32_t states);

#endif
