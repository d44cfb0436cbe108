/*
 * keeper.c: one thread for each region that a process has open. It owns the process's token, and
 * watches those of the others.
 *
 * The token is a robust futex. When the keeper ends, however that comes about, the kernel sets
 * FUTEX_OWNER_DIED in it and wakes one of the threads that wait on it. The kernel knows it by the
 * keeper's robust list, whose `list_op_pending` names the token from before it is taken until after
 * it is given back: so there is no moment at which a token is taken and the kernel does not know.
 * A second token, the alarm, is an entry of the list: the kernel marks it, too, and wakes one of
 * the threads that wait for what the process's threads hold, beside a keeper (mutex.c). Either of
 * them buries, and what is woken in vain looks again; without the alarm a waiter would have to wait
 * until a keeper had been woken, had buried, and had woken it.
 * The list belongs to a thread. The C library has another one for each of the others, and its
 * robust mutexes are not touched: the keeper holds none.
 *
 * All keepers wait on all tokens, unless there are more of them than a thread can wait on: then on
 * those of the next 32 processes, by their rows. The one that is woken buries all the dead. If it
 * has been killed itself, its own token wakes another one, which then finds both. Where there are
 * more processes, the only ones that wait on a token may all be among the killed, so a keeper also
 * looks each second. A keeper that is stopped, by SIGSTOP or a debugger, waits on nothing
 * meanwhile, so that the kernel wakes another one. Only if it is stopped just after it was woken is
 * the wake-up lost until it goes on: then a thread that waits for a mutex buries the dead
 * (mutex.c).
 */
#define _GNU_SOURCE
#include "region.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../wait/kernel.h"
#include "../wait/platform.h"

/* Where the system cannot wait on several words (platform.h), the keeper looks this often, ns. */
#define LOOK_NS 10000000

/* And so often where there are more processes than a keeper can wait on. */
#define CROWDED_LOOK_NS 1000000000
/*
 * Then it waits on no more than these; and not for processes to join, each of which would wake all
 * keepers: of a new one it learns when it looks.
 */
#define CROWDED_WATCH 32

#define SLICE_NS 100000 /* the shortest that the kernel gives */

static lw_word boot;

uint32_t lw_region_hash(const char *bytes, size_t n)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}

/* Returns whether it is the kernel's file: some containers have one of their own at its path. */
static bool is_of_the_kernel(int fd)
{
    struct statfs status;
    return fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/*
 * A boot that is only unknown for the moment must not be taken for another one: whoever has a token
 * of the real one would be buried alive.
 */
int lw_region_learn_boot(void)
{
    if (lw_load(&boot, lw_relaxed) != 0)
        return 0;
    char id[64];
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != EPERM)
        return errno;
    const ssize_t length = fd >= 0 && is_of_the_kernel(fd) ? read(fd, id, sizeof id) : 0;
    if (fd >= 0)
        close(fd);
    lw_store(&boot, length > 0 ? lw_region_hash(id, (size_t)length) | 1 : LW_REGION_UNKNOWN_BOOT,
             lw_relaxed);
    return 0;
}

uint32_t lw_region_boot(void)
{
    return lw_load(&boot, lw_relaxed);
}

/*
 * The robust list of a keeper, and what stands for its process row in it. The kernel adds one
 * offset to what is pending and to each entry of the list, to get at the futexes. But an entry
 * contains a pointer, which may not lie in the region. So the row has a twin in the keeper's own
 * memory: its token is what is pending, and its alarm the only entry.
 *
 * The list has a mapping of its own, which is a shared one: when memory is short, the kernel takes
 * a killed process's private memory, such as the keeper's stack, before it looks at the list.
 */
struct list {
    struct robust_list_head head;
    union {
        struct process row;
        struct {
            uint8_t before[offsetof(struct process, alarm)];
            struct robust_list alarm;
        };
    } twin;
};

/* Returns NULL if memory is short. A forked child has no part in it: its keeper maps another. */
static struct list *map_list(void)
{
    void *list =
        mmap(NULL, sizeof(struct list), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED)
        return NULL;
    madvise(list, sizeof(struct list), MADV_DONTFORK);
    return list;
}

static bool register_list(struct list *list)
{
    struct robust_list_head *head = &list->head;
    head->list.next = &head->list;
    head->futex_offset = 0;
    head->list_op_pending = NULL;
    return syscall(SYS_set_robust_list, head, sizeof *head) == 0;
}

