/*
 * model.h: what a state of the model is, what a primitive tells the explorer about itself, and what
 * happens between two states.
 *
 * An agent is a thread or a worker. It has an id, an event loop, and callers. A blocking caller's
 * call occupies the agent until it returns, sleep included. Async callers stand in the agent's one
 * line (js/src/line.js). One of two disciplines decides which steps run when: with turns, only the
 * head's (js/src/turn.js); or with a crowd (js/src/crowd.js). What an agent does between two waits
 * is a handler. Handlers of one agent never overlap; those of different agents mix at every atomic
 * operation.
 */
#ifndef EXPLORER_MODEL_H
#define EXPLORER_MODEL_H

#include <lockword/core/step.h>

#include "runs.h"

#define MAX_AGENTS 4
#define MAX_CALLERS 4
#define MAX_CHOICES 12
#define MAX_GHOSTS 8
#define MAX_PLACES 8
#define ENDLESS 255

/* Kinds of nondeterminism, each of which a configuration has or has not. */
enum {
    SPURIOUS = 1 << 0, /* waits end for no reason, as if notified or as if the word had changed */
    TIMEOUTS = 1 << 1, /* any wait may reach its deadline */
    CANCELS = 1 << 2,  /* any wait may be cancelled, also when it has just been notified */
    SLICES = 1 << 3,   /* any wait may be interrupted for a re-check */
    BRIEFS = 1 << 4,   /* the same for brief waits only */
    DEATHS = 1 << 5,   /* one agent may die, wherever the primitive says that it may */
    STRAYS = 1 << 6,   /* the primitive's illegal calls are made, too */
    BURIALS = 1 << 7,  /* another agent buries the dead: re-checks need not replace their wakes */
    BY_CHANCE =
        1 << 8, /* the bound on lost turns is exceeded with a small chance only: chances.h */
    ANY_CALL = 1 << 10,   /* callers that lock also try */
    BRIEFS_END = 1 << 11, /* proofs: the ends of brief waits are counted on */
    RECHECK = 1 << 9, /* not switched on, only marks transitions: a slice that there is in engines
                       only, since agents die there */
    HELP = SPURIOUS | TIMEOUTS | CANCELS | SLICES | BRIEFS |
           DEATHS, /* events on which no caller can count */
};

enum doing {
    IDLE,           /* in its event loop, or between two calls */
    CALLING,        /* about to call `function` with `why` */
    RUNNING,        /* in it: `value` is the run */
    ARMING,         /* about to put the pending wait in at `word` */
    GOING_TO_SLEEP, /* about to compare `word` with `value` and fall asleep, both at once */
    ASLEEP,         /* on `word` */
    DEAD,
};

enum pending { NOT_QUEUED, QUEUED, NOTIFIED };

/* How an agent gets what it has given back to the callers in its line. */
enum handing {
    DUE = 1,        /* a microtask is to run the head's step; crowd: the steps */
    IS_TO_TURN = 2, /* the same is to happen once the event loop has turned */
    SERVED = 4,     /* crowd: this handler has served a caller */
    IS_NEW = 8,     /* crowd: this handler begins a call, which queues later */
    HAS_GIVEN = 16, /* crowd: until the event loop has turned, those that have to queue do so later,
                       and new callers may come after all others */
};

enum {
    HAS_WAITED = 1, /* has returned from a wait during its call */
    OVERTAKEN = 2,  /* another got what it waits for since it last looked; set by the primitive */
    FIRST_OWN_FLAG = 4,
};

struct caller {
    uint16_t phase;
    uint8_t rounds; /* how often its program is still to be run; ENDLESS */
    uint8_t flags;
    uint8_t lost;     /* turns lost during its call; counted where the configuration bounds them */
    uint8_t function; /* the step of its call */
    uint8_t own[2];   /* the primitive's */
    uint32_t wanted;  /* by that step. 0 after its call; between others, the primitive's */
};

