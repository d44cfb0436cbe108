/* pairs.c: see pairs.h. */
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "../explorer/memory.h"
#include "../explorer/trace.h"

/* The agents of the model: one that moves, and two that stand for all others. */
enum { ME, OTHER, ANOTHER, AGENTS };

/* A class: the words, and what goes with them. */
#define CLASS_SIZE offsetof(struct state, places)

/* Rules: what an effect looks like from a class. */
struct rule {
    uint32_t after, effect, next;
};

struct search {
    struct pairs *pairs;
    struct rule *rules;
    uint32_t rule_count, rule_capacity;
    uint32_t *rules_of; /* the first rule of each class, plus one */
    uint32_t *pairs_of; /* the last pair of each class, plus one */
    uint32_t class_capacity;
    uint32_t *next_in_class; /* of each pair, the same */
    uint32_t processed;      /* pairs to which all rules have been applied */
    uint32_t applied;        /* effects that are rules by now */
    unsigned char *packed;
    int kind;
    uint32_t current;
    struct state before;
    struct state read; /* the same, with the words as the agent reads them */
    int reader;        /* the caller that reads them; -1: all */
    uint32_t reading;
    uint32_t turned; /* by the move: the words whose generation it changes, one bit each */
    bool ends_call;  /* the same */
    uint8_t versions;
    const struct event *first; /* of several operations that are one move; or NULL */
    void (*visit)(struct search *s, const struct state *next, const struct event *event);
};

static bool names(const struct state *state, int agent)
{
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        const uint32_t ids = model_primitive->ids[word];
        if (ids && (state->words[word] & ids) == model_id(agent))
            return true;
    }
    for (int ghost = 0; ghost < MAX_GHOSTS; ghost++) {
        if (model_primitive->agents_ghosts >> ghost & 1 && state->ghosts[ghost] == agent + 1)
            return true;
    }
    return false;
}

/* A counted word's count is two or more. */
static bool is_many(const struct state *state, uint32_t word)
{
    const uint32_t bits = model_primitive->counts[word];
    return (state->words[word] & bits) > (bits & -bits);
}

static bool counts_many(const struct state *state)
{
    bool many = false;
    for (uint32_t word = 0; word < model_primitive->words; word++)
        many |= is_many(state, word);
    return many;
}

/* Two or more is read as 2, or as 3. */
static void set_many(struct state *state, uint32_t many)
{
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        const uint32_t bits = model_primitive->counts[word];
        if (is_many(state, word))
            state->words[word] = (state->words[word] & ~bits) | (bits & -bits) * many;
    }
}

/* Lets the words and the ghosts name to[a] where they name a. */
static void rename_agents(struct state *state, const int to[AGENTS],
                          const uint32_t from_ids[AGENTS])
{
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        const uint32_t ids = model_primitive->ids[word];
        for (int agent = 0; ids && agent < AGENTS; agent++) {
            if ((state->words[word] & ids) == from_ids[agent]) {
                state->words[word] = (state->words[word] & ~ids) | model_id(to[agent]);
                break;
            }
        }
    }
    for (int ghost = 0; ghost < MAX_GHOSTS; ghost++) {
        if (model_primitive->agents_ghosts >> ghost & 1 && state->ghosts[ghost])
            state->ghosts[ghost] = (uint8_t)(to[state->ghosts[ghost] - 1] + 1);
    }
}

static void ids_of(uint32_t ids[AGENTS])
{
    for (int agent = 0; agent < AGENTS; agent++)
        ids[agent] = model_id(agent);
}

static void rename_in_place(struct state *state, int me, int other, int another)
{
    uint32_t ids[AGENTS];
    ids_of(ids);
    rename_agents(state, (const int[AGENTS]){me, other, another}, ids);
}

/*
 * Lets the agent read the words in this way. Returns all ways that come to the same, one bit each;
 * 0 if there is an earlier one.
 */
static uint8_t read_as(struct state *state, int version)
{
    const int told_apart = (names(state, OTHER) ? 1 : 0) | (counts_many(state) ? 2 : 0);
    uint8_t same = 0;
    for (int other = 0; other < VERSIONS; other++)
        same |= (uint8_t)(((other & told_apart) == version) << other);
    if (version & 1)
        rename_in_place(state, ME, ANOTHER, OTHER);
    if (version & 2)
        set_many(state, 3);
    return same;
}

/* The caller's place in line; behind all places, if it has none. */
static int place_of(const struct agent *agent, int caller)
{
    for (int i = 0; i < agent->in_line; i++) {
        if (agent->line[i] == caller)
            return i;
    }
    return MAX_CALLERS;
}

