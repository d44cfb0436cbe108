/*
 * process.c: one of several processes that count into one table in a file. Any of them may be
 * killed at any instruction.
 *
 *     wordcount-process REGION MEMORY PLACE HEAP-BYTES BUCKETS FILES [TABLE]
 *
 * REGION has the mutex, MEMORY the table: files that whoever comes first makes. FILES is as in
 * main.c. PLACE is a number below PLACES, which no two processes have at a time. The process that
 * has it after one that was killed begins with the file that the other one had not finished.
 *
 * A file is counted into a table of the process's own, and then added to the shared one, all or
 * nothing: first the process writes into a log what each word's number will be, and then changes
 * the words. If it is killed before the log is complete, nothing has changed. If it is killed
 * later, the next holder of the mutex is told (EOWNERDEAD), and does what the log says, again from
 * its start.
 *
 * Prints a line for each file that is finished, and with TABLE writes the table as main.c does, and
 * prints what the deaths came to.
 */
#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lockword/region.h>

#define PLACES 64
#define OWN_BUCKETS 16384
#define MAX_OWN_HEAP (UINT32_C(1) << 31)
#define ALIGNMENT 64

struct change {
    uint32_t offset, count; /* of a word */
};

/* What the processes share besides the table. The mutex guards it. */
struct shared {
    uint32_t holder; /* its process id: a reader without the mutex can kill a holder */
    uint32_t is_made;
    uint32_t next_file;
    uint32_t failed;        /* files that were not counted */
    uint32_t full;          /* words that the table had no room for */
    uint32_t deaths;        /* of holders */
    uint32_t redone;        /* of these, the ones after which the log was complete */
    uint32_t place[PLACES]; /* 1 + the file that is counted there; 0: none */
    uint32_t log_file;
    uint32_t log_length; /* not 0: the log is complete, and the words have to be changed */
};

struct process {
    struct shared *shared;
    uint8_t *is_done; /* for each file */
    struct change *log;
    struct wc_arena *table;

    lw_region_mutex mutex;
    uint32_t place;
    uint32_t heap_bytes, buckets, files;
    char **paths;
    struct wc_arena *own;
    size_t own_room;
};

/* Makes something known, after all that was written before: a death may come in between. */
static void publish(uint32_t *number, uint32_t value)
{
    __atomic_store_n(number, value, __ATOMIC_RELEASE);
}

static struct wc_word *word_at(struct wc_arena *arena, uint32_t offset)
{
    return (struct wc_word *)(void *)((uint8_t *)arena + offset);
}

/* Changes the words as the log says. Does no harm if some of them were changed already. */
static void follow_log(struct process *process)
{
    struct shared *shared = process->shared;
    for (uint32_t i = 0; i < shared->log_length; i++)
        word_at(process->table, process->log[i].offset)->count = process->log[i].count;
    process->is_done[shared->log_file] = 1;
    publish(&shared->log_length, 0);
}

static void lock(struct process *process)
{
    struct shared *shared = process->shared;
    const int error = lw_region_mutex_lock(&process->mutex);
    if (error == EOWNERDEAD) {
        shared->deaths++;
        shared->redone += shared->log_length > 0;
        follow_log(process);
    } else if (error != 0) {
        errno = error;
        fail("lw_region_mutex_lock");
    }
    publish(&shared->holder, (uint32_t)getpid());
    if (!shared->is_made) {
        wc_format(process->table, process->heap_bytes, process->buckets, process->files, 1);
        publish(&shared->is_made, 1);
    }
}

static void unlock(struct process *process)
{
    publish(&process->shared->holder, 0);
    lw_region_mutex_unlock(&process->mutex);
}

/* The file to count next; WC_NO_FILE if none is left. */
static uint32_t take_file(struct process *process)
{
    struct shared *shared = process->shared;
    uint32_t *mine = &shared->place[process->place];
    lock(process);
    if (*mine == 0 || process->is_done[*mine - 1]) {
        /* In this order a death in between makes two count the file: the second one adds nothing.
         */
        publish(mine, shared->next_file < process->files ? shared->next_file + 1 : 0);
        if (*mine != 0)
            publish(&shared->next_file, shared->next_file + 1);
    }
    const uint32_t file = *mine - 1;
    unlock(process);
    return file;
}

