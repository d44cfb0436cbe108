/*
 * wasm.c: waiting with WebAssembly's own instructions, on the list that Atomics.wait and
 * Atomics.notify also use.
 *
 * The npm package provides two imports (`import { imports } from 'lockword/wasm'`): the agent's id,
 * and the time. For Emscripten, whose programs import from `env`, they are in lockword's
 * --js-library (docs/building.md).
 */
#include "platform.h"

#ifdef __EMSCRIPTEN__
#define IMPORTED(name)
#else
#define IMPORTED(name) __attribute__((import_module("lockword"), import_name(name)))
#endif

IMPORTED("self") uint32_t lw_import_self(void);
IMPORTED("now") double lw_import_now(void);

LW_AGENT_LOCAL uint32_t lw_self_cached;

uint32_t lw_self_slow(void)
{
    return lw_self_cached = lw_import_self() & LW_SELF_MASK;
}

int64_t lw_now(void)
{
    return (int64_t)(lw_import_now() * 1e6);
}

/*
 * The instructions stand alone in functions that nothing may inline: Node 20's baseline compiler
 * zeroes a local that lives across memory.atomic.wait32. For the same reason, no wasm-opt may run
 * on what is linked from this file.
 */
__attribute__((noinline)) static int wait32(uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    return __builtin_wasm_memory_atomic_wait32((int *)word, (int)expected, timeout_ns);
}

lw_woken lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                      int64_t *look_ns)
{
    return lw_wait_polling(waited, n, deadline, look_ns);
}

lw_woken lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline)
{
    int64_t timeout_ns = -1;
    if (deadline != LW_FOREVER) {
        int64_t now = lw_now();
        timeout_ns = deadline > now ? deadline - now : 0;
    }
    /* The instruction returns 0, 1 or 2, in the order of LW_OK, LW_NOT_EQUAL, LW_TIMED_OUT. */
    return (lw_woken)(LW_OK + wait32((uint32_t *)(uintptr_t)word, expected, timeout_ns));
}

__attribute__((noinline)) uint32_t lw_notify(lw_word *word, uint32_t n)
{
    return __builtin_wasm_memory_atomic_notify((int *)word, n);
}

uint32_t lw_notify_async(lw_word *word, uint32_t n)
{
    return lw_notify(word, n);
}

uint32_t lw_notify_both(lw_word *word, uint32_t n)
{
    return lw_notify(word, n);
}
