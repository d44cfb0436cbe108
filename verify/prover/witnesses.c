/* witnesses.c: see witnesses.h. */
#include "witnesses.h"

#include <stdlib.h>
#include <string.h>

#include "../explorer/links.h"
#include "../explorer/memory.h"

enum { ME };

struct fixpoint {
    struct witnesses *witnesses;
    struct pairs *pairs;
    unsigned char *marks;
    const unsigned char *keepers;
    size_t *first_reaction; /* of each pair, in `order`, and of the one after the last */
    uint32_t *order;
    bool *is_calm;     /* of each class as the agent that moves sees it: all sleepers are covered */
    bool *is_obliging; /* of each effect: whoever has it is obliged afterwards */
    bool *serves;      /* of each effect: it notifies the word, and all whom it wakes are obliged */
};

static bool is_event_loop_to_run(const struct agent *a, bool briefs_end)
{
    return a->handing & (DUE | IS_TO_TURN) || a->pending == NOTIFIED ||
           (a->pending == QUEUED && model_polls(ME)) || (briefs_end && a->in_brief);
}

static bool acts(const struct state *state, bool briefs_end)
{
    const struct agent *a = &state->agents[ME];
    switch (a->doing) {
    case DEAD:
        return false;
    case ASLEEP:
        return briefs_end && a->way == LW_WAIT_BRIEF;
    case IDLE:
        return model_primitive->is_needed(state, ME) || is_event_loop_to_run(a, briefs_end);
    default:
        return true;
    }
}

/* It will do something: it does not only have to, but also can. */
static bool is_actor(const struct pairs *pairs, uint32_t pair, const struct state *state,
                     bool briefs_end)
{
    if (!acts(state, briefs_end))
        return false;
    for (size_t i = pairs->first_move[pair]; i < pairs->first_move[pair + 1]; i++) {
        const unsigned help = pairs->moves[i].help;
        if (!help || (briefs_end && help == BRIEFS))
            return true;
    }
    return false;
}

/* A caller in line whose step does not run now, nor later in this handler. */
static bool any_waits(const struct agent *a)
{
    unsigned runs = a->to_run | (lw_gives_up(a->why) ? a->alike : 0u);
    if (a->doing != IDLE)
        runs |= 1u << a->caller;
    for (int i = 0; i < a->in_line; i++) {
        if (!(runs >> a->line[i] & 1))
            return true;
    }
    return false;
}

/*
 * The line waits for a notify, whatever its agent does meanwhile: of a crowd, a caller whose step
 * does not run; otherwise all, if the head's does not. A microtask that is due need not run
 * (hand_over_later); a turn of the event loop will come.
 */
static bool line_waits_at(const struct state *state, uint32_t word)
{
    const struct agent *a = &state->agents[ME];
    const bool is_run = a->doing != IDLE && model_is_in_line(a, a->caller);
    return a->pending == QUEUED && a->pending_word == word && !(a->handing & IS_TO_TURN) &&
           !model_polls(ME) && (model_primitive->crowd ? any_waits(a) : a->in_line && !is_run);
}

static bool waits_at(const struct state *state, uint32_t word, bool briefs_end)
{
    const struct agent *a = &state->agents[ME];
    const bool sleeps = a->doing == ASLEEP && a->word == word;
    return (sleeps && !(briefs_end && a->way == LW_WAIT_BRIEF)) ||
           (line_waits_at(state, word) && !(briefs_end && a->in_brief));
}

/* A line that nothing will ever tell. */
static bool is_stranded(const struct state *state, bool briefs_end)
{
    const struct agent *a = &state->agents[ME];
    return a->doing == IDLE && a->in_line && a->pending == NOT_QUEUED && !acts(state, briefs_end);
}

static bool is_pledged(const struct state *state)
{
    return model_primitive->is_pledged && model_primitive->is_pledged(state);
}

