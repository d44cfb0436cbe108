//! The functions of lockword's headers, by their symbols. A pointer to words is one that
//! `as_ptr` of a primitive returns; all but the unlocking ones may be called with any such pointer.
#![allow(non_camel_case_types)]
#[cfg(target_os = "linux")]
pub(crate) use core::ffi::c_void;

/// C's int, on all systems that lockword knows (`core::ffi::c_int` is younger than this crate's
/// oldest compiler).
pub(crate) type c_int = i32;

/// A primitive's words.
pub(crate) type words = *mut u32;

/// Returned for a lock that the thread holds already. The C library's codes differ by system; in
/// WebAssembly they are Linux's.
#[cfg(any(target_os = "linux", target_family = "wasm"))]
pub(crate) const EDEADLK: c_int = 35;
#[cfg(all(not(target_os = "linux"), not(target_family = "wasm"), unix))]
pub(crate) const EDEADLK: c_int = 11;
#[cfg(windows)]
pub(crate) const EDEADLK: c_int = 36;

/// A deadline without a limit, and one that has passed.
pub(crate) const FOREVER: i64 = i64::MAX;
pub(crate) const NOW: i64 = 0;

extern "C" {
    pub(crate) fn lw_after_ns(ns: i64) -> i64;

    pub(crate) fn lw_mutex_lock_until(mutex: words, deadline: i64) -> c_int;
    pub(crate) fn lw_mutex_trylock(mutex: words) -> c_int;
    pub(crate) fn lw_mutex_unlock(mutex: words) -> c_int;
    pub(crate) fn lw_mutex_is_locked(mutex: words) -> bool;

    pub(crate) fn lw_cond_wait_until(cond: words, mutex: words, deadline: i64) -> c_int;
    pub(crate) fn lw_cond_notify_one(cond: words) -> u32;
    pub(crate) fn lw_cond_notify_all(cond: words) -> u32;

    pub(crate) fn lw_sem_acquire_until(sem: words, n: u32, deadline: i64) -> c_int;
    pub(crate) fn lw_sem_release(sem: words, n: u32) -> c_int;
    pub(crate) fn lw_sem_available(sem: words) -> u32;
    pub(crate) fn lw_sem_tryacquire(sem: words, n: u32) -> c_int;

    pub(crate) fn lw_event_set(event: words);
    pub(crate) fn lw_event_reset(event: words) -> bool;
    pub(crate) fn lw_event_is_set(event: words) -> bool;
    pub(crate) fn lw_event_wait_until(event: words, deadline: i64) -> c_int;

    pub(crate) fn lw_rwlock_rdlock_until(rwlock: words, deadline: i64) -> c_int;
    pub(crate) fn lw_rwlock_tryrdlock(rwlock: words) -> c_int;
    pub(crate) fn lw_rwlock_wrlock_until(rwlock: words, deadline: i64) -> c_int;
    pub(crate) fn lw_rwlock_trywrlock(rwlock: words) -> c_int;
    pub(crate) fn lw_rwlock_uplock_until(rwlock: words, deadline: i64) -> c_int;
    pub(crate) fn lw_rwlock_tryuplock(rwlock: words) -> c_int;
    pub(crate) fn lw_rwlock_upgrade_until(rwlock: words, deadline: i64) -> c_int;
    pub(crate) fn lw_rwlock_tryupgrade(rwlock: words) -> c_int;
    pub(crate) fn lw_rwlock_downgrade(rwlock: words) -> c_int;
    pub(crate) fn lw_rwlock_downgrade_upgradable(rwlock: words) -> c_int;
    pub(crate) fn lw_rwlock_unlock(rwlock: words) -> c_int;
    pub(crate) fn lw_rwlock_rdunlock(rwlock: words) -> c_int;
    pub(crate) fn lw_rwlock_readers(rwlock: words) -> u32;
    pub(crate) fn lw_rwlock_is_write_locked(rwlock: words) -> bool;
}

