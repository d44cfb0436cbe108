//! From Rust's times to deadlines of lockword's monotonic clock.
use crate::sys;
use core::time::Duration;

/// The deadline that lies so far ahead; without a limit, if that is more than an i64 of ns.
pub(crate) fn after(duration: Duration) -> i64 {
    let ns = i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    // SAFETY: takes a number only.
    unsafe { sys::lw_after_ns(ns) }
}

/// Where the standard library has a clock: wasm32-unknown-unknown has none.
#[cfg(not(target_family = "wasm"))]
pub(crate) use std::time::Instant;

/// Stands for it in WebAssembly: a point of the monotonic clock that JavaScript also has.
#[cfg(target_family = "wasm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(i64);

#[cfg(target_family = "wasm")]
impl Instant {
    /// The point in time that lies so far ahead.
    pub fn after(duration: Duration) -> Self {
        Instant(after(duration))
    }
}

#[cfg(not(target_family = "wasm"))]
pub(crate) fn at(instant: Instant) -> i64 {
    after(instant.saturating_duration_since(Instant::now()))
}

#[cfg(target_family = "wasm")]
pub(crate) fn at(instant: Instant) -> i64 {
    instant.0
}
