/* self.c: what lockword/self.h promises where a thread's number fits into an id, and where not. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <lockword/lockword.h>

/* Between these two are the ids of threads whose number does not fit: src/wait/self.c. */
#define FIRST_COUNTED 0x08000000u

/* What the system says is the thread's number. The linker puts the function in lw_thread_id's
 * place. */
#define REAL UINT64_MAX
static uint64_t number = REAL;

uint64_t __real_lw_thread_id(void);
uint64_t __wrap_lw_thread_id(void);

uint64_t __wrap_lw_thread_id(void)
{
    return number == REAL ? __real_lw_thread_id() : number;
}

static lw_mutex mutex;

struct asked {
    struct helper helper;
    uint32_t self;
    int error; /* of an unlock of what another thread holds */
};

static void ask(void *argument)
{
    struct asked *asked = argument;
    asked->error = lw_mutex_unlock(&mutex);
    asked->self = lw_self();
}

/* The id of a thread of which the system says this number. */
static struct asked ask_a_thread(uint64_t its_number)
{
    struct asked asked = {.self = 0};
    number = its_number;
    start(&asked.helper, ask, &asked);
    join(&asked.helper);
    number = REAL;
    return asked;
}

TEST(an_id_is_nonzero_stable_and_the_threads_own)
{
    const uint32_t self = lw_self();
    assert_int_not_equal(self, 0);
    assert_int_equal(self & ~LW_SELF_MASK, 0);
    assert_int_equal(self, lw_self());
    const struct asked other = ask_a_thread(REAL);
    assert_int_not_equal(other.self, self);
#if LW_LINUX
    assert_int_equal(self, syscall(SYS_gettid));
    assert_int_equal(other.self, other.helper.tid);
#elif defined(_WIN32)
    assert_int_equal(self, GetCurrentThreadId());
    assert_int_equal(other.self, other.helper.tid);
#endif
}

#ifndef _WIN32 /* which has no fork */

TEST(a_forked_child_has_another_id)
{
    const uint32_t self = lw_self();
    const pid_t child = fork();
    if (child == 0)
        _exit(lw_self() != self && (!LW_LINUX || lw_self() == (uint32_t)getpid()) ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lw_self(), self);
}

#endif

TEST(a_number_that_fits_is_the_id)
{
    const uint64_t numbers[] = {1, 1 << 22, FIRST_COUNTED - 1};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        assert_int_equal(ask_a_thread(numbers[i]).self, numbers[i]);
}

TEST(a_number_that_does_not_fit_becomes_an_id_that_no_other_thread_has)
{
    assert_int_equal(lw_mutex_lock(&mutex), 0);
    const uint64_t numbers[] = {
        0,          FIRST_COUNTED,        LW_MUTEX_IN_AN_ENGINE | 1, LW_SELF_MASK,
        0xc0000000, UINT64_C(1) << 32 | 1};
    uint32_t ids[COUNT_OF(numbers)];
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const struct asked asked = ask_a_thread(numbers[i]);
        assert_int_equal(asked.error, EPERM);
        assert_in_range(asked.self, FIRST_COUNTED, LW_MUTEX_IN_AN_ENGINE - 1);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(asked.self, ids[k]);
        ids[i] = asked.self;
    }
    assert_int_equal(lw_mutex_unlock(&mutex), 0);
}

#ifndef _WIN32 /* which has no fork */

static void ask_in_a_forked_child(void *argument)
{
    int *status = argument;
    const uint32_t self = lw_self();
    const pid_t child = fork();
    if (child == 0)
        _exit(lw_self() != self && lw_self() >= FIRST_COUNTED ? 0 : 1);
    if (waitpid(child, status, 0) != child)
        *status = -1;
}

TEST(a_forked_child_has_another_id_where_no_number_fits)
{
    struct helper helper;
    int status = -1;
    number = 0;
    start(&helper, ask_in_a_forked_child, &status);
    join(&helper);
    number = REAL;
    assert_int_equal(status, 0);
}

#endif

RUN_TESTS("self")
