"""Connections to one SQLite file, and the one way to write to it.

`write()` opens every writing transaction with ``BEGIN IMMEDIATE``: a plain ``BEGIN`` that
reads and then writes fails at once with "database is locked" when somebody else wrote in
between, whatever the busy time-out says.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import DamagedStoreError, NotOursError, NotSavedError, StoreError

BUSY_SECONDS = 10.0
"""How long a writer waits for another one before it says "not saved"."""

CACHE_KIB = 64 * 1024
"""Page cache of a connection."""


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
        self.closed = False

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with; what it sees does not change within one statement."""
        conn = self._take()
        try:
            yield conn
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        finally:
            self._give(conn)

    @contextmanager
    def write(self, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One writing transaction; durable when the block has ended without an exception.

        ``durable=False`` is for the batches of a load, whose last transaction is durable and
        makes those before it so too (one write-ahead log).
        """
        conn = self._take()
        try:
            if not durable:
                conn.execute("PRAGMA synchronous=NORMAL")
            _begin_immediate(conn)
            try:
                yield conn
                conn.execute("COMMIT")
            except BaseException:
                _rollback(conn)
                raise
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        finally:
            if not durable:
                conn.execute("PRAGMA synchronous=FULL")
            self._give(conn)

    def close(self) -> None:
        """Close every connection; the last one to close folds the write-ahead log in."""
        self.closed = True
        with self._lock:
            while self._all:
                self._all.pop().close()

    def _take(self) -> sqlite3.Connection:
        if self.closed:
            raise StoreError("The store is closed.")
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            try:
                conn = connect(self.path)
            except sqlite3.Error as error:
                raise explain(error, self.path) from error
            with self._lock:
                self._all.append(conn)
            return conn

    def _give(self, conn: sqlite3.Connection) -> None:
        if self.closed:
            conn.close()
        else:
            self._idle.put(conn)


def connect(path: str) -> sqlite3.Connection:
    """Open one connection with the pragmas that every connection needs."""
    conn = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    conn.row_factory = sqlite3.Row
    conn.execute("PRAGMA synchronous=FULL")
    conn.execute("PRAGMA foreign_keys=ON")
    conn.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    conn.execute("PRAGMA temp_store=MEMORY")
    return conn


def _begin_immediate(conn: sqlite3.Connection) -> None:
    # The busy handler gives up at once in a few cases (a WAL being reset, recovery), hence
    # the loop round it.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            conn.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _rollback(conn: sqlite3.Connection) -> None:
    try:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
    except sqlite3.Error:
        # A full disk or an I/O error has rolled the transaction back already.
        pass


def explain(error: sqlite3.Error, path: str) -> StoreError:
    """The named error and the sentence for what SQLite said."""
    text = str(error).lower()
    if "locked" in text or "busy" in text:
        return NotSavedError(
            f"Not saved: {path} was busy for {BUSY_SECONDS:.0f} s. Press again; if it stays so, "
            "find the program that holds the file open for writing."
        )
    if "readonly" in text or "read-only" in text:
        return NotSavedError(
            f"Not saved: {path} can't be written. Give this user write access to the file and "
            "its folder, then press again."
        )
    if "full" in text:
        return NotSavedError(
            f"Not saved: the disk that holds {path} is full. Free some space, then press again."
        )
    if "disk i/o" in text:
        return NotSavedError(
            f"Not saved: the disk that holds {path} reports an error. Check the disk and its "
            "free space, then press again."
        )
    if "not a database" in text:
        return NotOursError(f"{path} is not a database. Name another file with --db.")
    if "malformed" in text or "corrupt" in text:
        return DamagedStoreError(
            f"{path} is damaged ({error}). Nothing was changed; go back to a copy made with "
            "`whileai-review backup`, or recover it with `sqlite3 FILE .recover`."
        )
    if "unable to open" in text:
        return NotOursError(f"{path} can't be opened: is the folder there, and readable?")
    if isinstance(error, sqlite3.IntegrityError):
        return StoreError(f"Refused by the store: {error}")
    return StoreError(f"{path}: {error}")
