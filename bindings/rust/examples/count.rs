//! cargo run --release --example count: threads count together, two at once.
use lockword::{Mutex, RwLock, Semaphore};
use std::thread;

const EACH: u64 = 200_000;

fn main() {
    let total = Mutex::new(0u64);
    let names = RwLock::new(Vec::new());
    let two_at_once = Semaphore::new(2);
    thread::scope(|scope| {
        for i in 0..4 {
            let (total, names, two_at_once) = (&total, &names, &two_at_once);
            scope.spawn(move || {
                let _turn = two_at_once.acquire(1);
                names.write().push(format!("thread {i}"));
                for _ in 0..EACH {
                    *total.lock() += 1;
                }
            });
        }
    });
    println!("{} counted {}", names.read().join(", "), total.lock());
    assert_eq!(*total.lock(), 4 * EACH);
}
