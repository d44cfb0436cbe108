/* check-system.h: what check.c needs of the system: check-linux.c or check-table.c. */
#ifndef LOCKWORD_TEST_CHECK_SYSTEM_H
#define LOCKWORD_TEST_CHECK_SYSTEM_H

#include "check.h"

/* The caller's, which is the helper's thread. */
uint32_t number_of_this_thread(struct helper *helper);

/* Whether the thread sleeps in the kernel, or elsewhere in a wait of lockword's. */
bool is_asleep(const struct helper *helper);

#endif
