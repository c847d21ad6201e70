"""Findings: what readers found on rows. Append-only; taking one back, and undoing that, are lines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from ._base import Family, every, marks, now, one, ready_run
from ._names import code_name, code_names, code_roots, found_or_made
from .errors import NotFoundError

BATCH = 500
"""Ids in one question to SQLite."""

STANDS = (
    "f.withdraws IS NULL AND NOT EXISTS (SELECT 1 FROM findings w WHERE w.row_id=f.row_id "
    "AND w.withdraws=f.id AND NOT EXISTS "
    "(SELECT 1 FROM findings v WHERE v.row_id=w.row_id AND v.withdraws=w.id))"
)
"""A finding that nobody took back, or whose withdrawal was undone, which withdraws that line.
The row is named so that an index finds the lines."""


class Findings(Family):
    """What readers found on rows."""

    def add_finding(
        self, row_id: int, kind: str, by: str, code: str | None = None, note: str | None = None
    ) -> None:
        """What a reader found on a row: that it was read, a cause, a note, bad data.

        Raises
        ------
        NotFoundError
            The row's run was deleted.
        RefusedError
            A name that no code can have.
        """
        name = None if code is None else code_name(code)
        with self._connections.write() as conn:
            row = one(conn, "SELECT run_id FROM rows WHERE id=?", (row_id,))
            if row is None:
                raise NotFoundError("Not saved: the run of this row was deleted.")
            code_id = None if name is None else found_or_made(conn, name)
            roots = code_roots(conn)
            there = every(
                conn,
                f"SELECT f.code_id FROM findings f WHERE f.row_id=? AND f.kind=? AND f.by=? "
                f"AND f.note IS ? AND f.label_id IS NULL AND {STANDS}",
                (row_id, kind, by, note),
            )
            if any(roots.get(line["code_id"]) == roots.get(code_id) for line in there):
                return
            insert(conn, row["run_id"], row_id, kind, code_id, note, by, None)

    def mark_seen(self, row_ids: Iterable[int], by: str) -> None:
        """Write down that somebody saw what others noted on these rows, once for each row.

        An answer given afterwards is no blind one (`read_at`); the row was not read, though.
        """
        with self._connections.read() as conn:
            new = [r for r in dict.fromkeys(row_ids) if not _has_any(conn, r, by)]
        if not new:
            return
        with self._connections.write() as conn:
            conn.executemany(
                "INSERT INTO findings (run_id, row_id, kind, by, created_at) "
                "SELECT run_id, id, 'seen', ?, ? FROM rows WHERE id=?",
                [(by, now(), row_id) for row_id in new],
            )

    def withdraw_finding(self, finding_id: int, by: str) -> None:
        """Take a finding back; the line stays. One that is taken back already stays so."""
        with self._connections.write() as conn:
            found = one(conn, "SELECT * FROM findings WHERE id=?", (finding_id,))
            if found is None:
                raise NotFoundError("This finding is not here.")
            withdraw(conn, [finding_id], by)

    def findings(self, run: int | str, kind: str | None = None) -> list[dict]:
        """Findings of a run that were not withdrawn: id, row_id, kind, code, note, by.

        ``code`` is the name that the code has by now, under whatever name it was given.
        """
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            names = code_names(conn)
            found = every(
                conn,
                "SELECT f.id, f.row_id, f.kind, f.code_id AS code, f.note, f.by, f.created_at "
                f"FROM findings f WHERE f.run_id=? AND (? IS NULL OR f.kind=?) AND {STANDS} "
                "ORDER BY f.id",
                (run_id, kind, kind),
            )
        for line in found:
            line["code"] = names.get(line["code"])
        return found

    def read_at(self, row_id: int, by: str) -> str | None:
        """When this person read the row with the judge's and the others' verdicts in view."""
        with self._connections.read() as conn:
            line = conn.execute(
                "SELECT min(created_at) FROM findings WHERE row_id=? AND by=?", (row_id, by)
            ).fetchone()
        return line[0]

    def last_codes(self, run: int | str, n: int = 5) -> list[str]:
        """The codes used last on a run, newest first."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            names = code_names(conn)
            found: list[Any] = conn.execute(
                "SELECT f.code_id FROM findings f WHERE f.run_id=? AND f.code_id IS NOT NULL "
                "GROUP BY f.code_id ORDER BY max(f.id) DESC",
                (run_id,),
            ).fetchall()
        return [*dict.fromkeys(names[f[0]] for f in found)][:n]


def insert(conn: sqlite3.Connection, *values: Any) -> int:
    """A finding of (run_id, row_id, kind, code_id, note, by, label_id); its id."""
    done = conn.execute(
        "INSERT INTO findings (run_id, row_id, kind, code_id, note, by, label_id, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, now()),
    )
    return int(done.lastrowid or 0)


def withdraw(conn: sqlite3.Connection, ids: Sequence[int], by: str) -> list[int]:
    """Take back those of the findings that stand; which."""
    stood = [
        line
        for each in ids
        if (line := one(conn, f"SELECT f.* FROM findings f WHERE f.id=? AND {STANDS}", (each,)))
    ]
    conn.executemany(
        "INSERT INTO findings (run_id, row_id, kind, by, withdraws, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [(f["run_id"], f["row_id"], f["kind"], by, f["id"], now()) for f in stood],
    )
    return [line["id"] for line in stood]


def restore(conn: sqlite3.Connection, finding: dict, by: str) -> None:
    """Undo the withdrawal of a finding: it stands again as what its reader found."""
    conn.execute(
        "INSERT INTO findings (run_id, row_id, kind, by, withdraws, created_at) "
        "SELECT w.run_id, w.row_id, w.kind, ?, w.id, ? FROM findings w WHERE w.row_id=? "
        "AND w.withdraws=? AND NOT EXISTS "
        "(SELECT 1 FROM findings v WHERE v.row_id=w.row_id AND v.withdraws=w.id)",
        (by, now(), finding["row_id"], finding["id"]),
    )


def in_batches(conn: sqlite3.Connection, sql: str, ids: Sequence[int]) -> list[dict]:
    """All lines for these ids; `sql` has ``{}`` where their question marks go."""
    found = []
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        found += every(conn, sql.format(marks(batch)), batch)
    return found


def _has_any(conn: sqlite3.Connection, row_id: int, by: str) -> bool:
    sql = "SELECT 1 FROM findings WHERE row_id=? AND by=? LIMIT 1"
    return conn.execute(sql, (row_id, by)).fetchone() is not None
