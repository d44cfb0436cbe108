/* none.c: a system without event loops (lockword/loop.h). No loop ever waits for a notify. */
#include <lockword/core/word.h>

uint32_t lw_notify_async(lw_word *word, uint32_t n)
{
    (void)word, (void)n;
    return 0;
}

uint32_t lw_notify_both(lw_word *word, uint32_t n)
{
    return lw_notify(word, n);
}
