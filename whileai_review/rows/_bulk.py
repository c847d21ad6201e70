"""The readers of a row for many rows at once: the same answers, several times as fast.

The usual shape is read on the spot; odd rows are left to the reader of a single row, so
the two cannot disagree about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from whileai_review.rows._conversation import reply_chars
from whileai_review.rows._identity import as_text, task_key
from whileai_review.rows._verdict import gold_kind, is_number, mixed_is_trusted, verdict

NO_VERDICT = -1
"""Code of "no 0/1 here"."""

MAX_MISSES = 1_000
"""Labelled rows without one of the usual keys after which those are no longer read in one call."""

BOTH_TRUSTED = "human+program"
"""Kind of a row whose several labels are all of trusted kinds; it prints as ``mixed``."""


class RawColumns(NamedTuple):
    """What many rows hold, a list a column."""

    task_keys: list[str]
    """:func:`task_key` of each row."""
    rewards: list[object]
    golds: list[object]
    kinds: list[str]
    """:func:`gold_kind`; ``"human+program"`` for mixed labels of trusted kinds."""
    signatures: list[str]
    """Who gave the reward, ``""`` where nobody signed."""
    lengths: list[int]
    """:func:`reply_chars` of each row."""
    labelled: list[dict]
    """The rows that have ``gold_labels``."""


def raw_columns(rows: Sequence[dict], reward: str, gold: str) -> RawColumns:
    """Read every column in one loop: a row's keys are in the processor's cache only once."""
    usual = itemgetter("scenario_id", "judge_name", "final_text", reward, gold, "gold_kind")
    misses = 0
    misses = 0
    keys: list[str] = []
    rewards: list[object] = []
    golds: list[object] = []
    kinds: list[object] = []
    names: list[str] = []
    lengths: list[int] = []
    labelled: list[dict] = []
    add_key, add_reward = keys.append, rewards.append
    add_gold, add_kind = golds.append, kinds.append
    add_name, add_length, add_labelled = names.append, lengths.append, labelled.append
    for row in rows:
        whole = gold in row and misses < MAX_MISSES
        if whole:
            try:  # all keys in one call
                key, name, final, judged, truth, kind = usual(row)
            except KeyError:
                misses += 1
                whole = False
        if not whole:
            get = row.get
            key, name, final = get("scenario_id"), get("judge_name"), get("final_text")
            judged, truth, kind = get(reward), get(gold), get("gold_kind")
        add_key(key if type(key) is str and key else task_key(row))
        add_reward(judged)
        add_gold(truth)
        add_kind(kind)
        add_name(name if type(name) is str else as_text(name))
        if "gold_labels" in row:
            add_labelled(row)
        try:  # the usual shape by subscript; whatever is missing or odd goes the long way
            total, last = 0, ""
            for message in row.get("messages") or ():
                if message["role"] == "assistant":
                    last = message["content"]
                    if type(last) is not str:
                        raise TypeError
                    total += len(last)
            if type(final) is not str:
                raise TypeError
        except (LookupError, TypeError):
            add_length(reply_chars(row))
            continue
        add_length(total if final is last or final == last else total + len(final))
    return RawColumns(keys, rewards, golds, _exact_kinds(kinds, rows), names, lengths, labelled)


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


def _exact_kinds(raw: list, rows: Sequence[dict]) -> list[str]:
    if not set(map(type, raw)) <= {str, type(None)}:
        return [_exact_kind(row) for row in rows]
    names = {kind: gold_kind({"gold_kind": kind}) for kind in set(raw)}
    kinds = [names[kind] for kind in raw]
    if "mixed" not in names:
        return kinds
    return [
        _exact_kind(row) if kind == "mixed" else kind for kind, row in zip(kinds, rows, strict=True)
    ]


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
