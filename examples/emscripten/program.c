/*
 * program.c: workers and a main thread count under one lock. A Wasm Workers program; only this
 * include was <emscripten/wasm_worker.h> before. Under emcc it starts its workers itself; elsewhere
 * main.js does.
 */
#include <lockword/emscripten.h>

enum { WORKERS = 2, TIMES = 20000, TIMES_ASYNC = 100 };

static emscripten_lock_t lock = EMSCRIPTEN_LOCK_T_STATIC_INITIALIZER;
static emscripten_lock_t busy = EMSCRIPTEN_LOCK_T_STATIC_INITIALIZER;
static emscripten_semaphore_t done = EMSCRIPTEN_SEMAPHORE_T_STATIC_INITIALIZER(0);
static volatile int count; /* guarded by lock */

/* Tells the user: what, and a number. */
#ifdef __EMSCRIPTEN__
#include <stdio.h>
static void say(const char *what, int number)
{
    printf("%s: %d\n", what, number);
}
#else
__attribute__((import_module("program"), import_name("say"))) void say(const char *what,
                                                                       int number);
#endif

/* A worker: may sleep. */
void work(void)
{
    for (int i = 0; i < TIMES; i++) {
        if (!emscripten_lock_wait_acquire(&lock, 1000000))
            emscripten_lock_waitinf_acquire(&lock);
        count = count + 1;
        emscripten_lock_release(&lock);
    }
    emscripten_semaphore_release(&done, 1);
}

/* The main thread: is called back, and never sleeps. */
static void add_one(volatile void *address, uint32_t value, ATOMICS_WAIT_RESULT_T result,
                    void *left)
{
    (void)address, (void)value, (void)result;
    count = count + 1;
    emscripten_lock_release(&lock);
    const uintptr_t more = (uintptr_t)left - 1;
    if (more)
        emscripten_lock_async_acquire(&lock, add_one, (void *)more, EMSCRIPTEN_WAIT_ASYNC_INFINITY);
    else
        emscripten_semaphore_release(&done, 1);
}

static void finished(volatile void *address, uint32_t value, ATOMICS_WAIT_RESULT_T result,
                     void *user_data)
{
    (void)address, (void)value, (void)user_data;
    say("count", result == ATOMICS_WAIT_OK ? count : -1);
#ifdef __EMSCRIPTEN__
    emscripten_terminate_all_wasm_workers();
#endif
}

static void given_up(volatile void *address, uint32_t value, ATOMICS_WAIT_RESULT_T result,
                     void *user_data)
{
    (void)address, (void)value, (void)user_data;
    say("a lock that stays held, after 100 ms", result);
    emscripten_semaphore_release(&done, 1);
}

void begin(void)
{
    emscripten_lock_async_acquire(&lock, add_one, (void *)TIMES_ASYNC,
                                  EMSCRIPTEN_WAIT_ASYNC_INFINITY);
    emscripten_semaphore_async_acquire(&done, WORKERS + 2, finished, NULL, 60000.0);
    emscripten_lock_try_acquire(&busy);
    emscripten_lock_async_acquire(&busy, given_up, NULL, 100.0);
}

#ifdef __EMSCRIPTEN__
int main(void)
{
    for (int i = 0; i < WORKERS; i++)
        emscripten_wasm_worker_post_function_v(emscripten_malloc_wasm_worker(65536), work);
    begin();
    return 0;
}
#endif
