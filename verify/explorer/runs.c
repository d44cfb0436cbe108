/* runs.c: the step machine. See runs.h. */
#include "runs.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <lockword/core/step.h>

#include "memory.h"
#include "store.h"

#define MAX_LOG 48u      /* operations in one call: more than that is a loop without end */
#define MAX_ORIGINALS 6u /* originals kept of a shortened run */
#define MAX_EXCESS 4u    /* results by which an original may be longer than the shortened run */

struct log {
    uint32_t length;
    uint32_t results[MAX_LOG];
};

struct arguments {
    uint32_t function, a, b, c;
};

struct edge {
    uint32_t result;
    run_id to;
    struct edge *next;
};

struct original {
    struct log log;
    struct original *next;
};

struct run {
    struct arguments arguments;
    struct log *log;
    struct operation next;
    struct edge *edges;
    struct original *originals;
    uint32_t original_count;
    struct renamed *renamed; /* by each renaming; NULL: by none as yet */
};

struct renamed {
    uint32_t to;        /* plus one */
    uint32_t originals; /* how many of the run's it has got */
};

bool runs_shorten = true;
bool runs_merge_ends;
bool runs_differ;
bool runs_endless;
uint32_t runs_self;

static const struct function *functions;
static uint32_t word_count;
static struct run *runs;
static uint32_t run_count, run_capacity;
static uint32_t *table;
static uint32_t table_size;
static struct store returns; /* of struct returned: its run is its parent */

/* The call being run. */
static lw_word arena[MAX_WORDS];
static jmp_buf cut;
static const struct log *feed;
static uint32_t fed;
static struct operation seen[MAX_LOG + 1];

static uint32_t index_of(const lw_word *word)
{
    return word >= arena && word < arena + word_count ? (uint32_t)(word - arena) : MAX_WORDS;
}

static uint32_t operate(struct operation operation)
{
    seen[fed] = operation;
    if (fed == feed->length)
        longjmp(cut, 1);
    return feed->results[fed++];
}

uint32_t runs_load(const lw_word *word)
{
    return operate((struct operation){LOAD, index_of(word), 0, 0, 0});
}

void runs_store(lw_word *word, uint32_t value)
{
    operate((struct operation){STORE, index_of(word), value, 0, 0});
}

uint32_t runs_cas(lw_word *word, uint32_t expected, uint32_t desired)
{
    return operate((struct operation){CAS, index_of(word), expected, desired, 0});
}

uint32_t runs_notify(lw_word *word, uint32_t n)
{
    return operate((struct operation){NOTIFY, index_of(word), n, 0, 0});
}

/*
 * Runs the call, fed with the log, up to the operation after it. Leaves all operations in `seen`.
 */
static struct operation replay(const struct arguments *call, const struct log *log)
{
    feed = log;
    fed = 0;
    if (setjmp(cut) == 0) {
        uint64_t result = functions[call->function].call(
            arena + functions[call->function].first_word, call->a, call->b, call->c);
        seen[fed] = (struct operation){RETURNED, 0, 0, 0, result};
    }
    return seen[fed];
}

static bool same(struct operation x, struct operation y)
{
    return x.kind == y.kind && x.word == y.word && x.a == y.a && x.b == y.b && x.result == y.result;
}

static uint32_t hash_of(const struct arguments *call, const struct log *log)
{
    return (uint32_t)hash_bytes(log->results, log->length * sizeof *log->results,
                                hash_bytes(call, sizeof *call, log->length));
}

static bool is_run(const struct run *run, const struct arguments *call, const struct log *log)
{
    return memcmp(&run->arguments, call, sizeof *call) == 0 && run->log->length == log->length &&
           memcmp(run->log->results, log->results, log->length * sizeof *log->results) == 0;
}

static void grow_table(void)
{
    table_size = table_size ? table_size * 2 : 1 << 12;
    free(table);
    table = allocate(table_size, sizeof *table);
    for (uint32_t i = 0; i < run_count; i++) {
        uint32_t slot = hash_of(&runs[i].arguments, runs[i].log) & (table_size - 1);
        while (table[slot])
            slot = (slot + 1) & (table_size - 1);
        table[slot] = i + 1;
    }
}

