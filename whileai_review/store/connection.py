"""Connections to one SQLite file, and the one way to write to it.

`write()` opens every writing transaction with ``BEGIN IMMEDIATE``: a plain ``BEGIN`` that
reads and then writes fails at once with "database is locked" when somebody else wrote in
between, whatever the busy time-out says.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from .errors import DamagedStoreError, NotOursError, NotSavedError, RefusedError, StoreError

T = TypeVar("T")

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

BUSY_SECONDS = 10.0
"""How long a writer waits for another one before it says "not saved"."""

ASK_AGAIN = 0.001
"""Seconds between two tries to write while somebody else does."""

GAP = 0.002
"""Seconds that a long write leaves free after each of its batches, for whoever waits."""

LOG_PAGES = 4_000
"""Length of the write-ahead log at which a label folds it in; a load does so at a quarter, so
that no label pays for what a load wrote."""

CACHE_KIB = 64 * 1024
"""Page cache of a connection."""


_OPEN: dict[tuple[int, int], int] = {}
"""Device and inode of each file that this process has open -> how many stores have it."""

OPENING = threading.RLock()
"""Held while a file is looked at and opened: the two must not cross with another opening."""


def is_open(path: Path | str) -> bool:
    """Whether this process has a store of this file open.

    Such a file must not be opened and closed beside SQLite: the system then drops all locks that
    the process holds on it (sqlite.org/howtocorrupt.html, 2.2), the next program that closes the
    file takes itself for the last one and removes the log, and what is written goes nowhere.
    """
    return _OPEN.get(_file_id(str(path)) or (0, 0), 0) > 0


class Connections:
    """A small pool of open connections to one file.

    Streamlit runs every rerun of a page in a thread of its own, so a connection a thread
    would be opened for each key press (1 ms); these are handed from thread to thread.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._all: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._file: tuple[int, int] | None = None
        self._held: tuple[int, int] | None = None
        self.closed = False

    def hold(self) -> None:
        """Let :func:`is_open` know that this process has the file open, until `close`."""
        with OPENING:
            self._held = _file_id(self.path)
            if self._held is not None:
                _OPEN[self._held] = _OPEN.get(self._held, 0) + 1

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with; what it sees does not change within the block."""
        with self._lend() as conn:
            conn.execute("BEGIN")
            try:
                yield conn
            finally:
                _rollback(conn)

    @contextmanager
    def write(self, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One writing transaction; durable when the block has ended without an exception.

        ``durable=False`` is for the batches of a load, whose last transaction is durable and
        makes those before it so too (one write-ahead log).
        """
        # Threads of this process wait here, where the one that is done wakes the next; other
        # processes are asked again and again (`_begin_immediate`).
        if not self._writing.acquire(timeout=BUSY_SECONDS):
            raise busy(self.path)
        try:
            with self._transaction(durable) as conn:
                yield conn
        finally:
            self._writing.release()
        if not durable:
            time.sleep(GAP)

    @contextmanager
    def _transaction(self, durable: bool) -> Iterator[sqlite3.Connection]:
        with self._lend() as conn:
            if not durable:
                conn.execute("PRAGMA synchronous=NORMAL")
                conn.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES // 4}")
            try:
                _begin_immediate(conn)
                yield conn
                conn.execute("COMMIT")
            except BaseException:
                _rollback(conn)
                raise
            finally:
                if not durable:
                    conn.execute("PRAGMA synchronous=FULL")
                    conn.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")

    def close(self) -> None:
        """Close every connection; the last one to close folds the write-ahead log in."""
        self.closed = True
        with OPENING:
            with self._lock:
                while self._all:
                    self._all.pop().close()
            held, self._held = self._held, None
            if held is not None:
                _OPEN[held] -= 1
                if not _OPEN[held]:
                    del _OPEN[held]

    @contextmanager
    def _lend(self) -> Iterator[sqlite3.Connection]:
        conn = self._take()
        try:
            yield conn
        except sqlite3.Error as error:
            # What an I/O error leaves of a connection is not worth keeping.
            self._discard(conn)
            raise explain(error, self.path) from error
        except OverflowError as error:
            self._give(conn)
            raise RefusedError(
                "Refused by the store: a number of more than 64 bits, which no id, step or "
                "time has."
            ) from error
        except UnicodeEncodeError as error:
            self._give(conn)
            raise RefusedError(f"Refused by the store: {error}") from error
        except BaseException:
            self._give(conn)
            raise
        else:
            self._give(conn)

    def _take(self) -> sqlite3.Connection:
        if self.closed:
            raise StoreError("The store is closed.")
        self._check_file()
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            try:
                conn = connect(self.path)
            except sqlite3.Error as error:
                raise explain(error, self.path) from error
            with self._lock:
                self._all.append(conn)
            if self._file is None:
                self._file = _file_id(self.path)
            return conn

    def _check_file(self) -> None:
        # A file that was moved away goes on taking labels that nobody will find again.
        if self._file is not None and _file_id(self.path) != self._file:
            raise NotSavedError(
                f"Not saved: {self.path} was removed or replaced while it was open. Put it "
                "back, or start whileai-review again."
            )

    def _give(self, conn: sqlite3.Connection) -> None:
        if self.closed or conn.in_transaction:
            self._discard(conn)
        else:
            self._idle.put(conn)

    def _discard(self, conn: sqlite3.Connection) -> None:
        with self._lock:
            if conn in self._all:
                self._all.remove(conn)
        conn.close()