/* Which of two async callers comes first in the canonical order. */
static bool comes_before(const struct agent *agent, int a, int b)
{
    const int distance = place_of(agent, a) - place_of(agent, b);
    if (distance != 0)
        return distance < 0;
    const bool a_calls = agent->doing != IDLE && agent->caller == a;
    const bool b_calls = agent->doing != IDLE && agent->caller == b;
    if (a_calls != b_calls)
        return a_calls;
    return memcmp(&agent->callers[a], &agent->callers[b], sizeof agent->callers[a]) > 0;
}

static uint8_t renumber_bits(uint8_t bits, const uint8_t *number)
{
    uint8_t renumbered = 0;
    for (int caller = 0; caller < MAX_CALLERS; caller++)
        renumbered |= (uint8_t)((bits >> caller & 1) << number[caller]);
    return renumbered;
}

static bool are_exchangeable(int a, int b)
{
    return model_is_async(ME, a) && model_letter(ME, a) == model_letter(ME, b) &&
           model_size(ME, a) == model_size(ME, b);
}

/* Async callers of one letter and size are the same but for their place in line. */
static void renumber_callers(struct agent *agent)
{
    uint8_t order[MAX_CALLERS], number[MAX_CALLERS];
    for (uint8_t i = 0; i < MAX_CALLERS; i++)
        order[i] = i;
    for (int i = 1; i < model_callers[ME]; i++) {
        for (int k = i; k > 0 && are_exchangeable(order[k - 1], order[k]) &&
                        comes_before(agent, order[k], order[k - 1]);
             k--) {
            const uint8_t swapped = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swapped;
        }
    }
    for (uint8_t i = 0; i < MAX_CALLERS; i++)
        number[order[i]] = i;
    struct agent copy = *agent;
    for (int i = 0; i < MAX_CALLERS; i++)
        agent->callers[number[i]] = copy.callers[i];
    for (int i = 0; i < agent->in_line; i++)
        agent->line[i] = number[copy.line[i]];
    if (agent->doing != IDLE && agent->doing != DEAD)
        agent->caller = number[agent->caller];
    agent->to_run = renumber_bits(agent->to_run, number);
    agent->in_brief = renumber_bits(agent->in_brief, number);
    agent->alike = renumber_bits(agent->alike, number);
}

/* Two in line stand for two or more: what is behind the second is forgotten. */
static void shorten_line(struct agent *agent)
{
    while (!model_primitive->crowd && agent->in_line > 2) {
        const uint8_t last = agent->line[--agent->in_line];
        agent->line[agent->in_line] = 0;
        agent->callers[last] = (struct caller){.rounds = ENDLESS};
    }
}

/* What the run compares words with next: a load of one that has no generation tells it nothing. */
static const struct operation *next_to_compare(const struct state *state)
{
    run_id run = state->agents[ME].value;
    while (runs_next(run)->kind == LOAD && runs_next(run)->word < model_primitive->words &&
           !model_primitive->generations[runs_next(run)->word] && !runs_endless)
        run = runs_advance(run, state->words[runs_next(run)->word]);
    return runs_next(run);
}

/* The bits of a word that others do not see. */
static uint32_t own_bits(uint32_t word)
{
    return model_primitive->generations[word] | model_primitive->histories[word];
}

/* The agent is about to compare the word with what it is now, history and all. */
static bool knows_history(const struct state *state, uint32_t word)
{
    const struct agent *a = &state->agents[ME];
    uint32_t expected = a->value;
    if (a->doing == RUNNING) {
        const struct operation *next = next_to_compare(state);
        if (next->kind != CAS || next->word != word)
            return false;
        expected = next->a;
    } else if (a->doing != GOING_TO_SLEEP || a->word != word) {
        return false;
    }
    return ((expected ^ state->words[word]) & own_bits(word)) == 0;
}

/* A run may compare a word with any generation that it has seen. */
static bool knows_by_past(void)
{
    return model_primitive->forgets || model_primitive->remembers;
}

/* The agent may still compare the word with this generation. */
static bool knows_generation(const struct state *state, uint32_t word, uint32_t generation)
{
    const uint32_t bits = model_primitive->generations[word];
    const struct agent *a = &state->agents[ME];
    bool knows = false;
    for (int caller = 0; caller < model_callers[ME]; caller++)
        knows |= (a->callers[caller].wanted & bits) == generation;
    if (a->doing != RUNNING)
        return knows || (a->value & bits) == generation;
    const struct operation *next = next_to_compare(state);
    knows |= knows_by_past() && runs_knows(a->value, word, bits, generation);
    const bool is_step = model_primitive->functions[a->function].is_step;
    const uint32_t answer = is_step ? lw_answer_expected(next->result) : (uint32_t)next->result;
    return knows || (next->a & bits) == generation || (next->b & bits) == generation ||
           (answer & bits) == generation;
}

/*
 * Lets these words have a generation that the agent does not know. Which one it is makes no
 * difference: so there are as few as the agent can know.
 */
