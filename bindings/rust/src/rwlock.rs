//! lockword/rwlock.h as a lock of lock_api.
use crate::raw::words;
use crate::{sys, time};
use core::time::Duration;
use lock_api::GuardNoSend;

words! {
    /// The read-write lock without data: sixteen bytes, `lw_rwlock` in C and `RWLock` in
    /// JavaScript.
    RawRwLock, 4
}

/// A read-write lock around data, with upgradable reads. It starves neither side: a thread that
/// reads must not read again, except by `try_read`, since a writer that waits in between would hold
/// it back.
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
/// Ends the read when it is dropped.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;
/// Ends the upgradable read when it is dropped.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;
/// Ends the write when it is dropped.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// Calls a function of rwlock.h with the lock, and what follows.
macro_rules! call {
    ($self:ident, $function:ident $(, $argument:expr)*) => {
        // SAFETY: the words are a read-write lock's, and live as long as `self`. That the thread
        // holds what it gives up or changes is the promise of its caller.
        unsafe { sys::$function($self.as_ptr() $(, $argument)*) }
    };
}

// SAFETY: a writer is alone, readers have no writer beside them, and there is one upgradable reader
// at most: that is what an lw_rwlock is. Guards stay on the thread, since a word names the writer.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::beginning_with(0);
    type GuardMarker = GuardNoSend;

    fn lock_shared(&self) {
        sys::locked(call!(self, lw_rwlock_rdlock_until, sys::FOREVER), "read");
    }

    fn try_lock_shared(&self) -> bool {
        call!(self, lw_rwlock_tryrdlock) == 0
    }

    unsafe fn unlock_shared(&self) {
        sys::must(call!(self, lw_rwlock_rdunlock), "unlock of a read");
    }

    fn lock_exclusive(&self) {
        sys::locked(call!(self, lw_rwlock_wrlock_until, sys::FOREVER), "write");
    }

    fn try_lock_exclusive(&self) -> bool {
        call!(self, lw_rwlock_trywrlock) == 0
    }

    unsafe fn unlock_exclusive(&self) {
        sys::must(call!(self, lw_rwlock_unlock), "unlock of a write");
    }

    fn is_locked(&self) -> bool {
        call!(self, lw_rwlock_readers) != 0 || call!(self, lw_rwlock_is_write_locked)
    }

    fn is_locked_exclusive(&self) -> bool {
        call!(self, lw_rwlock_is_write_locked)
    }
}

// SAFETY: as above; a lock that is not taken in time leaves nothing behind.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = time::Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        sys::taken(call!(self, lw_rwlock_rdlock_until, time::after(timeout)))
    }

    fn try_lock_shared_until(&self, timeout: time::Instant) -> bool {
        sys::taken(call!(self, lw_rwlock_rdlock_until, time::at(timeout)))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        sys::taken(call!(self, lw_rwlock_wrlock_until, time::after(timeout)))
    }

    fn try_lock_exclusive_until(&self, timeout: time::Instant) -> bool {
        sys::taken(call!(self, lw_rwlock_wrlock_until, time::at(timeout)))
    }
}

// SAFETY: no writer comes in between: lw_rwlock_downgrade is one atomic step.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self) {
        sys::must(call!(self, lw_rwlock_downgrade), "downgrade");
    }
}

// SAFETY: as above; an upgrade waits until the thread is alone, and no writer comes in between.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    fn lock_upgradable(&self) {
        sys::locked(call!(self, lw_rwlock_uplock_until, sys::FOREVER), "upgradable read");
    }

    fn try_lock_upgradable(&self) -> bool {
        call!(self, lw_rwlock_tryuplock) == 0
    }

    unsafe fn unlock_upgradable(&self) {
        sys::must(call!(self, lw_rwlock_unlock), "unlock of an upgradable read");
    }

    unsafe fn upgrade(&self) {
        sys::must(call!(self, lw_rwlock_upgrade_until, sys::FOREVER), "upgrade");
    }

    unsafe fn try_upgrade(&self) -> bool {
        call!(self, lw_rwlock_tryupgrade) == 0
    }
}

// SAFETY: as in RawRwLockDowngrade.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self) {
        sys::must(call!(self, lw_rwlock_downgrade), "downgrade");
    }

    unsafe fn downgrade_to_upgradable(&self) {
        sys::must(call!(self, lw_rwlock_downgrade_upgradable), "downgrade");
    }
}

// SAFETY: as above; after an upgrade that fails the thread still reads upgradably.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        sys::taken(call!(self, lw_rwlock_uplock_until, time::after(timeout)))
    }

    fn try_lock_upgradable_until(&self, timeout: time::Instant) -> bool {
        sys::taken(call!(self, lw_rwlock_uplock_until, time::at(timeout)))
    }

    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        sys::taken(call!(self, lw_rwlock_upgrade_until, time::after(timeout)))
    }

    unsafe fn try_upgrade_until(&self, timeout: time::Instant) -> bool {
        sys::taken(call!(self, lw_rwlock_upgrade_until, time::at(timeout)))
    }
}
