/*
 * bury.c: gives back what the dead had.
 *
 * One process at a time buries. Its row and generation stand in the header's `burier`. If it
 * dies, another process takes its place and begins again: all of a burial may be done twice, and
 * a dead process's row is freed last. A process that finds a live burier leaves the dead to it: the
 * burier looks for more of them after it has stepped back, with sequential consistency on both
 * sides, so that one of the two sees the other.
 *
 * When. The kernel marks a token when the keeper thread exits. At that moment the process's other
 * threads may still run on other CPUs: they have been killed, by SIGKILL or the exit of the whole
 * process, but learn of it only when they next enter the kernel. If an agent that can still make a
 * step were buried, two threads would hold one mutex. So the burier first drives all CPUs through
 * the kernel (membarrier's global expedited command, for which each process registers): it
 * interrupts each CPU that runs such a process and waits until the interrupt was handled. No thread
 * that has been killed returns from an interrupt to its own code, nor from anywhere else in the
 * kernel. The same holds for an exec, which kills all other threads, and whose own thread is in the
 * kernel. Where the command does not exist, the burier waits for longer than a scheduler lets a
 * thread run undisturbed.
 *
 * Names come and go meanwhile. What the dead hold keeps its name until it is free. But a burial
 * also writes to semaphores and permits that nobody holds, and a name that is made next could get
 * the place of one of these. So the burier's process row says which slot it visits, before it reads
 * what is there; and who makes a name looks at these rows after the old name has been removed, and
 * leaves such a place alone (names.c). Both with sequential consistency: either the burier sees
 * that the name was removed, or the other one sees the visit. If the burier dies in a visit, that
 * lasts until it is buried itself.
 */
#define _GNU_SOURCE
#include "region.h"

#include <lockword/core/waiters.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../wait/kernel.h"

#define PAUSE_NS 20000000

static long membarrier(int command)
{
    const int saved = errno;
    const long result = syscall(SYS_membarrier, command, 0, 0);
    errno = saved;
    return result;
}