static void turn(struct state *state, uint32_t turned)
{
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        const uint32_t bits = model_primitive->generations[word];
        uint32_t generation = 0;
        const bool is_unknown =
            knows_by_past() && bits && !knows_generation(state, word, state->words[word] & bits);
        if (!(turned >> word & 1) && !is_unknown)
            continue;
        while (knows_generation(state, word, generation))
            generation += bits & -bits;
        if (generation > bits) {
            fputs("an agent knows all generations that the word has\n", stderr);
            abort();
        }
        state->words[word] = (state->words[word] & ~own_bits(word)) | generation;
    }
}

/*
 * After a move, histories that the agent need not remember are forgotten, and generations are
 * again what they were before it read them. Returns the words whose generation is to turn.
 */
static uint32_t forget_histories(struct state *state, const struct state *before, uint32_t turned)
{
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        const uint32_t bits = model_primitive->generations[word];
        if (!model_primitive->histories[word])
            continue;
        if (knows_history(state, word)) {
            turned &= ~(1u << word);
            continue;
        }
        if (!(turned >> word & 1))
            state->words[word] =
                (state->words[word] & ~own_bits(word)) | (before->words[word] & bits);
        if (!knows_generation(state, word, state->words[word] & bits))
            turned |= 1u << word;
    }
    return turned;
}

static uint32_t turned_between(const struct state *before, const struct state *after)
{
    uint32_t turned = 0;
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        if ((before->words[word] ^ after->words[word]) & model_primitive->generations[word])
            turned |= 1u << word;
    }
    return turned;
}

/* Whether the agent may read in the word what it expects there. */
static bool may_be_read(const struct state *state, uint32_t word, uint32_t expected)
{
    struct state read = *state;
    read.words[word] = expected;
    rename_in_place(&read, ME, OTHER, OTHER);
    set_many(&read, 2);
    return read.words[word] == state->words[word];
}

/* The run is to load or change a generation, which it does whatever the words before say. */
static bool is_to_change_generation(run_id run)
{
    const struct operation *next = runs_next(run);
    return (next->kind == LOAD || next->kind == CAS) && model_primitive->generations[next->word];
}

/*
 * What the run remembers and no longer needs is forgotten (runs_forget), so that a run's next look
 * at a word is not one for each value that the word had before. The primitive's `operated` has to
 * bear that a run looks at a word twice.
 */
static void forget(struct state *state)
{
    struct agent *a = &state->agents[ME];
    if (!model_primitive->forgets || a->doing != RUNNING)
        return;
    run_id run = a->value;
    for (int i = 0; i < 2 && is_to_change_generation(run); i++)
        run = runs_advance(run, state->words[runs_next(run)->word]);
    const struct operation next = *runs_next(run);
    if (next.kind != CAS && next.kind != LOAD)
        return;
    const bool outdated = next.kind == LOAD || !may_be_read(state, next.word, next.a);
    uint32_t ids = 0;
    for (uint32_t word = 0; word < model_primitive->words; word++)
        ids |= (uint32_t)(model_primitive->ids[word] == UINT32_MAX) << word;
    a->value = runs_forget(a->value, next.word, outdated, model_id(ME), ids);
}

/* The class of the pair's words, whatever their generations. */
static uint32_t class_of(struct search *s, const struct state *state)
{
    struct pairs *pairs = s->pairs;
    struct state class = *state;
    for (uint32_t word = 0; word < model_primitive->words; word++)
        class.words[word] &= ~own_bits(word);
    const uint32_t number = store_add(&pairs->classes, (const unsigned char *)&class, 0);
    if (number >= s->class_capacity) {
        const uint32_t old = s->class_capacity;
        s->class_capacity = old ? old * 2 : 64;
        s->rules_of = reallocate(s->rules_of, s->class_capacity, sizeof *s->rules_of);
        s->pairs_of = reallocate(s->pairs_of, s->class_capacity, sizeof *s->pairs_of);
        memset(s->rules_of + old, 0, (s->class_capacity - old) * sizeof *s->rules_of);
        memset(s->pairs_of + old, 0, (s->class_capacity - old) * sizeof *s->pairs_of);
    }
    return number;
}

static void grow(struct search *s)
{
    struct pairs *pairs = s->pairs;
    if (pairs->store.count + 1 < pairs->capacity)
        return;
    pairs->capacity = pairs->capacity ? pairs->capacity * 2 : 1024;
    pairs->class_of = reallocate(pairs->class_of, pairs->capacity, sizeof *pairs->class_of);
    pairs->first_move = reallocate(pairs->first_move, pairs->capacity, sizeof *pairs->first_move);
    s->next_in_class = reallocate(s->next_in_class, pairs->capacity, sizeof *s->next_in_class);
}

