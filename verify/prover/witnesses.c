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
    enum claim claim;
    const unsigned char *before[ALL_SLEEPERS]; /* the marks of the claims before; or NULL */
    bool are_obliged[ALL_SLEEPERS];            /* all who are obliged by those */
    bool *is_about_to_sleep;
    size_t *first_reaction; /* of each pair, in `order`, and of the one after the last */
    uint32_t *order;
    bool *is_calm; /* of each class as the agent that moves sees it: all sleepers are covered */
    bool *are_all_asleep; /* of each class, the same: all who are not covered are asleep */
    bool *is_obliging;    /* of each effect: whoever has it is settled afterwards */
    bool *is_safe;        /* of each effect: and is no sleeper who is not covered */
    bool *obliges;        /* of each effect: it wakes, and all whom it wakes are obliged */
    bool *wakes_due;      /* of each effect: it wakes, and all whom it wakes are obliged, or due */
    bool *clears;     /* of each effect: no sleeper is left who is not covered, but for the mover */
    bool *is_settled; /* of each pair: it is obliged, or nobody needs a witness */
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
 * (run_nothing); a turn of the event loop will come.
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

static unsigned pledges(const struct state *state)
{
    return model_primitive->pledges ? model_primitive->pledges(state) : 0;
}

/*
 * A pledge stands that this agent does not keep, nor any later one. So its keeper can only be
 * covered by a later pledge than this one, and so on: nobody waits in a circle.
 */
static bool is_kept(const struct fixpoint *f, uint32_t pair, const struct state *state)
{
    unsigned standing = f->keepers ? pledges(state) : 0;
    for (unsigned later = f->keepers ? f->keepers[pair] : 0; later; later >>= 1)
        standing &= ~later;
    return standing != 0;
}

static bool sleeps_while_needed(const struct state *state)
{
    return state->agents[ME].doing == ASLEEP && model_primitive->is_needed(state, ME);
}

/*
 * The word says that the sleeper need not be woken yet, or that a keeper will see to it. But a
 * keeper may be one of those that wait for this agent.
 */
static bool may_be_covered(const struct fixpoint *f, uint32_t pair, const struct state *state)
{
    if (f->claim != ALL_SLEEPERS)
        return model_primitive->is_marked(state, ME);
    return model_primitive->is_owed(state, ME) ||
           (!sleeps_while_needed(state) && is_kept(f, pair, state));
}

/* One of those whom the claim needs: it says that there is one of them, or all agents are safe. */
static bool is_witness(unsigned marks)
{
    return (marks & (OBLIGED | NEEDLESS)) == OBLIGED;
}

/* By this claim before, there is an agent that will see to this one. */
static bool is_due_by(const struct fixpoint *f, uint32_t pair, enum claim claim)
{
    return f->before[claim] && (f->before[claim][pair] & (SLEEPER | COVERED)) == SLEEPER;
}

static bool is_due(const struct fixpoint *f, uint32_t pair)
{
    return is_due_by(f, pair, ABOUT_TO_SLEEP) || is_due_by(f, pair, ASLEEP_TOGETHER);
}

/* The same, and that agent is another one, and obliged by the claim in hand. */
static bool is_seen_to(const struct fixpoint *f, uint32_t pair)
{
    bool is_seen_to = false;
    for (enum claim c = 0; c < f->claim; c++)
        is_seen_to |= f->are_obliged[c] && is_due_by(f, pair, c) && !is_witness(f->before[c][pair]);
    return is_seen_to;
}

/*
 * The agent will sleep at the word, whatever others do, unless they change its generation: a notify
 * may come too soon for it.
 */
static bool is_about_to_sleep(const struct state *state, uint32_t word)
{
    const struct agent *a = &state->agents[ME];
    if (!model_primitive->generations[word])
        return false;
    if (model_primitive->is_bound_to_sleep)
        return a->doing != ASLEEP && model_primitive->is_bound_to_sleep(state, ME);
    return a->doing == GOING_TO_SLEEP && a->word == word && state->words[word] == a->value;
}

