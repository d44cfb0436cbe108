/* FreeBSD's, as its manual pthread_getthreadid_np(3) describes it. */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int pthread_getthreadid_np(void)
{
    return (int)syscall(SYS_gettid);
}