/* Counts the text into the process's own table. Returns false if that is too large. */
static bool count_alone(struct process *process, const struct text *text)
{
    /* A word has a letter at least, and a separator behind it; and it is padded to 4 bytes. */
    const uint64_t needed = (text->length / 2 + 1) * (sizeof(struct wc_word) + 4);
    const uint32_t heap_bytes = needed < MAX_OWN_HEAP ? (uint32_t)needed : MAX_OWN_HEAP;
    const size_t size = wc_size(heap_bytes, OWN_BUCKETS);
    if (size > process->own_room) {
        free(process->own);
        process->own = malloc(size);
        process->own_room = size;
        if (process->own == NULL)
            fail("malloc");
    }
    struct wc_tally tally = {0};
    memset(process->own, 0, wc_size(0, OWN_BUCKETS));
    wc_format(process->own, heap_bytes, OWN_BUCKETS, 0, 0);
    process->own->max_chain = UINT32_MAX;
    wc_count(process->own, &tally, text->bytes, (uint32_t)text->length);
    return tally.full == 0;
}

/* Where the shared table has the word. It is put there first, with the number 0, if need be. */
static uint32_t place_of(struct process *process, const struct wc_word *word)
{
    const struct wc_key key = {(const uint8_t *)(word + 1), word->length, word->hash};
    struct wc_tally tally = {0};
    const uint32_t offset = wc_look_up(process->table, &key);
    return offset == WC_UNKNOWN ? wc_insert(process->table, &tally, &key, 0) : offset;
}

/* Adds the process's own table to the shared one. */
static void add(struct process *process, uint32_t file)
{
    struct shared *shared = process->shared;
    lock(process);
    uint32_t length = 0;
    for (uint32_t at = process->own->heap_at; at < process->own->heap_next;) {
        const struct wc_word *word = word_at(process->own, at);
        const uint32_t offset = place_of(process, word);
        if (offset != 0)
            process->log[length++] =
                (struct change){offset, word_at(process->table, offset)->count + word->count};
        else
            shared->full++;
        at += (sizeof *word + word->length + 3) & ~UINT32_C(3);
    }
    if (!process->is_done[file]) {
        shared->log_file = file;
        publish(&shared->log_length, length);
        follow_log(process);
    }
    unlock(process);
}

static void skip(struct process *process, uint32_t file)
{
    lock(process);
    process->shared->failed += !process->is_done[file];
    process->is_done[file] = 1;
    unlock(process);
}

static void work(struct process *process)
{
    struct text text = {0};
    uint32_t file;
    while ((file = take_file(process)) != WC_NO_FILE) {
        if (read_file(process->paths[file], &text) && count_alone(process, &text))
            add(process, file);
        else
            skip(process, file);
        printf("%" PRIu32 "\n", file);
        fflush(stdout);
    }
    free(text.bytes);
}

static size_t round_up(size_t n)
{
    return (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Maps what the processes share. Bytes that nobody writes cost no memory. */
static void map(struct process *process, const char *path)
{
    const size_t is_done_at = round_up(sizeof(struct shared));
    const size_t log_at = is_done_at + round_up(process->files);
    /* No file has more different words than the table has room for. */
    const size_t most = process->heap_bytes / sizeof(struct wc_word);
    const size_t table_at = log_at + round_up(most * sizeof(struct change));
    const size_t size = table_at + wc_size(process->heap_bytes, process->buckets);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        fail(path);
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        fail(path);
    close(fd);
    process->shared = (void *)memory;
    process->is_done = memory + is_done_at;
    process->log = (void *)(memory + log_at);
    process->table = (void *)(memory + table_at);
}

int main(int argc, char **argv)
{
    if (argc != 7 && argc != 8) {
        fprintf(stderr, "usage: %s REGION MEMORY PLACE HEAP-BYTES BUCKETS FILES [TABLE]\n",
                argv[0]);
        return 2;
    }
    struct process process = {
        .place = number(argv[3]) % PLACES,
        .heap_bytes = number(argv[4]),
        .buckets = number(argv[5]),
    };
    struct text list = {0};
    if (!read_file(argv[6], &list))
        fail(argv[6]);
    process.paths = split_paths(&list, &process.files);
    map(&process, argv[2]);

    lw_region *region;
    errno = lw_region_open(&region, argv[1], LW_REGION_CREATE, 0600, 0);
    if (errno == 0)
        errno = lw_region_mutex_named(region, "table", &process.mutex);
    if (errno != 0)
        fail(argv[1]);
    work(&process);
    if (argc == 8) {
        lock(&process);
        write_table(process.table, argv[7]);
        printf("{\"deaths\": %" PRIu32 ", \"redone\": %" PRIu32 ", \"failed\": %" PRIu32 "}\n",
               process.shared->deaths, process.shared->redone,
               process.shared->failed + process.shared->full);
        unlock(&process);
    }
    lw_region_close(region);
    free(process.own);
    free(process.paths);
    free(list.bytes);
    return 0;
}
