"""Runs: loading them whole or not at all, and what is known about each."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ._base import Family, event, every, marks, now, one, ready_run
from .connection import Connections
from .errors import RefusedError, StoreError


class NewRow(NamedTuple):
    """One row on its way in, already read into columns."""

    line: int
    raw: str
    identity: str
    task: str
    reply_chars: int
    fields: str | None


class Verdict(NamedTuple):
    """A grader's verdict on the n-th row of a batch."""

    grader_id: int
    criterion: str
    verdict: int | None
    value: float | None
    judge_name: str | None


class Load:
    """A run that is being loaded; nobody sees it before `finish`.

    Batches are transactions of their own, so that a load of an hour holds up no label; a
    load that fails or is killed leaves nothing (`fail`, or the sweep at the next start).
    """

    def __init__(self, family: Runs, run_id: int) -> None:
        self._connections = family._connections
        self.run_id = run_id
        self.n_rows = 0
        self.first_id: int | None = None
        self.last_id: int | None = None

    def add_grader(self, name: str, kind: str = "column") -> int:
        """A grader of this run, by name; the same name gives the same id."""
        with self._connections.write(durable=False) as conn:
            return grader_id(conn, self.run_id, name, kind)

    def add(self, rows: Sequence[NewRow], verdicts: Sequence[Sequence[Verdict]]) -> int:
        """Put a batch of rows, each with its verdicts, in one transaction; the first new id."""
        with self._connections.write(durable=False) as conn:
            seq = conn.execute("SELECT seq FROM sqlite_sequence WHERE name='rows'").fetchone()
            first = (seq[0] if seq else 0) + 1
            run_id = self.run_id
            conn.executemany(
                "INSERT INTO rows (id, run_id, line, identity, task, reply_chars, fields) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (first + n, run_id, r.line, r.identity, r.task, r.reply_chars, r.fields)
                    for n, r in enumerate(rows)
                ),
            )
            conn.executemany(
                "INSERT INTO bodies (row_id, raw) VALUES (?, ?)",
                ((first + n, r.raw) for n, r in enumerate(rows)),
            )
            conn.executemany(
                "INSERT INTO scores (grader_id, criterion, row_id, verdict, value, judge_name) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (v.grader_id, v.criterion, first + n, v.verdict, v.value, v.judge_name)
                    for n, of_row in enumerate(verdicts)
                    for v in of_row
                ),
            )
        self.n_rows += len(rows)
        self.first_id = first if self.first_id is None else self.first_id
        self.last_id = first + len(rows) - 1
        return first

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
        with self._connections.write() as conn:
            refused = list(refusals)
            conn.executemany(
                "INSERT INTO refusals (run_id, line, reason, text) VALUES (?, ?, ?, ?)",
                ((self.run_id, *r) for r in refused),
            )
            conn.executemany(
                "INSERT INTO run_tools (run_id, position, tool) VALUES (?, ?, ?)",
                ((self.run_id, n, tool) for n, tool in enumerate(tools)),
            )
            conn.executemany(
                "INSERT INTO run_fields (run_id, name, kind, n_values, unit, direction) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                ((self.run_id, *f) for f in fields),
            )
            tasks, identities = conn.execute(
                "SELECT count(DISTINCT task), count(DISTINCT identity) FROM rows WHERE run_id=?",
                (self.run_id,),
            ).fetchone()
            conn.execute(
                "UPDATE runs SET state='ready', loader=NULL, content_hash=?, n_bytes=?, "
                "n_rows=?, n_tasks=?, n_duplicates=?, n_refused=?, grader_id=?, "
                "first_id=?, last_id=? WHERE id=?",
                (
                    content_hash,
                    n_bytes,
                    self.n_rows,
                    tasks,
                    self.n_rows - identities,
                    len(refused),
                    grader_id,
                    self.first_id,
                    self.last_id,
                    self.run_id,
                ),
            )
            event(conn, None, "load", self.run_id, f"{self.n_rows} rows")
            return ready_run(conn, self.run_id)

    def fail(self) -> None:
        """Take everything of this load out again."""
        _purge(self._connections, self.run_id)


