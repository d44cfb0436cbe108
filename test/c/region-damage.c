/*
 * region-damage.c: opens regions whose words were overwritten at random, before and while they are
 * used. Every function returns an error or works; with the presets asan and tsan, it also touches
 * nothing outside. LW_DAMAGES says how many regions; LW_SEED repeats a run. `make fuzz` compiles it
 * as a target of libFuzzer, which chooses the damage.
 *
 * Time is replaced: a thread's patience with a mutex is a moment, and no burial pauses.
 */
#define _GNU_SOURCE
#include <lockword/region.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* docs/layout.md */
enum {
    PROCESSES_AT = 4096,
    AGENTS_AT = 69632,
    SLOTS_AT = 331776,
    SLOTS = 8,
    SIZE = SLOTS_AT + SLOTS * 128 * 2, /* as many bytes for ranges */
};

#ifdef LW_FUZZ
static const uint8_t *input;
static size_t left;

/* The next of libFuzzer's bytes, and zeros when it has no more. */
static uint32_t any(void)
{
    uint32_t value = 0;
    const size_t size = left < sizeof value ? left : sizeof value;
    memcpy(&value, input, size);
    input += size;
    left -= size;
    return value;
}
#else
static uint32_t seed;

static uint32_t any(void)
{
    return next_random(&seed);
}
#endif

lw_deadline __real_lw_after_ns(int64_t ns);
lw_deadline __wrap_lw_after_ns(int64_t ns)
{
    return __real_lw_after_ns(ns / 10000);
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)time, (void)left;
    return 0;
}

static char *memory, *sound;

/* A word of the header, of a process, of an agent, or of a slot; the first rows more often. */
static uint32_t *any_word(void)
{
    const uint32_t some = any() >> 8;
    const uint32_t row = any() % 4 ? some % 3 : some;
    switch (any() % 4) {
    case 0:
        return (uint32_t *)(void *)memory + some % 16;
    case 1:
        return (uint32_t *)(void *)(memory + PROCESSES_AT + row % 1024 * 64) + some % 7;
    case 2:
        return (uint32_t *)(void *)(memory + AGENTS_AT + row % 4096 * 64) + some % 7;
    default:
        return (uint32_t *)(void *)(memory + SLOTS_AT) + some % (SLOTS * 32);
    }
}

static uint32_t any_value(uint32_t before)
{
    const uint32_t some = any() >> 8;
    switch (any() % 7) {
    case 0:
        return 0;
    case 1:
        return some % 300;
    case 2:
        return UINT32_MAX - some % 3;
    case 3:
        return before ^ 1u << some % 32;
    case 4:
        return (1 + some % 2) << 12 | (some >> 4) % 64; /* an agent's id */
    case 5:
        return (1 + some % 2) << 11 | (some >> 4) % 4; /* an agent's state */
    default:
        return some << 13 ^ any();
    }
}

/* Of the process rows, as far as these bits and the boot say. A free one may become this process's.
 */
static bool may_be_alive(uint32_t row)
{
    const char *process = memory + PROCESSES_AT + row * 64;
    const uint32_t token = *(const uint32_t *)(const void *)process;
    const uint32_t boot = *(const uint32_t *)(const void *)(process + 4);
    const uint32_t this_boot = *(const uint32_t *)(const void *)(sound + PROCESSES_AT + 4);
    return token == 0 || (!(token & 0x40000000) && boot == this_boot);
}

/*
 * A process that can write can hold a mutex for ever. So no mutex may be held by what looks like an
 * agent of a live process.
 */
static void free_what_seems_alive(void)
{
    for (uint32_t i = 0; i <= SLOTS; i++) {
        uint32_t *state = (uint32_t *)(void *)(memory + (i < SLOTS ? SLOTS_AT + i * 128 + 64 : 32));
        const uint32_t id = *state & 0x1fffffff;
        const uint32_t agent = *(uint32_t *)(void *)(memory + AGENTS_AT + id % 4096 * 64);
        const uint32_t process = agent & 0x7ff;
        if (0 < process && process <= 1024 && agent >> 11 == id >> 12 && may_be_alive(process - 1))
            __atomic_store_n(state, 0, __ATOMIC_RELAXED);
    }
}

static void damage(void)
{
    for (uint32_t i = 1 + any() % 8; i > 0; i--) {
        uint32_t *word = any_word();
        const uint32_t before = __atomic_load_n(word, __ATOMIC_RELAXED);
        __atomic_store_n(word, any_value(before), __ATOMIC_RELAXED);
    }
    free_what_seems_alive();
}

