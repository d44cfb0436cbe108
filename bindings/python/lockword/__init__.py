"""Locks that processes share, and that outlive any holder. On Linux, by liblockword.so.

    import lockword

    region = lockword.Region("/dev/shm/jobs")
    with region.mutex("jobs") as guard:
        if guard.owner_died:
            mend()  # a process was killed while it held the mutex
        change()

    async with region.mutex("jobs") as guard:  # in asyncio: the loop goes on meanwhile
        change()

Every process that opens the file finds the same names: in Python, in C (<lockword/region.h>, which
has the whole contract), and in Node (the package lockword-region).

Timeouts are seconds. A wait ends for a signal's handler, so that Ctrl-C works, and goes on if the
handler returns. A lock belongs to the thread that took it, or to the task's guard.
"""

from __future__ import annotations

import asyncio
import atexit
import collections
import ctypes
import errno as _errno
import functools
import itertools
import math
import operator
import os
import signal
import sys
import threading
import weakref
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Tuple,
    TypeVar,
    Union,
)

__version__ = "0.2.0"
__all__ = [
    "AbandonedError",
    "ClosedError",
    "Counter",
    "DeadlockError",
    "Event",
    "Guard",
    "Info",
    "LockError",
    "Mutex",
    "OwnershipError",
    "Permit",
    "Permits",
    "ReadLock",
    "Region",
    "RemovedError",
    "RWLock",
    "RWTable",
    "Semaphore",
    "TableReadLock",
    "TableWriteLock",
    "WriteLock",
]


class LockError(RuntimeError):
    """What the errors below have in common. What the system refuses is an OSError."""


class DeadlockError(LockError):
    """The caller holds it already, and would wait for itself."""


class OwnershipError(LockError):
    """The caller does not hold what it releases."""


class AbandonedError(LockError):
    """What the mutex guards has been abandoned: nobody gets it before its reset."""


class RemovedError(LockError):
    """The name was removed from the region. Look it up again."""


class ClosedError(LockError):
    """This process has closed the region."""


_FOREVER = 2**63 - 1
_KINDS = (
    "mutex rmutex once rwlock event semaphore counter waitgroup latch barrier cond bytes "
    "permits rwtable".split()
)


class _MutexStruct(ctypes.Structure):
    _fields_ = [
        ("region", ctypes.c_void_p),
        ("words", ctypes.c_void_p),
        ("serial", ctypes.c_uint64),
        ("fate", ctypes.c_uint32),
    ]


class _RWLockStruct(ctypes.Structure):
    _fields_ = [("region", ctypes.c_void_p), ("words", ctypes.c_void_p)]


class _PermitsStruct(ctypes.Structure):
    _fields_ = [
        ("region", ctypes.c_void_p),
        ("words", ctypes.c_void_p),
        ("busy", ctypes.c_uint32),
    ]


class _RWTableStruct(ctypes.Structure):
    _fields_ = [("mutex", _MutexStruct), ("readers", _PermitsStruct)]


class _InfoStruct(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 56),
        ("fate", ctypes.c_uint32),
        ("holder_pid", ctypes.c_uint32),
        ("holder_tid", ctypes.c_uint32),
        ("holder", ctypes.c_char * 32),
        ("held_ms", ctypes.c_int64),
        ("waiters", ctypes.c_uint32),
        ("longest_ms", ctypes.c_int64),
        ("acquisitions", ctypes.c_uint32),
        ("contended", ctypes.c_uint32),
        ("recoveries", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("permits", ctypes.c_uint32),
        ("held", ctypes.c_uint32),
        ("kind", ctypes.c_int),
    ]


# The words of a primitive: at most so many (docs/layout.md).
_Words = ctypes.c_uint32 * 4


def _library() -> str:
    named = os.environ.get("LOCKWORD_LIBRARY")
    if named:
        return named
    for name in ("liblockword.so.0.2", "liblockword.so"):
        try:
            ctypes.CDLL(name)
            return name
        except OSError:
            pass
    raise ImportError(
        "this module needs the C library liblockword.so.0.2. Install it (make install), or name "
        "it in LOCKWORD_LIBRARY."
    )


_name = _library()
_blocking = ctypes.CDLL(_name)  # without the interpreter's lock: for what may wait
_quick = ctypes.PyDLL(_name)  # with it: for what never waits

_pointer, _u32, _i64, _text = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64, ctypes.c_char_p


def _function(library: Any, name: str, *parameters: Any, result: Any = ctypes.c_int) -> Any:
    try:
        function = library[f"lw_{name}"]
    except AttributeError:
        raise ImportError(f"{_name} is not the library of lockword {__version__}") from None
    function.argtypes, function.restype = parameters, result
    return function


_open = _function(
    _blocking, "region_open", _pointer, _text, ctypes.c_uint, ctypes.c_uint, ctypes.c_size_t
)
_open_fd = _function(
    _blocking, "region_open_fd", _pointer, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
)
_close = _function(_blocking, "region_close", _pointer)
_name_thread = _function(_blocking, "region_name_thread", _pointer, _text)
_remove = _function(_blocking, "region_remove", _pointer, _text)
_next = _function(_blocking, "region_next", _pointer, _pointer, _pointer)
_describe = _function(_blocking, "region_describe", _pointer, _text, _pointer)
_bytes = _function(_blocking, "region_bytes", _pointer, _text, ctypes.c_size_t, _pointer)
_mutex_named = _function(_blocking, "region_mutex_named", _pointer, _text, _pointer)
_rwlock_named = _function(_blocking, "region_rwlock_named", _pointer, _text, _pointer)
_WORDS_NAMED = (_pointer, _text, _pointer, _pointer)
_event_named = _function(_blocking, "region_event_named", *_WORDS_NAMED)
_sem_named = _function(_blocking, "region_sem_named", *_WORDS_NAMED)
_counter_named = _function(_blocking, "region_counter_named", *_WORDS_NAMED)

