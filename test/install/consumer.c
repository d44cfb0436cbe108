/* consumer.c: a program of somebody who has installed lockword; C11 and C++17. Two threads count to
 * 200,000 together. */
#include <lockword/describe.h>
#include <lockword/lockword.h>

#include <pthread.h>
#include <stddef.h>

#define EACH 100000

static lw_mutex mutex = LW_MUTEX_INIT;
static int count;

static void *count_up(void *unused)
{
    for (int i = 0; i < EACH; i++) {
        lw_mutex_lock(&mutex);
        count++;
        lw_mutex_unlock(&mutex);
    }
    return unused;
}

/* One call or so of everything else: it is all there, and C++ can call it. */
static int use_the_rest(void)
{
    lw_rmutex rmutex = LW_RMUTEX_INIT;
    lw_rwlock rwlock = LW_RWLOCK_INIT;
    lw_sem sem = LW_SEM_INIT(1);
    lw_barrier barrier = LW_BARRIER_INIT(1);
    lw_waitgroup group = LW_WAITGROUP_INIT;
    lw_latch latch = LW_LATCH_INIT(2);
    lw_permits permits = LW_PERMITS_INIT(1);
    lw_event event = LW_EVENT_AUTO_INIT;
    lw_once once = LW_ONCE_INIT;
    lw_counter counter = LW_COUNTER_INIT(1);
    lw_mutex free_mutex = LW_MUTEX_INIT;
    lw_cond cond = LW_COND_INIT;
    lw_cancel cancel = LW_CANCEL_INIT;
    uint32_t which = 0;
    int wrong = 0;
    wrong += lw_rmutex_lock(&rmutex) != 0 || lw_rmutex_lock(&rmutex) != 0 ||
             lw_rmutex_unlock(&rmutex) != 0;
    wrong += lw_rwlock_uplock(&rwlock) != 0 || lw_rwlock_upgrade(&rwlock) != 0 ||
             lw_rwlock_unlock(&rwlock) != 0;
    wrong += lw_sem_acquire(&sem, 1) != 0 || lw_sem_acquire_until(&sem, 1, LW_NOW) != ETIMEDOUT;
    wrong += lw_barrier_wait(&barrier) != LW_BARRIER_LEADER;
    wrong += lw_waitgroup_add(&group, 1) != 0 || lw_waitgroup_done(&group) != 0 ||
             lw_waitgroup_wait(&group) != 0;
    wrong += lw_latch_count_down(&latch, 1) != 0 || lw_latch_arrive_and_wait(&latch) != 0 ||
             !lw_latch_try_wait(&latch);
    wrong += lw_permits_acquire(&permits, &which) != 0 || lw_permits_release(&permits, which) != 0;
    wrong += lw_once_begin(&once) != LW_ONCE_RUN || lw_once_finish(&once, true) != 0;
    wrong += lw_counter_wait_at_least(&counter, 1, LW_FOREVER, NULL) != 0;
    wrong += lw_cond_notify_all(&cond) != 0 || lw_cond_wait(&cond, &free_mutex) != EPERM;
    lw_cancel_fire(&cancel);
    wrong += lw_event_wait_cancel(&event, LW_FOREVER, &cancel) != ECANCELED;
    lw_event_set(&event);
    const lw_source sources[] = {lw_source_sem(&sem, 1), lw_source_event(&event)};
    wrong += lw_wait_any(sources, 2, LW_FOREVER, &cancel, &which) != 0 || which != 1;
    char text[LW_DESCRIBE_MAX];
    wrong += lw_cancel_describe(&cancel, text, sizeof text) != sizeof "Cancel { fired }" - 1;
    return wrong;
}

int main(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, count_up, NULL) != 0)
        return 1;
    count_up(NULL);
    pthread_join(other, NULL);
    if (lw_mutex_unlock(&mutex) != EPERM || lw_mutex_trylock(&mutex) != 0 ||
        lw_mutex_lock_until(&mutex, lw_after_ms(1)) != EDEADLK)
        return 1;
    return count == 2 * EACH ? use_the_rest() : 1;
}
