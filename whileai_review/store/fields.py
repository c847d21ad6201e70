"""Short fields of many rows at once: what groups them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from operator import itemgetter
from typing import Any

import orjson

from ._base import Family, ready_run
from .rows import field_text

BATCH = 500
"""Rows whose fields are in memory at once."""

LONG_FLOAT = 16
"""Letters from which SQLite may read another number than was written, in the last digit."""


class ShortFields(Family):
    """Many fields of a run's rows in one pass."""

    def field_columns(
        self, run: int | str, fields: Sequence[str]
    ) -> tuple[list[int], list[int], dict[str, tuple[list[str], list[int]]]]:
        """Short fields of every row, coded: ids, tasks by number, each field's (values, positions).

        Values are written as addresses write them (:func:`field_text`), in the order in which
        they appear; a row that lacks the field has the value of None.
        """
        ids: list[int] = []
        columns = [_Column() for _ in fields]
        tasks = _Column()
        with self._connections.read() as conn:
            found = ready_run(conn, run)
            lines = conn.execute(
                "SELECT id, task, fields FROM rows WHERE id BETWEEN ? AND ? AND +run_id=? ORDER BY id",
                (found["first_id"], found["last_id"], found["id"]),
            )
            while batch := lines.fetchmany(BATCH):
                numbers, names, texts = zip(*batch, strict=True)
                ids += numbers
                tasks.take(names)
                if len(fields) > 1:  # of one, itemgetter gives no tuple
                    rows = orjson.loads("[" + ",".join(text or "{}" for text in texts) + "]")
                    try:
                        values = list(map(itemgetter(*fields), rows))
                    except KeyError:
                        values = [tuple(map(row.get, fields)) for row in rows]
                    for column, part in zip(columns, zip(*values, strict=True), strict=True):
                        column.take(part)
        if len(fields) == 1:
            return ids, tasks.codes, {fields[0]: self._as_read(found["id"], fields[0])}
        return (
            ids,
            tasks.codes,
            {
                field: column.coded() or self._as_read(found["id"], field)
                for field, column in zip(fields, columns, strict=True)
            },
        )

    def _as_read(self, run_id: int, field: str) -> tuple[list[str], list[int]]:
        column = _Column()
        values = self.field_values(run_id, field)[1]  # type: ignore[attr-defined]
        column.take([field_text(value) for value in values])
        return list(column.place), column.codes


class _Column:
    """Distinct values in order of appearance, and each row's position among them."""

    def __init__(self) -> None:
        self.place: defaultdict[Any, int] = defaultdict(count().__next__)
        self.codes: list[int] = []
        self.kinds: set[type] = set()

    def take(self, values: Sequence[Any]) -> None:
        self.codes += map(self.place.__getitem__, values)
        self.kinds.update(map(type, values))

    def coded(self) -> tuple[list[str], list[int]] | None:
        """Values as texts, and codes; None where only SQLite can say how it writes them."""
        if len(self.kinds & {int, float, bool}) > 1:  # 1, 1.0 and True are one key, and two texts
            return None
        # SQLite gives true as 1.
        texts = [field_text(int(v) if v is True or v is False else v) for v in self.place]
        if len(set(texts)) < len(texts):  # 1 and "1"
            return None
        if float in self.kinds and any(len(text) > LONG_FLOAT for text in texts):
            return None
        return texts, self.codes
