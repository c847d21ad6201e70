"""Queues: which rows are to be answered, in which order, and with what chance they were drawn.

What is on screen next is always a question to this table, never the state of a session.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from ._base import Family, event, every, marks, now, one, ready_run
from .errors import NotFoundError, RefusedError

HOW = ("random", "one_per_task", "stratified", "group", "census", "picked", "imported")

DRAWN = ("random", "one_per_task", "stratified", "group", "census")
"""Draws that an estimate may rest on, and so has a planned number of labels."""


_SIZE = "(SELECT coalesce(max(d.position) + 1, 0) FROM queue_rows d WHERE d.queue_id=q.id)"
"""Rows of a queue; positions have no gaps, so nothing is counted on a key press."""

BATCH = 2_000
"""Rows of a queue in one transaction."""


class Queues(Family):
    """Queues of a run, and each annotator's way through them."""

    def add_queue(
        self,
        run: int | str,
        name: str,
        how: str,
        rows: Sequence[tuple[int, float | None, str | None]],
        purpose: str = "label",
        criterion: str = "overall",
        seed: int = 0,
        by: str | None = None,
        **about: Any,
    ) -> dict:
        """Make a queue of (row_id, inclusion probability, stratum) in this order.

        `about` may hold planned_n, grader_id, gold, cell, field, value, agreeing_share and
        guideline_version. A queue that says the same in every respect is given back instead
        of made twice.
        """
        if how not in HOW:
            raise RefusedError(f"A queue is drawn {', '.join(HOW)}; not {how!r}.")
        if any(p is not None and not 0 < p <= 1 for _, p, _ in rows):
            raise RefusedError("The chance of a row to be drawn lies above 0 and up to 1.")
        columns = (
            "planned_n", "grader_id", "gold", "cell", "field", "value", "agreeing_share",
            "guideline_version",
        )  # fmt: skip
        places = [(n, *row) for n, row in enumerate({row[0]: row for row in rows}.values())]
        with self._connections.write() as conn:
            run_id = ready_run(conn, run)["id"]
            said = {"run_id": run_id, "name": name, "how": how, "purpose": purpose,
                    "criterion": criterion, "seed": seed, **{c: about.get(c) for c in columns}}  # fmt: skip
            there = _same_queue(conn, said)
            if there is not None:
                return there
            line = said | {"created_by": by, "created_at": now()}
            if len(places) > BATCH:
                line["closed_at"] = now()  # in no list before its last row is in
            queue_id = conn.execute(
                f"INSERT INTO queues ({', '.join(line)}) VALUES ({','.join('?' * len(line))})",
                [*line.values()],
            ).lastrowid
            _place(conn, queue_id, run_id, places[:BATCH])
        for start in range(BATCH, len(places), BATCH):
            with self._connections.write(durable=False) as conn:
                _place(conn, queue_id, run_id, places[start : start + BATCH])
        with self._connections.write() as conn:
            if len(places) > BATCH:
                there = _same_queue(conn, said)  # drawn by somebody else meanwhile
                if there is not None:
                    return there
                conn.execute("UPDATE queues SET closed_at=NULL WHERE id=?", (queue_id,))
            event(conn, by, "queue", run_id, name)
            return one(conn, "SELECT * FROM queues WHERE id=?", (queue_id,)) or {}

    def queue(self, queue_id: int) -> dict:
        """One queue with its size and its run's name.

        Raises
        ------
        NotFoundError
            When it, or its run, is gone.
        """
        with self._connections.read() as conn:
            found = one(
                conn,
                f"SELECT q.*, u.name AS run, {_SIZE} AS n FROM queues q "
                "JOIN runs u ON u.id=q.run_id AND u.state='ready' WHERE q.id=?",
                (queue_id,),
            )
        if found is None:
            raise NotFoundError("This queue is no longer here: it or its run was deleted.")
        return found

    def queues(
        self, run: int | str | None = None, purpose: str | None = None, closed: bool = False
    ) -> list[dict]:
        """Open queues, newest first, each with its size and its run's name.

        `closed`: closed ones and those of archived runs too.
        """
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"] if run is not None else None
            return every(
                conn,
                f"SELECT q.*, u.name AS run, {_SIZE} AS n FROM queues q "
                "JOIN runs u ON u.id=q.run_id AND u.state='ready' "
                "WHERE (? OR (q.closed_at IS NULL AND u.archived_at IS NULL)) AND (? IS NULL OR q.run_id=?) "
                "AND (? IS NULL OR q.purpose=?) ORDER BY q.id DESC",
                (closed, run_id, run_id, purpose, purpose),
            )

    def audits(self, run: int | str, gold: str, criterion: str) -> list[dict]:
        """Audits of a gold, open and closed, newest first."""
        return [
            queue
            for queue in self.queues(run, "audit", closed=True)
            if (queue["gold"], queue["criterion"]) == (gold, criterion)
        ]

    def still_to_label(
        self, annotator: str, run: int | str | None = None, ids: Sequence[int] | None = None
    ) -> set[int]:
        """Which rows, of a run or of `ids`, wait for this annotator in an open queue they began.

        What the judge or others say of such a row is not for their eyes yet.
        """
        with self._connections.read() as conn:
            if ids is not None:
                of, given = f"d.row_id IN ({marks(ids)})", tuple(ids)
            else:
                of, given = "q.run_id=?", (ready_run(conn, run or 0)["id"],)
            lines = conn.execute(
                f"SELECT d.row_id FROM queue_rows d JOIN queues q ON q.id=d.queue_id "
                f"WHERE {of} AND q.closed_at IS NULL "
                "AND q.purpose<>'review' AND EXISTS (SELECT 1 FROM labels l "
                "WHERE l.annotator=? AND l.queue_id=q.id) AND NOT EXISTS "
                "(SELECT 1 FROM current_labels c WHERE c.row_id=d.row_id "
                "AND c.criterion=q.criterion AND c.annotator=?)",
                (*given, annotator, annotator),
            )
            return {line[0] for line in lines}

    def queue_row_ids(self, queue_id: int) -> list[int]:
        """The rows of a queue in its order."""
        with self._connections.read() as conn:
            return [
                line[0]
                for line in conn.execute(
                    "SELECT row_id FROM queue_rows WHERE queue_id=? ORDER BY position", (queue_id,)
                )
            ]

    def close_queue(self, queue_id: int, by: str | None = None) -> None:
        """Take a queue out of the lists; its labels stay."""
        with self._connections.write() as conn:
            conn.execute("UPDATE queues SET closed_at=? WHERE id=?", (now(), queue_id))
            event(conn, by, "close queue", None, str(queue_id))

    def next_row(self, queue_id: int, annotator: str) -> dict | None:
        """The row to answer now: {"row_id", "position", "deferred"}; None when all are done.

        The first one in order that this annotator has neither answered nor put off; when there
        is none, the one put off longest ago.
        """
        with self._connections.read() as conn:
            return one(conn, _NEXT, (annotator, queue_id, annotator)) or one(
                conn, _DEFERRED, (annotator, queue_id, annotator)
            )

    def progress(self, queue_id: int, annotator: str) -> dict:
        """``n`` rows, ``done`` by this annotator, ``unclear`` of these, ``later``, ``last_ts``,
        ``last_label``, and ``per_hour`` over the last twenty (pauses over 5 minutes left out).
        """
        with self._connections.read() as conn:
            n = conn.execute(f"SELECT {_SIZE} FROM queues q WHERE q.id=?", (queue_id,)).fetchone()
            done, unclear = conn.execute(
                "SELECT count(*), coalesce(sum(l.verdict='unclear'), 0) FROM queues q "
                "JOIN runs u ON u.id=q.run_id "
                "JOIN current_labels c ON c.annotator=? AND c.criterion=q.criterion "
                "AND c.row_id BETWEEN u.first_id AND u.last_id "
                "JOIN queue_rows d ON d.queue_id=q.id AND d.row_id=c.row_id "
                "JOIN labels l ON l.id=c.label_id WHERE q.id=?",
                (annotator, queue_id),
            ).fetchone()
            later = conn.execute(
                "SELECT count(*) FROM queues q JOIN deferrals f ON f.queue_id=q.id "
                "WHERE q.id=? AND f.annotator=? AND NOT EXISTS (SELECT 1 FROM current_labels c "
                "WHERE c.row_id=f.row_id AND c.criterion=q.criterion AND c.annotator=f.annotator)",
                (queue_id, annotator),
            ).fetchone()[0]
            recent = every(
                conn,
                "SELECT l.id, l.ts, julianday(l.ts) AS day FROM labels l "
                "JOIN current_labels c ON c.row_id=l.row_id AND c.criterion=l.criterion AND c.annotator=l.annotator AND c.label_id=l.id "
                "WHERE l.annotator=? AND l.queue_id=? ORDER BY l.id DESC LIMIT 20",
                (annotator, queue_id),
            )
        return {
            "n": n[0] if n else 0,
            "done": done,
            "unclear": unclear,
            "later": later,
            "last_ts": recent[0]["ts"] if recent else None,
            "last_label": recent[0]["id"] if recent else None,
            "per_hour": _pace([r["day"] for r in recent]),
        }


