//! Rust's own mutex and parking_lot's in the loops of ../../peers/peer.h, compiled here so that
//! their fast paths are inlined, too.
#![allow(non_upper_case_globals)]

mod asleep;
mod family;

use core::ptr::{read_volatile, write_volatile};
use core::sync::atomic::{compiler_fence, AtomicU32, Ordering};
use std::os::raw::{c_char, c_void};

/// The fields of `struct bench_thread` in bench.h, up to `turns`.
#[repr(C)]
pub struct Thread {
    mutex: *mut c_void,
    count: *mut u64,
    stop: *const AtomicU32,
    steps: u64,
    stamped: u64,
    turns: u64,
}

/// `struct bench_peer` in bench.h.
#[repr(C)]
pub struct Peer {
    name: *const c_char,
    contends: bool,
    init: unsafe extern "C" fn(*mut c_void),
    destroy: unsafe extern "C" fn(*mut c_void),
    pairs: unsafe extern "C" fn(*mut c_void, u64),
    increments: unsafe extern "C" fn(*mut c_void, u64, *mut u64),
    contend: unsafe extern "C" fn(*mut Thread),
}

unsafe impl Sync for Peer {}

/// A name that ends with a zero, as C wants it.
type Name = &'static [u8];

extern "C" {
    fn bench_work(steps: u64);
    fn bench_stamp() -> u64;
    fn bench_waited(thread: *mut Thread, asked: u64, got: u64);
}

trait Mutex {
    fn new() -> Self;
    fn locked(&self, section: impl FnOnce());
}

impl Mutex for std::sync::Mutex<()> {
    fn new() -> Self {
        std::sync::Mutex::new(())
    }

    #[inline(always)]
    fn locked(&self, section: impl FnOnce()) {
        let _guard = self.lock().unwrap();
        section();
    }
}

#[cfg(feature = "parking_lot")]
impl Mutex for parking_lot::Mutex<()> {
    fn new() -> Self {
        parking_lot::Mutex::new(())
    }

    #[inline(always)]
    fn locked(&self, section: impl FnOnce()) {
        let _guard = self.lock();
        section();
    }
}

unsafe extern "C" fn init<M: Mutex>(mutex: *mut c_void) {
    mutex.cast::<M>().write(M::new());
}

unsafe extern "C" fn destroy_in_place<T>(object: *mut c_void) {
    object.cast::<T>().drop_in_place();
}

#[inline(always)]
unsafe fn increment(count: *mut u64) {
    write_volatile(count, read_volatile(count).wrapping_add(1));
}

unsafe extern "C" fn pairs<M: Mutex>(mutex: *mut c_void, n: u64) {
    let mutex = &*mutex.cast::<M>();
    for _ in 0..n {
        mutex.locked(|| compiler_fence(Ordering::SeqCst));
    }
}

unsafe extern "C" fn increments<M: Mutex>(mutex: *mut c_void, n: u64, count: *mut u64) {
    let mutex = &*mutex.cast::<M>();
    for _ in 0..n {
        mutex.locked(|| increment(count));
    }
}

unsafe extern "C" fn contend<M: Mutex>(thread: *mut Thread) {
    let Thread {
        mutex,
        count,
        stop,
        steps,
        stamped,
        ..
    } = *thread;
    let mutex = &*mutex.cast::<M>();
    let mut turns = 0;
    while (*stop).load(Ordering::Relaxed) == 0 {
        let asked = if stamped != 0 { bench_stamp() } else { 0 };
        mutex.locked(|| {
            if stamped != 0 {
                bench_waited(thread, asked, bench_stamp());
            }
            increment(count);
            if steps != 0 {
                bench_work(steps);
            }
        });
        turns += 1;
        if steps != 0 {
            bench_work(steps);
        }
    }
    (*thread).turns = turns;
}

const fn peer<M: Mutex>(name: Name) -> Peer {
    Peer {
        name: name.as_ptr() as *const c_char,
        contends: true,
        init: init::<M>,
        destroy: destroy_in_place::<M>,
        pairs: pairs::<M>,
        increments: increments::<M>,
        contend: contend::<M>,
    }
}

#[no_mangle]
pub static bench_rust_std: Peer = peer::<std::sync::Mutex<()>>(b"Rust std\0");

#[cfg(feature = "parking_lot")]
#[no_mangle]
pub static bench_parking_lot: Peer = peer::<parking_lot::Mutex<()>>(b"parking_lot\0");
