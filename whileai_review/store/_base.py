"""What the families of tables share: the connections, the clock, one-row reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from .connection import Connections
from .errors import NotFoundError


def now() -> str:
    """The instant, in UTC, as every table writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def one(conn: sqlite3.Connection, sql: str, values: Sequence[Any] = ()) -> dict | None:
    """The first line of an answer as a dict, or None."""
    line = conn.execute(sql, values).fetchone()
    return dict(line) if line is not None else None


def every(conn: sqlite3.Connection, sql: str, values: Sequence[Any] = ()) -> list[dict]:
    """All lines of an answer as dicts."""
    return [dict(line) for line in conn.execute(sql, values)]


def event(
    conn: sqlite3.Connection, by: str | None, what: str, run_id: int | None, detail: str = ""
) -> None:
    """Write down who did what, in the transaction that does it."""
    conn.execute(
        "INSERT INTO events (at, by, what, run_id, detail) VALUES (?, ?, ?, ?, ?)",
        (now(), by or "", what, run_id, detail),
    )


def ready_run(conn: sqlite3.Connection, run: int | str) -> dict:
    """The run with this id or name; only ready ones are there for anybody."""
    found = None
    if isinstance(run, int):
        found = one(conn, "SELECT * FROM runs WHERE id=? AND state='ready'", (run,))
    else:
        found = one(conn, "SELECT * FROM runs WHERE name=? AND state='ready'", (run,))
    if found is None:
        names = [r["name"] for r in conn.execute("SELECT name FROM runs WHERE state='ready'")]
        there = ", ".join(names[:10]) or "none yet"
        raise NotFoundError(f"No run {run!r} here. Runs: {there}.")
    return found


def marks(values: Iterable[Any]) -> str:
    """As many question marks as there are values, for ``IN (...)``."""
    return ",".join("?" for _ in values)


class Family:
    """One family of tables of a store."""

    _connections: Connections
