//! lockword/region.h: named locks that processes share, and that outlive any holder. On Linux.
//!
//! A [`Region`] is a file. Every process that opens it finds the same names, also one in C, Node,
//! Python or the shell: mutexes, other primitives, and bytes for the data.
//!
//! # Death
//!
//! If a thread ends while it holds a [`RegionMutex`], or its process is killed, the next one to
//! take the mutex has it, and [`owner_died`](RegionMutexGuard::owner_died) returns true: the data
//! may be half written. To drop the guard declares them sound; but if the thread panics, it does
//! not, and the next holder is told, too. A holder that cannot mend them calls
//! [`abandon`](RegionMutexGuard::abandon). The same holds for [`RwTable`]. A [`RegionPermit`] whose
//! owner dies is free again, and a [`RegionOnce`] is run by the next caller. A death corrects no
//! [`Event`], [`Semaphore`] or [`Condvar`]; but it wakes those that wait for them.
//!
//! # Data
//!
//! Another process may write to the file at any time. So no lock gives a `&mut T`. There are
//! atomics ([`Region::words`]), and a raw pointer ([`Region::bytes`]).
//!
//! # Lifetimes
//!
//! What a region gives borrows the region, which is closed when it is dropped. For a `'static`
//! mutex keep the region in a static `OnceLock`, or leak a `Box`. A guard that is forgotten keeps
//! its lock until the thread ends, or the region is closed: then its holder counts as dead.
//!
//! After `fork` the child has the region open, and holds nothing. A guard that it has from its
//! parent frees nothing when it is dropped.
use crate::sys::{self, c_int, region as c};
use crate::{time, Condvar, Event, Semaphore};
use std::ffi::CString;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::io::{AsFd, AsRawFd};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

/// Why a call has failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A holder has abandoned the lock: nobody gets it before a `reset`.
    Abandoned,
    /// The lock's name has been removed.
    Removed,
    /// The thread would wait for itself.
    Deadlock,
    /// The thread reads already, and all places for readers are taken.
    TooManyReads,
    /// The region has no room for one more process (1023 at a time) or thread (4096), the thread
    /// that watches other processes cannot be started, or memory is short.
    Crowded,
    /// The name is that of something else, of another number of bytes, or of other permits.
    Mismatch,
    /// The region has no room for one more name, or for so many bytes.
    Full,
    /// A thread holds what has this name, or waits for it.
    Busy,
    /// The file is no region, or a damaged one.
    Damaged,
    /// The file is a region of another version of lockword.
    OtherVersion,
    /// What else the system says.
    Os(io::Error),
}

impl Error {
    fn of(code: c_int) -> Self {
        match code {
            c::ENOTRECOVERABLE => Error::Abandoned,
            c::EIDRM => Error::Removed,
            sys::EDEADLK => Error::Deadlock,
            c::EOVERFLOW => Error::TooManyReads,
            c::EAGAIN => Error::Crowded,
            c::EBUSY => Error::Busy,
            c::EBADMSG => Error::Damaged,
            c::EPROTO => Error::OtherVersion,
            code => Error::Os(io::Error::from_raw_os_error(code)),
        }
    }

    fn check(code: c_int) -> Result<(), Self> {
        match code {
            0 => Ok(()),
            code => Err(Error::of(code)),
        }
    }

    /// What a function returns that finds a name, or makes it.
    fn check_name(code: c_int) -> Result<(), Self> {
        match code {
            c::EEXIST => Err(Error::Mismatch),
            c::ENOSPC => Err(Error::Full),
            code => Error::check(code),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Abandoned => "a holder has abandoned the lock",
            Error::Removed => "the lock's name has been removed",
            Error::Deadlock => "this thread would wait for itself",
            Error::TooManyReads => "all places for readers are taken",
            Error::Crowded => "there is no room for one more process or thread in the region",
            Error::Mismatch => "the name is that of something else",
            Error::Full => "there is no room for it in the region",
            Error::Busy => "the name is in use",
            Error::Damaged => "the file is no region, or a damaged one",
            Error::OtherVersion => "the region is of another version of lockword",
            Error::Os(error) => return error.fmt(f),
        })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Os(error) => error.source(),
            _ => None,
        }
    }
}

/// A text for C.
fn text(bytes: &[u8]) -> Result<CString, Error> {
    CString::new(bytes).map_err(|_| Error::of(c::EINVAL))
}

/// How to open a region: [`Region::options`].
#[derive(Clone, Debug)]
pub struct Options {
    create: bool,
    exclusive: bool,
    any_owner: bool,
    mode: u32,
    size: usize,
}

