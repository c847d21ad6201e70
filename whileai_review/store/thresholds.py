"""Graders that cut another grader's scores at a threshold that somebody declared."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Collection

from ._base import Family, event, marks, now, one, ready_run
from .errors import NotFoundError, RefusedError
from .loading import AliveMark, grader_id
from .runs import COMING, CUT, THRESHOLD, distinct_criteria, forget_grader

BATCH = 2_000
"""Verdicts in one transaction."""


class Thresholds(Family):
    """Declared thresholds."""

    def has_scores(self, grader: int, criterion: str) -> bool:
        """Whether a grader gave a number other than 0 and 1 on a criterion."""
        with self._connections.read() as conn:
            return (
                one(
                    conn,
                    "SELECT 1 FROM scores WHERE grader_id=? AND criterion=? AND verdict IS NULL "
                    "AND value IS NOT NULL LIMIT 1",
                    (grader, criterion),
                )
                is not None
            )

    def thresholds_of(self, run: int | str, grader: int, criterion: str) -> list[dict]:
        """The graders that cut this one's scores on a criterion, oldest first."""
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            lines = conn.execute(
                "SELECT * FROM graders WHERE run_id=? AND scores_of=? AND kind<>? ORDER BY id",
                (found["id"], grader, COMING),
            ).fetchall()
            return [
                dict(line)
                for line in lines
                if criterion in distinct_criteria(conn, "scores", "grader_id", line["id"])
            ]

    def add_threshold(
        self,
        run: int | str,
        scores_of: int,
        criterion: str,
        threshold: float,
        name: str,
        threshold_hash: str,
        by: str,
        tuned_on: Collection[int] = (),
    ) -> int:
        """Declare from which score on a row passes: a grader of its own, dated and signed.

        The same threshold again is the one that is there, with its date. `tuned_on` are rows
        whose labels were looked at to choose it; they are marked as shown. Nobody sees some of
        the verdicts: they come in batches under a grader that is not shown.

        Returns
        -------
        int
            Its id.

        Raises
        ------
        RefusedError
            Another grader of the run has this name.
        """
        with self._connections.write() as conn:
            found = ready_run(conn, run)
            of = one(conn, "SELECT * FROM graders WHERE id=? AND run_id=?",
                     (scores_of, found["id"]))  # fmt: skip
            if of is None:
                raise NotFoundError("This judge is not of this run.")
            there = self._there(conn, found["id"], scores_of, threshold, name)
            if there and criterion in distinct_criteria(conn, "scores", "grader_id", there["id"]):
                return there["id"]
            coming = grader_id(conn, found["id"], f"(coming {uuid.uuid4().hex}) {name}", COMING)
            mark = AliveMark(self._connections.path, f"g{coming}")
            mark.take()
        try:
            last: int | None = -1
            while last is not None:
                with self._connections.write(durable=False) as conn:
                    ready_run(conn, found["id"])
                    last = _cut_batch(conn, coming, scores_of, criterion, threshold, last)
            with self._connections.write() as conn:
                ready_run(conn, found["id"])
                there = self._there(conn, found["id"], scores_of, threshold, name)
                number = there["id"] if there else coming
                if there:
                    conn.execute("UPDATE OR IGNORE scores SET grader_id=? WHERE grader_id=?",
                                 (number, coming))  # fmt: skip
                else:
                    conn.execute(
                        "UPDATE graders SET name=?, kind=?, judge_hash=?, rubric_hash=?, "
                        "threshold=?, threshold_hash=?, scores_of=?, declared_by=?, created_at=? "
                        "WHERE id=?",
                        (name, THRESHOLD, of["judge_hash"], of["rubric_hash"], threshold,
                         threshold_hash, scores_of, by, now(), coming),
                    )  # fmt: skip
                _mark(conn, number, criterion, tuned_on)
                said = f"{name} on {criterion}, labels of {len(tuned_on)} rows looked at"
                event(conn, by, "declare threshold", found["id"], said)
                if there:  # it may have been measured without them
                    event(conn, by, "verdicts", found["id"], name)
                return number
        finally:
            forget_grader(self._connections, coming)
            mark.release()

    @staticmethod
    def _there(
        conn: sqlite3.Connection, run_id: int, scores_of: int, threshold: float, name: str
    ) -> dict | None:
        there = one(conn, "SELECT * FROM graders WHERE run_id=? AND scores_of=? AND threshold=? "
                    "AND kind<>?", (run_id, scores_of, threshold, COMING))  # fmt: skip
        if there is None and one(
            conn, "SELECT 1 FROM graders WHERE run_id=? AND name=?", (run_id, name)
        ):
            raise RefusedError(f"A judge {name!r} is on this run already, of another kind.")
        return there


def _cut_batch(
    conn: sqlite3.Connection, to: int, scores_of: int, criterion: str, threshold: float, after: int
) -> int | None:
    """Cut the next scores; the last row of them, None when there are none left."""
    at = (scores_of, criterion, after, BATCH)
    part = "grader_id=? AND criterion=? AND row_id>? ORDER BY row_id LIMIT ?"
    last = conn.execute(
        f"SELECT max(row_id) FROM (SELECT row_id FROM scores WHERE {part})", at
    ).fetchone()[0]
    if last is not None:
        conn.execute(
            "INSERT INTO scores (grader_id, criterion, row_id, verdict, value, reason, "
            f"judge_name, shown) {CUT} WHERE {part}",
            (to, threshold, *at),
        )
    return last


def _mark(conn: sqlite3.Connection, grader: int, criterion: str, rows: Collection[int]) -> None:
    ids = list(rows)
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        conn.execute(
            f"UPDATE scores SET shown=1 WHERE grader_id=? AND criterion=? AND row_id IN ({marks(some)})",
            (grader, criterion, *some),
        )
