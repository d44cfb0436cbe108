/* agent.h: what the threads, the event loop and the processes have in common. */
#ifndef AGENT_H
#define AGENT_H

#include "../wordcount.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>

struct text {
    uint8_t *bytes;
    size_t length, room;
};

struct job {
    struct wc_arena *arena;
    char **paths;
};

struct worker {
    thrd_t thread;
    const struct job *job;
    uint32_t number;
    struct wc_tally tally;
    uint32_t files, failed;
    uint64_t bytes;
    /* Of the event loop's timer. */
    double median_late_ms, worst_late_ms;
};

/* Prints what has just failed, and ends the program. */
void fail(const char *what);

/* Reads a whole file into the text. Returns false if it cannot be read. */
bool read_file(const char *path, struct text *text);

/* The NUL-ended paths of the text as an array, and how many. */
char **split_paths(const struct text *text, uint32_t *count);

/* Writes the part of the table that is in use. */
void write_table(const struct wc_arena *arena, const char *path);

uint32_t number(const char *text);

/* Keeps the calling thread on one of the processors that it may use, its number-th. */
void stay_on_processor(uint32_t number);

/* A thread's work, for thrd_create: counts on an event loop, without ever blocking for a lock. */
int work_on_loop(void *worker);

#endif
