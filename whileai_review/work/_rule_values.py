"""What a rule reads from a row, and how one value is compared with one constant."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from whileai_review import rows
from whileai_review.rows import Step

Constant = str | int | float | bool | None
Path = tuple[str | int, ...]

PATTERN_SECONDS = 2.0
"""How long one pattern may search one text. A sound pattern needs microseconds; one
that backtracks without end is refused by this clock instead of freezing the process."""

_NUMBER = re.compile(r"[+-]?[$€£]?\s?[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_CONSTANT_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class RuleError(ValueError):
    """A rule that cannot be read or applied; one line that says where and what would do."""


class RowView:
    """One row as rules see it; each part is read once, when a rule first asks for it."""

    def __init__(self, row: dict):
        self._row = row

    @cached_property
    def reply(self) -> str:
        return rows.reply(self._row)

    @cached_property
    def steps(self) -> list[Step]:
        return rows.steps(self._row)

    def calls(self, tool: str) -> list[Step]:
        return [step for step in self.steps if step.tool == tool]


def number_of(value: object) -> float | int | None:
    """A value as a number, if it is one: 5, 5.0, "5", "$1,195.58"; else None.

    Text counts only when the whole of it is one number in the English way of writing,
    with at most a currency sign before it. True and False are no numbers; NaN and
    infinities are no value.

    Examples
    --------
    >>> number_of("$1,195.58"), number_of("about 5"), number_of(True)
    (1195.58, None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if not isinstance(value, str) or len(value) > 40:
        return None
    text = value.strip()
    if not _NUMBER.fullmatch(text):
        return None
    return float(re.sub(r"[$€£,\s]", "", text))


def equal(value: object, constant: Constant) -> bool:
    """Whether a logged value is this constant: numbers by size, text exactly, 7 and "7" alike."""
    if isinstance(constant, bool) or isinstance(value, bool):
        return value is constant
    if constant is None or value is None:
        return value is constant
    if isinstance(constant, str):
        return value == constant or (isinstance(value, int) and str(value) == constant)
    return number_of(value) == constant


def in_order(value: object, symbol: str, constant: Constant) -> bool:
    """``value <symbol> constant`` for ``<  <=  >  >=``; False for kinds that have no order."""
    compare = _CONSTANT_ORDERS[symbol]
    if isinstance(constant, str):
        return isinstance(value, str) and compare(value, constant)
    number = number_of(value)
    return number is not None and compare(number, constant)


def value_text(value: object) -> str:
    """A value as text to search in: text as it is, the rest as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return ""


def values_at(value: object, path: Path) -> Iterator[object]:
    """Every value that a path leads to; a list stands for each of its entries.

    Examples
    --------
    >>> list(values_at({"lines": [{"amount": 5}, {"amount": 7}]}, ("lines", "amount")))
    [5, 7]
    """
    value = _opened(value) if path else value
    if not path:
        if isinstance(value, list):
            yield from value
        else:
            yield value
        return
    key, rest = path[0], path[1:]
    if isinstance(value, dict):
        if isinstance(key, str) and key in value:
            yield from values_at(value[key], rest)
        elif isinstance(key, int) and str(key) in value:
            yield from values_at(value[str(key)], rest)
    elif isinstance(value, (list, tuple)):
        if isinstance(key, int):
            if -len(value) <= key < len(value):
                yield from values_at(value[key], rest)
        else:
            for entry in value:
                yield from values_at(entry, path)


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A search for a regular expression that gives up, loudly, after `PATTERN_SECONDS`.

    Raises
    ------
    RuleError
        For an expression that cannot be read; and, from the returned function, for one
        that takes too long on a text.
    """
    import regex  # Python's own `re` cannot be interrupted

    try:
        search = regex.compile(pattern).search
    except (regex.error, RecursionError, OverflowError) as error:
        raise RuleError(f"pattern {pattern!r} cannot be read: {error}") from None

    def found(text: str) -> bool:
        try:
            return search(text, timeout=PATTERN_SECONDS) is not None
        except TimeoutError:
            raise RuleError(
                f"pattern {pattern!r} takes over {PATTERN_SECONDS:g} s on a text of {len(text):,} "
                "characters; write it without a repeat inside a repeat"
            ) from None

    return found


def _opened(value: object) -> object:
    """A result that was logged as JSON text, as what it says; other values as they are."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