struct agent {
    uint32_t value;
    uint8_t doing;
    uint8_t function;
    uint8_t why;
    uint8_t caller; /* the caller of this call */
    uint8_t word;
    uint8_t way;     /* how it waits there: LW_WAIT, LW_WAIT_IDLE or LW_WAIT_BRIEF */
    uint8_t pending; /* the wait that async callers stand behind */
    uint8_t pending_word;
    uint8_t in_line; /* async callers, in the order in which they came */
    uint8_t line[MAX_CALLERS];
    uint8_t to_run; /* crowd: those in line whose steps are still to run in this handler, one bit
                       each */
    uint8_t to_run_why;
    uint8_t in_brief; /* those in line whose wait a timer ends soon, one bit each */
    uint8_t alike;   /* crowd: those of to_run that need not run if the one that does has to wait */
    uint8_t handing; /* bits of enum handing */
    uint8_t unused[3]; /* always 0: no padding is compared */
    struct caller callers[MAX_CALLERS];
};

struct state {
    uint32_t words[MAX_WORDS];
    uint8_t ghosts[MAX_GHOSTS]; /* what the primitive wants remembered for its invariants */
    uint8_t deaths;
    uint8_t places[MAX_PLACES]; /* at the fair word: places.h */
    struct agent agents[MAX_AGENTS];
};

/*
 * The agents and callers. In `agents` there is a letter per caller, and a comma between agents:
 * 'b,b,aa'. Async callers are a, A, and p, whose engine polls. The primitive decides what the other
 * letters do. Callers with capital letters never stop. A digit after a letter is the caller's size,
 * which is 1 if there is none.
 */
struct configuration {
    const char *agents;
    uint8_t rounds;
    unsigned with;
    uint8_t
        most_lost; /* turns that a caller which is not endless may lose in one call; 0: no bound */
    enum {
        SMALL,
        MEDIUM,
        LARGE
    } size; /* mutants are explored in small ones only, large ones are explored when asked for */
    uint32_t first; /* what the primitive begins with: its own */
};

/* A call that a caller may make next. */
struct choice {
    uint8_t function;
    uint32_t a, b, c; /* of a step, a is what it wants, and b why it is called first */
};

struct primitive {
    const char *name;
    uint32_t words;
    const char *async_letters; /* those of its async callers; NULL: a, A and p */
    const char *const *word_names;
    const struct function *functions;
    uint32_t function_count;
    uint32_t fair_word; /* plus one: its waiters are woken in the order in which they came; 0: none,
                           any may be woken */
    uint8_t flags_of_a_step; /* of a caller: cleared when a step asks its caller to wait */
    bool crowd;              /* the discipline of its async callers */
    bool queues_later;       /* crowd: a new caller queues once the event loop has turned */
    const struct configuration *configurations;
    uint32_t configuration_count;