impl Options {
    /// Whether to make the region if there is none. Yes, unless told otherwise.
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.create = create;
        self
    }

    /// Whether it must not exist yet. No, unless told otherwise.
    pub fn exclusive(&mut self, exclusive: bool) -> &mut Self {
        self.exclusive = exclusive;
        self
    }

    /// Whether the file may belong to another user. No, unless told otherwise.
    pub fn any_owner(&mut self, any_owner: bool) -> &mut Self {
        self.any_owner = any_owner;
        self
    }

    /// The permissions of a new file, less the umask. By default 0o600.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = mode;
        self
    }

    /// The size of a new region in bytes, from 332,032 to 2^32 - 4096. 0, the default: 2048 names,
    /// and 256 KiB for bytes.
    pub fn size(&mut self, size: usize) -> &mut Self {
        self.size = size;
        self
    }

    fn flags(&self) -> u32 {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        flag(self.create, c::CREATE)
            | flag(self.exclusive, c::EXCLUSIVE)
            | flag(self.any_owner, c::ANY_OWNER)
    }

    /// Opens the region in the file at this path. A symbolic link at the path is not followed.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::OtherVersion`], [`Error::Crowded`]; as [`Error::Os`]: `EPERM`,
    /// the file belongs to another user; `EINVAL`, the size is out of range, or `exclusive` stands
    /// without `create`; `EMFILE`, this process has 64 regions open; and what the system says.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Region, Error> {
        let path = text(path.as_ref().as_os_str().as_bytes())?;
        let mut region = ptr::null_mut();
        // SAFETY: `path` ends with a 0, and `region` is a place for the result.
        let error = unsafe {
            c::lw_region_open(&mut region, path.as_ptr(), self.flags(), self.mode, self.size)
        };
        Region::opened(error, region)
    }

    /// Opens the region in an open file, such as a memfd, which is not needed afterwards. `create`
    /// makes a region of an empty file, or of one that is all zeros.
    ///
    /// # Errors
    ///
    /// Those of [`Options::open`].
    pub fn open_fd(&self, file: impl AsFd) -> Result<Region, Error> {
        let fd = file.as_fd().as_raw_fd();
        let mut region = ptr::null_mut();
        // SAFETY: `fd` is open during the call, and `region` is a place for the result.
        let error = unsafe { c::lw_region_open_fd(&mut region, fd, self.flags(), self.size) };
        Region::opened(error, region)
    }
}

/// An open region. It is closed when it is dropped: what this process's threads still hold, by
/// guards that were forgotten, is then treated as after their death.
///
/// The methods that find a name make it if there is none. A name has 1 to 55 bytes. They fail with
/// [`Error::Mismatch`], [`Error::Full`] or [`Error::Crowded`], and as [`Error::Os`] with `EINVAL`
/// (the name is empty, or has a 0 in it) or `ENAMETOOLONG`.
///
/// ```compile_fail,E0597
/// let mutex = {
///     let region = lockword::region::Region::open("/dev/shm/bank").unwrap();
///     region.mutex("accounts").unwrap() // would outlive the region
/// };
/// let _guard = mutex.lock();
/// ```
#[derive(Debug)]
pub struct Region {
    native: NonNull<c::lw_region>,
}

// SAFETY: any threads may use an open region; and `drop`, which closes it, has it alone.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: all that uses it borrows `self`. A guard that was forgotten is not used again.
        unsafe { c::lw_region_close(self.native.as_ptr()) };
    }
}