_LIMITS = (_i64, _pointer)
_mutex_lock = _function(_blocking, "region_mutex_lock_cancel", _pointer, *_LIMITS)
_mutex_trylock = _function(_quick, "region_mutex_trylock", _pointer)
_mutex_unlock = _function(_quick, "region_mutex_unlock", _pointer)
_mutex_leave = _function(_quick, "region_mutex_leave", _pointer)
_mutex_abandon = _function(_quick, "region_mutex_abandon", _pointer)
_mutex_reset = _function(_blocking, "region_mutex_reset", _pointer)
_read = _function(_blocking, "region_rwlock_rdlock_cancel", _pointer, *_LIMITS)
_tryread = _function(_quick, "region_rwlock_tryrdlock", _pointer)
_write = _function(_blocking, "region_rwlock_wrlock_cancel", _pointer, *_LIMITS)
_trywrite = _function(_quick, "region_rwlock_trywrlock", _pointer)
_rwlock_unlock = _function(_quick, "region_rwlock_unlock", _pointer)
_table_named = _function(_blocking, "region_rwtable_named", _pointer, _text, _pointer)
_table_read = _function(_blocking, "region_rwtable_rdlock_cancel", _pointer, *_LIMITS)
_table_tryread = _function(_quick, "region_rwtable_tryrdlock", _pointer)
_table_write = _function(_blocking, "region_rwtable_wrlock_cancel", _pointer, *_LIMITS)
_table_trywrite = _function(_quick, "region_rwtable_trywrlock", _pointer)
_table_unlock = _function(_quick, "region_rwtable_unlock", _pointer)
_table_leave = _function(_quick, "region_rwtable_leave", _pointer)
_table_abandon = _function(_quick, "region_rwtable_abandon", _pointer)
_table_reset = _function(_blocking, "region_rwtable_reset", _pointer)
_permits_named = _function(_blocking, "region_permits_named", _pointer, _text, _u32, _pointer)
_permits_acquire = _function(
    _blocking, "region_permits_acquire_cancel", _pointer, _pointer, *_LIMITS
)
_permits_try = _function(_quick, "region_permits_tryacquire", _pointer, _pointer)
_permits_release = _function(_quick, "region_permits_release", _pointer, _u32)
_permits_available = _function(_quick, "region_permits_available", _pointer, result=_u32)
_acquire = _function(_blocking, "sem_acquire_cancel", _pointer, _u32, *_LIMITS)
_tryacquire = _function(_quick, "sem_tryacquire", _pointer, _u32)
_release = _function(_quick, "sem_release", _pointer, _u32)
_available = _function(_quick, "sem_available", _pointer, result=_u32)
_event_wait = _function(_blocking, "event_wait_cancel", _pointer, *_LIMITS)
_event_set = _function(_quick, "event_set", _pointer, result=None)
_event_reset = _function(_quick, "event_reset", _pointer, result=ctypes.c_bool)
_mutex_is_locked = _function(
    _quick, "region_mutex_is_locked", _pointer, result=ctypes.c_bool
)
_event_is_set = _function(_quick, "event_is_set", _pointer, result=ctypes.c_bool)
_counter_get = _function(_quick, "counter_get", _pointer, result=_u32)
_counter_add = _function(_quick, "counter_add", _pointer, ctypes.c_int32, _pointer)
_at_least = _function(_blocking, "counter_wait_at_least", _pointer, _u32, *_LIMITS)
_at_most = _function(_blocking, "counter_wait_at_most", _pointer, _u32, *_LIMITS)
_change = _function(_blocking, "counter_wait_change", _pointer, _u32, *_LIMITS)

# The waits of event loops.
_DONE = ctypes.CFUNCTYPE(None, _pointer, ctypes.c_int)  # and a context, which nobody needs
_ASYNC = (_pointer, _pointer, _i64, _DONE, _pointer)
_loop_init = _function(_quick, "loop_init", _pointer)
_loop_fd = _function(_quick, "loop_fd", _pointer)
_loop_run = _function(_quick, "loop_run", _pointer, result=None)
_loop_destroy = _function(_quick, "loop_destroy", _pointer)
_request_cancel = _function(_quick, "request_cancel", _pointer)
_request_value = _function(_quick, "request_value", _pointer, result=_u32)
_mutex_lock_async = _function(_quick, "region_mutex_lock_async", _pointer, *_ASYNC)
_read_async = _function(_quick, "region_rwlock_rdlock_async", _pointer, *_ASYNC)
_write_async = _function(_quick, "region_rwlock_wrlock_async", _pointer, *_ASYNC)
_table_read_async = _function(_quick, "region_rwtable_rdlock_async", _pointer, *_ASYNC)
_table_write_async = _function(_quick, "region_rwtable_wrlock_async", _pointer, *_ASYNC)
_permits_acquire_async = _function(_quick, "region_permits_acquire_async", _pointer, *_ASYNC)
_acquire_async = _function(_quick, "sem_acquire_async", _pointer, _u32, *_ASYNC)
_event_wait_async = _function(_quick, "event_wait_async", _pointer, *_ASYNC)
_at_least_async = _function(_quick, "counter_wait_at_least_async", _pointer, _u32, *_ASYNC)
_at_most_async = _function(_quick, "counter_wait_at_most_async", _pointer, _u32, *_ASYNC)
_change_async = _function(_quick, "counter_wait_change_async", _pointer, _u32, *_ASYNC)

# Memory that outlives this module: C has it until a wait has ended.
_malloc = ctypes.PyDLL(None).malloc
_malloc.argtypes, _malloc.restype = (ctypes.c_size_t,), _pointer
_free = ctypes.PyDLL(None).free
_free.argtypes, _free.restype = (_pointer,), None

# What a lock's functions return that have taken it.
_GRANTED = (0, _errno.EOWNERDEAD)

_fire = _function(_quick, "cancel_fire", _pointer, result=None)
_after_ns = _function(_quick, "after_ns", _i64, result=_i64)


def _checked(timeout: Optional[float]) -> Optional[float]:
    """Refuses what is no number of seconds: else only a call that has to wait would find out."""
    if timeout is None:
        return None
    if math.isnan(timeout):
        raise ValueError("timeout is NaN")
    return float(timeout)


def _deadline(timeout: Optional[float]) -> int:
    if timeout is None:
        return _FOREVER
    return _after_ns(int(min(timeout, 9e9) * 1e9)) if timeout > 0 else 0


def _seconds(blocking: bool, timeout: Optional[float]) -> Optional[float]:
    """The arguments of threading.Lock.acquire as one: None is without limit."""
    if not blocking:
        if timeout is not None and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        return 0
    if timeout == -1:
        return None
    if timeout is not None and timeout < 0:
        raise ValueError(f"timeout must be -1 or not negative, not {timeout}")
    return timeout


def _raise(error: int, what: str) -> None:
    """Raises what a C function's result means in Python, if it is no success."""
    if error in _GRANTED:
        return
    if error == _errno.EDEADLK:
        raise DeadlockError(f"{what} is held by this thread already")
    if error == _errno.EPERM:
        raise OwnershipError(f"{what} is not held by this thread")
    if error == _errno.ECANCELED:
        raise ClosedError("this process has closed the region")
    if error == _errno.ENOTRECOVERABLE:
        raise AbandonedError(f"a holder has abandoned what {what} guards")
    if error == _errno.EIDRM:
        raise RemovedError(f"{what} was removed from the region")
    if error == _errno.EOVERFLOW:
        raise OverflowError(f"{what} cannot count so far")
    if error == _errno.EINVAL:
        raise ValueError(f"{what}: out of range")
    raise OSError(error, os.strerror(error), what)


def _text_of(what: str, encoded: bytes) -> bytes:
    """Refuses a null character, since C would end the text there."""
    if b"\0" in encoded:
        raise ValueError(f"a {what} cannot contain a null character")
    return encoded


def _encode(name: str) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"a name must be a str, not {type(name).__name__}")
    return _text_of("name", name.encode())


_SEM_MAX = 2**28 - 1
_COUNTER_MAX = 2**30 - 1
_SIZE_MAX = 2**32 - 1
_MODE_MAX = 0o7777
_FD_MAX = 2**31 - 1


def _in_range(n: int, most: int, what: str = "") -> int:
    """Refuses a number that is out of range, since ctypes would cut off its higher bits."""
    if not 0 <= operator.index(n) <= most:
        raise ValueError(f"{what}from 0 to {most}, not {n}")
    return n