/* The number of this pair, which is in canonical form. */
static uint32_t add_pair(struct search *s, const struct state *state)
{
    struct pairs *pairs = s->pairs;
    const uint32_t count = pairs->store.count;
    grow(s);
    memset(s->packed, 0, pairs->store.size);
    s->packed[0] = (unsigned char)s->kind;
    model_pack(state, s->packed + 1);
    const uint32_t pair = store_add(&pairs->store, s->packed, s->current);
    if (pair == count) {
        const uint32_t class = class_of(s, state);
        pairs->class_of[pair] = class;
        s->next_in_class[pair] = s->pairs_of[class];
        s->pairs_of[class] = pair + 1;
    }
    return pair;
}

static void add_reaction(struct search *s, uint32_t from, uint32_t to, uint32_t effect)
{
    struct pairs *pairs = s->pairs;
    if (pairs->reaction_count == pairs->reaction_capacity) {
        pairs->reaction_capacity = pairs->reaction_capacity ? pairs->reaction_capacity * 2 : 4096;
        pairs->reactions =
            reallocate(pairs->reactions, pairs->reaction_capacity, sizeof *pairs->reactions);
    }
    pairs->reactions[pairs->reaction_count++] = (struct reaction){from, to, effect};
}

struct effect pairs_effect(const struct pairs *pairs, uint32_t number)
{
    struct effect effect;
    memcpy(&effect, store_get(&pairs->effects, number), sizeof effect);
    return effect;
}

void pairs_get(const struct pairs *pairs, uint32_t pair, struct state *state)
{
    const unsigned char *packed = store_get(&pairs->store, pair);
    if (model_configuration != &pairs->kinds[packed[0]])
        model_use(model_primitive, &pairs->kinds[packed[0]]);
    model_unpack(packed + 1, state);
}

/* How many tokens this agent holds. */
static uint32_t tokens_of(const struct state *state)
{
    uint32_t tokens = 0;
    for (int caller = 0; caller < model_callers[ME]; caller++)
        tokens += (state->agents[ME].callers[caller].flags & model_primitive->token) != 0;
    return tokens;
}

static uint32_t tokens_of_all(const struct state *state)
{
    return model_primitive->token ? state->ghosts[model_primitive->tokens] : 0;
}

/* Two agents never hold more than there is. */
static bool are_compatible(const struct state *state, const struct effect *effect)
{
    const struct primitive *p = model_primitive;
    const bool may_hold =
        !p->held || effect->held == 0 || p->held(state, ME) + effect->held <= p->held_by_all(state);
    return may_hold && tokens_of(state) + effect->tokens <= tokens_of_all(state);
}

/* Others change the words of the state to those of another class. */
static void change_words(struct search *s, struct state *state, uint32_t class, uint32_t turned)
{
    const struct state before = *state;
    memcpy(state, store_get(&s->pairs->classes, class), CLASS_SIZE);
    for (uint32_t word = 0; word < model_primitive->words; word++)
        state->words[word] |= before.words[word] & own_bits(word);
    turn(state, turned);
    if (model_primitive->others_changed)
        model_primitive->others_changed(state, turned);
    forget(state);
}

static void wake(struct state *state, const struct effect *effect)
{
    struct agent *a = &state->agents[ME];
    model_wake_at(state, ME, effect->word - 1);
    if (effect->passed)
        a->callers[a->caller].flags |= model_primitive->token;
}

/* What another agent's move makes of this pair. */
static void react(struct search *s, uint32_t pair, const struct rule *rule)
{
    const struct effect effect = pairs_effect(s->pairs, rule->effect);
    const bool changes = rule->after != s->pairs->class_of[pair] || effect.turned;
    struct state state;
    pairs_get(s->pairs, pair, &state);
    s->kind = store_get(&s->pairs->store, pair)[0];
    s->current = pair;
    if (!are_compatible(&state, &effect))
        return;
    const bool waits = effect.word && model_waits_at(&state, ME, effect.word - 1);
    if (waits ? effect.woken == 0 : !changes)
        return;
    struct state woken = state;
    if (changes)
        change_words(s, &state, rule->after, effect.turned);
    if (!waits || effect.woken == effect.most)
        add_reaction(s, pair, add_pair(s, &state), rule->effect);
    if (!waits)
        return;
    wake(&woken, &effect);
    if (changes)
        change_words(s, &woken, rule->after, effect.turned);
    add_reaction(s, pair, add_pair(s, &woken), rule->effect);
}

/*
 * The words that may name different agents, and each of which names another agent. Where ghosts
 * name agents, too, all of them name the same one: then the first word stands for all.
 */
static int words_that_name(const struct state *state, uint32_t found[MAX_WORDS])
{
    int count = 0;
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        const uint32_t ids = model_primitive->ids[word];
        if (ids && (state->words[word] & ids) == model_id(OTHER))
            found[count++] = word;
    }
    return model_primitive->agents_ghosts ? names(state, OTHER) : count;
}

