//! The blocking forms, by threads.
use lockword::*;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);
const EACH: u64 = 50_000;

/// Runs it in four threads, and returns when all have ended.
fn by_four(body: impl Fn() + Send + Sync) {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(&body);
        }
    });
}

#[test]
fn primitives_have_the_words_of_the_layout() {
    // The crate has no copy of lockword's docs/layout.md.
    let path = match std::env::var_os("LOCKWORD_LAYOUT") {
        Some(path) => path,
        None => return,
    };
    let layout = std::fs::read_to_string(path).unwrap();
    let bytes = [
        ("mutex", 4 * RawMutex::WORDS),
        ("cond", 4 * Condvar::WORDS),
        ("sem", 4 * Semaphore::WORDS),
        ("rwlock", 4 * RawRwLock::WORDS),
        ("event", 4 * Event::WORDS),
    ];
    for (name, bytes) in bytes {
        assert!(layout.contains(&format!("| `{name}` | {bytes} | 4 |")), "{name}: {bytes}");
    }
}

#[test]
fn a_mutex_excludes() {
    static COUNT: Mutex<u64> = Mutex::new(0);
    by_four(|| {
        for _ in 0..EACH {
            *COUNT.lock() += 1;
        }
    });
    assert_eq!(*COUNT.lock(), 4 * EACH);
}

#[test]
fn a_mutex_is_tried_and_waits_in_time() {
    let mutex = Mutex::new(());
    let guard = mutex.lock();
    assert!(mutex.is_locked());
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(mutex.try_lock().is_none());
            let begun = Instant::now();
            assert!(mutex.try_lock_for(SHORT).is_none());
            assert!(begun.elapsed() >= SHORT);
            assert!(mutex.try_lock_until(Instant::now() + SHORT).is_none());
            assert!(mutex.try_lock_until(begun).is_none());
        });
    });
    drop(guard);
    assert!(!mutex.is_locked());
    assert!(mutex.try_lock_for(Duration::MAX).is_some());
}

#[test]
#[should_panic(expected = "would wait for itself")]
fn a_thread_that_would_wait_for_itself_in_time_panics() {
    let mutex = Mutex::new(());
    let _guard = mutex.lock();
    let _again = mutex.try_lock_for(SHORT);
}

/// Runs the test of this name in a process of its own, where `body` has to end the process.
fn ends_its_process(test: &str, body: impl FnOnce()) {
    const INSIDE: &str = "LOCKWORD_ENDS";
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture"]).env(INSIDE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{test}: it goes on: {said}");
    assert!(said.contains("would wait for itself"), "{test}: {said}");
}

/// Ends the process without an error if `lock` returns or panics.
fn must_not_return(lock: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(lock));
    std::process::exit(0);
}

#[test]
fn a_thread_that_would_wait_for_itself_ends() {
    ends_its_process("a_thread_that_would_wait_for_itself_ends", || {
        let mutex = Mutex::new(());
        let _guard = mutex.lock();
        must_not_return(|| drop(mutex.lock()));
    });
}

// Safe code that went on after these would have two guards of the same data.

#[test]
fn a_mutex_that_was_unlocked_for_a_while_has_one_guard() {
    ends_its_process("a_mutex_that_was_unlocked_for_a_while_has_one_guard", || {
        let mutex = Mutex::new(0);
        let mut guard = mutex.lock();
        let mut other = None;
        must_not_return(|| MutexGuard::unlocked(&mut guard, || other = Some(mutex.lock())));
    });
}

#[test]
fn a_read_that_was_unlocked_for_a_while_has_no_writer_beside_it() {
    ends_its_process("a_read_that_was_unlocked_for_a_while_has_no_writer_beside_it", || {
        let lock = RwLock::new(0);
        let mut guard = lock.read();
        let mut other = None;
        must_not_return(|| RwLockReadGuard::unlocked(&mut guard, || other = Some(lock.write())));
    });
}

#[test]
fn a_write_that_was_unlocked_for_a_while_is_alone() {
    ends_its_process("a_write_that_was_unlocked_for_a_while_is_alone", || {
        let lock = RwLock::new(0);
        let mut guard = lock.write();
        let mut other = None;
        must_not_return(|| RwLockWriteGuard::unlocked(&mut guard, || other = Some(lock.write())));
    });
}