def _at_once(call: Callable, arguments: tuple, result: List[int]) -> None:
    """Appends what the C function returns: in one step, between which no signal is handled."""
    result[:] = map(call, *((argument,) for argument in arguments))


# Blocking


class _Wait:
    """One wait in C, and what ends it."""

    def __init__(self) -> None:
        self._cancel = _Words()
        #: The main thread's wait within which a signal's handler began this one.
        self.outer: Optional["_Wait"] = None
        #: Once signals are told to `_Signals`: what they were told to before.
        self.before: List[int] = []

    def run(self, call: Callable, arguments: tuple, result: List[int]) -> None:
        _at_once(call, (*arguments, self._cancel), result)

    def end(self) -> None:
        _fire(self._cancel)


_set_wakeup_fd = functools.partial(signal.set_wakeup_fd, warn_on_full_buffer=False)


class _Signals:
    """
    Ends the main thread's wait when a signal arrives, since C waits on, and Python handles signals
    only outside of C. Python's own handler writes a byte to a pipe, and a thread reads it. A
    program's handler may wait, too: each wait leaves things as it found them.
    """

    def __init__(self) -> None:
        self._pipe: Optional[int] = None
        self._wait: Optional[_Wait] = None
        self._last: Optional[_Wait] = None

    def may_begin(self) -> bool:
        """Whether this thread handles signals: a subinterpreter has a main thread that does not."""
        if threading.current_thread() is not threading.main_thread():
            return False
        if self._pipe is None:
            try:
                _set_wakeup_fd(_FD_MAX)  # which is no descriptor
            except ValueError:
                return False
            except OSError:
                pass
        return True

    def begin(self, wait: _Wait) -> None:
        if self._pipe is None:
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            threading.Thread(target=self._listen, args=(reader,), daemon=True).start()
            self._pipe = writer
        wait.outer = self._wait
        self._wait = wait
        wait.before[:] = map(_set_wakeup_fd, (self._pipe,))

    def end(self, wait: _Wait) -> None:
        if wait.before:
            _set_wakeup_fd(wait.before[0])
            self._last = wait
        if self._wait is wait:
            self._wait = wait.outer

    def _told_before(self) -> int:
        for wait in (self._wait, self._last):  # the last one's signals may arrive after its end
            while wait is not None:
                if wait.before and wait.before[0] != self._pipe:
                    return wait.before[0]
                wait = wait.outer
        return -1

    def _listen(self, reader: int) -> None:
        while True:
            signals = os.read(reader, 64)
            before = self._told_before()
            if before != -1:  # an event loop's
                try:
                    os.write(before, signals)
                except OSError:
                    pass  # it is full, and so will be read
            wait = self._wait
            if wait is not None:
                wait.end()


_signals = _Signals()


def _block(
    region: "Region", call: Callable, arguments: tuple, timeout: Optional[float], undo: Callable
) -> int:
    """
    Calls a C function that waits, and returns what it returns. If a signal's handler raises when
    the function has succeeded already, calls `undo`.
    """
    deadline = _deadline(timeout)
    interruptible = _signals.may_begin()
    while True:
        wait = _Wait()
        result: List[int] = []
        try:
            region._enter(wait)
            try:
                if interruptible:
                    _signals.begin(wait)
                wait.run(call, (*arguments, deadline), result)
            finally:
                if interruptible:
                    _signals.end(wait)
        except BaseException:
            if interruptible:
                _signals.end(wait)  # again: the handler may have raised before it had any effect
            if result and result[0] in _GRANTED:
                undo()
            raise
        finally:
            region._exit(wait)
        if result[0] != _errno.ECANCELED:
            return result[0]
        region._open_handle()


# asyncio


class _Driver:
    """
    What the event loops of a thread poll: the C library's loop of this thread. The thread alone
    refers to it, so that it ends with the thread.
    """

    _SIZE = 512  # of an lw_loop, at most

    def __init__(self) -> None:
        self.process, self.thread = os.getpid(), threading.get_ident()
        self.handle = _malloc(self._SIZE)
        error = _loop_init(self.handle)
        if error:
            _free(self.handle)
            self.handle = None
            raise OSError(error, os.strerror(error))
        self.run = functools.partial(_run, self.handle, self.thread)
        self._attached: "weakref.WeakSet[Any]" = weakref.WeakSet()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on this event loop runs it, too."""
        if loop not in self._attached:
            loop.add_reader(_loop_fd(self.handle), self.run)
            self._attached.add(loop)

    def detach(self) -> None:
        """Before its descriptor is closed: a loop may go on in another thread."""
        for loop in self._attached:
            try:
                loop.remove_reader(_loop_fd(self.handle))
            except RuntimeError:  # the loop was closed
                pass

    def __del__(self, destroy: Callable = _loop_destroy, free: Callable = _free) -> None:
        # In another thread it can do nothing, and its memory stays. A forked child closes its copy,
        # and detaches nothing: the event loop's epoll is the parent's, too, which polls on.
        is_own = self.thread == threading.get_ident() and self.process == os.getpid()
        if self.handle and is_own:
            self.detach()
        if self.handle and destroy(self.handle) == 0:
            _Request._tell(self.thread)
            free(self.handle)


def _run(loop: int, thread: int) -> None:
    """Runs what is due in C's loop of this thread, and tells its tasks."""
    try:
        _loop_run(loop)
        _Request._tell(thread)
    except BaseException:  # a signal's handler has raised: the tasks are to hear nevertheless
        _Request._tell(thread)
        raise


_of_thread = threading.local()


def _driver() -> _Driver:
    if not hasattr(_of_thread, "driver"):
        _of_thread.driver = _Driver()
    return _of_thread.driver  # type: ignore[no-any-return]


@atexit.register
def _end_waits() -> None:
    """What tasks wait for when the process ends: C tells while Python can still hear of it."""
    _of_thread.__dict__.clear()


