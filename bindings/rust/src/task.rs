//! Waits of tasks: futures over lockword/loop.h, for any executor.
//!
//! Each thread that waits has an lw_loop, made by its first wait. One more thread, the bell ringer,
//! polls the descriptors of all loops. When one is readable, it wakes one task that waits on that
//! loop. Once that task is polled, it runs the loop, which ends those requests whose turn it is and
//! wakes their tasks. All that wait would be too many: of n tasks that are served one by one, each
//! would be polled n times. But a task may not get to its future, and must not hold up the others:
//! until one has got there, more are woken each millisecond, twice as many as before.
//!
//! A request belongs to the thread that made it, and so does a lock that it gets. Therefore the
//! futures and the guards are not Send. A request also has a handle of what it waits for, and not a
//! borrow: a future that is leaked gives back its borrows, but leaves its request behind.
use crate::sys::looping::{self, Room};
use crate::sys::{c_int, c_void};
use crate::{sys, Event, Mutex, RwLock, Semaphore};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::ErrorKind;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Once};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// What the bell ringer knows of a loop.
#[derive(Default)]
struct Sleepers {
    /// Whom to wake. A waker's key is its request's address.
    wakers: BTreeMap<usize, Waker>,
    /// The key of the one that was woken last: the next one is another's turn.
    last: usize,
    /// Whether the bell ringer polls the descriptor. If not, a task has to run the loop.
    is_armed: bool,
}

impl Sleepers {
    /// Takes the next n wakers, or all.
    fn take(&mut self, n: usize) -> Vec<Waker> {
        let n = n.min(self.wakers.len());
        let mut taken = Vec::with_capacity(n);
        while taken.len() < n {
            let next =
                self.wakers.range(self.last + 1..).next().or_else(|| self.wakers.iter().next());
            self.last = *next.expect("there are n").0;
            taken.extend(self.wakers.remove(&self.last));
        }
        taken
    }
}

mod epoll {
    //! Linux's epoll; the standard library links the C library that has it.
    use crate::sys::c_int;

    #[cfg_attr(target_arch = "x86_64", repr(C, packed))]
    #[cfg_attr(not(target_arch = "x86_64"), repr(C))]
    #[derive(Clone, Copy)]
    pub(super) struct Event {
        pub(super) events: u32,
        pub(super) data: u64,
    }

    pub(super) const CLOEXEC: c_int = 0o2000000;
    pub(super) const IN: u32 = 1;
    pub(super) const ONESHOT: u32 = 1 << 30;
    pub(super) const ADD: c_int = 1;
    pub(super) const DEL: c_int = 2;
    pub(super) const MOD: c_int = 3;

    extern "C" {
        pub(super) fn epoll_create1(flags: c_int) -> c_int;
        pub(super) fn epoll_ctl(epoll: c_int, op: c_int, fd: c_int, event: *mut Event) -> c_int;
        pub(super) fn epoll_wait(epoll: c_int, events: *mut Event, n: c_int, ms: c_int) -> c_int;
    }
}

/// The bell ringer's descriptor, and the loops by their own. A loop's descriptor is closed only
/// after it has left this map.
struct Ringer {
    epoll: c_int,
    loops: BTreeMap<c_int, Arc<Mutex<Sleepers>>>,
}

static RINGER: Mutex<Option<Ringer>> = Mutex::new(None);
static BEGUN: Once = Once::new();

/// Wakes tasks. If a waker panics, which Rust reports, the others are woken nevertheless: they are
/// those of other tasks.
fn wake_all(wakers: impl Iterator<Item = Waker>) {
    for waker in wakers {
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    }
}

/// A loop that has something to do, which no task has heard yet.
struct Call {
    sleepers: Arc<Mutex<Sleepers>>,
    /// How many tasks to wake, and when.
    n: usize,
    at: Instant,
}

impl Call {
    /// Wakes tasks if it is time. Returns whether there may be more to do.
    fn go_on(&mut self, now: Instant) -> bool {
        if now < self.at {
            return true;
        }
        let mut sleepers = self.sleepers.lock();
        if sleepers.is_armed {
            return false; // a task has run the loop
        }
        let wakers = sleepers.take(self.n);
        let has_more = !sleepers.wakers.is_empty();
        // No lock is held below: a waker may do anything.
        drop(sleepers);
        wake_all(wakers.into_iter());
        self.n *= 2;
        self.at = now + PATIENCE;
        has_more
    }
}

/// How long a task has to get to its future before others are woken, too.
const PATIENCE: Duration = Duration::from_millis(1);

