//! Regions, by threads and by processes. Each test has a file of its own.
#![cfg(target_os = "linux")]
use lockword::region::{Error, Info, Kind, Region, RegionMutexGuard};
use lockword::{Event, Semaphore};
use std::io::{BufRead, BufReader, ErrorKind};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);
/// No wait of these tests is to last so long.
const LONG: Duration = Duration::from_secs(60);
/// The process that a test starts finds the file here.
const INSIDE: &str = "LOCKWORD_REGION";

/// A path of the test's, whose file is removed at the end.
struct File(PathBuf);

impl File {
    fn new(test: &str) -> Self {
        File(std::env::temp_dir().join(format!("lockword-{}-{test}", std::process::id())))
    }

    fn open(&self) -> Region {
        Region::open(&self.0).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs the test of this name in two processes: `inside` in one that prints "ready" when it calls
/// its argument, and is killed after that; `outside` in this one.
fn killed(test: &str, inside: impl FnOnce(Region, fn()), outside: impl FnOnce(Region, &mut Child)) {
    fn ready() {
        println!("\nready");
        thread::sleep(LONG);
    }
    if let Some(path) = std::env::var_os(INSIDE) {
        return inside(Region::open(path).unwrap(), ready);
    }
    let file = File::new(test);
    let region = file.open();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, &file.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_ready = lines.any(|line| line.unwrap() == "ready");
    if is_ready {
        outside(region, &mut child);
    }
    let _ = child.kill();
    child.wait().unwrap();
    assert!(is_ready, "the other process ended early");
}

/// Takes the lock in another thread, which may be anything but the caller.
fn elsewhere<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(body).join().unwrap())
}

#[test]
fn a_killed_holder_is_told_of_until_the_next_one_unlocks() {
    let inside = |region: Region, ready: fn()| {
        region.name_thread("victim").unwrap();
        let _guard = region.mutex("accounts").unwrap().lock().unwrap();
        region.words("table", 4).unwrap()[3].store(7, Relaxed);
        ready();
    };
    killed("a_killed_holder_is_told_of_until_the_next_one_unlocks", inside, |region, child| {
        let accounts = region.mutex("accounts").unwrap();
        assert!(accounts.is_locked());
        assert!(accounts.try_lock().unwrap().is_none());
        let begun = Instant::now();
        assert!(accounts.try_lock_for(SHORT).unwrap().is_none());
        assert!(begun.elapsed() >= SHORT);
        assert!(accounts.try_lock_until(Instant::now() + SHORT).unwrap().is_none());
        let info = region.describe("accounts").unwrap().unwrap();
        let holder = info.holder.unwrap();
        assert_eq!((holder.pid, holder.tid), (child.id(), holder.tid));
        assert_eq!(holder.thread, "victim");

        child.kill().unwrap();
        let guard = accounts.try_lock_for(LONG).unwrap().unwrap();
        assert!(guard.owner_died());
        assert_eq!(region.words("table", 4).unwrap()[3].load(Relaxed), 7);
        // A panic of the one that should mend the data.
        let fails = catch_unwind(AssertUnwindSafe(|| {
            let _guard = guard;
            panic!("on purpose");
        }));
        assert!(fails.is_err());
        assert!(region.describe("accounts").unwrap().unwrap().owner_died);
        assert!(accounts.lock().unwrap().owner_died());
        assert!(!accounts.lock().unwrap().owner_died());
        let info = region.describe("accounts").unwrap().unwrap();
        assert_eq!((info.owner_died, info.recoveries), (false, 1));
    });
}

