/*
 * rwlock.c: the explorer's model of the read-write lock. The rules are those of
 * include/lockword/core/rwlock.h.
 *
 * The letters: r reads, w writes, u reads upgradably and may upgrade and downgrade, in every
 * choice; x, y and z are the same without blocking. d does what u does, but upgrades. b does any of
 * r, w and u, a does so without blocking, p the same in an engine that has to poll, t only tries.
 * l writes, if a look at the lock gives it to it, as a caller does that is awake yet.
 * s reads, writes and tries to read upgradably by the C interface, whose inlined halves go before
 * the steps.
 */
#include <lockword/rwlock.h>

#include "holder.h"
#include "mutex.h"

enum {
    STATE,
    OWNER,
    READ,
    UPREAD,
    WRITE,
    UPGRADE,
    TRY_READ,
    TRY_UPREAD,
    TRY_WRITE,
    TRY_UPGRADE,
    BECOME,
    UNREAD,
    RDLOCK,
    WRLOCK,
    UNLOCK
};

/* A caller's own flags. The first two: what it has. */
enum {
    HAS_READ = FIRST_OWN_FLAG,
    HAS_OWN = FIRST_OWN_FLAG * 2,    /* it writes, or reads upgradably: the ghost knows which */
    CHANGED = FIRST_OWN_FLAG * 4,    /* during its call: it has taken, or given up, or become */
    SAW_OTHERS = FIRST_OWN_FLAG * 8, /* during this step: an agent that excludes it or goes first */
    LOOKED = FIRST_OWN_FLAG * 16,    /* during this step: its wait is counted */
    SAW_FULL = FIRST_OWN_FLAG * 32,  /* during this step: as many readers as there may be */
};

/* A caller's own bytes, during its call. */
enum {
    WOKEN = 0,          /* how often it waited in vain, up to OFTEN; and SEES_WRITER */
    SEES_WRITER = 128,  /* the step last saw that an agent writes */
    ENDED_MIXED = 64,   /* it has found MIXED, and wakes all who sleep on the state */
    IS_DUE = 32,        /* proofs: the mark by which it sleeps was cleared */
    CLEARED_LOOPS = 32, /* it has cleared the loops' mark, and does not sleep any more */
    OWES_WRITER = 16,   /* it has taken the mark of writers that sleep, or their notify */
    MARKS = 1,          /* bits of the following */
    HAS_CLAIMED = 1,    /* it had to wait, and to claim something */
    IS_ENTITLED =
        2, /* the lock was free when its wait was interrupted: whoever's turn it is does not come */
    SAW_NOBODY = 4,    /* in what it would wait for: in its way, or whose turn it is */
    LACKS_CLAIM = 8,   /* there it has not claimed what it has to */
    HAS_ENDED = 16,    /* it has taken its claims back */
    SAW_WRITER = 32,   /* an agent wrote when it began to wait */
    HAS_WOKEN = 64,    /* its notify has ended waits */
    HAS_CLEARED = 128, /* it has cleared the mark of those on the generation, which is to move */
};

#define HAS (HAS_READ | HAS_OWN)
#define CLAIMS (LW_RWLOCK_READERS_TURN | LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_RESERVED)
#define HOLDERS (LW_RWLOCK_READERS | LW_RWLOCK_UPGRADABLE | LW_RWLOCK_WRITER)
#define MARKED (LW_WAITERS | LW_RWLOCK_MIXED)

/* A ghost: whether the owner writes. Who reads, the flags say. */
#define WRITES 1

CALL(state_of, lw_rwlock_state(words))
CALL(owner, lw_rwlock_owner(words))
CALL(try_it, lw_rwlock_try_step(words, a, b, c))
CALL(become, lw_rwlock_become_step(words, a, b, c))
CALL(unread, lw_rwlock_unread_step(words))

/* The half of the C face that waits is explored as a step: here it ends the call. */
enum lw_ending lw_rwlock_slow(lw_rwlock *rwlock, lw_step *step, lw_deadline deadline,
                              lw_cancel *cancel)
{
    (void)rwlock, (void)step, (void)deadline, (void)cancel;
    return LW_ENDED_TIMED_OUT;
}

enum lw_ending lw_rwlock_read_slow(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    return lw_rwlock_slow(rwlock, lw_rwlock_read_step, deadline, cancel);
}

static lw_rwlock *seen_by(uint32_t self, lw_word *words)
{
    runs_self = self;
    return (lw_rwlock *)words;
}

CALL(rdlock, lw_rwlock_rdlock(seen_by(a, words)) == 0)
CALL(wrlock, lw_rwlock_wrlock(seen_by(a, words)) == 0)
CALL(unlock, lw_rwlock_unlock(seen_by(a, words)) == 0)

static const struct function functions[] = {
    [STATE] = FUNCTION("rwlock_state", "state", 0, state_of),
    [OWNER] = FUNCTION("rwlock_owner", "owner", 0, owner),
    [READ] = STEP("rwlock_read_step", "read", lw_rwlock_read_step),
    [UPREAD] = STEP("rwlock_upread_step", "upread", lw_rwlock_upread_step),
    [WRITE] = STEP("rwlock_write_step", "write", lw_rwlock_write_step),
    [UPGRADE] = STEP("rwlock_upgrade_step", "upgrade", lw_rwlock_upgrade_step),
    [TRY_READ] = PREDICATE("rwlock_try_step", "try_read", 3, try_it),
    [TRY_UPREAD] = PREDICATE("rwlock_try_step", "try_upread", 3, try_it),
    [TRY_WRITE] = PREDICATE("rwlock_try_step", "try_write", 3, try_it),
    [TRY_UPGRADE] = PREDICATE("rwlock_try_step", "try_upgrade", 3, try_it),
    [BECOME] = GIVES_BACK("rwlock_become_step", "become", 3, become),
    [UNREAD] = GIVES_BACK("rwlock_unread_step", "unread", 0, unread),
    [RDLOCK] = FACE("rwlock_rdlock", "rdlock", rdlock),
    [WRLOCK] = FACE("rwlock_wrlock", "wrlock", wrlock),
    [UNLOCK] = FACE("rwlock_unlock", "unlock", unlock),
};

/* As CMakeLists.txt builds src/core/rwlock.c. */
#ifndef GENERATIONS
#define GENERATIONS 0xffffffffu
#endif

/* As often as a waiter waits in vain before it starves. */
#define OFTEN (MAX_FAILED_WAITS + 1)

