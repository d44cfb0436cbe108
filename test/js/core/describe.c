/* describe.c: what describe.test.js writes to, and reads (lockword/describe.h). */
#include <lockword/describe.h>

lw_word words[LW_PERMITS_WORDS];
char text[LW_DESCRIBE_MAX];