static struct log *copy_of(const struct log *log)
{
    struct log *copy = allocate(1, sizeof(uint32_t) * (1 + log->length));
    copy->length = log->length;
    memcpy(copy->results, log->results, log->length * sizeof *log->results);
    return copy;
}

/* The number of this run, new or not. */
static run_id intern(const struct arguments *call, const struct log *log)
{
    if (run_count * 2 >= table_size)
        grow_table();
    uint32_t slot = hash_of(call, log) & (table_size - 1);
    for (; table[slot]; slot = (slot + 1) & (table_size - 1)) {
        if (is_run(&runs[table[slot] - 1], call, log))
            return table[slot] - 1;
    }
    if (run_count == run_capacity) {
        run_capacity = run_capacity ? run_capacity * 2 : 1 << 10;
        runs = reallocate(runs, run_capacity, sizeof *runs);
    }
    runs[run_count] =
        (struct run){.arguments = *call, .log = copy_of(log), .next = replay(call, log)};
    table[slot] = run_count + 1;
    return run_count++;
}

/*
 * If the last result in the log is that of a compare-and-swap that failed: the log in which the
 * value that it found was found at once, where the word was last read.
 */
static bool shorten(const struct log *log, const struct operation *operations, struct log *shorter)
{
    const uint32_t last = log->length - 1;
    const uint32_t value = log->results[last];
    if (operations[last].kind != CAS || value == operations[last].a)
        return false;
    for (uint32_t i = last; i-- > 0;) {
        const struct operation *earlier = &operations[i];
        const bool failed = earlier->kind == CAS && log->results[i] != earlier->a;
        if (earlier->kind != LOAD && !failed)
            return false;
        if (earlier->word != operations[last].word || (failed && value == earlier->a))
            continue;
        *shorter = *log;
        shorter->length = i + 1;
        shorter->results[i] = value;
        return true;
    }
    return false;
}

/* How far two logs are compared that seem to be as good as each other. */
#define MOST_ALIKE 4u

/*
 * Whether the call does the same for a while after both logs, if it loads this value, and its
 * compare-and-swaps fail.
 */
static bool go_on_alike(const struct arguments *call, const struct log *one,
                        const struct log *other, uint32_t value)
{
    struct log logs[2] = {*one, *other};
    for (uint32_t more = 0; more < MOST_ALIKE; more++) {
        const struct operation next = replay(call, &logs[0]);
        if (!same(next, replay(call, &logs[1])))
            return false;
        if ((next.kind != LOAD && next.kind != CAS) || one->length + more == MAX_LOG)
            return true;
        const uint32_t result = next.kind == CAS && next.a == value ? value + 1 : value;
        logs[0].results[logs[0].length++] = logs[1].results[logs[1].length++] = result;
    }
    return true;
}

/*
 * If it is that of a compare-and-swap that failed, and the call then loads the word, which it has
 * done before, with no change in between: the log up to there.
 */
static bool restart(const struct log *log, const struct operation *operations,
                    struct operation next, struct log *shorter)
{
    const uint32_t last = log->length - 1;
    if (next.kind != LOAD || operations[last].kind != CAS || operations[last].word != next.word)
        return false;
    for (uint32_t i = log->length; i-- > 0;) {
        const bool failed = operations[i].kind == CAS && log->results[i] != operations[i].a;
        if (operations[i].kind != LOAD && !failed)
            return false;
        if (!same(operations[i], next))
            continue;
        *shorter = *log;
        shorter->length = i;
        return true;
    }
    return false;
}

static void keep_original(run_id run, const struct log *log);

/* Lets an original do what its run has done, and compares. */
static void follow(run_id run, const struct log *original, const struct edge *edge)
{
    struct log longer = *original;
    if (longer.length == MAX_LOG)
        return;
    longer.results[longer.length++] = edge->result;
    const struct operation next = replay(&runs[run].arguments, &longer);
    if (!same(next, runs[edge->to].next)) {
        runs_differ = true;
        return;
    }
    /* Ends are merged, whatever the call. */
    if (memcmp(&runs[edge->to].arguments, &runs[run].arguments, sizeof(struct arguments)) == 0)
        keep_original(edge->to, &longer);
}

