/*
 * linux.c: waiting on the kernel's futex. The futexes are private: a word's waiters are threads of
 * one process. Only the words of a region (lw_share) are shared with other processes; they are told
 * by their address, since a step knows nothing of that.
 */
#define _GNU_SOURCE
#include "kernel.h"
#include "platform.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * For lw_wait_ringing: a word that changes with each notify while threads wait at it, and how many
 * threads wait there.
 */
static lw_word bell;
static lw_word listeners;

/*
 * The memory that processes share, in the first `shared_used` places. A place whose end is 0 is
 * free; one whose end is 1 is being taken. It is read without a lock: its begin before and after
 * its end.
 */
static struct {
    uintptr_t begin;
    uintptr_t end;
    struct lw_region *region;
    struct lw_doorbell *doorbell;
} shared[LW_SHARED_MAX];
static lw_word shared_used;

int lw_share(const void *memory, size_t size, struct lw_region *region,
             struct lw_doorbell *doorbell)
{
    for (uint32_t place = 0; place < LW_SHARED_MAX; place++) {
        uintptr_t free_end = 0;
        if (!__atomic_compare_exchange_n(&shared[place].end, &free_end, 1, false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST))
            continue;
        __atomic_store_n(&shared[place].begin, (uintptr_t)memory, __ATOMIC_SEQ_CST);
        __atomic_store_n(&shared[place].region, region, __ATOMIC_SEQ_CST);
        __atomic_store_n(&shared[place].doorbell, doorbell, __ATOMIC_SEQ_CST);
        __atomic_store_n(&shared[place].end, (uintptr_t)memory + size, __ATOMIC_SEQ_CST);
        for (uint32_t used = lw_load(&shared_used, lw_relaxed); used <= place;)
            used = lw_cas(&shared_used, used, place + 1, lw_acq_rel);
        return 0;
    }
    return EMFILE;
}

void lw_unshare(const struct lw_region *region)
{
    for (uint32_t place = 0; place < LW_SHARED_MAX; place++) {
        if (__atomic_load_n(&shared[place].end, __ATOMIC_ACQUIRE) > 1 &&
            __atomic_load_n(&shared[place].region, __ATOMIC_ACQUIRE) == region)
            __atomic_store_n(&shared[place].end, 0, __ATOMIC_SEQ_CST);
    }
}

/* Returns the region that has this word, or NULL; and where in it the word lies, and its doorbell.
 */
static struct lw_region *find(const uint32_t *word, size_t *offset, struct lw_doorbell **rings)
{
    const uint32_t used = lw_load(&shared_used, lw_acquire);
    const uintptr_t address = (uintptr_t)word;
    for (uint32_t place = 0; place < used; place++) {
        const uintptr_t begin = __atomic_load_n(&shared[place].begin, __ATOMIC_ACQUIRE);
        struct lw_doorbell *doorbell = __atomic_load_n(&shared[place].doorbell, __ATOMIC_ACQUIRE);
        const uintptr_t end = __atomic_load_n(&shared[place].end, __ATOMIC_ACQUIRE);
        struct lw_region *region = __atomic_load_n(&shared[place].region, __ATOMIC_ACQUIRE);
        if (begin <= address && address < end &&
            __atomic_load_n(&shared[place].begin, __ATOMIC_ACQUIRE) == begin) {
            *offset = address - begin;
            *rings = doorbell;
            return region;
        }
    }
    return NULL;
}

struct lw_region *lw_shared_by(const uint32_t *word)
{
    size_t offset;
    struct lw_doorbell *doorbell;
    return find(word, &offset, &doorbell);
}

static int private_flag(const uint32_t *word)
{
    return lw_shared_by(word) ? 0 : FUTEX_PRIVATE_FLAG;
}

/* A forked child has its parent's memory, these two included, but one thread, with another id. */
static void forget_threads(void)
{
    lw_self_forget();
    lw_store(&listeners, 0, lw_relaxed);
}

LW_CONSTRUCTOR static void forget_threads_in_forked_children(void)
{
    pthread_atfork(NULL, NULL, forget_threads);
}

/* At most 2^22, as the kernel limits pid_max. */
uint64_t lw_thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

bool lw_has_one_cpu(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1;
}

int64_t lw_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void lw_yield(void)
{
    sched_yield();
}

/*
 * A time as the kernel takes it, on 32-bit systems, too. There struct timespec has as many bits as
 * the C library was configured for.
 */
struct time64 {
    int64_t s;
    int64_t ns;
};

static struct time64 time_of(lw_deadline deadline)
{
    return deadline > 0 ? (struct time64){deadline / NS_PER_S, deadline % NS_PER_S}
                        : (struct time64){0, 0};
}

#ifdef SYS_futex_time64
/*
 * On 32-bit systems. Before Linux 5.1, and in a sandbox that does not know the call, a time has to
 * fit in a long. A later deadline is as good as none.
 */