class _Request:
    """A task's wait in C, whose memory is C's until it has ended."""

    _SIZE = 1024  # of an lw_request, at most
    _pending: Dict[int, "_Request"] = {}
    #: How requests have ended that nobody was told of yet. C calls no Python, within which a
    #: signal's handler could raise.
    _results: Dict[int, int] = {}
    _done = _DONE(_results.__setitem__)

    def __init__(self, region: "Region", undo: Callable[[], Any]) -> None:
        self._region = region
        self._undo = undo
        self._loop = asyncio.get_running_loop()
        driver = _driver()
        driver.attach(self._loop)
        self._thread, self._driver, self._run = driver.thread, driver.handle, driver.run
        self._future: "asyncio.Future[int]" = self._loop.create_future()
        self._handle: Optional[int] = None
        #: What C tells besides the result: the number of a permit.
        self.value = 0

    async def result(self, call: Callable, arguments: tuple, timeout: Optional[float]) -> int:
        """Begins, and returns how it has ended."""
        deadline = _deadline(timeout)
        self._region._enter(self)
        handle, begun = _malloc(self._SIZE), []  # type: Tuple[int, List[int]]
        try:
            self._handle, self._pending[handle] = handle, self
            begin = (*arguments, handle, self._driver, deadline, self._done, None)
            _at_once(call, begin, begun)
            if begun == [0]:
                return await self._future
        except BaseException:
            if begun == [0]:
                if self._handle is not None:
                    self._future.cancel()  # nobody hears of it, should it be granted now
                    self.end()
                elif not self._future.cancelled() and self._future.result() in _GRANTED:
                    self._undo_once()  # the task was cancelled when it had got it
            raise
        finally:
            if begun != [0]:
                self._forget(handle)
        return begun[0]

    def end(self) -> None:
        """Ends it, as soon as its thread runs at the latest."""
        if threading.get_ident() == self._thread:
            self._cancel()
            return
        try:
            self._loop.call_soon_threadsafe(self._cancel)
        except RuntimeError:  # the loop was closed
            pass

    def _cancel(self) -> None:
        if self._handle is not None:
            _request_cancel(self._handle)
            self._run()

    def _forget(self, handle: int) -> None:
        self._pending.pop(handle, None)
        self._results.pop(handle, None)
        _free(handle)
        self._region._exit(self)

    @classmethod
    def _tell(cls, thread: int) -> None:
        """Tells the tasks of this thread how their requests have ended."""
        for handle in list(cls._results):
            request = cls._pending.get(handle)
            if request is None:  # a signal's handler has raised in `_forget`
                cls._results.pop(handle, None)
            elif request._thread == thread:
                request._ended(handle, cls._results[handle])

    def _ended(self, handle: int, result: int) -> None:
        """May run twice, if a signal's handler raises in it."""
        self.value = _request_value(handle)
        self._handle = None
        try:
            self._future.set_result(result)
        except (RuntimeError, asyncio.InvalidStateError):
            hears = not (self._loop.is_closed() or self._future.cancelled())
            if result in _GRANTED and not hears:
                self._undo_once()
        self._forget(handle)

    def _undo_once(self) -> None:
        # In a closed loop the future gets the result although set_result raises. So the end of its
        # task, at any time later, comes here, too.
        undo, self._undo = self._undo, lambda: None
        undo()


class _Local:
    """What stands for memory of this process, and so is neither copied nor sent to another one."""

    def __reduce__(self) -> Any:
        what = type(self).__name__
        raise TypeError(f"cannot copy or pickle a {what}: open the region where it is used")


class Guard(_Local):
    """What is held. Releases it once: at the end of a `with` block, or by `release`."""

    #: Whether a holder died, so that what the mutex guards may be half written. To release it
    #: declares it sound; a block that ends by an exception tells the next holder, too.
    owner_died: bool

    def __init__(self, lock: "_Lock[Any]", owner_died: bool) -> None:
        self.owner_died = owner_died
        self._lock = lock
        self._held = True

    def release(self) -> None:
        """Releases it, and declares that what it guards is sound. Never waits."""
        self._end(self._lock._free)

    def abandon(self) -> None:
        """
        Releases a mutex, or a table that the caller writes, whose data is lost: all get an
        AbandonedError before its reset.
        """
        if not isinstance(self._lock, (Mutex, TableWriteLock)):
            raise TypeError("only a mutex can be abandoned, or a table by its writer")
        self._end(self._lock._abandon)

    def _end(self, how: Callable[[], int]) -> None:
        if not self._held:
            raise OwnershipError(f"{self._lock._what} has been released already")
        error = how()
        self._held = error not in (0, _errno.ECANCELED)
        _raise(error, self._lock._what)

    def __enter__(self) -> "Guard":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._held:
            failed = kind is not None and self.owner_died
            self._end(self._lock._leave if failed else self._lock._free)


_G = TypeVar("_G", bound=Guard)


_serials = itertools.count()


class _Block(NamedTuple):
    """A `with` block that is open."""

    serial: int
    place: Tuple[int, int, int]
    #: The thread or task that began it: an ExitStack's begins and ends in two functions.
    owner: int
    guard: Any


def _place_of(frame: Any) -> Tuple[int, int, int]:
    """
    The frame and its thread, by numbers: to refer to a frame would keep all that it refers to. A
    frame that has ended may have had the same number, but its code began no block that ends here.
    """
    return id(frame), id(frame.f_code), threading.get_ident()


class _Blocks(_Local, Generic[_G]):
    """`with` and `async with`. Each block releases its own guard, in whatever order they end."""

    _timeout: Optional[float] = None

    def __init__(self) -> None:
        #: The blocks that are open, by frame and thread. One of a generator may end in another
        #: task, and not last.
        self._open: Dict[Tuple[int, int, int], List[_Block]] = {}

    def _guard_of(self, timeout: Optional[float]) -> _G:
        raise NotImplementedError

    async def acquire_async(self, timeout: Optional[float] = None) -> _G:
        raise NotImplementedError

    def __enter__(self) -> _G:
        guard = self._guard_of(self._timeout)
        self._began(_place_of(sys._getframe(1)), threading.get_ident(), guard)
        return guard

    def __exit__(self, *error: Any) -> None:
        self._last(_place_of(sys._getframe(1)), threading.get_ident()).__exit__(*error)

    async def __aenter__(self) -> _G:
        guard = await self.acquire_async(self._timeout)
        self._began(_place_of(sys._getframe(1)), id(asyncio.current_task()), guard)
        return guard

    async def __aexit__(self, *error: Any) -> None:
        self._last(_place_of(sys._getframe(1)), id(asyncio.current_task())).__exit__(*error)

    def _began(self, place: Tuple[int, int, int], owner: int, guard: _G) -> None:
        block = _Block(next(_serials), place, owner, guard)
        self._open.setdefault(place, []).append(block)

    def _last(self, place: Tuple[int, int, int], owner: int) -> _G:
        blocks = self._open.get(place)
        if not blocks:
            every = [block for blocks in list(self._open.values()) for block in list(blocks)]
            blocks = (
                [block for block in every if block.place[:2] == place[:2]]  # in another thread
                or [block for block in every if block.owner == owner]  # an ExitStack's, say
                or every
            )
        if not blocks:
            raise OwnershipError("a block ends that has not begun")
        block = max(blocks)
        left = self._open[block.place]
        left.remove(block)
        if not left and block.place[2] == place[2]:  # another thread may be using its own
            del self._open[block.place]
        return block.guard  # type: ignore[no-any-return]


class _Hold(_Blocks[_G]):
    """`with lock.hold(timeout)`, and `async with lock.hold(timeout)`."""

    def __init__(self, lock: "_Lock[_G]", timeout: Optional[float]) -> None:
        super().__init__()
        self._lock = lock
        self._timeout = timeout

    def _guard_of(self, timeout: Optional[float]) -> _G:
        return self._lock._guard_of(timeout)

    async def acquire_async(self, timeout: Optional[float] = None) -> _G:
        return await self._lock.acquire_async(timeout)


#: How often a thread holds what has owners, by region, name and thread: the region stays open,
#: though nothing else refers to it.
_held: Dict[Tuple["Region", str, int], int] = {}


