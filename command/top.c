/* top.c: `lockword top`, a view of the locks that renews itself. */
#include "command.h"

#include <curses.h>
#include <err.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EVERY_MS = 1000 };

/* A lock, as it was last seen. */
struct row {
    struct lw_region_info info;
    uint32_t place; /* in the region */
    double turns_per_s;
};

struct view {
    struct row *rows;
    size_t count;
    int64_t seen_ns; /* when */
    size_t first;    /* the row at the top */
};

/* The locks that are waited for the most come first, then those that are held, then the busiest. */
static int compare(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->info.waiters != b->info.waiters)
        return a->info.waiters < b->info.waiters ? 1 : -1;
    if (!a->info.holder_pid != !b->info.holder_pid)
        return a->info.holder_pid ? -1 : 1;
    if (a->turns_per_s != b->turns_per_s)
        return a->turns_per_s < b->turns_per_s ? 1 : -1;
    return strcmp(a->info.name, b->info.name);
}

static int compare_places(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    return a->place < b->place ? -1 : a->place > b->place;
}

/*
 * Finds the row at this place, if it has this name still. *from is 0 at first, and is moved: it is
 * called for one place after another, since there may be thousands.
 */
static const struct row *find(const struct view *view, size_t *from, uint32_t place,
                              const char *name)
{
    while (*from < view->count && view->rows[*from].place < place)
        ++*from;
    if (*from == view->count)
        return NULL;
    const struct row *row = &view->rows[*from];
    return row->place == place && strcmp(row->info.name, name) == 0 ? row : NULL;
}

/* Looks again. Turns are counted from the last look on. */
static void renew(struct view *view, lw_region *region)
{
    struct view next = {.seen_ns = lw_after_ns(0), .first = view->first};
    struct lw_region_info info;
    size_t from = 0;
    if (view->count)
        qsort(view->rows, view->count, sizeof *view->rows, compare_places);
    for (uint32_t cursor = 0; region && lw_region_next(region, &cursor, &info) == 0;) {
        struct row *rows = realloc(next.rows, (next.count + 1) * sizeof *rows);
        if (!rows)
            break;
        next.rows = rows;
        const struct row *before = find(view, &from, cursor, info.name);
        const uint32_t turns = before ? info.acquisitions - before->info.acquisitions : 0;
        next.rows[next.count++] = (struct row){
            info, cursor, before ? turns * 1e9 / (double)(next.seen_ns - view->seen_ns) : 0};
    }
    if (next.count)
        qsort(next.rows, next.count, sizeof *next.rows, compare);
    free(view->rows);
    *view = next;
}

static void print_line(int y, chtype attributes, const char *text)
{
    char clean[512];
    snprintf(clean, sizeof clean, "%s", text);
    attrset((int)attributes);
    move(y, 0);
    clrtoeol();
    addnstr(plain(clean), COLS);
    if (attributes & A_REVERSE)
        mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
    attrset(A_NORMAL);
}

/* A command line, without the folder of the program. */
static const char *without_folder(const char *command)
{
    const char *begin = command;
    for (const char *c = command; *c && *c != ' '; c++) {
        if (*c == '/')
            begin = c + 1;
    }
    return begin;
}

static void print_row(int y, const struct row *row)
{
    const struct lw_region_info *info = &row->info;
    char text[512], command[200] = "", wait[16] = "";
    if (info->holder_pid)
        describe_process(info->holder_pid, command, sizeof command);
    else if (info->fate)
        snprintf(command, sizeof command, "%s",
                 info->fate == EOWNERDEAD ? "(its holder died)" : "(abandoned)");
    if (info->waiters)
        snprintf(wait, sizeof wait, "%.1f", (double)info->longest_ms / 1000);
    snprintf(text, sizeof text, "%-20.20s %7u %9s %8.1f %7u %7.0u  %s", info->name, info->waiters,
             wait, row->turns_per_s, info->recoveries, info->holder_pid, without_folder(command));
    print_line(y, info->waiters ? A_BOLD : A_NORMAL, text);
}

static void print(struct view *view, const struct options *options)
{
    char text[512], clock[16];
    const time_t now = time(NULL);
    uint32_t waiting = 0, held = 0;
    for (size_t i = 0; i < view->count; i++) {
        waiting += view->rows[i].info.waiters;
        held += view->rows[i].info.holder_pid != 0 || view->rows[i].info.held > 0;
    }
    strftime(clock, sizeof clock, "%H:%M:%S", localtime(&now));
    erase();
    snprintf(text, sizeof text, "%s  %zu locks, %u held, %u waiting  %s", clock, view->count, held,
             waiting, options->region);
    print_line(0, A_NORMAL, text);
    print_line(1, A_REVERSE,
               "NAME                 WAITING LONGEST s  TURNS/s  DEATHS     PID  HELD BY");
    const size_t room = LINES > 3 ? (size_t)LINES - 3 : 0;
    if (view->first + room > view->count)
        view->first = view->count > room ? view->count - room : 0;
    for (size_t i = 0; i < room && view->first + i < view->count; i++)
        print_row((int)i + 2, &view->rows[view->first + i]);
    print_line(LINES - 1, A_REVERSE, "q: quit   up, down: other locks");
    refresh();
}

/* Returns whether to go on. */
static bool obey(struct view *view, int key)
{
    const size_t page = LINES > 4 ? (size_t)LINES - 4 : 1;
    switch (key) {
    case 'q':
    case 'Q':
        return false;
    case KEY_UP:
        view->first -= view->first > 0;
        break;
    case KEY_DOWN:
        view->first++;
        break;
    case KEY_PPAGE:
        view->first -= view->first < page ? view->first : page;
        break;
    case KEY_NPAGE:
        view->first += page;
        break;
    case KEY_HOME:
        view->first = 0;
        break;
    default:
        break;
    }
    return true;
}

/* Where SIGHUP is ignored, as under nohup, this process outlives its terminal: no key comes then.
 */
static bool has_hung_up(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0 && input.revents & (POLLHUP | POLLERR);
}

int command_top(const struct options *options, char **words)
{
    (void)words;
    lw_region *region = open_region(options, false);
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        errx(FAILED, "top needs a terminal: see 'lockword list'");
    setlocale(LC_ALL, "");
    /* Not initscr, which ends the process itself, with 1. */
    if (!newterm(NULL, stdout, stdin))
        errx(FAILED, "no such terminal: TERM is '%s'", getenv("TERM") ? getenv("TERM") : "");
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, true);
    struct view view = {0};
    int key = ERR;
    do {
        /* Between two keys that follow each other at once there is nothing new to see. */
        const int64_t age_ms = (lw_after_ns(0) - view.seen_ns) / 1000000;
        if (age_ms >= EVERY_MS) {
            if (!region)
                region = open_region(options, false);
            renew(&view, region);
        }
        print(&view, options);
        timeout(age_ms >= EVERY_MS ? EVERY_MS : EVERY_MS - (int)age_ms);
        key = getch();
        if (key == ERR && has_hung_up())
            return FAILED;
    } while (obey(&view, key));
    endwin();
    return 0;
}