class Runs(Family):
    """Runs, their graders, tools and fields."""

    def begin_run(
        self,
        name: str,
        source: str,
        format: str,
        mapping: str = "{}",
        split: tuple[str, str] | None = None,
        policy_hash: str | None = None,
        step: int | None = None,
    ) -> Load:
        """Start a load under a free name.

        Raises
        ------
        RefusedError
            When a run of this name is there already.
        """
        with self._connections.write() as conn:
            if conn.execute("SELECT 1 FROM runs WHERE name=?", (name,)).fetchone():
                raise RefusedError(
                    f"A run {name!r} is there already. Give this one another name (--as NAME)."
                )
            mapping_id = conn.execute(
                "INSERT INTO mappings (content, created_at) VALUES (?, ?)", (mapping, now())
            ).lastrowid
            cursor = conn.execute(
                "INSERT INTO runs (name, source, format, split_column, split_value, policy_hash, "
                "step, state, loader, mapping_id, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, 'loading', ?, ?, ?)",
                (
                    name,
                    source,
                    format,
                    split[0] if split else None,
                    split[1] if split else None,
                    policy_hash,
                    step,
                    str(os.getpid()),
                    mapping_id,
                    now(),
                ),
            )
            return Load(self, int(cursor.lastrowid or 0))

    def sweep(self) -> int:
        """Remove what loads of processes that are gone left behind; how many runs."""
        with self._connections.read() as conn:
            left = every(conn, "SELECT id, loader FROM runs WHERE state<>'ready'")
        dead = [r["id"] for r in left if not _alive(r["loader"])]
        for run_id in dead:
            _purge(self._connections, run_id)
        return len(dead)

    def runs(self, archived: bool = False) -> list[dict]:
        """Every ready run, newest first; archived ones only when asked for."""
        where = "" if archived else " AND archived_at IS NULL"
        with self._connections.read() as conn:
            found = every(conn, f"SELECT * FROM runs WHERE state='ready'{where} ORDER BY id DESC")
            tags = every(conn, "SELECT run_id, tag FROM run_tags ORDER BY tag")
        for run in found:
            run["tags"] = [t["tag"] for t in tags if t["run_id"] == run["id"]]
        return found

    def run(self, run: int | str) -> dict:
        """One ready run by id or name, with its graders, criteria, tools, fields and tags.

        Raises
        ------
        NotFoundError
            Names the runs that are there.
        """
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            of = (found["id"],)
            found["tags"] = [
                r[0] for r in conn.execute("SELECT tag FROM run_tags WHERE run_id=?", of)
            ]
            found["tools"] = [
                r[0]
                for r in conn.execute(
                    "SELECT tool FROM run_tools WHERE run_id=? ORDER BY position", of
                )
            ]
            found["fields"] = every(
                conn,
                "SELECT name, kind, n_values, unit, direction FROM run_fields "
                "WHERE run_id=? ORDER BY kind, name",
                of,
            )
            found["graders"] = every(conn, "SELECT * FROM graders WHERE run_id=? ORDER BY id", of)
        return found

    def run_by_content(self, content_hash: str, split_value: str | None = None) -> dict | None:
        """The ready run that holds these very bytes, if one does."""
        with self._connections.read() as conn:
            return one(
                conn,
                "SELECT * FROM runs WHERE content_hash=? AND split_value IS ? "
                "AND state='ready' ORDER BY id",
                (content_hash, split_value),
            )

    def free_name(self, wanted: str) -> str:
        """`wanted`, or the first ``wanted-2``, ``wanted-3`` ... that no run has."""
        with self._connections.read() as conn:
            taken = {r[0] for r in conn.execute("SELECT name FROM runs")}
        name, n = wanted, 1
        while name in taken:
            n += 1
            name = f"{wanted}-{n}"
        return name

    def refusals(self, run: int | str, limit: int = -1) -> list[dict]:
        """The lines that the load refused: line, reason, text."""
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            return every(
                conn,
                "SELECT line, reason, text FROM refusals WHERE run_id=? ORDER BY line LIMIT ?",
                (found["id"], limit),
            )

    def rename_run(self, run: int | str, name: str, by: str | None = None) -> None:
        """Give a run another name."""
        name = name.strip()
        if not name:
            raise RefusedError("A run needs a name.")
        with self._connections.write() as conn:
            found = ready_run(conn, run)
            try:
                conn.execute("UPDATE runs SET name=? WHERE id=?", (name, found["id"]))
            except sqlite3.IntegrityError:
                raise RefusedError(f"A run {name!r} is there already.") from None
            event(conn, by, "rename", found["id"], f"{found['name']} -> {name}")

    def tag_run(self, run: int | str, tags: Iterable[str], by: str | None = None) -> None:
        """Replace the tags of a run."""
        with self._connections.write() as conn:
            found = ready_run(conn, run)
            conn.execute("DELETE FROM run_tags WHERE run_id=?", (found["id"],))
            conn.executemany(
                "INSERT OR IGNORE INTO run_tags (run_id, tag) VALUES (?, ?)",
                ((found["id"], t.strip()) for t in tags if t.strip()),
            )
            event(conn, by, "tag", found["id"], ", ".join(tags))

    def archive_run(self, run: int | str, archived: bool = True, by: str | None = None) -> None:
        """Take a run out of the lists, or put it back."""
        with self._connections.write() as conn:
            found = ready_run(conn, run)
            conn.execute(
                "UPDATE runs SET archived_at=? WHERE id=?",
                (now() if archived else None, found["id"]),
            )
            event(conn, by, "archive" if archived else "unarchive", found["id"])

    def delete_run(self, run: int | str, by: str | None = None) -> int:
        """Delete a run and its rows; its labels stay. How many labels stayed."""
        with self._connections.write() as conn:
            found = ready_run(conn, run)
            of = (found["id"],)
            labels = conn.execute("SELECT count(*) FROM labels WHERE run_id=?", of).fetchone()[0]
            gone = self._free_deleted_name(conn, found["name"])
            conn.execute("UPDATE runs SET state='failed', name=? WHERE id=?", (gone, *of))
            event(conn, by, "delete", found["id"], found["name"])
        _purge(self._connections, found["id"])
        return labels

    @staticmethod
    def _free_deleted_name(conn: sqlite3.Connection, name: str) -> str:
        count = conn.execute("SELECT max(id) FROM events").fetchone()[0] or 0
        return f"(deleted {count}) {name}"

    def choose(
        self,
        run: int | str,
        grader: int | None = None,
        gold: str | None = None,
        criterion: str | None = None,
        by: str | None = None,
    ) -> None:
        """What is measured on this run; only a person's choice comes here."""
        with self._connections.write() as conn:
            found = ready_run(conn, run)
            for column, value in (("grader_id", grader), ("gold", gold), ("criterion", criterion)):
                if value is not None:
                    conn.execute(f"UPDATE runs SET {column}=? WHERE id=?", (value, found["id"]))
                    event(conn, by, f"choose {column}", found["id"], str(value))

    def add_verdicts(
        self,
        run: int | str,
        grader: str,
        verdicts: Iterable[tuple[int, str, int | None, float | None, str | None]],
        kind: str = "verdicts",
    ) -> int:
        """Put a grader's (row_id, criterion, verdict, value, reason) on a loaded run.

        A verdict that was there is replaced, in one transaction. Returns the grader's id.
        """
        with self._connections.write() as conn:
            found = ready_run(conn, run)
            grader_number = grader_id(conn, found["id"], grader, kind)
            conn.executemany(
                "INSERT OR REPLACE INTO scores "
                "(grader_id, row_id, criterion, verdict, value, reason) VALUES (?, ?, ?, ?, ?, ?)",
                ((grader_number, *v) for v in verdicts),
            )
            if found["grader_id"] is None:
                conn.execute("UPDATE runs SET grader_id=? WHERE id=?", (grader_number, found["id"]))
            event(conn, None, "verdicts", found["id"], grader)
            return grader_number

    def verdict_revision(self, run: int | str) -> int:
        """A number that grows when verdicts are put on this run after it was loaded."""
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            line = conn.execute(
                "SELECT max(id) FROM events WHERE run_id=? AND what='verdicts'", (found["id"],)
            ).fetchone()
        return line[0] or 0

    def criteria(self, run: int | str) -> list[str]:
        """Every criterion that a grader or a label of this run speaks of, `overall` first."""
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            names = {"overall"}
            for grader in conn.execute("SELECT id FROM graders WHERE run_id=?", (found["id"],)):
                names |= _distinct_criteria(conn, "scores", "grader_id", grader[0])
            names |= _distinct_criteria(conn, "labels", "run_id", found["id"])
        return sorted(names, key=lambda c: (c != "overall", c))

    def people(self) -> list[str]:
        """Names that have been used to label, oldest first."""
        with self._connections.read() as conn:
            return [r[0] for r in conn.execute("SELECT name FROM people ORDER BY created_at")]

    def add_person(self, name: str) -> str:
        """Remember an annotator's name; returns it trimmed."""
        name = " ".join(name.split())
        if not name or len(name) > 60 or name.startswith(("rule:", "file:")):
            raise RefusedError(
                "A name has 1 to 60 characters and does not start with rule: or file:"
            )
        with self._connections.write() as conn:
            conn.execute("INSERT OR IGNORE INTO people VALUES (?, ?)", (name, now()))
        return name


