/* certificate.c: see certificate.h. */
#include "certificate.h"

#include <stdlib.h>
#include <string.h>

#include "../explorer/memory.h"

enum { ME };

/* The columns of an agent's state, and of each of its callers' behind them. */
static const char *const COLUMNS[] = {
    "kind",  "doing", "function", "why",         "caller",  "word",
    "way",   "value", "pending",  "pendingWord", "handing", "inBrief",
    "toRun", "alike", "toRunWhy", "inLine",      "line",
};
static const char *const CALLERS_COLUMNS[] = {"phase", "wanted", "function", "flags", "rest"};

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define AGENT_SIZE (LENGTH(COLUMNS) + MAX_CALLERS * LENGTH(CALLERS_COLUMNS))

/* The columns of words: the words, the ghosts, and how many have died. */
#define WORDS_SIZE (model_primitive->words + MAX_GHOSTS + 1)

/* What the primitive says of a pair, one bit each; and two bytes of pledges. */
enum { NEEDED = 1, OWED = 2, TOGETHER = 4, MARKED = 8, BOUND = 16, MAY_SLEEP = 32 };
enum { PLEDGED = 8, MAY_KEEP = 16 };

/* The columns of a move's last number. */
enum { READ_AS = 0, ENDS_CALL = VERSIONS, NOTIFIES_OWN, HELPS };

struct pair_row {
    uint32_t words, agent, facts, held, held_by_all;
};

struct move_row {
    uint32_t to, run, result, how;
};

/* What others' change of the words makes of an agent. */
struct note_row {
    uint32_t words, turned, before, after;
};

struct writer {
    const struct pairs *pairs;
    struct store words, agents, notes;
    struct pair_row *rows;
};

static uint32_t add_words(struct writer *w, const struct state *state)
{
    uint32_t row[MAX_WORDS + MAX_GHOSTS + 1];
    memcpy(row, state->words, model_primitive->words * sizeof *row);
    for (uint32_t ghost = 0; ghost < MAX_GHOSTS; ghost++)
        row[model_primitive->words + ghost] = state->ghosts[ghost];
    row[model_primitive->words + MAX_GHOSTS] = state->deaths;
    return store_add(&w->words, (const unsigned char *)row, 0);
}

static uint32_t add_agent(struct writer *w, uint32_t kind, const struct agent *a)
{
    uint32_t row[AGENT_SIZE] = {
        kind,      a->doing, a->function,   a->why,          a->caller,  a->word,
        a->way,    a->value, a->pending,    a->pending_word, a->handing, a->in_brief,
        a->to_run, a->alike, a->to_run_why, a->in_line,
    };
    uint32_t *column = row + LENGTH(COLUMNS);
    memcpy(column - 1, a->line, sizeof a->line);
    for (int caller = 0; caller < MAX_CALLERS; caller++) {
        const struct caller *c = &a->callers[caller];
        *column++ = c->phase;
        *column++ = c->wanted;
        *column++ = c->function;
        *column++ = c->flags;
        *column++ = (uint32_t)(c->rounds | c->lost << 8 | c->own[0] << 16) | (uint32_t)c->own[1]
                                                                                 << 24;
    }
    return store_add(&w->agents, (const unsigned char *)row, 0);
}

static uint32_t facts_of(const struct state *state)
{
    const struct primitive *p = model_primitive;
    uint32_t facts = (p->is_needed(state, ME) ? NEEDED : 0u) | (p->is_owed(state, ME) ? OWED : 0u);
    if (p->is_woken_with_all)
        facts |= (p->is_woken_with_all(state, ME) ? TOGETHER : 0u) |
                 (p->is_marked(state, ME) ? MARKED : 0u);
    if (p->is_bound_to_sleep)
        facts |= p->is_bound_to_sleep(state, ME) ? BOUND : 0u;
    if (p->may_sleep)
        facts |= p->may_sleep(state, ME) ? MAY_SLEEP : 0u;
    if (p->pledges)
        facts |= p->pledges(state) << PLEDGED | (p->may_keep ? p->may_keep(state, ME) : 0xffu)
                                                    << MAY_KEEP;
    return facts;
}

