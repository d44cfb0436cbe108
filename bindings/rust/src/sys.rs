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
