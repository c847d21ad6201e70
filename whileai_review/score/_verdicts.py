"""Ask a judge about rows, and read what it answers.

A judge is any callable ``row -> number or dict``. It gets a copy of the row, since it
may scribble on it; several rows are asked at once; what it raises becomes a status.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from whileai_review import rows as read

Judge = Callable[[dict], Any]

OK, MISSING, INVALID, ERROR = "ok", "missing_reward", "invalid_result", "error"
"""Values of ``judge_status``; all but ``ok`` have ``reward`` None."""

DEFAULT_NAME = "judge"


def judge_name(judge: Judge) -> str:
    """The name a judge signs rewards with: ``__name__``, a text attribute ``name``, ``"judge"``."""
    name = getattr(judge, "__name__", None)
    if name == "<lambda>":
        return "lambda_judge"
    if isinstance(name, str) and name:
        return name
    name = getattr(judge, "name", None)
    return name if isinstance(name, str) and name else DEFAULT_NAME


def normalize_judge_result(raw: Any, scale: tuple[float, float] | None = None) -> dict:
    """Read one judge return into the contract; never invent a reward.

    Parameters
    ----------
    raw : object
        A boolean, a number in [0, 1], or a dict with one under ``reward`` or ``score``.
    scale : (low, high), optional
        Read the number as a rating on this scale, under ``rating`` too; ``judge_meta``
        keeps ``rating`` and ``scale``.

    Returns
    -------
    dict
        ``reward`` (None unless the status is ``ok``), ``reason``, ``judge_status``
        (``ok``, ``missing_reward``, ``invalid_result``) and ``judge_meta``.

    Raises
    ------
    ValueError
        A scale whose high end is not above its low end.

    Examples
    --------
    >>> normalize_judge_result({"score": 4, "reason": "good"}, scale=(1, 5))["reward"]
    0.75
    """
    if scale is not None and not scale[1] > scale[0]:
        raise ValueError(f"scale {tuple(scale)!r}: the high end must be above the low end")
    if not isinstance(raw, dict):
        return _verdict(raw, "", {}, scale)
    keys = ("reward", "score") if scale is None else ("rating", "score", "reward")
    reason = read.as_text(raw.get("reason"))
    meta = {k: v for k, v in raw.items() if k not in (*keys, "reason", "judge_meta")}
    if isinstance(raw.get("judge_meta"), dict):
        meta |= raw["judge_meta"]
    key = next((k for k in keys if k in raw), None)
    if key is None or (scale is not None and raw[key] is None):
        return _without_reward(MISSING, reason, meta)
    return _verdict(raw[key], reason, meta, scale)


def ask(judge: Judge, row: dict) -> dict:
    """The verdict of one judge on a copy of one row; never raises an Exception."""
    try:
        return normalize_judge_result(judge(copy.deepcopy(row)))
    except Exception as error:
        return _without_reward(ERROR, "", {"error": f"{type(error).__name__}: {error}"})


def ask_all(judge: Judge, rows: Sequence[dict], concurrency: int) -> list[dict]:
    """The verdicts on several rows, in their order, `concurrency` calls at once."""
    if not rows:
        return []
    with ThreadPoolExecutor(max_workers=max(1, min(int(concurrency), len(rows)))) as pool:
        return list(pool.map(lambda row: ask(judge, row), rows))


def _verdict(value: Any, reason: str, meta: dict, scale: tuple[float, float] | None) -> dict:
    if isinstance(value, bool) and scale is None:
        value = int(value)
    low, high = scale or (0, 1)
    if not read.is_number(value) or not low <= value <= high:
        return _without_reward(INVALID, reason, meta)
    if scale is not None:
        meta = meta | {"rating": value, "scale": [low, high]}
        value = (value - low) / (high - low)
    whole = read.verdict(value)
    reward = float(value) if whole is None else whole
    return {"reward": reward, "reason": reason, "judge_status": OK, "judge_meta": meta}


def _without_reward(status: str, reason: str, meta: dict) -> dict:
    return {"reward": None, "reason": reason, "judge_status": status, "judge_meta": meta}
