//! What threads of Rust's own locks and parking_lot's wait for, as in ../../asleep.cc.

use crate::Name;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::null;

/// `enum bench_block` in bench.h, as far as it is used.
#[repr(C)]
enum Block {
    Mutex = 0,
    Read = 4,
    Write = 5,
    Blocks = 13,
}

type Section = unsafe extern "C" fn(*mut c_void) -> bool;
type Turn = unsafe extern "C" fn(*mut c_void, Section, *mut c_void);

/// `struct bench_wait` in bench.h.
#[repr(C)]
pub struct Wait {
    block: Block,
    peer: *const c_char,
    hold: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    turn: Option<Turn>,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
}

unsafe impl Sync for Wait {}

/// A lock that a thread holds between two calls.
struct Held<L, G> {
    lock: L,
    guard: Option<G>,
}

/// Defines hold, a turn for each way to take the lock, and release.
macro_rules! waits {
    ($lock:ty, $guard:ty, $take:expr, $($name:ident: $way:ident),+) => {
        type Object = Held<$lock, $guard>;

        pub unsafe extern "C" fn hold(object: *mut c_void, _waiters: c_int) {
            let object = object.cast::<Object>();
            object.write(Held { lock: <$lock>::new(()), guard: None });
            let take: fn(&'static $lock) -> $guard = $take;
            let guard = take(&(*object).lock);
            (*object).guard = Some(guard);
        }

        $(pub unsafe extern "C" fn $name(object: *mut c_void, section: Section, argument: *mut c_void) {
            let _guard = (*std::ptr::addr_of!((*object.cast::<Object>()).lock)).$way();
            section(argument);
        })+

        pub unsafe extern "C" fn release(object: *mut c_void) {
            (*object.cast::<Object>()).guard = None;
        }
    };
}

const fn at(
    block: Block,
    peer: Name,
    hold: unsafe extern "C" fn(*mut c_void, c_int),
    turn: Turn,
    release: unsafe extern "C" fn(*mut c_void),
) -> Wait {
    Wait {
        block,
        peer: peer.as_ptr() as *const c_char,
        hold: Some(hold),
        turn: Some(turn),
        release: Some(release),
    }
}

const END: Wait = Wait {
    block: Block::Blocks,
    peer: null(),
    hold: None,
    turn: None,
    release: None,
};

mod standard {
    pub mod mutex {
        use super::super::*;
        use std::sync::{Mutex, MutexGuard};
        waits!(Mutex<()>, MutexGuard<'static, ()>, |lock| lock.lock().unwrap(), turn: lock);
    }
    pub mod rwlock {
        use super::super::*;
        use std::sync::{RwLock, RwLockWriteGuard};
        waits!(RwLock<()>, RwLockWriteGuard<'static, ()>, |lock| lock.write().unwrap(),
               read: read, write: write);
    }
}

#[no_mangle]
pub static bench_asleep_rust_std: [Wait; 4] = {
    use standard::{mutex, rwlock};
    const NAME: Name = b"Rust std\0";
    [
        at(Block::Mutex, NAME, mutex::hold, mutex::turn, mutex::release),
        at(Block::Read, NAME, rwlock::hold, rwlock::read, rwlock::release),
        at(Block::Write, NAME, rwlock::hold, rwlock::write, rwlock::release),
        END,
    ]
};

#[cfg(feature = "parking_lot")]
mod parking {
    pub mod mutex {
        use super::super::*;
        use parking_lot::{Mutex, MutexGuard};
        waits!(Mutex<()>, MutexGuard<'static, ()>, |lock| lock.lock(), turn: lock);
    }
    pub mod rwlock {
        use super::super::*;
        use parking_lot::{RwLock, RwLockWriteGuard};
        waits!(RwLock<()>, RwLockWriteGuard<'static, ()>, |lock| lock.write(),
               read: read, write: write);
    }
}

#[cfg(feature = "parking_lot")]
#[no_mangle]
pub static bench_asleep_parking_lot: [Wait; 4] = {
    use parking::{mutex, rwlock};
    const NAME: Name = b"parking_lot\0";
    [
        at(Block::Mutex, NAME, mutex::hold, mutex::turn, mutex::release),
        at(Block::Read, NAME, rwlock::hold, rwlock::read, rwlock::release),
        at(Block::Write, NAME, rwlock::hold, rwlock::write, rwlock::release),
        END,
    ]
};