static void keep_original(run_id run, const struct log *log)
{
    if (runs[run].original_count == MAX_ORIGINALS ||
        log->length > runs[run].log->length + MAX_EXCESS)
        return;
    for (const struct original *o = runs[run].originals; o; o = o->next) {
        if (o->log.length == log->length &&
            memcmp(o->log.results, log->results, log->length * sizeof *log->results) == 0)
            return;
    }
    struct original *original = allocate(1, sizeof *original);
    original->log = *log;
    original->next = runs[run].originals;
    runs[run].originals = original;
    runs[run].original_count++;
    for (const struct edge *edge = runs[run].edges; edge; edge = edge->next)
        follow(run, &original->log, edge);
}

/* What a run that has returned remembers, where ends are merged. */
struct returned {
    uint64_t function, result;
};

/* Of all runs of the function that have returned this: always one. */
static run_id returned(const struct arguments *call, const struct log *log, uint64_t result)
{
    const struct returned end = {call->function, result};
    const uint32_t known = returns.count;
    const uint32_t number = store_add(&returns, (const unsigned char *)&end, 0);
    if (number == known)
        returns.parents[number] = intern(call, log);
    return returns.parents[number];
}

/* The run with one more result, not looked up but made. */
static run_id extend(run_id from, uint32_t result)
{
    struct log log = {.length = runs[from].log->length + 1};
    if (log.length > MAX_LOG) {
        runs_endless = true;
        return from;
    }
    memcpy(log.results, runs[from].log->results, (log.length - 1) * sizeof result);
    log.results[log.length - 1] = result;
    const struct arguments call = runs[from].arguments;
    const struct operation next = replay(&call, &log);
    if (runs_merge_ends && next.kind == RETURNED)
        return returned(&call, &log, next.result);
    struct operation operations[MAX_LOG];
    memcpy(operations, seen, log.length * sizeof *operations);

    struct log shorter;
    const bool restarts = runs_shorten && restart(&log, operations, next, &shorter) &&
                          go_on_alike(&call, &log, &shorter, result);
    if (restarts || (runs_shorten && shorten(&log, operations, &shorter) &&
                     same(replay(&call, &shorter), next))) {
        const run_id to = intern(&call, &shorter);
        keep_original(to, &log);
        return to;
    }
    return intern(&call, &log);
}

/* The first runs that only notify, each unlike the others. */
static run_id *ends;
static uint32_t end_count, end_capacity;

/* The beginnings of calls up to a change of a word that is to be looked at again. */
struct beginning {
    struct arguments call;
    struct operation change;
    struct log log;
    uint32_t tail; /* how many operations come after the change */
    struct beginning *next;
};

static struct beginning *beginnings;

