"""What was decided about a row, and who decided it?"""

from __future__ import annotations

import math
from numbers import Real

TRUSTED_KINDS = frozenset({"human", "program"})
"""Origins of gold that measure a judge: a person, or a deterministic rule
(whileai #343; Lambert 2025, chapter Evaluation, verifiable rewards)."""

KINDS = ("human", "program", "model")
"""Origins a label may be given."""


def is_number(value: object) -> bool:
    """Whether the value is a finite number; booleans and NaN are none.

    Examples
    --------
    >>> is_number(0.5), is_number(True), is_number(float("nan"))
    (True, False, False)
    """
    kind = type(value)
    if kind is int:
        return True
    if kind is float:
        return math.isfinite(value)  # type: ignore[arg-type]
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def verdict(value: object) -> int | None:
    """0 or 1 if the value is a number equal to 0 or 1, else None.

    Booleans, text, NaN and fractions are no verdicts: they are counted as
    missing, never rounded.

    Examples
    --------
    >>> verdict(1.0), verdict(True), verdict("1"), verdict(0.5)
    (1, None, None, None)
    """
    kind = type(value)
    if kind is int or kind is float:
        return 1 if value == 1 else 0 if value == 0 else None
    if not is_number(value):
        return None
    return 1 if value == 1 else 0 if value == 0 else None


def gold_labels(row: dict) -> list[dict]:
    """The readable label records of ``row["gold_labels"]``, oldest first."""
    records = row.get("gold_labels") if isinstance(row, dict) else None
    if not isinstance(records, (list, tuple)):
        return []
    return [
        record
        for record in records
        if isinstance(record, dict) and verdict(record.get("label")) is not None
    ]


def gold_kind(row: dict) -> str:
    """Where the row's gold came from: ``"human"``, ``"program"``, ``"model"``, ...

    ``"verifier"`` reads as ``"program"``, a missing kind as ``"unknown"``. A row
    marked ``"mixed"`` whose ``gold_labels`` are all of trusted kinds keeps the
    name ``"mixed"`` here; :func:`mixed_is_trusted` tells such rows apart.
    """
    kind = row.get("gold_kind") if isinstance(row, dict) else None
    if kind is None or kind == "":
        return "unknown"
    text = kind if type(kind) is str else str(kind)
    return "program" if text == "verifier" else text


def mixed_is_trusted(row: dict) -> bool:
    """Whether every label on the row is a person's or a program's."""
    records = gold_labels(row)
    return bool(records) and all(label_kind(record) in TRUSTED_KINDS for record in records)


def label_kind(record: dict) -> str:
    """The origin of one label record, ``"verifier"`` read as ``"program"``."""
    kind = record.get("kind")
    if kind is None or kind == "":
        return "unknown"
    return "program" if kind == "verifier" else str(kind)
