//! lockword/cond.h for this crate's `Mutex`.
use crate::raw::words;
use crate::{sys, time, MutexGuard};
use core::fmt;
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

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

/// How a wait with a timeout has ended.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was up.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable for which nobody waits.
    pub const fn new() -> Self {
        Self::beginning_with(0)
    }

    fn wait_deadline<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: i64,
    ) -> WaitTimeoutResult {
        // SAFETY: `raw` is used as the guard's own mutex, which the thread holds; it holds it again
        // when the wait returns. The exclusive borrow of the guard keeps the data out of reach.
        let result = unsafe {
            let mutex = MutexGuard::mutex(guard).raw().as_ptr();
            sys::lw_cond_wait_until(self.as_ptr(), mutex, deadline)
        };
        WaitTimeoutResult(result != 0)
    }

    fn wait_while_deadline<T: ?Sized, F: FnMut(&mut T) -> bool>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: F,
        deadline: i64,
    ) -> WaitTimeoutResult {
        let mut result = WaitTimeoutResult(false);
        while condition(&mut **guard) {
            if result.timed_out() {
                return result;
            }
            result = self.wait_deadline(guard, deadline);
        }
        WaitTimeoutResult(false)
    }

    /// Unlocks the mutex, waits for a notify, and locks it again. May wake up spuriously: call it
    /// in a loop, or use [`Condvar::wait_while`].
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_deadline(guard, sys::FOREVER);
    }

    /// The same for at most so long.
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_deadline(guard, time::after(timeout))
    }

    /// The same until then at most.
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: time::Instant,
    ) -> WaitTimeoutResult {
        self.wait_deadline(guard, time::at(timeout))
    }

    /// Waits for as long as the condition returns true for the data.
    pub fn wait_while<T, F>(&self, guard: &mut MutexGuard<'_, T>, condition: F)
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_deadline(guard, condition, sys::FOREVER);
    }

    /// The same for at most so long. It has timed out if the condition still returns true then.
    pub fn wait_while_for<T, F>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_deadline(guard, condition, time::after(timeout))
    }

    /// The same until then at most.
    pub fn wait_while_until<T, F>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: time::Instant,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_deadline(guard, condition, time::at(timeout))
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