/* The word says that the sleeper need not be woken yet, or that a keeper will see to it. */
static bool may_be_covered(const struct fixpoint *f, uint32_t pair, const struct state *state)
{
    return model_primitive->is_owed(state, ME) ||
           (f->keepers && !f->keepers[pair] && is_pledged(state));
}

static bool mark_all(struct fixpoint *f, bool briefs_end)
{
    const uint32_t word = f->witnesses->word;
    bool any = false;
    for (uint32_t pair = 0; pair < f->pairs->store.count; pair++) {
        struct state state;
        pairs_get(f->pairs, pair, &state);
        unsigned marks = is_actor(f->pairs, pair, &state, briefs_end) ? ACTOR | OBLIGED : 0;
        if (waits_at(&state, word, briefs_end))
            marks |= SLEEPER | (may_be_covered(f, pair, &state) ? COVERED : 0);
        any |= marks & SLEEPER;
        f->marks[pair] = (unsigned char)marks;
        if (!f->witnesses->error && is_stranded(&state, briefs_end)) {
            f->witnesses->error = "a line waits, and nothing will tell it";
            f->witnesses->move = pair;
        }
        if (!f->witnesses->error && model_primitive->is_needed(&state, ME) && !(marks & ACTOR) &&
            model_primitive->is_owed(&state, ME) && state.agents[ME].doing == ASLEEP) {
            f->witnesses->error = "an agent that others wait for may sleep for ever";
            f->witnesses->move = pair;
        }
    }
    return any;
}

static void sort_reactions(struct fixpoint *f)
{
    const struct pairs *pairs = f->pairs;
    const uint32_t count = pairs->store.count;
    f->first_reaction = allocate((size_t)count + 2, sizeof *f->first_reaction);
    f->order = allocate(pairs->reaction_count + 1, sizeof *f->order);
    for (size_t i = 0; i < pairs->reaction_count; i++)
        f->first_reaction[pairs->reactions[i].from + 2]++;
    for (uint32_t pair = 0; pair < count; pair++)
        f->first_reaction[pair + 2] += f->first_reaction[pair + 1];
    for (size_t i = 0; i < pairs->reaction_count; i++)
        f->order[f->first_reaction[pairs->reactions[i].from + 1]++] = (uint32_t)i;
}

/* Of which classes all sleepers are covered, and what effects do for the sleepers. */
static void look_at_classes(struct fixpoint *f)
{
    struct pairs *pairs = f->pairs;
    const uint32_t classes = pairs->classes.count;
    bool *own = allocate(classes, sizeof *own);
    memset(own, true, classes);
    for (uint32_t pair = 0; pair < pairs->store.count; pair++) {
        if (f->marks[pair] & SLEEPER && !(f->marks[pair] & COVERED))
            own[pairs->class_of[pair]] = false;
    }
    for (uint32_t class = 0; class < classes; class ++) {
        uint32_t seen[2];
        const int count = pairs_seen_by_others(pairs, class, seen);
        f->is_calm[class] = true;
        for (int i = 0; i < count; i++)
            f->is_calm[class] &= seen[i] >= classes || own[seen[i]];
    }
    free(own);
}

static void look_at_effects(struct fixpoint *f)
{
    struct pairs *pairs = f->pairs;
    for (uint32_t number = 0; number < pairs->effects.count; number++) {
        const struct effect effect = pairs_effect(pairs, number);
        f->serves[number] = effect.word == f->witnesses->word + 1;
        f->is_obliging[number] = true;
        for (uint32_t i = 0; i < pairs->posts[number].count; i++)
            f->is_obliging[number] &= (f->marks[pairs->posts[number].all[i]] & OBLIGED) != 0;
    }
    for (size_t i = 0; i < pairs->reaction_count; i++) {
        const struct reaction *reaction = &pairs->reactions[i];
        const struct effect effect = pairs_effect(pairs, reaction->effect);
        if (effect.woken < effect.most || !f->serves[reaction->effect])
            continue;
        if (reaction->to != reaction->from && !(f->marks[reaction->to] & OBLIGED))
            f->serves[reaction->effect] = false;
    }
}