/* How many callers of this agent read. */
static uint32_t reads_of(const struct state *state, int agent)
{
    uint32_t reads = 0;
    for (int caller = 0; caller < model_callers[agent]; caller++)
        reads += (state->agents[agent].callers[caller].flags & HAS_READ) != 0;
    return reads;
}

/* How many callers read; in a proof, of the one agent that it knows. */
static uint32_t reads(const struct state *state)
{
    uint32_t reads = 0;
    for (int agent = 0; agent < model_agents; agent++)
        reads += reads_of(state, agent);
    return reads;
}

static bool is_lock(uint32_t function)
{
    return function >= READ && function <= UPGRADE;
}

static uint8_t ids_of_call(uint32_t function)
{
    return is_lock(function) || function >= RDLOCK  ? 1
           : function == STATE || function == OWNER ? 0
                                                    : 4;
}

/* The calls that a caller of this agent may make. */
struct list {
    struct choice *choices;
    int count;
    int agent;
};

/* Those who look at it know what they get: the others say who asks. */
static void add(struct list *list, uint8_t function)
{
    const bool asks_who = is_lock(function) || function >= RDLOCK;
    list->choices[list->count++] =
        (struct choice){.function = function, .a = asks_who ? model_id(list->agent) : 0};
}

static void add_change(struct list *list, uint8_t function, uint32_t before, uint32_t after)
{
    list->choices[list->count++] =
        (struct choice){.function = function, .a = before, .b = after, .c = model_id(list->agent)};
}

/* A configuration may begin with readers that never leave, and with room for `first` more. */
static uint32_t for_ever(void)
{
    return model_configuration->first ? LW_RWLOCK_READERS - model_configuration->first : 0;
}

/* What to do with what it has. */
static void ways_on(const struct state *state, int caller, struct list *list)
{
    const int agent = list->agent;
    const bool ends_at_once = is_one_of(agent, caller, "rwlxyRWXY");
    if (is_one_of(agent, caller, "s"))
        add(list, UNLOCK);
    else if (state->agents[agent].callers[caller].flags & HAS_READ)
        add(list, UNREAD);
    else if (state->ghosts[WRITES]) {
        add_change(list, BECOME, LW_RWLOCK_WRITER, 0);
        if (!ends_at_once) {
            add_change(list, BECOME, LW_RWLOCK_WRITER, LW_RWLOCK_READER);
            add_change(list, BECOME, LW_RWLOCK_WRITER, LW_RWLOCK_UPGRADABLE);
        }
    } else {
        add_change(list, BECOME, LW_RWLOCK_UPGRADABLE, 0);
        add_change(list, BECOME, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_READER);
        if (is_one_of(agent, caller, "t"))
            add_change(list, TRY_UPGRADE, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER);
        else if (for_ever() == 0 && !is_one_of(agent, caller, "d"))
            add(list, UPGRADE);
    }
}

static void ways_in(int caller, struct list *list)
{
    const int agent = list->agent;
    if (is_one_of(agent, caller, "rxRXbap"))
        add(list, READ);
    if (is_one_of(agent, caller, "wyWYbap"))
        add(list, WRITE);
    if (is_one_of(agent, caller, "uzdUZbap"))
        add(list, UPREAD);
    if (is_one_of(agent, caller, "l")) {
        add(list, WRITE);
        list->choices[list->count - 1].b = LW_TIMED_OUT;
    }
    if (is_one_of(agent, caller, "t")) {
        add_change(list, TRY_READ, 0, LW_RWLOCK_READER);
        add_change(list, TRY_WRITE, 0, LW_RWLOCK_WRITER);
        add_change(list, TRY_UPREAD, 0, LW_RWLOCK_UPGRADABLE);
    }
    if (is_one_of(agent, caller, "s")) {
        add(list, RDLOCK);
        add(list, WRLOCK);
        add_change(list, TRY_READ, 0, LW_RWLOCK_READER);
        add_change(list, TRY_UPREAD, 0, LW_RWLOCK_UPGRADABLE);
    }
}

/*
 * No other caller, not even one of the same agent, ever reads: an unlock of another caller's read
 * looks like an unlock of one's own.
 */
static bool others_write(int agent)
{
    for (int other = 0; other < model_agents; other++) {
        if (other != agent && !is_one_of(other, 0, "w"))
            return false;
    }
    return model_callers[agent] == 1;
}

static bool reads_upgradably(const struct state *state, int agent)
{
    return owns(state, agent) && !state->ghosts[WRITES];
}

/*
 * At any moment this caller may also give up, or change, what another caller of its agent owns: the
 * lock knows only agents.
 */
static void ways_on_for_another(const struct state *state, struct list *list)
{
    if (state->ghosts[WRITES]) {
        add_change(list, BECOME, LW_RWLOCK_WRITER, 0);
        return;
    }
    add_change(list, BECOME, LW_RWLOCK_UPGRADABLE, 0);
    add_change(list, BECOME, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_READER);
    add_change(list, TRY_UPGRADE, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER);
}

/* What is illegal, and must be told so and change nothing; or is another caller's to do. */
static void strays(const struct state *state, int caller, struct list *list)
{
    const int agent = list->agent;
    const bool has = state->agents[agent].callers[caller].flags & HAS;
    if (!has)
        add(list, UPGRADE);
    if (!has && owns(state, agent))
        ways_on_for_another(state, list);
    add(list, STATE);
    add(list, OWNER);
    if (!has && reads(state) == 0)
        add(list, UNREAD);
    if (!has && others_write(agent))
        add(list, UNLOCK);
    if (!owns(state, agent)) {
        add_change(list, BECOME, LW_RWLOCK_WRITER, 0);
        add_change(list, TRY_UPGRADE, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER);
    } else if (!model_is_async(agent, caller)) {
        add(list, WRITE);
        add_change(list, BECOME, state->ghosts[WRITES] ? LW_RWLOCK_UPGRADABLE : LW_RWLOCK_WRITER,
                   0);
        if (state->ghosts[WRITES])
            add_change(list, TRY_UPGRADE, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER);
    }
}

static int choices(const struct state *state, int agent, int caller, struct choice *choices)
{
    const struct caller *c = &state->agents[agent].callers[caller];
    if (!(c->flags & HAS) && c->rounds == 0)
        return 0;
    struct list list = {choices, 0, agent};
    if (c->flags & HAS)
        ways_on(state, caller, &list);
    else
        ways_in(caller, &list);
    if (model_configuration->with & STRAYS)
        strays(state, caller, &list);
    return list.count;
}

