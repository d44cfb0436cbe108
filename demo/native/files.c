/* files.c: what the programs read and write. */
#define _GNU_SOURCE
#include "agent.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/* Reads from the descriptor to its end, into room that grows as needed. */
static bool read_to_end(int fd, struct text *text)
{
    text->length = 0;
    for (;;) {
        if (text->length == text->room) {
            text->room = text->room ? 2 * text->room : 1 << 20;
            text->bytes = realloc(text->bytes, text->room);
            if (text->bytes == NULL)
                fail("realloc");
        }
        ssize_t n = read(fd, text->bytes + text->length, text->room - text->length);
        if (n <= 0)
            return n == 0;
        text->length += (size_t)n;
    }
}

bool read_file(const char *path, struct text *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool whole = read_to_end(fd, text);
    close(fd);
    return whole && text->length <= UINT32_MAX;
}

char **split_paths(const struct text *text, uint32_t *count)
{
    *count = 0;
    for (size_t i = 0; i < text->length; i++)
        *count += text->bytes[i] == '\0';
    char **paths = calloc(*count + 1u, sizeof *paths);
    if (paths == NULL)
        fail("calloc");
    char *path = (char *)text->bytes;
    for (uint32_t i = 0; i < *count; i++, path += strlen(path) + 1)
        paths[i] = path;
    return paths;
}

void write_table(const struct wc_arena *arena, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(arena, arena->heap_next, 1, file) != 1 || fclose(file) != 0)
        fail(path);
}

uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}
