/* lockword.h: every primitive. Each header is the manual of what it declares. */
#ifndef LOCKWORD_LOCKWORD_H
#define LOCKWORD_LOCKWORD_H

#include <lockword/any.h>
#include <lockword/barrier.h>
#include <lockword/cancel.h>
#include <lockword/cond.h>
#include <lockword/counter.h>
#include <lockword/event.h>
#include <lockword/latch.h>
#include <lockword/mutex.h>
#include <lockword/once.h>
#include <lockword/permits.h>
#include <lockword/rmutex.h>
#include <lockword/rwlock.h>
#include <lockword/sem.h>
#include <lockword/wait.h>
#include <lockword/waitgroup.h>

#if LW_LINUX
#include <lockword/loop.h>
#include <lockword/region.h>
#endif

#endif
