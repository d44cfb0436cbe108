/*
 * lockword.c: the `lockword` command takes, shows and removes the named locks of a region. Its
 * manual is lockword.1.
 */
#define _GNU_SOURCE
#include "command.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Options that have no letter. */
enum { ONCE = 256, JSON, REGION, SIGNAL, AT, TTL, PERMITS };

static const struct option all_options[] = {
    {"region", required_argument, NULL, REGION},
    {"at", required_argument, NULL, AT},
    {"ttl", required_argument, NULL, TTL},
    {"timeout", required_argument, NULL, 'w'},
    {"wait", required_argument, NULL, 'w'}, /* this one, and -e, as flock(1) has them */
    {"try", no_argument, NULL, 'n'},
    {"nonblock", no_argument, NULL, 'n'},
    {"nb", no_argument, NULL, 'n'},
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"shared", no_argument, NULL, 's'},
    {"exclusive", no_argument, NULL, 'x'},
    {"permits", required_argument, NULL, PERMITS},
    {"once", no_argument, NULL, ONCE},
    {"verbose", no_argument, NULL, 'v'},
    {"json", no_argument, NULL, JSON},
    {"signal", required_argument, NULL, SIGNAL},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const struct subcommand {
    const char *name;
    const char *words; /* what follows the options */
    int least, most;   /* how many these are */
    int (*call)(const struct options *, char **);
    int options[12]; /* which it takes, besides --region */
    const char *does;
} subcommands[] = {
    {"run",
     "NAME [--] COMMAND [ARGUMENT...]",
     2,
     -1,
     command_run,
     {'s', 'x', PERMITS, 'w', 'n', 'E', ONCE, 'v', AT, TTL},
     "runs the command while it holds the lock"},
    {"list", "", 0, 0, command_list, {AT, JSON}, "shows all locks"},
    {"show", "NAME", 1, 1, command_show, {AT, JSON}, "shows one lock"},
    {"top", "", 0, 0, command_top, {0}, "shows all locks, again and again, in a terminal"},
    {"deadlocks", "", 0, 0, command_deadlocks, {JSON}, "shows processes that wait for each other"},
    {"wait",
     "NAME",
     1,
     1,
     command_wait,
     {AT, TTL, 's', 'x', 'w', 'n', 'E'},
     "waits until the lock is free"},
    {"break", "NAME", 1, 1, command_break, {AT, SIGNAL}, "kills the process that holds the lock"},
    {"remove", "NAME", 1, 1, command_remove, {0}, "forgets a lock that is free"},
};

static const struct {
    int option;
    const char *shown;
    const char *does;
} option_texts[] = {
    {REGION, "--region FILE",
     "where the locks are; else $LOCKWORD_REGION, else /dev/shm/lockword-UID"},
    {AT, "--at etcd://HOST:PORT,...",
     "the locks that all machines share which use this etcd cluster"},
    {TTL, "--ttl SECONDS", "how long a lock on etcd outlives a holder that dies; else 10"},
    {'s', "-s, --shared", "with all others that say so; the name is a read-write lock then"},
    {'x', "-x, -e, --exclusive", "without those, and alone; the name is a read-write lock then"},
    {PERMITS, "--permits N", "with N - 1 others at most; $LOCKWORD_PERMIT is 0 to N - 1"},
    {'w', "-w, --timeout SECONDS", "gives up after so long; also --wait"},
    {'n', "-n, --try", "does not wait at all; also --nonblock, --nb"},
    {'E', "-E, --conflict-exit-code N", "the exit status if it gives up; else 1"},
    {ONCE, "--once", "waits for another run of it; if that ends with 0, does not run it again"},
    {'v', "-v, --verbose", "tells which process it waits for"},
    {JSON, "--json", "for programs"},
    {SIGNAL, "--signal NAME", "instead of KILL"},
};

static const struct subcommand *subcommand;

static bool takes(const struct subcommand *command, int option)
{
    for (size_t i = 0; i < sizeof command->options / sizeof *command->options; i++) {
        if (command->options[i] == option)
            return true;
    }
    return option == REGION || option == 'h';
}

