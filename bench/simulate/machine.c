/*
 * machine.c: see machine.h.
 *
 * A thread's own clock runs ahead of the machine's while what it does concerns no other thread.
 * Before it looks at shared memory, all events of earlier times must have happened: settle().
 */
#define _GNU_SOURCE
#include "machine.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK_BYTES 65536
#define MAX_LINES 4096 /* a power of two */
#define LINE_BITS 6
#define WORK_NS 500.0 /* of work at most between two chances to be preempted */
#define AHEAD_NS                                                                                   \
    1000000.0            /* of CPU time, by which a thread that wakes up may be ahead of others    \
                          */
#define BEGINNING_NS 1e9 /* so that nothing seems to have happened just before, at 0 */

const struct sim_costs sim_default_costs = {
    .hit = 1,
    .locked = 5,
    .move = 40,
    .far = 120,
    .copy = 8,
    .keep = 0.3,
    .pause = 15,
    .clock = 20,
    .yield = 250,
    .change = 700,
    .call = 300,
    .wait = 300,
    .wake = 900,
    .idle = 4000,
    .slice = 3e6,
    .jitter = 0.17,
};

struct thread {
    int number, cpu;
    void (*run)(int number, void *argument);
    void *argument;
    char *stack, *locals; /* kept from run to run */
    jmp_buf at;
    double now;          /* the thread's own clock */
    double used;         /* CPU time, as the scheduler counts it */
    double started;      /* on the CPU, this time */
    struct thread *next; /* in a queue */
    const uint32_t *asleep_on;
    bool writes;    /* what it has requested a line for */
    uint64_t sleep; /* counts the sleeps: a timer is of one of them */
    enum sim_woken woken;
};

struct queue {
    struct thread *first, **end;
};

struct cpu {
    struct thread *running;
    struct queue ready;
    bool preempts; /* one of those that are ready is to run instead */
};

struct line {
    uintptr_t key;
    int owner; /* -1: none */
    unsigned __int128 sharers;
    bool moving;
    bool for_writing; /* the transfer */
    double leaves;    /* until then the CPUs that had the line can use it */
    struct queue requests;
    uint64_t moves;
};

struct event {
    double time;
    uint64_t order; /* of equal times */
    struct thread *thread;
    uint64_t sleep; /* of a timer; 0: the thread runs */
};

static struct sim_machine machine;
static struct thread threads[SIM_MAX_THREADS];
static int thread_count;
static struct cpu cpus[SIM_MAX_CPUS];
static struct line lines[MAX_LINES];
static struct queue asleep;
static struct event *events;
static size_t event_count, event_room;
static uint64_t order, random_state, sleeps, calls;
static double start, end;
static struct thread *self;
static jmp_buf outside;

/* What is local to a thread: lockword/compiler.h. */
extern char __start_sim_local[], __stop_sim_local[];
static char *first_locals;

static size_t locals_size(void)
{
    return (size_t)(__stop_sim_local - __start_sim_local);
}

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "lockword-simulate: %s\n", what);
    exit(2);
}

static void *room(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        die("no memory");
    return memory;
}

static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

uint32_t sim_random(uint32_t bound)
{
    return (uint32_t)((draw() >> 32) * bound >> 32);
}

static double jittered(double ns)
{
    const double fraction = (double)(draw() >> 11) / (double)(1ull << 53);
    return ns * (1 + machine.costs.jitter * (2 * fraction - 1));
}

static void spend(double ns)
{
    self->now += jittered(ns);
}

/* Queues. */

static void clear(struct queue *queue)
{
    queue->first = NULL;
    queue->end = &queue->first;
}

static void append(struct queue *queue, struct thread *thread)
{
    thread->next = NULL;
    *queue->end = thread;
    queue->end = &thread->next;
}

static struct thread *take_at(struct queue *queue, struct thread **at)
{
    struct thread *thread = *at;
    *at = thread->next;
    if (!*at)
        queue->end = at;
    return thread;
}

/* Events: a heap. */