class _Lock(_Blocks[_G]):
    """What can be acquired and released: as threading.Lock, and with `await`."""

    _GUARD: Any = Guard
    #: Whether a task may have it without a request, if it is free.
    _TRIES = True
    #: Whether a death, or the end of the region, frees it.
    _HAS_OWNERS = True

    def __init__(self, region: "Region", what: str) -> None:
        super().__init__()
        self._region = region
        self._what = what
        #: How many tasks of a thread wait for it.
        self._waiting: Dict[int, int] = collections.defaultdict(int)

    # What a kind of lock defines.
    _wait: Any
    _begin: Any
    _handle: Any

    def _try(self) -> int:
        raise NotImplementedError

    def _free(self) -> int:
        raise NotImplementedError

    def _leave(self) -> int:
        return self._free()

    def _abandon(self) -> int:
        raise NotImplementedError

    def _arguments(self) -> tuple:
        return (self._handle,)

    def _begin_arguments(self) -> tuple:
        return (self._handle,)

    def _granted(self, value: int) -> None:
        """A task's request has been granted, with this value."""

    def _got(self, error: int) -> None:
        """A call has got it: `error` is 0 or EOWNERDEAD."""
        self._count(1)

    def _count(self, by: int) -> None:
        """Counts what this thread holds, which alone can release it."""
        if not self._HAS_OWNERS:
            return
        key = (self._region, self._what, threading.get_ident())
        n = _held.pop(key, 0) + by
        if n > 0:
            _held[key] = n

    def _freed(self, how: Callable) -> int:
        """Releases what has owners."""
        if self._region._value is None:
            return _errno.ECANCELED
        error = how(self._handle)
        if not error:
            self._count(-1)
        return error

    def _take(self, timeout: Optional[float]) -> int:
        """Returns 0, EOWNERDEAD or ETIMEDOUT."""
        self._region._open_handle()
        timeout = _checked(timeout)
        error = self._try()
        if error == _errno.EBUSY:
            if timeout is not None and timeout <= 0:
                return _errno.ETIMEDOUT
            arguments = self._arguments()
            error = _block(self._region, self._wait, arguments, timeout, self._give_back)
        if error != _errno.ETIMEDOUT:
            _raise(error, self._what)
            self._got(error)
        return error

    def _guard_of(self, timeout: Optional[float]) -> _G:
        error = self._take(timeout)
        if error == _errno.ETIMEDOUT:
            raise TimeoutError(f"{self._what}: timed out")
        return self._GUARD(self, error == _errno.EOWNERDEAD)  # type: ignore[no-any-return]

    async def acquire_async(self, timeout: Optional[float] = None) -> _G:
        """
        Acquires it without blocking the event loop. The guard releases it, in any task of the loop.
        To cancel the task withdraws its request. The tasks of one loop get it in their order.
        Raises asyncio.TimeoutError, and what `acquire` raises.
        """
        self._region._open_handle()
        timeout = _checked(timeout)
        me = threading.get_ident()
        error = self._try() if self._TRIES and not self._waiting[me] else _errno.EBUSY
        if error == _errno.EBUSY:
            request = _Request(self._region, lambda: self._give_back(request.value))
            self._waiting[me] += 1
            try:
                error = await request.result(self._begin, self._begin_arguments(), timeout)
            finally:
                self._waiting[me] -= 1
            self._granted(request.value)
        if error in (_errno.ETIMEDOUT, _errno.ECANCELED):
            self._region._open_handle()
            raise asyncio.TimeoutError(f"{self._what}: timed out")
        _raise(error, self._what)
        self._got(error)
        return self._GUARD(self, error == _errno.EOWNERDEAD)  # type: ignore[no-any-return]

    def _give_back(self, value: Optional[int] = None) -> None:
        """What C has granted, and no caller gets."""
        if value is not None:
            self._granted(value)
        self._count(1)
        if self._leave():
            self._count(-1)

    def hold(self, timeout: Optional[float] = None) -> _Hold[_G]:
        """
        `with lock.hold(timeout=2) as guard:`, also `async with`. Raises TimeoutError
        (asyncio.TimeoutError) if the time is up, and the block is not run.
        """
        return _Hold(self, timeout)


class Mutex(_Lock[Guard]):
    """
    A mutex of a region. It has one holder: a thread of any process. If that dies, the next holder
    is told by `guard.owner_died`. Usable where threading.Lock is, in threading.Condition, say.
    """

    #: Whether the last holder that got it through this object was told of a death.
    owner_died = False

    def __init__(self, region: "Region", name: str) -> None:
        super().__init__(region, f"the mutex {name!r}")
        #: Its name in the region.
        self.name = name
        self._handle = ctypes.byref(_MutexStruct())
        region._find(_mutex_named, name, self._handle)
        self._wait = _mutex_lock
        self._begin = _mutex_lock_async

    def _got(self, error: int) -> None:
        self.owner_died = error == _errno.EOWNERDEAD
        super()._got(error)

    def _try(self) -> int:
        return _mutex_trylock(self._handle)

    def _free(self) -> int:
        return self._freed(_mutex_unlock)

    def _leave(self) -> int:
        return self._freed(_mutex_leave)

    def _abandon(self) -> int:
        return self._freed(_mutex_abandon)

    def acquire(self, blocking: bool = True, timeout: Optional[float] = -1) -> bool:
        """
        Takes the mutex. Returns False if the time is up. Look at `owner_died` then. Raises
        DeadlockError, AbandonedError or RemovedError.
        """
        return self._take(_seconds(blocking, timeout)) != _errno.ETIMEDOUT

    def release(self) -> None:
        """Frees the mutex, and declares what it guards sound. Raises OwnershipError."""
        _raise(self._free(), self._what)

    def abandon(self) -> None:
        """Frees the mutex, and declares what it guards lost. Raises OwnershipError."""
        _raise(self._abandon(), self._what)

    def reset(self) -> bool:
        """
        Takes an abandoned mutex, so that the caller can make anew what it guards; `release` makes
        that known. Returns False, and does not hold the mutex, if it was not abandoned.
        """
        self._region._open_handle()
        error = _mutex_reset(self._handle)
        if error == _errno.EALREADY:
            return False
        _raise(error, self._what)
        self.owner_died = False
        self._count(1)
        return True

    def locked(self) -> bool:
        """Whether a thread holds it. May be old when you read it. False once it was removed."""
        self._region._open_handle()
        return _mutex_is_locked(self._handle)

    def __repr__(self) -> str:
        return f"<lockword.Mutex {self.name!r} of {self._region.path!r}>"