/* What the function's caller wants to have; 0: its arguments say so. */
static uint32_t wanted_by(uint32_t function)
{
    switch (function) {
    case READ:
    case TRY_READ:
    case RDLOCK:
        return LW_RWLOCK_READER;
    case UPREAD:
    case TRY_UPREAD:
        return LW_RWLOCK_UPGRADABLE;
    case WRITE:
    case UPGRADE:
    case TRY_WRITE:
    case TRY_UPGRADE:
    case WRLOCK:
        return LW_RWLOCK_WRITER;
    default:
        return 0;
    }
}

static bool is_try(uint32_t function)
{
    return function >= TRY_READ && function <= TRY_UPGRADE;
}

static bool upgrades(uint32_t function)
{
    return function == UPGRADE || function == TRY_UPGRADE;
}

/* The holders that exclude this one, itself apart. */
static uint32_t excluded_by(uint32_t wanted, bool is_upgrade)
{
    if (wanted == LW_RWLOCK_READER)
        return LW_RWLOCK_WRITER;
    if (wanted == LW_RWLOCK_UPGRADABLE)
        return LW_RWLOCK_WRITER | LW_RWLOCK_UPGRADABLE;
    return is_upgrade ? LW_RWLOCK_READERS | LW_RWLOCK_WRITER : HOLDERS;
}

/*
 * Other callers within a call have lost a turn, if they come to know of it: those that the taker
 * excludes now, though it did not by what it had before.
 */
static void overtake_as(struct state *state, int taker, uint32_t had, uint32_t has)
{
    for (int agent = 0; model_configuration->most_lost && agent < model_agents; agent++) {
        for (int caller = 0; caller < model_callers[agent]; caller++) {
            struct caller *c = &state->agents[agent].callers[caller];
            if (agent == taker || !is_lock(c->function) || c->rounds == ENDLESS)
                continue;
            const uint32_t excluded = excluded_by(wanted_by(c->function), upgrades(c->function));
            if (has & excluded && !(had & excluded))
                c->flags |= OVERTAKEN;
        }
    }
}

static void give_up(struct state *state, int agent, struct caller *caller)
{
    if (caller->flags & HAS_OWN && owns(state, agent))
        state->ghosts[OWNER_AGENT] = state->ghosts[WRITES] = 0;
    caller->flags &= (uint8_t)~HAS;
}

static void have(struct state *state, int agent, struct caller *caller, uint32_t what)
{
    if (what == LW_RWLOCK_READER) {
        caller->flags |= HAS_READ;
    } else if (what) {
        state->ghosts[OWNER_AGENT] = (uint8_t)(agent + 1);
        state->ghosts[WRITES] = what == LW_RWLOCK_WRITER;
        caller->flags |= HAS_OWN;
    }
}

/* What its function may claim: a turn; and, unless it has it already, to be the next owner. */
static uint32_t claims_of(uint32_t function)
{
    const uint32_t turn =
        function == WRITE || function == UPGRADE ? LW_RWLOCK_WRITERS_TURN : LW_RWLOCK_READERS_TURN;
    return turn | (function == WRITE || function == UPREAD ? LW_RWLOCK_RESERVED : 0);
}

static bool was_woken_often(const struct caller *caller)
{
    return (caller->own[WOKEN] & (OWES_WRITER - 1)) >= OFTEN;
}

/* What it has to claim if it waits in this state, and no more than that. */
static uint32_t claims_in(const struct caller *caller, uint32_t state)
{
    const uint32_t function = caller->function;
    const uint32_t turns = function == WRITE || function == UPGRADE ? LW_RWLOCK_WRITERS_TURN
                           : state & LW_RWLOCK_WRITER               ? LW_RWLOCK_READERS_TURN
                                                                    : 0;
    if (!(state & HOLDERS))
        return 0;
    return (turns | (was_woken_often(caller) ? LW_RWLOCK_RESERVED : 0)) & claims_of(function);
}

/* The claims of others for which it stands back, though nobody is in its way. */
static uint32_t respected_by(const struct caller *caller, uint32_t state)
{
    const uint32_t function = caller->function;
    if (function == UPGRADE)
        return 0;
    uint32_t claims = 0;
    if (function == WRITE)
        claims = LW_RWLOCK_READERS_TURN;
    else if (!(state & LW_RWLOCK_READERS_TURN) && !(caller->own[MARKS] & SAW_WRITER) &&
             !was_woken_often(caller))
        claims = LW_RWLOCK_WRITERS_TURN;
    if (function != READ && !(caller->phase & LW_ENTITLED))
        claims |= LW_RWLOCK_RESERVED;
    return state & claims;
}

/* Goes first although it is not its turn. */
static const char *jumps(const struct caller *caller, uint32_t before)
{
    if (caller->own[MARKS] & IS_ENTITLED)
        return NULL;
    const uint32_t claims = respected_by(caller, before);
    if (claims & LW_RWLOCK_RESERVED)
        return "owns what is kept for waiters, and has not waited";
    if (claims & LW_RWLOCK_READERS_TURN)
        return "writes although it is the readers' turn";
    if (claims & LW_RWLOCK_WRITERS_TURN)
        return "reads although it is a writer's turn, and has not waited";
    return NULL;
}

/*
 * Whether one that has not waited reads while writers sleep, none of which claims the next turn. If
 * it woke none of them, readers could come without end, and writers would lose no turn that counts.
 */
static bool passes_sleeping_writers(const struct caller *caller, uint32_t before)
{
    return (caller->function == READ || caller->function == UPREAD) &&
           !(caller->phase & LW_ENTITLED) && before & LW_BLOCKED_WAITERS &&
           !(before & (LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_MIXED));
}

/* Takes the lock, and ends claims with that. */
static const char *takes(const struct caller *caller, uint32_t why, uint32_t before, uint32_t after)
{
    if (caller->function != UPGRADE && why == LW_SLICE && !(before & HOLDERS))
        return after & CLAIMS ? "leaves a claim for which nobody came" : NULL;
    if (before & ~after & CLAIMS & ~claims_of(caller->function) &&
        !(caller->own[MARKS] & IS_ENTITLED))
        return "ends what others claim";
    const bool is_to_end = was_woken_often(caller) || why == LW_NOT_EQUAL;
    if (before & ~after & LW_RWLOCK_RESERVED && !is_to_end)
        return "ends a reservation, and does not starve";
    if (after & claims_of(caller->function) & LW_RWLOCK_RESERVED && is_to_end)
        return "leaves a reservation that it should end";
    if (passes_sleeping_writers(caller, before) && after & LW_BLOCKED_WAITERS)
        return "starves writers: reads while they sleep without a claim, and wakes none";
    return jumps(caller, before);
}

