/* lockword.h: every primitive. Each header is the manual of what it declares. */
#ifndef LOCKWORD_LOCKWORD_H
#define LOCKWORD_LOCKWORD_H

#include <lockword/mutex.h>
#include <lockword/wait.h>

#endif
