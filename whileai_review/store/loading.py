"""A run on its way in: whole or not at all, and what is left of one whose process was killed."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from ._base import Family, event, marks, now, ready_run
from .connection import Connections
from .errors import NotFoundError, NotSavedError, StoreError
from .search import forget_texts

BITE = 500
"""Lines taken out in one transaction; a label given meanwhile waits for one of them."""


PART = 200
"""Rows of a load in one transaction while others write: some 5 ms."""

QUIET = 5.0
"""Seconds after which a load takes the others to have stopped writing."""


class AliveMark:
    """Says that the process which is writing something in batches is still there.

    A lock on a file beside the store: the system lets go of it when the process ends, however
    it ends. A process number would not do: it is given again (a server in a container has the
    same one after every start), and means nothing to another container.
    """

    def __init__(self, store: str, of: str) -> None:
        self.path = f"{store}-load-{of}"
        self._file: Any = None

    def take(self) -> bool:
        """Hold the mark; False when somebody else, in this process or another one, does."""
        try:
            # Open as long as it is held, by design.
            file = open(self.path, "ab")  # noqa: SIM115
        except OSError as error:
            raise NotSavedError(
                f"Not saved: {self.path} can't be made ({error.strerror}). Give this user write "
                "access to the folder."
            ) from error
        if not _lock(file.fileno()):
            file.close()
            return False
        self._file = file
        return True

    def release(self) -> None:
        """Let go of it."""
        if self._file is not None:
            try:
                os.unlink(self.path)
            except OSError:
                pass  # an empty file stays behind; it says nothing without the lock
            self._file.close()
            self._file = None


def _lock(number: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class Load:
    """A run that is being loaded; nobody sees it before `finish`.

    Batches are transactions of their own, so that a load of an hour holds up no label; a
    load that fails or is killed leaves nothing (`fail`, or the sweep at the next start).
    """

    def __init__(self, family: Family, run_id: int, mark: AliveMark) -> None:
        self._connections = family._connections
        self._mark = mark
        self.run_id = run_id
        self.n_rows = 0
        self.first_id: int | None = None
        self.last_id: int | None = None
        # Hashes: of a million different names, two are equal with a chance of 1 in 40 million.
        self._tasks: set[int] = set()
        self._identities: set[int] = set()
        self._seen: dict[int, int] = {}
        self._quiet_at = 0.0

    def add_grader(self, name: str, kind: str = "column") -> int:
        """A grader of this run, by name; the same name gives the same id."""
        with self._connections.write(durable=False) as conn:
            self._still_loading(conn)
            return grader_id(conn, self.run_id, name, kind)

    def add(
        self,
        lines: Sequence[int],
        raws: Sequence[str],
        identities: Sequence[str],
        tasks: Sequence[str],
        chars: Sequence[int],
        fields: Sequence[str | None],
        contents: Sequence[int | None] | None = None,
        verdicts: Iterable[tuple[int, int, str, int | None, float | None, str | None]] = (),
    ) -> int:
        """Put a batch of rows, given as columns, in one transaction; the first new id.

        `contents` are checksums of what was said and done: labels are offered to another run
        only where they are equal too. `verdicts` are (row of the batch, grader id, criterion,
        0/1/None, value, judge_name), in the order of the rows. While others write too, the batch
        goes in parts, so that a label waits for one of them.
        """
        scores = list(verdicts)
        known = contents if contents is not None else [None] * len(lines)
        step = PART if self._others_write() else len(lines)
        first = 0
        for start in range(0, len(lines), step or 1):
            part = slice(start, start + step)
            since, until = (
                bisect_left(scores, n, key=itemgetter(0)) for n in (part.start, part.stop)
            )
            with self._connections.write(durable=False) as conn:
                self._still_loading(conn)
                # Ids of a batch are consecutive, whoever else loads between its parts.
                first = first or _reserve(conn, len(lines))
                n = len(lines[part])
                ids = range(first + start, first + start + n)
                conn.executemany(
                    "INSERT INTO rows (id, run_id, line, identity, task, reply_chars, fields, "
                    "content) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    zip(
                        ids,
                        [self.run_id] * n,
                        *(c[part] for c in (lines, identities, tasks, chars, fields, known)),
                        strict=True,
                    ),
                )
                conn.executemany(
                    "INSERT INTO bodies (row_id, raw) VALUES (?, ?)",
                    zip(ids, raws[part], strict=True),
                )
                conn.executemany(
                    "INSERT INTO scores (row_id, grader_id, criterion, verdict, value, judge_name) "
                    f"VALUES ({first:d} + ?, ?, ?, ?, ?, ?)",
                    scores[since:until],
                )
            self.last_id = ids[-1]
        self.n_rows += len(lines)
        self._tasks.update(map(hash, tasks))
        self._identities.update(map(hash, identities))
        self.first_id = self.first_id or first or None
        return first

    def _others_write(self) -> bool:
        """Whether another connection wrote in the last seconds."""
        with self._connections.read() as conn:
            seen = conn.execute("PRAGMA data_version").fetchone()[0]
        # A number means something within its connection only; a load mostly gets the same one.
        if self._seen.setdefault(id(conn), seen) != seen:
            self._seen[id(conn)] = seen
            self._quiet_at = time.monotonic() + QUIET
        return time.monotonic() < self._quiet_at

    def finish(
        self,
        content_hash: str,
        n_bytes: int = 0,
        refusals: Iterable[tuple[int, str, str]] = (),
        tools: Sequence[str] = (),
        fields: Iterable[tuple[str, str, int | None, str, str]] = (),
        grader_id: int | None = None,
    ) -> dict:
        """Make the run visible, durably; `fields` are (name, kind, n_values, unit, direction)."""
        n_refused = self._refuse(refusals)
        with self._connections.write() as conn:
            self._still_loading(conn)
            conn.executemany(
                "INSERT INTO run_tools (run_id, position, tool) VALUES (?, ?, ?)",
                ((self.run_id, n, tool) for n, tool in enumerate(tools)),
            )
            conn.executemany(
                "INSERT INTO run_fields (run_id, name, kind, n_values, unit, direction) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                ((self.run_id, *f) for f in fields),
            )
            conn.execute(
                "UPDATE runs SET state='ready', loader=NULL, content_hash=?, n_bytes=?, "
                "n_rows=?, n_tasks=?, n_duplicates=?, n_refused=?, grader_id=?, "
                "first_id=?, last_id=? WHERE id=?",
                (
                    content_hash,
                    n_bytes,
                    self.n_rows,
                    len(self._tasks),
                    self.n_rows - len(self._identities),
                    n_refused,
                    grader_id,
                    self.first_id,
                    self.last_id,
                    self.run_id,
                ),
            )
            event(conn, None, "load", self.run_id, f"{self.n_rows} rows")
            ready = ready_run(conn, self.run_id)
        self._mark.release()
        return ready

    def fail(self) -> None:
        """Take everything of this load out again; a run that is finished stays."""
        try:
            purge(self._connections, self.run_id)
        finally:
            self._mark.release()

    def _refuse(self, refusals: Iterable[tuple[int, str, str]]) -> int:
        kept = list(refusals)
        for start in range(0, len(kept), BITE):
            with self._connections.write(durable=False) as conn:
                self._still_loading(conn)
                conn.executemany(
                    "INSERT INTO refusals (run_id, line, reason, text) VALUES (?, ?, ?, ?)",
                    ((self.run_id, *r) for r in kept[start : start + BITE]),
                )
        return len(kept)

    def _still_loading(self, conn) -> None:
        if not conn.execute(
            "SELECT 1 FROM runs WHERE id=? AND state='loading'", (self.run_id,)
        ).fetchone():
            raise NotFoundError("This load was taken out of the store. Load the file again.")


def _reserve(conn, n: int) -> int:
    """The first of n ids that no other row gets, now or later."""
    line = conn.execute("SELECT seq FROM sqlite_sequence WHERE name='rows'").fetchone()
    if line is None:
        conn.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('rows', ?)", (n,))
        return 1
    conn.execute("UPDATE sqlite_sequence SET seq=seq+? WHERE name='rows'", (n,))
    return int(line[0]) + 1


def grader_id(conn, run_id: int, name: str, kind: str) -> int:
    """The grader of this name on this run, made when it is new."""
    conn.execute(
        "INSERT OR IGNORE INTO graders (run_id, name, kind, created_at) VALUES (?, ?, ?, ?)",
        (run_id, name, kind, now()),
    )
    found = conn.execute(
        "SELECT id FROM graders WHERE run_id=? AND name=?", (run_id, name)
    ).fetchone()
    if found is None:
        raise StoreError(f"The grader {name!r} could not be made.")
    return int(found[0])


def purge(connections: Connections, run_id: int) -> None:
    """Take out a run that nobody sees any more, in small bites so that no label waits for it."""
    with connections.write(durable=False) as conn:
        conn.execute("UPDATE runs SET state='failed' WHERE id=? AND state='loading'", (run_id,))
        if not conn.execute(
            "SELECT 1 FROM runs WHERE id=? AND state='failed'", (run_id,)
        ).fetchone():
            return
        graders = [g[0] for g in conn.execute("SELECT id FROM graders WHERE run_id=?", (run_id,))]
    n = BITE
    while n == BITE:
        with connections.write(durable=False) as conn:
            found = conn.execute("SELECT id FROM rows WHERE run_id=? LIMIT ?", (run_id, BITE))
            ids = [r[0] for r in found]
            conn.execute(f"DELETE FROM current_labels WHERE row_id IN ({marks(ids)})", ids)
            conn.execute(f"DELETE FROM rows WHERE id IN ({marks(ids)})", ids)
            n = len(ids)
    for grader in graders:
        purge_scores(connections, grader)
    _bites(
        connections,
        "DELETE FROM refusals WHERE rowid IN (SELECT rowid FROM refusals WHERE run_id=? LIMIT ?)",
        run_id,
    )
    forget_texts(connections, run_id)
    with connections.write() as conn:
        conn.execute("DELETE FROM runs WHERE id=? AND state='failed'", (run_id,))


def purge_scores(connections: Connections, grader: int) -> None:
    """Take out the verdicts of a grader, in small bites."""
    _bites(
        connections,
        "DELETE FROM scores WHERE (grader_id, criterion, row_id) IN (SELECT grader_id, "
        "criterion, row_id FROM scores WHERE grader_id=? LIMIT ?)",
        grader,
    )


def _bites(connections: Connections, delete: str, of: int) -> None:
    n = BITE
    while n == BITE:
        with connections.write(durable=False) as conn:
            n = conn.execute(delete, (of, BITE)).rowcount
