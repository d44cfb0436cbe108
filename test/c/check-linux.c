/* check-linux.c: threads and memory as Linux has them. */
#define _GNU_SOURCE
#include "check-system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000
#define PAGE 4096

uint32_t number_of_this_thread(struct helper *helper)
{
    (void)helper;
    return (uint32_t)syscall(SYS_gettid);
}

/* The state letter of /proc/PID/task/TID/stat, which follows the parenthesised name. */
static char state_of(uint32_t tid)
{
    char path[64];
    char text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 'X';
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    const char *end = strrchr(text, ')');
    return end != NULL && end + 2 < text + size ? end[2] : '?';
}

bool is_asleep(const struct helper *helper)
{
    return state_of(helper->tid) == 'S';
}

struct usage usage_of(const struct helper *helper)
{
    static const char field[] = "voluntary_ctxt_switches:";
    struct usage usage = {-1, 0};
    char path[64];
    char line[256];
    snprintf(path, sizeof path, "/proc/self/task/%u/status", helper->tid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, sizeof field - 1) == 0)
            usage.sleeps = strtol(line + sizeof field - 1, NULL, 10);
    }
    if (file != NULL)
        fclose(file);
    clockid_t clock;
    struct timespec used = {0, 0};
    assert_int_equal(pthread_getcpuclockid(helper->thread, &clock), 0);
    assert_int_equal(clock_gettime(clock, &used), 0);
    usage.cpu_ns = (int64_t)used.tv_sec * NS_PER_S + used.tv_nsec;
    assert_true(usage.sleeps >= 0);
    return usage;
}

void *allocate_page(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    return page;
}

void free_page(void *page)
{
    munmap(page, PAGE);
}