impl Region {
    /// Opens the region in this file, or makes it, with the default [`options`](Region::options).
    ///
    /// # Errors
    ///
    /// Those of [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::options().open(path)
    }

    /// How to open a region, to be changed: `Region::options().mode(0o660).open(path)`.
    pub fn options() -> Options {
        Options { create: true, exclusive: false, any_owner: false, mode: 0o600, size: 0 }
    }

    fn opened(error: c_int, region: *mut c::lw_region) -> Result<Self, Error> {
        Error::check(error)?;
        Ok(Region { native: NonNull::new(region).ok_or(Error::Damaged)? })
    }

    /// Calls a function of C that puts something into a place.
    fn find<T>(
        &self,
        name: &str,
        named: impl FnOnce(*mut c::lw_region, *const c_char, *mut T) -> c_int,
    ) -> Result<T, Error> {
        let name = text(name.as_bytes())?;
        let mut found = MaybeUninit::uninit();
        Error::check_name(named(self.native.as_ptr(), name.as_ptr(), found.as_mut_ptr()))?;
        // SAFETY: at 0 the function has put it there.
        Ok(unsafe { found.assume_init() })
    }

    fn find_lock<T>(&self, name: &str, named: c::find<T>) -> Result<T, Error> {
        // SAFETY: `find` passes an open region, a text and a place for a T.
        self.find(name, |region, name, found| unsafe { named(region, name, found) })
    }

    fn find_words(
        &self,
        name: &str,
        first: *mut u32,
        named: c::find_words,
    ) -> Result<*mut u32, Error> {
        // SAFETY: the same; `first` are the words of a primitive of this kind.
        self.find(name, |region, name, found| unsafe { named(region, name, first, found) })
    }

    /// The mutex of this name.
    ///
    /// # Errors
    ///
    /// Those of a name: see [`Region`].
    pub fn mutex(&self, name: &str) -> Result<RegionMutex<'_>, Error> {
        let native = self.find_lock(name, c::lw_region_mutex_named)?;
        Ok(RegionMutex { native, region: PhantomData })
    }

    /// The read-write lock of this name, with a table of its readers.
    ///
    /// # Errors
    ///
    /// Those of a name: see [`Region`].
    pub fn rwtable(&self, name: &str) -> Result<RwTable<'_>, Error> {
        let native = self.find_lock(name, c::lw_region_rwtable_named)?;
        Ok(RwTable { native, region: PhantomData })
    }

    /// The once of this name.
    ///
    /// # Errors
    ///
    /// Those of a name: see [`Region`].
    pub fn once(&self, name: &str) -> Result<RegionOnce<'_>, Error> {
        let native = self.find_lock(name, c::lw_region_once_named)?;
        Ok(RegionOnce { native, region: PhantomData })
    }

    /// The permits of this name, 1 to 252.
    ///
    /// # Errors
    ///
    /// Those of a name: see [`Region`]; `EINVAL` also for another n.
    pub fn permits(&self, name: &str, n: u32) -> Result<RegionPermits<'_>, Error> {
        // SAFETY: `find` passes an open region, a text and a place for the permits.
        let native = self.find(name, |region, name, found| unsafe {
            c::lw_region_permits_named(region, name, n, found)
        })?;
        Ok(RegionPermits { native, region: PhantomData })
    }

    /// The event of this name. A new one begins as `initial`.
    ///
    /// # Errors
    ///
    /// Those of a name: see [`Region`].
    pub fn event(&self, name: &str, initial: Event) -> Result<&Event, Error> {
        let words = self.find_words(name, initial.as_ptr(), c::lw_region_event_named)?;
        // SAFETY: they are an event's, in memory that is mapped for as long as `self` is open.
        Ok(unsafe { Event::from_ptr(words) })
    }

    /// The semaphore of this name. A new one begins as `initial`.
    ///
    /// # Errors
    ///
    /// Those of a name: see [`Region`].
    pub fn semaphore(&self, name: &str, initial: Semaphore) -> Result<&Semaphore, Error> {
        let words = self.find_words(name, initial.as_ptr(), c::lw_region_sem_named)?;
        // SAFETY: as in `event`.
        Ok(unsafe { Semaphore::from_ptr(words) })
    }

    /// The condition variable of this name, for [`RegionMutexGuard::wait`].
    ///
    /// # Errors
    ///
    /// Those of a name: see [`Region`].
    pub fn condvar(&self, name: &str) -> Result<&Condvar, Error> {
        let words = self.find_words(name, Condvar::new().as_ptr(), c::lw_region_cond_named)?;
        // SAFETY: as in `event`.
        Ok(unsafe { Condvar::from_ptr(words) })
    }

    /// The bytes of this name, so many: zeros at first, at a multiple of 64. They are there until
    /// the region is closed.
    ///
    /// To use the pointer is unsafe, since other processes may write there at any time, and this
    /// one may have the same bytes as [`words`](Region::words). Make no reference to what another
    /// thread may write meanwhile; use volatile accesses, or one kind of atomics. If a reference is
    /// sound because a lock guards the bytes, then because every process takes that lock.
    ///
    /// # Errors
    ///
    /// Those of a name: see [`Region`]; `EINVAL` also if `size` is 0.
    pub fn bytes(&self, name: &str, size: usize) -> Result<NonNull<[u8]>, Error> {
        // SAFETY: `find` passes an open region, a text and a place for the address.
        let found = self.find(name, |region, name, found| unsafe {
            c::lw_region_bytes(region, name, size, found)
        })?;
        let bytes = ptr::slice_from_raw_parts_mut(found as *mut u8, size);
        NonNull::new(bytes).ok_or(Error::Damaged)
    }

    /// The same as so many atomics of 32 bits: 4 bytes each.
    ///
    /// # Errors
    ///
    /// Those of [`Region::bytes`].
    pub fn words(&self, name: &str, count: usize) -> Result<&[AtomicU32], Error> {
        let size = count.checked_mul(4).ok_or(Error::Full)?;
        let bytes = self.bytes(name, size)?;
        // SAFETY: `count` words at a multiple of 64, which stay mapped for as long as `self` is
        // open. All of this crate, and of C, that may be there is words of 32 bits, too.
        Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr() as *const AtomicU32, count) })
    }

    /// Names the calling thread, for [`describe`](Region::describe) in any process: up to 31 bytes.
    /// By default it has the system's name of it.
    ///
    /// # Errors
    ///
    /// [`Error::Crowded`]; `EINVAL` as [`Error::Os`]: the name is too long, or has a 0 in it.
    pub fn name_thread(&self, name: &str) -> Result<(), Error> {
        let name = text(name.as_bytes())?;
        // SAFETY: the region is open.
        Error::check(unsafe { c::lw_region_name_thread(self.native.as_ptr(), name.as_ptr()) })
    }

    /// Removes a name, and frees its place. Threads that use a mutex of that name get
    /// [`Error::Removed`].
    ///
    /// # Errors
    ///
    /// [`Error::Busy`], [`Error::Crowded`]; `ENOENT` or `EINVAL` as [`Error::Os`].
    ///
    /// # Safety
    ///
    /// Unless it is a mutex, nobody uses what has this name, nor what they have got of it, from now
    /// on: its place may get another name, or other bytes. That goes for all processes.
    pub unsafe fn remove(&self, name: &str) -> Result<(), Error> {
        let name = text(name.as_bytes())?;
        // SAFETY: the region is open, and the rest is the caller's promise.
        Error::check(unsafe { c::lw_region_remove(self.native.as_ptr(), name.as_ptr()) })
    }

    /// What is known of a name, or `None` if there is none. It may be outdated.
    ///
    /// # Errors
    ///
    /// `EINVAL` as [`Error::Os`]: the name is empty, or has a 0 in it.
    pub fn describe(&self, name: &str) -> Result<Option<Info>, Error> {
        let name = text(name.as_bytes())?;
        // SAFETY: the region is open, and there is a place for what is known.
        Info::next(|info| unsafe {
            c::lw_region_describe(self.native.as_ptr(), name.as_ptr(), info)
        })
    }

    /// The same of all names. Those that are made or removed meanwhile may be left out.
    ///
    /// # Errors
    ///
    /// None, so far.
    pub fn list(&self) -> Result<Vec<Info>, Error> {
        let mut cursor = 0;
        // SAFETY: the region is open, and there is a place for what is known.
        let mut next = || unsafe {
            Info::next(|info| c::lw_region_next(self.native.as_ptr(), &mut cursor, info))
        };
        let mut found = Vec::new();
        while let Some(info) = next()? {
            found.push(info);
        }
        Ok(found)
    }
}