static void print_usage(FILE *out)
{
    if (subcommand) {
        fprintf(out, "usage: lockword %s [OPTION...] %s\n%s.\n\n", subcommand->name,
                subcommand->words, subcommand->does);
        for (size_t i = 0; i < sizeof option_texts / sizeof *option_texts; i++) {
            if (takes(subcommand, option_texts[i].option))
                fprintf(out, "  %-28s %s\n", option_texts[i].shown, option_texts[i].does);
        }
        return;
    }
    fputs("usage: lockword SUBCOMMAND [OPTION...] ...\n\n", out);
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
        fprintf(out, "  %-9s %-32s %s\n", subcommands[i].name, subcommands[i].words,
                subcommands[i].does);
    fputs("\n'lockword SUBCOMMAND --help' tells its options, 'man lockword' the rest.\n", out);
}

_Noreturn static void point_to_help(void)
{
    fprintf(stderr, "'lockword%s%s --help' tells how to call it\n", subcommand ? " " : "",
            subcommand ? subcommand->name : "");
    exit(FAILED);
}

_Noreturn static void refuse(const char *what, const char *value)
{
    warnx("%s%s%s", what, value ? ": " : "", value ? value : "");
    point_to_help();
}

static double number_of(const char *text, double most)
{
    char *end;
    const double number = strtod(text, &end);
    if (end == text || *end || !(number >= 0) || number > most) {
        char what[64];
        snprintf(what, sizeof what, "not a number from 0 to %.0f", most);
        refuse(what, text);
    }
    return number;
}

static int whole_number_of(const char *text, int most)
{
    const double number = number_of(text, most);
    if (number != (int)number)
        refuse("not a whole number", text);
    return (int)number;
}

static const struct {
    const char *name;
    int number;
} signals[] = {{"TERM", SIGTERM}, {"KILL", SIGKILL}, {"INT", SIGINT},
               {"HUP", SIGHUP},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT}};

const char *name_of_signal(int signal)
{
    size_t i = 0;
    while (signals[i].number != signal)
        i++;
    return signals[i].name;
}

static int signal_of(const char *text)
{
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (strcmp(name, signals[i].name) == 0)
            return signals[i].number;
    }
    refuse("no signal of TERM, KILL, INT, HUP, QUIT, ABRT", text);
}

/* A mistyped name looks like a region in which all is free; the default one is made when needed. */
static void say_that_there_is_none(const struct options *options)
{
    static bool has_said;
    if (options->is_region_named && !has_said)
        warnx("%s: there is no such file, and so there are no locks", options->region);
    has_said = true;
}

static struct stat opened;

lw_region *open_region(const struct options *options, bool creates)
{
    const char *file = options->region;
    lw_region *region;
    /* The file outlives this umask, by which its owner, too, may be shut out. */
    const mode_t mask = umask(0);
    const int error = lw_region_open(&region, file, creates ? LW_REGION_CREATE : 0, 0600, 0);
    umask(mask);
    if (error == ENOENT && !creates) {
        say_that_there_is_none(options);
        return NULL;
    }
    if (error)
        errx(FAILED, "%s: %s", file,
             error == EBADMSG  ? "no region, or a damaged one"
             : error == EPROTO ? "a region of another version of lockword"
             : error == EPERM  ? "the file belongs to another user"
             : error == ELOOP  ? "a symbolic link, which is not followed"
             : error == EINVAL ? "no regular file"
             : error == EAGAIN ? "1023 processes use it already, or no thread can be started"
                               : strerror(error));
    if (stat(file, &opened) != 0)
        err(FAILED, "%s", file);
    return region;
}

bool is_region(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && status.st_dev == opened.st_dev &&
           status.st_ino == opened.st_ino;
}

lw_deadline deadline_of(const struct options *options)
{
    return options->timeout < 0 ? LW_FOREVER : lw_after_ns((int64_t)(options->timeout * 1e9));
}

