//! The forms for tasks, by an executor of a few lines: it polls a task when its waker says so.
#![cfg(target_os = "linux")]
use lockword::task::Wait;
use lockword::*;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

struct Flag {
    is_woken: AtomicBool,
    wakes: AtomicUsize,
    thread: thread::Thread,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        self.is_woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

fn flag() -> Arc<Flag> {
    Arc::new(Flag {
        is_woken: AtomicBool::new(true),
        wakes: AtomicUsize::new(0),
        thread: thread::current(),
    })
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Polls each task when it has been woken, until all have ended.
fn run(tasks: Vec<Task>) {
    let mut tasks: Vec<_> = tasks.into_iter().map(|task| (task, flag())).collect();
    while !tasks.is_empty() {
        let mut has_polled = false;
        tasks.retain_mut(|(task, flag)| {
            if !flag.is_woken.swap(false, Ordering::SeqCst) {
                return true;
            }
            has_polled = true;
            let waker = Waker::from(flag.clone());
            task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
        });
        if !has_polled {
            thread::park();
        }
    }
}

fn poll<T: task::Target>(wait: &mut Wait<T>, flag: &Arc<Flag>) -> Poll<T::Output> {
    Pin::new(wait).poll(&mut Context::from_waker(&Waker::from(flag.clone())))
}

/// Lets the other tasks have a turn.
struct Turn(bool);

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

fn turn() -> Turn {
    Turn(false)
}

#[test]
fn tasks_and_threads_share_a_mutex() {
    const EACH: u32 = 2000;
    let count = Arc::new(Mutex::new(0));
    let tasks = |count: &Arc<Mutex<u32>>| {
        let tasks = (0..3).map(|_| {
            let count = count.clone();
            Box::pin(async move {
                for i in 0..EACH {
                    let mut guard = count.lock_async().await;
                    let seen = *guard;
                    if i % 64 == 0 {
                        turn().await; // with the mutex
                    }
                    *guard = seen + 1;
                    drop(guard);
                    turn().await;
                }
            }) as Task
        });
        tasks.collect()
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| run(tasks(&count)));
        }
        for _ in 0..EACH {
            *count.lock() += 1;
        }
    });
    assert_eq!(*count.lock(), 7 * EACH);
}

#[test]
fn tasks_read_together_and_write_alone() {
    let lock = Rc::new(RwLock::new(0));
    let readers = Rc::new(Cell::new(0));
    let most = Rc::new(Cell::new(0));
    let tasks = (0..6).map(|n| {
        let (lock, readers, most) = (lock.clone(), readers.clone(), most.clone());
        Box::pin(async move {
            for _ in 0..100 {
                if n == 0 {
                    let mut value = lock.write_async().await;
                    assert_eq!(readers.get(), 0);
                    turn().await;
                    assert_eq!(readers.get(), 0);
                    *value += 1;
                } else {
                    let value = lock.read_async().await;
                    readers.set(readers.get() + 1);
                    most.set(most.get().max(readers.get()));
                    let seen = *value;
                    turn().await;
                    assert_eq!(*value, seen);
                    readers.set(readers.get() - 1);
                }
                turn().await;
            }
        }) as Task
    });
    run(tasks.collect());
    assert_eq!(*lock.read(), 100);
    assert!(most.get() > 1);
}

#[test]
fn a_static_mutex_needs_no_arc() {
    static COUNT: Mutex<u32> = Mutex::new(0);
    run(vec![Box::pin(async { *COUNT.lock_async().await += 1 })]);
    assert_eq!(*COUNT.lock(), 1);
}

/// Polls a wait until it has waited, and is not ready, and returns its flag.
fn begin<T: task::Target>(wait: &mut Wait<T>) -> Arc<Flag> {
    let flag = flag();
    assert!(poll(wait, &flag).is_pending());
    flag
}

fn await_wake(flag: &Flag) {
    while flag.wakes.load(Ordering::SeqCst) == 0 {
        thread::park_timeout(Duration::from_millis(100));
    }
}