bool lw_region_announce_process(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

static void drive_out_killed_threads(bool have_announced)
{
    if (have_announced && membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0)
        return;
    const struct lw_quiet before = lw_begin_quietly();
    struct timespec left = {0, PAUSE_NS};
    while (nanosleep(&left, &left) != 0)
        continue;
    lw_end_quietly(before);
}

static uint32_t load_seq_cst(const lw_word *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static bool is_of_another_boot(const struct process *process)
{
    const uint32_t boot = lw_load(&process->boot, lw_relaxed);
    const uint32_t mine = lw_region_boot();
    return boot != mine && boot != LW_REGION_UNKNOWN_BOOT && mine != LW_REGION_UNKNOWN_BOOT;
}

/*
 * Returns whether the process of this row has died, if it has one. The kernel marks the alarm,
 * wakes a waiter, and marks the token after that: the waiter may already run, on the same CPU.
 */
static bool has_died(const struct lw_region *region, uint32_t row)
{
    const struct process *process = &region->memory->processes[row];
    const uint32_t token = load_seq_cst(&process->token);
    return token != 0 && ((token | load_seq_cst(&process->alarm)) & FUTEX_OWNER_DIED ||
                          is_of_another_boot(process));
}

/* A burier's name in the header. */
#define BURIER_ROW 0x000007ffu
#define BURIER_GENERATION_SHIFT 11
static uint32_t burier_of(uint32_t row, uint32_t generation)
{
    return generation << BURIER_GENERATION_SHIFT | (row + 1);
}

static bool is_live_burier(const struct lw_region *region, uint32_t burier)
{
    const uint32_t row = (burier & BURIER_ROW) - 1;
    if (row >= PROCESSES)
        return false;
    const struct process *process = &region->memory->processes[row];
    return burier_of(row, lw_load(&process->generation, lw_acquire)) == burier &&
           load_seq_cst(&process->token) != 0 && !has_died(region, row);
}

bool lw_region_has_burier(const struct lw_region *region)
{
    const uint32_t burier = load_seq_cst(&region->memory->header.burier);
    return load_seq_cst(&region->burying) != 0 ||
           (burier != burier_of(region->row, region->generation) && is_live_burier(region, burier));
}

void lw_region_mark_used(lw_word *used, uint32_t shift, uint32_t row)
{
    const uint32_t part = row >> shift;
    __atomic_fetch_or(&used[part / 32], 1u << part % 32, __ATOMIC_ACQ_REL);
}

/* Returns the first row from this one on that may be in use, or n. */
static uint32_t next_used(const lw_word *used, uint32_t shift, uint32_t row, uint32_t n)
{
    while (row < n) {
        const uint32_t part = row >> shift;
        const uint32_t bits = lw_load(&used[part / 32], lw_relaxed) >> part % 32;
        if (bits & 1)
            return row;
        const uint32_t unused = bits ? (uint32_t)__builtin_ctz(bits) : 32 - part % 32;
        row = (part + unused) << shift;
    }
    return n;
}

static uint32_t next_slot(const struct lw_region *region, uint32_t row)
{
    return next_used(region->memory->header.used_slots, region->slots_part_shift, row,
                     region->slots);
}

uint32_t lw_region_next_agent(const struct lw_region *region, uint32_t row)
{
    return next_used(region->memory->header.used_agents, AGENTS_PART_SHIFT, row, AGENTS);
}

uint32_t lw_region_next_process(const struct lw_region *region, uint32_t row)
{
    return next_used(region->memory->header.used_processes, PROCESSES_PART_SHIFT, row, PROCESSES);
}

/*
 * Sets *type to the slot's. If a burial writes to what such a name has, besides the slot's mutex,
 * returns true: the slot is visited until end_visit.
 */
static bool begin_visit(struct lw_region *region, const struct slot *slot, uint32_t *type)
{
    *type = lw_load(&slot->type, lw_acquire);
    const uint32_t kind = *type & SLOT_TYPE;
    if (kind != LW_REGION_SEM && kind != LW_REGION_ONCE && !lw_region_has_table(kind))
        return false;
    lw_mutex_lock(&region->visiting);
    lw_store(&region->memory->processes[region->row].visits, lw_region_busy(region, slot),
             lw_relaxed);
    __sync_synchronize();
    *type = lw_load(&slot->type, lw_acquire);
    return true;
}

static void end_visit(struct lw_region *region)
{
    lw_store(&region->memory->processes[region->row].visits, 0, lw_release);
    lw_mutex_unlock(&region->visiting);
}

/* A set of process rows. */
struct rows {
    uint32_t bits[PROCESSES / 32];
};

static void add_row(struct rows *rows, uint32_t row)
{
    rows->bits[row / 32] |= 1u << row % 32;
}

static bool has_row(const struct rows *rows, uint32_t row)
{
    return row < PROCESSES && rows->bits[row / 32] >> row % 32 & 1;
}

/* Whose things are freed: those of one agent or, if that is 0, of all agents of these rows. */
struct whose {
    uint32_t agent;
    const struct rows *rows;
};

static bool is_theirs(const struct lw_region *region, uint32_t owner, struct whose whose)
{
    return owner != 0 && (whose.agent ? owner == whose.agent
                                      : has_row(whose.rows, lw_region_process_of(region, owner)));
}

/* Returns the first permit from this one on that the dead have, or how many permits there are. */
static uint32_t next_permit(const struct lw_region *region, const lw_word *permits, uint32_t which,
                            struct whose whose)
{
    const uint32_t count = lw_permits_count(permits);
    while (which < count &&
           !is_theirs(region, lw_load(&permits[LW_PERMITS_FIRST + which], lw_relaxed), whose))
        which++;
    return which;
}

static void free_permits(const struct lw_region *region, lw_word *permits, struct whose whose)
{
    const uint32_t count = lw_permits_count(permits);
    for (uint32_t which = next_permit(region, permits, 0, whose); which < count;
         which = next_permit(region, permits, which + 1, whose))
        lw_permits_bury_step(permits, lw_load(&permits[LW_PERMITS_FIRST + which], lw_relaxed));
}

/*
 * Frees a slot's mutex, and notes that its holder died. A table's readers hold its mutex for a
 * moment, and a writer until all readers have gone: then the data are as they were.
 */
static void free_mutex(struct slot *slot, uint32_t type, lw_word *table, uint32_t owner)
{
    /* It was about to say so, to those who know the mutex, when it had removed the name. */
    if ((type & SLOT_TYPE) == SLOT_REMOVED)
        lw_robust_decide(slot->words, lw_region_fate_of(type));
    if (!table) {
        lw_robust_bury(slot->words, owner);
        return;
    }
    if (lw_load(&table[LW_PERMITS_WRITER], lw_relaxed) == owner) {
        /* The fate first: if this burier dies in between, the next one finds no writer any more. */
        lw_robust_mourn(slot->words);
        lw_store(&table[LW_PERMITS_WRITER], 0, lw_release);
    }
    lw_mutex_bury_step(slot->words, owner);
}

/*
 * Wakes one of those that wait for what an agent is busy with. It says so before it can consume a
 * wake-up, or owe one.
 */
static void replace_wake_up(const struct lw_region *region, const struct agent *agent)
{
    struct memory *memory = region->memory;
    const uint32_t busy = lw_load(&agent->busy, lw_relaxed) & ~BUSY_NOTIFIES;
    if (0 < busy && busy <= region->slots)
        lw_waiters_notify(memory->slots[busy - 1].words, LW_WAITERS, 1);
    else if (busy == BUSY_DIRECTORY)
        lw_waiters_notify(memory->header.directory, LW_WAITERS, 1);
}

/*
 * The owner is about to notify: if this burier dies in between, the next one finds the mutex free,
 * and no word but the owner's row tells that the notify is missing.
 */
static struct agent *begin_to_free(const struct lw_region *region, uint32_t owner, uint32_t busy)
{
    struct agent *agent = lw_region_agent_of(region, owner);
    replace_wake_up(region, agent);
    lw_store(&agent->busy, busy | BUSY_NOTIFIES, lw_release);
    return agent;
}

static void free_all(struct lw_region *region, struct whose whose)
{
    struct memory *memory = region->memory;
    const uint32_t holder = lw_mutex_owner(memory->header.directory);
    if (is_theirs(region, holder, whose)) {
        struct agent *agent = begin_to_free(region, holder, BUSY_DIRECTORY);
        lw_robust_bury(memory->header.directory, holder);
        lw_region_end(agent);
    }
    for (uint32_t i = next_slot(region, 0); i < region->slots; i = next_slot(region, i + 1)) {
        struct slot *slot = &memory->slots[i];
        /* Whatever the slot's type is: it is stored last when a name is made. */
        const uint32_t owner = lw_mutex_owner(slot->words);
        const bool is_mutex = is_theirs(region, owner, whose);
        uint32_t type;
        const bool is_visited = begin_visit(region, slot, &type);
        const uint32_t kind = type & SLOT_TYPE;
        const uint32_t runner = lw_once_runner(slot->other);
        const bool is_once = kind == LW_REGION_ONCE && is_theirs(region, runner, whose);
        lw_word *table = lw_region_table(region, slot, kind);
        const bool has_permits =
            table && next_permit(region, table, 0, whose) < lw_permits_count(table);
        /* First: those that wake up look at it, and the next burier may find no owner any more. */
        if (is_mutex || is_once || has_permits)
            lw_store(&slot->recoveries, lw_load(&slot->recoveries, lw_relaxed) + 1, lw_relaxed);
        if (has_permits)
            free_permits(region, table, whose);
        if (is_mutex) {
            struct agent *agent = begin_to_free(region, owner, lw_region_busy(region, slot));
            free_mutex(slot, type, table, owner);
            lw_region_end(agent);
        }
        if (is_once)
            lw_once_end_step(slot->other, runner, false);
        if (is_visited)
            end_visit(region);
    }
}

/* Wakes all threads that wait for what a slot has, unless that is a mutex or a table. */
static void wake(struct slot *slot)
{
    const uint32_t words = lw_region_words(lw_load(&slot->type, lw_acquire) & SLOT_TYPE);
    for (uint32_t word = 0; word < words; word++)
        lw_notify(&slot->other[word], LW_ALL);
}

/*
 * Wakes all waiters of anything but a mutex. The dead may have changed a word, and not have come to
 * notify; or they were woken in place of others. No word tells. But an agent says what it waits for
 * before the kernel looks at the word for the last time: so whoever has not said it yet finds the
 * word changed. One that waits for several things says one of them; each wakes it.
 */
static void wake_all(struct lw_region *region)
{
    struct memory *memory = region->memory;
    for (uint32_t i = next_slot(region, 0); i < region->slots; i = next_slot(region, i + 1)) {
        struct slot *slot = &memory->slots[i];
        uint32_t type;
        if (!begin_visit(region, slot, &type))
            continue;
        const uint32_t kind = type & SLOT_TYPE;
        lw_word *table = lw_region_table(region, slot, kind);
        if (kind == LW_REGION_SEM)
            lw_sem_bury_step(slot->other);
        /*
         * The dead may have freed a permit, and not have said so. This says it, and frees nothing:
         * no agent has an id of generation 0.
         */
        if (table)
            lw_permits_bury_step(table, ID_ROW);
        end_visit(region);
    }
    for (uint32_t i = lw_region_next_agent(region, 0); i < AGENTS;
         i = lw_region_next_agent(region, i + 1)) {
        struct slot *slot = lw_region_waits_for(region, &memory->agents[i]);
        if (slot)
            wake(slot);
    }
    lw_region_ring_all(region);
}

/* Frees an agent's row. What it held is free. */
static void free_row(struct lw_region *region, uint32_t row)
{
    struct agent *agent = &region->memory->agents[row];
    const uint32_t state = lw_load(&agent->state, lw_relaxed);
    const uint32_t generation = state >> AGENT_GENERATION_SHIFT & (AGENT_GENERATIONS - 1);
    replace_wake_up(region, agent);
    lw_store(&agent->busy, 0, lw_relaxed);
    lw_store(&agent->tid, 0, lw_relaxed);
    lw_store(&agent->state, (generation + 1) << AGENT_GENERATION_SHIFT, lw_release);
}

/*
 * An agent loses its id after all that it held was freed, and a process its row after all of its
 * agents did. The id comes again only once the agent's row has been used 2^17 times. So an owner
 * that is found twice, and in between is no agent of a process, was written by no lock.
 */
void lw_region_bury_nobody(struct lw_region *region, const lw_word *word)
{
    lw_word *words = region->memory->header.directory;
    if (word != words) {
        struct slot *slot = lw_region_slot_of(region, word);
        if (!slot || word != slot->words)
            return;
        words = slot->words;
    }
    const uint32_t owner = lw_mutex_owner(words);
    const uint32_t row = lw_region_process_of(region, owner);
    if (row < PROCESSES && load_seq_cst(&region->memory->processes[row].token) != 0)
        return;
    if (owner != 0 && lw_mutex_owner(words) == owner)
        lw_robust_bury(words, owner);
}

void lw_region_bury_agent(struct lw_region *region, uint32_t id, bool may_wait)
{
    free_all(region, (struct whose){id, NULL});
    free_row(region, id & ID_ROW);
    if (may_wait)
        wake_all(region);
}

static void free_process(struct process *process)
{
    lw_store(&process->pid, 0, lw_relaxed);
    lw_store(&process->visits, 0, lw_relaxed);
    lw_store(&process->alarm, 0, lw_relaxed);
    lw_store(&process->generation, lw_load(&process->generation, lw_relaxed) + 1, lw_release);
    __atomic_store_n(&process->token, 0, __ATOMIC_SEQ_CST);
}

/* All at once: to look at each name takes as long for one process as for many. */
static void bury_processes(struct lw_region *region, const struct rows *rows)
{
    struct memory *memory = region->memory;
    free_all(region, (struct whose){0, rows});
    for (uint32_t i = lw_region_next_agent(region, 0); i < AGENTS;
         i = lw_region_next_agent(region, i + 1)) {
        const uint32_t process = lw_load(&memory->agents[i].state, lw_relaxed) & AGENT_PROCESS;
        if (process != 0 && has_row(rows, process - 1))
            free_row(region, i);
    }
    wake_all(region);
    for (uint32_t row = 0; row < PROCESSES; row++) {
        if (has_row(rows, row))
            free_process(&memory->processes[row]);
    }
}

void lw_region_bury_process(struct lw_region *region, uint32_t row)
{
    struct rows rows = {{0}};
    add_row(&rows, row);
    bury_processes(region, &rows);
}

/* A dead process, as it was found. */
struct dead {
    uint32_t row;
    uint32_t generation;
};

/* So many are buried at once, after one barrier, and then the next ones. */
#define AT_ONCE 64

/* Returns how many there are, at most AT_ONCE; *announced: whether all of them were announced. */
static uint32_t find_the_dead(const struct lw_region *region, struct dead *dead, bool *announced)
{
    uint32_t n = 0;
    *announced = true;
    for (uint32_t row = lw_region_next_process(region, 0); row < PROCESSES && n < AT_ONCE;
         row = lw_region_next_process(region, row + 1)) {
        const struct process *process = &region->memory->processes[row];
        const uint32_t generation = lw_load(&process->generation, lw_acquire);
        if (row == region->row || !has_died(region, row))
            continue;
        dead[n++] = (struct dead){row, generation};
        *announced &= lw_load(&process->announced, lw_relaxed) != 0;
    }
    return n;
}

/* Does nothing if another live process buries. */
static void bury_some(struct lw_region *region)
{
    struct header *header = &region->memory->header;
    const uint32_t myself = burier_of(region->row, region->generation);
    struct dead dead[AT_ONCE];
    bool announced;
    const uint32_t n = find_the_dead(region, dead, &announced);
    uint32_t burier = load_seq_cst(&header->burier);
    /* The caller's own name is left there by no burial: this thread would be at it. */
    if (burier != myself && is_live_burier(region, burier))
        return;
    /* It may have lived when the dead were found. */
    const uint32_t its_row = (burier & BURIER_ROW) - 1;
    if (its_row < PROCESSES)
        announced &= lw_load(&region->memory->processes[its_row].announced, lw_relaxed) != 0;
    /* The dead, and the burier that has died, make no further step from here on. */
    drive_out_killed_threads(announced);
    if (!__atomic_compare_exchange_n(&header->burier, &burier, myself, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return;
    struct rows rows = {{0}};
    uint32_t burials = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = dead[i].row;
        /*
         * Another process may have buried this one in the meantime. Then the row's generation has
         * moved, and whoever has the row now may have died after the threads were driven out.
         */
        if (!has_died(region, row) ||
            lw_load(&region->memory->processes[row].generation, lw_acquire) != dead[i].generation)
            continue;
        add_row(&rows, row);
        burials++;
    }
    if (burials > 0)
        bury_processes(region, &rows);
    __atomic_fetch_add(&header->epoch, burials, __ATOMIC_RELAXED);
    __atomic_store_n(&header->burier, 0, __ATOMIC_SEQ_CST);
}

/* Returns whether there are dead that nobody buries. */
static bool must_bury(const struct lw_region *region)
{
    for (uint32_t row = lw_region_next_process(region, 0); row < PROCESSES;
         row = lw_region_next_process(region, row + 1)) {
        if (row != region->row && has_died(region, row))
            return !lw_region_has_burier(region);
    }
    return false;
}

/*
 * Among the threads of a process it is as among processes: a thread that finds another one burying
 * leaves the dead to it, and that looks for more of them after it has stepped back. It does not
 * wait: the kernel wakes a keeper and a waiter at the same time, often on the same CPU.
 */
void lw_region_bury_the_dead(struct lw_region *region)
{
    while (must_bury(region)) {
        if (__atomic_exchange_n(&region->burying, 1, __ATOMIC_SEQ_CST) != 0)
            return;
        bury_some(region);
        __atomic_store_n(&region->burying, 0, __ATOMIC_SEQ_CST);
    }
}