static void use_mutex(lw_region *region, const char *name)
{
    lw_region_mutex mutex;
    if (lw_region_mutex_named(region, name, &mutex) != 0)
        return;
    const int error = lw_region_mutex_lock_until(&mutex, lw_after_ms(100));
    if (error == 0 || error == EOWNERDEAD)
        lw_region_mutex_unlock(&mutex);
    else if (error == ENOTRECOVERABLE)
        lw_region_mutex_trylock(&mutex);
}

static void use_owned(lw_region *region)
{
    const lw_deadline soon = lw_after_ms(1);
    lw_region_rmutex rmutex;
    lw_region_once once;
    lw_region_rwlock rwlock;
    if (lw_region_rmutex_named(region, "r", &rmutex) == 0 &&
        lw_region_rmutex_lock_until(&rmutex, soon) == 0)
        lw_region_rmutex_unlock(&rmutex);
    if (lw_region_once_named(region, "o", &once) == 0 &&
        lw_region_once_begin_until(&once, soon) == LW_ONCE_RUN)
        lw_region_once_finish(&once, false);
    if (lw_region_rwlock_named(region, "rw", &rwlock) == 0 &&
        lw_region_rwlock_wrlock_until(&rwlock, soon) == 0)
        lw_region_rwlock_unlock(&rwlock);
}

static void use_others(lw_region *region)
{
    const lw_deadline soon = lw_after_ms(1);
    lw_event *event;
    lw_sem *sem;
    char *bytes;
    uint32_t found;
    struct lw_region_link links[2];
    if (lw_region_event_named(region, "e", NULL, &event) == 0)
        lw_event_wait_until(event, soon);
    if (lw_region_sem_named(region, "s", NULL, &sem) == 0 &&
        lw_sem_acquire_until(sem, 1, soon) == 0)
        lw_sem_release(sem, 1);
    if (lw_region_bytes(region, "bytes", 300, (void **)&bytes) == 0)
        memset(bytes, 1, 300);
    lw_region_deadlock(region, links, COUNT_OF(links), &found);
}

/* No call may take longer than its deadline, so none is made that has no deadline. */
static void use(lw_region *region)
{
    static const char *const names[] = {"a", "b", "c", "name", "another", "e", "r", "s", "bytes"};
    struct lw_region_info info;
    uint32_t cursor = 0;
    while (lw_region_next(region, &cursor, &info) == 0)
        assert_true(strlen(info.name) < sizeof info.name && strlen(info.holder) < 32);
    for (int i = 0; i < 6; i++) {
        const char *name = names[any() % COUNT_OF(names)];
        if (any() % 4 == 0)
            damage();
        lw_region_describe(region, name, &info);
        switch (any() % 4) {
        case 0:
            use_owned(region);
            break;
        case 1:
            use_others(region);
            break;
        default:
            use_mutex(region, name);
        }
        if (any() % 2)
            lw_region_remove(region, name);
    }
}

static void make_sound(void)
{
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sound = calloc(1, SIZE);
    lw_region *region;
    lw_region_mutex mutex;
    assert_int_equal(lw_region_open_memory(&region, memory, SIZE, LW_REGION_CREATE), 0);
    assert_int_equal(lw_region_mutex_named(region, "a", &mutex), 0);
    assert_int_equal(lw_region_mutex_named(region, "name", &mutex), 0);
    use_owned(region);
    use_others(region);
    assert_int_equal(lw_region_close(region), 0);
    memcpy(sound, memory, SIZE);
}

/* Returns whether a region could be opened when it had been damaged. */
static bool damage_and_use(void)
{
    lw_region *region;
    memcpy(memory, sound, SIZE);
    damage();
    const int error = lw_region_open_memory(&region, memory, SIZE, 0);
    if (error) {
        assert_true(error == EBADMSG || error == EPROTO || error == EAGAIN);
        return false;
    }
    use(region);
    assert_int_equal(lw_region_close(region), 0);
    return true;
}

#ifdef LW_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!memory)
        make_sound();
    input = data;
    left = size;
    damage_and_use();
    return 0;
}
#else
TEST(damaged_regions)
{
    const char *wanted = getenv("LW_DAMAGES");
    const char *given = getenv("LW_SEED");
    const int runs = wanted ? atoi(wanted) : 1000;
    seed = given ? (uint32_t)atoi(given) : (uint32_t)getpid();
    printf("LW_SEED=%u\n", seed);
    make_sound();
    int opened = 0;
    for (int i = 0; i < runs; i++) {
        alarm(20);
        opened += damage_and_use();
    }
    alarm(0);
    assert_true(opened > runs / 2);
    free(sound);
    munmap(memory, SIZE);
}

RUN_TESTS("region-damage")
#endif
