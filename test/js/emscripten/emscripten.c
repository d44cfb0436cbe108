/*
 * emscripten.c: a program for Emscripten's Wasm Workers, with its include changed
 * (emscripten.test.js). Its workers and its main thread each have an instance; what is static here
 * they share.
 */
#include <lockword/emscripten.h>

enum { ROOM = 4 };

static emscripten_lock_t lock = EMSCRIPTEN_LOCK_T_STATIC_INITIALIZER;
static emscripten_semaphore_t permits = EMSCRIPTEN_SEMAPHORE_T_STATIC_INITIALIZER(3);
static emscripten_condvar_t not_empty = EMSCRIPTEN_CONDVAR_T_STATIC_INITIALIZER;
static emscripten_condvar_t not_full = EMSCRIPTEN_CONDVAR_T_STATIC_INITIALIZER;
static volatile uint32_t counter; /* guarded by lock, as are these */
static volatile uint32_t queued;
static volatile uint32_t consumed;

/* What is told to JavaScript, once a callback was called. */
__attribute__((import_module("test"), import_name("finished"))) void
finished(uint32_t address, uint32_t value, int result, uint32_t user_data);
__attribute__((import_module("test"), import_name("counted"))) void counted(void);

emscripten_lock_t *the_lock(void)
{
    return &lock;
}

emscripten_semaphore_t *the_semaphore(void)
{
    return &permits;
}

emscripten_condvar_t *the_condvar(void)
{
    return &not_empty;
}

uint32_t the_count(void)
{
    return counter;
}

uint32_t the_consumed(void)
{
    return consumed;
}

/* One form after the other. */
static bool acquire(uint32_t turn)
{
    switch (turn % 5) {
    case 0:
        return emscripten_lock_try_acquire(&lock);
    case 1:
        return emscripten_lock_wait_acquire(&lock, 20000);
    case 2:
        return emscripten_lock_busyspin_wait_acquire(&lock, 0.02);
    case 3:
        emscripten_lock_busyspin_waitinf_acquire(&lock);
        return true;
    default:
        return false;
    }
}

/* A worker: adds one to the counter under the lock, this often. */
void count(uint32_t times)
{
    for (uint32_t turn = 0; turn < times; turn++) {
        if (!acquire(turn))
            emscripten_lock_waitinf_acquire(&lock);
        counter = counter + 1;
        emscripten_lock_release(&lock);
    }
}

static void count_one(volatile void *address, uint32_t value, ATOMICS_WAIT_RESULT_T result,
                      void *times)
{
    if (address != &lock || value != 0 || result != ATOMICS_WAIT_OK)
        __builtin_trap();
    counter = counter + 1;
    emscripten_lock_release(&lock);
    const uintptr_t left = (uintptr_t)times - 1;
    if (left == 0)
        counted();
    else
        emscripten_lock_async_acquire(&lock, count_one, (void *)left,
                                      EMSCRIPTEN_WAIT_ASYNC_INFINITY);
}

/* The same on a main thread. */
void count_async(uint32_t times)
{
    emscripten_lock_async_acquire(&lock, count_one, (void *)(uintptr_t)times,
                                  EMSCRIPTEN_WAIT_ASYNC_INFINITY);
}

/* A worker: puts items into a queue that has room for a few; then takes as many from it. */
void produce(uint32_t items)
{
    while (items--) {
        emscripten_lock_waitinf_acquire(&lock);
        while (queued == ROOM)
            emscripten_condvar_waitinf(&not_full, &lock);
        queued = queued + 1;
        emscripten_lock_release(&lock);
        emscripten_condvar_signal(&not_empty, 1);
    }
}

static void take(void)
{
    queued = queued - 1;
    consumed = consumed + 1;
    emscripten_lock_release(&lock);
    emscripten_condvar_signal(&not_full, 1);
}

void consume(uint32_t items)
{
    while (items--) {
        emscripten_lock_waitinf_acquire(&lock);
        while (queued == 0) {
            /* Woken or not, its time may be up: then it does not hold the lock. */
            if (!emscripten_condvar_wait(&not_empty, &lock, 2000000))
                emscripten_lock_waitinf_acquire(&lock);
        }
        take();
    }
}

static uint32_t to_consume;
static void look(volatile void *address, uint32_t value, ATOMICS_WAIT_RESULT_T result,
                 void *user_data);

static void look_again(int32_t *address, uint32_t value, ATOMICS_WAIT_RESULT_T result,
                       void *user_data)
{
    if (address != (int32_t *)&not_empty || result != ATOMICS_WAIT_OK)
        __builtin_trap();
    (void)value;
    emscripten_lock_async_acquire(&lock, look, user_data, EMSCRIPTEN_WAIT_ASYNC_INFINITY);
}

