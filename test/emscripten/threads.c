/* threads.c: Emscripten's pthreads take an lw_mutex, wait on an lw_cond, and are told apart
 * (run.js). */
#include <lockword/cond.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, TIMES = 20000 };

static lw_mutex lock = LW_MUTEX_INIT;
static lw_cond started = LW_COND_INIT;
static bool go;   /* guarded by lock */
static int count; /* guarded by lock */

static void *work(void *unused)
{
    lw_mutex_lock(&lock);
    while (!go)
        lw_cond_wait(&started, &lock);
    lw_mutex_unlock(&lock);
    for (int i = 0; i < TIMES; i++) {
        while (lw_mutex_lock_until(&lock, lw_after_ms(1)) != 0)
            ;
        count++;
        lw_mutex_unlock(&lock);
    }
    return unused;
}

/* Tries what another thread holds, and to free it. */
static void *interfere(void *refused)
{
    *(int *)refused = lw_mutex_trylock(&lock) == EBUSY && lw_mutex_unlock(&lock) == EPERM;
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    lw_mutex_lock(&lock);
    go = true;
    lw_mutex_unlock(&lock);
    lw_cond_notify_all(&started);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    int refused = 0;
    lw_mutex_lock(&lock);
    pthread_create(&threads[0], NULL, interfere, &refused);
    pthread_join(threads[0], NULL);
    printf("%d, %d %d ", count, refused, lw_mutex_unlock(&lock));
    printf("%d\n", lw_mutex_lock(&lock) == 0);
    return 0;
}