/// Defines what a region has for a name: the struct of C, good while the region is open.
macro_rules! handle {
    ($(#[$doc:meta])* $handle:ident, $native:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $handle<'a> {
            native: c::$native,
            region: PhantomData<&'a Region>,
        }

        // SAFETY: any threads may use or copy it. The lifetime keeps the region open.
        unsafe impl Send for $handle<'_> {}
        // SAFETY: as above.
        unsafe impl Sync for $handle<'_> {}
    };
}

/// Defines the guard of a lock that outlives its holders.
macro_rules! guard {
    ($(#[$doc:meta])* $guard:ident, $lock:ident, $unlock:ident, $leave:ident) => {
        $(#[$doc])*
        #[must_use = "the lock is freed at once"]
        #[derive(Debug)]
        pub struct $guard<'a> {
            lock: $lock<'a>,
            owner_died: bool,
            /// Whether the thread was unwinding already when it took the lock.
            unwinding: bool,
            /// The lock belongs to the thread.
            stays: PhantomData<*mut ()>,
        }

        impl<'a> $guard<'a> {
            fn new(lock: &$lock<'a>, owner_died: bool) -> Self {
                let unwinding = thread::panicking();
                $guard { lock: *lock, owner_died, unwinding, stays: PhantomData }
            }

            /// `None`: the lock was not to be had in time, or not at once.
            fn if_taken(lock: &$lock<'a>, error: c_int) -> Result<Option<Self>, Error> {
                match error {
                    0 | c::EOWNERDEAD => Ok(Some(Self::new(lock, error != 0))),
                    c::EBUSY | c::ETIMEDOUT | c::EALREADY => Ok(None),
                    error => Err(Error::of(error)),
                }
            }

            fn taken(lock: &$lock<'a>, error: c_int) -> Result<Self, Error> {
                Self::if_taken(lock, error)?.ok_or_else(|| Error::of(error))
            }

            /// Whether what the lock guards may be half written: a holder has died, or the lock was
            /// reset, and none has declared the data sound since.
            pub fn owner_died(&self) -> bool {
                self.owner_died
            }
        }

        impl Drop for $guard<'_> {
            fn drop(&mut self) {
                let fails = thread::panicking() && !self.unwinding;
                let free = if fails { c::$leave } else { c::$unlock };
                // SAFETY: the region is open. The thread holds the lock; but for a forked child,
                // which is told that it does not, and has nothing to free.
                unsafe { free(&self.lock.native) };
            }
        }
    };
}

