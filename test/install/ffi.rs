//! ffi.rs: lockword without C. Two threads count together, and a wait ends in time, by Rust's
//! extern "C".
use std::cell::UnsafeCell;
use std::os::raw::c_int;
use std::time::{Duration, Instant};

const EACH: u64 = 200_000;
const ETIMEDOUT: c_int = 110;

/// As many words as docs/layout.md says, of zeros.
#[repr(C)]
struct Mutex(UnsafeCell<[u32; 2]>);
#[repr(C)]
struct Semaphore(UnsafeCell<[u32; 3]>);
unsafe impl Sync for Mutex {}

extern "C" {
    fn lw_mutex_lock(mutex: *mut Mutex) -> c_int;
    fn lw_mutex_unlock(mutex: *mut Mutex) -> c_int;
    fn lw_sem_release(sem: *mut Semaphore, n: u32) -> c_int;
    fn lw_sem_acquire_until(sem: *mut Semaphore, n: u32, deadline: i64) -> c_int;
    fn lw_after_ms(ms: i64) -> i64;
}

struct Guarded {
    mutex: Mutex,
    count: UnsafeCell<u64>,
}
unsafe impl Sync for Guarded {}

static TOTAL: Guarded = Guarded { mutex: Mutex(UnsafeCell::new([0; 2])), count: UnsafeCell::new(0) };

fn count() {
    let mutex = TOTAL.mutex.0.get() as *mut Mutex;
    for _ in 0..EACH {
        unsafe {
            assert_eq!(lw_mutex_lock(mutex), 0);
            *TOTAL.count.get() += 1;
            assert_eq!(lw_mutex_unlock(mutex), 0);
        }
    }
}

fn main() {
    let other = std::thread::spawn(count);
    count();
    other.join().unwrap();
    assert_eq!(unsafe { *TOTAL.count.get() }, 2 * EACH);

    let mut semaphore = Semaphore(UnsafeCell::new([0; 3]));
    let begun = Instant::now();
    unsafe {
        assert_eq!(lw_sem_release(&mut semaphore, 1), 0);
        assert_eq!(lw_sem_acquire_until(&mut semaphore, 2, lw_after_ms(10)), ETIMEDOUT);
    }
    assert!(begun.elapsed() >= Duration::from_millis(10));
}
