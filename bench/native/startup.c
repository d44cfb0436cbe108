/*
 * startup.c ROUNDS PROGRAM...: how long each program takes from its start to its end, and nothing
 * else: the median of so many rounds, in which the programs take turns. Prints ns, one line each.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t run(char *program)
{
    char *const arguments[] = {program, NULL};
    const int64_t begin = now();
    pid_t child;
    int status;
    if (posix_spawn(&child, program, NULL, NULL, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "%s: failed\n", program);
        exit(1);
    }
    return now() - begin;
}

static int compare(const void *a, const void *b)
{
    const int64_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

int main(int count, char **words)
{
    const int rounds = count > 2 ? atoi(words[1]) : 0;
    const int programs = count - 2;
    if (rounds < 1) {
        fprintf(stderr, "usage: %s ROUNDS PROGRAM...\n", words[0]);
        return 2;
    }
    int64_t *times = calloc((size_t)rounds * (size_t)programs, sizeof *times);
    if (!times)
        return 1;
    /* A child inherits this: it does not move to another CPU's caches. */
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int program = 0; program < programs; program++)
        run(words[2 + program]);
    for (int round = 0; round < rounds; round++) {
        for (int program = 0; program < programs; program++)
            times[program * rounds + round] = run(words[2 + program]);
    }
    for (int program = 0; program < programs; program++) {
        int64_t *of = times + program * rounds;
        qsort(of, (size_t)rounds, sizeof *of, compare);
        printf("%lld\n", (long long)of[rounds / 2]);
    }
    free(times);
    return 0;
}