/// Defines the two forms of a lock with a limit by the one with a deadline.
macro_rules! timed {
    ($guard:ident, $until:ident, $try_for:ident, $try_until:ident, $name:literal) => {
        #[doc = concat!("The same as `", $name, "` for at most so long, else `None`.")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of `", $name, "`.")]
        pub fn $try_for(&self, timeout: Duration) -> Result<Option<$guard<'a>>, Error> {
            // SAFETY: the region is open.
            $guard::if_taken(self, unsafe { c::$until(&self.native, time::after(timeout)) })
        }

        #[doc = concat!("The same as `", $name, "` until then at most, else `None`.")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of `", $name, "`.")]
        pub fn $try_until(&self, deadline: Instant) -> Result<Option<$guard<'a>>, Error> {
            // SAFETY: the region is open.
            $guard::if_taken(self, unsafe { c::$until(&self.native, time::at(deadline)) })
        }
    };
}

handle! {
    /// A mutex of a region. It guards no value in Rust's sense: see [the module](self).
    RegionMutex, lw_region_mutex
}

guard! {
    /// A mutex that this thread holds. To drop it frees the mutex, and declares the data sound;
    /// but if a panic unwinds the thread, it declares nothing, and if this holder was told of a
    /// death, so is the next one. It stays on its thread.
    ///
    /// ```compile_fail,E0277
    /// let region = lockword::region::Region::open("/dev/shm/bank").unwrap();
    /// let guard = region.mutex("accounts").unwrap().lock();
    /// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join()).unwrap();
    /// ```
    RegionMutexGuard, RegionMutex, lw_region_mutex_unlock, lw_region_mutex_leave
}

impl<'a> RegionMutex<'a> {
    /// Takes the mutex. Waits without a limit.
    ///
    /// # Errors
    ///
    /// [`Error::Abandoned`], [`Error::Removed`], [`Error::Crowded`]; [`Error::Deadlock`]: this
    /// thread holds it.
    pub fn lock(&self) -> Result<RegionMutexGuard<'a>, Error> {
        // SAFETY: the region is open.
        let error = unsafe { c::lw_region_mutex_lock_until(&self.native, sys::FOREVER) };
        RegionMutexGuard::taken(self, error)
    }

    timed! {
        RegionMutexGuard, lw_region_mutex_lock_until, try_lock_for, try_lock_until, "lock"
    }

    /// Takes the mutex if it is free: `None` if a thread holds it, perhaps this one. Never waits.
    ///
    /// # Errors
    ///
    /// [`Error::Abandoned`], [`Error::Removed`], [`Error::Crowded`].
    pub fn try_lock(&self) -> Result<Option<RegionMutexGuard<'a>>, Error> {
        // SAFETY: the region is open.
        RegionMutexGuard::if_taken(self, unsafe { c::lw_region_mutex_trylock(&self.native) })
    }

    /// Takes the mutex if it was abandoned, to make the data anew: `None` if it was not. Waits
    /// without a limit. The guard's `owner_died` is true.
    ///
    /// # Errors
    ///
    /// [`Error::Removed`], [`Error::Crowded`], [`Error::Deadlock`].
    pub fn reset(&self) -> Result<Option<RegionMutexGuard<'a>>, Error> {
        // SAFETY: the region is open.
        let reset = unsafe { c::lw_region_mutex_reset(&self.native) };
        Ok(RegionMutexGuard::if_taken(self, reset)?.map(RegionMutexGuard::anew))
    }

    /// Whether a thread holds it at this moment.
    pub fn is_locked(&self) -> bool {
        // SAFETY: the region is open.
        unsafe { c::lw_region_mutex_is_locked(&self.native) }
    }
}

