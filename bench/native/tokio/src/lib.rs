//! tokio's Mutex, which a thread gives up and a task of another thread's runtime gets, as in
//! ../../loops.c. The runtime polls descriptors, like an event loop.

use std::future::{poll_fn, Future};
use std::os::raw::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

extern "C" {
    fn bench_now() -> f64;
    fn bench_pin(k: c_int);
}

#[derive(Default)]
struct Turnover {
    lock: Mutex<f64>,
    is_held: AtomicBool,
    is_asked: AtomicBool,
}

fn wait_for(flag: &AtomicBool) {
    while !flag.swap(false, Ordering::Acquire) {
        std::thread::yield_now();
    }
}

fn tell(turnover: &Turnover, cpu: c_int, count: usize) {
    unsafe { bench_pin(cpu) };
    for _ in 0..count {
        let mut told_at = turnover.lock.blocking_lock();
        turnover.is_held.store(true, Ordering::Release);
        wait_for(&turnover.is_asked);
        std::thread::sleep(Duration::from_micros(100));
        *told_at = unsafe { bench_now() };
    }
}

/// Asks, and only then lets the thread go on.
async fn hear(turnover: &Turnover) -> f64 {
    let mut asked = Box::pin(turnover.lock.lock());
    let told_at = poll_fn(|context| {
        let polled = asked.as_mut().poll(context);
        turnover.is_asked.store(polled.is_pending(), Ordering::Release);
        polled
    })
    .await;
    unsafe { bench_now() - *told_at }
}

/// `bench_tokio` in ../../loops.c.
///
/// # Safety
///
/// `samples` has room for `count`.
#[no_mangle]
pub unsafe extern "C" fn bench_tokio(samples: *mut f64, count: c_int, cpu: c_int) {
    let samples = std::slice::from_raw_parts_mut(samples, count as usize);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let turnover = Arc::new(Turnover::default());
    let other = turnover.clone();
    let rounds = samples.len();
    let teller = std::thread::spawn(move || tell(&other, cpu, rounds));
    for sample in samples {
        wait_for(&turnover.is_held);
        *sample = runtime.block_on(hear(&turnover));
    }
    teller.join().expect("the thread ends");
}