/* The kernel would read the list's memory when the thread has ended. */
static void forget_list(struct list *list)
{
    syscall(SYS_set_robust_list, NULL, sizeof(struct robust_list_head));
    if (list)
        munmap(list, sizeof *list);
}

/* The token may be the keeper's from now on. */
static void set_pending(struct list *list, const lw_word *token)
{
    struct robust_list_head *head = &list->head;
    __atomic_store_n(&head->list_op_pending, NULL, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lw_word *twin = &list->twin.row.token;
    head->futex_offset = (long)((uintptr_t)token - (uintptr_t)twin);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&head->list_op_pending, (struct robust_list *)(void *)twin, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* The alarm of the row whose token is pending is the keeper's from now on. */
static void set_alarm(struct list *list, struct process *process, uint32_t token)
{
    struct robust_list *entry = &list->twin.alarm;
    lw_store(&process->alarm, token, lw_release);
    entry->next = &list->head.list;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&list->head.list.next, entry, __ATOMIC_RELAXED);
}

/*
 * Takes a process row for the calling thread, by its token. Returns 0 or EAGAIN.
 *
 * Between a compare-and-swap that fails and the next row, the list names a row that another thread
 * has just taken; and when this thread has given its row back, the list names that row until it is
 * forgotten. If this thread is killed right there, and the two have the same thread id, since they
 * are in different PID namespaces, then the kernel marks the other one's token. Nothing can be done
 * about that: the kernel compares the id alone.
 */
static int take_row(struct lw_region *region, struct list *list, uint32_t token)
{
    for (uint32_t row = 0; row < PROCESSES; row++) {
        struct process *process = &region->memory->processes[row];
        if (lw_load(&process->token, lw_acquire) != 0)
            continue;
        /* Before the row is taken, so that it never looks like one of another boot. */
        lw_store(&process->boot, lw_region_boot(), lw_release);
        lw_region_mark_used(region->memory->header.used_processes, PROCESSES_PART_SHIFT, row);
        set_pending(list, &process->token);
        if (lw_cas(&process->token, 0, token, lw_acq_rel) == 0) {
            region->row = row;
            region->generation = lw_load(&process->generation, lw_acquire);
            set_alarm(list, process, token);
            return 0;
        }
    }
    return EAGAIN;
}

/*
 * Returns whether the row is still that of this keeper, whose token this is. If the process was
 * taken for dead, another one may have the row by now.
 */
static bool has_its_row(const struct lw_region *region, uint32_t token)
{
    const struct process *process = &region->memory->processes[region->row];
    return lw_load(&process->token, lw_acquire) == token &&
           lw_load(&process->generation, lw_acquire) == region->generation;
}

/* Whether there is one but for the last. */
static bool has_free_row(const struct lw_region *region)
{
    for (uint32_t row = 0; row < PROCESSES - 1; row++) {
        if (lw_load(&region->memory->processes[row].token, lw_acquire) == 0)
            return true;
    }
    return false;
}

/* What a keeper waits on. */
struct watched {
    struct lw_waited words[FUTEX_WAITV_MAX];
    uint32_t n;
    bool any_dead;
    bool any_left; /* processes for which there is no room */
};

static void watch_rows(const struct lw_region *region, uint32_t from, uint32_t to,
                       struct watched *watched)
{
    for (uint32_t row = lw_region_next_process(region, from); row < to;
         row = lw_region_next_process(region, row + 1)) {
        const lw_word *word = &region->memory->processes[row].token;
        const uint32_t token = __atomic_load_n(word, __ATOMIC_SEQ_CST);
        if (token & FUTEX_OWNER_DIED)
            watched->any_dead = true;
        else if (token != 0 && watched->n == FUTEX_WAITV_MAX)
            watched->any_left = true;
        else if (token != 0)
            watched->words[watched->n++] = (struct lw_waited){word, token};
    }
}

/*
 * Waits until a process joins, until one of those that have joined may have died, or until this
 * process closes the region.
 */
static void watch(struct lw_region *region, uint32_t members)
{
    struct watched watched = {.n = 1};
    watched.words[0] = (struct lw_waited){&region->memory->header.members, members};
    watch_rows(region, region->row + 1, PROCESSES, &watched);
    watch_rows(region, 0, region->row, &watched);
    /* The dead are left to a live burier only. If that dies, its token is among the words. */
    if (watched.any_dead && !lw_region_has_burier(region))
        return;
    if (watched.any_left) {
        watched.words[0] = (struct lw_waited){&region->closing, 0};
        watched.n = 1 + CROWDED_WATCH;
    }
    int64_t look_ns = LOOK_NS;
    lw_wait_many(watched.words, watched.n,
                 watched.any_left ? lw_after_ns(CROWDED_LOOK_NS) : LW_FOREVER, &look_ns);
}

void lw_region_move(lw_word *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
    lw_notify(word, LW_ALL);
}

static void tell(struct lw_region *region, uint32_t ready)
{
    lw_store(&region->keeper_ready, ready, lw_release);
    lw_notify(&region->keeper_ready, LW_ALL);
}

/*
 * When the process is killed, the kernel marks the tokens as this thread ends, which it often does
 * on the CPU where the others end, too. By its short time slices it comes first, without a higher
 * priority; and when it is woken on a busy CPU. Before Linux 6.12 that changes nothing.
 */
static void ask_for_short_slices(void)
{
    struct sched_attributes attributes = {.size = sizeof attributes,
                                          .flags = SCHED_FLAG_KEEP_POLICY,
                                          .nice = getpriority(PRIO_PROCESS, 0),
                                          .runtime = SLICE_NS};
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void *keep(void *argument)
{
    ask_for_short_slices();
    struct lw_region *region = argument;
    struct header *header = &region->memory->header;
    const uint32_t token = (uint32_t)syscall(SYS_gettid) | FUTEX_WAITERS;
    struct list *list = map_list();
    if (!list || !register_list(list) || take_row(region, list, token) != 0) {
        forget_list(list);
        tell(region, KEEPER_FAILED);
        return NULL;
    }
    struct process *process = &region->memory->processes[region->row];
    lw_store(&process->pid, (uint32_t)getpid(), lw_relaxed);
    lw_store(&process->announced, lw_region_announce_process(), lw_release);
    lw_region_move(&header->members);
    uint32_t members = __atomic_load_n(&header->members, __ATOMIC_SEQ_CST);
    lw_region_bury_the_dead(region);
    /* Without the last row nobody could join, and bury, if all had died at the same time. */
    const bool stays = region->row != PROCESSES - 1 || has_free_row(region);
    tell(region, stays ? KEEPER_RUNS : KEEPER_FAILED);
    while (stays && !lw_load(&region->closing, lw_acquire)) {
        /* Whoever wanted this row, too, and was late, has stored its own, and then joins. */
        if (lw_load(&process->boot, lw_relaxed) != lw_region_boot() && has_its_row(region, token))
            lw_store(&process->boot, lw_region_boot(), lw_relaxed);
        lw_region_bury_the_dead(region);
        watch(region, members);
        members = __atomic_load_n(&header->members, __ATOMIC_SEQ_CST);
    }
    if (has_its_row(region, token))
        lw_region_bury_process(region, region->row);
    forget_list(list);
    return NULL;
}

int lw_region_start_thread(pthread_t *thread, void *(*body)(void *), struct lw_region *region)
{
    sigset_t all;
    sigset_t before;
    const struct lw_quiet quiet = lw_begin_quietly();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, body, region);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    lw_end_quietly(quiet);
    return error ? EAGAIN : 0;
}

int lw_region_join(struct lw_region *region)
{
    const struct lw_quiet before = lw_begin_quietly();
    lw_mutex_lock(&region->joining);
    int error = 0;
    if (!region->joined) {
        lw_store(&region->keeper_ready, KEEPER_STARTS, lw_relaxed);
        lw_store(&region->closing, 0, lw_relaxed);
        /* Before there is a thread more: of several threads it takes the kernel 10 ms. */
        lw_region_announce_process();
        error = lw_region_start_thread(&region->keeper, keep, region);
        if (!error) {
            while (lw_load(&region->keeper_ready, lw_acquire) == KEEPER_STARTS)
                lw_wait(&region->keeper_ready, KEEPER_STARTS, LW_FOREVER);
            error = lw_load(&region->keeper_ready, lw_acquire) == KEEPER_RUNS ? 0 : EAGAIN;
            if (error)
                pthread_join(region->keeper, NULL);
        }
        region->joined = !error;
    }
    lw_mutex_unlock(&region->joining);
    lw_end_quietly(before);
    return error;
}

void lw_region_leave(struct lw_region *region)
{
    if (!region->joined)
        return;
    lw_store(&region->closing, 1, lw_release);
    lw_region_move(&region->memory->header.members);
    lw_notify(&region->closing, LW_ALL);
    pthread_join(region->keeper, NULL);
    region->joined = false;
}