/* The claim is about this pair. */
static bool is_sleeper(const struct fixpoint *f, uint32_t pair, const struct state *state,
                       bool briefs_end)
{
    const uint32_t word = f->witnesses->word;
    const struct agent *a = &state->agents[ME];
    if (f->claim == ALL_SLEEPERS)
        return (waits_at(state, word, briefs_end) ||
                (model_primitive->is_woken_with_all && is_about_to_sleep(state, word))) &&
               !is_due(f, pair);
    if (!model_primitive->is_woken_with_all(state, ME))
        return false;
    const bool sleeps = a->doing == ASLEEP && a->word == word;
    const bool is_bound = model_primitive->is_bound_to_sleep && sleeps &&
                          model_primitive->is_bound_to_sleep(state, ME);
    return f->claim == ASLEEP_TOGETHER ? sleeps : is_bound || is_about_to_sleep(state, word);
}

/* The words protect it, but by agents that may wait for it in turn. */
static bool may_be_in_a_circle(const struct state *state)
{
    const struct primitive *p = model_primitive;
    return sleeps_while_needed(state) && p->is_owed(state, ME) &&
           !(p->may_sleep && p->may_sleep(state, ME));
}

static bool mark_all(struct fixpoint *f, bool briefs_end)
{
    bool any = false;
    for (uint32_t pair = 0; pair < f->pairs->store.count; pair++) {
        struct state state;
        pairs_get(f->pairs, pair, &state);
        unsigned marks = is_actor(f->pairs, pair, &state, briefs_end) ? ACTOR | OBLIGED : 0;
        f->is_about_to_sleep[pair] = is_about_to_sleep(&state, f->witnesses->word);
        if (is_sleeper(f, pair, &state, briefs_end))
            marks |= SLEEPER | (may_be_covered(f, pair, &state) ? COVERED : 0);
        any |= marks & SLEEPER;
        f->marks[pair] = (unsigned char)marks;
        if (!f->witnesses->error && is_stranded(&state, briefs_end)) {
            f->witnesses->error = "a line waits, and nothing will tell it";
            f->witnesses->move = pair;
        }
        if (!f->witnesses->error && !(marks & ACTOR) && may_be_in_a_circle(&state)) {
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
    bool *own_asleep = allocate(classes, sizeof *own_asleep);
    memset(own, true, classes);
    memset(own_asleep, true, classes);
    for (uint32_t pair = 0; pair < pairs->store.count; pair++) {
        if (f->marks[pair] & SLEEPER && !(f->marks[pair] & COVERED)) {
            own[pairs->class_of[pair]] = false;
            own_asleep[pairs->class_of[pair]] &= !f->is_about_to_sleep[pair];
        }
    }
    for (uint32_t class = 0; class < classes; class ++) {
        uint32_t seen[WAYS_SEEN];
        const int count = pairs_seen_by_others(pairs, class, seen);
        f->is_calm[class] = f->are_all_asleep[class] = true;
        for (int i = 0; i < count; i++) {
            f->is_calm[class] &= seen[i] >= classes || own[seen[i]];
            f->are_all_asleep[class] &= seen[i] >= classes || own_asleep[seen[i]];
        }
    }
    free(own);
    free(own_asleep);
}

/* Whether those whom the claims before oblige are obliged by this one. */
static void look_at_claims_before(struct fixpoint *f)
{
    for (enum claim c = 0; c < f->claim; c++) {
        f->are_obliged[c] = f->before[c];
        for (uint32_t pair = 0; pair < f->pairs->store.count && f->before[c]; pair++)
            f->are_obliged[c] &= !is_witness(f->before[c][pair]) || f->marks[pair] & OBLIGED;
    }
}

/* It is no sleeper, or covered. */
static bool is_safe(unsigned marks)
{
    return !(marks & SLEEPER) || marks & COVERED;
}

/*
 * It is obliged; or, by the first two claims, all agents are safe. (So that those who are obliged
 * by these are so by the last one, too: there fewer are.)
 */
static void find_settled(struct fixpoint *f)
{
    for (uint32_t pair = 0; pair < f->pairs->store.count; pair++) {
        const unsigned marks = f->marks[pair];
        f->is_settled[pair] = marks & OBLIGED || (f->claim != ALL_SLEEPERS && is_safe(marks) &&
                                                  f->is_calm[f->pairs->class_of[pair]]);
    }
}

/* All whom this effect concerns are changed by it. */
static bool may_clear(const struct fixpoint *f, const struct effect *effect)
{
    const uint32_t word = f->witnesses->word;
    if (f->claim == ABOUT_TO_SLEEP)
        return effect->turned >> word & 1;
    return effect->word == word + 1 && effect->woken < effect->most &&
           (f->claim == ALL_SLEEPERS || effect->most == LW_ALL);
}

static void look_at_effects(struct fixpoint *f)
{
    struct pairs *pairs = f->pairs;
    look_at_claims_before(f);
    for (uint32_t number = 0; number < pairs->effects.count; number++) {
        const struct effect effect = pairs_effect(pairs, number);
        f->clears[number] =
            may_clear(f, &effect) && (!effect.word || f->are_all_asleep[effect.before]);
        f->obliges[number] =
            f->claim == ALL_SLEEPERS && effect.word && effect.woken && effect.woken != SOME;
        f->wakes_due[number] = f->obliges[number] && f->are_obliged[ASLEEP_TOGETHER];
        f->is_obliging[number] = f->is_safe[number] = true;
        for (uint32_t i = 0; i < pairs->posts[number].count; i++) {
            f->is_obliging[number] &= f->is_settled[pairs->posts[number].all[i]];
            f->is_safe[number] &= is_safe(f->marks[pairs->posts[number].all[i]]);
        }
    }
    for (size_t i = 0; i < pairs->reaction_count; i++) {
        const struct reaction *reaction = &pairs->reactions[i];
        f->clears[reaction->effect] &= is_safe(f->marks[reaction->to]);
        if (reaction->to == reaction->from || f->is_settled[reaction->to])
            continue;
        f->obliges[reaction->effect] = false;
        f->wakes_due[reaction->effect] &= is_due_by(f, reaction->from, ASLEEP_TOGETHER);
    }
}

/* After this move of an obliged agent, the claim holds. */
static bool is_move_good(const struct fixpoint *f, const struct move *move)
{
    if (f->is_settled[move->to])
        return true;
    if (!is_safe(f->marks[move->to]))
        return false;
    return f->is_calm[f->pairs->class_of[move->to]] ||
           (move->effect != NONE &&
            (f->clears[move->effect] || f->obliges[move->effect] ||
             (f->wakes_due[move->effect] && !is_witness(f->before[ASLEEP_TOGETHER][move->from]))));
}

/* The same of another agent's move, which has this effect on a witness. */
static bool is_reaction_good(const struct fixpoint *f, const struct reaction *reaction)
{
    return f->is_settled[reaction->to] || f->is_obliging[reaction->effect] ||
           (f->claim != ALL_SLEEPERS && f->clears[reaction->effect] &&
            f->is_safe[reaction->effect]);
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
        if (!is_safe(to) && !(to & OBLIGED)) {
            f->witnesses->falls[pair].move = (uint32_t)i + 1;
            return false;
        }
    }
    for (size_t i = f->first_reaction[pair]; i < f->first_reaction[pair + 1]; i++) {
        const struct reaction *reaction = &pairs->reactions[f->order[i]];
        const unsigned to = f->marks[reaction->to];
        if (!is_safe(to) && !(to & OBLIGED) && !f->is_obliging[reaction->effect]) {
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
    find_settled(f);
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

/* Another agent's move makes a sleeper that is not covered of an agent that was none. */
static void check_reactions(struct fixpoint *f)
{
    const struct pairs *pairs = f->pairs;
    for (size_t i = 0; i < pairs->reaction_count && !f->witnesses->error; i++) {
        const struct reaction *reaction = &pairs->reactions[i];
        const unsigned to = f->marks[reaction->to];
        const unsigned from = f->marks[reaction->from];
        if (!(from & (SLEEPER | OBLIGED)) && !is_safe(to) && !(to & OBLIGED) &&
            !f->is_obliging[reaction->effect] && !is_seen_to(f, reaction->from)) {
            f->witnesses->error =
                "a sleeper is no longer due, and nothing says that it will be woken";
            f->witnesses->move = i;
            f->witnesses->is_reaction = true;
        }
    }
}

/* No agent without obligation becomes a sleeper that is not covered. */
static void check(struct fixpoint *f)
{
    const struct pairs *pairs = f->pairs;
    for (size_t i = 0; i < pairs->move_count && !f->witnesses->error; i++) {
        const struct move *move = &pairs->moves[i];
        const unsigned from = f->marks[move->from];
        const unsigned to = f->marks[move->to];
        if (from & OBLIGED || !is_safe(from) || is_seen_to(f, move->from))
            continue;
        if (!is_safe(to) && !(to & OBLIGED)) {
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

/* Marks the keepers of this pledge. Returns false if there need be none while it stands. */
static bool find_keepers(struct fixpoint *f, unsigned pledge, bool *is_keeping)
{
    struct pairs *pairs = f->pairs;
    for (uint32_t pair = 0; pair < pairs->store.count; pair++) {
        struct state state;
        pairs_get(pairs, pair, &state);
        const bool may_keep =
            !model_primitive->may_keep || model_primitive->may_keep(&state, ME) & pledge;
        f->marks[pair] = pledges(&state) & pledge
                             ? PLEDGED | (may_keep && is_engaged(pairs, pair, &state) ? KEEPER : 0)
                             : 0;
    }
    while (shrink_keepers(f, is_keeping)) {
    }
    bool is_kept = true;
    for (size_t i = 0; i < pairs->move_count; i++)
        is_kept &= f->marks[pairs->moves[i].from] & PLEDGED || keeps(f->marks[pairs->moves[i].to]);
    return is_kept;
}

/* The pledges that stand in any pair. */
static unsigned all_pledges(const struct pairs *pairs)
{
    unsigned all = 0;
    for (uint32_t pair = 0; pair < pairs->store.count; pair++) {
        struct state state;
        pairs_get(pairs, pair, &state);
        all |= pledges(&state);
    }
    return all;
}

unsigned char *witnesses_keepers(struct pairs *pairs)
{
    const unsigned all = all_pledges(pairs);
    unsigned char *keepers = allocate(pairs->store.count, 1);
    struct fixpoint f = {.pairs = pairs, .marks = allocate(pairs->store.count, 1)};
    bool *is_keeping = allocate(pairs->effects.count + 1, sizeof *is_keeping);
    bool any_kept = all == 0;
    sort_reactions(&f);
    for (unsigned pledge = 1; pledge <= all; pledge <<= 1) {
        const bool is_kept = find_keepers(&f, pledge, is_keeping);
        any_kept |= is_kept;
        for (uint32_t pair = 0; pair < pairs->store.count; pair++)
            keepers[pair] |= (unsigned char)(!is_kept || f.marks[pair] & KEEPER ? pledge : 0);
    }
    free(is_keeping);
    free(f.marks);
    free(f.first_reaction);
    free(f.order);
    if (any_kept)
        return keepers;
    free(keepers);
    return NULL;
}

static void mark_needless(struct fixpoint *f)
{
    for (uint32_t pair = 0; pair < f->pairs->store.count; pair++) {
        if (is_safe(f->marks[pair]) && f->is_calm[f->pairs->class_of[pair]])
            f->marks[pair] |= NEEDLESS;
    }
}

static void find(struct fixpoint *f)
{
    struct pairs *pairs = f->pairs;
    f->is_calm = allocate(pairs->classes.count, sizeof *f->is_calm);
    f->are_all_asleep = allocate(pairs->classes.count, sizeof *f->are_all_asleep);
    f->obliges = allocate(pairs->effects.count + 1, sizeof *f->obliges);
    f->is_obliging = allocate(pairs->effects.count + 1, sizeof *f->is_obliging);
    f->clears = allocate(pairs->effects.count + 1, sizeof *f->clears);
    f->is_safe = allocate(pairs->effects.count + 1, sizeof *f->is_safe);
    f->is_settled = allocate(pairs->store.count + 1, sizeof *f->is_settled);
    f->wakes_due = allocate(pairs->effects.count + 1, sizeof *f->wakes_due);
    sort_reactions(f);
    do {
        f->witnesses->rounds++;
    } while (shrink(f));
    look_at_claims_before(f);
    check(f);
    check_reactions(f);
    if (f->claim != ALL_SLEEPERS)
        mark_needless(f);
    free(f->is_calm);
    free(f->are_all_asleep);
    free(f->obliges);
    free(f->is_obliging);
    free(f->clears);
    free(f->is_safe);
    free(f->is_settled);
    free(f->wakes_due);
    free(f->first_reaction);
    free(f->order);
}

static void claim(struct witnesses claims[CLAIMS], enum claim claim, uint32_t word,
                  struct pairs *pairs, const unsigned char *keepers, bool briefs_end)
{
    const uint32_t count = pairs->store.count;
    struct witnesses *witnesses = &claims[claim];
    *witnesses = (struct witnesses){.word = word,
                                    .marks = allocate(count, 1),
                                    .falls = allocate(count, sizeof *witnesses->falls)};
    struct fixpoint f = {.witnesses = witnesses,
                         .pairs = pairs,
                         .marks = witnesses->marks,
                         .keepers = keepers,
                         .claim = claim,
                         .is_about_to_sleep = allocate(count, sizeof *f.is_about_to_sleep)};
    for (enum claim c = 0; c < claim; c++)
        f.before[c] = claims[c].is_made ? claims[c].marks : NULL;
    const bool any = mark_all(&f, briefs_end);
    if (any && !witnesses->error)
        find(&f);
    witnesses->is_made = any && !witnesses->error;
    free(f.is_about_to_sleep);
}

void witnesses_find(struct witnesses claims[CLAIMS], struct pairs *pairs, uint32_t word,
                    const unsigned char *keepers, bool briefs_end)
{
    memset(claims, 0, CLAIMS * sizeof *claims);
    const enum claim first = model_primitive->is_woken_with_all ? ABOUT_TO_SLEEP : ALL_SLEEPERS;
    for (enum claim c = first; c < CLAIMS; c++)
        claim(claims, c, word, pairs, keepers, briefs_end);
}

void witnesses_close(struct witnesses claims[CLAIMS])
{
    for (enum claim c = 0; c < CLAIMS; c++) {
        free(claims[c].marks);
        free(claims[c].falls);
    }
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
    for (int version = 1; version < 1 << VERSIONS && !error; version <<= 1) {
        struct links links = {0};
        for (uint32_t p = 0; p < pairs->store.count; p++) {
            links_begin_state(&links);
            for (size_t i = pairs->first_move[p]; i < pairs->first_move[p + 1]; i++) {
                const struct move *move = &pairs->moves[i];
                if (!move->help && !move->ends_call && move->versions & version)
                    links_add(&links, (struct link){.to = move->to, .is_motion = true});
            }
        }
        links_end(&links);
        links_mark_circles(&links, marked);
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

/* The pair of an agent that this notify may wake, as mover_of. */
static uint32_t woken_of(const struct witnesses *witnesses, const struct pairs *pairs,
                         uint32_t effect, uint32_t round)
{
    uint32_t first = NONE;
    for (size_t i = 0; i < pairs->reaction_count; i++) {
        const struct reaction *reaction = &pairs->reactions[i];
        const uint32_t pair = reaction->to;
        if (reaction->effect != effect || pair == reaction->from ||
            witnesses->marks[pair] & OBLIGED || witnesses->falls[pair].round >= round)
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
            const struct move *move = &pairs->moves[fall->move - 1];
            pairs_print_move(out, pairs, pair, move->to);
            pair = move->to;
            if (move->effect == NONE || !pairs_effect(pairs, move->effect).word)
                continue;
            const uint32_t woken = woken_of(witnesses, pairs, move->effect, fall->round);
            if (woken == NONE)
                continue;
            fputs("          An agent that it may wake, from its beginning:\n", out);
            pairs_print(out, pairs, woken);
            fputs("          It is no witness, since then this may happen:\n", out);
            pair = woken;
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
    if (witnesses->is_reaction) {
        const struct reaction *reaction = &pairs->reactions[witnesses->move];
        pairs_print(out, pairs, reaction->from);
        fputs("    !  ", out);
        pairs_print_reaction(out, pairs, reaction->from, reaction->to);
        const uint32_t mover = mover_of(witnesses, pairs, reaction->effect, UINT32_MAX);
        if (mover == NONE)
            return;
        fputs("          The agent that did it, from its beginning:\n", out);
        pairs_print(out, pairs, mover);
        fputs("          It is no witness, since then this may happen:\n", out);
        explain(out, witnesses, pairs, mover);
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