static struct pair_row row_of(struct writer *w, uint32_t pair)
{
    const struct primitive *p = model_primitive;
    struct state state;
    pairs_get(w->pairs, pair, &state);
    struct pair_row row = {
        .words = add_words(w, &state),
        .agent = add_agent(w, store_get(&w->pairs->store, pair)[0], &state.agents[ME]),
        .facts = facts_of(&state),
    };
    if (p->held) {
        row.held = p->held(&state, ME);
        row.held_by_all = p->held_by_all(&state);
    }
    return row;
}

static void find_notes(struct writer *w)
{
    for (size_t i = 0; i < w->pairs->reaction_count; i++) {
        const struct reaction *reaction = &w->pairs->reactions[i];
        const struct effect effect = pairs_effect(w->pairs, reaction->effect);
        const struct pair_row *to = &w->rows[reaction->to];
        const struct note_row note = {to->words, effect.turned, w->rows[reaction->from].agent,
                                      to->agent};
        if (!effect.word && note.before != note.after)
            store_add(&w->notes, (const unsigned char *)&note, 0);
    }
}

static void write_names(FILE *out, const char *title, const char *const *names, size_t count)
{
    fprintf(out, "\"%s\":[", title);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s\"%s\"", i ? "," : "", names[i]);
    fputs("],\n", out);
}

static void write_numbers(FILE *out, const char *title, const uint32_t *numbers)
{
    fprintf(out, "\"%s\":[", title);
    for (uint32_t i = 0; i < model_primitive->words; i++)
        fprintf(out, "%s%u", i ? "," : "", numbers[i]);
    fputs("],\n", out);
}

/* Of each kind: its letters, which of its callers are async, and whether its engine polls. */
static void write_kinds(FILE *out, const struct pairs *pairs)
{
    fputs("\"kinds\":[", out);
    for (int kind = 0; kind < pairs->kind_count; kind++) {
        model_use(model_primitive, &pairs->kinds[kind]);
        fprintf(out, "%s{\"async\":[", kind ? "," : "");
        for (int caller = 0; caller < model_callers[ME]; caller++)
            fprintf(out, "%s%s", caller ? "," : "", model_is_async(ME, caller) ? "true" : "false");
        fprintf(out, "],\"polls\":%s}", model_polls(ME) ? "true" : "false");
    }
    fputs("],\n\"functions\":[", out);
    for (uint32_t i = 0; i < model_primitive->function_count; i++) {
        const struct function *f = &model_primitive->functions[i];
        fprintf(out, "%s{\"label\":\"%s\",\"isKnown\":%s,\"firstWord\":%u}", i ? "," : "", f->label,
                f->is_known ? "true" : "false", f->first_word);
    }
    fputs("],\n", out);
}

