//! lockword/event.h.
use crate::raw::words;
use crate::{sys, time};
use core::sync::atomic::Ordering;
use core::time::Duration;

/// The bit of an event's first word which says that it resets itself.
const AUTO: u32 = 2;

words! {
    /// An event: eight bytes, `lw_event` in C and `Event` in JavaScript. Waiters wait until it is
    /// set, and see what was written before that.
    Event, 2
}

impl Event {
    /// An event that stays set, and releases all waiters, until it is reset.
    pub const fn manual() -> Self {
        Self::beginning_with(0)
    }

    /// An event that one waiter resets when it is released by it.
    pub const fn auto() -> Self {
        Self::beginning_with(AUTO)
    }

    /// Whether a waiter resets it.
    pub fn is_auto(&self) -> bool {
        self.0[0].load(Ordering::Relaxed) & AUTO != 0
    }

    /// Sets it, and wakes the waiters that this releases.
    pub fn set(&self) {
        // SAFETY: the words are an event's, and live as long as `self`.
        unsafe { sys::lw_event_set(self.as_ptr()) }
    }

    /// Resets it, and returns whether it was set.
    pub fn reset(&self) -> bool {
        // SAFETY: as in `set`.
        unsafe { sys::lw_event_reset(self.as_ptr()) }
    }

    /// Whether it is set at this moment.
    pub fn is_set(&self) -> bool {
        // SAFETY: as in `set`.
        unsafe { sys::lw_event_is_set(self.as_ptr()) }
    }

    /// Waits until it is set.
    pub fn wait(&self) {
        // SAFETY: as in `set`.
        sys::must(unsafe { sys::lw_event_wait_until(self.as_ptr(), sys::FOREVER) }, "wait");
    }

    /// Waits for at most so long. Returns whether it was set.
    pub fn wait_for(&self, timeout: Duration) -> bool {
        // SAFETY: as in `set`.
        sys::taken(unsafe { sys::lw_event_wait_until(self.as_ptr(), time::after(timeout)) })
    }
}