/* How others see it: the agent that moved is another one, and whoever looks may be one named. */
static int seen_by_others(struct state states[WAYS_SEEN], const unsigned char *class)
{
    struct state state = {0};
    uint32_t found[MAX_WORDS] = {0};
    memcpy(&state, class, CLASS_SIZE);
    const int count = words_that_name(&state, found);
    if (1 << count > WAYS_SEEN) {
        fputs("more words name agents than the prover has room for\n", stderr);
        abort();
    }
    for (int way = 0; way < 1 << count; way++) {
        const int other = way && model_primitive->agents_ghosts ? ME : OTHER;
        states[way] = state;
        rename_in_place(&states[way], OTHER, other, other);
        for (int i = 0; i < count && other == OTHER; i++) {
            const uint32_t ids = model_primitive->ids[found[i]];
            uint32_t *word = &states[way].words[found[i]];
            if (way >> i & 1)
                *word = (*word & ~ids) | model_id(ME);
        }
    }
    return 1 << count;
}

int pairs_seen_by_others(struct pairs *pairs, uint32_t words, uint32_t classes[WAYS_SEEN])
{
    struct state states[WAYS_SEEN];
    const int count = seen_by_others(states, store_get(&pairs->classes, words));
    for (int i = 0; i < count; i++)
        classes[i] = store_add(&pairs->classes, (const unsigned char *)&states[i], 0);
    return count;
}

/* The effect becomes a rule for the pairs of a class. */
static void add_rule(struct search *s, uint32_t before, uint32_t after, uint32_t effect)
{
    if (s->rule_count == s->rule_capacity) {
        s->rule_capacity = s->rule_capacity ? s->rule_capacity * 2 : 64;
        s->rules = reallocate(s->rules, s->rule_capacity, sizeof *s->rules);
    }
    const struct rule rule = {after, effect, s->rules_of[before]};
    s->rules[s->rule_count++] = rule;
    s->rules_of[before] = s->rule_count;
    for (uint32_t pair = s->pairs_of[before]; pair; pair = s->next_in_class[pair - 1]) {
        if (pair <= s->processed)
            react(s, pair - 1, &rule);
    }
}

static void add_rules(struct search *s, uint32_t number)
{
    const struct effect effect = pairs_effect(s->pairs, number);
    struct state before[WAYS_SEEN], after[WAYS_SEEN];
    const int count = seen_by_others(before, store_get(&s->pairs->classes, effect.before));
    seen_by_others(after, store_get(&s->pairs->classes, effect.after));
    for (int i = 0; i < count; i++) {
        const uint32_t class = class_of(s, &before[i]);
        add_rule(s, class, class_of(s, &after[i]), number);
    }
}

static void add_post(struct search *s, uint32_t effect, uint32_t pair)
{
    struct posts *posts = &s->pairs->posts[effect];
    if (posts->count && posts->all[posts->count - 1] == pair)
        return;
    if (posts->count == posts->capacity) {
        posts->capacity = posts->capacity ? posts->capacity * 2 : 4;
        posts->all = reallocate(posts->all, posts->capacity, sizeof *posts->all);
    }
    posts->all[posts->count++] = pair;
}

/* How many tokens a notify leaves to those that it wakes: the agent has lost what is still there.
 */
static uint32_t passed_by(const struct state *before, const struct state *next)
{
    const uint32_t had = tokens_of(before) + tokens_of_all(next);
    const uint32_t has = tokens_of(next) + tokens_of_all(before);
    return tokens_of_all(next) && had > has ? had - has : 0;
}

static uint32_t add_effect(struct search *s, const struct event *event, const struct state *next)
{
    struct pairs *pairs = s->pairs;
    struct effect effect = {.before = pairs->class_of[s->current],
                            .after = class_of(s, next),
                            .turned = s->turned,
                            .tokens = tokens_of(&s->before)};
    if (event->operation.kind == NOTIFY) {
        const uint32_t n = event->operation.a;
        const bool own = event->woken != 0;
        effect.most = n == LW_ALL ? n : n - own;
        if (effect.most) {
            effect.word = event->operation.word + 1;
            effect.woken = event->kind == OPERATES ? event->result - own : SOME;
            effect.passed = passed_by(&s->before, next);
        }
    }
    if (!effect.word && effect.before == effect.after && !effect.turned)
        return NONE;
    if (model_primitive->held)
        effect.held = model_primitive->held(&s->before, ME);
    const uint32_t count = pairs->effects.count;
    const uint32_t number = store_add(&pairs->effects, (const unsigned char *)&effect, 0);
    if (number == count) {
        pairs->posts = reallocate(pairs->posts, count + 1, sizeof *pairs->posts);
        pairs->posts[number] = (struct posts){0};
    }
    return number;
}

