/*
 * pairs.h: what one agent can meet, if there are any number of agents.
 *
 * A pair is the words and the state of one agent, as the explorer has them. The set of pairs is the
 * least that contains the first one of each kind of agent, and with each pair
 *
 *   - what the agent can do next, by model_moves: a move
 *   - what a move of another agent makes of it, if that agent's pair is in the set: a reaction
 *
 * So whatever the number of agents, the words and the state of each of them are a pair of the set.
 * An agent's words name the agent itself (agent 0 of the model), no agent, or another one (agent
 * 1). The others are told apart by two ids only, and which of them a word names is chosen anew
 * whenever it is read.
 */
#ifndef PROVER_PAIRS_H
#define PROVER_PAIRS_H

#include "../explorer/model.h"
#include "../explorer/store.h"

#define MAX_KINDS 4
#define NONE UINT32_MAX
#define VERSIONS 4 /* ways to read the words: which others they name, and how many they count */
#define SOME (UINT32_MAX - 1)
#define WAYS_SEEN 8 /* ways in which others see words that name up to three agents */

/* What a move does to others: it changes the words from one class to another, notifies, or both. */
struct effect {
    uint32_t before, after; /* classes of words, as the agent that moves sees them */
    uint32_t word;          /* plus one: is notified */
    uint32_t most, woken; /* how many others are notified, and how many were there; SOME: or none */
    uint32_t held;        /* by the agent that moves, before */
    uint32_t turned;      /* the words whose generation it changes, one bit each */
    uint32_t tokens;      /* held by the agent that moves, before */
    uint32_t passed;      /* tokens, to each agent that it wakes */
};

struct move {
    uint32_t from, to;
    uint32_t effect; /* or NONE */
    uint32_t run;    /* that did an operation, plus one; 0: none did */
    uint32_t result; /* of the operation; 0 and no run: nobody was notified */
    uint16_t help;
    uint8_t ends_call;
    uint8_t versions; /* in which ways the words are read, one bit each */
    uint8_t own;      /* it notifies the agent's own line */
};

struct reaction {
    uint32_t from, to, effect;
};

/* The pairs that a move with this effect leads to. */
struct posts {
    uint32_t count, capacity;
    uint32_t *all;
};

struct pairs {
    const struct configuration *proof;
    int kind_count;
    struct configuration kinds[MAX_KINDS];
    char texts[MAX_KINDS][24];
    struct store store;
    struct store classes, effects; /* of words; of struct effect */
    uint32_t *class_of;            /* of each pair */
    struct move *moves;            /* in the order of their pairs */
    size_t move_count, move_capacity;
    size_t *first_move; /* of each pair, and of the one after the last */
    struct reaction *reactions;
    size_t reaction_count, reaction_capacity;
    struct posts *posts; /* of each effect */
    const char *error;
    uint32_t failed; /* the pair whose move has an error */
    struct event event;
    uint32_t capacity; /* of the arrays by pair */
};

/*
 * The set of pairs of this proof. If a move of one of them has an error, or there are more than
 * `most`, that stands in it.
 */
void pairs_find(struct pairs *pairs, const struct configuration *proof, uint32_t most);
void pairs_close(struct pairs *pairs);

/* The pair, unpacked, with the model of its kind in force. */
void pairs_get(const struct pairs *pairs, uint32_t pair, struct state *state);

struct effect pairs_effect(const struct pairs *pairs, uint32_t number);

/* The classes of words that others see where the agent that moves sees this one. */
int pairs_seen_by_others(struct pairs *pairs, uint32_t words, uint32_t classes[WAYS_SEEN]);

/* Writes how the pair comes about. */
void pairs_print(FILE *out, const struct pairs *pairs, uint32_t pair);

/* One line: a move, if there is one between these pairs; a reaction. */
bool pairs_print_move(FILE *out, const struct pairs *pairs, uint32_t from, uint32_t to);
void pairs_print_reaction(FILE *out, const struct pairs *pairs, uint32_t from, uint32_t to);

#endif