static void write_text(FILE *out, const struct writer *w, struct claims claims)
{
    const struct primitive *p = model_primitive;
    const struct configuration *proof = w->pairs->proof;
    fprintf(out, "{\"primitive\":\"%s\",\"agents\":\"%s\",\"with\":%u,\"words\":%u,\n", p->name,
            proof->agents, proof->with, p->words);
    fprintf(out, "\"isCrowd\":%s,\"isBounded\":%s,\"areKeepers\":%s,\"briefsEnd\":%s,\n",
            p->crowd ? "true" : "false", p->is_within ? "true" : "false",
            claims.are_keepers ? "true" : "false", proof->with & BRIEFS_END ? "true" : "false");
    fprintf(out, "\"claims\":%u,\"forgets\":%s,\"isBoundKnown\":%s,\"areTogether\":%s,\n",
            claims.made, p->forgets ? "true" : "false", p->is_bound_to_sleep ? "true" : "false",
            p->is_woken_with_all ? "true" : "false");
    fprintf(out, "\"phases\":%u,", p->same_phase ? p->same_phase(UINT16_MAX) : UINT16_MAX);
    fprintf(out, "\"agentsGhosts\":%u,\"wakesOne\":%u,\"isPast\":%u,\"wasNoted\":%u,\n",
            p->agents_ghosts, p->wakes_one, p->is_past, p->was_noted);
    fprintf(out, "\"token\":%u,\"tokens\":%u,\n", p->token, p->tokens);
    write_numbers(out, "ids", p->ids);
    write_numbers(out, "generations", p->generations);
    write_numbers(out, "histories", p->histories);
    write_numbers(out, "counts", p->counts);
    write_kinds(out, w->pairs);
    write_names(out, "columns", COLUMNS, LENGTH(COLUMNS));
    write_names(out, "callersColumns", CALLERS_COLUMNS, LENGTH(CALLERS_COLUMNS));
    fprintf(out, "\"rows\":{\"words\":[%u,%zu],\"agents\":[%u,%zu],\"pairs\":[%u,5],",
            w->words.count, (size_t)WORDS_SIZE, w->agents.count, AGENT_SIZE, w->pairs->store.count);
    fprintf(out, "\"firstMoves\":[%u,1],\"moves\":[%zu,4],\"notes\":[%u,4],\"marks\":[%u,3]},\n",
            w->pairs->store.count + 1, w->pairs->move_count, w->notes.count, w->pairs->store.count);
    fputs("\"runs\":", out);
    runs_write(out);
    fputs("}", out);
}

static void write_moves(FILE *out, const struct pairs *pairs)
{
    for (uint32_t pair = 0; pair <= pairs->store.count; pair++) {
        const uint32_t first = (uint32_t)pairs->first_move[pair];
        fwrite(&first, sizeof first, 1, out);
    }
    for (size_t i = 0; i < pairs->move_count; i++) {
        const struct move *m = &pairs->moves[i];
        const uint32_t how = (uint32_t)m->versions << READ_AS |
                             (uint32_t)m->ends_call << ENDS_CALL |
                             (uint32_t)m->own << NOTIFIES_OWN | (uint32_t)m->help << HELPS;
        const struct move_row row = {m->to, m->run, m->result, how};
        fwrite(&row, sizeof row, 1, out);
    }
}

static void write_store(FILE *out, const struct store *store)
{
    fwrite(store->states, store->size, store->count, out);
}

static void write_all(FILE *out, struct writer *w, const struct mark *marks, struct claims claims)
{
    uint32_t length = 0;
    fwrite(&length, sizeof length, 1, out);
    write_text(out, w, claims);
    while (ftell(out) % (long)sizeof length)
        fputc(' ', out);
    length = (uint32_t)ftell(out) - (uint32_t)sizeof length;
    write_store(out, &w->words);
    write_store(out, &w->agents);
    fwrite(w->rows, sizeof *w->rows, w->pairs->store.count, out);
    write_moves(out, w->pairs);
    write_store(out, &w->notes);
    fwrite(marks, sizeof *marks, w->pairs->store.count, out);
    rewind(out);
    fwrite(&length, sizeof length, 1, out);
}

bool certificate_write(const char *file, const struct pairs *pairs, const struct mark *marks,
                       struct claims claims)
{
    struct writer w = {.pairs = pairs, .rows = allocate(pairs->store.count, sizeof *w.rows)};
    FILE *out = fopen(file, "wb");
    store_open(&w.words, WORDS_SIZE * sizeof(uint32_t));
    store_open(&w.agents, AGENT_SIZE * sizeof(uint32_t));
    store_open(&w.notes, sizeof(struct note_row));
    for (uint32_t pair = 0; pair < pairs->store.count; pair++)
        w.rows[pair] = row_of(&w, pair);
    find_notes(&w);
    if (out)
        write_all(out, &w, marks, claims);
    store_close(&w.words);
    store_close(&w.agents);
    store_close(&w.notes);
    free(w.rows);
    const bool is_written = out && !ferror(out);
    if (!out || fclose(out) != 0 || !is_written) {
        perror(file);
        return false;
    }
    return true;
}
