/*
 * compiler.h, as the simulator has it: a pause takes simulated time, and what is local to a thread
 * lies in a section, of which every simulated thread has a copy (../machine.c).
 */
#ifndef SIMULATE_COMPILER_H
#define SIMULATE_COMPILER_H

#include_next <lockword/compiler.h>

#undef LW_AGENT_LOCAL
#define LW_AGENT_LOCAL __attribute__((section("sim_local")))

#undef LW_RELAX
#define LW_RELAX() sim_pause()

void sim_pause(void);

#endif