class Semaphore(_Lock[Guard]):
    """Permits that processes share. A death returns none: see <lockword/region.h>."""

    _HAS_OWNERS = False
    _begin = _acquire_async

    def __init__(self, region: "Region", name: str, value: int) -> None:
        super().__init__(region, f"the semaphore {name!r}")
        #: Its name in the region.
        self.name = name
        self._handle = region._find_words(_sem_named, name, _in_range(value, _SEM_MAX))
        self._wait = _acquire

    def _arguments(self) -> tuple:
        return (self._handle, 1)

    _begin_arguments = _arguments

    def _try(self) -> int:
        return _tryacquire(self._handle, 1)

    def _free(self) -> int:
        return _errno.ECANCELED if self._region._value is None else _release(self._handle, 1)

    def acquire(self, blocking: bool = True, timeout: Optional[float] = None, n: int = 1) -> bool:
        """Takes n permits, all at once. Returns False if the time is up."""
        self._region._open_handle()
        timeout = _checked(_seconds(blocking, timeout))
        error = _tryacquire(self._handle, _in_range(n, _SEM_MAX))
        if error == _errno.EBUSY:
            if timeout is not None and timeout <= 0:
                return False
            undo = lambda: _release(self._handle, n)  # noqa: E731
            error = _block(self._region, _acquire, (self._handle, n), timeout, undo)
        if error == _errno.ETIMEDOUT:
            return False
        _raise(error, self._what)
        return True

    def release(self, n: int = 1) -> None:
        """Returns n permits. Raises OverflowError."""
        self._region._open_handle()
        _raise(_release(self._handle, _in_range(n, _SEM_MAX)), self._what)

    @property
    def available(self) -> int:
        """How many permits there are. May be old when you read it."""
        self._region._open_handle()
        return _available(self._handle)


class Permit(Guard):
    """A permit that is held. Gives it back once: at the end of a `with` block, or by `release`."""

    _lock: "_OnePermit"

    @property
    def number(self) -> int:
        """Which permit it is, from 0 on: no other thread has it meanwhile."""
        return self._lock._number.value


class _OnePermit(_Lock[Permit]):
    """The permit that one call takes: as a lock, whose guard gives back this permit."""

    _GUARD = Permit
    _wait = _permits_acquire
    _begin = _permits_acquire_async

    def __init__(self, permits: "Permits") -> None:
        super().__init__(permits._region, permits._what)
        self._waiting = permits._waiting
        self._handle = permits._handle
        self._number = ctypes.c_uint32()

    def _arguments(self) -> tuple:
        return (self._handle, ctypes.byref(self._number))

    def _granted(self, value: int) -> None:
        self._number.value = value

    def _try(self) -> int:
        return _permits_try(*self._arguments())

    def _free(self) -> int:
        return self._freed(lambda handle: _permits_release(handle, self._number))


class Permits(_Lock[Permit]):
    """
    Permits of a region that have owners: at most n threads have one at a time, and a permit whose
    owner dies is free again. They have numbers, from 0 on, so that a permit can stand for a port, a
    GPU or a folder: `with permits as permit: use(permit.number)`. A thread may have several.
    """

    def __init__(self, region: "Region", name: str, n: int) -> None:
        super().__init__(region, f"the permits {name!r}")
        if not 1 <= operator.index(n) <= 252:
            raise ValueError(f"n must be 1 to 252, not {n}")
        #: Its name in the region.
        self.name = name
        #: How many there are.
        self.count = n
        self._handle = ctypes.byref(_PermitsStruct())
        region._find(_permits_named, name, n, self._handle)

    def acquire(
        self, blocking: bool = True, timeout: Optional[float] = -1
    ) -> Optional[Permit]:
        """
        Takes a permit, which gives itself back at the end of a `with` block, or by `release`.
        Returns None if the time is up.
        """
        one = _OnePermit(self)
        if one._take(_seconds(blocking, timeout)) == _errno.ETIMEDOUT:
            return None
        return Permit(one, False)

    async def acquire_async(self, timeout: Optional[float] = None) -> Permit:
        """
        Takes a permit without blocking the event loop. To cancel the task withdraws its request.
        The tasks of one loop get permits in their order. Raises asyncio.TimeoutError.
        """
        return await _OnePermit(self).acquire_async(timeout)

    def _guard_of(self, timeout: Optional[float]) -> Permit:
        return _OnePermit(self)._guard_of(timeout)

    @property
    def available(self) -> int:
        """How many are free. May be old when you read it."""
        self._region._open_handle()
        return _permits_available(self._handle)


class _Side(_Lock[Guard]):
    """One side of a read-write lock."""

    _HAS_OWNERS = False
    _side = ""
    _attempt: Any = None

    def __init__(self, region: "Region", name: str, handle: Any) -> None:
        super().__init__(region, f"the read-write lock {name!r}")
        self._handle = handle

    def _try(self) -> int:
        return self._attempt(self._handle)

    def _free(self) -> int:
        return _errno.ECANCELED if self._region._value is None else _rwlock_unlock(self._handle)

    def acquire(self, blocking: bool = True, timeout: Optional[float] = -1) -> bool:
        """
        Locks it. Returns False if the time is up. Raises DeadlockError to who writes, and
        OverflowError if there are too many readers.
        """
        return self._take(_seconds(blocking, timeout)) != _errno.ETIMEDOUT

    def release(self) -> None:
        """Unlocks it. Raises OwnershipError."""
        _raise(self._free(), self._what)


class ReadLock(_Side):
    """The side of the readers: they share it."""

    _attempt = _tryread
    _wait = _read
    _begin = _read_async


class WriteLock(_Side):
    """The side of the writers: each has it alone."""

    _attempt = _trywrite
    _wait = _write
    _begin = _write_async


class _TableSide(_Side):
    """One side of a table."""

    _HAS_OWNERS = True
    #: Whether the last holder that got it through this object was told of a writer's death. Where
    #: several threads read, ask the guard.
    owner_died = False

    def _got(self, error: int) -> None:
        self.owner_died = error == _errno.EOWNERDEAD
        super()._got(error)

    def _free(self) -> int:
        return self._freed(_table_unlock)


class TableReadLock(_TableSide):
    """The side of the readers of a table."""

    #: Not so: a thread that reads may read once more, ahead of writers, but its tasks are many.
    _TRIES = False
    _attempt = _table_tryread
    _wait = _table_read
    _begin = _table_read_async


class TableWriteLock(_TableSide):
    """The side of the writers of a table."""

    _attempt = _table_trywrite
    _wait = _table_write
    _begin = _table_write_async

    def _leave(self) -> int:
        return self._freed(_table_leave)

    def _abandon(self) -> int:
        return self._freed(_table_abandon)

    def abandon(self) -> None:
        """Unlocks it, and declares what it guards lost. Raises OwnershipError."""
        _raise(self._abandon(), self._what)


class RWTable(_Local):
    """
    A read-write lock of a region, with a table of its readers: `with table.read:`, `with
    table.write:`. What a process holds when it dies is free again. After a writer's death all are
    told by `owner_died`, of the guard or of the side, until a writer releases it.
    """

    def __init__(self, region: "Region", name: str) -> None:
        #: Its name in the region.
        self.name = name
        handle = ctypes.byref(_RWTableStruct())
        region._find(_table_named, name, handle)
        self.read = TableReadLock(region, name, handle)
        self.write = TableWriteLock(region, name, handle)

    def reset(self) -> bool:
        """
        Takes an abandoned table to write, so that the caller can make anew what it guards;
        `write.release` makes that known. Returns False, and does not hold it, if it was not
        abandoned.
        """
        self.write._region._open_handle()
        error = _table_reset(self.write._handle)
        if error == _errno.EALREADY:
            return False
        _raise(error, self.write._what)
        self.write.owner_died = False
        self.write._count(1)
        return True