    /* Sets what is not 0 in the first state; may be NULL. */
    void (*begin)(struct state *state);
    /* One phase for several that make no difference here: their states merge. May be NULL. */
    uint16_t (*same_phase)(uint16_t phase);
    /* The highest phase of its steps: a count without end would wrap. */
    uint16_t last_phase;
    /* Returns the calls that this caller may make now. It is within none. */
    int (*choices)(const struct state *state, int agent, int caller, struct choice *choices);
    /* An operation was done. Returns what is wrong, or NULL. */
    const char *(*operated)(struct state *state, int agent, const struct operation *operation,
                            uint32_t result);
    /* A call has ended; if it was a step, `result` is what it last returned. The same. */
    const char *(*ended)(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result);
    /* A step has just asked its caller to wait, in this way. The same; may be NULL. */
    const char *(*waits)(struct state *state, int agent, uint32_t way);
    /*
     * A step that was called in the phase `before`, for this reason, has asked its caller to wait,
     * or to queue, with the phase `after`. The same; may be NULL.
     */
    const char *(*resumed)(uint16_t before, uint32_t why, uint16_t after);
    /* Must hold in every state. The same. */
    const char *(*invariant)(const struct state *state);
    /* Others may have to wait until this agent goes on. */
    bool (*is_needed)(const struct state *state, int agent);
    /*
     * This event loop was given what others wait for: they may have to wait until it goes on. May
     * be NULL.
     */
    bool (*was_chosen)(const struct state *state, int agent);
    /* This agent may die now. NULL: if it is not needed. */
    bool (*may_die)(const struct state *state, int agent);
    uint8_t most_deaths; /* how many agents may die in all; 0: one */
    /* No agent owes this waiting caller an end of its wait: it may wait for ever. May be NULL. */
    bool (*may_wait)(const struct state *state, int agent, int caller);
    /*
     * The prover's (verify/prover): what it is to prove, each as a configuration whose `agents` are
     * kinds of agents, any number of each.
     */
    const struct configuration *proofs;
    uint32_t proof_count;
    uint32_t ids[MAX_WORDS]; /* the bits of each word that hold an agent's id */
    uint8_t agents_ghosts;   /* the ghosts that hold an agent's number plus one, one bit each */
    uint8_t sets_ghosts;     /* the ghosts that hold a set of agents, one bit each */
    /*
     * Returns which of the arguments a, b and c of this function hold an agent's id, one bit each.
     * NULL: this is not known, and no agents are alike (symmetry.h) if words hold ids.
     */
    uint8_t (*ids_of_call)(uint32_t function);
    /*
     * The bits of each word that hold a generation: a number that only grows, and that callers
     * compare with the one they know, and do nothing else with. A run knows no other than its next
     * operation does, unless the primitive `forgets` or `remembers`.
     */
    uint32_t generations[MAX_WORDS];
    /*
     * The bits of each word that say of the last generations which were of some kind, the latest in
     * the lowest bit. A caller's flags say that the generation which it wants is past, and that it
     * was of that kind. In a proof an agent remembers a history only while it is to compare the
     * word with it. Otherwise it reads any that agrees with its caller's flags.
     */
    uint32_t histories[MAX_WORDS];
    uint8_t is_past, was_noted;
    /*
     * The bits of each word that hold a count, of which callers ask no more than whether it is 0 or
     * 1, and which they change by 1. In a proof 2 stands for two or more.
     */
    uint32_t counts[MAX_WORDS];
    /* In a proof, runs forget what they no longer need: runs_forget. */
    bool forgets;
    /* In a proof, runs look at other words before they compare a generation. */
    bool remembers;
    /*
     * Another agent changed the words, and the generations of these, one bit each: sets the flags
     * of this agent's callers. May be NULL.
     */
    void (*others_changed)(struct state *state, uint32_t turned);
    /* The proof is about these words only: moves that lead to others are not followed. May be NULL.
     */
    bool (*is_within)(const struct state *state);
    /*
     * Plus one: the function that buries the agent whose id is its argument, and does nothing else.
     * In a proof with burials any number of agents may die, anywhere, and each will be buried.
     */
    uint32_t burial;
    /*
     * Whoever waits now need not be woken yet: the word says that another agent has what they wait
     * for, and that agent is_needed, or no agent owes them anything.
     */
    bool (*is_owed)(const struct state *state, int agent);
    /*
     * An agent that is_needed waits. But it waits only for agents that do not wait while they have
     * what it waits for. NULL: none does.
     */
    bool (*may_sleep)(const struct state *state, int agent);
    /*
     * The words are pledged to a waiter, who will end this: prover/witnesses.h. A bit for each
     * pledge that stands. May be NULL.
     */
    uint32_t (*pledges)(const struct state *state);
    /* The pledges that this agent may keep. NULL: any that it does not end. */
    uint32_t (*may_keep)(const struct state *state, int agent);
    /*
     * The agent sleeps, or is about to, among those of whom a notify that is meant for them wakes
     * all. Then `is_marked` says whether the words have such a mark. Whoever clears it first
     * changes the word's generation, if it has one, and then notifies. May be NULL.
     */
    bool (*is_woken_with_all)(const struct state *state, int agent);
    bool (*is_marked)(const struct state *state, int agent);
    /*
     * Such an agent will sleep at the word, if others leave the word's generation as it is. NULL:
     * if it is about to compare that.
     */
    bool (*is_bound_to_sleep)(const struct state *state, int agent);
    /*
     * Plus one: the word at which a release wakes one thread, and nobody wakes another one without
     * having been woken: no herd. 0: there is no such word.
     */
    uint32_t wakes_one;
    /*
     * How much of what there is a fixed amount of this agent holds, and how much all agents. NULL:
     * the words name the holder.
     */
    uint32_t (*held)(const struct state *state, int agent);
    uint32_t (*held_by_all)(const struct state *state);
    /*
     * In a proof, the flag of a caller that holds a token, and the ghost that counts the tokens of
     * all. There are as many as agents hold. A notify may pass one to each agent that it wakes; and
     * if the ghost becomes 0, all tokens are gone. 0: there are none.
     */
    uint8_t token, tokens;
    /* The word's value, for people. */
    void (*describe_word)(char *text, size_t size, uint32_t word, uint32_t value);
};