impl<'a> RegionMutexGuard<'a> {
    fn anew(mut self) -> Self {
        self.owner_died = true;
        self
    }

    /// Frees the mutex, and declares the data lost: nobody gets it before a
    /// [`reset`](RegionMutex::reset).
    pub fn abandon(self) {
        // SAFETY: as in `drop`, which does not come after this.
        unsafe { c::lw_region_mutex_abandon(&self.lock.native) };
        std::mem::forget(self);
    }

    fn wait_deadline(self, condvar: &Condvar, deadline: i64) -> Result<(Self, bool), Error> {
        let lock = self.lock;
        std::mem::forget(self);
        // SAFETY: the region is open, and the words are a condition's.
        let error =
            unsafe { c::lw_region_cond_wait_until(condvar.as_ptr(), &lock.native, deadline) };
        let timed_out = error == c::ETIMEDOUT;
        Ok((Self::taken(&lock, if timed_out { 0 } else { error })?, timed_out))
    }

    /// Frees the mutex, which declares the data sound, waits for a notify, and takes it again. May
    /// wake up spuriously: call it in a loop.
    ///
    /// # Errors
    ///
    /// Those of [`RegionMutex::lock`]. Then the mutex is not held.
    pub fn wait(self, condvar: &Condvar) -> Result<Self, Error> {
        Ok(self.wait_deadline(condvar, sys::FOREVER)?.0)
    }

    /// The same, but waits for a notify for at most so long. Returns also whether the time was up.
    ///
    /// # Errors
    ///
    /// Those of [`RegionMutexGuard::wait`].
    pub fn wait_for(self, condvar: &Condvar, timeout: Duration) -> Result<(Self, bool), Error> {
        self.wait_deadline(condvar, time::after(timeout))
    }
}

handle! {
    /// A read-write lock of a region, with a table of its readers: at most 252 at a time. All come
    /// in one line, so that nobody is shut out. A thread that reads may read once more.
    RwTable, lw_region_rwtable
}

guard! {
    /// A read. It ends when this is dropped, and declares nothing. It stays on its thread.
    RwTableReadGuard, RwTable, lw_region_rwtable_leave, lw_region_rwtable_leave
}

guard! {
    /// A write. It ends as that of a [`RegionMutexGuard`] does. It stays on its thread.
    RwTableWriteGuard, RwTable, lw_region_rwtable_unlock, lw_region_rwtable_leave
}

impl<'a> RwTable<'a> {
    /// Takes the lock to read. Waits without a limit.
    ///
    /// # Errors
    ///
    /// [`Error::Abandoned`], [`Error::Removed`], [`Error::Crowded`]; [`Error::Deadlock`]: this
    /// thread writes; [`Error::TooManyReads`].
    pub fn read(&self) -> Result<RwTableReadGuard<'a>, Error> {
        // SAFETY: the region is open.
        let error = unsafe { c::lw_region_rwtable_rdlock_until(&self.native, sys::FOREVER) };
        RwTableReadGuard::taken(self, error)
    }

    timed! {
        RwTableReadGuard, lw_region_rwtable_rdlock_until, try_read_for, try_read_until, "read"
    }

    /// The same if that needs no wait, else `None`.
    ///
    /// # Errors
    ///
    /// [`Error::Abandoned`], [`Error::Removed`], [`Error::Crowded`].
    pub fn try_read(&self) -> Result<Option<RwTableReadGuard<'a>>, Error> {
        // SAFETY: the region is open.
        RwTableReadGuard::if_taken(self, unsafe { c::lw_region_rwtable_tryrdlock(&self.native) })
    }

    /// Takes the lock to write. Waits without a limit.
    ///
    /// # Errors
    ///
    /// [`Error::Abandoned`], [`Error::Removed`], [`Error::Crowded`]; [`Error::Deadlock`]: this
    /// thread reads or writes.
    pub fn write(&self) -> Result<RwTableWriteGuard<'a>, Error> {
        // SAFETY: the region is open.
        let error = unsafe { c::lw_region_rwtable_wrlock_until(&self.native, sys::FOREVER) };
        RwTableWriteGuard::taken(self, error)
    }

    timed! {
        RwTableWriteGuard, lw_region_rwtable_wrlock_until, try_write_for, try_write_until, "write"
    }

    /// The same if that needs no wait, else `None`.
    ///
    /// # Errors
    ///
    /// [`Error::Abandoned`], [`Error::Removed`], [`Error::Crowded`].
    pub fn try_write(&self) -> Result<Option<RwTableWriteGuard<'a>>, Error> {
        // SAFETY: the region is open.
        RwTableWriteGuard::if_taken(self, unsafe { c::lw_region_rwtable_trywrlock(&self.native) })
    }

    /// Takes it to write if it was abandoned, as [`RegionMutex::reset`].
    ///
    /// # Errors
    ///
    /// [`Error::Removed`], [`Error::Crowded`]; [`Error::Deadlock`]: this thread writes.
    pub fn reset(&self) -> Result<Option<RwTableWriteGuard<'a>>, Error> {
        // SAFETY: the region is open.
        let reset = unsafe { c::lw_region_rwtable_reset(&self.native) };
        Ok(RwTableWriteGuard::if_taken(self, reset)?.map(RwTableWriteGuard::anew))
    }
}