static bool comes_first(const struct event *a, const struct event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void add_event(double time, struct thread *thread, uint64_t sleep)
{
    if (event_count == event_room) {
        event_room = event_room ? 2 * event_room : 1024;
        events = realloc(events, event_room * sizeof *events);
        if (!events)
            die("no memory");
    }
    const struct event event = {time, order++, thread, sleep};
    size_t i = event_count++;
    for (; i > 0 && comes_first(&event, &events[(i - 1) / 2]); i = (i - 1) / 2)
        events[i] = events[(i - 1) / 2];
    events[i] = event;
}

static struct event take_event(void)
{
    const struct event first = events[0], last = events[--event_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < event_count; i = child) {
        if (child + 1 < event_count && comes_first(&events[child + 1], &events[child]))
            child++;
        if (!comes_first(&events[child], &last))
            break;
        events[i] = events[child];
    }
    events[i] = last;
    return first;
}

/* Coroutines. */

static void become(struct thread *thread)
{
    self = thread;
    memcpy(__start_sim_local, thread->locals, locals_size());
}

static void wake(struct thread *thread, double now, enum sim_woken woken);

/* Lets the thread of the next event run. Returns when it is the caller. */
static void dispatch(void)
{
    struct thread *const caller = self;
    for (;;) {
        if (event_count == 0 || events[0].time >= end)
            _longjmp(outside, 1);
        const struct event event = take_event();
        struct thread *thread = event.thread;
        if (event.sleep) {
            if (thread->asleep_on && thread->sleep == event.sleep)
                wake(thread, event.time, SIM_TIMED_OUT);
            continue;
        }
        thread->now = event.time;
        if (thread == caller)
            return;
        if (caller) {
            memcpy(caller->locals, __start_sim_local, locals_size());
            if (_setjmp(caller->at))
                return;
        }
        become(thread);
        _longjmp(thread->at, 1);
    }
}

/* The scheduler. */

/* Returns where the queue has the ready thread that has had the least time; NULL: none is ready. */
static struct thread **find_least_used(struct cpu *cpu)
{
    struct thread **least = NULL;
    for (struct thread **at = &cpu->ready.first; *at; at = &(*at)->next) {
        if (!least || (*at)->used < (*least)->used)
            least = at;
    }
    return least;
}

/* The CPU, which is without a thread now, goes on with another one, if there is one. */
static void run_next(struct cpu *cpu, double now)
{
    struct thread **least = find_least_used(cpu);
    cpu->preempts = false;
    cpu->running = NULL;
    if (!least)
        return;
    struct thread *next = cpu->running = take_at(&cpu->ready, least);
    next->started = now + jittered(machine.costs.change);
    add_event(next->started, next, 0);
}

static void count_time(struct thread *thread)
{
    thread->used += thread->now - thread->started;
    thread->started = thread->now;
}

/* The running thread gives up its CPU, and goes behind those that have had less time. */
static void leave_cpu(void)
{
    struct cpu *cpu = &cpus[self->cpu];
    append(&cpu->ready, self);
    run_next(cpu, self->now);
    dispatch();
}

/* All that happens before the thread's own time has happened, and the thread has its CPU. Does not
 * return at the end of the run. */
static void settle(void)
{
    struct cpu *cpu = &cpus[self->cpu];
    if (self->now >= end || (event_count > 0 && events[0].time <= self->now)) {
        add_event(self->now, self, 0);
        dispatch();
    }
    while (cpu->ready.first && (cpu->preempts || self->now - self->started > machine.costs.slice)) {
        count_time(self);
        leave_cpu();
    }
}

static void make_ready(struct thread *thread, double now)
{
    struct cpu *cpu = &cpus[thread->cpu];
    struct thread *running = cpu->running;
    if (!running) {
        cpu->running = thread;
        thread->started = now + jittered(machine.costs.idle);
        add_event(thread->started, thread, 0);
        return;
    }
    const double used = running->used + (now > running->started ? now - running->started : 0);
    if (thread->used < used - AHEAD_NS)
        thread->used = used - AHEAD_NS;
    append(&cpu->ready, thread);
    if (thread->used < used)
        cpu->preempts = true;
}

static void wake(struct thread *thread, double now, enum sim_woken woken)
{
    for (struct thread **at = &asleep.first; *at; at = &(*at)->next) {
        if (*at == thread) {
            take_at(&asleep, at);
            break;
        }
    }
    thread->asleep_on = NULL;
    thread->woken = woken;
    make_ready(thread, now);
}

/* Cache lines. */

static struct line *line_of(const void *address)
{
    const uintptr_t key = (uintptr_t)address >> LINE_BITS;
    for (size_t i = key * 0x9e3779b97f4a7c15u >> 52;; i++) {
        struct line *line = &lines[i & (MAX_LINES - 1)];
        if (line->key == key)
            return line;
        if (line->key == 0) {
            *line = (struct line){.key = key, .owner = -1};
            clear(&line->requests);
            return line;
        }
    }
}

static unsigned __int128 bit(int cpu)
{
    return (unsigned __int128)1 << cpu;
}

/* Whether the thread's CPU can read the line, or write to it, right now. */
static bool has(const struct line *line, bool writes)
{
    const bool leaves = line->moving && self->now >= line->leaves;
    if (line->owner == self->cpu)
        return !leaves || !(writes || line->for_writing);
    return !writes && (line->sharers & bit(self->cpu)) && !(leaves && line->for_writing);
}

static int socket_of(int cpu)
{
    return cpu * machine.sockets / machine.cpus;
}

static bool is_far(const struct line *line, int cpu)
{
    if (line->owner >= 0)
        return socket_of(line->owner) != socket_of(cpu);
    for (int other = 0; other < machine.cpus; other++) {
        if (line->sharers & bit(other) && socket_of(other) != socket_of(cpu))
            return true;
    }
    return false;
}

static void begin_move(struct line *line, struct thread *thread, double now, bool follows)
{
    const bool copies = follows && !thread->writes && !line->for_writing;
    const double ns = jittered(copies                      ? machine.costs.copy
                               : is_far(line, thread->cpu) ? machine.costs.far
                                                           : machine.costs.move);
    line->for_writing = thread->writes;
    line->moving = true;
    line->leaves = now + ns * machine.costs.keep;
    line->moves++;
    add_event(now + ns, thread, 0);
}

/* Gets the line, to read it or to write to it, and settles. */
static void get(const void *address, bool writes)
{
    settle();
    struct line *line = line_of(address);
    if (has(line, writes))
        return;
    self->writes = writes;
    if (line->moving)
        append(&line->requests, self);
    else
        begin_move(line, self, self->now, false);
    dispatch();
    if (writes) {
        line->owner = self->cpu;
        line->sharers = 0;
    } else {
        if (line->owner >= 0)
            line->sharers |= bit(line->owner);
        line->owner = -1;
        line->sharers |= bit(self->cpu);
    }
    line->moving = false;
    if (line->requests.first)
        begin_move(line, take_at(&line->requests, &line->requests.first), self->now, true);
}

uint64_t sim_moves(const void *address)
{
    return line_of(address)->moves;
}

uint64_t sim_sleeps(void)
{
    return sleeps;
}

uint64_t sim_calls(void)
{
    return calls;
}

uint32_t sim_load(const uint32_t *word)
{
    get(word, false);
    const uint32_t value = *word;
    spend(machine.costs.hit);
    return value;
}

void sim_store(uint32_t *word, uint32_t value)
{
    get(word, true);
    *word = value;
    spend(machine.costs.hit);
}

void sim_add_unlocked(uint32_t *word, uint32_t amount)
{
    get(word, true);
    *word += amount;
    spend(machine.costs.hit);
}

uint32_t sim_cas(uint32_t *word, uint32_t expected, uint32_t desired)
{
    get(word, true);
    const uint32_t found = *word;
    if (found == expected)
        *word = desired;
    spend(machine.costs.locked);
    return found;
}

uint32_t sim_swap(uint32_t *word, uint32_t value)
{
    get(word, true);
    const uint32_t found = *word;
    *word = value;
    spend(machine.costs.locked);
    return found;
}

/* What else threads do. */

double sim_now(void)
{
    return self->now;
}

int sim_self(void)
{
    return self->number;
}

void sim_work(double ns)
{
    while (ns > 0) {
        const double part = ns < WORK_NS ? ns : WORK_NS;
        spend(part);
        settle();
        ns -= part;
    }
}

void sim_pause(void)
{
    spend(machine.costs.pause);
}

double sim_clock(void)
{
    spend(machine.costs.clock);
    return self->now;
}

void sim_yield(void)
{
    struct cpu *cpu = &cpus[self->cpu];
    calls++;
    spend(machine.costs.yield);
    settle();
    if (!cpu->ready.first)
        return;
    count_time(self);
    if (machine.costs.forfeit > 0) {
        self->used += machine.costs.forfeit;
        if (self->used < (*find_least_used(cpu))->used)
            return;
    } else {
        for (struct thread *other = cpu->ready.first; other; other = other->next) {
            if (self->used <= other->used)
                self->used = other->used + 1;
        }
    }
    leave_cpu();
}

enum sim_woken sim_futex_wait(const uint32_t *word, uint32_t expected, double deadline)
{
    calls++;
    spend(machine.costs.wait);
    get(word, false);
    if (*word != expected)
        return SIM_NOT_EQUAL;
    self->asleep_on = word;
    self->sleep++;
    sleeps++;
    append(&asleep, self);
    if (deadline < end)
        add_event(deadline > self->now ? deadline : self->now, self, self->sleep);
    count_time(self);
    run_next(&cpus[self->cpu], self->now);
    dispatch();
    return self->woken;
}

uint32_t sim_futex_wake(const uint32_t *word, uint32_t n)
{
    uint32_t count = 0;
    calls++;
    spend(machine.costs.call);
    settle();
    /* One that falls asleep again meanwhile stays asleep. */
    uint32_t most = 0;
    for (struct thread *sleeper = asleep.first; sleeper && most < n; sleeper = sleeper->next)
        most += sleeper->asleep_on == word;
    for (; count < most; count++) {
        settle();
        struct thread *sleeper = asleep.first;
        while (sleeper && sleeper->asleep_on != word)
            sleeper = sleeper->next;
        if (!sleeper)
            break;
        wake(sleeper, self->now, SIM_WOKEN);
        spend(machine.costs.wake);
    }
    return count;
}

/* Runs. */

void sim_build(const struct sim_machine *built)
{
    if (built->cpus < 1 || built->cpus > SIM_MAX_CPUS || built->sockets < 1)
        die("too many CPUs");
    if (!first_locals) {
        first_locals = room(locals_size());
        memcpy(first_locals, __start_sim_local, locals_size());
    }
    machine = *built;
    random_state = machine.seed * 0x9e3779b97f4a7c15u + 1;
    start = BEGINNING_NS;
    thread_count = 0;
    event_count = 0;
    sleeps = 0;
    calls = 0;
    memset(lines, 0, sizeof lines);
    clear(&asleep);
    for (int k = 0; k < machine.cpus; k++) {
        cpus[k] = (struct cpu){.running = NULL};
        clear(&cpus[k].ready);
    }
}

static ucontext_t builder, built;

/* The first part of each coroutine: it returns to sim_add, and goes on when its event comes. */
static void begin(void)
{
    if (_setjmp(threads[thread_count].at) == 0)
        swapcontext(&built, &builder);
    self->run(self->number, self->argument);
    die("a simulated thread has returned");
}

void sim_add(void (*run)(int number, void *argument), void *argument)
{
    if (thread_count == SIM_MAX_THREADS)
        die("too many threads");
    struct thread *thread = &threads[thread_count];
    char *stack = thread->stack ? thread->stack : room(STACK_BYTES);
    char *locals = thread->locals ? thread->locals : room(locals_size());
    *thread = (struct thread){
        .number = thread_count,
        .cpu = thread_count % machine.cpus,
        .run = run,
        .argument = argument,
        .stack = stack,
        .locals = locals,
    };
    memcpy(locals, first_locals, locals_size());
    getcontext(&built);
    built.uc_stack.ss_sp = stack;
    built.uc_stack.ss_size = STACK_BYTES;
    makecontext(&built, begin, 0);
    swapcontext(&builder, &built);
    make_ready(thread, start);
    thread_count++;
}

double sim_start(void)
{
    return start;
}

void sim_run(double ns)
{
    end = start + ns;
    self = NULL;
    if (_setjmp(outside) == 0)
        dispatch();
}