/// Wakes tasks, for ever.
fn ring(epoll: c_int) {
    let mut calls: Vec<Call> = Vec::new();
    loop {
        let ms = if calls.is_empty() { -1 } else { PATIENCE.as_millis() as c_int };
        let mut event = epoll::Event { events: 0, data: 0 };
        // SAFETY: `event` has room for one event.
        let n = unsafe { epoll::epoll_wait(epoll, &mut event, 1, ms) };
        if n < 0 {
            let error = std::io::Error::last_os_error();
            assert!(error.kind() == ErrorKind::Interrupted, "lockword: {}", error);
        }
        let now = Instant::now();
        if n == 1 {
            let fd = event.data as c_int;
            let found = RINGER.lock().as_ref().and_then(|ringer| ringer.loops.get(&fd).cloned());
            if let Some(sleepers) = found {
                sleepers.lock().is_armed = false;
                calls.retain(|call| !Arc::ptr_eq(&call.sleepers, &sleepers));
                calls.push(Call { sleepers, n: 1, at: now });
            }
        }
        calls.retain_mut(|call| call.go_on(now));
    }
}

/// A thread's loop.
struct Looper {
    /// In a box, which does not move: the library knows its address.
    room: Box<UnsafeCell<Room>>,
    fd: c_int,
    epoll: c_int,
    sleepers: Arc<Mutex<Sleepers>>,
    /// The tasks whose requests a run has ended.
    woken: RefCell<Vec<Waker>>,
}

thread_local! {
    static LOOPER: RefCell<Option<Rc<Looper>>> = const { RefCell::new(None) };
}

impl Looper {
    fn of_this_thread() -> Rc<Looper> {
        LOOPER.with(|looper| looper.borrow_mut().get_or_insert_with(Looper::new).clone())
    }

    fn new() -> Rc<Looper> {
        let room = Box::new(UnsafeCell::new(Room::EMPTY));
        // SAFETY: unused memory of at least a loop's size, which stays in place.
        let error = unsafe { looping::lw_loop_init(room.get()) };
        assert!(error == 0, "lockword: no loop for this thread: errno code {}", error);
        // SAFETY: the loop has been initialized.
        let fd = unsafe { looping::lw_loop_fd(room.get()) };
        BEGUN.call_once(|| {
            // SAFETY: takes a number only.
            let epoll = unsafe { epoll::epoll_create1(epoll::CLOEXEC) };
            assert!(epoll >= 0, "lockword: {}", std::io::Error::last_os_error());
            *RINGER.lock() = Some(Ringer { epoll, loops: BTreeMap::new() });
            let thread = std::thread::Builder::new().name("lockword".into());
            thread.spawn(move || ring(epoll)).expect("lockword: the thread that wakes tasks");
        });
        let sleepers = Arc::<Mutex<Sleepers>>::default();
        let epoll = {
            let mut ringer = RINGER.lock();
            let ringer = ringer.as_mut().expect("BEGUN has made it");
            ringer.loops.insert(fd, sleepers.clone());
            ringer.epoll
        };
        let looper = Looper { room, fd, epoll, sleepers, woken: RefCell::default() };
        looper.control(epoll::ADD, 0);
        Rc::new(looper)
    }

    fn control(&self, op: c_int, events: u32) {
        let mut event = epoll::Event { events, data: self.fd as u64 };
        // SAFETY: both descriptors are open; `event` is only read.
        let result = unsafe { epoll::epoll_ctl(self.epoll, op, self.fd, &mut event) };
        assert!(result == 0, "lockword: {}", std::io::Error::last_os_error());
    }

    /// Runs what is due, and wakes the tasks whose requests have ended.
    fn run(&self) {
        // SAFETY: the loop is this thread's, since a Looper is not Send. `done`, which this calls,
        // runs no code of the program's, so that this is never called from within itself.
        unsafe { looping::lw_loop_run(self.room.get()) };
        let woken = self.woken.take();
        wake_all(woken.into_iter());
    }

    /// Has the bell ringer wake a task, if any waits, when the loop has something to do; at once,
    /// if it has now. One wake-up disarms it. So whoever runs the loop does this afterwards: the
    /// others sleep.
    fn arm(&self) {
        let mut sleepers = self.sleepers.lock();
        if sleepers.wakers.is_empty() || std::mem::replace(&mut sleepers.is_armed, true) {
            return;
        }
        drop(sleepers);
        self.control(epoll::MOD, epoll::IN | epoll::ONESHOT);
    }
}

