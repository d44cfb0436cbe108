#![doc = include_str!("../README.md")]
#![cfg_attr(target_family = "wasm", no_std)]
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

mod condvar;
mod event;
mod mutex;
mod raw;
#[cfg(target_os = "linux")]
pub mod region;
mod rwlock;
mod semaphore;
mod sys;
#[cfg(target_os = "linux")]
pub mod task;
mod time;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use event::Event;
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard, RawMutex};
pub use rwlock::{RawRwLock, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};
pub use semaphore::{Permits, Semaphore};

#[cfg(target_os = "linux")]
pub use task::{AsyncEvent, AsyncMutex, AsyncRwLock, AsyncSemaphore};

#[cfg(target_family = "wasm")]
pub use time::Instant;