#[test]
fn an_upgradable_read_that_was_unlocked_for_a_while_is_alone() {
    ends_its_process("an_upgradable_read_that_was_unlocked_for_a_while_is_alone", || {
        let lock = RwLock::new(0);
        let mut guard = lock.upgradable_read();
        let mut other = None;
        must_not_return(|| {
            RwLockUpgradableReadGuard::unlocked(&mut guard, || other = Some(lock.write()));
        });
    });
}

#[test]
fn a_mutex_has_eight_bytes_that_c_knows() {
    assert_eq!(std::mem::size_of::<RawMutex>(), 4 * RawMutex::WORDS);
    assert_eq!(std::mem::size_of::<RawRwLock>(), 4 * RawRwLock::WORDS);
    let mut words = [0u32; RawMutex::WORDS];
    // SAFETY: aligned words of zeros, which outlive the reference, and nobody else uses.
    let raw = unsafe { RawMutex::from_ptr(words.as_mut_ptr()) };
    assert!(lock_api::RawMutex::try_lock(raw));
    // SAFETY: as above; other accesses are lockword's.
    assert_ne!(unsafe { raw.as_ptr().read_volatile() }, 0);
    // SAFETY: this thread has locked it.
    unsafe { lock_api::RawMutex::unlock(raw) };
    // SAFETY: as above.
    assert_eq!(unsafe { raw.as_ptr().read_volatile() }, 0);
}

#[test]
fn a_writer_is_alone_and_readers_are_not() {
    let lock = RwLock::new((0u64, 0u64));
    by_four(|| {
        for i in 0..EACH / 10 {
            if i % 4 == 0 {
                let mut both = lock.write();
                both.0 += 1;
                both.1 += 1;
            } else {
                let both = lock.read();
                assert_eq!(both.0, both.1);
            }
        }
    });
    assert_eq!(lock.read().0, EACH / 10);

    let read = lock.read();
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(lock.try_read().is_some());
            assert!(lock.try_write().is_none());
            assert!(lock.try_write_for(SHORT).is_none());
            assert!(lock.try_write_until(Instant::now() + SHORT).is_none());
            assert!(lock.try_read_for(SHORT).is_some());
        });
    });
    drop(read);
    assert!(!lock.is_locked());
}

#[test]
fn an_upgradable_read_becomes_a_write_and_back() {
    let lock = RwLock::new(0u64);
    by_four(|| {
        for _ in 0..EACH / 50 {
            let read = lock.upgradable_read();
            let seen = *read;
            let mut write = RwLockUpgradableReadGuard::upgrade(read);
            assert_eq!(*write, seen);
            *write += 1;
            let read = RwLockWriteGuard::downgrade_to_upgradable(write);
            assert_eq!(*read, seen + 1);
            let read = RwLockUpgradableReadGuard::downgrade(read);
            assert!(*read > seen);
        }
    });
    assert_eq!(*lock.read(), 4 * (EACH / 50));

    let other = lock.read();
    thread::scope(|scope| {
        scope.spawn(|| {
            let read = lock.try_upgradable_read_for(SHORT).expect("beside a reader");
            let read = RwLockUpgradableReadGuard::try_upgrade(read).expect_err("a reader");
            let read = RwLockUpgradableReadGuard::try_upgrade_for(read, SHORT).err();
            assert_eq!(*read.expect("a reader"), 4 * (EACH / 50));
        });
    });
    drop(other);
    let read = RwLockWriteGuard::downgrade(lock.write());
    assert!(lock.is_locked() && !lock.is_locked_exclusive());
    drop(read);
}

#[test]
fn a_read_beside_ones_own_upgradable_read_ends_alone() {
    let lock = RwLock::new(1);
    let read = lock.upgradable_read();
    assert!(format!("{lock:?}").contains("data: 1")); // reads, too
    let write = RwLockUpgradableReadGuard::upgrade(read);
    assert!(lock.is_locked_exclusive());
    drop(write);
    assert!(!lock.is_locked());
}

