"""Plans of labels: how far a queue is, who looked before its end, how it was extended, its verdicts.

Looks, extensions and verdicts are written once and never edited or deleted but with their run.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from ._base import Family, event, every, marks, now, one, ready_run
from .errors import NotFoundError, RefusedError
from .queues import DRAWN

EXTENDED = "extend queue"
"""What the event of an extension is called; its detail says what was seen."""

_OF_RUN = (
    "JOIN queues q ON q.id=p.queue_id WHERE q.run_id=? AND q.criterion=? AND p.grader_id=? "
    "AND p.gold=?"
)


class Plans(Family):
    """What was planned, seen and found on queues that an estimate may rest on."""

    def begun_plan(self, run: int | str, criterion: str) -> dict | None:
        """The newest queue that people began: how many labels are planned and given.

        ``queue``, ``name``, ``planned`` labels, ``labelled`` and ``closed_at``. A row counts as
        labelled when a person answered it, "can't tell" too, from this queue or another: nobody
        is asked twice. Only draws that an estimate may rest on have a plan.
        """
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            newest = one(
                conn,
                "SELECT q.id AS queue, q.name, q.planned_n AS planned, q.closed_at FROM queues q "
                "WHERE q.run_id=? AND q.criterion=? AND q.purpose='label' "
                f"AND q.how IN ({marks(DRAWN)}) AND q.planned_n IS NOT NULL AND EXISTS "
                "(SELECT 1 FROM queue_rows d JOIN current_labels c ON c.row_id=d.row_id "
                "AND c.criterion=q.criterion JOIN labels l ON l.id=c.label_id "
                "WHERE d.queue_id=q.id AND l.kind='human' AND l.queue_id=q.id) "
                "ORDER BY q.id DESC LIMIT 1",
                (run_id, criterion, *DRAWN),
            )
            if newest is None:
                return None
            labelled = conn.execute(
                "SELECT count(*) FROM queue_rows d WHERE d.queue_id=? AND EXISTS "
                "(SELECT 1 FROM current_labels c JOIN labels l ON l.id=c.label_id "
                "WHERE c.row_id=d.row_id AND c.criterion=? AND l.kind='human' "
                "AND l.annotator NOT LIKE 'file:%')",
                (newest["queue"], criterion),
            ).fetchone()[0]
        return {
            **{key: newest[key] for key in ("queue", "name", "planned")},
            "labelled": labelled,
            "closed_at": newest["closed_at"],
        }

    def plan_of(self, run_id: int, grader_id: int, gold: str, criterion: str) -> dict | None:
        """The newest plan of labels that people began: planned, labelled, looks, ended_early.

        None where labels came without a plan, and for gold that no person gave in a queue.
        """
        plan = self.begun_plan(run_id, criterion) if gold == "human" else None
        if plan is None:
            return None
        run = (run_id, criterion, grader_id, gold)
        with self._connections.read() as conn:
            given = one(
                conn,
                "SELECT n_looks FROM verdicts WHERE queue_id=? AND grader_id=? AND gold=? "
                "AND planned_n=?",
                (plan["queue"], grader_id, gold, plan["planned"]),
            )
            looks = given["n_looks"] if given else _n_looks(conn, run)
        early = plan["closed_at"] is not None and plan["labelled"] < plan["planned"]
        return {
            "planned": plan["planned"],
            "labelled": plan["labelled"],
            "looks": looks,
            "ended_early": early,
        }

    def labelled_rows(self, run: int | str, criterion: str) -> set[int]:
        """Ids of the rows that a person answered here, "can't tell" too."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            return {
                line[0]
                for line in conn.execute(
                    "SELECT l.row_id FROM labels l JOIN current_labels c ON c.label_id=l.id "
                    "WHERE l.run_id=? AND l.criterion=? AND l.kind='human' "
                    "AND l.annotator NOT LIKE 'file:%'",
                    (run_id, criterion),
                )
            }

    def plan_history(self, run_id: int, criterion: str, grader_id: int, gold: str) -> dict:
        """What was seen, extended and found on a judge and a gold: three lists, oldest first.

        ``looks``: queue, n_labels, by, at. ``extensions``: queue, from_n, to_n, by, at, seen.
        ``verdicts``: queue, name, planned, state, headline, n, n_tasks, n_looks, at. Labels of
        all queues of a run are one estimate, so what was seen of one counts for the next.
        """
        about = (run_id, criterion, grader_id, gold)
        with self._connections.read() as conn:
            looks = every(
                conn,
                f"SELECT p.queue_id AS queue, p.n_labels, p.by, p.at FROM looks p {_OF_RUN} "
                "ORDER BY p.at, p.n_labels",
                about,
            )
            verdicts = every(
                conn,
                "SELECT p.queue_id AS queue, q.name, p.planned_n AS planned, p.state, p.headline, "
                f"p.n, p.n_tasks, p.n_looks, p.at FROM verdicts p {_OF_RUN} ORDER BY p.id",
                about,
            )
            extensions = every(
                conn,
                "SELECT p.id, p.queue_id AS queue, p.from_n, p.to_n, p.by, p.at FROM extensions p "
                "JOIN queues q ON q.id=p.queue_id WHERE q.run_id=? AND q.criterion=? ORDER BY p.id",
                about[:2],
            )
            said = {}
            for line in every(
                conn, "SELECT detail FROM events WHERE run_id=? AND what=?", (run_id, EXTENDED)
            ):
                detail = json.loads(line["detail"])
                said[detail["extension"]] = detail["seen"]
        for each in extensions:
            each["seen"] = said.get(each.pop("id"), "")
        return {"looks": looks, "extensions": extensions, "verdicts": verdicts}

    def n_extensions(self, run_id: int) -> int:
        """How often a queue of this run was extended; its rows then have other chances."""
        with self._connections.read() as conn:
            return conn.execute(
                "SELECT count(*) FROM extensions p JOIN queues q ON q.id=p.queue_id "
                "WHERE q.run_id=?",
                (run_id,),
            ).fetchone()[0]

    def add_look(
        self, queue_id: int, grader_id: int, gold: str, n_labels: int, by: str | None = None
    ) -> bool:
        """Write down that an interim figure was seen; once for each number of labels.

        Returns whether it was a look of its own.
        """
        about = (queue_id, grader_id, gold, n_labels)
        with self._connections.read() as conn:  # most calls find it there: no write for these
            there = one(
                conn,
                "SELECT 1 FROM looks WHERE queue_id=? AND grader_id=? AND gold=? AND n_labels=?",
                about,
            )
        if there is not None:
            return False
        with self._connections.write() as conn:
            done = conn.execute(
                "INSERT OR IGNORE INTO looks (queue_id, grader_id, gold, n_labels, by, at) "
                "SELECT ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM queues WHERE id=?)",
                (*about, by, now(), queue_id),
            )
            return done.rowcount > 0

    def set_verdict(
        self, queue_id: int, grader_id: int, gold: str, planned: int, found: dict[str, Any]
    ) -> bool:
        """Keep the verdict on a plan that is complete or ended; the first one stays.

        `found` has state, headline, n and n_tasks. Returns whether it was set now.
        """
        about = (queue_id, grader_id, gold, planned)
        with self._connections.read() as conn:
            there = one(
                conn,
                "SELECT 1 FROM verdicts WHERE queue_id=? AND grader_id=? AND gold=? "
                "AND planned_n=?",
                about,
            )
        if there is not None:
            return False
        with self._connections.write() as conn:
            queue = one(conn, "SELECT run_id, criterion FROM queues WHERE id=?", (queue_id,))
            if queue is None:
                return False
            run = (queue["run_id"], queue["criterion"], grader_id, gold)
            n_looks = _n_looks(conn, run)
            done = conn.execute(
                "INSERT OR IGNORE INTO verdicts (queue_id, grader_id, gold, planned_n, state, "
                "headline, n, n_tasks, n_looks, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *about,
                    *(found[k] for k in ("state", "headline", "n", "n_tasks")),
                    n_looks,
                    now(),
                ),
            )
            return done.rowcount > 0

    def extend_queue(
        self,
        queue_id: int,
        from_n: int,
        places: Sequence[tuple[int, float]],
        name: str,
        seen: str = "",
        by: str | None = None,
    ) -> None:
        """Raise the planned labels of a queue to all of `places`, and open it again.

        Parameters
        ----------
        places
            Every row of the longer draw in its order with its chance; the first `from_n` are
            those of the queue.
        seen
            What the page said when it was extended.

        Raises
        ------
        NotFoundError, RefusedError
            The queue is gone, or somebody else extended it meanwhile.
        """
        with self._connections.write() as conn:
            queue = one(conn, "SELECT run_id, planned_n FROM queues WHERE id=?", (queue_id,))
            if queue is None:
                raise NotFoundError("This queue is no longer here: it or its run was deleted.")
            if queue["planned_n"] != from_n:
                raise RefusedError(
                    f"Somebody else extended this queue to {queue['planned_n']:,} labels meanwhile."
                )
            ready_run(conn, queue["run_id"])
            # The longer draw gives the rows that are there another chance, too.
            conn.executemany(
                "INSERT INTO queue_rows (queue_id, position, row_id, inclusion_p) "
                "VALUES (?, ?, ?, ?) ON CONFLICT (queue_id, position) "
                "DO UPDATE SET inclusion_p=excluded.inclusion_p",
                [(queue_id, n, row_id, chance) for n, (row_id, chance) in enumerate(places)],
            )
            conn.execute(
                "UPDATE queues SET planned_n=?, name=?, closed_at=NULL WHERE id=?",
                (len(places), name, queue_id),
            )
            extension = conn.execute(
                "INSERT INTO extensions (queue_id, from_n, to_n, by, at) VALUES (?, ?, ?, ?, ?)",
                (queue_id, from_n, len(places), by, now()),
            ).lastrowid
            detail = {"extension": extension, "queue": queue_id, "seen": seen}
            event(conn, by, EXTENDED, queue["run_id"], json.dumps(detail))


def _n_looks(conn: sqlite3.Connection, about: tuple) -> int:
    """Looks so far. A verdict that was set before is one too: somebody may have gone on by it."""
    return sum(
        conn.execute(f"SELECT count(*) FROM {table} p {_OF_RUN}", about).fetchone()[0]
        for table in ("looks", "verdicts")
    )