#[test]
fn waiters_get_what_a_killed_holder_had() {
    let inside = |region: Region, ready: fn()| {
        let _guard = region.mutex("accounts").unwrap().lock().unwrap();
        let _write = region.rwtable("index").unwrap().write().unwrap();
        let _permit = region.permits("gpus", 1).unwrap().acquire().unwrap();
        region.once("setup").unwrap().call_once(ready).unwrap();
    };
    killed("waiters_get_what_a_killed_holder_had", inside, |region, child| {
        let region = &region;
        let calls = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| assert!(region.mutex("accounts").unwrap().lock().unwrap().owner_died()));
            scope.spawn(|| assert!(region.rwtable("index").unwrap().read().unwrap().owner_died()));
            scope.spawn(|| region.permits("gpus", 1).unwrap().acquire().unwrap().number());
            scope.spawn(|| {
                let once = region.once("setup").unwrap();
                once.call_once(|| _ = calls.fetch_add(1, Relaxed)).unwrap();
                assert!(once.is_completed());
            });
            thread::sleep(SHORT);
            assert_eq!(region.permits("gpus", 1).unwrap().available(), 0);
            child.kill().unwrap();
        });
        assert_eq!(calls.load(Relaxed), 1);
    });
}

#[test]
fn processes_wake_each_other() {
    let inside = |region: Region, _ready: fn()| {
        println!("\nready");
        region.event("go", Event::manual()).unwrap().wait();
        region.semaphore("jobs", Semaphore::new(0)).unwrap().release(2);
        let changed = region.condvar("changed").unwrap();
        let mutex = region.mutex("state").unwrap();
        let state = &region.words("state's", 1).unwrap()[0];
        let mut guard = mutex.lock().unwrap();
        while state.load(Relaxed) == 0 {
            guard = guard.wait(changed).unwrap();
        }
        state.store(2, Relaxed);
        changed.notify_all();
    };
    killed("processes_wake_each_other", inside, |region, child| {
        region.event("go", Event::manual()).unwrap().set();
        let jobs = region.semaphore("jobs", Semaphore::new(0)).unwrap();
        jobs.acquire_for(2, LONG).unwrap().forget();
        let changed = region.condvar("changed").unwrap();
        let state = &region.words("state's", 1).unwrap()[0];
        let mut guard = region.mutex("state").unwrap().lock().unwrap();
        state.store(1, Relaxed);
        changed.notify_one();
        while state.load(Relaxed) != 2 {
            let (again, timed_out) = guard.wait_for(changed, LONG).unwrap();
            assert!(!timed_out);
            guard = again;
        }
        drop(guard);
        assert!(child.wait().unwrap().success());
    });
}

#[test]
fn a_wait_ends_in_time_with_the_mutex() {
    let file = File::new("wait");
    let region = file.open();
    let mutex = region.mutex("m").unwrap();
    let changed = region.condvar("changed").unwrap();
    let (guard, timed_out) = mutex.lock().unwrap().wait_for(changed, SHORT).unwrap();
    assert!(timed_out && !guard.owner_died() && mutex.is_locked());
    drop(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn a_thread_that_ends_frees_what_it_forgot() {
    let file = File::new("forgotten");
    let region = file.open();
    let (mutex, table) = (region.mutex("m").unwrap(), region.rwtable("t").unwrap());
    let permits = region.permits("p", 2).unwrap();
    elsewhere(|| {
        std::mem::forget(mutex.lock());
        std::mem::forget(table.write());
        std::mem::forget(permits.acquire());
        assert!(matches!(mutex.lock(), Err(Error::Deadlock)));
        assert!(matches!(table.read(), Err(Error::Deadlock)));
    });
    assert!(mutex.lock().unwrap().owner_died());
    assert!(table.read().unwrap().owner_died());
    assert!(table.write().unwrap().owner_died());
    assert!(!table.read().unwrap().owner_died());
    let _two = (permits.acquire().unwrap(), permits.acquire().unwrap());
    drop(_two);
    // The thread that closes the region holds it.
    let other = file.open();
    std::mem::forget(other.mutex("m").unwrap().lock());
    drop(other);
    assert!(mutex.lock().unwrap().owner_died());
}

#[test]
fn what_a_panic_says_of_the_data() {
    let file = File::new("panic");
    let region = file.open();
    let mutex = region.mutex("m").unwrap();
    let panics_with = |body: &dyn Fn()| {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            body();
            panic!("on purpose");
        }));
        assert!(unwound.is_err() && !mutex.is_locked());
    };
    let panics_holding = || {
        catch_unwind(AssertUnwindSafe(|| {
            let _guard = mutex.lock();
            panic!("on purpose");
        }))
    };
    // Nothing, if there was no death before.
    assert!(panics_holding().is_err());
    assert!(!mutex.lock().unwrap().owner_died());

    elsewhere(|| std::mem::forget(mutex.lock()));
    assert!(panics_holding().is_err());
    // A lock that is taken and freed while the thread unwinds declares as ever.
    struct Mends<F: Fn()>(F);
    impl<F: Fn()> Drop for Mends<F> {
        fn drop(&mut self) {
            self.0();
        }
    }
    panics_with(&|| {
        let _mends = Mends(|| assert!(mutex.lock().unwrap().owner_died()));
        panic!("on purpose");
    });
    assert!(!mutex.lock().unwrap().owner_died());
}

