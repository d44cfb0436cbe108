/*
 * cmocka.h: the part of cmocka that these tests use, for systems and processors for which it is not
 * installed. The names, their meaning and what is printed are cmocka's.
 */
#ifndef LOCKWORD_TEST_CMOCKA_H
#define LOCKWORD_TEST_CMOCKA_H

#include <stddef.h>
#include <stdint.h>

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    void *initial_state;
};

/* clang-format off */
#define cmocka_unit_test(test) {#test, test, NULL}
/* clang-format on */
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                  \
    cmocka_run(name, tests, sizeof(tests) / sizeof *(tests))

/* Runs those that have a name. Returns how many failed. */
int cmocka_run(const char *group, const struct CMUnitTest *tests, size_t count);

#ifdef _WIN32
#define CMOCKA_PRINTF gnu_printf
#else
#define CMOCKA_PRINTF printf
#endif

/* End the test that runs. */
__attribute__((noreturn, format(CMOCKA_PRINTF, 3, 4))) void cmocka_fail(const char *file, int line,
                                                                        const char *message, ...);
__attribute__((noreturn)) void cmocka_skip(void);

#define fail_msg(...) cmocka_fail(__FILE__, __LINE__, __VA_ARGS__)
#define skip() cmocka_skip()

/* The numbers are compared as cmocka does, as unsigned ones of the largest type. */
void cmocka_compare(uintmax_t a, uintmax_t b, int equal, const char *file, int line,
                    const char *what);
void cmocka_in_range(uintmax_t value, uintmax_t least, uintmax_t most, const char *file, int line,
                     const char *what);
void cmocka_strings(const char *a, const char *b, const char *file, int line);
void cmocka_memory(const void *a, const void *b, size_t size, const char *file, int line);

#define CMOCKA_NUMBER(value) ((uintmax_t)(value))
#define CMOCKA_ADDRESS(value) ((uintmax_t)(uintptr_t)(value))
#define CMOCKA_COMPARE(a, b, equal, what) cmocka_compare(a, b, equal, __FILE__, __LINE__, what)

#define assert_true(value) CMOCKA_COMPARE(!(value), 0, 1, #value)
#define assert_false(value) CMOCKA_COMPARE(!(value), 1, 1, "!(" #value ")")
#define assert_non_null(value) CMOCKA_COMPARE(CMOCKA_ADDRESS(value), 0, 0, #value)
#define assert_int_equal(a, b) CMOCKA_COMPARE(CMOCKA_NUMBER(a), CMOCKA_NUMBER(b), 1, #a " == " #b)
#define assert_int_not_equal(a, b)                                                                 \
    CMOCKA_COMPARE(CMOCKA_NUMBER(a), CMOCKA_NUMBER(b), 0, #a " != " #b)
#define assert_ptr_not_equal(a, b)                                                                 \
    CMOCKA_COMPARE(CMOCKA_ADDRESS(a), CMOCKA_ADDRESS(b), 0, #a " != " #b)
#define assert_in_range(value, least, most)                                                        \
    cmocka_in_range(CMOCKA_NUMBER(value), CMOCKA_NUMBER(least), CMOCKA_NUMBER(most), __FILE__,     \
                    __LINE__, #value)
#define assert_string_equal(a, b) cmocka_strings(a, b, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) cmocka_memory(a, b, size, __FILE__, __LINE__)

#endif
