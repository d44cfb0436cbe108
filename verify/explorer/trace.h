/* trace.h: a counterexample, for people. */
#ifndef EXPLORER_TRACE_H
#define EXPLORER_TRACE_H

#include <stdio.h>

#include "model.h"
#include "store.h"

/*
 * Writes how this state comes about, one line per transition, and what went wrong after it, if
 * given. `lost`, if given, tells of each state whether it is too late.
 */
void trace_print(FILE *out, const struct store *store, uint32_t state, const struct event *failure,
                 const unsigned char *lost);

/* Writes how the first of these states leads to the next, and so on, and the last to the first. */
void trace_print_circle(FILE *out, const struct store *store, const uint32_t *circle,
                        uint32_t length);

/* One line: what happened. */
void trace_print_event(FILE *out, const struct event *event);

/* Writes what the word means when it holds this. */
void trace_print_value(FILE *out, uint32_t word, uint32_t value);

/* Writes what everyone does in this state. */
void trace_explain(FILE *out, const unsigned char *packed);

#endif