#[test]
fn a_dropped_wait_leaves_the_mutex_to_others() {
    let mutex = Arc::new(Mutex::new(()));
    let held = mutex.lock();
    let mut first = mutex.lock_async();
    let mut second = mutex.lock_async();
    begin(&mut first);
    let flag = begin(&mut second);
    drop(first);
    drop(held);
    await_wake(&flag);
    let guard = match poll(&mut second, &flag) {
        Poll::Ready(guard) => guard,
        Poll::Pending => panic!("the mutex is free"),
    };
    assert!(mutex.is_locked());
    drop(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn a_wait_that_is_dropped_after_it_was_served_unlocks_once() {
    let mutex = Arc::new(Mutex::new(()));
    let held = mutex.lock();
    let mut wait = mutex.lock_async();
    let flag = begin(&mut wait);
    drop(held);
    await_wake(&flag);
    // Another task runs the loop, and so the mutex is given to the wait before it is polled again.
    let semaphore = Arc::new(Semaphore::new(0));
    let mut other = semaphore.acquire_async(1);
    begin(&mut other);
    assert!(mutex.is_locked());
    drop(wait);
    assert!(!mutex.is_locked());
    drop(other);
    drop(mutex.lock());
}

#[test]
fn dropped_waits_lose_no_permits() {
    let semaphore = Arc::new(Semaphore::new(0));
    let mut waits: Vec<_> = (0..100).map(|_| semaphore.acquire_async(1)).collect();
    let flags: Vec<_> = waits.iter_mut().map(begin).collect();
    thread::scope(|scope| {
        scope.spawn(|| (0..50).for_each(|_| semaphore.release(1)));
        let mut got = 0;
        for (i, (mut wait, flag)) in waits.into_iter().zip(flags).enumerate() {
            if i % 3 != 0 {
                continue; // drops it, at any moment
            }
            if let Poll::Ready(permits) = poll(&mut wait, &flag) {
                permits.forget();
                got += 1;
            }
        }
        while got < 50 {
            semaphore.acquire(1).forget();
            got += 1;
        }
    });
    assert_eq!(semaphore.available(), 0);
}

#[test]
fn a_dropped_wait_passes_an_automatic_event_on() {
    let event = Arc::new(Event::auto());
    let mut wait = event.wait_async();
    let flag = begin(&mut wait);
    event.set();
    await_wake(&flag);
    let semaphore = Arc::new(Semaphore::new(0));
    let mut other = semaphore.acquire_async(1);
    begin(&mut other); // runs the loop: the event is reset for the wait
    assert!(!event.is_set());
    drop(wait);
    assert!(event.is_set());
    run(vec![Box::pin(async move { event.wait_async().await })]);
}

#[test]
fn permits_come_from_other_threads() {
    let semaphore = Arc::new(Semaphore::new(0));
    let tasks = (0..10).map(|n| {
        let semaphore = semaphore.clone();
        Box::pin(async move {
            let permits = semaphore.acquire_async(n % 3).await;
            thread::spawn(move || drop(permits)).join().unwrap();
        }) as Task
    });
    thread::scope(|scope| {
        scope.spawn(|| (0..3).for_each(|_| semaphore.release(1)));
        run(tasks.collect());
    });
    assert_eq!(semaphore.available(), 3);
}

#[test]
fn a_leaked_wait_harms_nobody() {
    let mutex = Arc::new(Mutex::new(0));
    thread::spawn({
        let mutex = mutex.clone();
        move || {
            let held = mutex.lock();
            let mut wait = mutex.lock_async();
            begin(&mut wait);
            std::mem::forget(wait);
            drop(held);
        }
    })
    .join()
    .unwrap();
    // The thread has ended, and its loop with it.
    assert!(mutex.try_lock_for(Duration::from_secs(10)).is_some());
    run(vec![Box::pin(async move { *mutex.lock_async().await += 1 })]);
}

/// A future that counts its polls.
struct Counted<F> {
    future: F,
    polls: Rc<Cell<usize>>,
}

impl<F: Future<Output = ()> + Unpin> Future for Counted<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.polls.set(self.polls.get() + 1);
        Pin::new(&mut self.future).poll(context)
    }
}

