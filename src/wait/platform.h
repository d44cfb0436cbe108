/*
 * platform.h: what a platform provides, one C file each, chosen by the build: how an agent sleeps (lockword/wait.h), who it is
 * (lockword/self.h), what time it is, and how patient it should be.
 */
#ifndef LOCKWORD_PLATFORM_H
#define LOCKWORD_PLATFORM_H

#include <stdbool.h>

#include <lockword/self.h>
#include <lockword/wait.h>

/* No symbols of the shared library. */
#pragma GCC visibility push(hidden)

/* The monotonic clock, ns. Never negative. */
int64_t lw_now(void);

/* Gives the CPU to another thread that waits for it, if there is one. */
void lw_pause(void);

/* Takes a mutex that has become free by the deadline, if it was worth while to wait for that awake; if not, says so at once. */
bool lw_take_soon(lw_word *mutex, uint32_t self, lw_deadline deadline);

/* A word to wait on, while it holds the value. */
struct lw_waited {
    const uint32_t *word;
    uint32_t expected;
};

/*
 * lw_wait on up to LW_BLOCK_MAX words at once: LW_OK if any was notified, LW_NOT_EQUAL if any held something else. Platforms that
 * cannot do that look again now and then, and return LW_NOT_EQUAL. *pause_ns belongs to one operation, and is lw_pace.poll_ns at
 * first.
 */
lw_woken lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline, int64_t *pause_ns);

/*
 * lw_wait_many for platforms that cannot do that (poll.c): waits on the first word, and looks at all again after *pause_ns, which
 * it doubles, up to a second. So a change of another word is noticed after about as long as the wait has lasted, and a waiter wakes
 * once a second in the end.
 */
lw_woken lw_wait_polling(const struct lw_waited *waited, uint32_t n, lw_deadline deadline, int64_t *pause_ns);

/*
 * lw_wait_many for Linux before 5.16, which brought futex_waitv (linux.c): waits at a word of its own, which every lw_notify of the
 * process notifies, too, while anybody waits there. Returns LW_NOT_EQUAL for LW_OK: the words' own notifies have consumed nothing.
 */
lw_woken lw_wait_ringing(const struct lw_waited *waited, uint32_t n, lw_deadline deadline);

struct lw_pace {
    int64_t slice_ns;      /* an LW_WAIT is interrupted after so long; each further time after twice as long, idle_ns at most */
    int64_t idle_ns;       /* the same for an LW_WAIT_IDLE, always after as long: a notify may be lost with an agent that died */
    int64_t brief_ns;      /* how long a wait on something free may last */
    int64_t poll_ns;       /* how long before it first looks again at what it cannot wait on */
    int looks;             /* how often to look, with an lw_pause after each, before waiting for anything else */
    int64_t stand_back_ns; /* how long a reader that others were too quick for leaves the lock to them; 0: it does not */
};

extern const struct lw_pace lw_pace;

#pragma GCC visibility pop

#endif