def connect(path: str) -> sqlite3.Connection:
    """Open one connection with the pragmas that every connection needs."""
    conn = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    conn.row_factory = sqlite3.Row
    conn.execute("PRAGMA synchronous=FULL")
    conn.execute("PRAGMA foreign_keys=ON")
    conn.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
    conn.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    conn.execute("PRAGMA temp_store=MEMORY")
    return conn


def _begin_immediate(conn: sqlite3.Connection) -> None:
    # SQLite's busy handler sleeps longer and longer, up to 0.1 s, and misses every gap that a
    # load leaves between its batches; asking each millisecond does not.
    conn.execute("PRAGMA busy_timeout=0")
    try:
        patiently(lambda: conn.execute("BEGIN IMMEDIATE"), ASK_AGAIN)
    finally:
        conn.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")


def patiently(act: Callable[[], T], wait: float = 0.005) -> T:
    """Do it, and again while others hold the file.

    SQLite's own busy handler gives up at once in a few cases (recovery, a log being reset,
    a change of the journal mode), hence the loop round it.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() > deadline:
                raise
            time.sleep(wait)


def _file_id(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _rollback(conn: sqlite3.Connection) -> None:
    try:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
    except sqlite3.Error:
        # A full disk or an I/O error has rolled the transaction back already.
        pass


def busy(path: str) -> NotSavedError:
    """What to say when others held the file all the time."""
    return NotSavedError(
        f"Not saved: {path} was busy for {BUSY_SECONDS:.0f} s. Press again; if it stays so, "
        "find the program that holds the file open for writing."
    )


def explain(error: sqlite3.Error, path: str) -> StoreError:
    """The named error and the sentence for what SQLite said."""
    code = _code(error)
    if code in _BUSY:
        return busy(path)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return NotSavedError(
            f"Not saved: {path} can't be written. Give this user write access to the file and "
            "its folder, then press again."
        )
    if code == sqlite3.SQLITE_FULL:
        return NotSavedError(
            f"Not saved: the disk that holds {path} is full. Free some space, then press again."
        )
    if code == sqlite3.SQLITE_IOERR:
        return NotSavedError(
            f"Not saved: the disk that holds {path} reports an error. Check the disk and its "
            "free space, then press again."
        )
    if code == sqlite3.SQLITE_NOTADB:
        return NotOursError(
            f"{path} is not a database; it was left as it is. Name another file with --db."
        )
    if code == sqlite3.SQLITE_CORRUPT or "could not decode" in str(error).lower():
        return DamagedStoreError(
            f"{path} is damaged ({_line(error)}). Go back to a copy made with "
            "`whileai-review backup`, or recover it with `sqlite3 FILE .recover`."
        )
    if code == sqlite3.SQLITE_CANTOPEN:
        return NotSavedError(
            f"{path} can't be opened for writing. Is the folder there, and may this user write "
            "to it and to the file?"
        )
    if isinstance(error, sqlite3.IntegrityError):
        return RefusedError(f"Refused by the store: {_line(error)}")
    return StoreError(f"{path}: {_line(error)}")


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code; None for errors of Python's own layer."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _line(error: sqlite3.Error) -> str:
    return " ".join(str(error).split())[:200]