static void add_move(struct search *s, struct move move)
{
    struct pairs *pairs = s->pairs;
    if (move.from == move.to && move.effect == NONE && move.help && !move.run)
        return;
    for (size_t i = pairs->first_move[move.from]; i < pairs->move_count; i++) {
        struct move *m = &pairs->moves[i];
        if (m->to == move.to && m->effect == move.effect && m->help == move.help &&
            m->ends_call == move.ends_call && m->run == move.run && m->result == move.result &&
            m->own == move.own) {
            m->versions |= move.versions;
            return;
        }
    }
    if (pairs->move_count == pairs->move_capacity) {
        pairs->move_capacity = pairs->move_capacity ? pairs->move_capacity * 2 : 4096;
        pairs->moves = reallocate(pairs->moves, pairs->move_capacity, sizeof *pairs->moves);
    }
    pairs->moves[pairs->move_count++] = move;
    if (move.effect != NONE)
        add_post(s, move.effect, move.to);
}

/* Whether a caller's call has ended. */
static bool ends_call(const struct event *event)
{
    const struct function *function = &model_primitive->functions[event->function];
    return event->kind == LEAVES_LINE || event->kind == STANDS_IN_LINE ||
           (event->ended && (!function->is_step || lw_answer_what(event->answer) < LW_WAIT));
}

static void add_next(struct search *s, const struct state *next, const struct event *event)
{
    const bool notifies = event->operation.kind == NOTIFY;
    add_move(s, (struct move){.from = s->current,
                              .to = add_pair(s, next),
                              .effect = add_effect(s, event, next),
                              .run = event->run,
                              .result = event->run ? event->result
                                        : notifies ? event->operation.word + 1
                                                   : 0,
                              .own = notifies && event->woken,
                              .help = (uint16_t)event->help,
                              .ends_call = s->ends_call,
                              .versions = s->versions});
}

/* If there were two or more in line, and one left, there may still be two. */
static bool may_still_be_two(const struct state *before, const struct state *next)
{
    return !model_primitive->crowd && before->agents[ME].in_line == 2 &&
           next->agents[ME].in_line == 1;
}

static void add_to_line(const struct state *state_before, struct agent *agent)
{
    static const struct caller fresh = {.rounds = ENDLESS};
    const struct agent *before = &state_before->agents[ME];
    for (uint8_t caller = 0; caller < model_callers[ME]; caller++) {
        if (model_is_async(ME, caller) && !model_is_in_line(agent, caller) &&
            memcmp(&agent->callers[caller], &fresh, sizeof fresh) == 0) {
            agent->callers[caller] = before->callers[before->line[1]];
            agent->line[agent->in_line++] = caller;
            return;
        }
    }
}

/* If a word counted two or more, and counts one, there may be more: then `next` says so. */
static bool may_still_be_many(const struct state *before, struct state *next)
{
    bool may = false;
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        const uint32_t bits = model_primitive->counts[word];
        if (is_many(before, word) && !is_many(next, word)) {
            next->words[word] += bits & -bits;
            may = true;
        }
    }
    return may;
}

#define FORMS 4

/* The pairs, in canonical form, that a move to `next` leads to: four at most. */
static int forms_of(const struct state *before, const struct state *next, uint32_t turned,
                    struct state forms[FORMS])
{
    int count = 1;
    forms[0] = *next;
    rename_in_place(&forms[0], ME, OTHER, OTHER);
    set_many(&forms[0], 2);
    /* A run that remembers may compare what it has changed the word to. */
    turn(&forms[0], forget_histories(&forms[0], before, model_primitive->remembers ? 0 : turned));
    shorten_line(&forms[0].agents[ME]);
    forms[count] = forms[0];
    count += may_still_be_many(before, &forms[count]);
    for (int i = count; i-- > 0;) {
        if (may_still_be_two(before, &forms[i])) {
            forms[count] = forms[i];
            add_to_line(before, &forms[count++].agents[ME]);
        }
    }
    for (int i = 0; i < count; i++) {
        forget(&forms[i]);
        renumber_callers(&forms[i].agents[ME]);
    }
    return count;
}

/*
 * The run is about to load who it is that has something, and it makes a difference only whether it
 * is this agent. Others cannot change that. So it is done at once.
 */
static bool is_to_look_for_itself(const struct state *state)
{
    const struct agent *a = &state->agents[ME];
    return model_primitive->forgets && a->doing == RUNNING && runs_next(a->value)->kind == LOAD &&
           model_primitive->ids[runs_next(a->value)->word] == UINT32_MAX &&
           runs_looks_for(a->value, model_id(ME));
}

