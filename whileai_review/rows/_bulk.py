"""The readers of a row for many rows at once: the same answers, several times as fast.

Each takes the usual case with one comprehension and leaves odd rows to the reader of a
single row, so the two cannot disagree about them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whileai_review.rows._conversation import reply_chars
from whileai_review.rows._identity import as_text, task_key
from whileai_review.rows._verdict import gold_kind, is_number, mixed_is_trusted, verdict

NO_VERDICT = -1
"""Code of "no 0/1 here"."""

BOTH_TRUSTED = "human+program"
"""Kind of a row whose several labels are all of trusted kinds; it prints as ``mixed``."""


def task_keys(rows: Sequence[dict]) -> list[str]:
    """:func:`task_key` of each row."""
    return [
        key if type(key := row.get("scenario_id")) is str and key else task_key(row) for row in rows
    ]


def verdict_codes(values: Sequence[object]) -> tuple[np.ndarray, np.ndarray]:
    """:func:`verdict` of each value, and what other numbers there were.

    Returns
    -------
    codes : (n,) int8 array
        0, 1, or -1 for none.
    fractions : (n,) float array
        The value where it is a finite number other than 0 and 1, else NaN.
    """
    if set(map(type, values)) <= {int, float, type(None)}:
        try:
            numbers = np.array(values, dtype=float)
        except OverflowError:  # an integer beyond any float
            numbers = _one_by_one(values)
    else:
        numbers = _one_by_one(values)
    codes = np.full(len(numbers), NO_VERDICT, dtype=np.int8)
    codes[numbers == 0] = 0
    codes[numbers == 1] = 1
    return codes, np.where((codes < 0) & np.isfinite(numbers), numbers, np.nan)


def gold_kinds(rows: Sequence[dict]) -> list[str]:
    """:func:`gold_kind` of each row; ``"human+program"`` for trusted mixed labels."""
    raw = [row.get("gold_kind") for row in rows]
    if not set(map(type, raw)) <= {str, type(None)}:
        return [_exact_kind(row) for row in rows]
    names = {kind: gold_kind({"gold_kind": kind}) for kind in set(raw)}
    kinds = [names[kind] for kind in raw]
    if "mixed" in names:
        kinds = [
            _exact_kind(row) if kind == "mixed" else kind
            for kind, row in zip(kinds, rows, strict=True)
        ]
    return kinds


def signatures(rows: Sequence[dict]) -> list[str]:
    """Who gave each row's reward, ``""`` where nobody signed."""
    return [name if type(name := row.get("judge_name")) is str else as_text(name) for row in rows]


def reply_lengths(rows: Sequence[dict]) -> list[int]:
    """:func:`reply_chars` of each row."""
    lengths = []
    for row in rows:
        try:  # the usual shape by subscript; whatever is missing or odd goes the long way
            final, total, last = row["final_text"], 0, ""
            for message in row.get("messages") or ():
                if message["role"] == "assistant":
                    last = message["content"]
                    if type(last) is not str:
                        raise TypeError
                    total += len(last)
            if type(final) is not str:
                raise TypeError
        except (LookupError, TypeError):
            lengths.append(reply_chars(row))
            continue
        lengths.append(total if final is last or final == last else total + len(final))
    return lengths


def _exact_kind(row: dict) -> str:
    kind = gold_kind(row)
    return BOTH_TRUSTED if kind == "mixed" and mixed_is_trusted(row) else kind


def _one_by_one(values: Sequence[object]) -> np.ndarray:
    numbers = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        code = verdict(value)
        if code is not None:
            numbers[i] = code
        elif is_number(value):
            try:
                numbers[i] = float(value)  # type: ignore[arg-type]
            except OverflowError:
                numbers[i] = np.finfo(float).max
    return numbers
