"""What the values of each column are, counted over the first rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from whileai_review.load._finish import is_conversation
from whileai_review.load._names import LABEL_WORDS
from whileai_review.load.mapping import number_of, texts_of

MANY = 50
"""Distinct values after which they are no longer listed."""

LONGEST = 80
"""Characters of a value that is listed."""

ENOUGH = 10
"""Values from which a column of few words is taken for answers."""

MAX_COLUMNS = 5_000
"""Columns that are looked at; a row may have more, and keeps them."""

ZERO_ONE_TEXT = frozenset({"0", "1", "0.0", "1.0", "true", "false"})


class Column:
    """Kinds and values of one column."""

    def __init__(self, name: str, tabular: bool) -> None:
        self.name, self.tabular = name, tabular
        self.kinds: Counter[str] = Counter()
        self.values: Counter[str] = Counter()
        self.few = True
        self.low: float = float("inf")
        self.high: float = float("-inf")
        self.turns = self.objects = self.zero_one = True
        self.other_text = False
        self._seen: set[int] = set()
        self._n_seen = 0

    def add(self, value: Any) -> None:
        """Count one value."""
        kind = self._kind(value)
        self.kinds[kind] += 1
        if kind == "null":
            return
        if kind in ("list", "object"):
            self.few = self.zero_one = False
            self.turns = self.turns and is_conversation(value)
            self.objects = self.objects and _objects(value)
            return
        self.turns = self.objects = False
        self._add_scalar(value, kind)

    def _add_scalar(self, value: Any, kind: str) -> None:
        text = texts_of(value)[0]
        self._seen.add(hash(text))
        self._n_seen += 1
        if kind == "text" and text.strip().lower() not in ("true", "false"):
            self.other_text = True
        if kind in ("int", "float", "number text"):
            number = number_of(value) if isinstance(value, str) else value
            if number is not None:
                self.low, self.high = min(self.low, number), max(self.high, number)
        self.zero_one = self.zero_one and self._is_zero_one(value)
        if self.few:
            if len(text) > LONGEST or (text not in self.values and len(self.values) >= MANY):
                self.few = False
                self.values.clear()
            else:
                self.values[text] += 1

    def _is_zero_one(self, value: Any) -> bool:
        if isinstance(value, str):
            return self.tabular and value.strip().lower() in ZERO_ONE_TEXT
        return value == 0 or value == 1

    def _kind(self, value: Any) -> str:
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "bool"
        if isinstance(value, int):
            return "int"
        if isinstance(value, float):
            return "float"
        if isinstance(value, str):
            return "number text" if number_of(value) is not None else "text"
        return "list" if isinstance(value, list) else "object"

    def close(self) -> None:
        """Make the flags hold only for columns that have a value."""
        filled = self.filled
        self.turns, self.objects = self.turns and filled, self.objects and filled
        self.zero_one = self.zero_one and filled

    def _only(self, *kinds: str) -> bool:
        return self.filled and set(self.kinds) <= {*kinds, "null"}

    @property
    def filled(self) -> bool:
        """Whether any value is there."""
        return any(kind != "null" for kind in self.kinds)

    @property
    def text(self) -> bool:
        """Whether all values are text, and not all of them numbers."""
        return self._only("text", "number text") and "text" in self.kinds

    @property
    def scalar(self) -> bool:
        """Whether no value is a list or an object."""
        return self._only("bool", "int", "float", "text", "number text")

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers from 0."""
        if not self._only("int", "number text"):
            return False
        return self.low >= 0 and all(v.isdecimal() for v in self.values)

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers (in a table: texts of numbers)."""
        kinds = ("int", "float", "number text") if self.tabular else ("int", "float")
        return self._only(*kinds)

    @property
    def unique(self) -> bool:
        """Whether every row has a value of its own."""
        return self._n_seen > 1 and len(self._seen) == self._n_seen and "null" not in self.kinds

    @property
    def answers(self) -> bool:
        """Whether the values are the few words people answer with, rather than replies."""
        words = {value.strip().casefold() for value in self.values}
        return self.few and bool(words) and self._n_seen >= ENOUGH and words <= LABEL_WORDS

    @property
    def only_containers(self) -> bool:
        """Whether every value is a list or an object."""
        return self._only("list", "object")

    @property
    def text_or_mixed(self) -> bool:
        """Whether there is text among the values."""
        return "text" in self.kinds


def columns_of(objects: Iterable[dict], tabular: bool) -> tuple[dict[str, Column], int]:
    """Every column in the order of its first row, and the number of rows."""
    columns: dict[str, Column] = {}
    n_rows = 0
    for obj in objects:
        n_rows += 1
        for key, value in obj.items():
            column = columns.get(key)
            if column is None:
                if len(columns) >= MAX_COLUMNS:
                    continue
                column = columns[key] = Column(key, tabular)
            column.add(value)
    for column in columns.values():
        column.close()
    return columns, n_rows


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