/* From now on this caller has what another one of its agent owned. */
static void take_over(struct state *state, int agent, struct caller *caller)
{
    for (int other = 0; other < model_callers[agent]; other++)
        state->agents[agent].callers[other].flags &= (uint8_t)~HAS_OWN;
    have(state, agent, caller, state->ghosts[WRITES] ? LW_RWLOCK_WRITER : LW_RWLOCK_UPGRADABLE);
}

/* What this caller gives up with its agent's lock, which may be another caller's. */
static uint32_t had_by(const struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    const uint8_t flags = a->callers[a->caller].flags;
    if (flags & HAS_READ)
        return LW_RWLOCK_READER;
    if (!owns(state, agent) || (!(flags & HAS_OWN) && a->function != BECOME))
        return 0;
    return state->ghosts[WRITES] ? LW_RWLOCK_WRITER : LW_RWLOCK_UPGRADABLE;
}

/*
 * No herd: these marks stand for waiters of which none could go on, since a caller that had `had`
 * leaves these holders.
 */
static const char *wakes_in_vain(uint32_t marks, uint32_t had, uint32_t left)
{
    const bool is_taken =
        left & LW_RWLOCK_WRITER || (had == LW_RWLOCK_READER && left & LW_RWLOCK_READERS);
    const bool is_writers = marks & LW_BLOCKED_WAITERS && !(marks & LW_RWLOCK_MIXED);
    return (marks && is_taken) || (is_writers && left & HOLDERS)
               ? "a herd: takes the mark of waiters that cannot go on"
               : NULL;
}

/* The state's holders went from some to others. */
static const char *changed_holders(struct state *state, int agent, uint32_t before, uint32_t after)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = &state->agents[agent].callers[a->caller];
    const uint32_t function = a->function;
    if (c->flags & CHANGED)
        return "changes twice what it has";
    if (function == STATE || function == OWNER)
        return "changes what it only looks at";
    if (model_configuration->with & STRAYS && owns(state, agent) &&
        before & ~after & (LW_RWLOCK_UPGRADABLE | LW_RWLOCK_WRITER))
        take_over(state, agent, c);
    if ((function == BECOME || function == UPGRADE) && !(c->flags & HAS_OWN))
        return "changes what it does not have";
    if (function == UNREAD ? !(c->flags & HAS_READ) : function == UNLOCK && !(c->flags & HAS))
        return "gives up what it does not have";
    c->flags |= CHANGED;

    /* What is more, or less, than before; only one kind of each. */
    const uint32_t had = had_by(state, agent);
    const uint32_t left = (before & HOLDERS) - had;
    const uint32_t has = (after & HOLDERS) - left;
    if (has != 0 && has != LW_RWLOCK_READER && has != LW_RWLOCK_UPGRADABLE &&
        has != LW_RWLOCK_WRITER)
        return "changes what others have";
    if (has & excluded_by(has, false) & left || (left && has == LW_RWLOCK_WRITER) ||
        (left & LW_RWLOCK_WRITER && has))
        return "takes the lock beside one that it cannot be beside";
    if (function != BECOME && has != wanted_by(function))
        return "takes what it does not want";
    const char *error =
        is_lock(function) ? takes(c, a->why, before, after)
        : before & ~after & CLAIMS & ~(had == LW_RWLOCK_WRITER ? LW_RWLOCK_WRITERS_TURN : 0)
            ? "ends a claim, and does not wait"
            : wakes_in_vain(before & ~after & MARKED, had, after);
    if (is_lock(function) && before & ~after & LW_BLOCKED_WAITERS)
        c->own[WOKEN] |= OWES_WRITER;
    give_up(state, agent, c);
    have(state, agent, c, has);
    overtake_as(state, agent, had, has);
    return error;
}

static bool is_full(uint32_t state)
{
    return (state & LW_RWLOCK_READERS) + (state & LW_RWLOCK_UPGRADABLE ? 1 : 0) ==
           LW_RWLOCK_READERS;
}

static void begin(struct state *state)
{
    state->words[LW_RWLOCK_STATE] = for_ever();
}

/* Whether what it sees is a reason not to take the lock. */
static bool is_in_the_way(const struct caller *caller, uint32_t function, uint32_t why,
                          uint32_t state)
{
    if (function == RDLOCK || function == WRLOCK)
        return true;
    if (state & excluded_by(wanted_by(function), upgrades(function)))
        return true;
    if (is_try(function))
        return wanted_by(function) != LW_RWLOCK_WRITER && is_full(state);
    if (why == LW_SLICE && !(state & HOLDERS))
        return false;
    return respected_by(caller, state);
}

static void mark(struct caller *caller, uint8_t bits, bool is_so)
{
    caller->own[MARKS] = (uint8_t)(is_so ? caller->own[MARKS] | bits : caller->own[MARKS] & ~bits);
}

/* A step of this caller looks at the state, as the first thing that it does. */
static void look(struct caller *caller, bool is_async, uint32_t function, uint32_t why,
                 uint32_t state)
{
    if (!(caller->flags & LOOKED) && caller->own[WOKEN] & SEES_WRITER)
        mark(caller, SAW_WRITER, true);
    caller->own[WOKEN] &= (uint8_t) ~(SEES_WRITER | IS_DUE);
    /* A notify for others of its agent comes to one that stands in line, and has not waited. */
    const bool counts =
        caller->phase != 0 && (why == LW_OK || why == LW_NOT_EQUAL || why == LW_SLICE);
    if (counts && !(caller->flags & LOOKED) && !was_woken_often(caller))
        caller->own[WOKEN] =
            (uint8_t)(why == LW_SLICE && function == WRITE ? OFTEN : caller->own[WOKEN] + 1u);
    /* An event loop reserves as soon as it waits to write. */
    if (is_async && function == WRITE && !was_woken_often(caller))
        caller->own[WOKEN] = OFTEN;
    if (state & LW_RWLOCK_WRITER)
        caller->own[WOKEN] |= SEES_WRITER;
    mark(caller, IS_ENTITLED, why == LW_SLICE && !(state & HOLDERS));
    if (!may_give_up(why) && claims_in(caller, state))
        mark(caller, HAS_CLAIMED, true);
    mark(caller, SAW_NOBODY, !is_in_the_way(caller, function, why, state));
    mark(caller, LACKS_CLAIM, claims_in(caller, state) & ~state);
}

