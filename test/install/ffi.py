"""ffi.py LIBRARY: lockword without C. Two threads count together, and each primitive is called once
or so, by Python's ctypes."""

import _ctypes
import ctypes
import errno
import os
import shutil
import sys
import tempfile
import threading

EACH = 20000
FOREVER = 2**63 - 1

# docs/building.md, 'From other languages': memory of zeros, as many bytes as docs/layout.md says.
Mutex = Cond = WaitGroup = Latch = Event = Once = Counter = Cancel = ctypes.c_uint32 * 2
RMutex = Sem = Barrier = ctypes.c_uint32 * 3
RWLock = ctypes.c_uint32 * 4


class Source(ctypes.Structure):
    _fields_ = [
        ("step", ctypes.c_void_p),
        ("words", ctypes.c_void_p),
        ("wanted", ctypes.c_uint32),
        ("number", ctypes.c_void_p),
    ]


lw = ctypes.CDLL(sys.argv[1])
lw.lw_after_ms.restype = lw.lw_after_ns.restype = ctypes.c_int64
lw.lw_source_sem.restype = lw.lw_source_event.restype = Source
lw.lw_event_is_set.restype = ctypes.c_bool


def after_ms(ms):
    return ctypes.c_int64(lw.lw_after_ms(ctypes.c_int64(ms)))


def check(what, is_right):
    if not is_right:
        sys.exit("ffi.py: " + what)


def count_together():
    sys.setswitchinterval(1e-6)
    mutex = Mutex()
    total = [0]

    def count():
        for _ in range(EACH):
            lw.lw_mutex_lock(mutex)
            total[0] += 1
            lw.lw_mutex_unlock(mutex)

    threads = [threading.Thread(target=count) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("two threads lost %d of their additions" % (2 * EACH - total[0]), total[0] == 2 * EACH)


def wait_for_another_thread():
    event = Event()
    told = []

    def tell():
        told.append(True)
        lw.lw_event_set(event)

    thread = threading.Thread(target=tell)
    thread.start()
    check(
        "an event is waited for",
        lw.lw_event_wait(event) == 0 and told and lw.lw_event_is_set(event),
    )
    thread.join()


def use_the_rest():
    mutex, rmutex, rwlock, sem, barrier = Mutex(), RMutex(), RWLock(), Sem(), Barrier()
    group, latch, once, counter = WaitGroup(), Latch(), Once(), Counter()
    cancel, cond = Cancel(), Cond()
    lw.lw_mutex_lock(mutex)
    check("a deadlock is an error", lw.lw_mutex_lock(mutex) == errno.EDEADLK)
    check(
        "a condition's wait times out",
        lw.lw_cond_wait_until(cond, mutex, after_ms(1)) == errno.ETIMEDOUT,
    )
    check(
        "a mutex is unlocked once",
        lw.lw_mutex_unlock(mutex) == 0 and lw.lw_mutex_unlock(mutex) == errno.EPERM,
    )
    check(
        "a recursive mutex",
        lw.lw_rmutex_lock(rmutex) == lw.lw_rmutex_lock(rmutex) == lw.lw_rmutex_unlock(rmutex) == 0,
    )
    check(
        "a read-write lock",
        lw.lw_rwlock_uplock(rwlock) == lw.lw_rwlock_upgrade(rwlock) == lw.lw_rwlock_unlock(rwlock)
        == 0,
    )
    check(
        "a semaphore of 2",
        lw.lw_sem_release(sem, 3) == lw.lw_sem_acquire(sem, 1) == 0 and lw.lw_sem_available(sem)
        == 2,
    )
    check("of which none is left", lw.lw_sem_acquire(sem, 2) == lw.lw_sem_available(sem) == 0)
    check(
        "a semaphore of none left",
        lw.lw_sem_acquire_until(sem, 1, after_ms(1)) == errno.ETIMEDOUT,
    )
    check(
        "a barrier of 1",
        lw.lw_barrier_init(barrier, 1) == 0 and lw.lw_barrier_wait(barrier) == -1,
    )
    check(
        "a wait group",
        lw.lw_waitgroup_add(group, 1) == lw.lw_waitgroup_done(group)
        == lw.lw_waitgroup_wait(group) == 0,
    )
    check(
        "a latch",
        lw.lw_latch_init(latch, 2) == lw.lw_latch_count_down(latch, 1)
        == lw.lw_latch_arrive_and_wait(latch) == 0,
    )
    permits, which = (ctypes.c_uint32 * 256)(), ctypes.c_uint32(9)
    lw.lw_permits_init(permits, 2)
    check(
        "a permit",
        lw.lw_permits_acquire(permits, ctypes.byref(which)) == which.value
        == lw.lw_permits_release(permits, 0) == 0,
    )
    check(
        "a once",
        lw.lw_once_begin(once) == -1 and lw.lw_once_finish(once, ctypes.c_bool(True))
        == lw.lw_once_begin(once) == 0,
    )
    check("a counter", lw.lw_counter_add(counter, 3, None) == 0 and lw.lw_counter_get(counter) == 3)
    lw.lw_cancel_fire(cancel)
    error = lw.lw_counter_wait_at_least(counter, 4, ctypes.c_int64(FOREVER), cancel)
    check("a cancel", error == errno.ECANCELED)
    lw.lw_sem_release(sem, 1)
    sources = (Source * 2)(lw.lw_source_event(Event()), lw.lw_source_sem(sem, 1))
    which = ctypes.c_uint32()
    check(
        "any of two",
        lw.lw_wait_any(sources, 2, after_ms(1000), None, ctypes.byref(which)) == 0 and which.value
        == 1,
    )


def unload_before_threads_end():
    """A library that was unloaded is not called any more, and loads again for ever."""
    region_path = tempfile.mktemp(dir="/dev/shm")
    copy = tempfile.NamedTemporaryFile(suffix=".so")
    shutil.copyfile(sys.argv[1], copy.name)

    def use_and_unload():
        library = ctypes.CDLL(copy.name)
        loop, region, mutex = (ctypes.c_uint64 * 64)(), ctypes.c_void_p(), (ctypes.c_uint64 * 8)()
        errors = [library.lw_loop_init(loop), library.lw_loop_destroy(loop)]
        path, size = region_path.encode(), ctypes.c_size_t(0)
        errors.append(library.lw_region_open(ctypes.byref(region), path, 1, 0o600, size))
        errors.append(library.lw_region_mutex_named(region, b"a", mutex))
        errors += [library.lw_region_mutex_lock(mutex), library.lw_region_mutex_unlock(mutex)]
        errors.append(library.lw_region_close(region))
        _ctypes.dlclose(library._handle)
        with open("/proc/self/maps") as maps:
            is_gone = copy.name not in maps.read()
        check("a library is unloaded: %s" % errors, not any(errors) and is_gone)

    for _ in range(1100):  # as there are 1024 keys
        thread = threading.Thread(target=use_and_unload)
        thread.start()
        thread.join()
    os.unlink(region_path)


count_together()
wait_for_another_thread()
use_the_rest()
unload_before_threads_end()
