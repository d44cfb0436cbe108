"""
The tests of bindings/python, by unittest. test/CMakeLists.txt names the library in
LOCKWORD_LIBRARY, the native peer in LW_REGION_PEER, and builds the package for Node.
"""

import asyncio
import contextlib
import copy
import ctypes
import decimal
import errno
import fractions
import functools
import gc
import multiprocessing
import os
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import weakref
from random import Random

import lockword

FOLDER = os.path.dirname(os.path.abspath(__file__))


def until(condition):
    """Waits for the condition."""
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it never came true")
        time.sleep(0.001)


def turn(data, owner_died):
    """Adds 1 to both numbers of the file: what peer.c and peer.js of test/region do."""
    first, second = (int.from_bytes(os.pread(data, 4, at), "little") for at in (0, 4))
    if owner_died:
        second = first
    if first != second:
        raise AssertionError(f"{first} and {second}")
    os.pwrite(data, (first + 1).to_bytes(4, "little"), 0)
    os.pwrite(data, (second + 1).to_bytes(4, "little"), 4)


def turns(path, file, n):
    """A process: takes turns, every other way to lock."""
    jobs = lockword.Region(path).mutex("jobs")
    data = os.open(file, os.O_RDWR)

    async def in_task():
        async with jobs as guard:
            turn(data, guard.owner_died)

    async def in_tasks(n):
        await asyncio.gather(*(in_task() for _ in range(n)))

    for i in range(n // 10):
        for _ in range(7):
            with jobs as guard:
                turn(data, guard.owner_died)
        asyncio.run(in_tasks(3))


def in_child(path, pipe):
    with lockword.Region(path).mutex("jobs"):
        pipe.send("held")
        pipe.recv()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/dev/shm")
        self.addCleanup(folder.cleanup)
        self.addCleanup(lockword._held.clear)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "region")
        self.region = lockword.Region(self.path)
        self.jobs = self.region.mutex("jobs")

    def waiters(self, name="jobs"):
        return self.region.describe(name).waiters

    def thread(self, function):
        """Runs it in a thread; returns a function that joins it and returns what it returned."""
        results = []

        def run():
            try:
                results.append(function())
            except BaseException as error:
                results.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def join():
            thread.join(20)
            self.assertFalse(thread.is_alive())
            return results[0]

        return join

    def other_holds(self, mutex=None):
        """Another thread holds the mutex; the function that is returned lets it go."""
        held, let = threading.Event(), threading.Event()

        def hold():
            with mutex or self.jobs:
                held.set()
                let.wait()

        join = self.thread(hold)
        held.wait()
        return lambda: (let.set(), join())

    def process(self, code, *arguments):
        """A Python process with `region`, `jobs` and `say`."""
        head = """
            import asyncio, os, signal, sys, threading, time, lockword
            region = lockword.Region(sys.argv[1])
            jobs = region.mutex("jobs")
            say = lambda what: print(what, flush=True)
        """
        whole = textwrap.dedent(head) + textwrap.dedent(code)
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", whole, self.path, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def die_holding(self):
        """A process takes the mutex, and is killed."""
        process = self.process("jobs.acquire(); os.kill(os.getpid(), signal.SIGKILL)")
        process.wait()


class Opening(Case):
    def test_finds_what_others_made(self):
        again = lockword.Region(self.path, create=False)
        with self.jobs:
            self.assertFalse(again.mutex("jobs").acquire(blocking=False))
        with again.mutex("jobs"):
            self.assertTrue(self.jobs.locked())

    def test_says_why_it_cannot_open(self):
        with self.assertRaises(FileNotFoundError):
            lockword.Region(self.path + "x", create=False)
        with self.assertRaises(FileExistsError):
            lockword.Region(self.path, exclusive=True)
        with open(self.path + "y", "wb") as file:
            file.write(b"x" * 4096)
        with self.assertRaises(OSError) as caught:
            lockword.Region(self.path + "y")
        self.assertEqual(caught.exception.errno, errno.EBADMSG)
        self.assertEqual(caught.exception.filename, self.path + "y")
        self.assertIn("no region", caught.exception.strerror)
        with open(self.path, "r+b") as file:
            file.seek(8)  # the version of the layout
            file.write(b"\1")
        os.symlink(self.path, self.path + "z")
        for name, code, text in (
            ("", errno.EPROTO, "another version"),
            ("z", errno.ELOOP, "symbolic link is not followed"),
        ):
            with self.assertRaises(OSError) as caught:
                lockword.Region(self.path + name)
            self.assertEqual(caught.exception.errno, code)
            self.assertIn(text, caught.exception.strerror)

    def test_gets_its_mode(self):
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
        lockword.Region(self.path + "z", mode=0o640, size=1 << 20).close()
        self.assertEqual(os.stat(self.path + "z").st_mode & 0o777, 0o640)
        self.assertEqual(os.stat(self.path + "z").st_size, 1 << 20)

    def test_a_memfd(self):
        fd = os.memfd_create("region")
        first, second = lockword.Region(fd), lockword.Region(fd, create=False)
        os.close(fd)
        with first.mutex("a"):
            self.assertTrue(second.mutex("a").locked())

    def test_names(self):
        for name in ("", "x" * 56, "a\0b"):
            with self.assertRaises((OSError, ValueError)):
                self.region.mutex(name)
        with self.assertRaises(FileExistsError):
            self.region.semaphore("jobs")
        self.region.rwlock("shelf")
        kinds = {info.name: info.kind for info in self.region}
        self.assertEqual(kinds, {"jobs": "mutex", "shelf": "rwlock"})
        self.region.remove("shelf")
        self.assertEqual([i.name for i in self.region], ["jobs"])
        with self.assertRaises(FileNotFoundError):
            self.region.describe("shelf")
        with self.assertRaises(FileNotFoundError):
            self.region.remove("shelf")

    def test_tells_the_holder(self):
        self.region.name_thread("me")
        with self.jobs:
            found = self.region.describe("jobs")
        self.assertEqual((found.holder_pid, found.holder), (os.getpid(), "me"))
        self.assertEqual((found.acquisitions, found.state), (1, "sound"))

    def test_bytes(self):
        view = self.region.bytes("table", 100)
        self.assertEqual(bytes(view), bytes(100))
        view[3:6] = b"abc"
        other = lockword.Region(self.path)
        self.assertEqual(bytes(other.bytes("table", 100)[3:6]), b"abc")
        with self.assertRaises(FileExistsError):
            self.region.bytes("table", 101)
        with self.assertRaises(BufferError):
            self.region.close()
        self.assertEqual(view[3], ord("a"))
        view.release()
        self.region.close()


