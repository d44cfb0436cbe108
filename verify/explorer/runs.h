/*
 * runs.h: the step machine. It runs the core's functions one atomic operation at a time.
 *
 * A run is a function, its arguments, and the results of the operations that it has done so far:
 * its log. To go on, the function is called again from its beginning, is fed the log, and is cut at
 * the first operation for which the log has no result. So a run is plain data. Two agents at the
 * same place in the same function with the same past share it, and a state of the model holds only
 * its number. Each pair of a run and a result is computed once; from then on the exploration is
 * table look-ups.
 *
 * Loops: a compare-and-swap that fails gives the value to try next, and the past no longer matters:
 * load a, then a cas that fails with b, is as good as load b. If the call then loads the word
 * again, what it has loaded and found is as good as nothing. The log is shortened in this way,
 * since loops would make the state space infinite otherwise. This is an assumption about the code,
 * and it is checked: of every shortened run some originals are kept, and follow each step that the
 * short one takes. If one of them ever does something else, runs_differ is set, and the caller
 * starts again with runs_shorten off.
 */
#ifndef EXPLORER_RUNS_H
#define EXPLORER_RUNS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <lockword/core/word.h>

#define MAX_WORDS 8

/*
 * A function of the core, of up to three arguments. A step's are what it wants, why, and the phase.
 * The others' result is what they return.
 */
struct function {
    const char *name;  /* in C, less its prefix lw_ */
    const char *label; /* the same, in traces */
    bool is_step;      /* an lw_step */
    int arguments;     /* how many of a, b, c it takes */
    bool answers;      /* no step, but its result is an lw_answer */
    bool answers_bool;
    bool gives_back;     /* what those in line wait for: a JavaScript agent hands it over
                            (js/src/turn.js) */
    bool inlined;        /* by a header of the C face: no part of the translation */
    uint32_t first_word; /* of the primitive's words, those that it is given begin with this one */
    bool stands_alone; /* a step whose async callers each have a wait of their own at the fair word
                        */
    bool is_known; /* a step that is explored elsewhere: here nothing but a notify or a change ends
                    * its waits, or a re-check if agents die; it has no deadline, and is not
                    * cancelled */
    uint64_t (*call)(lw_word *words, uint32_t a, uint32_t b, uint32_t c);
};

enum operation_kind { RETURNED, LOAD, STORE, CAS, NOTIFY };

/* What a run does next. */
struct operation {
    enum operation_kind kind;
    uint32_t word;   /* its index; MAX_WORDS: a place that is none of the primitive's words */
    uint32_t a;      /* CAS: expected; STORE: the value; NOTIFY: how many */
    uint32_t b;      /* CAS: desired */
    uint64_t result; /* RETURNED */
};

typedef uint32_t run_id;

extern bool runs_shorten;
extern bool runs_merge_ends; /* what it has left to notify is all that a run remembers of its end */
extern bool runs_differ;
extern bool runs_endless; /* a call has done more operations than any would */

/* The calling agent, for functions that use lw_self. Their callers set it. */
extern uint32_t runs_self;

/* Forgets everything. The functions and the number of words apply to all runs from now on. */
void runs_reset(const struct function *functions, uint32_t words);

/* The run of a call that has done nothing yet. */
run_id runs_begin(uint32_t function, uint32_t a, uint32_t b, uint32_t c);

/* What it does next. Stays where it is until the next run is made. */
const struct operation *runs_next(run_id run);

/* Which function it is in. */
uint32_t runs_function(run_id run);

/*
 * The run that it becomes when its next operation has this result: the value found or stored, or
 * the number woken.
 */
run_id runs_advance(run_id run, uint32_t result);

/* Whether one of its operations found or wrote this value in these bits of the word. */
bool runs_knows(run_id run, uint32_t word, uint32_t bits, uint32_t value);

/* The run is about to load an id, and does the same next whichever it is, if it is not `self`. */
bool runs_looks_for(run_id run, uint32_t self);

/*
 * For a run that is about to compare and swap a word (or will be, once it has done what it is about
 * to do to others). Returns a run that is as good: of all those that differ only in what no longer
 * matters, always the same. `outdated`: the word does not hold what this run expects there. Then
 * the run that is yet to look at the word is as good:
 *
 *   - If the compare-and-swap fails, that is a look at the word.
 *   - If the word comes back to what the run expects, it may as well have looked at it just then.
 *
 * Since its last look, it may have loaded words that hold an id (`ids`, one bit each). Whether that
 * is `self` does not change meanwhile. If it has changed the word itself, and is to look at it
 * again, it does not matter which value it has changed it to.
 */
run_id runs_forget(run_id run, uint32_t word, bool outdated, uint32_t self, uint32_t ids);

/* What ids become. */
struct renaming {
    int number; /* of this renaming, less than MAX_RENAMINGS */
    uint32_t (*rename)(int number, uint32_t id);
    uint8_t (*ids_of_call)(uint32_t function); /* as a primitive's */
    const uint32_t *ids;                       /* the bits of each word that hold one */
};

#define MAX_RENAMINGS 24

/* The run that has done and found the same, but for ids. */
run_id runs_rename(run_id run, const struct renaming *renaming);

/* From now on the renamings are others. */
void runs_forget_renamings(void);

/*
 * Writes all runs as a JSON array: the call that begins it, what it does next, what it has found or
 * written in which word, and where it leads to.
 */
void runs_write(FILE *out);

/* Writes all calls that have run to their end, as JSON lines. */
void runs_dump(FILE *out);

#endif
