/*
 * rwlock.cpp: src/core/rwlock.c under C++'s memory model: writers and a reader of the data that it
 * guards.
 */
#include "orders.h"

#include "../../src/core/rwlock.c"
#include "../../src/core/waiters.c"

#include "handover.h"
#include "harness.h"

using namespace agents;
using namespace harness;

namespace
{

/* The agents from `readers` on read, the others write. */
template <unsigned readers> struct read_write {
    static constexpr unsigned words = LW_RWLOCK_WORDS;
    static constexpr uint32_t initial = 0;

    static bool is_free(uint32_t state)
    {
        return (state & ~(LW_WAITERS | LW_RWLOCK_BLOCKED_READERS | LW_RWLOCK_MIXED)) == 0;
    }

    static bool writes(unsigned index)
    {
        return index < readers;
    }

    static bool take(lw_word *rwlock, uint32_t id, agent &self, kind kind, bool writes)
    {
        if (kind == trying)
            return lw_rwlock_try_step(rwlock, 0, writes ? LW_RWLOCK_WRITER : LW_RWLOCK_READER, id);
        return run(writes ? lw_rwlock_write_step : lw_rwlock_read_step, rwlock, id, self, kind);
    }

    static void give(lw_word *rwlock, uint32_t id, bool writes)
    {
        RL_ASSERT(writes ? lw_rwlock_become_step(rwlock, LW_RWLOCK_WRITER, 0, id)
                         : lw_rwlock_unread_step(rwlock));
    }
};

const test tests[] = {
    {"a writer and a reader, two rounds", of<handover<read_write<1>, 2, blocking, blocking>>},
    {"two writers, a reader", of<handover<read_write<2>, 1, blocking, blocking, blocking>>},
    {"a writer, two readers", of<handover<read_write<1>, 2, blocking, blocking, blocking>>},
    {"a writer with deadlines, two readers",
     of<handover<read_write<1>, 2, timed, blocking, trying>>},
    {"event loop and abort write, one reads",
     of<handover<read_write<2>, 1, async, aborting, blocking>>},
};

/*
 * These order a notify after the wait for which it is meant. The critical sections of the list do
 * so already: see mutex.cpp.
 */
const spare spares[] = {
    {"lock_step", lw_release, lw_relaxed},
    {"give", lw_acq_rel, lw_release},
};

} // namespace

int main()
{
    /* The deadlock by `give`, acquire to relaxed, is found in execution 19,205. */
    return check("read-write lock", tests, spares, 60000);
}