class Mutexes(Case):
    def test_is_a_threading_lock(self):
        self.assertFalse(self.jobs.locked())
        self.assertTrue(self.jobs.acquire())
        self.assertTrue(self.jobs.locked())
        self.assertEqual(self.thread(lambda: self.jobs.acquire(False))(), False)
        self.jobs.release()
        with self.assertRaises(lockword.OwnershipError):
            self.jobs.release()
        with self.assertRaises(ValueError):
            self.jobs.acquire(False, 1)
        condition = threading.Condition(self.jobs)
        ready = []
        join = self.thread(lambda: wait_for(condition, ready))
        with condition:
            ready.append(1)
            condition.notify()
        self.assertEqual(join(), True)

    def test_excludes_threads(self):
        count = [0]

        def add():
            for _ in range(1000):
                with self.jobs:
                    n = count[0]
                    if n % 100 == 0:
                        time.sleep(0)
                    count[0] = n + 1

        for join in [self.thread(add) for _ in range(4)]:
            self.assertIsNone(join())
        self.assertEqual(count[0], 4000)

    def test_times_out(self):
        with self.jobs:
            begun = time.monotonic()
            self.assertEqual(self.thread(lambda: self.jobs.acquire(timeout=0.05))(), False)
            self.assertGreaterEqual(time.monotonic() - begun, 0.05)
            caught = self.thread(lambda: self.jobs.hold(0.01).__enter__())()
            self.assertIsInstance(caught, TimeoutError)
        with self.jobs.hold(timeout=1) as guard:
            self.assertFalse(guard.owner_died)

    def test_in_the_main_thread_too(self):
        let = self.other_holds()
        self.assertFalse(self.jobs.acquire(timeout=0.02))
        timer = threading.Timer(0.02, let)
        timer.start()
        self.assertTrue(self.jobs.acquire())
        self.jobs.release()
        timer.join()

    def test_deadlock(self):
        with self.jobs:
            with self.assertRaises(lockword.DeadlockError):
                self.jobs.acquire()

    def test_guards(self):
        with self.jobs as guard:
            guard.release()
            self.assertFalse(self.jobs.locked())
            with self.assertRaises(lockword.OwnershipError):
                guard.release()
        with self.assertRaises(KeyError):
            with self.jobs:
                raise KeyError
        self.assertFalse(self.jobs.locked())

    def test_tells_of_a_death(self):
        self.die_holding()
        with self.jobs as guard:
            self.assertTrue(guard.owner_died)
        with self.jobs as guard:
            self.assertFalse(guard.owner_died)
        self.die_holding()
        self.assertTrue(self.jobs.acquire())
        self.assertTrue(self.jobs.owner_died)
        self.jobs.release()
        self.assertEqual(self.region.describe("jobs").recoveries, 2)

    def test_who_cannot_mend_tells_the_next(self):
        self.die_holding()
        for _ in range(2):
            with self.assertRaises(KeyError):
                with self.jobs as guard:
                    self.assertTrue(guard.owner_died)
                    raise KeyError
        with self.jobs as guard:
            self.assertTrue(guard.owner_died)
        with self.jobs as guard:
            self.assertFalse(guard.owner_died)

    def test_a_waiter_goes_on_at_a_death(self):
        process = self.process("jobs.acquire(); say('held'); time.sleep(60)")
        process.stdout.readline()
        join = self.thread(lambda: self.jobs.hold().__enter__().owner_died)
        until(lambda: self.waiters() == 1)
        process.kill()
        self.assertEqual(join(), True)

    def test_abandon_and_reset(self):
        self.assertFalse(self.jobs.reset())
        with self.jobs as guard:
            join = self.thread(self.jobs.acquire)
            until(lambda: self.waiters() == 1)
            guard.abandon()
        self.assertIsInstance(join(), lockword.AbandonedError)
        with self.assertRaises(lockword.AbandonedError):
            self.jobs.acquire(blocking=False)
        self.assertTrue(self.jobs.reset())
        self.jobs.release()
        with self.jobs as guard:
            self.assertFalse(guard.owner_died)

    def test_removed(self):
        self.region.remove("jobs")
        with self.assertRaises(lockword.RemovedError):
            self.jobs.acquire()
        with self.region.mutex("jobs"):
            with self.assertRaises(OSError) as caught:
                self.region.remove("jobs")
            self.assertFalse(self.jobs.locked())  # though another one of that name is
            with self.assertRaises(lockword.RemovedError):
                self.jobs.acquire(False)
            with self.assertRaises(lockword.OwnershipError):
                self.jobs.release()
        self.assertEqual(caught.exception.errno, errno.EBUSY)


def wait_for(condition, ready):
    with condition:
        return condition.wait_for(lambda: bool(ready), 10)