/// lockword/loop.h. A loop and a request are memory that only the library reads.
#[cfg(target_os = "linux")]
pub(crate) mod looping {
    use super::{c_int, c_void, words};

    /// As many bytes as an lw_loop or an lw_request has, or more: test/rust compares.
    #[repr(C, align(16))]
    pub(crate) struct Room([u64; 64]);

    impl Room {
        pub(crate) const EMPTY: Room = Room([0; 64]);
    }

    pub(crate) type lw_done =
        extern "C" fn(request: *mut Room, result: c_int, context: *mut c_void);

    extern "C" {
        pub(crate) fn lw_loop_init(r#loop: *mut Room) -> c_int;
        pub(crate) fn lw_loop_fd(r#loop: *const Room) -> c_int;
        pub(crate) fn lw_loop_run(r#loop: *mut Room) -> u32;
        pub(crate) fn lw_loop_destroy(r#loop: *mut Room) -> c_int;
        pub(crate) fn lw_request_cancel(request: *mut Room) -> c_int;
    }

    /// The waits: what each of them takes besides its words is the same for all.
    macro_rules! waits {
        ($($name:ident($words:ident $(, $n:ident)?);)*) => {
            extern "C" {
                $(pub(crate) fn $name(
                    $words: words,
                    $($n: u32,)?
                    request: *mut Room,
                    r#loop: *mut Room,
                    deadline: i64,
                    done: lw_done,
                    context: *mut c_void,
                ) -> c_int;)*
            }
        };
    }

    waits! {
        lw_mutex_lock_async(mutex);
        lw_rwlock_rdlock_async(rwlock);
        lw_rwlock_wrlock_async(rwlock);
        lw_sem_acquire_async(sem, n);
        lw_event_wait_async(event);
    }
}

/// lockword/region.h.
#[cfg(target_os = "linux")]
pub(crate) mod region {
    use super::{c_int, c_void, words};
    use std::mem::{align_of, size_of};
    use std::os::raw::{c_char, c_uint};

    pub(crate) const ENOENT: c_int = 2;
    pub(crate) const EAGAIN: c_int = 11;
    pub(crate) const EBUSY: c_int = 16;
    pub(crate) const EEXIST: c_int = 17;
    pub(crate) const EINVAL: c_int = 22;
    pub(crate) const ENOSPC: c_int = 28;
    pub(crate) const EIDRM: c_int = 43;
    pub(crate) const EPROTO: c_int = 71;
    pub(crate) const EBADMSG: c_int = 74;
    pub(crate) const EOVERFLOW: c_int = 75;
    pub(crate) const ETIMEDOUT: c_int = 110;
    pub(crate) const EALREADY: c_int = 114;
    pub(crate) const EOWNERDEAD: c_int = 130;
    pub(crate) const ENOTRECOVERABLE: c_int = 131;

    pub(crate) const CREATE: c_uint = 1;
    pub(crate) const EXCLUSIVE: c_uint = 2;
    pub(crate) const ANY_OWNER: c_uint = 4;

    pub(crate) const ONCE_RUN: c_int = -1;
    pub(crate) const OWNER_DIED: u32 = EOWNERDEAD as u32;
    pub(crate) const ABANDONED: u32 = ENOTRECOVERABLE as u32;

    #[repr(C)]
    #[derive(Debug)]
    pub(crate) struct lw_region([u8; 0]);

    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct lw_region_mutex {
        region: *mut lw_region,
        words: words,
        serial: u64,
        fate: u32,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct lw_region_once {
        region: *mut lw_region,
        words: words,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct lw_region_permits {
        region: *mut lw_region,
        words: words,
        busy: u32,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct lw_region_rwtable {
        pub(crate) mutex: lw_region_mutex,
        readers: lw_region_permits,
    }

    #[repr(C)]
    pub(crate) struct lw_region_info {
        pub(crate) name: [c_char; 56],
        pub(crate) fate: u32,
        pub(crate) holder_pid: u32,
        pub(crate) holder_tid: u32,
        pub(crate) holder: [c_char; 32],
        pub(crate) held_ms: i64,
        pub(crate) waiters: u32,
        pub(crate) longest_ms: i64,
        pub(crate) acquisitions: u32,
        pub(crate) contended: u32,
        pub(crate) recoveries: u32,
        pub(crate) size: u32,
        pub(crate) permits: u32,
        pub(crate) held: u32,
        pub(crate) kind: c_uint,
    }

    // What test/rust finds in C, where it can run.
    #[cfg(target_pointer_width = "64")]
    const _: () = {
        assert!(size_of::<lw_region_mutex>() == 32);
        assert!(size_of::<lw_region_once>() == 16);
        assert!(size_of::<lw_region_permits>() == 24);
        assert!(size_of::<lw_region_rwtable>() == 56);
        assert!(size_of::<lw_region_info>() == 160);
    };

    // A reference to what has a name is one to the words of C.
    const _: () = {
        assert!(size_of::<crate::Event>() == 8 && align_of::<crate::Event>() == 4);
        assert!(size_of::<crate::Semaphore>() == 12 && align_of::<crate::Semaphore>() == 4);
        assert!(size_of::<crate::Condvar>() == 8 && align_of::<crate::Condvar>() == 4);
    };

    type mutex = *const lw_region_mutex;
    type rwtable = *const lw_region_rwtable;
    type once = *const lw_region_once;
    type permits = *const lw_region_permits;

    /// How to find something that has a name.
    pub(crate) type find<T> =
        unsafe extern "C" fn(region: *mut lw_region, name: *const c_char, found: *mut T) -> c_int;
    pub(crate) type find_words = unsafe extern "C" fn(
        region: *mut lw_region,
        name: *const c_char,
        initial: words,
        found: *mut words,
    ) -> c_int;

    extern "C" {
        pub(crate) fn lw_region_open(
            region: *mut *mut lw_region,
            path: *const c_char,
            flags: c_uint,
            mode: c_uint,
            size: usize,
        ) -> c_int;
        pub(crate) fn lw_region_open_fd(
            region: *mut *mut lw_region,
            fd: c_int,
            flags: c_uint,
            size: usize,
        ) -> c_int;
        pub(crate) fn lw_region_close(region: *mut lw_region) -> c_int;
        pub(crate) fn lw_region_name_thread(region: *mut lw_region, name: *const c_char) -> c_int;
        pub(crate) fn lw_region_remove(region: *mut lw_region, name: *const c_char) -> c_int;
        pub(crate) fn lw_region_describe(
            region: *mut lw_region,
            name: *const c_char,
            info: *mut lw_region_info,
        ) -> c_int;
        pub(crate) fn lw_region_next(
            region: *mut lw_region,
            cursor: *mut u32,
            info: *mut lw_region_info,
        ) -> c_int;
        pub(crate) fn lw_region_bytes(
            region: *mut lw_region,
            name: *const c_char,
            size: usize,
            bytes: *mut *mut c_void,
        ) -> c_int;

        pub(crate) fn lw_region_event_named(
            region: *mut lw_region,
            name: *const c_char,
            initial: words,
            event: *mut words,
        ) -> c_int;
        pub(crate) fn lw_region_sem_named(
            region: *mut lw_region,
            name: *const c_char,
            initial: words,
            sem: *mut words,
        ) -> c_int;
        pub(crate) fn lw_region_cond_named(
            region: *mut lw_region,
            name: *const c_char,
            initial: words,
            cond: *mut words,
        ) -> c_int;
        pub(crate) fn lw_region_cond_wait_until(cond: words, mutex: mutex, deadline: i64) -> c_int;

        pub(crate) fn lw_region_mutex_named(
            region: *mut lw_region,
            name: *const c_char,
            mutex: *mut lw_region_mutex,
        ) -> c_int;
        pub(crate) fn lw_region_mutex_lock_until(mutex: mutex, deadline: i64) -> c_int;
        pub(crate) fn lw_region_mutex_trylock(mutex: mutex) -> c_int;
        pub(crate) fn lw_region_mutex_unlock(mutex: mutex) -> c_int;
        pub(crate) fn lw_region_mutex_leave(mutex: mutex) -> c_int;
        pub(crate) fn lw_region_mutex_abandon(mutex: mutex) -> c_int;
        pub(crate) fn lw_region_mutex_reset(mutex: mutex) -> c_int;
        pub(crate) fn lw_region_mutex_is_locked(mutex: mutex) -> bool;

        pub(crate) fn lw_region_rwtable_named(
            region: *mut lw_region,
            name: *const c_char,
            rwtable: *mut lw_region_rwtable,
        ) -> c_int;
        pub(crate) fn lw_region_rwtable_rdlock_until(rwtable: rwtable, deadline: i64) -> c_int;
        pub(crate) fn lw_region_rwtable_tryrdlock(rwtable: rwtable) -> c_int;
        pub(crate) fn lw_region_rwtable_wrlock_until(rwtable: rwtable, deadline: i64) -> c_int;
        pub(crate) fn lw_region_rwtable_trywrlock(rwtable: rwtable) -> c_int;
        pub(crate) fn lw_region_rwtable_unlock(rwtable: rwtable) -> c_int;
        pub(crate) fn lw_region_rwtable_leave(rwtable: rwtable) -> c_int;
        pub(crate) fn lw_region_rwtable_abandon(rwtable: rwtable) -> c_int;
        pub(crate) fn lw_region_rwtable_reset(rwtable: rwtable) -> c_int;

        pub(crate) fn lw_region_once_named(
            region: *mut lw_region,
            name: *const c_char,
            once: *mut lw_region_once,
        ) -> c_int;
        pub(crate) fn lw_region_once_begin(once: once) -> c_int;
        pub(crate) fn lw_region_once_finish(once: once, success: bool) -> c_int;
        pub(crate) fn lw_region_once_is_done(once: once) -> bool;

        pub(crate) fn lw_region_permits_named(
            region: *mut lw_region,
            name: *const c_char,
            n: u32,
            permits: *mut lw_region_permits,
        ) -> c_int;
        pub(crate) fn lw_region_permits_acquire_until(
            permits: permits,
            which: *mut u32,
            deadline: i64,
        ) -> c_int;
        pub(crate) fn lw_region_permits_tryacquire(permits: permits, which: *mut u32) -> c_int;
        pub(crate) fn lw_region_permits_release(permits: permits, which: u32) -> c_int;
        pub(crate) fn lw_region_permits_available(permits: permits) -> u32;
    }
}

/// Whether a lock was taken in time. A deadlock of the thread with itself is a bug of the program,
/// which would wait for ever.
#[track_caller]
pub(crate) fn taken(error: c_int) -> bool {
    if error == EDEADLK {
        panic!("lockword: this thread holds the lock already, and would wait for itself");
    }
    error == 0
}

/// For a wait without a limit, which may fail only by a bug of the program.
#[track_caller]
pub(crate) fn must(error: c_int, what: &str) {
    if !taken(error) {
        panic!("lockword: {} failed with errno code {}", what, error);
    }
}

/// A second panic while the first one unwinds: it ends the process, where there is no `std`, too.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        panic!("lockword: a lock without a limit cannot return without the lock");
    }
}

/// For a lock without a limit, of lock_api. A guard's `unlocked` takes the lock again by it, in a
/// `drop`. If that panicked, and safe code caught the panic, the guard would give access to data
/// that another guard has. So a failure, which is a bug of the program, ends the process.
#[track_caller]
pub(crate) fn locked(error: c_int, what: &str) {
    if error != 0 {
        let _end = End;
        must(error, what);
    }
}
