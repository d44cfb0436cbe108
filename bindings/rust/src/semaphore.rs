//! lockword/sem.h.
use crate::raw::words;
use crate::{sys, time};
use core::time::Duration;

words! {
    /// A counting semaphore: twelve bytes, `lw_sem` in C and `Semaphore` in JavaScript. A call gets
    /// all the permits that it asks for, or none.
    Semaphore, 3
}

/// Permits of a semaphore. It gets them back when this is dropped.
#[must_use = "the permits go back at once"]
pub struct Permits<'a> {
    semaphore: &'a Semaphore,
    n: u32,
}

impl Permits<'_> {
    /// Keeps the permits for good, or until [`Semaphore::release`].
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl Drop for Permits<'_> {
    fn drop(&mut self) {
        self.semaphore.release(self.n);
    }
}

impl Semaphore {
    /// The most permits that a semaphore may have, 2^28 - 1.
    pub const MAX: u32 = (1 << 28) - 1;

    /// A semaphore with so many permits, at most [`Semaphore::MAX`].
    pub const fn new(permits: u32) -> Self {
        assert!(permits <= Self::MAX, "a semaphore has 2^28 - 1 permits at most");
        Self::beginning_with(permits)
    }

    pub(crate) fn held(&self, n: u32) -> Permits<'_> {
        Permits { semaphore: self, n }
    }

    /// Whether so many may be asked for: no release could make a call for more succeed.
    #[track_caller]
    pub(crate) fn check(n: u32) {
        assert!(n <= Self::MAX, "lockword: {} permits are more than a semaphore can have", n);
    }

    #[track_caller]
    fn acquire_until(&self, n: u32, deadline: i64) -> Option<Permits<'_>> {
        Self::check(n);
        // SAFETY: the words are a semaphore's, and live as long as `self`.
        let error = unsafe { sys::lw_sem_acquire_until(self.as_ptr(), n, deadline) };
        (error == 0).then(|| self.held(n))
    }

    /// Waits for n permits. Panics if n is more than [`Semaphore::MAX`].
    #[track_caller]
    pub fn acquire(&self, n: u32) -> Permits<'_> {
        self.acquire_until(n, sys::FOREVER).expect("a wait without a limit ends with permits")
    }

    /// The same for at most so long.
    #[track_caller]
    pub fn acquire_for(&self, n: u32, timeout: Duration) -> Option<Permits<'_>> {
        self.acquire_until(n, time::after(timeout))
    }

    /// Takes n permits if there are as many. Never waits.
    pub fn try_acquire(&self, n: u32) -> Option<Permits<'_>> {
        // SAFETY: as in `acquire_until`.
        let error = unsafe { sys::lw_sem_tryacquire(self.as_ptr(), n) };
        (error == 0).then(|| self.held(n))
    }

    /// Adds n permits. Panics if there would be more than [`Semaphore::MAX`].
    #[track_caller]
    pub fn release(&self, n: u32) {
        // SAFETY: as in `acquire_until`.
        sys::must(unsafe { sys::lw_sem_release(self.as_ptr(), n) }, "release");
    }

    /// How many permits there are at this moment.
    pub fn available(&self) -> u32 {
        // SAFETY: as in `acquire_until`.
        unsafe { sys::lw_sem_available(self.as_ptr()) }
    }
}