/* It changes the state, but not who has the lock. */
static const char *changed_claims(const struct state *state, int agent, struct caller *c,
                                  uint32_t before, uint32_t after)
{
    const struct agent *a = &state->agents[agent];
    if (before & ~after & LW_RWLOCK_BLOCKED_READERS && after & LW_RWLOCK_LEAVING &&
        !((before ^ after) & ~(LW_RWLOCK_BLOCKED_READERS | LW_RWLOCK_LEAVING))) {
        mark(c, HAS_CLEARED, true);
        const uint32_t had = had_by(state, agent);
        return wakes_in_vain(LW_RWLOCK_BLOCKED_READERS, had, before - had);
    }
    if (!is_lock(a->function))
        return "changes the turns, and does not wait";
    const bool is_refused =
        c->flags & SAW_FULL || (a->function == UPGRADE && !reads_upgradably(state, agent));
    const uint32_t ended = before & ~after & CLAIMS;
    if (ended && !may_give_up(a->why) && !is_refused)
        return "ends a claim, and does not give up";
    if (ended && !(c->own[MARKS] & HAS_CLAIMED))
        return "ends a claim, and never had one";
    if (ended && c->own[MARKS] & HAS_ENDED)
        return "ends its claims twice";
    if (ended & ~claims_of(a->function) || (ended & LW_RWLOCK_RESERVED && !was_woken_often(c)))
        return "ends a claim that it cannot have made";
    mark(c, HAS_ENDED, ended);
    if (after & ~before & CLAIMS & ~claims_in(c, before))
        return "claims what it may not";
    if (after & ~before & LW_RWLOCK_MIXED &&
        (a->function == WRITE || !(before & LW_RWLOCK_LEAVING)))
        return "says that not only writers sleep on the state, and none but writers do";
    mark(c, IS_ENTITLED, false);
    mark(c, LACKS_CLAIM, claims_in(c, before) & ~after);
    return wakes_in_vain(before & ~after & MARKED, 0, after);
}

/*
 * No herd: a call wakes one writer at most, or all others, unless these have not slept where they
 * should.
 */
static const char *notified(struct caller *c, const struct operation *operation, uint32_t result)
{
    if (operation->word == LW_RWLOCK_STATE && operation->a != 0)
        c->own[WOKEN] &= (uint8_t)~OWES_WRITER;
    if (operation->word == LW_RWLOCK_GATE)
        return c->own[WOKEN] & CLEARED_LOOPS ? NULL : "a herd: wakes event loops whose mark stays";
    if (result == 0)
        return NULL;
    if (operation->word == LW_RWLOCK_STATE && operation->a == LW_ALL)
        return c->own[WOKEN] & ENDED_MIXED ? NULL : "wakes all writers";
    if (c->own[MARKS] & HAS_WOKEN)
        return "wakes both readers and a writer";
    mark(c, HAS_WOKEN, true);
    return NULL;
}

static const char *operated(struct state *state, int agent, const struct operation *operation,
                            uint32_t result)
{
    const struct agent *a = &state->agents[agent];
    struct caller *c = &state->agents[agent].callers[a->caller];
    if (operation->kind == NOTIFY)
        return notified(c, operation, result);
    if (operation->kind == STORE) {
        if (operation->word != LW_RWLOCK_OWNER)
            return "stores what it has to change";
        return owns(state, agent) ? NULL : "sets the owner, and is not";
    }
    if (c->flags & CHANGED && !(c->flags & HAS))
        return "touches the lock after it has given it up";
    if (operation->word == LW_RWLOCK_GENERATION && operation->kind == CAS) {
        if (!(c->own[MARKS] & HAS_CLEARED))
            return "moves the generation of threads that it does not wake";
        if (operation->b & ~GENERATIONS)
            return "gives the generation a value that it never has";
        mark(c, HAS_CLEARED, false);
        return NULL;
    }
    if (operation->word != LW_RWLOCK_STATE)
        return operation->kind == CAS ? "changes a word that it may not change" : NULL;
    if (operation->kind == CAS && result == operation->a) {
        if (c->own[MARKS] & HAS_CLEARED)
            return "changes the state before the generation";
        if (operation->a & ~operation->b & LW_RWLOCK_MIXED)
            c->own[WOKEN] |= ENDED_MIXED;
        if (operation->a & ~operation->b & LW_ASYNC_WAITERS)
            c->own[WOKEN] |= CLEARED_LOOPS;
        c->own[WOKEN] &= (uint8_t)~OWES_WRITER;
        if ((operation->a ^ operation->b) & HOLDERS)
            return changed_holders(state, agent, operation->a, operation->b);
        return changed_claims(state, agent, c, operation->a, operation->b);
    }
    if (is_lock(a->function)) {
        look(c, model_is_async(agent, a->caller), a->function, a->why, result);
        c->flags |= LOOKED;
        if (a->function == WRITE && a->why == LW_CANCELLED && c->phase & LW_ENTITLED &&
            !model_is_async(agent, a->caller))
            c->own[WOKEN] |= OWES_WRITER;
    }
    if (wanted_by(a->function) && is_in_the_way(c, a->function, a->why, result))
        c->flags |= SAW_OTHERS;
    if (is_full(result))
        c->flags |= SAW_FULL;
    return NULL;
}

static const char *waits(struct state *state, int agent, uint32_t way)
{
    const struct agent *a = &state->agents[agent];
    const struct caller *c = &a->callers[a->caller];
    const uint8_t marks = c->own[MARKS];
    if (a->function == WRITE && way == LW_WAIT_IDLE && !was_woken_often(c))
        return "waits to write, and does not re-check for fairness";
    if (marks & HAS_WOKEN)
        return "wakes another one, and waits";
    if (marks & SAW_NOBODY)
        return "waits although nobody is in its way";
    return marks & LACKS_CLAIM ? "waits, and does not claim its turn" : NULL;
}

static const char *lock_ended(struct state *state, int agent, int caller, uint32_t function,
                              uint32_t what)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const bool async = model_is_async(agent, caller);
    const uint32_t why = state->agents[agent].why;
    const bool changed = c->flags & CHANGED;
    if (what == LW_DONE && c->own[WOKEN] & OWES_WRITER)
        return "takes the mark of writers that sleep, and wakes none";
    if (what == LW_DONE)
        return changed ? NULL : "says that it has the lock, and does not";
    if (changed)
        return "does not know that it has the lock";
    switch (what) {
    case LW_GAVE_UP:
        if (c->own[WOKEN] & OWES_WRITER)
            return "may have consumed a notify, and gives up without another one";
        if (why == LW_TIMED_OUT && !(c->flags & SAW_OTHERS))
            return "gives up although nobody was in its way";
        if (!may_give_up(why) && !async)
            return "gives up for no reason";
        if (function == UPGRADE && !reads_upgradably(state, agent))
            return "gives up and does not say that it has nothing to upgrade";
        break;
    case LW_NOT_OWNER:
        if (function != UPGRADE || reads_upgradably(state, agent))
            return "is told that it does not have what it has";
        break;
    case LW_DEADLOCK:
        if (!owns(state, agent) || async || function == UPGRADE)
            return "sees a deadlock where none is";
        break;
    default:
        if ((function != READ && function != UPREAD) || !(c->flags & SAW_FULL))
            return "sees too many readers where they are not";
    }
    if (!(c->flags & HAS))
        use_up_round(c);
    return NULL;
}