#[test]
fn what_is_abandoned_is_reset() {
    let file = File::new("abandon");
    let region = file.open();
    let mutex = region.mutex("m").unwrap();
    assert!(mutex.reset().unwrap().is_none());
    mutex.lock().unwrap().abandon();
    assert!(matches!(mutex.lock(), Err(Error::Abandoned)));
    assert!(matches!(mutex.try_lock(), Err(Error::Abandoned)));
    assert!(region.describe("m").unwrap().unwrap().abandoned);
    let guard = mutex.reset().unwrap().unwrap();
    assert!(guard.owner_died());
    assert!(matches!(mutex.reset(), Err(Error::Deadlock)));
    drop(guard);
    assert!(!mutex.lock().unwrap().owner_died());

    let table = region.rwtable("t").unwrap();
    assert!(table.reset().unwrap().is_none());
    table.write().unwrap().abandon();
    assert!(matches!(table.read(), Err(Error::Abandoned)));
    assert!(matches!(table.try_write(), Err(Error::Abandoned)));
    assert!(table.reset().unwrap().unwrap().owner_died());
    assert!(!table.write().unwrap().owner_died());
}

#[test]
fn readers_read_together_and_a_writer_is_alone() {
    let file = File::new("rwtable");
    let region = file.open();
    let table = region.rwtable("t").unwrap();
    let read = table.read().unwrap();
    let again = table.read().unwrap();
    assert!(matches!(table.write(), Err(Error::Deadlock)));
    elsewhere(|| {
        assert!(table.try_read().unwrap().is_some());
        assert!(table.try_write().unwrap().is_none());
        assert!(table.try_write_for(SHORT).unwrap().is_none());
        assert!(table.try_write_until(Instant::now() + SHORT).unwrap().is_none());
    });
    drop(read);
    assert!(elsewhere(|| table.try_write().unwrap().is_none()));
    drop(again);
    let write = table.try_write_for(LONG).unwrap().unwrap();
    elsewhere(|| {
        assert!(table.try_read().unwrap().is_none());
        assert!(table.try_read_for(SHORT).unwrap().is_none());
        assert!(table.try_read_until(Instant::now() + SHORT).unwrap().is_none());
    });
    drop(write);
    let mut reads: Vec<_> = (0..252).map(|_| table.read().unwrap()).collect();
    assert!(matches!(table.read(), Err(Error::TooManyReads)));
    reads.clear();
    assert!(elsewhere(|| table.try_write().unwrap().is_some()));
}

#[test]
fn permits_have_numbers() {
    let file = File::new("permits");
    let region = file.open();
    let permits = region.permits("p", 2).unwrap();
    let (one, other) = (permits.acquire().unwrap(), permits.try_acquire().unwrap().unwrap());
    assert_eq!(one.number() + other.number(), 1);
    assert!(permits.try_acquire().unwrap().is_none());
    assert!(permits.acquire_for(SHORT).unwrap().is_none());
    assert_eq!(permits.available(), 0);
    assert_eq!(region.describe("p").unwrap().unwrap().permits_held, 2);
    let number = other.number();
    drop(other);
    assert_eq!(permits.acquire().unwrap().number(), number);
    assert_eq!(permits.available(), 1);
}

