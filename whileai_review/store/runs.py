"""Runs: loading them whole or not at all, and what is known about each."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterable, Sequence

from ._base import Family, event, every, now, one, ready_run
from .connection import Connections
from .errors import RefusedError
from .loading import AliveMark, Load, grader_id, purge, purge_scores

COMING = "coming"
"""Kind of a grader whose verdicts are still on their way in; nobody sees it."""

THRESHOLD = "threshold"
"""Kind of a grader that cuts another one's scores."""

CUT = (
    "SELECT ?, criterion, row_id, coalesce(value, verdict)>=?, coalesce(value, verdict), reason, "
    "judge_name, shown FROM scores"
)
"""Verdicts from scores; takes the grader that gets them and its threshold."""

BATCH = 2_000
"""Verdicts in one transaction."""


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
        if self._left_over(name):
            self.sweep()
        with self._connections.write() as conn:
            self._check_free(conn, name)
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
            run_id = int(cursor.lastrowid or 0)
            # Held before anybody can see the line that it speaks for.
            mark = AliveMark(self._connections.path, str(run_id))
            mark.take()
        return Load(self, run_id, mark)

    def _left_over(self, name: str) -> bool:
        with self._connections.read() as conn:
            line = one(conn, "SELECT 1 FROM runs WHERE name=? AND state<>'ready'", (name,))
        return line is not None

    @staticmethod
    def _check_free(conn: sqlite3.Connection, name: str) -> None:
        there = one(conn, "SELECT state FROM runs WHERE name=?", (name,))
        if there is not None:
            is_there = "is there already" if there["state"] == "ready" else "is being loaded"
            raise RefusedError(
                f"A run {name!r} {is_there}. Give this one another name (--as NAME)."
            )

    def sweep(self) -> int:
        """Remove what loads of processes that are gone left behind; how many there were.

        A load that is going on, in this process or another one, is left alone.
        """
        with self._connections.read() as conn:
            runs = every(conn, "SELECT id, state FROM runs WHERE state<>'ready'")
            graders = every(conn, "SELECT id FROM graders WHERE kind=?", (COMING,))
        n = 0
        for left in runs:
            mark = AliveMark(self._connections.path, str(left["id"]))
            if mark.take():
                try:
                    purge(self._connections, left["id"])
                finally:
                    mark.release()
                n += 1
        for left in graders:
            mark = AliveMark(self._connections.path, f"g{left['id']}")
            if mark.take():
                try:
                    forget_grader(self._connections, left["id"])
                finally:
                    mark.release()
                n += 1
        return n

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
            found["graders"] = every(
                conn, "SELECT * FROM graders WHERE run_id=? AND kind<>? ORDER BY id", (*of, COMING)
            )
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
        purge(self._connections, found["id"])
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

        A verdict that was there is replaced. Nobody sees some of them: they come in batches
        under a grader that is not shown, and are made the named one's in one step. Returns
        the grader's id.
        """
        given = list(verdicts)
        with self._connections.write() as conn:
            found = ready_run(conn, run)
            if len(given) <= BATCH:
                number = grader_id(conn, found["id"], grader, kind)
                _put_scores(conn, number, given)
                return self._graded(conn, found, grader, number)
            coming = f"(coming {uuid.uuid4().hex}) {grader}"
            number = grader_id(conn, found["id"], coming, COMING)
            mark = AliveMark(self._connections.path, f"g{number}")
            mark.take()
        try:
            for start in range(0, len(given), BATCH):
                with self._connections.write(durable=False) as conn:
                    ready_run(conn, found["id"])
                    _put_scores(conn, number, given[start : start + BATCH])
            with self._connections.write() as conn:
                found = ready_run(conn, found["id"])
                named = _rename_or_merge(conn, found["id"], number, grader, kind)
                return self._graded(conn, found, grader, named)
        finally:
            forget_grader(self._connections, number)
            mark.release()

    @staticmethod
    def _graded(conn: sqlite3.Connection, run: dict, name: str, number: int) -> int:
        if run["grader_id"] is None:
            conn.execute("UPDATE runs SET grader_id=? WHERE id=?", (number, run["id"]))
        cut_again(conn, number)
        event(conn, None, "verdicts", run["id"], name)
        return number

    def verdict_revision(self, run: int | str) -> int:
        """A number that grows when verdicts are put on this run after it was loaded."""
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            line = conn.execute(
                "SELECT max(id) FROM events WHERE run_id=? AND what='verdicts'", (found["id"],)
            ).fetchone()
        return line[0] or 0

    def criteria(self, run: int | str) -> list[str]:
        """Every criterion that a grader, a label or a queue of this run speaks of, `overall` first."""
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            names = {"overall"}
            for grader in conn.execute(
                "SELECT id FROM graders WHERE run_id=? AND kind<>?", (found["id"], COMING)
            ):
                names |= distinct_criteria(conn, "scores", "grader_id", grader[0])
            names |= distinct_criteria(conn, "labels", "run_id", found["id"])
            names |= {
                line[0]
                for line in conn.execute(
                    "SELECT DISTINCT criterion FROM queues WHERE run_id=?", (found["id"],)
                )
            }
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


def _put_scores(conn: sqlite3.Connection, grader: int, verdicts: Sequence[tuple]) -> None:
    conn.executemany(
        "INSERT OR REPLACE INTO scores (grader_id, row_id, criterion, verdict, value, reason) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        ((grader, *v) for v in verdicts),
    )


def _rename_or_merge(
    conn: sqlite3.Connection, run_id: int, coming: int, name: str, kind: str
) -> int:
    there = one(conn, "SELECT id FROM graders WHERE run_id=? AND name=?", (run_id, name))
    if there is None:
        conn.execute("UPDATE graders SET name=?, kind=? WHERE id=?", (name, kind, coming))
        return coming
    conn.execute(
        "INSERT OR REPLACE INTO scores (grader_id, criterion, row_id, verdict, value, reason) "
        "SELECT ?, criterion, row_id, verdict, value, reason FROM scores WHERE grader_id=?",
        (there["id"], coming),
    )
    return there["id"]


def cut_again(conn: sqlite3.Connection, scores_of: int) -> None:
    """Bring the verdicts of declared thresholds up to the scores that they cut."""
    for line in conn.execute(
        "SELECT id, threshold FROM graders WHERE scores_of=? AND kind=?", (scores_of, THRESHOLD)
    ).fetchall():
        for criterion in distinct_criteria(conn, "scores", "grader_id", line["id"]):
            conn.execute(
                "INSERT INTO scores (grader_id, criterion, row_id, verdict, value, reason, "
                f"judge_name, shown) {CUT} WHERE grader_id=? AND criterion=? "
                "ON CONFLICT (grader_id, criterion, row_id) DO UPDATE SET "
                "verdict=excluded.verdict, value=excluded.value, reason=excluded.reason, "
                "judge_name=excluded.judge_name",
                (line["id"], line["threshold"], scores_of, criterion),
            )


def forget_grader(connections: Connections, number: int) -> None:
    """Take out a grader whose verdicts did not all come; one that has its name stays."""
    with connections.read() as conn:
        if one(conn, "SELECT 1 FROM graders WHERE id=? AND kind=?", (number, COMING)) is None:
            return
    purge_scores(connections, number)
    with connections.write() as conn:
        conn.execute("DELETE FROM graders WHERE id=? AND kind=?", (number, COMING))


def distinct_criteria(conn: sqlite3.Connection, table: str, column: str, value: int) -> set[str]:
    """The criteria of a grader or a run, by one probe each, not a pass over a million lines."""
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