class RWLock(_Local):
    """
    A read-write lock of a region: `with rwlock.read:`, `with rwlock.write:`. What a process holds
    when it dies stays locked: use a table for what has to survive a death.
    """

    def __init__(self, region: "Region", name: str) -> None:
        #: Its name in the region.
        self.name = name
        handle = ctypes.byref(_RWLockStruct())
        region._find(_rwlock_named, name, handle)
        self.read = ReadLock(region, name, handle)
        self.write = WriteLock(region, name, handle)


class _Waitable(_Local):
    """What has no holder."""

    _handle: Any

    def __init__(self, region: "Region", what: str) -> None:
        self._region = region
        self._what = what

    def _await(self, call: Callable, arguments: tuple, timeout: Optional[float]) -> bool:
        self._region._open_handle()
        timeout = _checked(timeout)
        if call(self._handle, *arguments, 0, None) == 0:
            return True
        error = _block(self._region, call, (self._handle, *arguments), timeout, self._undo)
        if error != _errno.ETIMEDOUT:
            _raise(error, self._what)
        return error == 0

    async def _await_async(
        self, call: Callable, begin: Callable, arguments: tuple, timeout: Optional[float]
    ) -> bool:
        self._region._open_handle()
        timeout = _checked(timeout)
        if call(self._handle, *arguments, 0, None) == 0:
            return True
        if timeout is not None and timeout <= 0:
            return False
        request = _Request(self._region, self._undo)
        error = await request.result(begin, (self._handle, *arguments), timeout)
        if error == _errno.ECANCELED:
            self._region._open_handle()
        if error in (_errno.ECANCELED, _errno.ETIMEDOUT):
            return False
        _raise(error, self._what)
        return True

    def _undo(self) -> None:
        pass


_EVENT_AUTO = 0x2  # docs/layout.md, `event.state`