static const char *call_ended(struct state *state, int agent, struct caller *c, uint32_t function,
                              uint64_t result)
{
    const bool changed = c->flags & CHANGED;
    switch (function) {
    case STATE:
        return result != state->words[LW_RWLOCK_STATE] ? "does not know the state" : NULL;
    case OWNER:
        return owns(state, agent) && result != model_id(agent) ? "does not know the owner" : NULL;
    case TRY_READ:
    case TRY_UPREAD:
    case TRY_WRITE:
    case TRY_UPGRADE:
    case RDLOCK:
    case WRLOCK:
        if (changed != (bool)result)
            return "does not know whether it took the lock";
        if (!changed && !(c->flags & SAW_OTHERS) &&
            (function != TRY_UPGRADE || (c->flags & HAS_OWN && !state->ghosts[WRITES])))
            return "does not take the lock although nobody was in its way";
        if (!changed && !(c->flags & HAS))
            use_up_round(c);
        return NULL;
    default:
        if (changed != (bool)result)
            return "does not know whether it gave the lock up";
        if (changed && !(c->flags & HAS))
            use_up_round(c);
        return NULL;
    }
}

static const char *ended(struct state *state, int agent, int caller, uint32_t function,
                         uint64_t result)
{
    struct caller *c = &state->agents[agent].callers[caller];
    const char *error = is_lock(function)
                            ? lock_ended(state, agent, caller, function, lw_answer_what(result))
                            : call_ended(state, agent, c, function, result);
    if (!error && !result && (function == UNREAD || function == UNLOCK || function == BECOME) &&
        c->flags & HAS && !(model_configuration->with & STRAYS))
        error = "does not give up what it has";
    if (!error && owns(state, agent) && c->flags & HAS_OWN &&
        state->words[LW_RWLOCK_OWNER] != model_id(agent))
        error = "has not written down who owns the lock";
    c->flags &= (uint8_t)(HAS | HAS_WAITED | OVERTAKEN);
    c->own[WOKEN] = c->own[MARKS] = 0;
    return error;
}

/* Returns whether a living agent is in a call that may set this claim. */
static bool is_claimed(const struct state *state, uint32_t claim)
{
    for (int agent = 0; agent < model_agents; agent++) {
        for (int caller = 0; caller < model_callers[agent]; caller++) {
            const uint32_t function = state->agents[agent].callers[caller].function;
            if (is_lock(function) && claims_of(function) & claim)
                return true;
        }
    }
    return false;
}

/* Whether the agent sleeps, and could have the lock if it were woken. */
static bool sleeps_beside_the_lock(const struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    const uint32_t word = state->words[LW_RWLOCK_STATE];
    const struct caller *c = &a->callers[a->caller];
    return a->doing == ASLEEP && a->way != LW_WAIT_BRIEF &&
           !(word & excluded_by(wanted_by(c->function), upgrades(c->function))) &&
           !respected_by(c, word) && (c->function == READ || !(word & LW_RWLOCK_RESERVED));
}

/*
 * While no agent is within a step or about to make one, no thread sleeps beside a lock that it
 * could have: those that have it may keep it for long. A dead agent may have taken a notify with
 * it.
 */
static bool is_at_rest(const struct state *state)
{
    for (int agent = 0; agent < model_agents; agent++) {
        const uint8_t doing = state->agents[agent].doing;
        if (doing != IDLE && doing != ASLEEP)
            return false;
    }
    return true;
}

static const char *invariant(const struct state *state)
{
    const uint32_t word = state->words[LW_RWLOCK_STATE];
    const bool writes = state->ghosts[WRITES];
    const int agent = state->ghosts[OWNER_AGENT] - 1;
    const uint32_t owner = state->words[LW_RWLOCK_OWNER];
    if (model_is_one_of_many ? (word & LW_RWLOCK_READERS) < reads(state)
                             : (word & LW_RWLOCK_READERS) != for_ever() + reads(state))
        return "the word does not count the readers";
    if ((word & LW_RWLOCK_WRITER) != (agent >= 0 && writes ? LW_RWLOCK_WRITER : 0) ||
        (word & LW_RWLOCK_UPGRADABLE) != (agent >= 0 && !writes ? LW_RWLOCK_UPGRADABLE : 0))
        return "the word does not say who has the lock";
    if (word & LW_RWLOCK_WRITER && word & LW_RWLOCK_READERS)
        return "reads beside a writer";
    if (owner != 0 && (agent < 0 || owner != model_id(agent)))
        return "the owner's word names another";
    if (state->deaths || model_is_one_of_many)
        return NULL;
    for (int other = 0; other < model_agents && is_at_rest(state); other++) {
        if (sleeps_beside_the_lock(state, other))
            return "sleeps beside a lock that it could have";
    }
    if (word & LW_RWLOCK_WRITERS_TURN && !is_claimed(state, LW_RWLOCK_WRITERS_TURN))
        return "it is a writer's turn, and there is none";
    if (word & LW_RWLOCK_READERS_TURN && !is_claimed(state, LW_RWLOCK_READERS_TURN))
        return "it is the readers' turn, and there are none";
    if (word & LW_RWLOCK_RESERVED && !is_claimed(state, LW_RWLOCK_RESERVED))
        return "it is reserved, and for nobody";
    return NULL;
}

static bool is_needed(const struct state *state, int agent)
{
    return any_has(state, agent, HAS);
}

/*
 * Holders give the lock up, and the last of them wakes. That no agent sleeps beside a lock that it
 * could have is more than that; it is explored.
 */
static bool is_owed(const struct state *state, int agent)
{
    const uint32_t word = state->words[LW_RWLOCK_STATE];
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        const uint32_t function = state->agents[agent].callers[caller].function;
        if (is_waiting(state, agent, caller) &&
            !(word & (function == UPGRADE ? LW_RWLOCK_READERS : HOLDERS)))
            return false;
    }
    return true;
}

/* An agent that upgrades waits for readers, and an agent that reads does not wait meanwhile. */
static bool may_sleep(const struct state *state, int agent)
{
    return state->agents[agent].function == UPGRADE && reads_of(state, agent) == 0;
}