def _same_queue(conn: sqlite3.Connection, said: dict[str, Any]) -> dict | None:
    same = " AND ".join(f"{c} IS ?" for c in said)
    return one(conn, f"SELECT * FROM queues WHERE {same} AND closed_at IS NULL", [*said.values()])


def _place(
    conn: sqlite3.Connection, queue_id: int | None, run_id: int, places: Sequence[tuple]
) -> None:
    ready_run(conn, run_id)
    for place in places:
        if not conn.execute(
            "INSERT INTO queue_rows (queue_id, position, row_id, inclusion_p, stratum) "
            "SELECT ?, ?, id, ?, ? FROM rows WHERE id=? AND run_id=?",
            (queue_id, place[0], place[2], place[3], place[1], run_id),
        ).rowcount:
            raise RefusedError(f"Row {place[1]} is not of this run; the queue was not made.")


_OPEN = (
    "FROM queues q JOIN queue_rows d ON d.queue_id=q.id "
    "LEFT JOIN current_labels c ON c.row_id=d.row_id AND c.criterion=q.criterion AND c.annotator=? "
)
_NEXT = (
    "SELECT d.row_id, d.position, 0 AS deferred " + _OPEN + "WHERE q.id=? AND c.label_id IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM deferrals f WHERE f.queue_id=q.id AND f.annotator=? "
    "AND f.row_id=d.row_id) ORDER BY d.position LIMIT 1"
)
_DEFERRED = (
    "SELECT d.row_id, d.position, 1 AS deferred " + _OPEN + "JOIN deferrals f ON f.queue_id=q.id "
    "AND f.row_id=d.row_id WHERE q.id=? AND c.label_id IS NULL AND f.annotator=? "
    "ORDER BY f.turn LIMIT 1"
)


def _pace(days: list[float]) -> float | None:
    gaps = [(a - b) * 24 for a, b in zip(days, days[1:], strict=False)]
    steady = [g for g in gaps if g < 5 / 60]
    hours = sum(steady)
    return len(steady) / hours if hours > 0 else None
