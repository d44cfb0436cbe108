/* family.h: the primitives besides the mutex, each subject's peers measured side by side and
 * reported. */
#ifndef LOCKWORD_BENCH_FAMILY_H
#define LOCKWORD_BENCH_FAMILY_H

#include <stdio.h>

#include "measure.h"

struct bench_family {
    const struct bench_operation **operations;
    int count;
    int rounds;               /* at most MAX_ROUNDS */
    uint64_t most_turns;      /* of a round; 0: as many as figures take that mean something */
    double (*ns)[MAX_ROUNDS]; /* bench_family_measure */
};

void bench_family_add(struct bench_family *family, const struct bench_operation *operation);
void bench_family_measure(struct bench_family *family);
void bench_print_family(const struct bench_family *family, FILE *out);
void bench_print_family_json(const struct bench_family *family, FILE *out);

#endif