static void on_move(void *context, const struct state *next, const struct event *event)
{
    struct search *s = context;
    struct state forms[FORMS];
    /* It may as well have died before it looked. */
    if (s->first && event->kind == DIES)
        return;
    if (s->reader >= 0 && (event->run ? event->caller != s->reader : s->reader || s->reading))
        return;
    if (event->error && !s->pairs->error) {
        s->pairs->error = event->error;
        s->pairs->failed = s->current;
        s->pairs->event = *event;
    }
    if (s->pairs->error)
        return;
    if (model_primitive->is_within && !model_primitive->is_within(next))
        return;
    if (is_to_look_for_itself(next)) {
        const struct event copy = *event;
        const bool is_first = !s->first;
        if (is_first)
            s->first = &copy;
        model_moves(next, ME, on_move, s);
        if (is_first)
            s->first = NULL;
        return;
    }
    s->turned = turned_between(&s->read, next);
    s->ends_call = ends_call(event);
    const int count = forms_of(&s->before, next, s->turned, forms);
    for (int i = 0; i < count; i++)
        s->visit(s, &forms[i], s->first ? s->first : event);
}

/* The word has a history, which the agent does not remember. */
static bool is_read_anew(const struct state *state, uint32_t word)
{
    return model_primitive->histories[word] && !knows_history(state, word);
}

static bool is_any_read_anew(const struct state *state)
{
    bool any = false;
    for (uint32_t word = 0; word < model_primitive->words; word++)
        any |= is_read_anew(state, word);
    return any;
}

/* More generations than the history has bits are as good as that many more. */
#define MORE 3u

/*
 * Lets the caller read the word with one of all histories that it may have. If the generation that
 * it wants is past, that was one generation ago, or more. Returns false if there are no more ways.
 */
static bool read_history(struct state *state, uint32_t word, int caller, uint32_t reading)
{
    const struct primitive *p = model_primitive;
    const struct caller *c = &state->agents[ME].callers[caller];
    const uint32_t latest = p->histories[word] & -p->histories[word];
    const uint32_t one = p->generations[word] & -p->generations[word];
    const uint32_t histories = p->histories[word] / latest + 1;
    const uint32_t ago = reading / histories;
    const uint32_t noted = histories >> 1 >> ago ? 1u << ago : 0;
    uint32_t history = reading % histories;
    if (c->flags & p->is_past) {
        history = c->flags & p->was_noted ? history | noted : history & ~noted;
        state->words[word] &= ~p->generations[word];
        state->words[word] |= (c->wanted + (ago + 1) * one) & p->generations[word];
    }
    state->words[word] |= history * latest;
    return c->flags & p->is_past ? 1u << ago >> MORE < histories : ago == 0;
}

/* All that the words may hold of what this caller does not remember. */
static bool read_histories(struct state *state, int caller, uint32_t reading)
{
    bool is_one = false;
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        if (is_read_anew(state, word))
            is_one = read_history(state, word, caller, reading);
    }
    return is_one;
}

/* All moves of the pair, `before`, however its agent reads the words. */
static void move(struct search *s)
{
    for (int version = 0; version < VERSIONS; version++) {
        struct state state = s->before;
        s->versions = read_as(&state, version);
        s->read = state;
        s->reader = -1;
        if (s->versions && !is_any_read_anew(&state))
            model_moves(&state, ME, on_move, s);
        if (!s->versions || !is_any_read_anew(&state))
            continue;
        for (s->reader = 0; s->reader < model_callers[ME]; s->reader++) {
            for (s->reading = 0; read_histories(&s->read, s->reader, s->reading); s->reading++) {
                model_moves(&s->read, ME, on_move, s);
                s->read = state;
            }
            s->read = state;
        }
    }
}

static void process(struct search *s, uint32_t pair)
{
    struct pairs *pairs = s->pairs;
    for (uint32_t rule = s->rules_of[pairs->class_of[pair]]; rule;) {
        const struct rule copy = s->rules[rule - 1];
        react(s, pair, &copy);
        rule = copy.next;
    }
    s->processed = pair + 1;
    pairs->first_move[pair] = pairs->move_count;
    pairs_get(pairs, pair, &s->before);
    s->kind = store_get(&pairs->store, pair)[0];
    s->current = pair;
    move(s);
    while (s->applied < pairs->effects.count && !pairs->error)
        add_rules(s, s->applied++);
}

static size_t open_kinds(struct pairs *pairs, const struct configuration *proof)
{
    size_t largest = 0;
    for (const char *kind = proof->agents; *kind;) {
        const int length = (int)strcspn(kind, ",");
        const int number = pairs->kind_count++;
        snprintf(pairs->texts[number], sizeof *pairs->texts, "%.*s,o,o", length, kind);
        kind += length + (kind[length] == ',');
        pairs->kinds[number] = *proof;
        pairs->kinds[number].agents = pairs->texts[number];
        pairs->kinds[number].rounds = ENDLESS;
        model_use(model_primitive, &pairs->kinds[number]);
        largest = model_packed_size() > largest ? model_packed_size() : largest;
    }
    return largest + 1;
}