static long futex(const uint32_t *word, int operation, uint32_t value, const struct time64 *until)
{
    operation |= private_flag(word);
    const long result =
        syscall(SYS_futex_time64, word, operation, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
#ifdef SYS_futex
    if (result < 0 && (errno == ENOSYS || errno == EPERM)) {
        long until32[2] = {LONG_MAX, 0};
        if (until && until->s < LONG_MAX) {
            until32[0] = (long)until->s;
            until32[1] = (long)until->ns;
        }
        return syscall(SYS_futex, word, operation, value, until ? until32 : NULL, NULL,
                       FUTEX_BITSET_MATCH_ANY);
    }
#endif
    return result;
}
#else
static long futex(const uint32_t *word, int operation, uint32_t value, const struct time64 *until)
{
    return syscall(SYS_futex, word, operation | private_flag(word), value, until, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}
#endif

#ifdef SYS_futex_waitv
/* Set once futex_waitv has failed: an old kernel, or a sandbox that does not know the call. */
static lw_word has_no_waitv;
#endif

bool lw_can_wait_for_many(void)
{
#ifdef SYS_futex_waitv
    return lw_load(&has_no_waitv, lw_relaxed) == 0;
#else
    return false;
#endif
}

/* Another process's notify rings no bell in this one: then the caller has to look again. */
static lw_woken wait_without_waitv(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                                   int64_t *look_ns)
{
    for (uint32_t i = 0; i < n; i++) {
        if (lw_shared_by(waited[i].word))
            return lw_wait_polling(waited, n, deadline, look_ns);
    }
    return lw_wait_ringing(waited, n, deadline);
}

#ifdef SYS_futex_waitv
lw_woken lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                      int64_t *look_ns)
{
    struct futex_waitv futexes[FUTEX_WAITV_MAX];
    for (uint32_t i = 0; i < n; i++)
        futexes[i] =
            (struct futex_waitv){.val = waited[i].expected,
                                 .uaddr = (uintptr_t)waited[i].word,
                                 .flags = FUTEX_32 | (uint32_t)private_flag(waited[i].word)};
    const struct time64 until = time_of(deadline);
    const int saved = errno;
    long result;
    do {
        result = syscall(SYS_futex_waitv, futexes, n, 0, deadline == LW_FOREVER ? NULL : &until,
                         CLOCK_MONOTONIC);
    } while (result < 0 && errno == EINTR);
    const int error = result < 0 ? errno : 0;
    errno = saved;
    if (error == ENOSYS || error == EPERM) {
        lw_store(&has_no_waitv, 1, lw_relaxed);
        return wait_without_waitv(waited, n, deadline, look_ns);
    }
    return error == 0 ? LW_OK : error == ETIMEDOUT ? LW_TIMED_OUT : LW_NOT_EQUAL;
}
#else
lw_woken lw_wait_many(const struct lw_waited *waited, uint32_t n, lw_deadline deadline,
                      int64_t *look_ns)
{
    return wait_without_waitv(waited, n, deadline, look_ns);
}
#endif

lw_woken lw_wait(const uint32_t *word, uint32_t expected, lw_deadline deadline)
{
    /*
     * FUTEX_WAIT_BITSET takes an absolute time, so that an interrupted wait goes on without
     * arithmetic.
     */
    const struct time64 until = time_of(deadline);
    const struct time64 *limit = deadline == LW_FOREVER ? NULL : &until;
    int saved = errno;
    long result;
    do {
        result = futex(word, FUTEX_WAIT_BITSET, expected, limit);
    } while (result < 0 && errno == EINTR);
    int error = result < 0 ? errno : 0;
    errno = saved;
    return error == 0 ? LW_OK : error == ETIMEDOUT ? LW_TIMED_OUT : LW_NOT_EQUAL;
}

static bool has_changed(const struct lw_waited *waited, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (__atomic_load_n(waited[i].word, __ATOMIC_SEQ_CST) != waited[i].expected)
            return true;
    }
    return false;
}

/*
 * A notify either comes before this function looks at the words. Then the words have changed, or
 * the caller may wait for them as they are. Or the notify finds this listener counted, and changes
 * the bell, so that the wait ends. What a notifier changed comes before its look at the count,
 * because the kernel's wake orders memory: it has to see which threads fell asleep meanwhile.
 */
lw_woken lw_wait_ringing(const struct lw_waited *waited, uint32_t n, lw_deadline deadline)
{
    lw_woken woken = LW_NOT_EQUAL;
    __atomic_fetch_add(&listeners, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        const uint32_t rung = __atomic_load_n(&bell, __ATOMIC_SEQ_CST);
        if (has_changed(waited, n))
            break;
        woken = lw_wait(&bell, rung, deadline);
        if (woken == LW_TIMED_OUT)
            break;
        woken = LW_NOT_EQUAL;
    }
    __atomic_fetch_sub(&listeners, 1, __ATOMIC_SEQ_CST);
    return woken;
}

/* Wakes the threads in lw_wait_ringing, which a notify at its own word does not reach. */
static void ring(void)
{
    __atomic_fetch_add(&bell, 1, __ATOMIC_SEQ_CST);
    futex(&bell, FUTEX_WAKE, INT_MAX, NULL);
}

uint32_t lw_notify(lw_word *word, uint32_t n)
{
    /* If n is 0, the kernel would wake one thread. */
    if (n == 0)
        return 0;
    int saved = errno;
    long woken = futex(word, FUTEX_WAKE, n < INT_MAX ? n : INT_MAX, NULL);
    if (__atomic_load_n(&listeners, __ATOMIC_SEQ_CST) != 0)
        ring();
    errno = saved;
    return woken > 0 ? (uint32_t)woken : 0;
}

/*
 * The bell moves before `rung` does: a thread that has read `rung` afterwards finds the bell moved,
 * and one that has read it before does not fall asleep, or is woken.
 */
bool lw_ring(const lw_word *word)
{
    size_t offset;
    struct lw_doorbell *doorbell;
    if (!find(word, &offset, &doorbell))
        return false;
    __atomic_fetch_add(&doorbell->bells[LW_BELL_OF(offset)], 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&doorbell->rung, 1, __ATOMIC_SEQ_CST);
    lw_notify(&doorbell->rung, LW_ALL);
    return true;
}

lw_word *lw_heard_at(lw_word *word)
{
    size_t offset;
    struct lw_doorbell *doorbell;
    return find(word, &offset, &doorbell) ? &doorbell->bells[LW_BELL_OF(offset)] : word;
}
