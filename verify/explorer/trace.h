/* trace.h: a counterexample, for people. */
#ifndef EXPLORER_TRACE_H
#define EXPLORER_TRACE_H

#include <stdio.h>

#include "links.h"
#include "model.h"
#include "store.h"

/* Writes how this state comes about, one line per transition, and what then goes wrong. */
void trace_print_failure(FILE *out, const struct store *store, uint32_t state, const char *error);

/*
 * Writes how this state comes about, and what all agents do in it. It is too late in the states
 * that are not marked for the agents which are frozen in this one.
 */
void trace_print_end(FILE *out, const struct store *store, uint32_t state,
                     const frozen_sets *marked, unsigned frozen);

/*
 * Writes how the first of these states comes about, how it leads to the next, and so on, and the
 * last to the first.
 */
void trace_print_circle(FILE *out, const struct store *store, const uint32_t *circle,
                        uint32_t length);

/* One line: what happened. */
void trace_print_event(FILE *out, const struct event *event);

/* Writes what the word means when it holds this. */
void trace_print_value(FILE *out, uint32_t word, uint32_t value);

#endif
