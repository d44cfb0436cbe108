/*
 * links.c: see links.h. States are numbered in the order of their discovery, so most links lead to
 * higher numbers. Hence few rounds over all links, in their order in memory, are as good as a queue
 * and links that are sorted by where they lead to.
 */
#include "links.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void links_begin_state(struct links *links)
{
    if (links->states + 1 >= links->state_capacity) {
        links->state_capacity = links->state_capacity ? links->state_capacity * 2 : 1 << 10;
        links->first = reallocate(links->first, links->state_capacity, sizeof *links->first);
    }
    links->first[links->states++] = links->count;
}

void links_add(struct links *links, struct link link)
{
    if (links->count == links->capacity) {
        links->capacity = links->capacity ? links->capacity * 2 : 1 << 12;
        links->all = reallocate(links->all, links->capacity, sizeof *links->all);
    }
    links->all[links->count++] = link;
}

void links_end(struct links *links)
{
    links->first[links->states] = links->count;
}

void links_close(struct links *links)
{
    free(links->all);
    free(links->first);
    *links = (struct links){0};
}

static bool relies_on(struct reliance reliance, const struct link *link)
{
    return !(link->help & ~reliance.help) && !(reliance.frozen >> link->agent & 1);
}

/* For each agent: the sets that it is not in. */
static const frozen_sets WITHOUT[] = {0x5555, 0x3333, 0x0f0f, 0x00ff};

_Static_assert(sizeof WITHOUT / sizeof *WITHOUT == MAX_AGENTS, "one for each agent");

/* Which of these sets, frozen, leave the link to be taken, and to lead to a marked state. */
static frozen_sets marked_by(const struct link *link, frozen_sets sets, frozen_sets marked)
{
    const frozen_sets able = sets & WITHOUT[link->agent];
    frozen_sets found = 0;
    if (link->places == SAME_PLACES || marked == 0)
        return able & marked;
    for (unsigned frozen = 0; able >> frozen; frozen++) {
        if (able >> frozen & 1 && marked >> symmetry_places(link->places, frozen) & 1)
            found |= (frozen_sets)(1 << frozen);
    }
    return found;
}

void links_spread_backwards(const struct links *links, unsigned help, frozen_sets sets,
                            frozen_sets *marked)
{
    for (bool any = true; any;) {
        any = false;
        for (uint32_t s = links->states; s-- > 0;) {
            for (size_t i = links->first[s]; marked[s] != sets && i < links->first[s + 1]; i++) {
                const struct link *link = &links->all[i];
                const frozen_sets found =
                    link->help & ~help ? 0 : marked_by(link, sets & ~marked[s], marked[link->to]);
                marked[s] |= found;
                any |= found != 0;
            }
        }
    }
}

/* Unmarks all states to which no motion leads from a marked one, until there is none of these. */
static void unmark_beginnings(const struct links *links, unsigned char *marked)
{
    uint32_t *from = allocate(links->states, sizeof *from); /* how many motions from marked ones */
    uint32_t *queue = allocate(links->states, sizeof *queue);
    uint32_t head = 0, tail = 0;
    for (size_t i = 0; i < links->count; i++)
        from[links->all[i].to] += links->all[i].is_motion;
    for (uint32_t s = 0; s < links->states; s++) {
        if (from[s] == 0)
            queue[tail++] = s;
    }
    while (head < tail) {
        const uint32_t s = queue[head++];
        marked[s] = 0;
        for (size_t i = links->first[s]; i < links->first[s + 1]; i++) {
            const uint32_t to = links->all[i].to;
            if (links->all[i].is_motion && --from[to] == 0)
                queue[tail++] = to;
        }
    }
    free(from);
    free(queue);
}

/* The same of states from which none leads to a marked one. */
static void unmark_ends(const struct links *links, unsigned char *marked)
{
    for (bool any = true; any;) {
        any = false;
        for (uint32_t s = links->states; s-- > 0;) {
            bool leads_on = false;
            for (size_t i = links->first[s]; marked[s] && i < links->first[s + 1]; i++)
                leads_on |= links->all[i].is_motion && marked[links->all[i].to];
            if (marked[s] && !leads_on) {
                marked[s] = 0;
                any = true;
            }
        }
    }
}

void links_mark_circles(const struct links *links, unsigned char *marked)
{
    memset(marked, 1, links->states);
    unmark_beginnings(links, marked);
    unmark_ends(links, marked);
}

bool links_lead_on(const struct links *links, struct reliance reliance, uint32_t state)
{
    for (size_t i = links->first[state]; i < links->first[state + 1]; i++) {
        if (relies_on(reliance, &links->all[i]))
            return true;
    }
    return false;
}
