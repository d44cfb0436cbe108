/* cmocka.c: what its header says. The tests of a program run one after another. */
#include "cmocka.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    RUNS,
    FAILED,
    SKIPPED,
};

static jmp_buf end_of_test;

void cmocka_fail(const char *file, int line, const char *message, ...)
{
    va_list arguments;
    va_start(arguments, message);
    printf("%s:%d: error: ", file, line);
    vprintf(message, arguments);
    printf("\n");
    va_end(arguments);
    longjmp(end_of_test, FAILED);
}

void cmocka_skip(void)
{
    longjmp(end_of_test, SKIPPED);
}

void cmocka_compare(uintmax_t a, uintmax_t b, int equal, const char *file, int line,
                    const char *what)
{
    if ((a == b) != equal)
        cmocka_fail(file, line, "not %s (%#jx, %#jx)", what, a, b);
}

void cmocka_in_range(uintmax_t value, uintmax_t least, uintmax_t most, const char *file, int line,
                     const char *what)
{
    if (value < least || value > most)
        cmocka_fail(file, line, "%s is %#jx, not %#jx to %#jx", what, value, least, most);
}

void cmocka_strings(const char *a, const char *b, const char *file, int line)
{
    if (strcmp(a, b) != 0)
        cmocka_fail(file, line, "\"%s\" is not \"%s\"", a, b);
}

void cmocka_memory(const void *a, const void *b, size_t size, const char *file, int line)
{
    if (memcmp(a, b, size) != 0)
        cmocka_fail(file, line, "%zu bytes differ", size);
}

int cmocka_run(const char *group, const struct CMUnitTest *tests, size_t count)
{
    static size_t ended[SKIPPED + 1];
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    printf("[==========] %s: running tests\n", group);
    for (size_t volatile i = 0; i < count; i++) {
        if (!tests[i].name)
            continue;
        void *state = tests[i].initial_state;
        printf("[ RUN      ] %s\n", tests[i].name);
        const int end = setjmp(end_of_test);
        if (end == RUNS)
            tests[i].test_func(&state);
        static const char *const ways[] = {"[       OK ]", "[  FAILED  ]", "[  SKIPPED ]"};
        printf("%s %s\n", ways[end], tests[i].name);
        ended[end]++;
    }
    printf("[  PASSED  ] %zu test(s).\n", ended[RUNS]);
    if (ended[SKIPPED] > 0)
        printf("[  SKIPPED ] %zu test(s).\n", ended[SKIPPED]);
    if (ended[FAILED] > 0)
        printf("[  FAILED  ] %zu test(s).\n", ended[FAILED]);
    return (int)ended[FAILED];
}
