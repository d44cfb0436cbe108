//! lockword/mutex.h as a lock of lock_api.
use crate::raw::words;
use crate::{sys, time};
use core::time::Duration;
use lock_api::GuardNoSend;

words! {
    /// The mutex without data: eight bytes, `lw_mutex` in C and `Mutex` in JavaScript.
    RawMutex, 2
}

/// A mutex around data. If the thread holds it already, `lock` ends the process, with a message,
/// and `try_lock_for` panics.
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
/// Unlocks when it is dropped. Stays on its thread, which owns the mutex.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;
/// A guard of a part of the data.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

// SAFETY: at most one thread at a time gets true, or returns from `lock`, until it unlocks: that is
// what an lw_mutex is. The guard stays on the thread, since the word names the owner.
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::beginning_with(0);
    type GuardMarker = GuardNoSend;

    fn lock(&self) {
        // SAFETY: the words are a mutex's, and live as long as `self`.
        sys::locked(unsafe { sys::lw_mutex_lock_until(self.as_ptr(), sys::FOREVER) }, "lock");
    }

    fn try_lock(&self) -> bool {
        // SAFETY: as in `lock`.
        unsafe { sys::lw_mutex_trylock(self.as_ptr()) == 0 }
    }

    unsafe fn unlock(&self) {
        // SAFETY: as in `lock`; that the thread holds it is the caller's promise, and checked.
        sys::must(unsafe { sys::lw_mutex_unlock(self.as_ptr()) }, "unlock");
    }

    fn is_locked(&self) -> bool {
        // SAFETY: as in `lock`.
        unsafe { sys::lw_mutex_is_locked(self.as_ptr()) }
    }
}

// SAFETY: as above; a lock that is not taken in time leaves nothing behind.
unsafe impl lock_api::RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = time::Instant;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        // SAFETY: as in `lock`.
        sys::taken(unsafe { sys::lw_mutex_lock_until(self.as_ptr(), time::after(timeout)) })
    }

    fn try_lock_until(&self, timeout: time::Instant) -> bool {
        // SAFETY: as in `lock`.
        sys::taken(unsafe { sys::lw_mutex_lock_until(self.as_ptr(), time::at(timeout)) })
    }
}
