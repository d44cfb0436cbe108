/* consumer.c: a program of somebody who has installed lockword; C11 and C++17. Two threads count to 200,000 together. */
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

int main(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, count_up, NULL) != 0)
        return 1;
    count_up(NULL);
    pthread_join(other, NULL);
    if (lw_mutex_unlock(&mutex) != EPERM || lw_mutex_trylock(&mutex) != 0 || lw_mutex_lock_until(&mutex, lw_after_ms(1)) != EDEADLK)
        return 1;
    return count == 2 * EACH ? 0 : 1;
}
