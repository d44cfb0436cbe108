/* links.c: see links.h. */
#include "links.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void links_add(struct links *links, struct link link)
{
    if (links->count == links->capacity) {
        links->capacity = links->capacity ? links->capacity * 2 : 1 << 12;
        links->all = reallocate(links->all, links->capacity, sizeof *links->all);
    }
    links->all[links->count++] = link;
}

void links_close(struct links *links)
{
    free(links->all);
    free(links->start);
    *links = (struct links){0};
}

/* A counting sort. */
void links_sort(struct links *links, uint32_t states)
{
    size_t *start = allocate((size_t)states + 1, sizeof *start);
    for (size_t i = 0; i < links->count; i++)
        start[links->all[i].to + 1]++;
    for (uint32_t s = 0; s < states; s++)
        start[s + 1] += start[s];
    size_t *fill = allocate(states, sizeof *fill);
    memcpy(fill, start, states * sizeof *fill);
    struct link *sorted = allocate(links->count + 1, sizeof *sorted);
    for (size_t i = 0; i < links->count; i++)
        sorted[fill[links->all[i].to]++] = links->all[i];
    free(fill);
    free(links->all);
    links->all = sorted;
    links->start = start;
}

static bool relies_on(struct reliance reliance, const struct link *link)
{
    return !(link->help & ~reliance.help) && !(reliance.frozen >> link->agent & 1);
}

void links_spread_backwards(const struct links *links, struct reliance reliance,
                            unsigned char *marked, uint32_t states)
{
    uint32_t *queue = allocate(states, sizeof *queue);
    uint32_t head = 0, tail = 0;
    for (uint32_t s = 0; s < states; s++) {
        if (marked[s])
            queue[tail++] = s;
    }
    while (head < tail) {
        const uint32_t s = queue[head++];
        for (size_t i = links->start[s]; i < links->start[s + 1]; i++) {
            const struct link *link = &links->all[i];
            if (!marked[link->from] && relies_on(reliance, link)) {
                marked[link->from] = 1;
                queue[tail++] = link->from;
            }
        }
    }
    free(queue);
}

/*
 * Unmarks all states from which no link leads to a marked one, again and again until each has one.
 */
static void unmark_ends(const struct links *links, unsigned char *marked, uint32_t states)
{
    size_t *left = allocate(states, sizeof *left);
    uint32_t *queue = allocate(states, sizeof *queue);
    uint32_t head = 0, tail = 0;
    for (size_t i = 0; i < links->count; i++)
        left[links->all[i].from] += marked[links->all[i].to];
    for (uint32_t s = 0; s < states; s++) {
        if (marked[s] && left[s] == 0)
            queue[tail++] = s;
    }
    while (head < tail) {
        const uint32_t s = queue[head++];
        marked[s] = 0;
        for (size_t i = links->start[s]; i < links->start[s + 1]; i++) {
            const uint32_t from = links->all[i].from;
            if (--left[from] == 0 && marked[from])
                queue[tail++] = from;
        }
    }
    free(left);
    free(queue);
}

void links_mark_circles(const struct links *links, unsigned char *marked, uint32_t states)
{
    struct links reversed = {0};
    for (size_t i = 0; i < links->count; i++)
        links_add(&reversed, (struct link){.from = links->all[i].to, .to = links->all[i].from});
    links_sort(&reversed, states);
    memset(marked, 1, states);
    unmark_ends(links, marked, states);
    unmark_ends(&reversed, marked, states);
    links_close(&reversed);
}

void links_mark_ends(const struct links *links, struct reliance reliance, unsigned char *marked,
                     uint32_t states)
{
    memset(marked, 1, states);
    for (size_t i = 0; i < links->count; i++) {
        if (relies_on(reliance, &links->all[i]))
            marked[links->all[i].from] = 0;
    }
}