class Interruptions(Case):
    def test_ctrl_c(self):
        for code in ("jobs.acquire()", "region.event('go').wait()", "with jobs: pass"):
            with self.subTest(code):
                process = self.process(f"""
                    say("begins")
                    try:
                        {code}
                    except KeyboardInterrupt:
                        say("interrupted")
                """)
                name = "go" if "go" in code else "jobs"
                self.region.event("go")
                with self.jobs:
                    process.stdout.readline()
                    until(lambda: self.waiters(name) == 1)
                    process.send_signal(signal.SIGINT)
                    self.assertEqual(process.communicate(timeout=20)[0], "interrupted\n")
                self.assertEqual(self.waiters(name), 0)

    def test_goes_on_after_a_handler(self):
        process = self.process("""
            # print() may be interrupted by the next signal, and refuses to be called within itself.
            signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"handled\\n"))
            say("begins")
            print(jobs.acquire(timeout=20))
        """)
        with self.jobs:
            process.stdout.readline()
            until(lambda: self.waiters() == 1)
            for _ in range(3):
                process.send_signal(signal.SIGUSR1)
                self.assertEqual(process.stdout.readline(), "handled\n")
            until(lambda: self.waiters() == 1)
        self.assertEqual(process.communicate(timeout=20)[0], "True\n")

    def test_holds_nothing_after_an_interruption(self):
        # The signal comes when C has just succeeded.
        class Stop(Exception):
            pass

        def stop(*_):
            raise Stop

        handler = signal.signal(signal.SIGUSR1, stop)
        self.addCleanup(signal.signal, signal.SIGUSR1, handler)
        succeed = ctypes.CDLL(None)["raise"]
        undone = []
        with self.assertRaises(Stop):
            lockword._block(
                self.region, succeed, (int(signal.SIGUSR1),), 0, lambda: undone.append(1)
            )
        self.assertEqual(undone, [1])
        self.assertEqual(signal.set_wakeup_fd(-1), -1)

    def test_keeps_the_wakeup_fd(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        before = signal.set_wakeup_fd(writer)
        self.addCleanup(signal.set_wakeup_fd, before)
        handler = signal.signal(signal.SIGUSR1, lambda *_: None)
        self.addCleanup(signal.signal, signal.SIGUSR1, handler)
        process = self.process("""
            jobs.acquire(); say("held")
            while not region.describe("jobs").waiters: time.sleep(0.001)
            os.kill(int(sys.argv[2]), signal.SIGUSR1)
            time.sleep(0.05)
            jobs.release()
        """, str(os.getpid()))
        process.stdout.readline()
        with self.jobs:
            pass
        self.assertEqual(os.read(reader, 8), bytes([signal.SIGUSR1]))
        self.assertEqual(signal.set_wakeup_fd(writer), writer)

    def test_waits_in_a_subinterpreter(self):
        # Its main thread handles no signals.
        process = self.process("""
            try:
                import _interpreters as interpreters
            except ImportError:
                import _xxsubinterpreters as interpreters
            code = "import sys; sys.path = %r; import lockword; region = lockword.Region(%r)\\n" % (
                sys.path, sys.argv[1])
            code += "print(region.mutex('jobs').acquire(timeout=0.01), flush=True)"
            failed = interpreters.run_string(interpreters.create(), code)
            if failed:
                say(failed)
        """)
        with self.jobs:
            said, complaint = process.communicate(timeout=20)
        if "does not support loading in subinterpreters" in complaint:
            self.skipTest(complaint)  # Python 3.12 has no ctypes there
        self.assertEqual((said, complaint), ("False\n", ""))

    def test_a_handler_may_wait_within_a_wait(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        before = signal.set_wakeup_fd(writer)
        self.addCleanup(signal.set_wakeup_fd, before)
        slots, handled = self.region.semaphore("slots", 0), []

        def handle(*_):
            self.assertFalse(slots.acquire(timeout=0.01))
            if handled:
                os.kill(os.getpid(), signal.SIGUSR2)
                self.assertFalse(slots.acquire(timeout=0.01))
            handled.append(1)

        for number, how in ((signal.SIGUSR1, handle), (signal.SIGUSR2, lambda *_: None)):
            self.addCleanup(signal.signal, number, signal.signal(number, how))
        held = threading.Event()

        def tell():
            """Signals the main thread when it waits, and waits until it has handled that."""
            with self.jobs:
                held.set()
                for n in (1, 2):
                    until(lambda: self.waiters() == 1)
                    os.kill(os.getpid(), signal.SIGUSR1)
                    until(lambda: len(handled) == n)
                until(lambda: self.waiters() == 1)

        join = self.thread(tell)
        held.wait()
        with self.jobs:
            self.assertIsNone(join())
        self.assertEqual(signal.set_wakeup_fd(writer), writer)
        told = sorted(os.read(reader, 1)[0] for _ in range(3))
        self.assertEqual(told, [signal.SIGUSR1, signal.SIGUSR1, signal.SIGUSR2])


class Others(Case):
    def test_semaphore(self):
        printers = self.region.semaphore("printers", 3)
        with printers, printers:
            self.assertEqual(printers.available, 1)
            self.assertFalse(printers.acquire(blocking=False, n=2))
            self.assertFalse(printers.acquire(timeout=0.01, n=2))
        join = self.thread(lambda: printers.acquire(n=5))
        until(lambda: self.waiters("printers") == 1)
        printers.release(2)
        self.assertEqual(join(), True)
        with self.assertRaises(ValueError):
            printers.acquire(n=2**31)
        self.assertEqual(self.region.semaphore("printers", 7).available, 0)

    def test_rwlock(self):
        shelf = self.region.rwlock("shelf")
        with shelf.read:
            self.assertEqual(self.thread(lambda: shelf.read.acquire(False))(), True)
            self.assertFalse(shelf.write.acquire(timeout=0.01))
            shelf.read.release()
        with shelf.write as guard:
            self.assertFalse(guard.owner_died)
            self.assertEqual(self.thread(lambda: shelf.read.acquire(timeout=0.01))(), False)
            with self.assertRaises(TypeError):
                guard.abandon()
            with self.assertRaises(lockword.DeadlockError):
                shelf.write.acquire()
        with self.assertRaises(lockword.OwnershipError):
            shelf.write.release()

    def test_a_table_outlives_its_holders(self):
        table = self.region.rwtable("shelf")
        with table.read, table.read:
            with self.assertRaises(lockword.DeadlockError):
                table.write.acquire()
        with table.write as guard:
            self.assertFalse(guard.owner_died)
            self.assertEqual(self.thread(lambda: table.read.acquire(timeout=0.01))(), False)
        for side, died in (("read", False), ("write", True)):
            process = self.process(
                f"""
                region.rwtable("shelf").{side}.acquire()
                os.kill(os.getpid(), signal.SIGKILL)
                """
            )
            self.assertEqual(process.wait(20), -signal.SIGKILL)
            for _ in range(2):
                with table.read as guard:
                    self.assertEqual(guard.owner_died, died)

        async def in_tasks():
            async with table.write as guard:
                self.assertTrue(guard.owner_died)
            async with table.read as guard:
                self.assertFalse(guard.owner_died)

        asyncio.run(in_tasks())
        self.assertEqual(self.region.describe("shelf").kind, "rwtable")
        with self.assertRaises(lockword.OwnershipError):
            table.write.release()

    def test_a_table_tells_of_a_death_without_a_guard(self):
        table = self.region.rwtable("shelf")
        process = self.process(
            """
            region.rwtable("shelf").write.acquire()
            os.kill(os.getpid(), signal.SIGKILL)
            """
        )
        self.assertEqual(process.wait(20), -signal.SIGKILL)
        for side in (table.read, table.write):
            self.assertTrue(side.acquire(timeout=10))
            self.assertTrue(side.owner_died)
            side.release()
        self.assertTrue(table.read.acquire(blocking=False))
        self.assertFalse(table.read.owner_died)
        table.read.release()

    def test_a_table_that_is_abandoned(self):
        table = self.region.rwtable("shelf")
        self.assertFalse(table.reset())
        with self.assertRaises(lockword.OwnershipError):
            table.write.abandon()
        with table.read as guard:
            with self.assertRaises(TypeError):
                guard.abandon()
        with table.write as guard:
            guard.abandon()
        for side in (table.read, table.write):
            with self.assertRaises(lockword.AbandonedError):
                side.acquire()
        self.assertTrue(table.reset())
        table.write.abandon()
        self.assertTrue(table.reset())
        table.write.release()
        with table.read as guard:
            self.assertFalse(guard.owner_died)

    def test_permits(self):
        gpus = self.region.permits("gpus", 3)
        self.assertEqual((gpus.count, gpus.available), (3, 3))
        with gpus as first, gpus.hold(1) as second:
            third = gpus.acquire()
            self.assertEqual({permit.number for permit in (first, second, third)}, {0, 1, 2})
            self.assertEqual(gpus.available, 0)
            self.assertIsNone(gpus.acquire(blocking=False))
            self.assertIsNone(gpus.acquire(timeout=0.01))
            with self.assertRaises(TimeoutError):
                gpus.hold(0.01).__enter__()
            join = self.thread(gpus.acquire)
            until(lambda: self.waiters("gpus") == 1)
            number = second.number
            second.release()
            got = join()
            self.assertEqual(got.number, number)
            self.assertFalse(got.owner_died)
            with self.assertRaises(TypeError):
                third.abandon()
            self.assertIsInstance(self.thread(third.release)(), lockword.OwnershipError)
            third.release()
            with self.assertRaises(lockword.OwnershipError):
                third.release()
        until(lambda: gpus.available == 3)  # the thread that had one has ended
        for n in (0, 253, 2**32 + 1):
            with self.assertRaises(ValueError):
                self.region.permits("others", n)
        with self.assertRaises(FileExistsError):
            self.region.permits("gpus", 4)
        with self.assertRaises(FileExistsError):
            self.region.mutex("gpus")

    def test_permits_outlive_their_owners(self):
        gpus = self.region.permits("gpus", 2)
        process = self.process("""
            permits = region.permits("gpus", 2)
            held = [permits.acquire(), permits.acquire()]
            say(sorted(permit.number for permit in held))
            time.sleep(60)
        """)
        self.assertEqual(process.stdout.readline(), "[0, 1]\n")
        info = self.region.describe("gpus")
        self.assertEqual((info.kind, info.permits, info.held), ("permits", 2, 2))
        join = self.thread(lambda: gpus.acquire(timeout=20).number)
        until(lambda: self.waiters("gpus") == 1)
        process.kill()
        self.assertIn(join(), (0, 1))
        until(lambda: gpus.available == 2)

        # Dropped permits stay taken, and their region open, until their thread ends.
        def drop():
            lockword.Region(self.path).permits("gpus", 2).acquire()
            gc.collect()
            self.assertEqual(gpus.available, 1)

        self.assertIsNone(self.thread(drop)())
        until(lambda: gpus.available == 2)

    def test_each_block_gives_back_its_own_permit(self):
        """Blocks of generators, and of an ExitStack, end in any order."""
        gpus = self.region.permits("gpus", 4)
        timed = gpus.hold(1)  # one object for several blocks
        for lock in gpus, timed:

            def block():
                with lock as permit:
                    yield permit.number

            with self.subTest(lock), contextlib.ExitStack() as stack:
                first, second = block(), block()
                numbers = next(first), next(second)
                third = stack.enter_context(lock)
                first.close()
                with lock as again:
                    self.assertEqual(again.number, numbers[0])
                stack.close()
                with lock as again, lock as last:
                    self.assertEqual({again.number, last.number}, {third.number, numbers[0]})
                second.close()
                self.assertEqual(gpus.available, 4)
        with self.assertRaises(lockword.OwnershipError):
            gpus.__exit__(None, None, None)

    def test_an_open_block_keeps_nothing_else(self):
        class Job:
            def __init__(self, lock):
                self.lock, self.steps = lock, self.run()
                next(self.steps)

            def run(self):
                with self.lock:
                    yield

        def begin(lock):
            job = Job(lock)
            seen.append(weakref.ref(job))
            return contextlib.ExitStack()

        def enter(lock):
            local = Random()
            seen.append(weakref.ref(local))
            stack = contextlib.ExitStack()
            stack.enter_context(lock)
            return stack

        for lock in (self.jobs, self.jobs.hold(), self.region.semaphore("slots", 9)):
            for function in (begin, enter):
                with self.subTest(lock=lock, function=function):
                    seen = []
                    with function(lock):
                        gc.collect()
                        self.assertIsNone(seen[0]())
                    with lock:
                        pass

    def test_a_block_ends_in_another_thread(self):
        slots, jobs = self.region.semaphore("slots", 1), self.jobs

        def block(lock):
            with lock:
                yield

        for lock, error in (slots, type(None)), (jobs, lockword.OwnershipError):
            generator = block(lock)
            next(generator)
            self.assertIs(type(self.thread(generator.close)()), error)
        self.assertEqual(slots.available, 1)
        jobs.release()

    def test_event(self):
        go = self.region.event("go")
        self.assertFalse(go.wait(0.01))
        joins = [self.thread(go.wait) for _ in range(3)]
        until(lambda: self.waiters("go") == 3)
        go.set()
        self.assertEqual([join() for join in joins], [True] * 3)
        self.assertTrue(go.is_set() and go.clear())
        self.assertFalse(go.is_set())
        one = self.region.event("one", auto=True)
        one.set()
        self.assertTrue(one.wait())
        self.assertFalse(one.is_set())

    def test_counter(self):
        left = self.region.counter("left", 5)
        self.assertEqual((left.add(), left.add(-2), left.value), (5, 6, 4))
        self.assertFalse(left.wait_at_least(5, 0.01))
        self.assertTrue(left.wait_at_most(4))
        join = self.thread(lambda: left.wait_change(4))
        until(lambda: self.waiters("left") == 1)
        left.add(3)
        self.assertEqual(join(), True)
        with self.assertRaises(OverflowError):
            left.add(-8)

    def test_a_wrong_timeout_is_refused_also_if_nothing_is_held(self):
        slots, left = self.region.semaphore("slots", 1), self.region.counter("left", 5)
        for wrong, kind in (("1", TypeError), (float("nan"), ValueError)):
            for call in (
                lambda: self.jobs.acquire(timeout=wrong),
                lambda: self.jobs.hold(wrong).__enter__(),
                lambda: asyncio.run(self.jobs.acquire_async(wrong)),
                lambda: slots.acquire(timeout=wrong),
                lambda: left.wait_at_least(5, wrong),
                lambda: asyncio.run(left.wait_at_least_async(5, wrong)),
            ):
                with self.assertRaises(kind):
                    call()
        with self.assertRaises(ValueError):
            self.jobs.acquire(timeout=-2)
        self.assertEqual((self.jobs.locked(), slots.available), (False, 1))

    def test_any_real_number_is_a_timeout_also_if_it_has_to_wait(self):
        left = self.region.counter("left", 5)
        with self.jobs:
            for brief in (decimal.Decimal("0.001"), fractions.Fraction(1, 1000)):
                acquire = self.thread(lambda: self.jobs.acquire(timeout=brief))
                self.assertIs(acquire(), False)
                self.assertIs(left.wait_at_least(6, brief), False)
                self.assertIs(asyncio.run(left.wait_at_least_async(6, brief)), False)

    def test_what_does_not_fit_into_c_is_refused(self):
        slots, left = self.region.semaphore("slots", 1), self.region.counter("left", 5)
        file = open(self.path, "r+b")
        self.addCleanup(file.close)
        for call in (
            lambda: self.region.semaphore("more", -1),
            lambda: self.region.bytes("none", 0),
            lambda: self.region.name_thread("n" * 32),
            lambda: self.region.semaphore("more", 2**28),
            lambda: self.region.counter("far", 2**30),
            lambda: slots.acquire(n=2**32),
            lambda: slots.release(2**32 + 1),
            lambda: left.wait_at_least(2**32),
            lambda: left.wait_change(-1),
            lambda: asyncio.run(left.wait_at_most_async(2**32 + 5)),
            lambda: lockword.Region(self.path + "\0more"),
            lambda: lockword.Region(self.path + "more", size=2**64 + 400000),
            lambda: lockword.Region(self.path + "more", size=-1),
            lambda: lockword.Region(self.path + "more", mode=2**32 + 0o644),
            lambda: lockword.Region(self.path + "more", mode=-1),
            lambda: lockword.Region(2**32 + file.fileno()),
            lambda: self.region.bytes("none", 2**64 + 16),
        ):
            with self.assertRaises(ValueError):
                call()
        self.assertFalse(os.path.exists(self.path + "more"))
        with self.assertRaises(OverflowError):
            left.add(2**32 + 1)
        with self.assertRaises(TypeError):
            left.add(1.5)
        self.assertEqual((slots.available, left.value), (1, 5))

    def test_what_is_no_name_and_no_number_is_refused_in_words(self):
        slots = self.region.semaphore("slots", 1)
        for wrong in (5, b"jobs", None):
            for make in (self.region.mutex, self.region.semaphore, self.region.describe):
                with self.assertRaisesRegex(TypeError, "a name must be a str, not "):
                    make(wrong)
        for wrong in (1.5, "1", None):
            for call in (
                lambda wrong: self.region.permits("gpus", wrong),
                lambda wrong: self.region.semaphore("more", wrong),
                lambda wrong: slots.acquire(n=wrong),
                lambda wrong: slots.release(wrong),
            ):
                with self.assertRaisesRegex(TypeError, "interpreted as an integer"):
                    call(wrong)
        self.assertEqual(slots.available, 1)
        self.region.permits("gpus", 3)
        for words, call in (
            ("another number of permits", lambda: self.region.permits("gpus", 4)),
            ("at most 55 bytes", lambda: self.region.mutex("x" * 56)),
        ):
            with self.assertRaisesRegex(OSError, words):
                call()


async def begun():
    """The tasks that were made have begun to wait."""
    await asyncio.sleep(0.001)


def run_async(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 30))


def in_a_loop(test):
    """A test that is the first task of an event loop."""
    return functools.wraps(test)(lambda self: run_async(test(self)))


class Stop(Exception):
    """What a signal's handler raises."""


@contextlib.contextmanager
def stopped_at(n, *names, first=lambda: None):
    """
    Raises Stop before the n-th line of these functions of lockword, after a call of `first`.
    Yields a list: of Stop.
    """
    raised = []

    def trace(frame, event, _):
        nonlocal n
        code = frame.f_code
        if code.co_filename != lockword.__file__ or code.co_name not in names:
            return None
        if event == "line":
            n -= 1
            if n == 0:
                first()
                raised.append(Stop(f"{code.co_name}, line {frame.f_lineno}"))
                raise raised[0]
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield raised
    finally:
        sys.settrace(before)


class Tasks(Case):
    @in_a_loop
    async def test_the_loop_goes_on(self):
        let = self.other_holds()
        task = asyncio.ensure_future(self.jobs.acquire_async())
        await begun()
        let()
        guard = await task
        self.assertTrue(self.jobs.locked())
        guard.release()
        self.assertFalse(self.jobs.locked())

    @in_a_loop
    async def test_excludes_tasks_in_their_order(self):
        order = []

        async def task(i):
            async with self.jobs:
                before = len(order)
                await asyncio.sleep(0)
                self.assertEqual(len(order), before)
                order.append(i)

        let = self.other_holds()
        tasks = [asyncio.ensure_future(task(i)) for i in range(50)]
        await begun()
        let()
        await asyncio.gather(*tasks)
        self.assertEqual(order, list(range(50)))

    @in_a_loop
    async def test_times_out(self):
        let = self.other_holds()
        first = asyncio.ensure_future(self.jobs.acquire_async(0.05))
        second = asyncio.ensure_future(self.jobs.acquire_async(0.01))
        for task in (second, first):
            with self.assertRaises(asyncio.TimeoutError):
                await task
        let()
        async with self.jobs.hold(1):
            pass

    def test_cancelled_tasks_withdraw(self):
        async def main():
            let = self.other_holds()
            tasks = [asyncio.ensure_future(self.jobs.acquire_async()) for _ in range(3)]
            await begun()
            tasks[1].cancel()
            tasks[0].cancel()
            await asyncio.wait(tasks[:2])
            self.assertTrue(tasks[0].cancelled() and tasks[1].cancelled())
            let()
            (await tasks[2]).release()

        run_async(main())
        self.assertFalse(self.jobs.locked())

    def test_a_cancelled_task_gives_back_what_it_got(self):
        async def main():
            for i in range(50):
                let = self.other_holds()
                task = asyncio.ensure_future(self.jobs.acquire_async())
                await begun()
                let()
                for _ in range(i % 4):
                    await asyncio.sleep(0.0002)
                task.cancel()
                try:
                    (await task).release()
                except asyncio.CancelledError:
                    pass
                with self.jobs.hold(20):  # blocks the loop
                    pass

        run_async(main())
        self.assertTrue(self.jobs.acquire(timeout=10))
        self.jobs.release()

    @in_a_loop
    async def test_cancelled_after_the_grant_and_before_the_task_runs(self):
        """One run of C's loop grants both, and the first to go on cancels the other."""
        one = self.region.semaphore("one", 0)
        tasks = []

        async def first():
            await one.acquire_async()
            tasks[1].cancel()

        tasks += [asyncio.ensure_future(first()), asyncio.ensure_future(one.acquire_async())]
        await begun()
        one.release(2)
        await asyncio.wait(tasks)
        self.assertTrue(tasks[1].cancelled())
        self.assertEqual(one.available, 1)

    @in_a_loop
    async def test_a_handler_that_raises_while_a_wait_begins(self):
        for n in range(1, 99):
            let = self.other_holds()
            with stopped_at(n, "result") as raised:
                task = asyncio.ensure_future(self.jobs.acquire_async())
                await begun()
            with self.subTest(raised):
                let()
                if not raised:
                    (await task).release()
                    break
                with self.assertRaises(Stop):
                    await task
                async with self.jobs.hold(10):
                    pass
                self.assertFalse(lockword._Request._pending)
        self.assertGreater(n, 3)

    @in_a_loop
    async def test_a_handler_that_raises_when_a_wait_was_granted(self):
        for lock in (self.jobs, self.region.rwlock("config").write):
            for n in range(1, 99):
                let = self.other_holds(lock)
                with stopped_at(n, "result", first=let) as raised:
                    task = asyncio.ensure_future(lock.acquire_async())
                    await begun()
                if not raised:
                    let()
                    (await task).release()
                    break
                with self.assertRaises(Stop):
                    await task
                async with lock.hold(10):
                    pass
            self.assertGreater(n, 3)

    @in_a_loop
    async def test_a_handler_that_raises_while_tasks_are_told(self):
        """What it raised arrives at the loop, and the task that it met gets its lock."""
        loop, heard = asyncio.get_running_loop(), []
        loop.set_exception_handler(lambda _, context: heard.append(context["exception"]))
        for n in range(1, 99):
            let = self.other_holds()
            task = asyncio.ensure_future(self.jobs.acquire_async())
            await begun()
            let()
            with stopped_at(n, "_run", "_tell", "_ended", "_forget", "_done") as raised:
                (await asyncio.wait_for(task, 10)).release()
            self.assertEqual(heard, raised)
            heard.clear()
            if not raised:
                break
        self.assertGreater(n, 3)
        self.assertFalse(lockword._Request._pending or lockword._Request._results)

    @in_a_loop
    async def test_a_handler_that_cancels_whom_it_meets(self):
        """As asyncio.run does at Ctrl-C: between the grant and the news of it."""

        class Future(asyncio.Future):
            def set_result(self, result):
                self.cancel()
                super().set_result(result)

        loop = asyncio.get_running_loop()
        let = self.other_holds()
        create, loop.create_future = loop.create_future, lambda: Future(loop=loop)
        task = asyncio.ensure_future(self.jobs.acquire_async())
        await asyncio.sleep(0)
        loop.create_future = create
        let()
        with self.assertRaises(asyncio.CancelledError):
            await task
        async with self.jobs.hold(10):
            pass

    @in_a_loop
    async def test_a_block_of_a_generator_ends_in_another_task(self):
        """Whom nobody reads to its end, asyncio closes in a task of its own."""

        async def block():
            async with self.jobs:
                yield

        async for _ in block():
            break
        gc.collect()
        async with self.jobs.hold(10):
            pass

    @in_a_loop
    async def test_one_hold_for_many_tasks(self):
        slots = self.region.semaphore("slots", 4)
        hold = slots.hold(10)

        async def task():
            async with hold:
                await asyncio.sleep(0.001)

        await asyncio.gather(*(task() for _ in range(12)))
        self.assertEqual(slots.available, 4)

    @in_a_loop
    async def test_tells_of_a_death(self):
        process = self.process("jobs.acquire(); say('held'); time.sleep(60)")
        process.stdout.readline()
        task = asyncio.ensure_future(self.jobs.acquire_async())
        await begun()
        process.kill()
        with self.assertRaises(KeyError):
            with await task as guard:
                self.assertTrue(guard.owner_died and self.jobs.owner_died)
                raise KeyError
        async with self.jobs as guard:
            self.assertTrue(guard.owner_died)
        async with self.jobs as guard:
            self.assertFalse(guard.owner_died or self.jobs.owner_died)

    def test_no_false_death_at_the_end(self):
        process = self.process("""
            async def task():
                async with jobs: await asyncio.sleep(0.001)
            async def main():
                await asyncio.gather(*(task() for _ in range(20)))
            asyncio.run(main())
        """)
        self.assertEqual(process.communicate(timeout=20), ("", ""))
        with self.jobs as guard:
            self.assertFalse(guard.owner_died)

    @in_a_loop
    async def test_blocking_for_a_task_of_the_same_thread(self):
        let = self.other_holds()
        task = asyncio.ensure_future(self.jobs.acquire_async())
        await begun()
        let()
        with await task:
            with self.assertRaises(lockword.DeadlockError):
                self.jobs.acquire()

    @in_a_loop
    async def test_the_others(self):
        one, shelf = self.region.semaphore("one", 1), self.region.rwlock("shelf")
        go, left = self.region.event("go", auto=True), self.region.counter("left")
        async with one, shelf.write:
            tasks = [
                asyncio.ensure_future(wait)
                for wait in (
                    one.acquire_async(),
                    shelf.read.acquire_async(),
                    go.wait_async(),
                    left.wait_at_least_async(2),
                )
            ]
            await begun()
            self.assertFalse(await left.wait_change_async(0, 0.01))
            self.assertFalse(await left.wait_at_least_async(1, 0.01))
            self.assertTrue(await left.wait_at_most_async(0))
            go.set()
            left.add(2)
        got = await asyncio.gather(*tasks)
        self.assertEqual(got[2:], [True, True])
        for guard in got[:2]:
            guard.release()
        self.assertFalse(go.is_set())
        async with shelf.write:
            pass

    @in_a_loop
    async def test_permits(self):
        gpus = self.region.permits("gpus", 2)
        async with gpus as first, gpus.hold(1) as second:
            self.assertEqual({first.number, second.number}, {0, 1})
            with self.assertRaises(asyncio.TimeoutError):
                await gpus.acquire_async(0.01)
            tasks = [asyncio.ensure_future(gpus.acquire_async()) for _ in range(3)]
            await begun()
            tasks[0].cancel()
            number = first.number
            first.release()
            permit = await tasks[1]
            self.assertEqual(permit.number, number)
            permit.release()
            (await tasks[2]).release()
            first = await gpus.acquire_async()  # its block ends with another one's release
        self.assertEqual(gpus.available, 1)
        first.release()
        self.assertEqual(gpus.available, 2)

    def test_cancelled_at_any_moment(self):
        """Tasks and a thread take turns, and tasks are cancelled all the time: nothing is lost."""
        table = self.region.rwtable("table")
        gpus = self.region.permits("gpus", 2)
        one = self.region.semaphore("one", 1)
        kinds = [(self.jobs, 1), (table.read, 3), (table.write, 1), (gpus, 2), (one, 1)]
        random = Random(1)
        stop = threading.Event()

        def take_turns():
            other = lockword.Region(self.path)
            locks = [
                other.mutex("jobs"),
                other.rwtable("table").write,
                other.permits("gpus", 2),
                other.permits("gpus", 2),
                other.semaphore("one"),
            ]
            turns = 0
            while not stop.is_set():
                for lock in locks:
                    with lock.hold(20):
                        turns += 1
                        time.sleep(0.0002)
            return turns

        async def task(lock, inside, most):
            async with lock.hold(20 if random.random() < 0.9 else random.random() / 1000):
                inside[0] += 1
                try:
                    self.assertLessEqual(inside[0], most)
                    await asyncio.sleep(random.random() / 2000)
                finally:
                    inside[0] -= 1

        async def some(lock, most):
            got = 0
            for _ in range(40):
                inside = [0]
                tasks = [asyncio.ensure_future(task(lock, inside, most)) for _ in range(3)]
                for _ in range(random.randrange(4)):
                    await asyncio.sleep(random.random() / 1000)
                victim = random.choice(tasks)
                victim.cancel()
                for ended in await asyncio.gather(*tasks, return_exceptions=True):
                    got += ended is None
                    if ended is not None and not isinstance(ended, asyncio.CancelledError):
                        self.assertIsInstance(ended, asyncio.TimeoutError)
            return got

        async def main():
            return await asyncio.gather(*(some(*kind) for kind in kinds))

        join = self.thread(take_turns)
        got = run_async(main())
        stop.set()
        self.assertGreater(join(), 0)
        self.assertGreater(min(got), 0)
        self.assertEqual((gpus.available, one.available), (2, 1))
        for lock in (self.jobs, table.write):
            with lock.hold(10) as guard:
                self.assertFalse(guard.owner_died)

    @in_a_loop
    async def test_readers_of_a_table_stand_behind_a_writer(self):
        table = self.region.rwtable("table")
        order = []

        def write():
            with table.write:
                order.append("writer")

        async def read(who):
            async with table.read:
                order.append(who)

        async with table.read:
            join = self.thread(write)
            while self.waiters("table") != 1:
                await asyncio.sleep(0.001)
            late = asyncio.ensure_future(read("late"))
            await begun()
            self.assertEqual(order, [])
        await late
        join()
        self.assertEqual(order, ["writer", "late"])

    @in_a_loop
    async def test_a_set_is_for_one_task(self):
        """A cancelled task passes on the set that it has consumed."""
        go = self.region.event("go", auto=True)
        for i in range(100):
            tasks = [asyncio.ensure_future(go.wait_async()) for _ in range(3)]
            await begun()
            go.set()
            for _ in range(i % 4):
                await asyncio.sleep(0.0001)
            tasks[0].cancel()
            done = await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
            self.assertFalse(tasks[2].done(), done)
            if tasks[0].cancelled():
                await tasks[1]
            tasks[1].cancel()
            tasks[2].cancel()
            await asyncio.wait(tasks)
            self.assertFalse(go.is_set())

    @in_a_loop
    async def test_a_set_is_for_all_that_wait(self):
        go = self.region.event("go")
        threads = threading.active_count()
        for i in range(100):
            tasks = [asyncio.ensure_future(go.wait_async()) for _ in range(5)]
            await begun()
            late = asyncio.ensure_future(go.wait_async())
            await asyncio.sleep(0)
            self.thread(lambda: (go.set(), go.clear()))()
            for _ in range(i % 4):  # a task that comes now has missed the set
                await asyncio.sleep(0.00005)
            next_one = asyncio.ensure_future(go.wait_async(20))
            tasks.pop().cancel()
            self.assertEqual(await asyncio.gather(*tasks, late), [True] * 5)
            self.assertFalse(next_one.done())
            await begun()
            go.set()
            self.assertTrue(await next_one)
            go.clear()
        self.assertLess(threading.active_count(), threads + 1)
        self.assertFalse(await go.wait_async(0.01))
        self.assertFalse(await go.wait_async(0))

    @in_a_loop
    async def test_counts_of_many_tasks(self):
        left = self.region.counter("left")
        for i in range(50):
            tasks = [asyncio.ensure_future(left.wait_at_least_async(i + 1)) for _ in range(4)]
            await begun()
            tasks.pop().cancel()
            left.add()
            for _ in range(i % 4):
                await asyncio.sleep(0.00005)
            tasks.append(asyncio.ensure_future(left.wait_change_async(i)))
            tasks.append(asyncio.ensure_future(left.wait_at_least_async(i + 1)))
            self.assertEqual(await asyncio.gather(*tasks), [True] * 5)

    @in_a_loop
    async def test_a_thousand_of_each_pend(self):
        """They need one thread and no CPU, and withdraw together."""
        let = self.other_holds()
        gpus = self.region.permits("gpus", 1)
        held = gpus.acquire()
        table = self.region.rwtable("table")
        table.write.acquire()
        calls = {
            "jobs": self.jobs.acquire_async,
            "gpus": gpus.acquire_async,
            "table": table.read.acquire_async,
            "go": self.region.event("go").wait_async,
            "one": self.region.event("one", auto=True).wait_async,
            "left": functools.partial(self.region.counter("left").wait_at_least_async, 1),
        }
        threads = threading.active_count()
        tasks = [asyncio.ensure_future(call()) for call in calls.values() for _ in range(1000)]
        await begun()
        self.assertLess(threading.active_count(), threads + 1)
        before = time.process_time()
        await asyncio.sleep(0.5)
        self.assertLess(time.process_time() - before, 0.05)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        self.assertTrue(all(task.cancelled() for task in tasks))
        held.release()
        table.write.release()
        let()
        for lock in (self.jobs, gpus, table.write):
            async with lock.hold(10):
                pass

    def test_a_process_ends_while_its_tasks_wait(self):
        gpus = self.region.permits("gpus", 1)
        go = self.region.event("go")
        for end in ("return", "sys.exit()", "os._exit(0)", "raise SystemExit"):
            with self.subTest(end), self.jobs, gpus:
                process = self.process(f"""
                    gpus, go = region.permits("gpus", 1), region.event("go")
                    async def main():
                        calls = [jobs.acquire_async, gpus.acquire_async, go.wait_async]
                        tasks = [asyncio.ensure_future(call()) for call in calls * 100]
                        await asyncio.sleep(0.01)
                        {end}
                    loop = asyncio.new_event_loop()
                    {"asyncio.run(main())" if end == "return" else
                     "loop.run_until_complete(main())"}
                """)
                _, errors = process.communicate(timeout=20)
                self.assertEqual(process.returncode, 0, errors)
            with self.jobs.hold(10) as guard, gpus.hold(10):
                self.assertFalse(guard.owner_died)
        self.assertFalse(go.is_set())

    @in_a_loop
    async def test_close_ends_waits(self):
        other = lockword.Region(self.path)
        held = other.permits("gpus", 1).acquire()
        go, left = self.region.event("go"), self.region.counter("left")
        one, gpus = self.region.event("one", auto=True), self.region.permits("gpus", 1)
        calls = [
            gpus.acquire_async,
            go.wait_async,
            one.wait_async,
            lambda: left.wait_change_async(0),
        ]
        tasks = [asyncio.ensure_future(call()) for call in calls for _ in range(3)]
        await begun()
        self.region.close()
        for task in tasks:
            with self.assertRaises(lockword.ClosedError):
                await task
        held.release()

    @in_a_loop
    async def test_another_thread_closes(self):
        let = self.other_holds()
        task = asyncio.ensure_future(self.jobs.acquire_async())
        await begun()
        join = self.thread(self.region.close)
        with self.assertRaises(lockword.ClosedError):
            await task
        join()
        let()

    @in_a_loop
    async def test_a_coroutine_that_is_dropped_withdraws(self):
        let = self.other_holds()
        wait = self.jobs.acquire_async()
        wait.send(None)
        await begun()
        wait.close()
        let()
        with self.jobs.hold(10):  # blocks the loop
            pass

    def test_a_loop_that_was_closed_while_a_task_waits(self):
        let = self.other_holds()
        loop = asyncio.new_event_loop()
        task = loop.create_task(self.jobs.acquire_async())
        loop.run_until_complete(begun())
        loop.close()

        async def main():
            later = asyncio.ensure_future(self.jobs.acquire_async())
            await begun()
            let()
            (await later).release()
            self.assertFalse(task.done())

        run_async(main())
        task._log_destroy_pending = False

    def test_a_wait_in_a_closed_loop_gives_back_once(self):
        slots, go = self.region.semaphore("slots", 0), self.region.event("go")
        one, gpus = self.region.event("one", auto=True), self.region.permits("gpus", 1)
        self.jobs.acquire()
        held = gpus.acquire()
        loop = asyncio.new_event_loop()
        waits = (self.jobs.acquire_async, gpus.acquire_async, slots.acquire_async, one.wait_async)
        tasks = [loop.create_task(wait()) for wait in waits]
        loop.run_until_complete(begun())
        loop.close()

        async def main():
            self.jobs.release()
            held.release()
            slots.release()
            one.set()
            wait = asyncio.ensure_future(go.wait_async())
            while len(lockword._Request._pending) != 1:  # the old ones have not ended
                await begun()
            wait.cancel()
            self.assertTrue(one.is_set() and one.clear())
            async with self.jobs, gpus:
                for task in tasks:
                    task._log_destroy_pending = False
                tasks.clear()
                del task
                gc.collect()
                self.assertEqual((self.jobs.locked(), gpus.available), (True, 0))
            self.assertEqual((slots.available, one.is_set()), (1, False))

        run_async(main())

    def test_a_loop_that_goes_on_in_another_thread(self):
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)

        async def main():
            guard = await self.jobs.acquire_async()
            task = asyncio.ensure_future(self.jobs.acquire_async(10))
            await begun()
            guard.release()
            (await task).release()

        for _ in range(3):
            self.assertIsNone(self.thread(lambda: loop.run_until_complete(main()))())
        reader, writer = os.pipe()  # it may get the number of the last thread's descriptor
        os.write(writer, b"1")
        heard = loop.create_future()
        loop.add_reader(reader, lambda: heard.done() or heard.set_result(None))
        loop.run_until_complete(asyncio.wait_for(heard, 10))
        loop.remove_reader(reader)
        os.close(reader)
        os.close(writer)

    def test_a_thread_that_ends_while_its_tasks_wait(self):
        let = self.other_holds()
        tasks = []

        def wait_and_end():
            loop = asyncio.new_event_loop()
            tasks.append(loop.create_task(self.jobs.acquire_async()))
            loop.run_until_complete(begun())
            loop.close()

        for _ in range(5):
            self.thread(wait_and_end)()
        self.assertEqual(len(lockword._Request._pending), 0)
        let()
        with self.jobs.hold(10) as guard:
            self.assertFalse(guard.owner_died)
        for task in tasks:
            task._log_destroy_pending = False

    def test_has_memory_for_c(self):
        program = """
            #include <lockword/loop.h>
            #include <stdio.h>
            int main(void) { printf("%zu %zu", sizeof(lw_loop), sizeof(lw_request)); }
        """
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        built = os.path.join(folder, "sizes")
        include = os.path.join(os.path.dirname(__file__), "../../include")
        subprocess.run(
            ["cc", "-I", include, "-x", "c", "-", "-o", built, "-x", "none",
             os.environ["LOCKWORD_LIBRARY"]],
            input=program, text=True, check=True,
        )  # fmt: skip
        sizes = subprocess.run([built], stdout=subprocess.PIPE, text=True, check=True).stdout
        loop, request = map(int, sizes.split())
        self.assertLessEqual(loop, lockword._Driver._SIZE)
        self.assertLessEqual(request, lockword._Request._SIZE)

    @in_a_loop
    async def test_ten_thousand_pend(self):
        let = self.other_holds()
        threads = threading.active_count()
        tasks = [asyncio.ensure_future(self.jobs.acquire_async()) for _ in range(10000)]
        await begun()
        self.assertLess(threading.active_count(), threads + 1)
        for task in tasks[1:]:
            task.cancel()
        let()
        (await tasks[0]).release()
        await asyncio.wait(tasks)


