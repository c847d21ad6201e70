"""Labels: append-only, one current label by row, criterion and annotator.

A press arrives as one call with a nonce: the same press twice is one label, a press for a row
that the annotator has answered meanwhile (another tab, a stale screen) is refused by name.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ._base import Family, event, every, now, one, ready_run
from .errors import NotFoundError, RefusedError

VERDICTS = ("pass", "fail", "unclear")
KINDS = ("human", "program", "model")
ESTIMATING = ("random", "one_per_task", "stratified", "group", "census", "imported")
"""How rows were chosen whose labels may enter an estimate; picked ones never do unsaid."""

BATCH = 500
"""Labels in one transaction of an import."""

_NAMES = (
    "run_id", "row_id", "identity", "criterion", "annotator", "kind", "verdict", "supersedes",
    "note", "step", "tags", "seconds", "queue_id", "chosen", "inclusion_p", "draw_order",
    "rule_version", "guideline_version", "unblinded_at", "carried_from", "nonce", "ts",
    "ts_original",
)  # fmt: skip
_INSERT = (
    f"INSERT INTO labels (id, {', '.join(_NAMES)}, content) VALUES "
    f"({','.join(f'?{n}' for n in range(1, len(_NAMES) + 2))}, "
    f"(SELECT content FROM rows WHERE id=?{_NAMES.index('row_id') + 2}))"
)
_STANDS = "l.verdict IS NOT NULL AND NOT EXISTS (SELECT 1 FROM labels s WHERE s.supersedes=l.id)"
"""A label that nothing came after, whether or not its run is still there."""

_CHANCE = (  # a queue that was extended gives its first rows, too, the chance of the longer draw
    "CASE WHEN l.queue_id IN (SELECT queue_id FROM extensions) THEN (SELECT d.inclusion_p "
    "FROM queue_rows d WHERE d.queue_id=l.queue_id AND d.row_id=l.row_id) ELSE l.inclusion_p END"
)
_CURRENT = (
    "JOIN current_labels c ON c.row_id=l.row_id AND c.criterion=l.criterion "
    "AND c.annotator=l.annotator AND c.label_id=l.id"
)
"""Keeps the labels that count."""

_WITHDRAWN: dict[str, Any] = {"verdict": None, "note": None, "nonce": None, "ts": None}


class Labels(Family):
    """What people, programs and models said of rows."""

    def add_label(
        self,
        row_id: int,
        annotator: str,
        verdict: str,
        nonce: str,
        criterion: str = "overall",
        queue_id: int | None = None,
        note: str | None = None,
        step: int | None = None,
        seconds: float | None = None,
        unblinded_at: str | None = None,
        change: bool = False,
    ) -> dict:
        """One person's label on one row, durable when this returns.

        Parameters
        ----------
        nonce
            Names the press; a second call with it gives the first one's receipt.
        change
            True to replace one's own current label; without it a row that this annotator
            has answered is refused, since the screen that the press came from was stale.

        Returns
        -------
        dict
            ``label_id``, ``ts``, ``repeated`` (True when the nonce was known).

        Raises
        ------
        NotFoundError
            The row's run was deleted meanwhile.
        RefusedError
            Unknown verdict, or already answered.
        NotSavedError
            The file could not be written; nothing was kept.
        """
        if verdict not in VERDICTS:
            raise RefusedError(f"A verdict is one of {', '.join(VERDICTS)}, not {verdict!r}.")
        with self._connections.write() as conn:
            known = one(conn, "SELECT * FROM labels WHERE nonce=?", (nonce,))
            if known:
                if (known["row_id"], known["annotator"]) != (row_id, annotator):
                    raise RefusedError("Not saved: this press was for another row.")
                return {"label_id": known["id"], "ts": known["ts"], "repeated": True}
            row = _labelable(conn, row_id)
            current = _current(conn, row_id, criterion, annotator)
            if current and not change:
                raise RefusedError("Not saved: you have answered this row already.")
            drawn = _drawn(conn, queue_id, row_id)
            ts = now()
            label_id = _append(
                conn,
                row["run_id"],
                row_id,
                row["identity"],
                criterion,
                annotator,
                "human",
                verdict,
                supersedes=current,
                note=note or None,
                step=step,
                seconds=seconds,
                queue_id=queue_id,
                unblinded_at=unblinded_at,
                nonce=nonce,
                ts=ts,
                **drawn,
            )
            if queue_id is not None:
                conn.execute(
                    "DELETE FROM deferrals WHERE queue_id=? AND annotator=? AND row_id=?",
                    (queue_id, annotator, row_id),
                )
            _first_gold(conn, row["run_id"], "human")
            return {"label_id": label_id, "ts": ts, "repeated": False}

    def undo_label(
        self, annotator: str, nonce: str, queue_id: int | None = None, label_id: int | None = None
    ) -> dict | None:
        """Take back one's last current label (of a queue), or a named one.

        Returns the label that was taken back, None when there is none. What stood before it
        does not come back: the row is open again.
        """
        with self._connections.write() as conn:
            again = one(
                conn,
                "SELECT l.* FROM labels u JOIN labels l ON l.id=u.supersedes "
                "WHERE u.nonce=? AND u.annotator=? AND u.verdict IS NULL",
                (nonce, annotator),
            )
            if again is not None:
                return again
            values: list[Any] = [annotator]
            where = ""
            for column, value in (("queue_id", queue_id), ("id", label_id)):
                if value is not None:
                    where += f" AND l.{column}=?"
                    values.append(value)
            last = one(
                conn,
                f"SELECT l.* FROM labels l {_CURRENT} WHERE l.annotator=?{where} "
                "ORDER BY l.id DESC LIMIT 1",
                values,
            )
            if last is None:
                return None
            copied = {k: last[k] for k in ("queue_id", "chosen", "inclusion_p", "draw_order")}
            _append(
                conn,
                last["run_id"],
                last["row_id"],
                last["identity"],
                last["criterion"],
                annotator,
                last["kind"],
                None,
                supersedes=last["id"],
                nonce=nonce,
                ts=now(),
                **copied,
            )
            return last

    def defer(self, queue_id: int, annotator: str, row_id: int) -> None:
        """Put a row at the end of one's own order of a queue."""
        with self._connections.write() as conn:
            _labelable(conn, row_id)
            if not conn.execute(
                "SELECT 1 FROM queue_rows WHERE queue_id=? AND row_id=?", (queue_id, row_id)
            ).fetchone():
                raise NotFoundError("This row is not in this queue.")
            turn = conn.execute(
                "SELECT coalesce(max(turn), 0) + 1 FROM deferrals WHERE queue_id=? AND annotator=?",
                (queue_id, annotator),
            ).fetchone()[0]
            conn.execute(
                "INSERT OR REPLACE INTO deferrals (queue_id, annotator, row_id, turn) "
                "VALUES (?, ?, ?, ?)",
                (queue_id, annotator, row_id, turn),
            )

    def put_labels(
        self,
        run: int | str,
        labels: Iterable[dict],
        by: str | None = None,
        replace: Sequence[tuple[str, str]] = (),
    ) -> dict[str, int]:
        """Labels from a file, a rule or another run.

        Each has ``row_id, identity, criterion, annotator, kind, verdict`` and may have
        ``note, seconds, chosen, ts, ts_original, rule_version, carried_from``. All are checked
        before the first is written; they are written in batches, so that no person's label
        waits for them, and putting the same ones again completes what a killed process left.
        The same label again is unchanged; another verdict supersedes, with its history.
        `replace` lists (criterion, annotator) whose current labels that are not given again
        are undone.

        Returns counts: ``new, changed, unchanged, withdrawn``.
        """
        given: dict[tuple[str, str], dict[int, dict]] = {(p[0], p[1]): {} for p in replace}
        for label in labels:
            _check(label)
            given.setdefault((label["criterion"], label["annotator"]), {})[label["row_id"]] = label
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            _check_rows(conn, run_id, {row_id for of in given.values() for row_id in of})
            held = {pair: _held(conn, run_id, *pair) for pair in given}
        replaced = {(p[0], p[1]) for p in replace}
        planned: list[tuple[dict, dict | None]] = []
        golds: dict[str, int] = {}
        for pair, by_row in given.items():
            for row_id, label in by_row.items():
                golds[_gold_of(label)] = golds.get(_gold_of(label), 0) + 1
                planned.append((label, held[pair].get(row_id)))
            if pair in replaced:
                planned += [(b | _WITHDRAWN, b) for r, b in held[pair].items() if r not in by_row]
        counts = {"new": 0, "changed": 0, "unchanged": 0, "withdrawn": 0}
        todo = [p for p in planned if _difference(*p) != "unchanged"]
        counts["unchanged"] = len(planned) - len(todo)
        for start in range(0, len(todo), BATCH):
            with self._connections.write(durable=False) as conn:
                ready_run(conn, run_id)
                _put_batch(conn, run_id, todo[start : start + BATCH], counts)
        with self._connections.write() as conn:
            if golds:
                _first_gold(conn, run_id, max(golds, key=lambda k: golds[k]))
            event(conn, by, "labels", run_id, f"{counts}")
        return counts

    def labels(
        self,
        run: int | str,
        criterion: str | None = None,
        history: bool = False,
        after_id: int = 0,
    ) -> list[dict]:
        """The labels of a run as dicts, oldest first: the current ones, or every line.

        ``verdict`` is pass, fail or unclear (None only in the history: an undo).
        """
        current = "" if history else f"{_CURRENT} "
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            return every(
                conn,
                f"SELECT l.* FROM labels l {current}WHERE l.run_id=? "
                "AND (? IS NULL OR l.criterion=?) AND l.id>? ORDER BY l.id",
                (run_id, criterion, criterion, after_id),
            )

    def gold_labels(
        self,
        run: int | str,
        criterion: str,
        with_people: bool = False,
        rows: Collection[int] | None = None,
    ) -> list[tuple[Any, ...]]:
        """What gold is derived from, of every current label on this criterion.

        Each is (row_id, verdict, annotator, kind, ts, chosen, unblinded_at, label id,
        inclusion_p, queue_id). `with_people`: on the rows only that a person labelled;
        `rows`: of these rows only.
        """
        only = (
            "AND l.row_id IN (SELECT row_id FROM labels "
            "WHERE run_id=:run AND criterion=:criterion AND kind='human') "
        )
        some = "AND l.row_id IN (SELECT value FROM json_each(:rows)) " if rows is not None else ""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            return [
                tuple(line)
                for line in conn.execute(
                    "SELECT l.row_id, l.verdict, l.annotator, l.kind, l.ts, l.chosen, "
                    f"l.unblinded_at, l.id, {_CHANCE}, l.queue_id "
                    f"FROM labels l {_CURRENT} WHERE l.run_id=:run "
                    f"AND l.criterion=:criterion {only if with_people else ''}{some}ORDER BY l.id",
                    {"run": run_id, "criterion": criterion, "rows": json.dumps(list(rows or ()))},
                )
            ]

    def has_gold(self, run: int | str, criterion: str, gold: str) -> bool:
        """Whether a gold (a kind, or the name of an import) has a current label here."""
        which = (
            "l.annotator=?"
            if gold.startswith("file:")
            else ("l.kind=? AND l.annotator NOT LIKE 'file:%'")
        )
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            line = conn.execute(
                "SELECT 1 FROM labels l JOIN current_labels c ON c.row_id=l.row_id "
                "AND c.criterion=l.criterion AND c.annotator=l.annotator AND c.label_id=l.id "
                f"WHERE l.run_id=? AND l.criterion=? AND {which} LIMIT 1",
                (run_id, criterion, gold),
            ).fetchone()
        return line is not None

    def labels_of(self, row_id: int, criterion: str | None = None) -> list[dict]:
        """The current labels on one row."""
        with self._connections.read() as conn:
            return every(
                conn,
                "SELECT l.* FROM current_labels c JOIN labels l ON l.id=c.label_id "
                "WHERE c.row_id=? AND (? IS NULL OR c.criterion=?) ORDER BY l.id",
                (row_id, criterion, criterion),
            )

    def my_last(self, annotator: str, queue_id: int, n: int = 10) -> list[dict]:
        """One's last current labels in a queue, newest first."""
        with self._connections.read() as conn:
            return every(
                conn,
                f"SELECT l.* FROM labels l {_CURRENT} "
                "WHERE l.annotator=? AND l.queue_id=? ORDER BY l.id DESC LIMIT ?",
                (annotator, queue_id, n),
            )

    def label_revision(self, run: int | str, criterion: str) -> int:
        """A number that grows with every label on this run and criterion."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            line = conn.execute(
                "SELECT max(id) FROM labels WHERE run_id=? AND criterion=?", (run_id, criterion)
            ).fetchone()
        return line[0] or 0

    def rows_labelled_since(
        self, run: int | str, criterion: str, after_id: int, limit: int
    ) -> set[int]:
        """Rows on which a label was given or taken back after a label; at most `limit`."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            lines = conn.execute(
                "SELECT DISTINCT row_id FROM labels WHERE run_id=? AND criterion=? AND id>? LIMIT ?",
                (run_id, criterion, after_id, limit),
            )
            return {line[0] for line in lines}

    def rows_by_label(self, run: int | str, criterion: str) -> dict[str, list[int]]:
        """Rows with a current label of each verdict, by anybody, on one criterion."""
        found: dict[str, list[int]] = {"pass": [], "fail": [], "unclear": []}
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            for row_id, verdict in conn.execute(
                f"SELECT DISTINCT l.row_id, l.verdict FROM labels l {_CURRENT} "
                "WHERE l.run_id=? AND l.criterion=?",
                (run_id, criterion),
            ):
                found[verdict].append(row_id)
        return found

    def rows_with_notes(self, run: int | str) -> set[int]:
        """Rows of a run on which somebody's current label, or a finding, has a note."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            rows = conn.execute(
                f"SELECT l.row_id FROM labels l {_CURRENT} WHERE l.run_id=? AND l.note<>'' "
                "UNION SELECT f.row_id FROM findings f WHERE f.run_id=? AND f.note<>'' "
                "AND NOT EXISTS (SELECT 1 FROM findings w WHERE w.withdraws=f.id)",
                (run_id, run_id),
            )
            return {row[0] for row in rows}

    def label_counts(self, run: int | str, criterion: str) -> list[dict]:
        """Current labels by kind, annotator, how chosen and verdict, with n."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            return every(
                conn,
                "SELECT l.kind, l.annotator, l.chosen, l.verdict, l.unblinded_at IS NOT NULL "
                "AS unblinded, count(*) AS n FROM labels l "
                f"{_CURRENT} "
                "WHERE l.run_id=? AND l.criterion=? "
                "GROUP BY l.kind, l.annotator, l.chosen, l.verdict, unblinded ORDER BY n DESC",
                (run_id, criterion),
            )

    def label_offers(self, run: int | str) -> list[dict]:
        """Other runs, deleted ones too, that hold labels on rollouts of this run.

        Each with ``run_id``, ``run`` (its name, None when deleted) and ``n`` labels that are
        current and that this run does not have from the same annotator.
        """
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            return every(
                conn,
                "SELECT l.run_id, u.name AS run, count(*) AS n FROM labels l "
                "JOIN rows r ON r.run_id=? AND r.identity=l.identity AND r.content IS l.content "
                "LEFT JOIN runs u ON u.id=l.run_id AND u.state='ready' "
                f"WHERE l.run_id<>? AND {_STANDS} AND NOT EXISTS (SELECT 1 FROM current_labels c "
                "WHERE c.row_id=r.id AND c.criterion=l.criterion AND c.annotator=l.annotator) "
                "GROUP BY l.run_id ORDER BY n DESC",
                (run_id, run_id),
            )

    def labels_for(self, run: int | str, from_run: int) -> list[dict]:
        """Labels of another run on rollouts of this one, each with the ``to_row`` it fits.

        A rollout that this run holds twice gets none: nobody can say which one was meant.
        """
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            return every(
                conn,
                "SELECT l.*, min(r.id) AS to_row FROM labels l "
                "JOIN rows r ON r.run_id=? AND r.identity=l.identity AND r.content IS l.content "
                f"WHERE l.run_id=? AND {_STANDS} GROUP BY l.id HAVING count(*)=1 ORDER BY l.id",
                (run_id, from_run),
            )


