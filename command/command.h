/* command.h: what the parts of the `lockword` command share. */
#ifndef LOCKWORD_COMMAND_H
#define LOCKWORD_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include <lockword/lease.h>
#include <lockword/region.h>

/* Exit statuses. Those of a command that cannot be run are the shell's: 126 and 127. */
enum {
    NOT_TAKEN = 1, /* the lock is held; there is no such lock; there is a deadlock */
    FAILED = 125,  /* lockword itself could not do what it was asked for */
};

/* The options of all subcommands. Each takes those that its row in lockword.c names. */
struct options {
    const char *region;
    const char *at; /* the servers of an etcd cluster, instead of a region; or NULL */
    unsigned ttl;   /* of a lease there, in seconds; 0: the library's */
    double timeout; /* seconds; negative: without limit */
    int not_taken;  /* the exit status for that */
    int signal;
    unsigned permits; /* how many there are; 0: not said */
    bool tries, is_once, is_verbose, is_json;
    bool shares, excludes; /* a read-write lock, to read or to write */
    bool is_region_named;  /* by --region or LOCKWORD_REGION */
};

/* Subcommands: called with what follows the options; they return the exit status. */
int command_run(const struct options *options, char **words);
int command_list(const struct options *options, char **words);
int command_show(const struct options *options, char **words);
int command_deadlocks(const struct options *options, char **words);
int command_top(const struct options *options, char **words);
int command_wait(const struct options *options, char **words);
int command_break(const struct options *options, char **words);
int command_remove(const struct options *options, char **words);

/* Opens the region; exits if it cannot. Returns NULL if there is none, and `creates` is false. */
lw_region *open_region(const struct options *options, bool creates);

/* Whether this is the file of the region that was opened. */
bool is_region(int file);

/* What a subcommand holds, or is about to. */
struct hold {
    lw_region *region;
    const char *name;
    enum lw_region_kind kind; /* a mutex, a table or permits */
    bool shares;              /* of a table: it is read */
    uint32_t which;           /* the number of the permit */
    int kept;                 /* until it is taken: what keep_name returned; or -1 */
    lw_region_mutex mutex;
    lw_region_rwtable table;
    lw_region_permits permits;
};

/*
 * Until this descriptor is closed, no other command removes the name. To remove it, this process
 * must be the only one that keeps it: -1 if it is not. A mutex that was removed says so when it is
 * taken. Permits do not: who has looked them up, and stands in no line yet, would take one of a
 * name that is no more, or of another one.
 */
int keep_name(const struct options *options, const char *name, bool removes);

/* Finds the name, or makes it, as the options ask for; exits if it cannot. */
struct hold find_hold(lw_region *region, const char *name, const struct options *options);

/*
 * Takes it. Returns 0 or EOWNERDEAD; EBUSY or ETIMEDOUT: others have it; EIDRM: its name was
 * removed. Exits if nobody can take it.
 */
int take_hold(struct hold *hold, const struct options *options, lw_deadline deadline);

void free_hold(const struct hold *hold);

/* How often a command has ended with 0 while `lockword run` held it alone, modulo 2^32. */
uint32_t runs_of(const struct hold *hold);

/* Notes one more of them. Call it before it is freed. */
void count_run(const struct hold *hold);

/* Frees it, and leaves the notice of a death, if there is one, to the next holder. */
void leave_hold(const struct hold *hold);

/*
 * Waits until nothing runs any more that a holder that died has started and that had excluded this
 * one. Returns whether that is so.
 */
bool outlast(const struct hold *hold, const struct options *options, bool owner_died,
             lw_deadline deadline);

/* The guard that the command inherits, and all that it starts: run.c. Returns its descriptor. */
int pass_guard_on(const struct hold *hold, const struct options *options);

/* What has inherited the guard shares its open file, so it does not have the guard any more. */
void take_guard_back(const struct hold *hold, int passed);

/* How wide the first column of `list` is, at least; and to have room for this name, too. */
enum { NAME_WIDTH = 24 };
int widen(int width, const char *name);

/* What people call it. */
const char *name_of_kind(enum lw_region_kind kind);

/* The same subcommands, for locks on etcd. */
int list_at(const struct options *options);
int show_at(const struct options *options, const char *name);
int wait_at(const struct options *options, const char *name);
int break_at(const struct options *options, const char *name);

/*
 * Takes a lock on etcd, and calls `renewed` as lw_lease_lock does; `program` is what others read.
 * Returns 0, EBUSY or ETIMEDOUT; exits if there is another error. A signal that ends this process
 * ends the wait, too. If the lock was taken, such signals are blocked: else one could end this
 * process without giving it back. *before is the mask without that.
 */
int take_at(const struct options *options, const char *name, const char *program,
            void (*renewed)(void *, int64_t, int64_t), lw_lease **lease, sigset_t *before);

/* Puts it into the environment: what this process starts, and then waits for the lock, says so. */
void pass_holders_on(const lw_lease *lease);

/* Frees it. Returns false if it had been lost. */
bool free_at(const char *name, lw_lease *lease);

/* Prints it, with U+FFFD for each byte that is not UTF-8, and frees it. */
void print_json(cJSON *json);

/* The name of a signal that --signal takes, without SIG. */
const char *name_of_signal(int signal);

/* Until when a call may wait. */
lw_deadline deadline_of(const struct options *options);

/*
 * Whether the process maps the region. A holder of another PID namespace has a number that is
 * another process's here. `if_hidden`: what to return if this one may not look at that one's
 * memory, and they have one user. True if /proc is missing.
 */
bool maps_region(unsigned pid, bool if_hidden);

/* Whether this process is a child of that one, or of a child of it, and so on. */
bool has_started_this(unsigned pid);

/* What a holder runs, in one line, cut to the size. Empty if it cannot be told. */
void describe_process(unsigned pid, char *text, size_t size);

/* How many bytes the character has that the text begins with; 0 if that is not UTF-8. */
size_t length_of_character(const char *text);

/* Cuts off the last character if it is not whole. */
void cut_at_character(char *text);

/* Replaces what a terminal would obey, since others may have chosen this name. Returns it. */
const char *plain(char *text);

#endif
