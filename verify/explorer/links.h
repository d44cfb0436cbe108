/* links.h: the transitions that the questions of liveness are about, and who can reach whom by them. */
#ifndef EXPLORER_LINKS_H
#define EXPLORER_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct links {
    size_t count, capacity;
    uint32_t *from, *to;
};

void links_add(struct links *links, uint32_t from, uint32_t to);
void links_close(struct links *links);

/* Marks all states from which a marked one can be reached. */
void links_spread_backwards(const struct links *links, unsigned char *marked, uint32_t states);

/* Marks all states on a circle of links, and those between two circles. */
void links_mark_circles(const struct links *links, unsigned char *marked, uint32_t states);

/* Marks all states from which no link leads on. */
void links_mark_ends(const struct links *links, unsigned char *marked, uint32_t states);

#endif
