/*
 * links.h: the transitions that the questions of liveness are about, and which states can reach
 * which by them.
 */
#ifndef EXPLORER_LINKS_H
#define EXPLORER_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link {
    uint32_t from, to;
    uint16_t help; /* kinds of HELP that it needs */
    uint16_t agent;
};

struct links {
    size_t count, capacity;
    struct link *all;
    size_t *start; /* the links into state s: all[start[s]] to all[start[s + 1] - 1]; NULL: not
                      sorted */
};

/*
 * The transitions that a question counts on: those that need no other help, and are made by no
 * frozen agent.
 */
struct reliance {
    unsigned help;
    unsigned frozen; /* agents, one bit each */
};

void links_add(struct links *links, struct link link);
void links_close(struct links *links);

/* To be called once all are there. */
void links_sort(struct links *links, uint32_t states);

/* Marks all states from which a marked one can be reached. */
void links_spread_backwards(const struct links *links, struct reliance reliance,
                            unsigned char *marked, uint32_t states);

/* Marks all states on a circle of links, and those between two circles. */
void links_mark_circles(const struct links *links, unsigned char *marked, uint32_t states);

/* Marks all states from which no link leads on. */
void links_mark_ends(const struct links *links, struct reliance reliance, unsigned char *marked,
                     uint32_t states);

#endif