#[test]
fn a_once_is_called_until_it_succeeds() {
    let file = File::new("once");
    let region = file.open();
    let once = region.once("o").unwrap();
    let fails = catch_unwind(AssertUnwindSafe(|| once.call_once(|| panic!("on purpose"))));
    assert!(fails.is_err() && !once.is_completed());
    let mut calls = 0;
    once.call_once(|| {
        calls += 1;
        assert!(matches!(once.call_once(|| ()), Err(Error::Deadlock)));
    })
    .unwrap();
    once.call_once(|| calls += 1).unwrap();
    assert!(once.is_completed() && calls == 1);
}

#[test]
fn bytes_are_what_words_are() {
    let file = File::new("bytes");
    let region = file.open();
    let bytes = region.bytes("data", 16).unwrap();
    assert_eq!((bytes.as_ptr() as *mut u8 as usize % 64, bytes.len()), (0, 16));
    let words = region.words("data", 4).unwrap();
    words[1].store(0x0101_0101, Relaxed);
    // SAFETY: nothing else has these bytes meanwhile.
    assert_eq!(unsafe { bytes.as_ref() }[3..6], [0, 1, 1]);
    assert!(matches!(region.words("data", 5), Err(Error::Mismatch)));
    assert!(matches!(region.words("more", usize::MAX), Err(Error::Full)));
    assert!(matches!(region.bytes("more", 1 << 30), Err(Error::Full)));
    assert!(
        matches!(region.bytes("more", 0), Err(Error::Os(e)) if e.kind() == ErrorKind::InvalidInput)
    );
}

#[test]
fn names_are_listed_and_removed() {
    let file = File::new("names");
    let region = file.open();
    assert!(region.list().unwrap().is_empty());
    let mutex = region.mutex("a").unwrap();
    region.rwtable("b").unwrap();
    region.once("c").unwrap();
    region.permits("d", 3).unwrap();
    assert!(region.event("e", Event::auto()).unwrap().is_auto());
    assert_eq!(region.semaphore("f", Semaphore::new(3)).unwrap().available(), 3);
    region.condvar("g").unwrap();
    region.words("h", 2).unwrap();
    let mut list = region.list().unwrap();
    list.sort_by(|a, b| a.name.cmp(&b.name));
    let kinds: Vec<_> = list.iter().map(|info| (info.name.as_str(), info.kind)).collect();
    let expected = [
        ("a", Kind::Mutex),
        ("b", Kind::RwTable),
        ("c", Kind::Once),
        ("d", Kind::Permits),
        ("e", Kind::Event),
        ("f", Kind::Semaphore),
        ("g", Kind::Condvar),
        ("h", Kind::Bytes),
    ];
    assert_eq!(kinds, expected);
    let figures = |info: &Info| (info.size, info.permits, info.waiters, info.acquisitions);
    assert_eq!([figures(&list[3]), figures(&list[7])], [(0, 3, 0, 0), (8, 0, 0, 0)]);
    // What exists keeps its value.
    assert_eq!(region.semaphore("f", Semaphore::new(1)).unwrap().available(), 3);

    let guard = mutex.lock().unwrap();
    // SAFETY: it is a mutex.
    let remove = || unsafe { region.remove("a") };
    assert!(matches!(remove(), Err(Error::Busy)));
    drop(guard);
    remove().unwrap();
    assert!(matches!(remove(), Err(Error::Os(e)) if e.kind() == ErrorKind::NotFound));
    assert!(matches!(mutex.lock(), Err(Error::Removed)));
    assert!(region.describe("a").unwrap().is_none());
}