class Lives(Case):
    def test_close(self):
        join = self.thread(self.region.event("go").wait)
        until(lambda: self.waiters("go") == 1)
        self.jobs.acquire()
        self.region.close()
        self.region.close()
        self.assertIsInstance(join(), lockword.ClosedError)
        for use in (
            self.jobs.acquire,
            self.jobs.release,
            self.jobs.locked,
            lambda: self.region.mutex("x"),
            lambda: list(self.region),
        ):
            with self.assertRaises(lockword.ClosedError):
                use()
        with lockword.Region(self.path) as again:
            with again.mutex("jobs") as guard:
                self.assertTrue(guard.owner_died)

    def test_close_ends_tasks(self):
        async def main():
            let = self.other_holds(lockword.Region(self.path).mutex("jobs"))
            tasks = [asyncio.ensure_future(self.jobs.acquire_async()) for _ in range(3000)]
            await begun()
            self.region.close()
            for task in tasks:
                with self.assertRaises(lockword.ClosedError):
                    await task
            let()

        asyncio.run(main())

    def test_no_copies(self):
        """A copy of a region would use what the region's end has unmapped."""
        with self.jobs as guard:
            guard.release()
        for it in (
            self.region,
            self.jobs,
            self.region.rwlock("shelf"),
            self.region.rwtable("table"),
            self.region.event("go"),
            self.jobs.hold(1),
            guard,
        ):
            for copies in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "open the region"):
                    copies(it)

    def test_regions_end_with_their_last_use(self):
        for _ in range(200):  # a process has room for 64
            lockword.Region(self.path).mutex("jobs")
        gc.collect()
        view = lockword.Region(self.path).bytes("table", 64)
        gc.collect()
        view[0] = 1
        lockword.Region(self.path).mutex("jobs").acquire()
        gc.collect()
        found = self.region.describe("jobs")
        self.assertEqual((found.state, found.holder_pid), ("sound", os.getpid()))
        (held,) = {key[0] for key in lockword._held}
        held.mutex("jobs").release()

    def test_what_is_held_keeps_its_region_open(self):
        def open_anew():
            return lockword.Region(self.path)

        async def in_tasks():
            await open_anew().mutex("a task's").acquire_async()
            await open_anew().permits("a task's gpus", 1).acquire_async()
            await open_anew().rwtable("a task's shelf").read.acquire_async()

        open_anew().mutex("jobs").acquire()
        open_anew().permits("gpus", 1).acquire()
        open_anew().rwtable("written").write.acquire()
        read = open_anew().rwtable("read").read
        self.assertTrue(read.acquire() and read.acquire())
        read.release()
        del read
        asyncio.run(in_tasks())
        gc.collect()
        for name in ("jobs", "a task's"):
            self.assertFalse(self.region.mutex(name).acquire(blocking=False))
        for name in ("gpus", "a task's gpus"):
            self.assertEqual(self.region.permits(name, 1).available, 0)
        for name in ("written", "read", "a task's shelf"):
            self.assertFalse(self.region.rwtable(name).write.acquire(blocking=False))
        for region in {key[0] for key in lockword._held}:
            region.close()
        self.assertEqual(lockword._held, {})

    def test_who_releases_by_another_object_lets_the_region_end(self):
        def turns(first, second):
            first.acquire()
            second.release()

        region = lockword.Region(self.path)
        table = region.rwtable("shelf")
        turns(region.mutex("jobs"), region.mutex("jobs"))
        turns(table.write, region.rwtable("shelf").write)
        table.read.acquire()
        turns(table.read, region.rwtable("shelf").read)
        self.assertEqual(len(lockword._held), 1)  # one read is left
        self.assertIsInstance(self.thread(table.read.release)(), lockword.OwnershipError)
        self.assertEqual(len(lockword._held), 1)
        table.read.release()
        self.assertEqual(lockword._held, {})
        gone = weakref.ref(region)
        del region, table
        gc.collect()
        self.assertIsNone(gone())

    def test_fork(self):
        self.jobs.acquire()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                if not self.jobs.acquire(blocking=False):
                    status = 0 if not self.jobs.acquire(timeout=0.01) else 2
                if status == 0:
                    asyncio.run(self.in_fork())
            except BaseException:
                status = 3
            finally:
                os._exit(status)
        time.sleep(0.1)
        self.jobs.release()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        with self.jobs as guard:
            self.assertFalse(guard.owner_died)

    async def in_fork(self):
        async with self.jobs.hold(20):
            pass

    @in_a_loop
    async def test_fork_in_a_task_that_has_waited(self):
        """The child has the same epoll as the parent, and a thread of the same number."""

        async def waits():
            let = self.other_holds()
            asyncio.get_running_loop().call_later(0.01, let)
            async with self.jobs.hold(5):
                pass

        await waits()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                asyncio.run(waits())
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        await waits()

    def test_multiprocessing(self):
        for method in ("fork", "spawn"):
            with self.subTest(method):
                context = multiprocessing.get_context(method)
                here, there = context.Pipe()
                process = context.Process(target=in_child, args=(self.path, there))
                process.start()
                self.assertEqual(here.recv(), "held")
                self.assertFalse(self.jobs.acquire(timeout=0.01))
                process.kill()
                process.join()
                with self.jobs as guard:
                    self.assertTrue(guard.owner_died)

    def test_no_cpu_while_blocked(self):
        process = self.process("""
            say("begins")
            before = time.process_time()
            jobs.acquire(timeout=1)
            say(time.process_time() - before)
        """)
        with self.jobs:
            process.stdout.readline()
            self.assertLess(float(process.communicate(timeout=20)[0]), 0.05)

    def test_needs_the_library(self):
        env = {**os.environ, "LOCKWORD_LIBRARY": "/nonexistent.so"}
        process = subprocess.run(
            [sys.executable, "-c", "import lockword"], env=env, capture_output=True, text=True
        )
        self.assertIn("/nonexistent.so", process.stderr)


