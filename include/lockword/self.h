/*
 * self.h: who is asking. Every agent has a nonzero 29-bit id, and a lock's word says whose it is.
 *
 * Natively an agent is a thread, and its id the kernel's thread id. In WebAssembly an agent is a worker or a main thread: its id
 * comes from the JavaScript beside it, so that C and JavaScript of one worker are one agent.
 */
#ifndef LOCKWORD_SELF_H
#define LOCKWORD_SELF_H

#include <stdint.h>

#include <lockword/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ids use these bits only. */
#define LW_SELF_MASK 0x1fffffffu

/* Asks the platform, and remembers. */
uint32_t lw_self_slow(void);

/*
 * The caller's id, LW_SELF_UNKNOWN until first asked for. Natively that is what no mutex's state ever is, 'free, and somebody
 * waits'. An instance of a wasm module belongs to one agent, so there a plain wasm global does, which can begin with nothing but 0.
 */
#ifdef __wasm__
#define LW_SELF_UNKNOWN 0
extern uint32_t __attribute__((address_space(1))) lw_self_cached;
#else
#define LW_SELF_UNKNOWN 0xc0000000u
extern __thread uint32_t lw_self_cached __attribute__((tls_model("initial-exec")));
#endif

/* The caller's agent id. */
LW_API uint32_t lw_self(void)
{
    uint32_t self = lw_self_cached;
    return __builtin_expect(self != LW_SELF_UNKNOWN, 1) ? self : lw_self_slow();
}

/* The same to one who holds something, and so has asked before; to others, natively, what no mutex's state is. */
static inline uint32_t lw_self_as_owner(void)
{
    return LW_SELF_UNKNOWN != 0 ? lw_self_cached : lw_self();
}

#ifdef __cplusplus
}
#endif

#endif