#[test]
fn what_is_wrong_with_a_name() {
    let file = File::new("wrong");
    let region = file.open();
    region.mutex("m").unwrap();
    region.permits("p", 2).unwrap();
    assert!(matches!(region.rwtable("m"), Err(Error::Mismatch)));
    assert!(matches!(region.event("m", Event::manual()), Err(Error::Mismatch)));
    assert!(matches!(region.permits("p", 3), Err(Error::Mismatch)));
    for wrong in ["", "a\0b"] {
        let error = region.mutex(wrong).unwrap_err();
        assert!(matches!(error, Error::Os(e) if e.kind() == ErrorKind::InvalidInput), "{wrong:?}");
    }
    assert!(matches!(region.mutex(&"x".repeat(56)), Err(Error::Os(_))));
    assert!(matches!(region.permits("q", 253), Err(Error::Os(_))));
    assert!(matches!(region.name_thread(&"x".repeat(32)), Err(Error::Os(_))));
    region.mutex(&"x".repeat(55)).unwrap();

    let small = File::new("small");
    let region = Region::options().size(332_032).open(&small.0).unwrap();
    let full = (0..10_000).find_map(|i| region.mutex(&i.to_string()).err());
    assert!(matches!(full, Some(Error::Full)), "{full:?}");
}

#[test]
fn how_a_region_is_opened() {
    let file = File::new("open");
    let path = &file.0;
    let os = |result: Result<Region, Error>| match result {
        Err(Error::Os(error)) => error.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(os(Region::options().create(false).open(path)), ErrorKind::NotFound);
    assert_eq!(
        os(Region::options().create(false).exclusive(true).open(path)),
        ErrorKind::InvalidInput
    );
    assert_eq!(os(Region::options().size(1).open(path)), ErrorKind::InvalidInput);
    assert_eq!(os(Region::open("a\0b")), ErrorKind::InvalidInput);
    let region = Region::options().exclusive(true).mode(0o640).size(1 << 20).open(path).unwrap();
    let metadata = std::fs::metadata(path).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
    assert_eq!((metadata.len(), mode & 0o737), (1 << 20, 0o600));
    assert_eq!(os(Region::options().exclusive(true).open(path)), ErrorKind::AlreadyExists);
    Region::options().create(false).any_owner(true).open(path).unwrap();

    let opened = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let same = Region::options().open_fd(&opened).unwrap();
    drop(opened);
    let _guard = region.mutex("m").unwrap().lock().unwrap();
    assert!(same.mutex("m").unwrap().is_locked());

    let other = File::new("none");
    std::fs::write(&other.0, vec![1; 400_000]).unwrap();
    let error = Region::open(&other.0).unwrap_err();
    assert!(matches!(error, Error::Damaged));
    assert_eq!(error.to_string(), "the file is no region, or a damaged one");
}

#[test]
fn threads_share_a_region_and_its_locks() {
    fn crosses<T: Send + Sync>(_: &T) {}
    let file = File::new("threads");
    let region = file.open();
    let mutex = region.mutex("m").unwrap();
    crosses(&region);
    crosses(&mutex);
    let total = &region.words("total", 1).unwrap()[0];
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    let _guard: RegionMutexGuard = mutex.lock().unwrap();
                    total.store(total.load(Relaxed) + 1, Relaxed);
                }
            });
        }
    });
    assert_eq!(total.load(Relaxed), 20_000);
}

extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

#[test]
fn a_forked_child_holds_nothing() {
    let file = File::new("fork");
    let region = file.open();
    let mutex = region.mutex("m").unwrap();
    let (guard, write) = (mutex.lock().unwrap(), region.rwtable("t").unwrap().write().unwrap());
    let permit = region.permits("p", 1).unwrap().acquire().unwrap();
    // SAFETY: the child calls nothing that another thread of its parent may have locked, and ends
    // without a return.
    let child = unsafe { fork() };
    if child == 0 {
        drop((guard, write, permit));
        let is_held = mutex.try_lock().map_or(false, |taken| taken.is_none());
        drop(region);
        // SAFETY: as above.
        unsafe { _exit(if is_held { 0 } else { 1 }) }
    }
    let mut status = -1;
    // SAFETY: `status` is a place for the result.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(elsewhere(|| mutex.try_lock().unwrap().is_none()));
    assert!(elsewhere(|| region.rwtable("t").unwrap().try_read().unwrap().is_none()));
    assert_eq!(region.permits("p", 1).unwrap().available(), 0);
    drop((guard, write, permit));
    assert!(!mutex.lock().unwrap().owner_died());
}