/*
 * Who has claimed something will end the claim. A writer may let the readers go first while it has
 * its own turn. Who is about to wake those on the generation will free the lock.
 */
static uint32_t bits_of(uint32_t word)
{
    return (word & LW_RWLOCK_RESERVED ? 1u : 0) | (word & LW_RWLOCK_WRITERS_TURN ? 2u : 0) |
           (word & LW_RWLOCK_READERS_TURN ? 4u : 0) | (word & LW_RWLOCK_LEAVING ? 8u : 0);
}

static uint32_t pledges(const struct state *state)
{
    return bits_of(state->words[LW_RWLOCK_STATE]);
}

static uint32_t may_keep(const struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    uint32_t bits = a->doing == RUNNING ? LW_RWLOCK_LEAVING : 0;
    for (int caller = 0; caller < model_callers[agent]; caller++) {
        const struct caller *c = &a->callers[caller];
        if (c->own[MARKS] & HAS_CLAIMED)
            bits |= claims_of(c->function) & (was_woken_often(c) ? ~0u : ~LW_RWLOCK_RESERVED);
    }
    return bits_of(bits);
}

/* All but writers: on the generation; or on the state, while those on the generation are woken. */
static bool is_woken_with_all(const struct state *state, int agent)
{
    return state->agents[agent].function != WRITE;
}

static bool is_marked(const struct state *state, int agent)
{
    const struct agent *a = &state->agents[agent];
    if (a->doing == GOING_TO_SLEEP)
        return !(a->callers[a->caller].own[WOKEN] & IS_DUE);
    return state->words[LW_RWLOCK_STATE] &
           (a->word == LW_RWLOCK_STATE ? LW_RWLOCK_MIXED : LW_RWLOCK_BLOCKED_READERS);
}

/* The mark may come back before the generation moves. */
static void others_changed(struct state *state, uint32_t turned)
{
    (void)turned;
    struct agent *a = &state->agents[0];
    uint8_t *woken = &a->callers[a->caller].own[WOKEN];
    const bool will_sleep = a->doing == GOING_TO_SLEEP && a->word == LW_RWLOCK_GENERATION &&
                            state->words[a->word] == a->value;
    if (will_sleep && !(state->words[LW_RWLOCK_STATE] & LW_RWLOCK_BLOCKED_READERS))
        *woken |= IS_DUE;
    if (a->doing == ASLEEP)
        *woken &= (uint8_t)~IS_DUE;
}

static uint32_t held_by_all(const struct state *state)
{
    const uint32_t count = state->words[LW_RWLOCK_STATE] & LW_RWLOCK_READERS;
    return count < 2 ? count : UINT32_MAX;
}

/* Readers that never leave keep a writer waiting, and those who let it go first. */
static bool may_wait(const struct state *state, int agent, int caller)
{
    (void)agent, (void)caller;
    return for_ever() && state->words[LW_RWLOCK_STATE] & LW_RWLOCK_WRITERS_TURN;
}

static void describe_word(char *text, size_t size, uint32_t word, uint32_t value)
{
    if (word == LW_RWLOCK_GENERATION) {
        snprintf(text, size, "%u", value);
        return;
    }
    if (word != LW_RWLOCK_STATE) {
        const int agent = model_agent_of(value);
        snprintf(text, size, "%s", value == 0 ? "0" : agent >= 0 ? model_name(agent) : "?");
        return;
    }
    snprintf(text, size, "%ur%s%s%s%s%s%s%s%s%s%s", value & LW_RWLOCK_READERS,
             value & LW_RWLOCK_UPGRADABLE ? "+UPGRADABLE" : "",
             value & LW_RWLOCK_WRITER ? "+WRITER" : "",
             value & LW_RWLOCK_WRITERS_TURN ? "+WRITERS_TURN" : "",
             value & LW_RWLOCK_READERS_TURN ? "+READERS_TURN" : "",
             value & LW_RWLOCK_RESERVED ? "+RESERVED" : "",
             value & LW_RWLOCK_LEAVING ? "+LEAVING" : "", value & LW_RWLOCK_MIXED ? "+MIXED" : "",
             value & LW_RWLOCK_BLOCKED_READERS ? "+BLOCKED_READERS" : "",
             value & LW_ASYNC_WAITERS ? "+ASYNC" : "",
             value & LW_BLOCKED_WAITERS ? "+BLOCKED" : "");
}

/*
 * How many turns an endless caller may cost another caller: one more than the waits in vain before
 * it starves, and one that is lost while the last wake comes.
 */
#define BOUND (MAX_FAILED_WAITS + 2)
#define LOOPS_BOUND 2