impl Drop for Looper {
    fn drop(&mut self) {
        // Before the descriptor is closed: its number may be another loop's at once.
        if let Some(ringer) = RINGER.lock().as_mut() {
            ringer.loops.remove(&self.fd);
        }
        self.control(epoll::DEL, 0);
        // SAFETY: the loop is this thread's. No request is left: each has this Looper.
        unsafe { looping::lw_loop_destroy(self.room.get()) };
    }
}

/// A request that has been made. It stays in its box until it has ended.
struct Request {
    room: UnsafeCell<Room>,
    looper: Rc<Looper>,
    result: Cell<Option<c_int>>,
    waker: RefCell<Option<Waker>>,
}

extern "C" fn done(_: *mut Room, result: c_int, context: *mut c_void) {
    // SAFETY: `context` is the Request that was made with this function; it lives until its result
    // is set, and only this thread uses it.
    let request = unsafe { &*(context as *const Request) };
    request.result.set(Some(result));
    if let Some(waker) = request.waker.take() {
        request.looper.woken.borrow_mut().push(waker);
    }
}

impl Request {
    fn begin(begin: &dyn Fn(&Start) -> c_int) -> Box<Request> {
        let request = Box::new(Request {
            room: UnsafeCell::new(Room::EMPTY),
            looper: Looper::of_this_thread(),
            result: Cell::new(None),
            waker: RefCell::new(None),
        });
        let error = begin(&Start {
            request: request.room.get(),
            r#loop: request.looper.room.get(),
            context: &*request as *const Request as *mut c_void,
        });
        if error != 0 {
            request.result.set(Some(error)); // `done` will not be called
        }
        request
    }

    fn key(&self) -> usize {
        self as *const Request as usize
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // Dropped without the lock: what the end of a waker does is not known.
        let waker = self.looper.sleepers.lock().wakers.remove(&self.key());
        drop(waker);
    }
}

/// Where a request is made: the arguments of an `_async` function of loop.h.
pub struct Start {
    request: *mut Room,
    r#loop: *mut Room,
    context: *mut c_void,
}

/// What a [`Wait`] waits for: a primitive, by a handle that keeps it in place.
pub trait Target: sealed::Sealed {
    /// What the future returns.
    type Output;
    #[doc(hidden)]
    fn try_now(&self) -> bool;
    #[doc(hidden)]
    fn begin(&self, start: &Start) -> c_int;
    #[doc(hidden)]
    fn output(&self) -> Self::Output;
    /// Gives to the next waiter what a wait has got whose future is dropped.
    #[doc(hidden)]
    fn give_back(&self) {
        drop(self.output());
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A handle that keeps a primitive at its address: `Arc`, `Rc`, or a reference to a static one.
pub trait Handle: Deref + Clone + sealed::Sealed {}
impl<L: ?Sized> sealed::Sealed for &'static L {}
impl<L: ?Sized> Handle for &'static L {}
impl<L: ?Sized> sealed::Sealed for Arc<L> {}
impl<L: ?Sized> Handle for Arc<L> {}
impl<L: ?Sized> sealed::Sealed for Rc<L> {}
impl<L: ?Sized> Handle for Rc<L> {}

/// Where the methods for tasks are: on `Arc<L>`, on `Rc<L>`, and on an `L` that is static.
pub trait Share<L: ?Sized> {
    /// What the futures and the guards keep.
    type Handle: Handle<Target = L>;
    #[doc(hidden)]
    fn share(self) -> Self::Handle;
}

impl<L: ?Sized> Share<L> for &'static L {
    type Handle = &'static L;
    fn share(self) -> &'static L {
        self
    }
}

impl<L: ?Sized> Share<L> for &Arc<L> {
    type Handle = Arc<L>;
    fn share(self) -> Arc<L> {
        self.clone()
    }
}

impl<L: ?Sized> Share<L> for &Rc<L> {
    type Handle = Rc<L>;
    fn share(self) -> Rc<L> {
        self.clone()
    }
}

/// A future that waits without blocking its thread. To drop it is to give up: what it gets at that
/// moment goes to the next waiter.
///
/// It does nothing before it is polled. It has to be polled and dropped on one thread.
#[must_use = "futures do nothing unless polled"]
pub struct Wait<T: Target> {
    target: T,
    request: Option<Box<Request>>,
    has_ended: bool,
    not_send: PhantomData<*mut ()>,
}

impl<T: Target> Wait<T> {
    fn new(target: T) -> Self {
        Wait { target, request: None, has_ended: false, not_send: PhantomData }
    }
}

// The request is in a box: the future itself may move.
impl<T: Target> Unpin for Wait<T> {}