/*
 * Finds the next file that a process shares with others by a mapping. Returns whether it can.
 * Shared memory without a file, of which the library has some, seems to be one of /dev/zero.
 */
static bool next_shared_file(FILE *maps, char *file, size_t size)
{
    char line[512], access[8], device[16], inode[24];
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%*s %7s %*s %15s %23s", access, device, inode) == 3 &&
            strcmp(access, "rw-s") == 0 && !strstr(line, " /dev/zero (deleted)")) {
            snprintf(file, size, "%s %s", device, inode);
            return true;
        }
    }
    return false;
}

/* Reads a number that /proc tells of the process. Returns whether it can. */
static bool read_status(unsigned pid, const char *format, unsigned *number)
{
    char path[32], line[128];
    bool is_known = false;
    snprintf(path, sizeof path, "/proc/%u/status", pid);
    FILE *status = fopen(path, "re");
    while (status && !is_known && fgets(line, sizeof line, status))
        is_known = sscanf(line, format, number) == 1;
    if (status)
        fclose(status);
    return is_known;
}

/* Whether the process has the user that has the region's file: others cannot open it. */
static bool has_owner_of_region(unsigned pid)
{
    unsigned user;
    return read_status(pid, "Uid: %*u %u", &user) && user == opened.st_uid;
}

bool has_started_this(unsigned pid)
{
    unsigned parent = (unsigned)getpid();
    while (read_status(parent, "PPid: %u", &parent) && parent && parent != pid)
        continue;
    return parent == pid;
}

/* The region is the only file that this process maps so. */
bool maps_region(unsigned pid, bool if_hidden)
{
    char path[32], own[48] = "", file[48];
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *mine = fopen("/proc/self/maps", "re"), *its = fopen(path, "re");
    bool is_mapped = !mine || !next_shared_file(mine, own, sizeof own) ||
                     (!its && if_hidden && has_owner_of_region(pid));
    while (!is_mapped && its && next_shared_file(its, file, sizeof file))
        is_mapped = strcmp(own, file) == 0;
    if (mine)
        fclose(mine);
    if (its)
        fclose(its);
    return is_mapped;
}

void describe_process(unsigned pid, char *text, size_t size)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *file = maps_region(pid, true) ? fopen(path, "re") : NULL;
    const size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    for (size_t i = 0; i + 1 < length; i++) {
        if (text[i] == '\0')
            text[i] = ' ';
    }
    if (length == size - 1)
        cut_at_character(text);
    plain(text);
}

size_t length_of_character(const char *text)
{
    /* The smallest that has so many bytes: a longer form is not UTF-8. */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)text;
    if (*byte < 0x80)
        return *byte != 0;
    const size_t length = *byte >= 0xf0 ? 4 : *byte >= 0xe0 ? 3 : 2;
    uint32_t code = *byte & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (byte[i] & 0x3f);
    }
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    const bool is_code = code >= least[length] && code <= 0x10ffff && !is_surrogate;
    return *byte >= 0xc0 && *byte < 0xf8 && is_code ? length : 0;
}

void cut_at_character(char *text)
{
    char *last = text + strlen(text);
    do {
        if (last == text)
            return;
        last--;
    } while ((*last & 0xc0) == 0x80);
    if (!length_of_character(last))
        *last = '\0';
}

const char *plain(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c;) {
        const size_t length = length_of_character((char *)c);
        /* 0x80 to 0x9f as such are for terminals without UTF-8; with it they follow 0xc2. */
        const bool is_c1 = length == 0 && *c >= 0x80 && *c < 0xa0;
        const bool is_c1_in_utf8 = length == 2 && *c == 0xc2 && c[1] < 0xa0;
        if (*c < ' ' || *c == 0x7f || is_c1 || is_c1_in_utf8)
            memset(c, ' ', length ? length : 1);
        c += length ? length : 1;
    }
    return text;
}

static const char *default_region(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/dev/shm/lockword-%u", (unsigned)getuid());
    return path;
}

/*
 * A file that is opened later must not get the number of a standard stream that is closed: else a
 * warning is written into the region. What is written here fails.
 */
