/*
 * self.h: the agent that calls. Every agent has a nonzero 29-bit id, and the word of a lock that is
 * held contains its holder's.
 *
 * Natively an agent is a thread, and its id is the number by which the system, and so a debugger,
 * knows the thread; or, if that does not fit, one that lockword gives it (src/wait/self.c). In
 * WebAssembly an agent is a worker or a main thread: its id comes from the JavaScript beside it, so
 * that C and JavaScript of one worker are one agent.
 */
#ifndef LOCKWORD_SELF_H
#define LOCKWORD_SELF_H

#include <stdint.h>

#include <lockword/api.h>
#include <lockword/compiler.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ids use these bits only. */
#define LW_SELF_MASK 0x1fffffffu

/* Finds out the caller's id, and caches it, but on Windows. */
uint32_t lw_self_slow(void);

/*
 * Whether programs cannot read the variable in which a library keeps the id. A DLL cannot export a
 * thread-local variable. Compilers for OpenBSD and Android emulate such variables, each by an
 * object with another name, which liblockword.so does not show.
 */
#if LW_WINDOWS || defined(__OpenBSD__) || defined(__ANDROID__)
#define LW_SELF_IS_HIDDEN 1
#else
#define LW_SELF_IS_HIDDEN 0
#endif

/*
 * The caller's id, or LW_SELF_UNKNOWN until lw_self_slow is called. Natively that is a number that
 * no owner field ever holds, and no mutex's state: it would be free, with waiters. In an engine it
 * is 0, with which a wasm global begins. Where it is hidden it is never known: each call asks for
 * it. On Windows that takes no longer than to read a thread-local variable.
 */
#define LW_SELF_UNKNOWN (LW_ENGINE || LW_SELF_IS_HIDDEN ? 0u : 0xc0000000u)
#if LW_SELF_IS_HIDDEN
static const uint32_t lw_self_cached = LW_SELF_UNKNOWN;
#else
extern LW_AGENT_LOCAL uint32_t lw_self_cached;
#endif

/* The caller's agent id. */
LW_API uint32_t lw_self(void)
{
    uint32_t self = lw_self_cached;
    return __builtin_expect(self != LW_SELF_UNKNOWN, 1) ? self : lw_self_slow();
}

/*
 * The id of a caller that holds something, and so has called lw_self before. Others may get
 * LW_SELF_UNKNOWN, which owns nothing.
 */
static inline uint32_t lw_self_as_owner(void)
{
    return LW_SELF_UNKNOWN != 0 ? lw_self_cached : lw_self();
}

#ifdef __cplusplus
}
#endif

#endif