impl<T: Target> Future for Wait<T> {
    type Output = T::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T::Output> {
        let this = &mut *self;
        assert!(!this.has_ended, "lockword: a future was polled after it had returned");
        if this.request.is_none() {
            if this.target.try_now() {
                this.has_ended = true;
                return Poll::Ready(this.target.output());
            }
            this.request = Some(Request::begin(&|start| this.target.begin(start)));
        }
        let request = this.request.as_ref().expect("it was made above");
        request.waker.replace(None); // this poll need not wake its own task
        let looper = request.looper.clone();
        looper.run();
        if let Some(result) = request.result.get() {
            this.request = None;
            this.has_ended = true;
            looper.arm();
            sys::must(result, "a task's wait");
            return Poll::Ready(this.target.output());
        }
        // By two ways: another task of this thread may end the request, or the bell ringer may call
        // for a run. The latter is armed last: what is due already wakes this task again.
        request.waker.replace(Some(context.waker().clone()));
        let waker = context.waker().clone();
        // Dropped without the lock, as in `drop` of the request.
        let earlier = looper.sleepers.lock().wakers.insert(request.key(), waker);
        drop(earlier);
        looper.arm();
        Poll::Pending
    }
}

impl<T: Target> Drop for Wait<T> {
    fn drop(&mut self) {
        let request = match self.request.take() {
            Some(request) => request,
            None => return,
        };
        request.waker.replace(None);
        if request.result.get().is_none() {
            // SAFETY: the request is this thread's and has not ended.
            unsafe { looping::lw_request_cancel(request.room.get()) };
        }
        while request.result.get().is_none() {
            request.looper.run(); // ends some hundreds at once
        }
        let (looper, result) = (request.looper.clone(), request.result.get());
        drop(request);
        looper.arm();
        if result == Some(0) {
            self.target.give_back();
        }
    }
}

/// Calls an `_async` function of loop.h for this target.
macro_rules! begin {
    ($function:ident($($argument:expr),*), $start:ident) => {
        // SAFETY: the target's handle keeps the words in place. The future ends the request before
        // it drops that handle; if the future is leaked, so are its handle and its request.
        unsafe {
            looping::$function(
                $($argument,)* $start.request, $start.r#loop, sys::FOREVER, done, $start.context,
            )
        }
    };
}

/// Defines the target of a lock, and the guard that its future returns.
macro_rules! lock {
    ($lock:ident, $target:ident, $guard:ident, $doc:literal, $try_now:ident, $begin:ident,
     $unlock:ident) => {
        #[doc(hidden)]
        pub struct $target<H>(H);
        impl<H> sealed::Sealed for $target<H> {}

        impl<H: Handle<Target = $lock<T>>, T: ?Sized> Target for $target<H> {
            type Output = $guard<H, T>;

            fn try_now(&self) -> bool {
                // SAFETY: the words are the lock's. `raw` is not used to unlock. EDEADLK: another
                // task of this thread has it.
                unsafe { sys::$try_now(self.0.raw().as_ptr(), sys::NOW) == 0 }
            }

            fn begin(&self, start: &Start) -> c_int {
                // SAFETY: as above.
                begin!($begin(self.0.raw().as_ptr()), start)
            }

            fn output(&self) -> $guard<H, T> {
                $guard { lock: self.0.clone(), not_send: PhantomData }
            }
        }

        #[doc = $doc]
        #[must_use = "the lock is free again at once"]
        pub struct $guard<H: Handle<Target = $lock<T>>, T: ?Sized> {
            lock: H,
            not_send: PhantomData<*mut T>,
        }

        impl<H: Handle<Target = $lock<T>>, T: ?Sized> Deref for $guard<H, T> {
            type Target = T;
            fn deref(&self) -> &T {
                // SAFETY: the thread holds the lock, for the task of this guard.
                unsafe { &*self.lock.data_ptr() }
            }
        }

        impl<H: Handle<Target = $lock<T>>, T: ?Sized> Drop for $guard<H, T> {
            fn drop(&mut self) {
                // SAFETY: the thread holds the lock, for the task of this guard, which ends.
                unsafe { self.lock.$unlock() }
            }
        }
    };
}

/// Adds what only an exclusive guard may do.
macro_rules! exclusive {
    ($lock:ident, $guard:ident) => {
        impl<H: Handle<Target = $lock<T>>, T: ?Sized> DerefMut for $guard<H, T> {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: no other task and no other thread has the lock.
                unsafe { &mut *self.lock.data_ptr() }
            }
        }
    };
}