def _labelable(conn: sqlite3.Connection, row_id: int) -> dict:
    row = one(
        conn,
        "SELECT r.id, r.run_id, r.identity FROM rows r "
        "JOIN runs u ON u.id=r.run_id AND u.state='ready' WHERE r.id=?",
        (row_id,),
    )
    if row is None:
        raise NotFoundError("Not saved: the run of this row was deleted while it was open.")
    return row


def _current(conn: sqlite3.Connection, row_id: int, criterion: str, annotator: str) -> int | None:
    line = conn.execute(
        "SELECT label_id FROM current_labels WHERE row_id=? AND criterion=? AND annotator=?",
        (row_id, criterion, annotator),
    ).fetchone()
    return line[0] if line else None


def _drawn(conn: sqlite3.Connection, queue_id: int | None, row_id: int) -> dict:
    """How the row came before the annotator."""
    line = one(
        conn,
        "SELECT q.how, q.guideline_version, d.inclusion_p, d.position FROM queues q "
        "JOIN queue_rows d ON d.queue_id=q.id WHERE q.id=? AND d.row_id=?",
        (queue_id, row_id),
    )
    if line is None:
        return {"chosen": "picked"}
    return {
        "chosen": line["how"],
        "inclusion_p": line["inclusion_p"],
        "draw_order": line["position"],
        "guideline_version": line["guideline_version"],
    }


