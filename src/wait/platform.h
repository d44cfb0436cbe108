/*
 * platform.h: what a system supplies, in one C file each, chosen by the build. docs/porting.md is
 * the manual for a new one.
 *
 * Five functions are the waiting: lw_wait and lw_notify (lockword/wait.h), lw_wait_many, lw_yield
 * and lw_now. Two return a fact: lw_thread_id and lw_has_one_cpu. Six, lw_share, lw_unshare,
 * lw_shared_by, lw_can_wait_for_many, lw_ring and lw_heard_at, are for regions only. A platform
 * knows no primitive, and does not decide how long or how often to wait: awake.h does. In an engine
 * no code needs lw_yield and the two facts.
 */
#ifndef LOCKWORD_PLATFORM_H
#define LOCKWORD_PLATFORM_H

#include <stdbool.h>

#include <lockword/self.h>
#include <lockword/wait.h>

#define NS_PER_S 1000000000
#define NS_PER_MS 1000000

struct lw_region;

/* These are no symbols of the shared library. */
#pragma GCC visibility push(hidden)

/* The monotonic clock, ns. Never negative. */
int64_t lw_now(void);

/* Gives the CPU to another thread that is ready to run on it, if there is one. */
void lw_yield(void);

/* A word, and the value that it has to hold while an agent waits on it. */
struct lw_waited {
    const uint32_t *word;
    uint32_t expected;
};

/*
 * lw_wait on up to LW_BLOCK_MAX + 1 words at once (Linux: 128, for keepers): returns LW_OK if any
 * was notified, LW_NOT_EQUAL if any held something else. A platform that can wait on one word only
 * calls lw_wait_polling, for which *look_ns is.
 */
lw_woken lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                      int64_t *look_ns);

/*
 * lw_wait_many for platforms that can wait on one word only (poll.c): waits on the first word, but
 * *look_ns at most. Then it returns LW_NOT_EQUAL, so that the caller looks at all of them, and
 * doubles *look_ns, up to a second. The caller keeps *look_ns for one operation. So a change of
 * another word is noticed after about as long as the wait has lasted, and a waiter wakes up once a
 * second in the end.
 */
lw_woken lw_wait_polling(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                         int64_t *look_ns);

/*
 * lw_wait_many for Linux before 5.16, which brought futex_waitv (linux.c): waits at a word of its
 * own, which every lw_notify of the process notifies, too, while a thread waits there. Returns
 * LW_NOT_EQUAL for LW_OK: the words' own notifies have consumed nothing.
 */
lw_woken lw_wait_ringing(const struct lw_waited *waited, uint32_t n, lw_deadline deadline);

/*
 * How the event loops of other processes hear of a notify in memory that they share: `rung` moves
 * with each notify for event loops, and so does, before that, one of the bells, chosen by the
 * word's place. One thread of each process waits on `rung`, and looks which bells have moved.
 */
#define LW_BELLS 32
struct lw_doorbell {
    lw_word rung;
    lw_word bells[LW_BELLS];
};

/* The bell of the word at this byte of the memory. */
#define LW_BELL_OF(offset) ((offset) / 128 % LW_BELLS)

/*
 * Says that other processes share this memory, until lw_unshare: its waiters may be threads of any
 * process, and event loops behind the doorbell, which lies in that memory. Returns 0, or EMFILE:
 * there are LW_SHARED_MAX of these already. Only on a platform that has regions
 * (lockword/region.h).
 */
#define LW_SHARED_MAX 64
int lw_share(const void *memory, size_t size, struct lw_region *region,
             struct lw_doorbell *doorbell);
void lw_unshare(const struct lw_region *region);

/* Returns the region that has this word, or NULL. */
struct lw_region *lw_shared_by(const uint32_t *word);

/* Returns whether the kernel has been able to wait on several words so far. */
bool lw_can_wait_for_many(void);

/* Rings for the word, if it lies in memory that processes share, and returns whether it does. */
bool lw_ring(const lw_word *word);

/* Returns the bell that lw_ring moves for the word, or the word itself. */
lw_word *lw_heard_at(lw_word *word);

/*
 * Returns the number by which the system, and so a debugger, knows the calling thread. No other
 * thread of the process has this number at the same time. It may be any number, or 0 if there is
 * none: self.c makes an agent's id of it.
 */
uint64_t lw_thread_id(void);

/*
 * Forgets the calling thread's id. Where there is fork(), the platform calls this in the child
 * (self.c has it, but on Windows).
 */
void lw_self_forget(void);

/*
 * Returns whether the process may use one CPU only, so that no other thread runs while one spins.
 */
bool lw_has_one_cpu(void);

#pragma GCC visibility pop

#endif
