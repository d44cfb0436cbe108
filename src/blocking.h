/* blocking.h: runs a step to its end, blocking the calling agent as the step says. */
#ifndef LOCKWORD_BLOCKING_H
#define LOCKWORD_BLOCKING_H

#include <lockword/wait.h>

/* LW_DONE, LW_GAVE_UP or LW_DEADLOCK. */
enum lw_what lw_block(lw_step *step, lw_word *words, lw_deadline deadline);

#endif
