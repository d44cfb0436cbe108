/* rwlock.c: the read-write lock's C interface: the functions that wait. */
#include <lockword/rwlock.h>

#include "blocking.h"
#include "wait/awake.h"

_Static_assert(sizeof(lw_rwlock) == 16, "docs/layout.md: a read-write lock is four words");

#if !LW_ENGINE

static uint32_t look(const lw_word *rwlock, uint32_t self, uint32_t *owner)
{
    const uint32_t state = lw_rwlock_state(rwlock);
    const uint32_t held = state & (LW_RWLOCK_READERS | LW_RWLOCK_UPGRADABLE | LW_RWLOCK_WRITER);
    if (held & (LW_RWLOCK_UPGRADABLE | LW_RWLOCK_WRITER))
        *owner = lw_rwlock_owner(rwlock);
    const bool barred = state & LW_RWLOCK_RESERVED || *owner == self;
    return (held ? LW_SEEN_HELD : 0u) | (state & LW_RWLOCK_READERS_TURN ? LW_SEEN_CLOSED : 0u) |
           (barred ? LW_SEEN_BARRED : 0u);
}

/* As a caller that does not wait: it leaves no mark. */
static bool take_write(lw_word *rwlock, uint32_t self, uint32_t *result)
{
    (void)result;
    return lw_answer_what(lw_rwlock_write_step(rwlock, self, LW_TIMED_OUT, 0)) == LW_DONE;
}

const struct lw_held lw_held_written = {.look = look, .take = take_write};

#endif

enum lw_ending lw_rwlock_slow(lw_rwlock *rwlock, lw_step *step, lw_deadline deadline,
                              lw_cancel *cancel)
{
    const struct lw_operation operation = {step, rwlock->word, lw_self()};
    return (step == lw_rwlock_write_step ? lw_hold(&lw_held_written, operation, deadline, cancel)
                                         : lw_spin_then_block(operation, deadline, cancel))
        .ending;
}

/*
 * Called when two attempts have failed. While the state is less than READERS, no other bit of it is
 * set: then nothing keeps a reader out, and other readers were faster.
 */
enum lw_ending lw_rwlock_read_slow(lw_rwlock *rwlock, lw_deadline deadline, lw_cancel *cancel)
{
    for (int lost = 0;
         lw_rwlock_state(rwlock->word) < LW_RWLOCK_READERS && lw_back_off(lost, deadline); lost++) {
        if (lw_rwlock_take_read(rwlock->word))
            return LW_ENDED_DONE;
    }
    return lw_rwlock_slow(rwlock, lw_rwlock_read_step, deadline, cancel);
}
