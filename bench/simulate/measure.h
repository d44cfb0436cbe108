/* measure.h: costs, of the machine at hand. */
#ifndef SIMULATE_MEASURE_H
#define SIMULATE_MEASURE_H

#include "machine.h"

/* Measures those costs that can be measured, and leaves the others as they are. What other programs
 * do meanwhile only ever adds, so each is the least of several measurements. */
void measure_costs(struct sim_costs *costs);

#endif
