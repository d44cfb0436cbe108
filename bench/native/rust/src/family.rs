//! Rust's read-write locks, once and condition in the loops of ../../family/family.h.

use crate::{destroy_in_place, Name};
use core::sync::atomic::{compiler_fence, Ordering};
use std::os::raw::{c_char, c_void};
use std::ptr::null;

/// `enum bench_subject` in bench.h.
#[repr(C)]
#[allow(dead_code)]
enum Subject {
    Hold,
    Recursion,
    Permit,
    Number,
    Numbers,
    Read,
    Readers,
    Write,
    Done,
    Notify,
    Set,
    IsSet,
    Waitgroup,
    Counter,
    Rally,
    RallyHeld,
    Meet,
    MeetFour,
    MeetSixteen,
    MeetFourBusy,
    MeetSixteenBusy,
    Subjects,
}

type Turns = unsafe extern "C" fn(*mut c_void, u64);

/// `struct bench_operation` in bench.h.
#[repr(C)]
pub struct Operation {
    subject: Subject,
    peer: *const c_char,
    floor: bool,
    init: Option<unsafe extern "C" fn(*mut c_void)>,
    destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    turns: Option<Turns>,
    partner: Option<Turns>,
}

unsafe impl Sync for Operation {}

/// An operation on a T, by one thread.
const fn operation<T: New>(subject: Subject, peer: Name, turns: Turns) -> Operation {
    Operation {
        subject,
        peer: peer.as_ptr() as *const c_char,
        floor: false,
        init: Some(init::<T>),
        destroy: Some(destroy_in_place::<T>),
        turns: Some(turns),
        partner: None,
    }
}

/// An operation on a T, by two threads at once.
const fn together<T: New>(subject: Subject, peer: Name, turns: Turns) -> Operation {
    Operation {
        partner: Some(turns),
        ..operation::<T>(subject, peer, turns)
    }
}

const END: Operation = Operation {
    subject: Subject::Subjects,
    peer: null(),
    floor: false,
    init: None,
    destroy: None,
    turns: None,
    partner: None,
};

/// What an operation works on, ready for it.
trait New {
    fn new() -> Self;
}

unsafe extern "C" fn init<T: New>(object: *mut c_void) {
    object.cast::<T>().write(T::new());
}

/// Defines how a type is made, and a function for the turns of each operation on it.
macro_rules! turns {
    ($type:ty, $new:expr, $($name:ident: $operation:expr),+) => {
        impl New for $type {
            fn new() -> Self {
                $new
            }
        }
        $(unsafe extern "C" fn $name(object: *mut c_void, n: u64) {
            let object = &*object.cast::<$type>();
            let operation: fn(&$type) = $operation;
            for _ in 0..n {
                operation(object);
                compiler_fence(Ordering::SeqCst);
            }
        })+
    };
}

mod standard {
    use super::*;
    use std::sync::{Condvar, Once, RwLock};

    fn already_run() -> Once {
        let once = Once::new();
        once.call_once(|| {});
        once
    }

    turns!(RwLock<()>, RwLock::new(()), read: |lock| drop(lock.read()), write: |lock| drop(lock.write()));
    turns!(Once, already_run(), done: |once| once.call_once(|| {}));
    turns!(Condvar, Condvar::new(), notify: |cond| cond.notify_one());

    const NAME: Name = b"Rust std\0";

    #[no_mangle]
    pub static bench_family_rust_std: [Operation; 6] = [
        operation::<RwLock<()>>(Subject::Read, NAME, read),
        together::<RwLock<()>>(Subject::Readers, NAME, read),
        operation::<RwLock<()>>(Subject::Write, NAME, write),
        operation::<Once>(Subject::Done, NAME, done),
        operation::<Condvar>(Subject::Notify, NAME, notify),
        END,
    ];
}

#[cfg(feature = "parking_lot")]
mod parking {
    use super::*;
    use parking_lot::{Condvar, Once, ReentrantMutex, RwLock};

    fn already_run() -> Once {
        let once = Once::new();
        once.call_once(|| {});
        once
    }

    fn recurse(mutex: &ReentrantMutex<()>) {
        let _outer = mutex.lock();
        let _inner = mutex.lock();
    }

    turns!(ReentrantMutex<()>, ReentrantMutex::new(()), hold: |mutex| drop(mutex.lock()), recursion: recurse);
    turns!(RwLock<()>, RwLock::new(()), read: |lock| drop(lock.read()), write: |lock| drop(lock.write()));
    turns!(Once, already_run(), done: |once| once.call_once(|| {}));
    turns!(Condvar, Condvar::new(), notify: |cond| {
        cond.notify_one();
    });

    const NAME: Name = b"parking_lot\0";

    #[no_mangle]
    pub static bench_family_parking_lot: [Operation; 8] = [
        operation::<ReentrantMutex<()>>(Subject::Hold, NAME, hold),
        operation::<ReentrantMutex<()>>(Subject::Recursion, NAME, recursion),
        operation::<RwLock<()>>(Subject::Read, NAME, read),
        together::<RwLock<()>>(Subject::Readers, NAME, read),
        operation::<RwLock<()>>(Subject::Write, NAME, write),
        operation::<Once>(Subject::Done, NAME, done),
        operation::<Condvar>(Subject::Notify, NAME, notify),
        END,
    ];
}
