/*
 * platform.h: what a platform provides, one C file each, chosen by the build: how an agent sleeps (lockword/wait.h), who it is
 * (lockword/self.h), what time it is, and how patient it should be.
 */
#ifndef LOCKWORD_PLATFORM_H
#define LOCKWORD_PLATFORM_H

#include <stdbool.h>

#include <lockword/self.h>
#include <lockword/wait.h>

/* The monotonic clock, ns. Never negative. */
int64_t lw_now(void);

/* Lets others run for a moment. */
void lw_pause(void);

struct lw_pace {
    int64_t slice_ns; /* a wait is interrupted this often, to re-check and to reserve */
    int64_t brief_ns; /* how long a wait on something free may last */
    bool pauses;      /* lw_pause does help */
};

extern const struct lw_pace lw_pace;

#endif
