/*
 * api.h: how a function that these headers define is compiled.
 *
 * LW_API marks the functions that are for users. In a C or C++ program each is inlined. The library
 * has each as a symbol, too, for callers that do not compile C: Python's ctypes, Rust's extern "C",
 * LuaJIT, Go (docs/building.md). src/symbols.c includes the headers with another meaning of LW_API
 * and so makes these symbols. A function that is only a part of others is `static inline`.
 */
#ifndef LOCKWORD_API_H
#define LOCKWORD_API_H

#include <stddef.h>

#ifndef LW_API
#define LW_API static inline
#endif

/* No pointer, by a name that neither C nor C++ warns of. */
#ifdef __cplusplus
#define LW_NULL nullptr
#else
#define LW_NULL NULL
#endif

#endif
