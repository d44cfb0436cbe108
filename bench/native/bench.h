/*
 * bench.h: what the harness and a peer (a lock being measured) know of each other.
 *
 * Every peer runs the same loops, compiled together with its own lock so that whatever can be
 * inlined is: peers/peer.h for C and C++, rust/src/lib.rs for Rust; family/ for the other
 * primitives. What need not be inlined, because every peer pays for it alike, is in harness.c.
 */
#ifndef LOCKWORD_BENCH_H
#define LOCKWORD_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits are counted in buckets of ticks, eight to a power of two: p99 is read off within 12 %. */
#define BENCH_BUCKETS 496

/* One thread of a contended run. rust/src/lib.rs declares the same fields in the same order up to
 * `turns`. */
struct bench_thread {
    void *mutex;
    uint64_t *count;      /* what the mutex guards, on a cache line of its own for every peer */
    const uint32_t *stop; /* nonzero: finish */
    uint64_t steps;   /* of work inside the section, and as many outside; 0: the increment alone */
    uint64_t stamped; /* nonzero: time every acquisition */
    uint64_t turns;

    uint64_t longest; /* wait, in ticks */
    uint64_t waits[BENCH_BUCKETS];
    int number; /* of the run's threads, from 0 */
};

struct bench_peer {
    const char *name;
    bool contends; /* false: a floor, no lock: one thread only */
    void (*init)(void *mutex);
    void (*destroy)(void *mutex);
    void (*pairs)(void *mutex, uint64_t n); /* n uncontended lock, unlock */
    void (*increments)(void *mutex, uint64_t n,
                       uint64_t *count);          /* n uncontended lock, increment, unlock */
    void (*contend)(struct bench_thread *thread); /* turns until told to stop */
};

/* What an operation works on fits into so many bytes, which share no cache line with anything else.
 */
#define BENCH_OBJECT_SIZE 128

/* What is measured of the primitives besides the mutex, in the order of the report;
 * harness/family.c says it in words. */
enum bench_subject {
    BENCH_HOLD,
    BENCH_RECURSION,
    BENCH_PERMIT,
    BENCH_NUMBER,
    BENCH_NUMBERS,
    BENCH_READ,
    BENCH_READERS,
    BENCH_WRITE,
    BENCH_DONE,
    BENCH_NOTIFY,
    BENCH_SET,
    BENCH_IS_SET,
    BENCH_WAITGROUP,
    BENCH_COUNTER,
    BENCH_RALLY,
    BENCH_RALLY_HELD,
    BENCH_MEET,
    BENCH_MEET_FOUR,
    BENCH_MEET_SIXTEEN,
    BENCH_MEET_FOUR_BUSY,
    BENCH_MEET_SIXTEEN_BUSY,
    BENCH_SUBJECTS
};

/* How one peer does it. A peer's operations are an array that ends with {BENCH_SUBJECTS}.
 * rust/src/family.rs declares the same. */
struct bench_operation {
    enum bench_subject subject;
    const char *peer;
    bool floor;                 /* the atomic operations alone, with which no thread could wait */
    void (*init)(void *object); /* of zeroed memory; NULL: that will do */
    void (*destroy)(void *object);           /* NULL: nothing to do */
    void (*turns)(void *object, uint64_t n); /* does it n times */
    void (*partner)(
        void *object,
        uint64_t n); /* what each other thread does meanwhile, as often; NULL: there is none */
};

/* What threads wait for, in the order of the report; harness/asleep.c says it in words. */
enum bench_block {
    BENCH_AT_MUTEX,
    BENCH_AT_RECURSIVE,
    BENCH_AT_CONDITION,
    BENCH_AT_PERMIT,
    BENCH_AT_READ,
    BENCH_AT_WRITE,
    BENCH_AT_BARRIER,
    BENCH_AT_GROUP,
    BENCH_AT_EVENT,
    BENCH_AT_ONCE,
    BENCH_AT_COUNTER,
    BENCH_AT_ONE_OF_THREE,
    BENCH_AT_ALL_OF_THREE,
    BENCH_BLOCKS
};

/*
 * How a peer's threads wait for each other: what threads cost that are asleep, how many of them a
 * release wakes, and how long they wait for their turns. A peer's are an array that ends with
 * {BENCH_BLOCKS}. rust/src/asleep.rs declares the same.
 */
struct bench_wait {
    enum bench_block block;
    const char *peer;
    void (*hold)(void *object,
                 int waiters); /* of zeroed memory: so many threads will have to wait */
    /* Waits, calls the section, and gives back what it has waited for, if that can be. A permit, or
     * a condition's, it keeps if the section returns false. */
    void (*turn)(void *object, bool (*section)(void *), void *argument);
    void (*release)(void *object); /* by the thread that has called hold */
};

/* How a peer is declared: found by name in a plug-in, too, and a constant that C++ does not make
 * static. */
#ifdef __cplusplus
#define BENCH_PEER extern "C" __attribute__((visibility("default"))) const struct bench_peer
#define BENCH_FAMILY extern "C" __attribute__((visibility("default"))) const struct bench_operation
#define BENCH_WAITS extern "C" __attribute__((visibility("default"))) const struct bench_wait
#else
#define BENCH_PEER extern __attribute__((visibility("default"))) const struct bench_peer
#define BENCH_FAMILY extern __attribute__((visibility("default"))) const struct bench_operation
#define BENCH_WAITS extern __attribute__((visibility("default"))) const struct bench_wait
#endif

/* Computes for a while without touching memory: a chain of multiplications that no compiler can
 * shorten. */
void bench_work(uint64_t steps);

/* The processor's time stamp. */
uint64_t bench_stamp(void);

/* Counts a wait between these stamps. */
void bench_waited(struct bench_thread *thread, uint64_t asked, uint64_t got);

#ifdef __cplusplus
}
#endif

#endif