/* After this move of an obliged agent, the claim holds. */
static bool is_move_good(const struct fixpoint *f, const struct move *move)
{
    const unsigned to = f->marks[move->to];
    if (to & OBLIGED)
        return true;
    if (move->effect != NONE && f->serves[move->effect])
        return !(to & SLEEPER) || to & COVERED;
    const uint32_t class = f->pairs->class_of[move->to];
    return f->is_calm[class] && (!(to & SLEEPER) || to & COVERED);
}

/* The same of another agent's move, which has this effect on a witness. */
static bool is_reaction_good(const struct fixpoint *f, const struct reaction *reaction)
{
    return f->marks[reaction->to] & OBLIGED || f->is_obliging[reaction->effect];
}

static bool is_still_obliged(struct fixpoint *f, uint32_t pair)
{
    const struct pairs *pairs = f->pairs;
    for (size_t i = pairs->first_move[pair]; i < pairs->first_move[pair + 1]; i++) {
        if (!is_move_good(f, &pairs->moves[i])) {
            f->witnesses->falls[pair].move = (uint32_t)i + 1;
            return false;
        }
    }
    for (size_t i = f->first_reaction[pair]; i < f->first_reaction[pair + 1]; i++) {
        if (!is_reaction_good(f, &pairs->reactions[f->order[i]])) {
            f->witnesses->falls[pair].reaction = f->order[i] + 1;
            return false;
        }
    }
    return true;
}

/* A sleeper stays covered, or is woken, or the agent that moves is a witness afterwards. */
static bool is_still_covered(struct fixpoint *f, uint32_t pair)
{
    const struct pairs *pairs = f->pairs;
    for (size_t i = pairs->first_move[pair]; i < pairs->first_move[pair + 1]; i++) {
        const unsigned to = f->marks[pairs->moves[i].to];
        if (to & SLEEPER && !(to & (COVERED | OBLIGED))) {
            f->witnesses->falls[pair].move = (uint32_t)i + 1;
            return false;
        }
    }
    for (size_t i = f->first_reaction[pair]; i < f->first_reaction[pair + 1]; i++) {
        const struct reaction *reaction = &pairs->reactions[f->order[i]];
        const unsigned to = f->marks[reaction->to];
        if (to & SLEEPER && !(to & (COVERED | OBLIGED)) && !f->is_obliging[reaction->effect]) {
            f->witnesses->falls[pair].reaction = f->order[i] + 1;
            return false;
        }
    }
    return true;
}

static bool shrink(struct fixpoint *f)
{
    bool changed = false;
    look_at_classes(f);
    look_at_effects(f);
    for (uint32_t pair = 0; pair < f->pairs->store.count; pair++) {
        const unsigned marks = f->marks[pair];
        unsigned fallen = marks & OBLIGED && !is_still_obliged(f, pair) ? OBLIGED : 0;
        fallen |= marks & COVERED && !is_still_covered(f, pair) ? COVERED : 0;
        if (fallen) {
            f->marks[pair] &= (unsigned char)~fallen;
            f->witnesses->falls[pair].round = f->witnesses->rounds;
            changed = true;
        }
    }
    return changed;
}

/* No agent without obligation becomes a sleeper that is not covered. */
static void check(struct fixpoint *f)
{
    const struct pairs *pairs = f->pairs;
    for (size_t i = 0; i < pairs->move_count && !f->witnesses->error; i++) {
        const struct move *move = &pairs->moves[i];
        const unsigned from = f->marks[move->from];
        const unsigned to = f->marks[move->to];
        if (from & OBLIGED || (from & SLEEPER && !(from & COVERED)))
            continue;
        if (to & SLEEPER && !(to & (COVERED | OBLIGED))) {
            f->witnesses->error = "may fall asleep, and nothing says that it will be woken";
            f->witnesses->move = i;
        }
    }
}