def _append(conn: sqlite3.Connection, run_id: int, *values: Any, **rest: Any) -> int:
    """Append one label of a person and make it the current one."""
    names = ("row_id", "identity", "criterion", "annotator", "kind", "verdict")
    label = dict(zip(names, values, strict=True)) | rest
    _append_many(conn, [_line(run_id, label, {"id": rest.get("supersedes")})])
    return int(conn.execute("SELECT seq FROM sqlite_sequence WHERE name='labels'").fetchone()[0])


def _line(run_id: int, label: dict, before: dict | None) -> tuple[Any, ...]:
    """A label in the order of `_NAMES`."""
    about = {"ts": now(), "chosen": "imported"} | {k: v for k, v in label.items() if v is not None}
    about |= {"run_id": run_id, "supersedes": before["id"] if before else None}
    return tuple(about.get(name) for name in _NAMES)


def _append_many(conn: sqlite3.Connection, lines: Sequence[tuple[Any, ...]]) -> None:
    seq = conn.execute("SELECT seq FROM sqlite_sequence WHERE name='labels'").fetchone()
    first = (seq[0] if seq else 0) + 1
    conn.executemany(_INSERT, ((first + n, *line) for n, line in enumerate(lines)))
    row, criterion, annotator, verdict = (
        _NAMES.index(n) for n in ("row_id", "criterion", "annotator", "verdict")
    )
    conn.executemany(
        "INSERT OR REPLACE INTO current_labels (row_id, criterion, annotator, label_id) "
        "VALUES (?, ?, ?, ?)",
        (
            (x[row], x[criterion], x[annotator], first + n)
            for n, x in enumerate(lines)
            if x[verdict] is not None
        ),
    )
    conn.executemany(
        "DELETE FROM current_labels WHERE row_id=? AND criterion=? AND annotator=?",
        ((x[row], x[criterion], x[annotator]) for x in lines if x[verdict] is None),
    )


