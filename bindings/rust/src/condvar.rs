//! lockword/cond.h for this crate's `Mutex`.
use crate::raw::words;
use crate::{sys, time, MutexGuard};
use core::time::Duration;

words! {
    /// A condition variable: eight bytes, `lw_cond` in C and `Condition` in JavaScript. All who
    /// wait on it at one time do so with one mutex.
    Condvar, 2
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl Condvar {
    /// A condition variable for which nobody waits.
    pub const fn new() -> Self {
        Self::beginning_with(0)
    }

    fn wait_deadline<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, deadline: i64) -> bool {
        // SAFETY: `raw` is used as the guard's own mutex, which the thread holds; it holds it again
        // when the wait returns. The exclusive borrow of the guard keeps the data out of reach.
        unsafe {
            let mutex = MutexGuard::mutex(guard).raw().as_ptr();
            sys::lw_cond_wait_until(self.as_ptr(), mutex, deadline) == 0
        }
    }

    /// Unlocks the mutex, waits for a notify, and locks it again. May wake up spuriously: call it
    /// in a loop, or use [`Condvar::wait_while`].
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_deadline(guard, sys::FOREVER);
    }

    /// The same for at most so long. Returns false if the time was up.
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> bool {
        self.wait_deadline(guard, time::after(timeout))
    }

    /// Waits for as long as the condition returns true for the data.
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(&mut **guard) {
            self.wait(guard);
        }
    }

    /// The same for at most so long. Returns false if the condition still returns true then.
    pub fn wait_while_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> bool {
        let deadline = time::after(timeout);
        while condition(&mut **guard) {
            if !self.wait_deadline(guard, deadline) {
                return !condition(&mut **guard);
            }
        }
        true
    }

    /// Wakes the longest waiter. Returns whether there was one.
    pub fn notify_one(&self) -> bool {
        // SAFETY: the words are a condition's, and live as long as `self`.
        unsafe { sys::lw_cond_notify_one(self.as_ptr()) != 0 }
    }

    /// Wakes all waiters, and returns how many there were.
    pub fn notify_all(&self) -> usize {
        // SAFETY: as in `notify_one`.
        unsafe { sys::lw_cond_notify_all(self.as_ptr()) as usize }
    }
}
