/* Boost.Interprocess's mutex, for regions.c. */
#include <new>

#include <boost/interprocess/anonymous_shared_memory.hpp>
#include <boost/interprocess/sync/interprocess_mutex.hpp>

using boost::interprocess::anonymous_shared_memory;
using boost::interprocess::interprocess_mutex;
using boost::interprocess::mapped_region;

static interprocess_mutex *mutex;

/* For all processes that are forked after this. */
extern "C" void bench_boost_make(void)
{
    static mapped_region memory(anonymous_shared_memory(sizeof *mutex));
    mutex = new (memory.get_address()) interprocess_mutex;
}

extern "C" bool bench_boost_lock(void)
{
    mutex->lock();
    return true;
}

extern "C" void bench_boost_unlock(void)
{
    mutex->unlock();
}