#[test]
fn a_thousand_tasks_are_polled_a_few_times_each() {
    const N: usize = 1000;
    let polls = Rc::new(Cell::new(0));
    let counted = |task: Task| Box::pin(Counted { future: task, polls: polls.clone() }) as Task;

    // A thread serves one by one.
    let semaphore = Arc::new(Semaphore::new(0));
    let tasks = (0..N).map(|_| {
        let semaphore = semaphore.clone();
        counted(Box::pin(async move { semaphore.acquire_async(1).await.forget() }))
    });
    let tasks = tasks.collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..N {
                semaphore.release(1);
                thread::sleep(Duration::from_micros(20));
            }
        });
        run(tasks);
    });
    let served = polls.replace(0);

    // They serve each other.
    let mutex = Rc::new(Mutex::new(()));
    let tasks = (0..N).map(|_| {
        let mutex = mutex.clone();
        counted(Box::pin(async move {
            let _guard = mutex.lock_async().await;
            turn().await;
        }))
    });
    run(tasks.collect());
    println!("polls of {} tasks: {} and {}", N, served, polls.get());
    assert!(served < 20 * N && polls.get() < 20 * N);
}

#[test]
fn tasks_that_are_never_polled_hold_up_nobody() {
    let event = Arc::new(Event::manual());
    let mut waits: Vec<_> = (0..100).map(|_| event.wait_async()).collect();
    let flags: Vec<_> = waits.iter_mut().map(begin).collect();
    event.set();
    // None is polled, whichever is woken: any but the last one may be a task that never will be.
    flags.iter().for_each(|flag| await_wake(flag));
    let (last, flag) = (waits.last_mut().unwrap(), flags.last().unwrap());
    assert!(poll(last, flag).is_ready());
}

#[test]
fn who_is_woken_and_gives_up_leaves_no_other_asleep() {
    let semaphore = Arc::new(Semaphore::new(0));
    let mut waits: Vec<_> = (0..20).map(|_| semaphore.acquire_async(1)).collect();
    let mut flags: Vec<_> = waits.iter_mut().map(begin).collect();
    semaphore.release(1);
    while !waits.is_empty() {
        let is_woken = |flag: &Arc<Flag>| flag.wakes.load(Ordering::SeqCst) != 0;
        match flags.iter().position(is_woken) {
            Some(i) => drop((waits.swap_remove(i), flags.swap_remove(i))),
            None => thread::park_timeout(Duration::from_millis(1)),
        }
    }
    assert_eq!(semaphore.available(), 1);
}

#[test]
fn a_waker_that_panics_keeps_no_other_task_asleep() {
    struct Broken;
    impl Wake for Broken {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics, for the test");
        }
    }

    let event = Arc::new(Event::manual());
    let mut broken = event.wait_async();
    let waker = Waker::from(Arc::new(Broken));
    assert!(Pin::new(&mut broken).poll(&mut Context::from_waker(&waker)).is_pending());
    let mut wait = event.wait_async();
    let flag = begin(&mut wait);
    event.set();
    await_wake(&flag); // by the thread that wakes tasks
    drop(wait); // runs the loop, which wakes the other task once more
    event.reset();

    let mut later = event.wait_async();
    let flag = begin(&mut later);
    event.set();
    await_wake(&flag);
}

#[test]
#[should_panic(expected = "would wait for itself")]
fn a_thread_does_not_block_for_its_own_task() {
    let mutex = Rc::new(Mutex::new(()));
    run(vec![Box::pin(async move {
        let _guard = mutex.lock_async().await;
        drop(mutex.try_lock_for(Duration::from_secs(60))); // lock() would end the process
    })]);
}