impl RwTableWriteGuard<'_> {
    fn anew(mut self) -> Self {
        self.owner_died = true;
        self
    }

    /// Frees the lock, and declares the data lost: nobody gets it before a
    /// [`reset`](RwTable::reset).
    pub fn abandon(self) {
        // SAFETY: as in `drop`, which does not come after this.
        unsafe { c::lw_region_rwtable_abandon(&self.lock.native) };
        std::mem::forget(self);
    }
}

handle! {
    /// A once of a region.
    RegionOnce, lw_region_once
}

impl RegionOnce<'_> {
    /// Calls the function, unless it has been called in any process. Waits while another thread
    /// does. If it panics, or its process dies, the next caller's is called.
    ///
    /// # Errors
    ///
    /// [`Error::Crowded`]; [`Error::Deadlock`]: this thread is calling it.
    pub fn call_once(&self, function: impl FnOnce()) -> Result<(), Error> {
        struct Run<'a>(&'a c::lw_region_once);
        impl Drop for Run<'_> {
            fn drop(&mut self) {
                // SAFETY: the region is open.
                unsafe { c::lw_region_once_finish(self.0, false) };
            }
        }
        // SAFETY: the region is open.
        match unsafe { c::lw_region_once_begin(&self.native) } {
            c::ONCE_RUN => {
                let run = Run(&self.native);
                function();
                std::mem::forget(run);
                // SAFETY: the region is open.
                Error::check(unsafe { c::lw_region_once_finish(&self.native, true) })
            }
            error => Error::check(error),
        }
    }

    /// Whether it has been called.
    pub fn is_completed(&self) -> bool {
        // SAFETY: the region is open.
        unsafe { c::lw_region_once_is_done(&self.native) }
    }
}

handle! {
    /// Permits of a region, which have numbers and owners.
    ///
    /// ```
    /// # use lockword::region::{Error, Region};
    /// # let path = std::env::temp_dir().join(format!("lockword-gpus-{}", std::process::id()));
    /// let region = Region::open(&path)?;
    /// let gpus = region.permits("gpus", 4)?;
    /// let gpu = gpus.acquire()?;
    /// println!("running on GPU {}", gpu.number());
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    RegionPermits, lw_region_permits
}

/// A permit that this thread has, until this is dropped. It stays on its thread.
#[must_use = "the permit goes back at once"]
#[derive(Debug)]
pub struct RegionPermit<'a> {
    permits: RegionPermits<'a>,
    number: u32,
    stays: PhantomData<*mut ()>,
}

impl RegionPermit<'_> {
    /// Which of the permits it is, from 0 on: that of a port, a GPU or a folder, say.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for RegionPermit<'_> {
    fn drop(&mut self) {
        // SAFETY: the region is open. A forked child is told that it has no permit.
        unsafe { c::lw_region_permits_release(&self.permits.native, self.number) };
    }
}

