/*
 * compiler.h: what lockword needs of a compiler and a processor besides C11 (for users, C++17) and
 * the __atomic builtins of GCC and clang. docs/porting.md.
 */
#ifndef LOCKWORD_COMPILER_H
#define LOCKWORD_COMPILER_H

#if defined(_MSC_VER) && !defined(__clang__)
#error lockword needs clang-cl: cl lacks the __atomic builtins of GCC and clang
#endif

/*
 * Whether this code runs in a WebAssembly engine. An engine has no way to yield the CPU, and may
 * terminate an agent at any moment.
 */
#ifdef __wasm__
#define LW_ENGINE 1
#else
#define LW_ENGINE 0
#endif

/*
 * Whether there are event loops (lockword/loop.h) and regions (lockword/region.h): on Linux only.
 * With LOCKWORD_PORTABLE the library is built there as for any POSIX system, without them. So it is
 * on Android: its C library has no pthread_setcancelstate, and it ends programs that make a system
 * call which it does not know, such as futex_waitv.
 */
#if defined(__linux__) && !defined(__ANDROID__) && !LW_ENGINE && !defined(LOCKWORD_PORTABLE)
#define LW_LINUX 1
#else
#define LW_LINUX 0
#endif

/* Whether this is Windows, on which a DLL cannot export a thread-local variable. */
#ifdef _WIN32
#define LW_WINDOWS 1
#else
#define LW_WINDOWS 0
#endif

/*
 * A variable of which each agent has its own; stands after `static` or `extern`. Natively it is a
 * thread-local in the memory that each thread has for these from its start, in the shared library,
 * too: so it costs an instruction, and not a call. An instance of a WebAssembly module belongs to
 * one agent, so there it is a wasm global: a number, 0 at first. A build may define it otherwise,
 * as __thread: musl and Android load no library at run time that has variables of the initial-exec
 * model.
 */
#ifdef LW_AGENT_LOCAL
#elif LW_ENGINE
#define LW_AGENT_LOCAL __attribute__((address_space(1)))
#elif defined(__ANDROID__)
#define LW_AGENT_LOCAL __thread
#else
#define LW_AGENT_LOCAL __thread __attribute__((tls_model("initial-exec")))
#endif

/* A function that is called when the program, or the shared library, has been loaded. */
#define LW_CONSTRUCTOR __attribute__((constructor))

/* A function that is called when the program ends, or the shared library is unloaded. */
#define LW_DESTRUCTOR __attribute__((destructor))

/*
 * Fetches the cache line of *address to be written. On x86-64 __builtin_prefetch would fetch it to
 * be read: compilers do not count on this instruction, which old processors ignore.
 */
#ifdef __x86_64__
#define LW_PREFETCH_FOR_WRITE(address) __asm__("prefetchw %0" : : "m"(*(address)))
#else
#define LW_PREFETCH_FOR_WRITE(address) __builtin_prefetch((address), 1)
#endif

/* Tells the processor that this thread spins. */
#if defined(__x86_64__) || defined(__i386__)
#define LW_RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define LW_RELAX() __asm__ volatile("isb" ::: "memory")
#elif defined(__arm__) && __ARM_ARCH >= 7
#define LW_RELAX() __asm__ volatile("yield" ::: "memory")
#elif defined(__riscv)
/* `pause`, which processors without it take for a fence that orders nothing. */
#define LW_RELAX() __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory")
#else
#define LW_RELAX() __asm__ volatile("" ::: "memory")
#endif

#endif
