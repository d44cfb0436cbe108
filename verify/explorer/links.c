/* links.c: see links.h. */
#include "links.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void links_add(struct links *links, uint32_t from, uint32_t to)
{
    if (links->count == links->capacity) {
        links->capacity = links->capacity ? links->capacity * 2 : 1 << 12;
        links->from = reallocate(links->from, links->capacity, sizeof *links->from);
        links->to = reallocate(links->to, links->capacity, sizeof *links->to);
    }
    links->from[links->count] = from;
    links->to[links->count++] = to;
}

void links_close(struct links *links)
{
    free(links->from);
    free(links->to);
    *links = (struct links){0};
}

/* The links into state s are sources[start[s]] to sources[start[s + 1] - 1]: a counting sort. */
static void sort_by_target(const struct links *links, uint32_t states, size_t *start, uint32_t *sources)
{
    for (size_t i = 0; i < links->count; i++)
        start[links->to[i] + 1]++;
    for (uint32_t s = 0; s < states; s++)
        start[s + 1] += start[s];
    size_t *fill = allocate(states, sizeof *fill);
    memcpy(fill, start, states * sizeof *fill);
    for (size_t i = 0; i < links->count; i++)
        sources[fill[links->to[i]]++] = links->from[i];
    free(fill);
}

void links_spread_backwards(const struct links *links, unsigned char *marked, uint32_t states)
{
    size_t *start = allocate((size_t)states + 1, sizeof *start);
    uint32_t *sources = allocate(links->count + 1, sizeof *sources);
    uint32_t *queue = allocate(states, sizeof *queue);
    uint32_t head = 0, tail = 0;
    sort_by_target(links, states, start, sources);
    for (uint32_t s = 0; s < states; s++) {
        if (marked[s])
            queue[tail++] = s;
    }
    while (head < tail) {
        const uint32_t s = queue[head++];
        for (size_t i = start[s]; i < start[s + 1]; i++) {
            if (!marked[sources[i]]) {
                marked[sources[i]] = 1;
                queue[tail++] = sources[i];
            }
        }
    }
    free(start);
    free(sources);
    free(queue);
}

/* Unmarks all states that have no link to a marked one, again and again until each has one. */
static void unmark_ends(const struct links *links, unsigned char *marked, uint32_t states)
{
    size_t *start = allocate((size_t)states + 1, sizeof *start);
    size_t *left = allocate(states, sizeof *left);
    uint32_t *sources = allocate(links->count + 1, sizeof *sources);
    uint32_t *queue = allocate(states, sizeof *queue);
    uint32_t head = 0, tail = 0;
    sort_by_target(links, states, start, sources);
    for (size_t i = 0; i < links->count; i++)
        left[links->from[i]] += marked[links->to[i]];
    for (uint32_t s = 0; s < states; s++) {
        if (marked[s] && left[s] == 0)
            queue[tail++] = s;
    }
    while (head < tail) {
        const uint32_t s = queue[head++];
        marked[s] = 0;
        for (size_t i = start[s]; i < start[s + 1]; i++) {
            if (--left[sources[i]] == 0 && marked[sources[i]])
                queue[tail++] = sources[i];
        }
    }
    free(start);
    free(left);
    free(sources);
    free(queue);
}

void links_mark_circles(const struct links *links, unsigned char *marked, uint32_t states)
{
    const struct links reversed = {.count = links->count, .from = links->to, .to = links->from};
    memset(marked, 1, states);
    unmark_ends(links, marked, states);
    unmark_ends(&reversed, marked, states);
}

void links_mark_ends(const struct links *links, unsigned char *marked, uint32_t states)
{
    memset(marked, 1, states);
    for (size_t i = 0; i < links->count; i++)
        marked[links->from[i]] = 0;
}