static void occupy_standard_streams(void)
{
    int fd;
    do {
        fd = open("/", O_PATH | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* At the end of a subcommand that has something to say. */
static void check_output(void)
{
    if (ferror(stdout) | fflush(stdout)) {
        warn("cannot write");
        _exit(FAILED);
    }
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    atexit(check_output);
    struct options options = {.timeout = -1, .not_taken = NOT_TAKEN, .signal = SIGKILL};
    const char *first = argc > 1 ? argv[1] : "--help";
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        puts("lockword " LOCKWORD_VERSION);
        return 0;
    }
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
        print_usage(argc > 1 ? stdout : stderr);
        return argc > 1 ? 0 : FAILED;
    }
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++) {
        if (strcmp(first, subcommands[i].name) == 0)
            subcommand = &subcommands[i];
    }
    if (!subcommand)
        refuse("no such subcommand", first);
    bool has_signal = false;
    argv[1] = argv[0]; /* for getopt's messages */
    argc--;
    argv++;
    int option, index = -1; /* of a long option */
    /* '+': the options end where the name begins. */
    for (; (option = getopt_long(argc, argv, "+w:nE:sxevhV", all_options, &index)) != -1;
         index = -1) {
        if (option == '?')
            point_to_help(); /* getopt has said what is wrong */
        if (!takes(subcommand, option == 'e' ? 'x' : option)) {
            char text[32] = {'-', (char)option};
            if (index >= 0)
                snprintf(text, sizeof text, "--%s", all_options[index].name);
            refuse("not an option of this subcommand", text);
        }
        switch (option) {
        case REGION:
            options.region = optarg;
            break;
        case AT:
            options.at = optarg;
            break;
        case TTL:
            options.ttl = (unsigned)whole_number_of(optarg, 3600);
            if (options.ttl < 2)
                refuse("not from 2 to 3600 seconds", optarg);
            break;
        case 'w':
            options.timeout = number_of(optarg, 1e9);
            break;
        case 'n':
            options.tries = true;
            break;
        case 'E':
            options.not_taken = whole_number_of(optarg, 255);
            break;
        case 's':
            options.shares = true;
            break;
        case 'x':
        case 'e':
            options.excludes = true;
            break;
        case PERMITS:
            options.permits = (unsigned)whole_number_of(optarg, INT_MAX);
            if (options.permits < 1 || options.permits > LW_PERMITS_MAX)
                refuse("not from 1 to 252 permits", optarg);
            break;
        case ONCE:
            options.is_once = true;
            break;
        case 'v':
            options.is_verbose = true;
            break;
        case JSON:
            options.is_json = true;
            break;
        case SIGNAL:
            options.signal = signal_of(optarg);
            has_signal = true;
            break;
        default:
            print_usage(stdout);
            return 0;
        }
    }
    if (options.at && (options.region || options.is_once))
        refuse(options.region ? "--at and --region exclude each other"
                              : "--at and --once exclude each other: etcd does not tell whether a "
                                "holder has died",
               NULL);
    if (options.shares + options.excludes + (options.permits > 0) + (options.at != NULL) > 1)
        refuse("--shared, --exclusive, --permits and --at exclude each other", NULL);
    if (options.is_once && (options.shares || options.permits))
        refuse("--once is for a lock that one process holds", NULL);
    if (options.at && has_signal)
        refuse("--at and --signal exclude each other: the holder may be on another machine", NULL);
    if (options.ttl && !options.at)
        refuse("--ttl is for --at", NULL);
    const char *set = getenv("LOCKWORD_REGION");
    if (!options.region && set && *set)
        options.region = set;
    options.is_region_named = options.region != NULL;
    if (!options.region)
        options.region = default_region();
    const int words = argc - optind;
    if (words < subcommand->least)
        refuse("something is missing", subcommand->words);
    if (subcommand->most >= 0 && words > subcommand->most)
        refuse("too much is given", NULL);
    return subcommand->call(&options, argv + optind);
}