class Readme(Case):
    def test_its_samples_run(self):
        with open(os.path.join(FOLDER, "..", "..", "bindings", "python", "README.md")) as file:
            samples = file.read().split("```python\n")[1:]
        printed = []
        for sample in samples:
            code = sample.split("```")[0].replace("/dev/shm/jobs", self.path)
            printed.append(
                subprocess.check_output([sys.executable, "-c", code], text=True, timeout=20)
            )
        self.assertEqual(printed, ["1\n", "False\n", "0 3\n"])


class Languages(Case):
    """Python, C and JavaScript take turns at one mutex, with processes killed in between."""

    def test_one_count(self):
        file = os.path.join(self.folder, "numbers")
        with open(file, "wb") as made:
            made.write(bytes(8))
        n = 3000
        with_numbers = [self.path, file, str(n)]
        python = [sys.executable, os.path.abspath(__file__), "turns", *with_numbers]
        peers = [python, python]
        if "LW_REGION_PEER" in os.environ:
            peers.append([os.environ["LW_REGION_PEER"], *with_numbers])
        if "LW_REGION_NODE" in os.environ:
            peer = os.path.join(FOLDER, "..", "region", "peer.js")
            peers.append(["node", peer, "turns", *with_numbers])
        quiet = {"stdout": subprocess.DEVNULL}
        processes = [subprocess.Popen(peer, **quiet) for peer in peers]
        for process in processes:
            self.assertEqual(process.wait(60), 0)
        data = os.open(file, os.O_RDWR)
        self.addCleanup(os.close, data)
        self.assertEqual(os.pread(data, 8, 0), (n * len(peers)).to_bytes(4, "little") * 2)

        # Again, and whoever is killed is replaced. A turn that was cut short still counts once, by
        # the first of the two numbers.
        endless = [[*peer[:-1], "1000000"] for peer in peers]
        processes = [subprocess.Popen(peer, **quiet) for peer in endless]
        for i in range(12):
            time.sleep(0.1)
            which = i % len(processes)
            self.assertIsNone(processes[which].poll())
            processes[which].kill()
            processes[which].wait()
            processes[which] = subprocess.Popen(endless[which], **quiet)
        for process in processes:
            self.assertIsNone(process.poll())
            process.kill()
            process.wait()
        with self.jobs as guard:
            turn(data, guard.owner_died)


    @unittest.skipUnless("LW_REGION_NODE" in os.environ, "needs lockword-region")
    def test_permits_of_node(self):
        gpus = self.region.permits("gpus", 2)
        root = os.path.abspath(os.path.join(FOLDER, "..", ".."))
        os.symlink(os.path.join(root, "build", "node_modules"), f"{self.folder}/node_modules")
        code = """
            import { open } from 'lockword-region';
            const permit = open(process.argv[1]).permits('gpus', 2).acquire();
            console.log(permit.number);
            setInterval(() => {}, 1000);
        """
        with gpus as mine:
            process = subprocess.Popen(
                ["node", "--input-type=module", "-e", code, self.path],
                cwd=self.folder,
                stdout=subprocess.PIPE,
            )
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            self.assertEqual(int(process.stdout.readline()), 1 - mine.number)
            self.assertIsNone(gpus.acquire(timeout=0.01))
            process.kill()
            with gpus.hold(20) as theirs:
                self.assertEqual(theirs.number, 1 - mine.number)

    @unittest.skipUnless("LW_REGION_NODE" in os.environ, "needs lockword-region")
    def test_the_example(self):
        root = os.path.abspath(os.path.join(FOLDER, "..", ".."))
        example = shutil.copytree(
            os.path.join(root, "examples", "one-table"), os.path.join(self.folder, "example")
        )
        with open(os.path.join(example, "package.json"), "w") as file:
            file.write('{ "type": "module" }')
        os.symlink(os.path.join(root, "build", "node_modules"), f"{example}/node_modules")
        library = os.path.abspath(os.environ["LOCKWORD_LIBRARY"])
        include = f"-I{root}/include"
        native = ["cc", "-o", "native", include, "native.c", library]
        subprocess.run([*native, f"-Wl,-rpath,{os.path.dirname(library)}"], cwd=example, check=True)
        table = os.path.join(self.folder, "table")
        with open(table, "wb") as file:
            file.write(bytes(16))
        programs = (["node", "server.js"], [sys.executable, "trainer.py"], ["./native"])
        processes = [
            subprocess.Popen([*program, table, "1000"], cwd=example, stdout=subprocess.PIPE)
            for program in programs
        ]
        for process in processes:
            self.assertEqual((process.communicate(timeout=60)[0], process.returncode), (b"", 0))
        with open(table, "rb") as file:
            self.assertEqual(struct.unpack("<QQ", file.read()), (4000, 4 * 500500))


if __name__ == "__main__":
    if sys.argv[1:2] == ["turns"]:
        turns(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        result = unittest.main(exit=False).result
        failed = len(result.failures) + len(result.errors)
        print(f"{result.testsRun - failed} passed, {failed} failed")
        sys.exit(failed > 0)