/* Returns whether the agent is within a call, or will act. */
static bool is_engaged(const struct pairs *pairs, uint32_t pair, const struct state *state)
{
    bool waits = false;
    for (uint32_t word = 0; word < model_primitive->words; word++)
        waits |= waits_at(state, word, false);
    return waits || is_actor(pairs, pair, state, false);
}

enum { PLEDGED = 1, KEEPER = 2 };

static bool keeps(unsigned marks)
{
    return !(marks & PLEDGED) || marks & KEEPER;
}

static bool is_still_keeper(const struct fixpoint *f, const bool *is_keeping, uint32_t pair)
{
    const struct pairs *pairs = f->pairs;
    for (size_t i = pairs->first_move[pair]; i < pairs->first_move[pair + 1]; i++) {
        if (!keeps(f->marks[pairs->moves[i].to]))
            return false;
    }
    for (size_t i = f->first_reaction[pair]; i < f->first_reaction[pair + 1]; i++) {
        const struct reaction *reaction = &pairs->reactions[f->order[i]];
        if (!keeps(f->marks[reaction->to]) && !is_keeping[reaction->effect])
            return false;
    }
    return true;
}

static bool shrink_keepers(struct fixpoint *f, bool *is_keeping)
{
    bool changed = false;
    for (uint32_t number = 0; number < f->pairs->effects.count; number++) {
        is_keeping[number] = true;
        for (uint32_t i = 0; i < f->pairs->posts[number].count; i++)
            is_keeping[number] &= keeps(f->marks[f->pairs->posts[number].all[i]]);
    }
    for (uint32_t pair = 0; pair < f->pairs->store.count; pair++) {
        if (f->marks[pair] & KEEPER && !is_still_keeper(f, is_keeping, pair)) {
            f->marks[pair] = PLEDGED;
            changed = true;
        }
    }
    return changed;
}

unsigned char *witnesses_keepers(struct pairs *pairs)
{
    struct fixpoint f = {.pairs = pairs, .marks = allocate(pairs->store.count, 1)};
    bool *is_keeping = allocate(pairs->effects.count + 1, sizeof *is_keeping);
    for (uint32_t pair = 0; pair < pairs->store.count; pair++) {
        struct state state;
        pairs_get(pairs, pair, &state);
        f.marks[pair] =
            is_pledged(&state) ? PLEDGED | (is_engaged(pairs, pair, &state) ? KEEPER : 0) : 0;
    }
    sort_reactions(&f);
    while (shrink_keepers(&f, is_keeping)) {
    }
    bool is_kept = true;
    for (size_t i = 0; i < pairs->move_count; i++)
        is_kept &= f.marks[pairs->moves[i].from] & PLEDGED || keeps(f.marks[pairs->moves[i].to]);
    for (uint32_t pair = 0; pair < pairs->store.count; pair++)
        f.marks[pair] = (f.marks[pair] & KEEPER) != 0;
    free(is_keeping);
    free(f.first_reaction);
    free(f.order);
    if (is_kept)
        return f.marks;
    free(f.marks);
    return NULL;
}

bool witnesses_find(struct witnesses *witnesses, struct pairs *pairs, uint32_t word,
                    const unsigned char *keepers, bool briefs_end)
{
    const uint32_t count = pairs->store.count;
    *witnesses = (struct witnesses){.word = word};
    witnesses->marks = allocate(count, 1);
    witnesses->falls = allocate(count, sizeof *witnesses->falls);
    struct fixpoint f = {
        .witnesses = witnesses, .pairs = pairs, .marks = witnesses->marks, .keepers = keepers};
    const bool any = mark_all(&f, briefs_end);
    if (!any || witnesses->error)
        return any;
    f.is_calm = allocate(pairs->classes.count, sizeof *f.is_calm);
    f.is_obliging = allocate(pairs->effects.count + 1, sizeof *f.is_obliging);
    f.serves = allocate(pairs->effects.count + 1, sizeof *f.serves);
    sort_reactions(&f);
    do {
        witnesses->rounds++;
    } while (shrink(&f));
    check(&f);
    free(f.is_calm);
    free(f.is_obliging);
    free(f.serves);
    free(f.first_reaction);
    free(f.order);
    return true;
}