enum event_kind {
    OPERATES,
    RETURNS_AT_ONCE,
    FALLS_ASLEEP,
    DOES_NOT_SLEEP,
    ARMS,
    STANDS_IN_LINE,
    LEAVES_LINE,
    LET_GO,
    WAKES,
    DIES,
};

/* What leads from a state to the next. */
struct event {
    enum event_kind kind;
    int agent, caller;
    unsigned help; /* bits of HELP */
    bool starts_call;
    uint32_t function;
    uint32_t why;
    struct operation operation;
    uint32_t run; /* that did the operation, plus one; 0: none did */
    uint32_t result;
    uint32_t woken; /* agents, one bit each */
    bool ended;
    uint64_t answer;
    const char *error;
};

/* The error of a transition with which a turn more is lost than the bound allows. */
extern const char model_starves[];

typedef void emit(void *context, const struct state *next, const struct event *event);

/* The model in force. */
extern const struct primitive *model_primitive;
extern const struct configuration *model_configuration;
extern int model_agents;
extern int model_callers[MAX_AGENTS];

void model_use(const struct primitive *primitive, const struct configuration *configuration);
void model_first(struct state *state);
void model_successors(const struct state *state, emit *emit, void *context);
/* The same of one agent. */
void model_moves(const struct state *state, int agent, emit *emit, void *context);
/*
 * The prover's states have one agent that moves. The others stand for any number of agents, so a
 * notify may wake more of them than there are.
 */
extern bool model_is_one_of_many;
/* Returns whether the agent sleeps or is queued at the word; and wakes it. */
bool model_waits_at(const struct state *state, int agent, uint32_t word);
void model_wake_at(struct state *state, int agent, uint32_t word);

/* The agent's name for people: B1 blocks, A2 is async, M3 is both. */
const char *model_name(int agent);

/*
 * The letter of a caller; its size; is it async; has the agent async callers, or both kinds; its
 * id.
 */
char model_letter(int agent, int caller);
uint32_t model_size(int agent, int caller);
bool model_is_async(int agent, int caller);
bool model_has_async(int agent);
bool model_is_mixed(int agent);
/*
 * Its engine has no Atomics.waitAsync: the wait of its line is a timer, which no notify ends.
 */
bool model_polls(int agent);
uint32_t model_id(int agent);
/* The agent with this id, or -1. */
int model_agent_of(uint32_t id);
bool model_is_in_line(const struct agent *agent, int caller);
/* Has made all its calls, and has ended the last; or waits, and may do so for ever. */
bool model_has_finished(const struct state *state, int agent);

/* States are kept packed: callers that are not there take no room. */
size_t model_packed_size(void);
void model_pack(const struct state *state, unsigned char *packed);
void model_unpack(const unsigned char *packed, struct state *state);

#endif