lock!(
    Mutex,
    Lock,
    AsyncMutexGuard,
    "A task's mutex. Unlocks when it is dropped; stays on its thread.",
    lw_mutex_lock_until,
    lw_mutex_lock_async,
    force_unlock
);
exclusive!(Mutex, AsyncMutexGuard);
lock!(
    RwLock,
    Read,
    AsyncReadGuard,
    "A task's read. Ends when it is dropped; stays on its thread.",
    lw_rwlock_rdlock_until,
    lw_rwlock_rdlock_async,
    force_unlock_read
);
lock!(
    RwLock,
    Write,
    AsyncWriteGuard,
    "A task's write. Ends when it is dropped; stays on its thread.",
    lw_rwlock_wrlock_until,
    lw_rwlock_wrlock_async,
    force_unlock_write
);
exclusive!(RwLock, AsyncWriteGuard);

/// [`Mutex`] for tasks.
pub trait AsyncMutex<T: ?Sized>: Share<Mutex<T>> + Sized {
    /// Waits for the mutex without blocking the thread.
    fn lock_async(self) -> Wait<Lock<Self::Handle>> {
        Wait::new(Lock(self.share()))
    }
}
impl<S: Share<Mutex<T>>, T: ?Sized> AsyncMutex<T> for S {}

/// [`RwLock`] for tasks.
pub trait AsyncRwLock<T: ?Sized>: Share<RwLock<T>> + Sized {
    /// Waits, without blocking the thread, until the task may read.
    fn read_async(self) -> Wait<Read<Self::Handle>> {
        Wait::new(Read(self.share()))
    }

    /// Waits, without blocking the thread, until the task may write.
    fn write_async(self) -> Wait<Write<Self::Handle>> {
        Wait::new(Write(self.share()))
    }
}
impl<S: Share<RwLock<T>>, T: ?Sized> AsyncRwLock<T> for S {}

#[doc(hidden)]
pub struct Acquire<H>(H, u32);
impl<H> sealed::Sealed for Acquire<H> {}

impl<H: Handle<Target = Semaphore>> Target for Acquire<H> {
    type Output = AsyncPermits<H>;

    fn try_now(&self) -> bool {
        // SAFETY: the words are the semaphore's.
        unsafe { sys::lw_sem_acquire_until(self.0.as_ptr(), self.1, sys::NOW) == 0 }
    }

    fn begin(&self, start: &Start) -> c_int {
        begin!(lw_sem_acquire_async(self.0.as_ptr(), self.1), start)
    }

    fn output(&self) -> AsyncPermits<H> {
        AsyncPermits { semaphore: self.0.clone(), n: self.1 }
    }
}

/// Permits that a task has got. The semaphore gets them back when this is dropped, on any thread.
#[must_use = "the permits go back at once"]
pub struct AsyncPermits<H: Handle<Target = Semaphore>> {
    semaphore: H,
    n: u32,
}

impl<H: Handle<Target = Semaphore>> AsyncPermits<H> {
    /// Keeps the permits for good, or until [`Semaphore::release`].
    pub fn forget(mut self) {
        self.n = 0;
    }
}

impl<H: Handle<Target = Semaphore>> Drop for AsyncPermits<H> {
    fn drop(&mut self) {
        if self.n != 0 {
            self.semaphore.release(self.n);
        }
    }
}

/// [`Semaphore`] for tasks.
pub trait AsyncSemaphore: Share<Semaphore> + Sized {
    /// Waits for n permits without blocking the thread. Panics if n is more than
    /// [`Semaphore::MAX`].
    #[track_caller]
    fn acquire_async(self, n: u32) -> Wait<Acquire<Self::Handle>> {
        Semaphore::check(n);
        Wait::new(Acquire(self.share(), n))
    }
}
impl<S: Share<Semaphore>> AsyncSemaphore for S {}

#[doc(hidden)]
pub struct Set<H>(H);
impl<H> sealed::Sealed for Set<H> {}

impl<H: Handle<Target = Event>> Target for Set<H> {
    type Output = ();

    fn try_now(&self) -> bool {
        // SAFETY: the words are the event's.
        unsafe { sys::lw_event_wait_until(self.0.as_ptr(), sys::NOW) == 0 }
    }

    fn begin(&self, start: &Start) -> c_int {
        begin!(lw_event_wait_async(self.0.as_ptr()), start)
    }

    fn output(&self) {}

    fn give_back(&self) {
        if self.0.is_auto() {
            self.0.set(); // this wait has reset it
        }
    }
}

/// [`Event`] for tasks.
pub trait AsyncEvent: Share<Event> + Sized {
    /// Waits for the event without blocking the thread.
    fn wait_async(self) -> Wait<Set<Self::Handle>> {
        Wait::new(Set(self.share()))
    }
}
impl<S: Share<Event>> AsyncEvent for S {}