static void look(volatile void *address, uint32_t value, ATOMICS_WAIT_RESULT_T result,
                 void *user_data)
{
    (void)address, (void)value, (void)result;
    if (queued == 0) {
        emscripten_condvar_wait_async(&not_empty, &lock, look_again, user_data,
                                      EMSCRIPTEN_WAIT_ASYNC_INFINITY);
        return;
    }
    take();
    if (--to_consume == 0)
        counted();
    else
        emscripten_lock_async_acquire(&lock, look, user_data, EMSCRIPTEN_WAIT_ASYNC_INFINITY);
}

/* The same on a main thread. */
void consume_async(uint32_t items)
{
    to_consume = items;
    emscripten_lock_async_acquire(&lock, look, NULL, EMSCRIPTEN_WAIT_ASYNC_INFINITY);
}

/* One call each, for JavaScript to look at what it answers. */

bool lock_try_acquire(void)
{
    return emscripten_lock_try_acquire(&lock);
}

bool lock_wait_acquire(double ms)
{
    return emscripten_lock_wait_acquire(&lock, (int64_t)(ms * 1e6));
}

bool lock_busyspin_wait_acquire(double ms)
{
    return emscripten_lock_busyspin_wait_acquire(&lock, ms);
}

void lock_waitinf_acquire(void)
{
    emscripten_lock_waitinf_acquire(&lock);
}

void lock_busyspin_waitinf_acquire(void)
{
    emscripten_lock_busyspin_waitinf_acquire(&lock);
}

void lock_release(void)
{
    emscripten_lock_release(&lock);
}

static void on_acquired(volatile void *address, uint32_t value, ATOMICS_WAIT_RESULT_T result,
                        void *user_data)
{
    finished((uint32_t)(uintptr_t)address, value, result, (uint32_t)(uintptr_t)user_data);
}

static void on_signaled(int32_t *address, uint32_t value, ATOMICS_WAIT_RESULT_T result,
                        void *user_data)
{
    finished((uint32_t)(uintptr_t)address, value, result, (uint32_t)(uintptr_t)user_data);
}

void lock_async_acquire(uint32_t user_data, double ms)
{
    emscripten_lock_async_acquire(&lock, on_acquired, (void *)(uintptr_t)user_data, ms);
}

int semaphore_try_acquire(int num)
{
    return emscripten_semaphore_try_acquire(&permits, num);
}

int semaphore_wait_acquire(int num, double ms)
{
    return emscripten_semaphore_wait_acquire(&permits, num, (int64_t)(ms * 1e6));
}

int semaphore_waitinf_acquire(int num)
{
    return emscripten_semaphore_waitinf_acquire(&permits, num);
}

uint32_t semaphore_release(int num)
{
    return emscripten_semaphore_release(&permits, num);
}

void semaphore_async_acquire(int num, uint32_t user_data, double ms)
{
    emscripten_semaphore_async_acquire(&permits, num, on_acquired, (void *)(uintptr_t)user_data,
                                       ms);
}

void condvar_waitinf(void)
{
    emscripten_condvar_waitinf(&not_empty, &lock);
}

bool condvar_wait(double ms)
{
    return emscripten_condvar_wait(&not_empty, &lock,
                                   ms < 0 ? ATOMICS_WAIT_DURATION_INFINITE : (int64_t)(ms * 1e6));
}

ATOMICS_WAIT_TOKEN_T condvar_wait_async(uint32_t user_data, double ms)
{
    ATOMICS_WAIT_TOKEN_T token = emscripten_condvar_wait_async(&not_empty, &lock, on_signaled,
                                                               (void *)(uintptr_t)user_data, ms);
    return EMSCRIPTEN_IS_VALID_WAIT_TOKEN(token) ? token : 0;
}

void condvar_signal(int n)
{
    emscripten_condvar_signal(&not_empty, n < 0 ? EMSCRIPTEN_NOTIFY_ALL_WAITERS : n);
}

int cancel(ATOMICS_WAIT_TOKEN_T token)
{
    return emscripten_atomic_cancel_wait_async(token);
}

int cancel_all(void)
{
    return emscripten_atomic_cancel_all_wait_asyncs();
}

int cancel_all_at(int32_t *address)
{
    return emscripten_atomic_cancel_all_wait_asyncs_at_address(address);
}

/* Made at run time, they are as they were made by their initializers. */
void make_again(int num)
{
    emscripten_lock_init(&lock);
    emscripten_semaphore_init(&permits, num);
    emscripten_condvar_init(&not_empty);
}

/* The same by programs that take them for the numbers that Emscripten's are. */
bool assign_again(int num)
{
    emscripten_lock_t *const the_same = &lock;
    *the_same = 0;
    lock = EMSCRIPTEN_LOCK_T_STATIC_INITIALIZER;
    permits = EMSCRIPTEN_SEMAPHORE_T_STATIC_INITIALIZER(num);
    not_empty = EMSCRIPTEN_CONDVAR_T_STATIC_INITIALIZER;
    return lock == 0 && permits == (uint32_t)num && !not_empty;
}
