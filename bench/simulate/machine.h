/*
 * machine.h: a simulated machine: CPUs, cache lines, a scheduler and futexes, in virtual time.
 *
 * A simulated thread is a coroutine, pinned to a CPU. Every function below that a thread calls
 * takes the thread's time: one of the costs, more or less by the jitter.
 *
 * A cache line is owned by one CPU, or shared by several. A CPU that needs a line which it does not
 * have requests it. Requests for a line queue, and each transfer takes `move`. The old owner can
 * use the line for half of that time, the new one from its end on.
 *
 * The scheduler runs the thread of a CPU that has had the least CPU time. A thread that yields goes
 * behind the others of its CPU. A thread that wakes up runs at once if it has had less time than
 * the running one.
 */
#ifndef SIMULATE_MACHINE_H
#define SIMULATE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_MAX_CPUS 128
#define SIM_MAX_THREADS 512

/* ns, but for the jitter. */
struct sim_costs {
    double hit;    /* a load or store of a line that the CPU has */
    double locked; /* a locked operation on a line that the CPU owns */
    double move;   /* a line from one CPU to another */
    double far;    /* the same between sockets */
    double copy;   /* one more copy to read, after another one */
    double keep;   /* the part of a transfer in which the old owner can use the line */
    double pause;  /* the processor's hint that a thread spins */
    double clock;  /* a reading of the clock */
    double yield;  /* sched_yield with no other thread to run */
    double change; /* a CPU goes from one thread to another */
    double call;   /* a wake-up of nobody; any other wake-up begins with it */
    double wait;   /* to fall asleep, until the kernel looks at the word */
    double wake;   /* to wake a thread, for the waker */
    double idle;   /* until an idle CPU runs the thread that was woken */
    double slice;  /* after so long another thread of the CPU may run */
    double jitter; /* each cost is more or less by up to this fraction */
    /*
     * By how much CPU time a yield puts its thread back. That thread goes on if others have had
     * more time even so. 0: it goes behind all others.
     */
    double forfeit;
};

extern const struct sim_costs sim_default_costs;

struct sim_machine {
    int cpus;
    int sockets; /* the CPUs are divided among them */
    struct sim_costs costs;
    uint64_t seed;
};

/* Sets up a machine without threads. */
void sim_build(const struct sim_machine *machine);

/* Adds a thread, on the CPU of its number modulo the number of CPUs. */
void sim_add(void (*run)(int number, void *argument), void *argument);

/* The time at which the run begins. */
double sim_start(void);

/* Runs all threads for so long. Then they are gone, in the midst of whatever they did. */
void sim_run(double ns);

/* How often the line at this address has moved so far. */
uint64_t sim_moves(const void *address);

/* How often threads have fallen asleep so far. */
uint64_t sim_sleeps(void);

/* How often threads have called the kernel so far: waits, wake-ups and yields. */
uint64_t sim_calls(void);

/* What follows is called by simulated threads. */

double sim_now(void); /* takes no time */
int sim_self(void);   /* the thread's number */
void sim_work(double ns);
void sim_pause(void);
void sim_yield(void);
double sim_clock(void);

uint32_t sim_load(const uint32_t *word);
void sim_store(uint32_t *word, uint32_t value);
void sim_add_unlocked(uint32_t *word, uint32_t amount); /* a load and a store of the owned line */
uint32_t sim_cas(uint32_t *word, uint32_t expected, uint32_t desired);
uint32_t sim_swap(uint32_t *word, uint32_t value);

enum sim_woken { SIM_WOKEN, SIM_NOT_EQUAL, SIM_TIMED_OUT };

#define SIM_FOREVER 1e300

enum sim_woken sim_futex_wait(const uint32_t *word, uint32_t expected, double deadline);
uint32_t sim_futex_wake(const uint32_t *word, uint32_t n);

/* A number below the bound. Takes no time. */
uint32_t sim_random(uint32_t bound);

#endif