/* From small to large: a mutant's first failure is its shortest. */
static const struct configuration configurations[] = {
    {"r,r", 1, 0, 0, SMALL, 1},
    {"r,u", 1, 0, 0, SMALL, 1},
    {"r,s", 1, 0, 0, SMALL, 1},
    {"r,w", 1, 0, 0, SMALL, 0},
    {"r,w", 1, TIMEOUTS, 0, SMALL, 1},
    {"W,r", 1, 0, 1, SMALL, 0},
    {"R,w", 1, 0, 1, SMALL, 0},
    {"Y,w", 1, 0, BOUND, SMALL, 0},
    {"W,w", 1, 0, BOUND, SMALL, 0},
    {"W,y", 1, 0, LOOPS_BOUND, SMALL, 0},
    {"w,y", 1, ANYTHING | DEATHS, 0, SMALL, 0},
    {"r,y", 1, ANYTHING | DEATHS, 0, SMALL, 0},
    {"yy,w", 1, BRIEFS, 0, SMALL, 0},
    {"U,w", 1, 0, BOUND, SMALL, 0},
    {"W,u", 1, 0, 1, SMALL, 0},
    {"x,y,r", 1, BRIEFS, 0, SMALL, 0},
    {"s,w", 2, STRAYS, 0, SMALL, 0},
    {"xy,w", 1, TIMEOUTS | BRIEFS, 0, SMALL, 0},
    {"r,w", 2, TIMEOUTS | BRIEFS, 0, SMALL, 0},
    {"Y,r,x", 1, 0, BOUND, SMALL, 0},
    {"R,u", 1, 0, 1, SMALL, 0},
    {"w,w,l", 1, SLICES, 0, SMALL, 0},
    {"yyy,w", 1, BRIEFS, 0, SMALL, 0},
    {"xyx,r", 1, BRIEFS, 0, SMALL, 0},
    {"r,d,d", 1, 0, 0, SMALL, 0},
    {"a,b", 1, BRIEFS, 0, SMALL, 0},
    {"r,r,w", 1, TIMEOUTS, 0, SMALL, 0},
    {"a,b", 1, STRAYS, 0, SMALL, 0},
    {"p,b", 1, BRIEFS, 0, SMALL, 0},
    {"s,b", 2, 0, 0, SMALL, 0},
    {"W,x,r", 1, 0, BOUND, SMALL, 0},
    {"s,r,w", 1, 0, 0, SMALL, 0},
    {"xxy,w", 1, BRIEFS, 0, SMALL, 0},
    {"a,a", 1, ANYTHING, 0, SMALL, 0},
    {"r,x,y", 1, ALMOST, 0, SMALL, 0},
    {"u,u", 1, 0, 0, SMALL, 0},
    {"xy,r", 1, ANYTHING, 0, SMALL, 0},
    {"b,b", 1, 0, 0, SMALL, 0},
    {"zx,w", 1, BRIEFS | STRAYS, 0, SMALL, 0},
    {"r,w,w", 1, CANCELS, 0, SMALL, 0},
    {"yw,r", 1, ANYTHING, 0, SMALL, 0},
    {"x,r,w", 1, ALMOST, 0, SMALL, 0},
    {"W,r,r", 1, 0, BOUND, SMALL, 0},
    {"r,r,w", 1, SLICES, 0, SMALL, 0},
    {"r,u,u", 1, SPURIOUS, 0, SMALL, 2},
    {"zx,r", 1, BRIEFS, 0, SMALL, 0},
    {"r,r,w", 1, SLICES | BRIEFS | DEATHS, 0, SMALL, 0},
    {"yy,r", 1, ANYTHING, 0, SMALL, 0},
    {"U,u", 1, 0, BOUND, SMALL, 0},
    {"r,w,y", 1, ALMOST, 0, SMALL, 0},
    {"r,w,w", 1, ALMOST, 0, SMALL, 0},
    {"W,r,w", 1, 0, 0, SMALL, 0},
    {"w,w,y", 1, CANCELS | SLICES | BRIEFS, 0, SMALL, 0},
    {"t,b", 2, STRAYS, 0, SMALL, 0},
    {"r,w,y", 1, SLICES | BRIEFS | DEATHS, 0, MEDIUM, 0},
    {"zx,y", 1, ALMOST, 0, MEDIUM, 0},
    {"r,r,w", 1, NATIVE, 0, SMALL, 0},
    {"zy,w", 1, ALMOST | STRAYS, 0, SMALL, 0},
    {"W,w,w", 1, CANCELS, 0, SMALL, 0},
    {"zt,r", 1, STRAYS, 0, SMALL, 0},
    {"zy,r", 1, BRIEFS, 0, SMALL, 0},
    {"zz,r", 1, BRIEFS | STRAYS, 0, SMALL, 0},
    {"r,r,w", 1, ANYTHING, 0, SMALL, 0},
    {"W,W,r", 1, 0, BOUND, MEDIUM, 0},
    {"b,b", 2, STRAYS, 0, SMALL, 0},
    {"r,r,w", 1, ANYTHING | DEATHS, 0, LARGE, 0},
    {"u,w,w", 1, CANCELS, 0, LARGE, 0},
    {"zz,u", 1, BRIEFS, 0, LARGE, 0},
    {"r,w,w", 1, NATIVE, 0, LARGE, 0},
    {"r,u,w", 1, TIMEOUTS, 0, LARGE, 0},
    {"zz,r", 1, TIMEOUTS | BRIEFS, 0, LARGE, 0},
    {"r,w,u", 1, 0, 0, LARGE, 0},
    {"r,w,w", 1, ANYTHING, 0, LARGE, 0},
    {"x,r,w", 1, ANYTHING, 0, LARGE, 0},
    {"b,b", 1, ALMOST, 0, LARGE, 0},
    {"r,w,u", 1, TIMEOUTS, 0, LARGE, 0},
    {"z,w,r", 1, BRIEFS, 0, LARGE, 0},
    {"zyx,r", 1, BRIEFS, 0, LARGE, 0},
    {"zy,w", 1, ANYTHING, 0, LARGE, 0},
    {"zx,y,r", 1, BRIEFS, 0, LARGE, 0},
    {"r,w,u", 1, ALMOST, 0, LARGE, 0},
    {"r,u,u", 1, TIMEOUTS, 0, LARGE, 0},
    {"r,r,w,w", 1, ALMOST, 0, LARGE, 0},
};

static const struct configuration proofs[] = {
    {"w", 0, ANYTHING, 0, SMALL, 0},
    {"r,d", 0, 0, 0, SMALL, 0},
    {"r,w", 0, 0, 0, SMALL, 0},
    {"r,w", 0, ANYTHING, 0, LARGE, 0},
    /* Too large for mutants. */
    {"u", 0, 0, 0, MEDIUM, 0},
    {"r,u", 0, 0, 0, LARGE, 0},
    {"u,w", 0, 0, 0, LARGE, 0},
    {"r,w,u", 0, 0, 0, LARGE, 0},
    {"y,w,t", 0, ANYTHING, 0, MEDIUM, 0},
    {"x,y", 0, ANYTHING, 0, MEDIUM, 0},
    {"z", 0, 0, 0, MEDIUM, 0},
    {"r,w,t", 0, 0, 0, LARGE, 0},
    {"xy", 0, 0, 0, LARGE, 0},
};

static const char *const word_names[] = {"state", "gate", "owner", "generation"};

EXPLORE("rwlock", LW_RWLOCK_WORDS, .crowd = true, .async_letters = "apxyzAXYZ", .begin = begin,
        .flags_of_a_step = SAW_OTHERS | SAW_FULL | LOOKED, .last_phase = MUTEX_LAST_PHASE | 0xff,
        .waits = waits, .may_wait = may_wait, .proofs = proofs, .proof_count = COUNT_OF(proofs),
        .ids = {[LW_RWLOCK_OWNER] = UINT32_MAX}, .agents_ghosts = 1 << OWNER_AGENT,
        .ids_of_call = ids_of_call, .counts = {[LW_RWLOCK_STATE] = LW_RWLOCK_READERS},
        .forgets = true, .generations = {[LW_RWLOCK_GENERATION] = GENERATIONS}, .is_owed = is_owed,
        .may_sleep = may_sleep, .pledges = pledges, .may_keep = may_keep,
        .is_woken_with_all = is_woken_with_all, .is_marked = is_marked,
        .others_changed = others_changed, .held = reads_of, .held_by_all = held_by_all)