void witnesses_close(struct witnesses *witnesses)
{
    free(witnesses->marks);
    free(witnesses->falls);
}

static bool may_poll(const struct pairs *pairs, uint32_t pair)
{
    struct state state;
    pairs_get(pairs, pair, &state);
    return model_polls(ME) && model_primitive->is_owed(&state, ME);
}

const char *witnesses_alone(struct pairs *pairs, uint32_t *pair)
{
    const char *error = NULL;
    unsigned char *marked = allocate(pairs->store.count, 1);
    for (int version = 1; version <= 2 && !error; version++) {
        struct links links = {0};
        for (size_t i = 0; i < pairs->move_count; i++) {
            const struct move *move = &pairs->moves[i];
            if (!move->help && !move->ends_call && move->versions & version)
                links_add(&links, (struct link){.from = move->from, .to = move->to});
        }
        links_sort(&links, pairs->store.count);
        memset(marked, 0, pairs->store.count);
        links_mark_circles(&links, marked, pairs->store.count);
        for (*pair = 0; *pair < pairs->store.count; ++*pair) {
            if (marked[*pair] && !may_poll(pairs, *pair)) {
                error = "may run for ever, alone, and no call ends";
                break;
            }
        }
        links_close(&links);
    }
    free(marked);
    return error;
}

/* The pair of the agent whose move this was: the first that was found to be no witness. */
static uint32_t mover_of(const struct witnesses *witnesses, const struct pairs *pairs,
                         uint32_t effect, uint32_t round)
{
    const struct posts *posts = &pairs->posts[effect];
    uint32_t first = NONE;
    for (uint32_t i = 0; i < posts->count; i++) {
        const uint32_t pair = posts->all[i];
        if (witnesses->marks[pair] & OBLIGED || witnesses->falls[pair].round >= round)
            continue;
        if (first == NONE || witnesses->falls[pair].round < witnesses->falls[first].round)
            first = pair;
    }
    return first;
}

/*
 * Why this pair is neither obliged nor covered: what may happen next, and so on with the pair to
 * which that leads. Then the same of the other agent that moved.
 */
static void explain(FILE *out, const struct witnesses *witnesses, const struct pairs *pairs,
                    uint32_t pair)
{
    for (int lines = 0; lines < 16; lines++) {
        const struct fall *fall = &witnesses->falls[pair];
        if (fall->round == 0)
            return;
        fprintf(out, "%8u  ", fall->round);
        if (fall->move) {
            const uint32_t to = pairs->moves[fall->move - 1].to;
            pairs_print_move(out, pairs, pair, to);
            pair = to;
            continue;
        }
        const struct reaction *reaction = &pairs->reactions[fall->reaction - 1];
        pairs_print_reaction(out, pairs, pair, reaction->to);
        const uint32_t mover = mover_of(witnesses, pairs, reaction->effect, fall->round);
        pair = reaction->to;
        if (mover == NONE || (witnesses->falls[pair].round &&
                              witnesses->falls[pair].round >= witnesses->falls[mover].round))
            continue;
        fputs("          The agent that did it, from its beginning:\n", out);
        pairs_print(out, pairs, mover);
        fputs("          It is no witness, since then this may happen:\n", out);
        pair = mover;
    }
}

void witnesses_print(FILE *out, const struct witnesses *witnesses, struct pairs *pairs)
{
    if (witnesses->rounds == 0) {
        pairs_print(out, pairs, (uint32_t)witnesses->move);
        return;
    }
    const struct move *move = &pairs->moves[witnesses->move];
    pairs_print(out, pairs, move->from);
    fputs("    !  ", out);
    pairs_print_move(out, pairs, move->from, move->to);
    fputs("       Before this, the agent is no witness, since this may happen:\n", out);
    explain(out, witnesses, pairs, move->from);
    fputs("       After this, it is not covered, since this may happen:\n", out);
    explain(out, witnesses, pairs, move->to);
}
