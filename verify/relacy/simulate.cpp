#include "simulate.h"

#include <relacy/relacy.hpp>

#include <stdio.h>

namespace harness
{

namespace
{

/* Of the scenario that is simulated. */
maker current;

/* What Relacy simulates: a scenario with so many threads. */
template <unsigned threads> struct suite : rl::test_suite<suite<threads>, threads> {
    scenario *one = current.make();

    ~suite()
    {
        one->~scenario();
    }

    void before()
    {
        one->before();
    }

    void thread(unsigned index)
    {
        one->thread(index);
    }

    void after()
    {
        one->after();
    }
};

/*
 * Relacy's output is kept where no heap is needed: it takes every allocation for one of the tested
 * program.
 */
struct trace : std::streambuf {
    char text[1 << 20];

    void clear()
    {
        setp(text, text + sizeof text);
    }

    void print() const
    {
        fwrite(text, 1, size_t(pptr() - pbase()), stdout);
    }
};

trace trace;

typedef rl::test_result_e run(rl::test_params &, std::ostream &, bool);

/*
 * rl::simulate, for one way to choose executions: that function compiles each suite for two more.
 */
verdict simulate(const test &test, run *run, rl::test_params &params)
{
    trace.clear();
    std::ostream output(&trace), progress(nullptr);
    params.output_stream = &output;
    params.progress_stream = &progress;
    params.execution_depth_limit = 4000;
    current = test.tested;
    rl::ostringstream start, again;
    const bool ok = run(params, start, false) == rl::test_result_success;
    if (!ok) { /* Once more, for the trace. */
        params.collect_history = true;
        params.initial_state = params.final_state = start.str();
        run(params, again, true);
    }
    return {ok, (unsigned long)params.stop_iteration, rl::test_result_str(params.test_result)};
}

unsigned failures;
unsigned passes;

} // namespace

verdict by_chance(const test &test, unsigned limit)
{
    rl::test_params params;
    params.iteration_count = limit;
    return simulate(test,
                    test.tested.threads == 2 ? rl::run_test<suite<2>, rl::random_scheduler<2>>
                                             : rl::run_test<suite<3>, rl::random_scheduler<3>>,
                    params);
}

verdict with_preemptions(const test &test, unsigned limit)
{
    if (test.tested.threads != 3)
        abort();
    rl::test_params params;
    params.search_type = rl::sched_bound;
    params.context_bound = limit;
    return simulate(test, rl::run_test<suite<3>, rl::context_bound_scheduler<3>>, params);
}

bool check_one(const test &test, simulator *simulate, unsigned limit, bool wants_trace)
{
    const verdict verdict = simulate(test, limit);
    printf("  %-48s %8lu executions  %s\n", test.name, verdict.iterations,
           verdict.ok ? "ok" : verdict.error);
    if (!verdict.ok && wants_trace)
        trace.print();
    fflush(stdout);
    return verdict.ok;
}

void report(bool ok)
{
    ++(ok ? passes : failures);
}

int finish()
{
    printf("\n%u passed, %u failed\n", passes, failures);
    return failures == 0 ? 0 : 1;
}

} // namespace harness