/* Reactions take as much memory as pairs do. */
static bool is_too_large(const struct pairs *pairs, uint32_t most)
{
    return pairs->store.count > most || pairs->move_count + pairs->reaction_count > most * 16u;
}

void pairs_find(struct pairs *pairs, const struct configuration *proof, uint32_t most)
{
    struct search s = {.pairs = pairs, .visit = add_next};
    *pairs = (struct pairs){.proof = proof};
    model_is_one_of_many = true;
    store_open(&pairs->store, open_kinds(pairs, proof));
    store_open(&pairs->classes, CLASS_SIZE);
    store_open(&pairs->effects, sizeof(struct effect));
    s.packed = allocate(1, pairs->store.size);
    for (s.kind = 0; s.kind < pairs->kind_count; s.kind++) {
        struct state state;
        model_use(model_primitive, &pairs->kinds[s.kind]);
        model_first(&state);
        memset(state.agents + 1, 0, sizeof state.agents - sizeof *state.agents);
        s.current = pairs->store.count;
        add_pair(&s, &state);
    }
    for (uint32_t pair = 0; pair < pairs->store.count && !pairs->error; pair++) {
        process(&s, pair);
        if (pairs->error)
            break;
        pairs->error = runs_endless                ? "a call does operations without end"
                       : runs_differ               ? "what a call does depends on failed attempts"
                       : is_too_large(pairs, most) ? "too many pairs"
                                                   : NULL;
        pairs->failed = pair;
    }
    grow(&s);
    pairs->first_move[pairs->store.count] = pairs->move_count;
    free(s.packed);
    free(s.rules);
    free(s.rules_of);
    free(s.pairs_of);
    free(s.next_in_class);
}

void pairs_close(struct pairs *pairs)
{
    for (uint32_t i = 0; i < pairs->effects.count; i++)
        free(pairs->posts[i].all);
    free(pairs->posts);
    free(pairs->class_of);
    free(pairs->moves);
    free(pairs->first_move);
    free(pairs->reactions);
    store_close(&pairs->store);
    store_close(&pairs->classes);
    store_close(&pairs->effects);
    model_is_one_of_many = false;
}

/* What is looked for when a pair is asked again for its moves. */
struct wanted {
    struct search search;
    uint32_t to;
    bool found;
    struct event event;
};

static void compare(struct search *s, const struct state *next, const struct event *event)
{
    struct wanted *wanted = (struct wanted *)s;
    model_pack(next, s->packed);
    if (!wanted->found &&
        memcmp(s->packed, store_get(&s->pairs->store, wanted->to) + 1, model_packed_size()) == 0) {
        wanted->found = true;
        wanted->event = *event;
    }
}

bool pairs_print_move(FILE *out, const struct pairs *pairs, uint32_t from, uint32_t to)
{
    struct pairs without_error = *pairs;
    struct wanted wanted = {.search = {.pairs = &without_error, .visit = compare}, .to = to};
    without_error.error = NULL;
    pairs_get(pairs, from, &wanted.search.before);
    wanted.search.packed = allocate(1, pairs->store.size);
    move(&wanted.search);
    free(wanted.search.packed);
    if (wanted.found)
        trace_print_event(out, &wanted.event);
    return wanted.found;
}

void pairs_print_reaction(FILE *out, const struct pairs *pairs, uint32_t from, uint32_t to)
{
    struct state before, after;
    pairs_get(pairs, from, &before);
    pairs_get(pairs, to, &after);
    fputs("others ", out);
    if (pairs->class_of[from] == pairs->class_of[to])
        fputs(from == to ? " notify another agent" : " notify this agent", out);
    for (uint32_t word = 0; word < model_primitive->words; word++) {
        if (before.words[word] == after.words[word])
            continue;
        fprintf(out, " %s: ", model_primitive->word_names[word]);
        trace_print_value(out, word, before.words[word]);
        fputs(" \u2192 ", out);
        trace_print_value(out, word, after.words[word]);
    }
    fputc('\n', out);
}

void pairs_print(FILE *out, const struct pairs *pairs, uint32_t pair)
{
    uint32_t length = 0;
    for (uint32_t p = pair; pairs->store.parents[p] != p; p = pairs->store.parents[p])
        length++;
    uint32_t *path = allocate(length + 1, sizeof *path);
    for (uint32_t p = pair, i = length + 1; i-- > 0; p = pairs->store.parents[p])
        path[i] = p;
    for (uint32_t i = 1; i <= length; i++) {
        fprintf(out, "%5u  ", i);
        if (!pairs_print_move(out, pairs, path[i - 1], path[i]))
            pairs_print_reaction(out, pairs, path[i - 1], path[i]);
    }
    free(path);
    if (pair == pairs->failed && pairs->event.error) {
        fprintf(out, "%5u  ", length + 1);
        trace_print_event(out, &pairs->event);
        fprintf(out, "       !!! %s\n", pairs->error);
    }
}