class Event(_Waitable):
    """As threading.Event, for processes. With `auto` a set releases one waiter, which resets it."""

    def __init__(self, region: "Region", name: str, auto: bool) -> None:
        super().__init__(region, f"the event {name!r}")
        #: Its name in the region.
        self.name = name
        self._handle = region._find_words(_event_named, name, _EVENT_AUTO if auto else 0)
        state = ctypes.c_uint32.from_address(self._handle.value or 0).value
        self._auto = bool(state & _EVENT_AUTO)

    def set(self) -> None:
        """Sets it, and wakes those that wait."""
        self._region._open_handle()
        _event_set(self._handle)

    def clear(self) -> bool:
        """Resets it, and returns whether it was set."""
        self._region._open_handle()
        return _event_reset(self._handle)

    def is_set(self) -> bool:
        """Whether it is set right now."""
        self._region._open_handle()
        return _event_is_set(self._handle)

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits until it is set. Returns False if the time is up."""
        return self._await(_event_wait, (), timeout)

    async def wait_async(self, timeout: Optional[float] = None) -> bool:
        """`wait`, without blocking the event loop."""
        return await self._await_async(_event_wait, _event_wait_async, (), timeout)

    def _undo(self) -> None:
        if self._auto and self._region._value is not None:
            _event_set(self._handle)  # for another waiter


class Counter(_Waitable):
    """A number from 0 to 2**30 - 1 that processes share, and can wait for."""

    def __init__(self, region: "Region", name: str, value: int) -> None:
        super().__init__(region, f"the counter {name!r}")
        #: Its name in the region.
        self.name = name
        self._handle = region._find_words(_counter_named, name, _in_range(value, _COUNTER_MAX))

    @property
    def value(self) -> int:
        """The number right now."""
        self._region._open_handle()
        return _counter_get(self._handle)

    def add(self, n: int = 1) -> int:
        """Adds n, which may be negative, and returns the number before. Raises OverflowError."""
        self._region._open_handle()
        old = ctypes.c_uint32()
        n = operator.index(n)
        cannot_fit = abs(n) > _COUNTER_MAX
        error = _errno.EOVERFLOW if cannot_fit else _counter_add(self._handle, n, ctypes.byref(old))
        _raise(error, self._what)
        return old.value

    def wait_at_least(self, n: int, timeout: Optional[float] = None) -> bool:
        """Waits until it is n or more. Returns False if the time is up."""
        return self._await(_at_least, (_in_range(n, _COUNTER_MAX),), timeout)

    def wait_at_most(self, n: int, timeout: Optional[float] = None) -> bool:
        """Waits until it is n or less. Returns False if the time is up."""
        return self._await(_at_most, (_in_range(n, _COUNTER_MAX),), timeout)

    def wait_change(self, n: int, timeout: Optional[float] = None) -> bool:
        """Waits until it is not n. Returns False if the time is up."""
        return self._await(_change, (_in_range(n, _COUNTER_MAX),), timeout)

    async def wait_at_least_async(self, n: int, timeout: Optional[float] = None) -> bool:
        """`wait_at_least`, without blocking the event loop."""
        arguments = (_in_range(n, _COUNTER_MAX),)
        return await self._await_async(_at_least, _at_least_async, arguments, timeout)

    async def wait_at_most_async(self, n: int, timeout: Optional[float] = None) -> bool:
        """`wait_at_most`, without blocking the event loop."""
        arguments = (_in_range(n, _COUNTER_MAX),)
        return await self._await_async(_at_most, _at_most_async, arguments, timeout)

    async def wait_change_async(self, n: int, timeout: Optional[float] = None) -> bool:
        """`wait_change`, without blocking the event loop."""
        arguments = (_in_range(n, _COUNTER_MAX),)
        return await self._await_async(_change, _change_async, arguments, timeout)


class Info(NamedTuple):
    """What is known of a name. All of it may be old when you read it."""

    name: str
    kind: str
    #: "sound", "owner died" or "abandoned"
    state: str
    #: The process and thread that hold it, and the thread's name; 0 and "": it is free.
    holder_pid: int
    holder_tid: int
    holder: str
    #: How many threads wait, and for how long the first one has, s.
    waiters: int
    longest_wait: float
    acquisitions: int
    contended: int
    recoveries: int
    #: Of a range of bytes.
    size: int
    #: How many permits there are, and how many of them have owners. Of a table: its readers.
    permits: int
    held: int


def _info(found: _InfoStruct) -> Info:
    fate = found.fate
    return Info(
        found.name.decode(errors="replace"),
        _KINDS[found.kind - 1],
        "sound" if not fate else "owner died" if fate == _errno.EOWNERDEAD else "abandoned",
        found.holder_pid,
        found.holder_tid,
        found.holder.decode(errors="replace"),
        found.waiters,
        found.longest_ms / 1000,
        found.acquisitions,
        found.contended,
        found.recoveries,
        found.size,
        found.permits,
        found.held,
    )


#: The regions that this process has open.
_regions: "weakref.WeakSet[Region]" = weakref.WeakSet()


#: What errors of opening mean where the system's text does not say it.
_CANNOT_OPEN = {
    _errno.EAGAIN: "the region has 1023 processes already, or no thread can be started",
    _errno.EBADMSG: "the file is no region, or is damaged",
    _errno.EINVAL: "not a regular file, or the size is out of range",
    _errno.ELOOP: "a symbolic link is not followed",
    _errno.EPERM: "the file belongs to another user: use any_owner",
    _errno.EPROTO: "the region was made by another version of lockword",
}

# The same of a name.
_CANNOT_FIND = {
    _errno.EEXIST: "the name is that of something else, or of another number of permits or bytes",
    _errno.ENAMETOOLONG: "a name has at most 55 bytes",
    _errno.ENOSPC: "the region has no room for it",
}


class Region(_Local):
    """
    An open region: the file at `path`, which is made if there is none, unless `create` is False.
    A new one gets this mode, less the umask, and so many bytes; 0: as many as C's default. Instead
    of a path, the descriptor of an open file or memfd may be given.

    It is closed by `close`, at the end of a `with` block, or when nothing refers to it, or to what
    it contains, any more, and no thread holds a mutex, a permit or a table of it.

    After os.fork (multiprocessing's 'fork') the child has the region open, and holds nothing of it.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]", int],
        *,
        create: bool = True,
        exclusive: bool = False,
        any_owner: bool = False,
        mode: int = 0o600,
        size: int = 0,
    ) -> None:
        flags = create * 1 | exclusive * 2 | any_owner * 4
        _in_range(size, _SIZE_MAX, "size: ")
        _in_range(mode, _MODE_MAX, "mode: ")
        handle = ctypes.c_void_p()
        if isinstance(path, int):
            _in_range(path, _FD_MAX, "a descriptor: ")
            error = _open_fd(ctypes.byref(handle), path, flags, size)
        else:
            path = os.fspath(path)
            encoded = _text_of("path", os.fsencode(path))
            error = _open(ctypes.byref(handle), encoded, flags, operator.index(mode), size)
        if error:
            raise OSError(error, _CANNOT_OPEN.get(error) or os.strerror(error), path)
        #: What it was opened by.
        self.path = path
        self._value: Optional[int] = handle.value
        # Weak, since a signal's handler may raise in _exit before it has had any effect.
        self._waits: "weakref.WeakSet[Union[_Wait, _Request]]" = weakref.WeakSet()
        self._changed = threading.Condition()
        self._views: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._finalizer = weakref.finalize(self, _close, self._value)
        self._finalizer.atexit = False  # the end of the process does it better
        _regions.add(self)

    def _open_handle(self) -> int:
        if self._value is None:
            raise ClosedError("this process has closed the region")
        return self._value

    def _enter(self, wait: Union[_Wait, _Request]) -> None:
        with self._changed:
            self._open_handle()
            self._waits.add(wait)

    def _exit(self, wait: Union[_Wait, _Request]) -> None:
        with self._changed:
            self._waits.discard(wait)
            self._changed.notify_all()

    def _find(self, named: Callable, name: str, *result: Any) -> None:
        error = named(self._open_handle(), _encode(name), *result)
        if error:
            raise OSError(error, _CANNOT_FIND.get(error) or os.strerror(error), name)

    def _find_words(self, named: Callable, name: str, initial: int) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        self._find(named, name, ctypes.byref(_Words(initial)), ctypes.byref(found))
        return found

    def mutex(self, name: str) -> Mutex:
        """Finds the mutex of this name, or makes it."""
        return Mutex(self, name)

    def semaphore(self, name: str, value: int = 1) -> Semaphore:
        """
        Finds the semaphore of this name, or makes it, with so many permits. Who makes it decides:
        in Node there are 0 by default.
        """
        return Semaphore(self, name, value)

    def permits(self, name: str, n: int) -> Permits:
        """
        Finds the permits of this name, or makes them: n of them, 1 to 252. Raises FileExistsError
        if there is another number of them.
        """
        return Permits(self, name, n)

    def rwlock(self, name: str) -> RWLock:
        """Finds the read-write lock of this name, or makes it."""
        return RWLock(self, name)

    def rwtable(self, name: str) -> RWTable:
        """Finds the read-write lock with a table of this name, or makes it."""
        return RWTable(self, name)

    def event(self, name: str, auto: bool = False) -> Event:
        """Finds the event of this name, or makes it. Pass the same `auto` everywhere."""
        return Event(self, name, auto)

    def counter(self, name: str, value: int = 0) -> Counter:
        """Finds the counter of this name, or makes it, with this value."""
        return Counter(self, name, value)

    def bytes(self, name: str, size: int) -> memoryview:
        """
        Finds the bytes of this name, or makes them: zeros. They are as whoever died last has left
        them: so guard them by a mutex.
        """
        if operator.index(size) < 1:
            raise ValueError(f"size must be positive, not {size}")
        _in_range(size, _SIZE_MAX, "size: ")
        found = ctypes.c_void_p()
        self._find(_bytes, name, size, ctypes.byref(found))
        kind: Any = type("_Bytes", (ctypes.c_uint8 * size,), {"__hash__": object.__hash__})
        array = kind.from_address(found.value)
        array.region = self
        self._views.add(array)
        return memoryview(array).cast("B")

    def __iter__(self) -> Iterator[Info]:
        cursor = ctypes.c_uint32()
        found = _InfoStruct()
        while True:
            handle = self._open_handle()
            error = _next(handle, ctypes.byref(cursor), ctypes.byref(found))
            if error == _errno.ENOENT:
                return
            _raise(error, "the region")
            yield _info(found)

    def describe(self, name: str) -> Info:
        """What is known of a name. Raises FileNotFoundError if there is none."""
        found = _InfoStruct()
        self._find(_describe, name, ctypes.byref(found))
        return _info(found)

    def remove(self, name: str) -> None:
        """Removes a name. Raises FileNotFoundError, or an OSError (EBUSY) if a thread holds it."""
        self._find(_remove, name)

    def name_thread(self, name: str) -> None:
        """Gives this thread a name of up to 31 bytes, which `describe` tells of a holder."""
        if len(_encode(name)) > 31:
            raise ValueError("a thread's name has at most 31 bytes")
        self._find(_name_thread, name)

    def close(self) -> None:
        """
        Closes the region for this process. What its threads hold is treated as after their death,
        and those that wait get a ClosedError. Otherwise no thread may use the region meanwhile.
        Raises BufferError while a memoryview of `bytes` exists.
        """
        if self._value is None:
            return
        if len(self._views):
            raise BufferError("cannot close: views of its bytes exist")
        with self._changed:
            self._value = None
            for wait in list(self._waits):
                wait.end()
            while len(self._waits):
                self._changed.wait(0.1)
        for key in [key for key in list(_held) if key[0] is self]:
            _held.pop(key, None)
        self._finalizer()

    def __enter__(self) -> "Region":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = " (closed)" if self._value is None else ""
        return f"<lockword.Region {self.path!r}{closed}>"


def _in_child() -> None:
    """After a fork: the other threads, and what they held and waited for, are the parent's."""
    global _signals, _of_thread
    while _signals._wait is not None:  # another thread forked while the main one waited
        _signals.end(_signals._wait)
    _signals = _Signals()
    _Request._pending.clear()
    _Request._results.clear()
    _of_thread = threading.local()
    _held.clear()
    for region in _regions:
        region._waits.clear()
        region._changed = threading.Condition()


os.register_at_fork(after_in_child=_in_child)
