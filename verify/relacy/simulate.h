/*
 * simulate.h: Relacy's simulation of scenarios. Relacy's own classes are templates over the tested
 * one, and take seconds to compile. So simulate.cpp compiles them for any scenario, once.
 */
#ifndef LOCKWORD_RELACY_SIMULATE_H
#define LOCKWORD_RELACY_SIMULATE_H

#include <memory>
#include <stddef.h>

namespace harness
{

/* It is made, runs and is destroyed within each execution: it contains Relacy's variables. */
struct scenario {
    virtual ~scenario() = default;
    virtual void before()
    {
    }
    virtual void thread(unsigned index) = 0;
    virtual void after()
    {
    }
};

/* What a row of a table needs of a scenario's class: `of` takes it. */
struct maker {
    unsigned threads;
    scenario *(*make)();
};

/*
 * In static memory, since Relacy takes heap memory for the tested program's. Where an execution has
 * failed, its scenario is left as it is. `new` is a macro of Relacy's.
 */
template <class one> scenario *make()
{
    static_assert(one::threads == 2 || one::threads == 3);
    alignas(one) static unsigned char memory[sizeof(one)];
    one *made = reinterpret_cast<one *>(memory);
    std::uninitialized_value_construct_n(made, 1);
    return made;
}

template <class one> constexpr maker of = {one::threads, make<one>};

struct test {
    const char *name;
    maker tested;
};

struct verdict {
    bool ok;
    unsigned long iterations;
    const char *error;
};

/* Simulates a test in some of its executions. */
typedef verdict simulator(const test &, unsigned limit);

/* In so many, drawn by chance. */
simulator by_chance;

/* In all of three threads that have at most so many preemptions. */
simulator with_preemptions;

/*
 * Simulates, and prints the verdict; also the trace of a failure, if wanted. Returns whether the
 * test passes.
 */
bool check_one(const test &, simulator *, unsigned limit, bool wants_trace);

void report(bool ok);

/* Prints the sum, and returns the exit status. */
int finish();

} // namespace harness

#endif
