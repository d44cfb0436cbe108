/*
 * self.h: who is asking. Every agent has a nonzero 29-bit id, and a lock's word says whose it is.
 *
 * Natively an agent is a thread, and its id the kernel's thread id. In WebAssembly an agent is a worker or a main thread: its id
 * comes from the JavaScript beside it, so that C and JavaScript of one worker are one agent.
 */
#ifndef LOCKWORD_SELF_H
#define LOCKWORD_SELF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ids use these bits only. */
#define LW_SELF_MASK 0x1fffffffu

/* Asks the platform, and remembers. */
uint32_t lw_self_slow(void);

/*
 * The cached id of one who has not asked for it yet. As the state of a mutex it would say 'free, and somebody waits', which none
 * ever is: who unlocks by it is not the owner of anything, and need not ask first.
 */
#define LW_SELF_UNKNOWN 0xc0000000u

/* LW_SELF_UNKNOWN until first asked for. An instance of a wasm module belongs to one agent, so there a plain wasm global does: no
 * TLS needed. */
#ifdef __wasm__
extern uint32_t __attribute__((address_space(1))) lw_self_cached;
#else
extern __thread uint32_t lw_self_cached __attribute__((tls_model("initial-exec")));
#endif

/* The caller's agent id. */
static inline uint32_t lw_self(void)
{
    uint32_t self = lw_self_cached;
    return __builtin_expect(self != LW_SELF_UNKNOWN, 1) ? self : lw_self_slow();
}

#ifdef __cplusplus
}
#endif

#endif