#[test]
fn a_condition_hands_over_what_a_mutex_guards() {
    let queue = Mutex::new(Vec::new());
    let filled = Condvar::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..1000 {
                queue.lock().push(i);
                filled.notify_one();
            }
        });
        let mut sum = 0;
        for _ in 0..1000 {
            let mut guard = queue.lock();
            filled.wait_while(&mut guard, |queue| queue.is_empty());
            sum += guard.pop().expect("it is not empty");
        }
        assert_eq!(sum, 499_500);
    });
    assert_eq!(filled.notify_all(), 0);
}

#[test]
fn a_condition_waits_in_time() {
    let number = Mutex::new(0);
    let changed = Condvar::new();
    let mut guard = number.lock();
    let in_time =
        |begun: Instant, result: WaitTimeoutResult| result.timed_out() && begun.elapsed() >= SHORT;
    let begun = Instant::now();
    assert!(in_time(begun, changed.wait_for(&mut guard, SHORT)));
    let begun = Instant::now();
    assert!(in_time(begun, changed.wait_until(&mut guard, begun + SHORT)));
    let begun = Instant::now();
    assert!(in_time(begun, changed.wait_while_for(&mut guard, |it| *it == 0, SHORT)));
    let begun = Instant::now();
    assert!(in_time(begun, changed.wait_while_until(&mut guard, |it| *it == 0, begun + SHORT)));
    assert!(changed.wait_until(&mut guard, Instant::now()).timed_out());
    assert!(!changed.wait_while_for(&mut guard, |number| *number != 0, SHORT).timed_out());
    assert!(!changed.wait_while_until(&mut guard, |_| false, Instant::now()).timed_out());
    drop(guard);

    let is_over = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while is_over.load(Ordering::SeqCst) == 0 {
                *number.lock() += 1;
                changed.notify_all();
            }
        });
        let long = Duration::from_secs(60);
        let mut guard = number.lock();
        assert!(!changed.wait_for(&mut guard, long).timed_out());
        assert!(!changed.wait_until(&mut guard, Instant::now() + long).timed_out());
        let more = *guard + 2;
        assert!(!changed.wait_while_for(&mut guard, |number| *number < more, long).timed_out());
        assert!(*guard >= more);
        drop(guard);
        is_over.store(1, Ordering::SeqCst);
    });
}

#[test]
fn a_condition_that_is_over_at_the_end_has_not_timed_out() {
    let number = Mutex::new(0);
    let changed = Condvar::new();
    let mut looks = 0;
    let result = changed.wait_while_for(
        &mut number.lock(),
        |_| {
            looks += 1;
            looks == 1
        },
        SHORT,
    );
    assert_eq!((result.timed_out(), looks), (false, 2));
    assert_eq!(format!("{changed:?}"), "Condvar { .. }");
}

#[test]
fn a_semaphore_counts() {
    let slots = Semaphore::new(2);
    let inside = AtomicU32::new(0);
    by_four(|| {
        for _ in 0..EACH / 50 {
            let _slot = slots.acquire(1);
            assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
            inside.fetch_sub(1, Ordering::SeqCst);
        }
    });
    assert_eq!(slots.available(), 2);
    slots.acquire(2).forget();
    assert!(slots.try_acquire(1).is_none());
    assert!(slots.acquire_for(1, SHORT).is_none());
    slots.release(1);
    assert!(slots.acquire_for(1, SHORT).is_some());
}

#[test]
#[should_panic(expected = "more than a semaphore can have")]
fn a_semaphore_refuses_what_can_never_be() {
    let _ = Semaphore::new(0).acquire(Semaphore::MAX + 1);
}

#[test]
fn an_event_releases_all_or_one() {
    let begun = Arc::new(Event::manual());
    let waiter = thread::spawn({
        let begun = begun.clone();
        move || begun.wait()
    });
    begun.set();
    waiter.join().unwrap();
    assert!(begun.is_set() && begun.wait_for(SHORT) && begun.reset());
    assert!(!begun.wait_for(SHORT));

    let turn = Event::auto();
    assert!(turn.is_auto());
    turn.set();
    assert!(turn.wait_for(SHORT));
    assert!(!turn.wait_for(SHORT));
}
