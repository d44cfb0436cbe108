/* symbols.c: the functions that the headers inline, as symbols of the library. Why: lockword/api.h.
 */
#define LW_API

#include <lockword/lockword.h>
