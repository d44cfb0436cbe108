/*
 * loop-seam.h: included before src/loop and src/core, as C, for loop.cpp: each operation on a word
 * is a place where another agent may run. Memory is sequentially consistent here: what weaker
 * orders do to the words is tested primitive by primitive.
 */
#ifndef LOCKWORD_RELACY_LOOP_SEAM_H
#define LOCKWORD_RELACY_LOOP_SEAM_H

#include <pthread.h>

#include <lockword/core/word.h>
#include <lockword/self.h>

#ifdef __cplusplus
extern "C" {
#endif

void model_point(void);
uint32_t model_self(void);
void model_lock(const void *address);
void model_unlock(const void *address);
void model_expect(int is_so);

#ifdef __cplusplus
}
#endif

#define lw_load(...) (model_point(), lw_load(__VA_ARGS__))
#define lw_store(...) (model_point(), lw_store(__VA_ARGS__))
#define lw_cas(...) (model_point(), lw_cas(__VA_ARGS__))
#define lw_self() model_self()
#define lw_self_as_owner() model_self()

#include <lockword/loop.h>

/* The locks of the lot and of the inboxes. */
#define lw_mutex_lock(mutex) model_lock(mutex)
#define lw_mutex_unlock(mutex) model_unlock(mutex)

/* The threads are fibers of one, and none of them ends with a loop. */
#ifndef __cplusplus
#define pthread_getspecific(key) ((void)(key), (void *)0)
#define pthread_setspecific(key, value) ((void)(key), (void)(value), 0)
#endif

#endif
