/*
 * main.c: wordcount.h with native threads, and one thread with an event loop (loop.c).
 *
 *     wordcount THREADS LOCKING HEAP-BYTES BUCKETS FILES TABLE
 *
 * FILES names a file of paths, each ended by a NUL. When all are counted, the table is written to
 * TABLE, as it is in memory. While it works it prints how many files have been handed out, one
 * number a line; last, one line of JSON about each thread and one about all. THREADS does not count
 * the event loop's.
 */
#define _GNU_SOURCE
#include "agent.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PROGRESS_EVERY_NS 10000000
#define NS_PER_S 1e9

/*
 * Some kernels leave threads that wake each other together on one processor, where they hardly ever
 * meet at a lock.
 */
void stay_on_processor(uint32_t number)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    uint32_t before = number % (uint32_t)CPU_COUNT(&allowed);
    size_t processor = 0;
    while (!CPU_ISSET(processor, &allowed) || before-- > 0)
        processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static int work(void *argument)
{
    struct worker *worker = argument;
    stay_on_processor(worker->number);
    struct text text = {0};
    uint32_t file;
    while ((file = wc_take_file(worker->job->arena, &worker->tally)) != WC_NO_FILE) {
        if (!read_file(worker->job->paths[file], &text)) {
            worker->failed++;
            continue;
        }
        wc_count(worker->job->arena, &worker->tally, text.bytes, (uint32_t)text.length);
        worker->files++;
        worker->bytes += text.length;
    }
    free(text.bytes);
    return 0;
}

static uint32_t files_taken(struct wc_arena *arena)
{
    lw_mutex_lock(&arena->files_lock);
    const uint32_t taken = arena->next_file;
    lw_mutex_unlock(&arena->files_lock);
    return taken;
}

static void show_progress(const struct job *job)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = PROGRESS_EVERY_NS};
    for (uint32_t taken = 0; taken < job->arena->files;) {
        nanosleep(&pause, NULL);
        taken = files_taken(job->arena);
        printf("%" PRIu32 "\n", taken);
        fflush(stdout);
    }
}

static void report(const struct worker *worker, const char *kind)
{
    const struct wc_tally *t = &worker->tally;
    printf("{\"kind\": \"%s\", \"files\": %" PRIu32 ", \"failed\": %" PRIu32 ", \"bytes\": %" PRIu64
           ", \"words\": %" PRIu32 ", \"contended\": %" PRIu32 ", \"waits\": %" PRIu32
           ", \"waited_us\": %" PRIu32 ", \"longest_us\": %" PRIu32 ", \"full\": %" PRIu32
           ", \"damaged\": %" PRIu32 "}\n",
           kind, worker->files, worker->failed, worker->bytes, t->words, t->contended, t->waits,
           t->waited_us, t->longest_us, t->full, t->damaged);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / NS_PER_S;
}

/* Counts all files with this many threads, and an event loop. */
static void run(const struct job *job, size_t threads)
{
    const size_t agents = threads + 1;
    struct worker *workers = calloc(agents, sizeof *workers);
    if (workers == NULL)
        fail("calloc");
    const double start = seconds();
    for (size_t i = 0; i < agents; i++) {
        workers[i].job = job;
        workers[i].number = (uint32_t)i;
        if (thrd_create(&workers[i].thread, i < threads ? work : work_on_loop, &workers[i]) !=
            thrd_success)
            fail("thrd_create");
    }
    show_progress(job);
    for (size_t i = 0; i < agents; i++)
        thrd_join(workers[i].thread, NULL);
    const double took = seconds() - start;
    for (size_t i = 0; i < agents; i++)
        report(&workers[i], i < threads ? "C thread" : "C event loop");
    printf("{\"seconds\": %.6f, \"lateness\": {\"medianMs\": %.3f, \"worstMs\": %.3f}}\n", took,
           workers[threads].median_late_ms, workers[threads].worst_late_ms);
    free(workers);
}

static struct wc_arena *new_arena(uint32_t heap_bytes, uint32_t buckets, uint32_t files,
                                  uint32_t locking)
{
    const uint64_t size = wc_size(heap_bytes, buckets);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap");
    wc_format(memory, heap_bytes, buckets, files, locking);
    return memory;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: %s THREADS LOCKING HEAP-BYTES BUCKETS FILES TABLE\n", argv[0]);
        return 2;
    }
    struct text list = {0};
    if (!read_file(argv[5], &list))
        fail(argv[5]);
    uint32_t files;
    struct job job = {.paths = split_paths(&list, &files)};
    job.arena = new_arena(number(argv[3]), number(argv[4]), files, number(argv[2]));
    run(&job, number(argv[1]));
    write_table(job.arena, argv[6]);
    free(job.paths);
    free(list.bytes);
    return 0;
}