def _put_batch(
    conn: sqlite3.Connection,
    run_id: int,
    planned: Sequence[tuple[dict, dict | None]],
    counts: dict[str, int],
) -> None:
    """Write labels, each against the one that is current now: somebody may have been quicker."""
    lines = []
    for label, before in planned:
        current = _current(conn, label["row_id"], label["criterion"], label["annotator"])
        if current != (before["id"] if before else None):
            if label["verdict"] is None:
                counts["unchanged"] += 1  # not the one that was to be withdrawn
                continue
            before = one(conn, "SELECT * FROM labels WHERE id=?", (current,))
        what = _difference(label, before)
        counts[what] += 1
        if what != "unchanged":
            lines.append(_line(run_id, label, before))
    _append_many(conn, lines)


def _check_rows(conn: sqlite3.Connection, run_id: int, ids: Iterable[int]) -> None:
    for row_id in ids:
        if not conn.execute(
            "SELECT 1 FROM rows WHERE id=? AND run_id=?", (row_id, run_id)
        ).fetchone():
            raise RefusedError(f"No label was kept: row {row_id} is not of this run.")


def _held(conn: sqlite3.Connection, run_id: int, criterion: str, annotator: str) -> dict[int, dict]:
    return {
        line["row_id"]: line
        for line in every(
            conn,
            "SELECT l.* FROM current_labels c JOIN labels l ON l.id=c.label_id "
            "WHERE c.annotator=? AND c.criterion=? AND l.run_id=?",
            (annotator, criterion, run_id),
        )
    }


def _check(label: dict) -> None:
    if label["verdict"] not in VERDICTS or label["kind"] not in KINDS:
        raise RefusedError(f"No label: verdict {label['verdict']!r}, kind {label['kind']!r}.")
    chance = label.get("inclusion_p")
    if chance is not None and not 0 < chance <= 1:
        raise RefusedError(
            f"No label was kept: one has inclusion_p {chance}. The chance of a row to be drawn lies "
            "above 0 and up to 1; leave it out where nobody knows it."
        )


def _difference(label: dict, before: dict | None) -> str:
    if before is None:
        return "new"
    if label["verdict"] is None:
        return "withdrawn"
    kept = ("verdict", "kind", "note", "rule_version")
    return "unchanged" if all(before[k] == label.get(k) for k in kept) else "changed"


def _gold_of(label: dict) -> str:
    """The gold that a label belongs to: an import has one of its own, by its name."""
    return label["annotator"] if label["annotator"].startswith("file:") else label["kind"]


def _first_gold(conn: sqlite3.Connection, run_id: int, gold: str) -> None:
    conn.execute("UPDATE runs SET gold=? WHERE id=? AND gold IS NULL", (gold, run_id))
