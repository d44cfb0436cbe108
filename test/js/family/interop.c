/* interop.c: what C workers do in interop.test.js, beside JavaScript, on the same words. */
#include <stddef.h>

#include <lockword/lockword.h>

struct shared {
    lw_mutex mutex;
    lw_cond not_full;
    lw_cond not_empty;
    lw_sem permits;
    lw_rwlock lock;
    lw_waitgroup group;
    lw_event start;
    lw_event baton;
    lw_barrier barrier;
    lw_once once;
    lw_counter arrived;
    lw_rmutex recursive;
    lw_latch latch;
    lw_permits pool;
    uint32_t pair[2];   /* guarded by lock: equal */
    uint32_t queued;    /* guarded by mutex */
    uint32_t consumed;  /* guarded by mutex */
    uint32_t inside;    /* atomic: how many permits are in use */
    uint32_t worst;     /* atomic: how often more were than there are */
    uint32_t torn;      /* atomic: how often a reader saw half a write */
    uint32_t recursion; /* guarded by recursive */
    uint32_t leaders;   /* atomic */
    uint32_t runs;      /* of once */
    uint32_t users[2];  /* atomic: of each permit of the pool */
    uint32_t clashes;   /* atomic: how often two had the same permit */
};

enum {
    PERMITS = 3,
    QUEUE = 4,
};

#define OFFSET(field) offsetof(struct shared, field)

/* Where the i-th field is. */
uint32_t family_offset(uint32_t i)
{
    static const uint16_t offsets[] = {
        OFFSET(mutex),   OFFSET(not_full),  OFFSET(not_empty), OFFSET(permits), OFFSET(lock),
        OFFSET(group),   OFFSET(start),     OFFSET(baton),     OFFSET(barrier), OFFSET(once),
        OFFSET(arrived), OFFSET(recursive), OFFSET(latch),     OFFSET(pool),    OFFSET(pair),
    };
    return i < sizeof offsets / sizeof *offsets ? offsets[i] : UINT32_MAX;
}

static uint32_t add(uint32_t *word, uint32_t n)
{
    return __atomic_add_fetch(word, n, __ATOMIC_SEQ_CST);
}

static int use_permits(struct shared *shared, uint32_t n)
{
    int error = lw_sem_acquire(&shared->permits, n);
    if (error)
        return error;
    if (add(&shared->inside, n) > PERMITS)
        add(&shared->worst, 1);
    add(&shared->inside, -n);
    return lw_sem_release(&shared->permits, n);
}

static int use_pool(struct shared *shared)
{
    uint32_t which;
    int error = lw_permits_acquire(&shared->pool, &which);
    if (error)
        return error;
    if (add(&shared->users[which], 1) > 1)
        add(&shared->clashes, 1);
    add(&shared->users[which], -1u);
    return lw_permits_release(&shared->pool, which);
}

static void write_pair(struct shared *shared)
{
    shared->pair[0]++;
    shared->pair[1]++;
}

static void read_pair(struct shared *shared)
{
    if (*(volatile uint32_t *)&shared->pair[0] != *(volatile uint32_t *)&shared->pair[1])
        add(&shared->torn, 1);
}

static int read_or_write(struct shared *shared, uint32_t turn)
{
    int error;
    if (turn % 4 == 0) {
        error = lw_rwlock_wrlock(&shared->lock);
        write_pair(shared);
    } else if (turn % 4 == 1) {
        error = lw_rwlock_uplock(&shared->lock);
        if (!error)
            error = lw_rwlock_upgrade(&shared->lock);
        write_pair(shared);
        if (!error)
            error = lw_rwlock_downgrade(&shared->lock);
        read_pair(shared);
    } else {
        error = lw_rwlock_rdlock(&shared->lock);
        read_pair(shared);
    }
    return error ? error : lw_rwlock_unlock(&shared->lock);
}

static int recurse(struct shared *shared)
{
    int error = lw_rmutex_lock(&shared->recursive);
    if (!error)
        error = lw_rmutex_lock(&shared->recursive);
    shared->recursion++;
    if (!error)
        error = lw_rmutex_unlock(&shared->recursive);
    return error ? error : lw_rmutex_unlock(&shared->recursive);
}

/* Waits for the start, and uses everything this often. 0, or the first error. */
int family_work(struct shared *shared, uint32_t turns)
{
    int error = lw_event_wait(&shared->start);
    for (uint32_t turn = 0; turn < turns && !error; turn++) {
        error = use_permits(shared, 1 + turn % PERMITS);
        if (!error)
            error = use_pool(shared);
        if (!error)
            error = read_or_write(shared, turn);
        if (!error)
            error = recurse(shared);
    }
    return error ? error : lw_waitgroup_done(&shared->group);
}

/* Puts this many items into the bounded queue. */
int family_produce(struct shared *shared, uint32_t items)
{
    int error = 0;
    while (items-- > 0 && !error) {
        error = lw_mutex_lock(&shared->mutex);
        while (!error && shared->queued == QUEUE)
            error = lw_cond_wait(&shared->not_full, &shared->mutex);
        shared->queued++;
        if (!error)
            error = lw_mutex_unlock(&shared->mutex);
        lw_cond_notify_one(&shared->not_empty);
    }
    return error;
}

/* Takes this many items from it. */
int family_consume(struct shared *shared, uint32_t items)
{
    int error = 0;
    while (items-- > 0 && !error) {
        error = lw_mutex_lock(&shared->mutex);
        while (!error && shared->queued == 0)
            error = lw_cond_wait(&shared->not_empty, &shared->mutex);
        shared->queued--;
        shared->consumed++;
        if (!error)
            error = lw_mutex_unlock(&shared->mutex);
        lw_cond_notify_one(&shared->not_full);
    }
    return error;
}

/* Runs the once if it is its turn, and meets the others this often; then counts itself and waits
 * for the baton, and passes it on, and for the others at the latch.
 */
int family_meet(struct shared *shared, uint32_t cycles)
{
    int error = lw_once_begin(&shared->once);
    if (error == LW_ONCE_RUN) {
        shared->runs++;
        error = lw_once_finish(&shared->once, true);
    }
    while (cycles-- > 0 && error <= 0) {
        error = lw_barrier_wait(&shared->barrier);
        if (error == LW_BARRIER_LEADER)
            add(&shared->leaders, 1);
    }
    uint32_t before;
    if (error <= 0)
        error = lw_counter_add(&shared->arrived, 1, &before);
    if (error <= 0)
        error = lw_event_wait(&shared->baton);
    lw_event_set(&shared->baton);
    return error <= 0 ? lw_latch_arrive_and_wait(&shared->latch) : error;
}

/* What a timed form of each answers: all of them ETIMEDOUT, since nothing is there. */
uint32_t family_time_out(struct shared *shared, uint32_t ms)
{
    const int errors[] = {
        lw_sem_acquire_until(&shared->permits, PERMITS + 1, lw_after_ms(ms)),
        lw_rwlock_wrlock_until(&shared->lock, lw_after_ms(ms)),
        lw_waitgroup_wait_until(&shared->group, lw_after_ms(ms)),
        lw_event_wait_until(&shared->start, lw_after_ms(ms)),
        lw_rmutex_lock_until(&shared->recursive, lw_after_ms(ms)),
    };
    uint32_t late = 0;
    for (uint32_t i = 0; i < sizeof errors / sizeof *errors; i++)
        late += errors[i] == ETIMEDOUT;
    return late;
}