def _distinct_criteria(conn: sqlite3.Connection, table: str, column: str, value: int) -> set[str]:
    # A loose scan along the index: one probe a criterion, not a pass over a million scores.
    found: set[str] = set()
    last = ""
    while True:
        line = conn.execute(
            f"SELECT min(criterion) FROM {table} WHERE {column}=? AND criterion>?", (value, last)
        ).fetchone()
        if line[0] is None:
            return found
        last = line[0]
        found.add(last)


def grader_id(conn: sqlite3.Connection, run_id: int, name: str, kind: str) -> int:
    """The grader of this name on this run, made when it is new."""
    conn.execute(
        "INSERT OR IGNORE INTO graders (run_id, name, kind, created_at) VALUES (?, ?, ?, ?)",
        (run_id, name, kind, now()),
    )
    found: Any = conn.execute(
        "SELECT id FROM graders WHERE run_id=? AND name=?", (run_id, name)
    ).fetchone()
    if found is None:
        raise StoreError(f"The grader {name!r} could not be made.")
    return int(found[0])


def _purge(connections: Connections, run_id: int) -> None:
    """Take out what nobody sees any more, in small bites so that no label waits for it."""
    while True:
        with connections.write(durable=False) as conn:
            ids = [
                r[0]
                for r in conn.execute("SELECT id FROM rows WHERE run_id=? LIMIT 2000", (run_id,))
            ]
            if not ids:
                break
            conn.execute(f"DELETE FROM current_labels WHERE row_id IN ({marks(ids)})", ids)
            conn.execute(f"DELETE FROM rows WHERE id IN ({marks(ids)})", ids)
    with connections.write() as conn:
        conn.execute("DELETE FROM runs WHERE id=? AND state<>'ready'", (run_id,))


def _alive(loader: str | None) -> bool:
    if not loader:
        return False
    try:
        os.kill(int(loader), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True
