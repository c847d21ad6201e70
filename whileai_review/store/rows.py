"""Rows: one whole, some in pages, or the columns that a report reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from ._base import Family, event, every, marks, one, ready_run
from .errors import NotFoundError
from .runs import COMING, distinct_criteria

BATCH = 2_000
"""Rows in memory at once while a run is walked."""

_OF_RUN = "id BETWEEN ? AND ? AND +run_id=?"
"""Rows of a run by its range of ids: they lie together in the file."""

_PLAIN = re.compile(r"[\w.\-/ \[\]$#:]*", re.ASCII)
"""Names of fields that SQLite finds; it compares others with the JSON as written, escapes and all."""


class Rows(Family):
    """Rows of ready runs."""

    def rows(self, run: int | str, keys: Sequence[str] | None = None) -> Iterator[dict]:
        """Walk the rows of a run in the order of the file, as plain dicts.

        Parameters
        ----------
        run
            Id or name.
        keys
            The keys to give, all when None. Never more than a batch is in memory.

        Raises
        ------
        NotFoundError
            When there is no such run.
        """
        for _, row in self.numbered_rows(run, keys):
            yield row

    def numbered_rows(
        self, run: int | str, keys: Sequence[str] | None = None, after: int = 0
    ) -> Iterator[tuple[int, dict]]:
        """As `rows`, each with its id in the store, those with an id above `after`."""
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            run_id, end = found["id"], found["last_id"] or 0
            mapping = _mapping(conn, run_id)
        last = max(after, (found["first_id"] or 1) - 1)
        while True:
            with self._connections.read() as conn:
                ready_run(conn, run_id)  # deleted meanwhile: half a run is no run
                batch = conn.execute(
                    "SELECT r.id, b.raw FROM rows r JOIN bodies b ON b.row_id=r.id "
                    "WHERE r.id>? AND r.id<=? AND +r.run_id=? ORDER BY r.id LIMIT ?",
                    (last, end, run_id, BATCH),
                ).fetchall()
            for row_id, raw in batch:
                row = mapping(raw)
                yield row_id, row if keys is None else {k: row[k] for k in keys if k in row}
            if len(batch) < BATCH:
                return
            last = batch[-1][0]

    def row(self, row_id: int) -> dict:
        """One row whole: the store's columns, and the rollout itself under ``"row"``.

        Raises
        ------
        NotFoundError
            When its run was deleted meanwhile.
        """
        with self._connections.read() as conn:
            found = one(
                conn,
                "SELECT r.id, r.run_id, r.line, r.identity, r.task, r.reply_chars, b.raw "
                "FROM rows r JOIN bodies b ON b.row_id=r.id "
                "JOIN runs u ON u.id=r.run_id AND u.state='ready' WHERE r.id=?",
                (row_id,),
            )
            if found is None:
                raise NotFoundError("This row is no longer here: its run was deleted.")
            found["row"] = _mapping(conn, found["run_id"])(found["raw"])
        return found

    def columns(self, run: int | str, grader: int | None, criterion: str) -> dict[str, list[Any]]:
        """What a report of the judge reads, as lists of equal length in row order.

        ``id``, ``identity``, ``task``, ``reply_chars``; ``verdict`` (0, 1, None), ``value``
        (the score as given) and ``judge_name`` of one grader on one criterion.
        """
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            lines = conn.execute(
                "SELECT r.id, r.identity, r.task, r.reply_chars, s.verdict, s.value, s.judge_name "
                "FROM rows r LEFT JOIN scores s "
                "ON s.grader_id=? AND s.criterion=? AND s.row_id=r.id "
                "WHERE r.id BETWEEN ? AND ? AND +r.run_id=? ORDER BY r.id",
                (grader, criterion, found["first_id"], found["last_id"], found["id"]),
            )
            got = lines.fetchall()
        names = ("id", "identity", "task", "reply_chars", "verdict", "value", "judge_name")
        if not got:
            return {name: [] for name in names}
        return {
            name: list(column) for name, column in zip(names, zip(*got, strict=True), strict=True)
        }

    def shown_rows(self, run: int | str, grader: int) -> set[int]:
        """Rows that a grader was shown before it judged, or was tuned on; on any criterion."""
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            return {
                line[0]
                for line in conn.execute(
                    "SELECT s.row_id FROM scores s JOIN graders g ON g.id=s.grader_id "
                    "WHERE s.grader_id=? AND g.run_id=? AND s.shown=1",
                    (grader, found["id"]),
                )
            }

    def mark_shown(
        self,
        run: int | str,
        grader: int,
        rows: Sequence[int],
        shown: bool = True,
        by: str | None = None,
    ) -> int:
        """Note that a grader was shown these rows (few-shot, tuning), or that it was not.

        A row without a verdict of the grader is marked too. Returns how many rows changed.

        Raises
        ------
        NotFoundError
            The grader or a row is not of this run; nothing is marked.
        """
        with self._connections.write() as conn:
            run_id = ready_run(conn, run)["id"]
            if not conn.execute(
                "SELECT 1 FROM graders WHERE id=? AND run_id=?", (grader, run_id)
            ).fetchone():
                raise NotFoundError("This judge is not of this run.")
            criteria = sorted(distinct_criteria(conn, "scores", "grader_id", grader)) or ["overall"]
            changed = 0
            for row_id in dict.fromkeys(rows):
                if not conn.execute(
                    "SELECT 1 FROM rows WHERE id=? AND run_id=?", (row_id, run_id)
                ).fetchone():
                    raise NotFoundError(f"Row {row_id} is not of this run: nothing was marked.")
                at = (grader, row_id, *criteria)
                of_row = f"grader_id=? AND row_id=? AND criterion IN ({marks(criteria)})"
                there = conn.execute(f"SELECT max(shown) FROM scores WHERE {of_row}", at).fetchone()
                if there[0] is None and shown:
                    conn.execute(
                        "INSERT INTO scores (grader_id, criterion, row_id, shown) VALUES (?,?,?,1)",
                        (grader, criteria[0], row_id),
                    )
                elif there[0] in (None, int(shown)):
                    continue
                conn.execute(f"UPDATE scores SET shown=? WHERE {of_row}", (int(shown), *at))
                changed += 1
            if changed:  # what the judge says counts differently now: reports are made anew
                event(conn, by, "verdicts", run_id, f"shown={int(shown)} on {changed} rows")
            return changed

    def field_values(self, run: int | str, field: str) -> tuple[list[int], list[Any]]:
        """One short field of every row: (ids, values); None where the row lacks it."""
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            odd = not _PLAIN.fullmatch(field)
            got = conn.execute(
                f"SELECT id, {'fields, ?' if odd else 'json_extract(fields, ?)'} FROM rows "
                f"WHERE {_OF_RUN} ORDER BY id",
                (f'$."{field}"', found["first_id"], found["last_id"], found["id"]),
            ).fetchall()
        ids = [g[0] for g in got]
        if odd:
            values = [orjson.loads(g[1] or "{}").get(field) for g in got]
            return ids, [int(v) if isinstance(v, bool) else v for v in values]
        return ids, [g[1] for g in got]

    def field_texts(self, run: int | str, field: str) -> set[str]:
        """The values that a short field takes, as :func:`field_text` writes them."""
        if not _PLAIN.fullmatch(field):
            return {field_text(value) for value in self.field_values(run, field)[1]}
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            got = conn.execute(
                "SELECT DISTINCT typeof(value), value FROM (SELECT json_extract(fields, ?) AS "
                f"value FROM rows WHERE {_OF_RUN})",  # 1 and 1.0 are equal, and two texts
                (f'$."{field}"', found["first_id"], found["last_id"], found["id"]),
            ).fetchall()
        return {field_text(g[1]) for g in got}

    def rows_with(self, run: int | str, field: str, value: str) -> set[int]:
        """Ids of the rows whose short field reads as this text."""
        ids, values = self.field_values(run, field)
        return {i for i, v in zip(ids, values, strict=True) if field_text(v) == value}

    def briefs(self, ids: Sequence[int], grader: int | None, criterion: str) -> list[dict]:
        """A page of a list: identity, task, verdict and the raw row of each id, in that order."""
        with self._connections.read() as conn:
            got = every(
                conn,
                "SELECT r.id, r.run_id, r.identity, r.task, r.fields, s.verdict, s.value, "
                "s.reason, b.raw FROM rows r JOIN bodies b ON b.row_id=r.id "
                "LEFT JOIN scores s ON s.grader_id=? AND s.criterion=? AND s.row_id=r.id "
                f"WHERE r.id IN ({marks(ids)})",
                (grader, criterion, *ids),
            )
            maps = {g["run_id"]: None for g in got}
            for run_id in maps:
                maps[run_id] = _mapping(conn, run_id)
        by_id = {g["id"]: g for g in got}
        for g in got:
            g["row"] = maps[g["run_id"]](g.pop("raw"))  # type: ignore[misc]
        return [by_id[i] for i in ids if i in by_id]

    def verdicts_of(self, row_id: int) -> list[dict]:
        """Every grader's verdict on one row: grader, criterion, verdict, value, reason."""
        with self._connections.read() as conn:
            graders = every(
                conn,
                "SELECT g.id, g.name FROM rows r JOIN graders g ON g.run_id=r.run_id "
                "AND g.kind<>? WHERE r.id=? ORDER BY g.id",
                (COMING, row_id),
            )
            # One probe a grader and criterion: by grader alone SQLite reads all its verdicts.
            return [
                {"grader": g["name"], "grader_id": g["id"], "criterion": criterion} | line
                for g in graders
                for criterion in sorted(distinct_criteria(conn, "scores", "grader_id", g["id"]))
                for line in every(
                    conn,
                    "SELECT verdict, value, reason, judge_name FROM scores "
                    "WHERE grader_id=? AND criterion=? AND row_id=?",
                    (g["id"], criterion, row_id),
                )
            ]

    def ids_by_identity(self, run: int | str) -> dict[str, list[int]]:
        """The ids of every identity of a run; more than one where rows share it."""
        found: dict[str, list[int]] = {}
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            for row_id, identity in conn.execute(
                "SELECT id, identity FROM rows WHERE run_id=? ORDER BY id", (run_id,)
            ):
                found.setdefault(identity, []).append(row_id)
        return found

    def identities(self, run: int | str) -> tuple[list[int], list[str]]:
        """Every row's id and identity, in row order."""
        return self._column(run, "identity")

    def tasks_of(self, run: int | str) -> tuple[list[int], list[str]]:
        """Every row's id and task, in row order."""
        return self._column(run, "task")

    def _column(self, run: int | str, name: str) -> tuple[list[int], list[str]]:
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            got = conn.execute(
                f"SELECT id, {name} FROM rows WHERE {_OF_RUN} ORDER BY id",
                (found["first_id"], found["last_id"], found["id"]),
            ).fetchall()
        return [g[0] for g in got], [g[1] for g in got]


def field_text(value: Any) -> str:
    """How the value of a field is written in an address and on an axis."""
    return "(none)" if value is None else str(value)


def _mapping(conn, run_id: int):
    """Raw line -> row, by the mapping that the run was loaded with."""
    from ..load import Mapping, parse_line

    line = conn.execute(
        "SELECT m.content FROM runs u JOIN mappings m ON m.id=u.mapping_id WHERE u.id=?",
        (run_id,),
    ).fetchone()
    mapping = Mapping.from_json(line[0] if line else "{}")
    return lambda raw: mapping.apply(parse_line(raw))