void runs_reset(const struct function *of, uint32_t words)
{
    functions = of;
    word_count = words;
    for (uint32_t i = 0; i < run_count; i++) {
        free(runs[i].log);
        free(runs[i].renamed);
        for (struct edge *edge = runs[i].edges, *next; edge; edge = next) {
            next = edge->next;
            free(edge);
        }
        for (struct original *original = runs[i].originals, *next; original; original = next) {
            next = original->next;
            free(original);
        }
    }
    for (struct beginning *b = beginnings, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    beginnings = NULL;
    end_count = 0;
    run_count = 0;
    runs_differ = runs_endless = false;
    store_close(&returns);
    store_open(&returns, sizeof(struct returned));
    if (table)
        memset(table, 0, table_size * sizeof *table);
}

run_id runs_begin(uint32_t function, uint32_t a, uint32_t b, uint32_t c)
{
    const struct arguments call = {function, a, b, c};
    const struct log empty = {0};
    return intern(&call, &empty);
}

const struct operation *runs_next(run_id run)
{
    return &runs[run].next;
}

uint32_t runs_function(run_id run)
{
    return runs[run].arguments.function;
}

/* A notify finds no waiter, one, or more, as far as a step may tell; and no more than it is for. */
static bool may_find(run_id run, uint32_t found)
{
    return runs[run].next.kind == NOTIFY && found <= 2 && found <= runs[run].next.a;
}

/* Whether both runs do the same from now on, which is to notify and no more. */
static bool are_as_good(run_id a, run_id b)
{
    if (!same(runs[a].next, runs[b].next))
        return false;
    bool as_good = true;
    for (uint32_t found = 0; may_find(a, found) && as_good; found++)
        as_good = are_as_good(runs_advance(a, found), runs_advance(b, found));
    return as_good;
}

static bool only_notifies(run_id run)
{
    bool only = runs[run].next.kind == NOTIFY || runs[run].next.kind == RETURNED;
    for (uint32_t found = 0; may_find(run, found) && only; found++)
        only = only_notifies(runs_advance(run, found));
    return only;
}

/* Of all runs that have the same left to do, which is to notify and no more: always one. */
static run_id as_good(run_id run)
{
    if (runs[run].next.kind != NOTIFY || !only_notifies(run))
        return run;
    for (uint32_t i = 0; i < end_count; i++) {
        if (runs[ends[i]].arguments.function == runs[run].arguments.function &&
            are_as_good(ends[i], run))
            return ends[i];
    }
    if (end_count == end_capacity) {
        end_capacity = end_capacity ? end_capacity * 2 : 64;
        ends = reallocate(ends, end_capacity, sizeof *ends);
    }
    return ends[end_count++] = run;
}

run_id runs_advance(run_id run, uint32_t result)
{
    for (const struct edge *edge = runs[run].edges; edge; edge = edge->next) {
        if (edge->result == result)
            return edge->to;
    }
    const run_id next = extend(run, result);
    const run_id to = runs_merge_ends ? as_good(next) : next;
    struct edge *edge = allocate(1, sizeof *edge);
    *edge = (struct edge){result, to, runs[run].edges};
    runs[run].edges = edge;
    for (const struct original *original = runs[run].originals; original; original = original->next)
        follow(run, &original->log, edge);
    return to;
}

bool runs_knows(run_id run, uint32_t word, uint32_t bits, uint32_t value)
{
    const struct log *log = runs[run].log;
    bool knows = false;
    replay(&runs[run].arguments, log);
    for (uint32_t i = 0; i < log->length; i++)
        knows |= seen[i].word == word && seen[i].kind != NOTIFY &&
                 ((log->results[i] & bits) == value ||
                  (seen[i].kind == CAS && (seen[i].b & bits) == value));
    return knows;
}

/* A run's log has no room for more. */
static struct log log_of(const struct run *run)
{
    struct log log = {.length = run->log->length};
    memcpy(log.results, run->log->results, log.length * sizeof *log.results);
    return log;
}

bool runs_looks_for(run_id run, uint32_t self)
{
    const run_id without = runs_advance(run, 0);
    bool same_next = true;
    for (uint32_t id = 1; id <= self + 2; id++) {
        const run_id with = runs_advance(run, id);
        same_next &= id == self || same(runs[with].next, runs[without].next);
    }
    return same_next;
}

static bool is_change(const struct operation *operation, uint32_t result)
{
    return operation->kind == CAS && result == operation->a;
}

/* The first beginning that is like the log's first operations: a change, and a tail after it. */
static const struct beginning *like(const struct arguments *call, const struct log *log,
                                    const struct operation *operations, uint32_t change,
                                    uint32_t length)
{
    struct beginning *b;
    for (b = beginnings; b; b = b->next) {
        if (memcmp(&b->call, call, sizeof *call) == 0 && b->tail == length - 1 - change &&
            b->change.kind == operations[change].kind && b->change.word == operations[change].word)
            return b;
    }
    b = allocate(1, sizeof *b);
    *b = (struct beginning){*call, operations[change], *log, length - 1 - change, beginnings};
    b->log.length = length;
    beginnings = b;
    return b;
}

/* It has changed the word itself, with this operation, and looks at it again. */
static run_id after_change(run_id run, uint32_t word, bool outdated, const struct log *log,
                           const struct operation *operations, uint32_t change)
{
    const struct arguments call = runs[run].arguments;
    const struct operation next = runs[run].next;
    const bool looks_now = next.kind == CAS && next.word == word;
    uint32_t length = log->length;
    if (!looks_now && !outdated)
        return run;
    while (looks_now && length > change + 1 && operations[length - 1].word == word)
        length--;
    const struct beginning *b = like(&call, log, operations, change, length);
    struct log other = b->log;
    if (!looks_now) {
        const uint32_t tail = length - 1 - change;
        memcpy(other.results + other.length - tail, log->results + change + 1,
               tail * sizeof *other.results);
        const run_id to = intern(&call, &other);
        if (!same(runs[to].next, next))
            runs_differ = true;
        return to;
    }
    const run_id again = intern(&call, &other);
    if (same(runs[again].next, next))
        return again;
    const run_id to = runs_advance(again, next.a);
    if (!same(runs[to].next, next))
        runs_differ = true;
    else
        keep_original(to, log);
    return outdated ? again : to;
}

/* It has looked at the word, and is to load it again. */
static run_id before_load(run_id run, uint32_t word, const struct log *log,
                          const struct operation *operations)
{
    const struct arguments call = runs[run].arguments;
    for (uint32_t i = log->length; i-- > 0;) {
        if (operations[i].kind == NOTIFY || operations[i].kind == STORE)
            return run;
        if (operations[i].word != word)
            continue;
        const run_id to = intern(&call, &like(&call, log, operations, i, log->length)->log);
        if (!same(runs[to].next, runs[run].next))
            return run;
        keep_original(to, log);
        return to;
    }
    return run;
}

run_id runs_forget(run_id run, uint32_t word, bool outdated, uint32_t self, uint32_t ids)
{
    struct log log = log_of(&runs[run]);
    const struct log original = log;
    const struct arguments call = runs[run].arguments;
    struct operation operations[MAX_LOG];
    replay(&call, &log);
    memcpy(operations, seen, log.length * sizeof *operations);
    for (uint32_t i = log.length; i-- > 0;) {
        if (operations[i].word == word && is_change(&operations[i], log.results[i]))
            return after_change(run, word, outdated, &log, operations, i);
    }
    if (runs[run].next.kind == LOAD)
        return before_load(run, word, &log, operations);
    /* The last look, and after it loads of ids, of which only its own makes a difference. */
    uint32_t last = log.length;
    while (last > 0 && operations[last - 1].word != word) {
        const struct operation *between = &operations[--last];
        if (between->kind != LOAD || !(ids >> between->word & 1))
            return run;
        if (log.results[last] != self)
            log.results[last] = 0;
    }
    if (last == 0)
        return run;
    const run_id to = intern(&call, &log);
    if (!same(runs[to].next, runs[run].next))
        return run;
    keep_original(to, &original);
    if (!outdated || operations[last - 1].kind != LOAD)
        return to;
    log.length = last - 1;
    return intern(&call, &log);
}

static struct log rename_log(const struct arguments *call, const struct log *log,
                             const struct renaming *renaming)
{
    struct log renamed = *log;
    replay(call, log);
    for (uint32_t i = 0; i < log->length; i++) {
        const uint32_t word = seen[i].word;
        const uint32_t bits = word < word_count ? renaming->ids[word] : 0;
        if (seen[i].kind != NOTIFY && bits)
            renamed.results[i] = (log->results[i] & ~bits) |
                                 renaming->rename(renaming->number, log->results[i] & bits);
    }
    return renamed;
}

static struct arguments rename_call(struct arguments call, const struct renaming *renaming)
{
    const uint8_t ids = renaming->ids_of_call(call.function);
    call.a = ids & 1 ? renaming->rename(renaming->number, call.a) : call.a;
    call.b = ids & 2 ? renaming->rename(renaming->number, call.b) : call.b;
    call.c = ids & 4 ? renaming->rename(renaming->number, call.c) : call.c;
    return call;
}

run_id runs_rename(run_id run, const struct renaming *renaming)
{
    if (!runs[run].renamed)
        runs[run].renamed = allocate(MAX_RENAMINGS, sizeof *runs[run].renamed);
    struct renamed *renamed = &runs[run].renamed[renaming->number];
    const struct arguments call = runs[run].arguments;
    if (!renamed->to) {
        const struct log before = log_of(&runs[run]);
        const struct log log = rename_log(&call, &before, renaming);
        const struct arguments as = rename_call(call, renaming);
        renamed->to = intern(&as, &log) + 1;
    }
    /* The latest originals come first. */
    const uint32_t count = runs[run].original_count;
    for (const struct original *original = runs[run].originals; renamed->originals < count;
         original = original->next) {
        const struct log log = rename_log(&call, &original->log, renaming);
        renamed->originals++;
        keep_original(renamed->to - 1, &log);
    }
    return renamed->to - 1;
}

void runs_forget_renamings(void)
{
    for (uint32_t i = 0; i < run_count; i++) {
        free(runs[i].renamed);
        runs[i].renamed = NULL;
    }
}

static void dump_operations(FILE *out, const struct log *log, uint32_t first_word)
{
    for (uint32_t i = 0; i < log->length; i++) {
        const struct operation *o = &seen[i];
        const uint32_t result = log->results[i];
        const uint32_t word = o->word - first_word;
        fputs(i ? "," : "", out);
        switch (o->kind) {
        case LOAD:
            fprintf(out, "[\"load\",%u,%u]", word, result);
            break;
        case STORE:
            fprintf(out, "[\"store\",%u,%u]", word, o->a);
            break;
        case CAS:
            fprintf(out, "[\"cas\",%u,%u,%u,%u]", word, o->a, o->b, result);
            break;
        default:
            fprintf(out, "[\"notify\",%u,%u,%u]", word, o->a, result);
        }
    }
}

static void dump_one(FILE *out, const struct arguments *call, const struct log *log)
{
    const struct function *f = &functions[call->function];
    const uint64_t result = replay(call, log).result;
    const uint32_t arguments[] = {call->a, call->b, call->c};
    fprintf(out, "{\"fn\":\"%s\",\"args\":[", f->name);
    for (int i = 0; i < f->arguments; i++)
        fprintf(out, "%s%u", i ? "," : "", arguments[i]);
    fputs("],\"ops\":[", out);
    dump_operations(out, log, f->first_word);
    if (f->is_step || f->answers)
        fprintf(out, "],\"what\":%u,\"word\":%u,\"phase\":%u,\"expected\":%u}\n",
                lw_answer_what(result), lw_answer_word(result), lw_answer_phase(result),
                lw_answer_expected(result));
    else if (f->answers_bool)
        fprintf(out, "],\"result\":%s}\n", result ? "true" : "false");
    else
        fprintf(out, "],\"result\":%u}\n", (uint32_t)result);
}

static void write_known(FILE *out, const struct arguments *call, const struct log *log)
{
    const char *comma = "";
    replay(call, log);
    for (uint32_t i = 0; i < log->length; i++) {
        if (seen[i].kind == NOTIFY)
            continue;
        fprintf(out, "%s[%u,%u]", comma, seen[i].word, log->results[i]);
        comma = ",";
        if (seen[i].kind == CAS)
            fprintf(out, ",[%u,%u]", seen[i].word, seen[i].b);
    }
}

static void write_one(FILE *out, const struct run *run)
{
    static const char *const KINDS[] = {"return", "load", "store", "cas", "notify"};
    const struct operation *o = &run->next;
    const struct arguments *call = &run->arguments;
    fputs("{", out);
    if (run->log->length == 0)
        fprintf(out, "\"begins\":[\"%s\",%u,%u,%u],", functions[call->function].label, call->a,
                call->b, call->c);
    fprintf(out, "\"does\":[\"%s\",", KINDS[o->kind]);
    if (o->kind != RETURNED)
        fprintf(out, "%u,%u,%u]", o->word, o->a, o->b);
    else if (functions[call->function].is_step)
        fprintf(out, "%u,%u,%u,%u]", lw_answer_what(o->result), lw_answer_word(o->result),
                lw_answer_phase(o->result), lw_answer_expected(o->result));
    else
        fprintf(out, "%u]", (uint32_t)o->result);
    fputs(",\"knows\":[", out);
    write_known(out, call, run->log);
    fputs("],\"to\":{", out);
    for (const struct edge *edge = run->edges; edge; edge = edge->next)
        fprintf(out, "\"%u\":%u%s", edge->result, edge->to, edge->next ? "," : "");
    fputs("}}", out);
}

void runs_write(FILE *out)
{
    for (uint32_t i = 0; i < run_count; i++) {
        fputs(i ? ",\n" : "[\n", out);
        write_one(out, &runs[i]);
    }
    fputs("\n]", out);
}

void runs_dump(FILE *out)
{
    for (uint32_t i = 0; i < run_count; i++) {
        const struct function *f = &functions[runs[i].arguments.function];
        if (runs[i].next.kind != RETURNED || f->inlined)
            continue;
        dump_one(out, &runs[i].arguments, runs[i].log);
        for (const struct original *original = runs[i].originals; original;
             original = original->next)
            dump_one(out, &runs[i].arguments, &original->log);
    }
}
