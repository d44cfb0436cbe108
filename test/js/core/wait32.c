/* wait32.c: a product that has to live across a wait (wait32.test.js). */
#include <lockword/wait.h>

/* 10 · a · b, and how the wait ended. */
__attribute__((export_name("apart"))) uint32_t apart(const uint32_t *word, uint32_t a, uint32_t b)
{
    const uint32_t product = a * b;
    const uint32_t why = lw_wait(word, 0, lw_after_ms(5));
    return 10 * product + why;
}

/* The same with the instruction right here: 0 is woken, 1 not equal, 2 timed out. */
__attribute__((export_name("inlined"))) uint32_t inlined(uint32_t *word, uint32_t a, uint32_t b)
{
    const uint32_t product = a * b;
    const int why = __builtin_wasm_memory_atomic_wait32((int *)word, 0, 5000000);
    return 10 * product + LW_OK + (uint32_t)why;
}