impl<'a> RegionPermits<'a> {
    fn acquire_until(&self, deadline: i64) -> Result<Option<RegionPermit<'a>>, Error> {
        let mut number = 0;
        // SAFETY: the region is open.
        let error =
            unsafe { c::lw_region_permits_acquire_until(&self.native, &mut number, deadline) };
        self.if_taken(error, number)
    }

    fn if_taken(&self, error: c_int, number: u32) -> Result<Option<RegionPermit<'a>>, Error> {
        match error {
            0 => Ok(Some(RegionPermit { permits: *self, number, stays: PhantomData })),
            c::EBUSY | c::ETIMEDOUT => Ok(None),
            error => Err(Error::of(error)),
        }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    ///
    /// [`Error::Crowded`].
    pub fn acquire(&self) -> Result<RegionPermit<'a>, Error> {
        self.acquire_until(sys::FOREVER)?.ok_or_else(|| Error::of(c::ETIMEDOUT))
    }

    /// The same for at most so long: `None` if none was to be had.
    ///
    /// # Errors
    ///
    /// [`Error::Crowded`].
    pub fn acquire_for(&self, timeout: Duration) -> Result<Option<RegionPermit<'a>>, Error> {
        self.acquire_until(time::after(timeout))
    }

    /// Takes a permit if there is one. Never waits.
    ///
    /// # Errors
    ///
    /// [`Error::Crowded`].
    pub fn try_acquire(&self) -> Result<Option<RegionPermit<'a>>, Error> {
        let mut number = 0;
        // SAFETY: the region is open.
        let error = unsafe { c::lw_region_permits_tryacquire(&self.native, &mut number) };
        self.if_taken(error, number)
    }

    /// How many are free at this moment.
    pub fn available(&self) -> u32 {
        // SAFETY: the region is open.
        unsafe { c::lw_region_permits_available(&self.native) }
    }
}

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Kind {
    Mutex,
    RecursiveMutex,
    Once,
    RwLock,
    Event,
    Semaphore,
    Counter,
    WaitGroup,
    Latch,
    Barrier,
    Condvar,
    Bytes,
    Permits,
    RwTable,
    /// Of a later version.
    Other,
}

/// In the order of `enum lw_region_kind`, from 1 on.
const KINDS: [Kind; 14] = [
    Kind::Mutex,
    Kind::RecursiveMutex,
    Kind::Once,
    Kind::RwLock,
    Kind::Event,
    Kind::Semaphore,
    Kind::Counter,
    Kind::WaitGroup,
    Kind::Latch,
    Kind::Barrier,
    Kind::Condvar,
    Kind::Bytes,
    Kind::Permits,
    Kind::RwTable,
];

/// A thread of any process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// The thread, as the kernel counts it.
    pub tid: u32,
    /// Its name.
    pub thread: String,
}

/// What is known of a name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Info {
    /// The name.
    pub name: String,
    /// What it is the name of.
    pub kind: Kind,
    /// Whether the next to lock it is told of a death.
    pub owner_died: bool,
    /// Whether it is abandoned.
    pub abandoned: bool,
    /// The thread that holds it. `None`: none does, or several do.
    pub holder: Option<Holder>,
    /// For how long it has been held at least: as long as a thread has waited for it.
    pub held: Duration,
    /// How many threads wait.
    pub waiters: u32,
    /// How long the first of them has waited.
    pub longest_wait: Duration,
    /// How often a mutex was taken, modulo 2^32.
    pub acquisitions: u32,
    /// How often its taker had to wait or to spin.
    pub contended: u32,
    /// How often a holder has died.
    pub recoveries: u32,
    /// Of bytes: how many.
    pub size: u32,
    /// How many owned permits there are; of a table, how many may read.
    pub permits: u32,
    /// How many of these have owners.
    pub permits_held: u32,
}

impl Info {
    /// What `tell` has put there. It returns 0 or an errno code; `ENOENT`: there is no more.
    fn next(tell: impl FnOnce(*mut c::lw_region_info) -> c_int) -> Result<Option<Self>, Error> {
        let mut info = MaybeUninit::uninit();
        match tell(info.as_mut_ptr()) {
            c::ENOENT => Ok(None),
            // SAFETY: at 0 it has filled it.
            0 => Ok(Some(Info::of(unsafe { info.assume_init_ref() }))),
            error => Err(Error::of(error)),
        }
    }

    fn of(info: &c::lw_region_info) -> Self {
        let string = |text: &[c_char]| {
            let bytes: Vec<u8> = text.iter().map(|c| *c as u8).take_while(|b| *b != 0).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let time = |ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        Info {
            name: string(&info.name),
            kind: *KINDS.get((info.kind as usize).wrapping_sub(1)).unwrap_or(&Kind::Other),
            owner_died: info.fate == c::OWNER_DIED,
            abandoned: info.fate == c::ABANDONED,
            holder: (info.holder_pid != 0).then(|| Holder {
                pid: info.holder_pid,
                tid: info.holder_tid,
                thread: string(&info.holder),
            }),
            held: time(info.held_ms),
            waiters: info.waiters,
            longest_wait: time(info.longest_ms),
            acquisitions: info.acquisitions,
            contended: info.contended,
            recoveries: info.recoveries,
            size: info.size,
            permits: info.permits,
            permits_held: info.held,
        }
    }
}
