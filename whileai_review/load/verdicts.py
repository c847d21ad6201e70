"""A file of verdicts or labels, as it joins a loaded run by identity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from whileai_review import rows
from whileai_review.load._names import ANY_ID, INDEX, plain
from whileai_review.load.mapping import Mapping, number_of

VALUE_KEYS = ("reward", "label", "gold_reward", "gold_label", "verdict", "correct")
"""Where the value is when the mapping does not say; the first that is there."""


class Given(NamedTuple):
    """One verdict or label of a file.

    Attributes
    ----------
    identity : str
        Names the row: `key`, `rollout_id`, ``<task>#<repeat>``, the bare task, or the hash
        of ask and reply: a row answers to each of them (`rows.identity_keys`). ``""``
        when nothing in the entry names a row.
    value : int, float or None
        The verdict; None when it is missing or no number.
    reason : str or None
    problem : str
        Why the entry cannot be used; ``""`` when it can.
    """

    identity: str
    value: int | float | None
    reason: str | None
    problem: str = ""


def verdicts(
    entries: Iterable[dict], mapping: Mapping | None = None, criterion: str = "overall"
) -> Iterator[Given]:
    """Read (identity, value, reason) off entries, in their order; none is left out.

    Parameters
    ----------
    entries : iterable of dict
        Rows as `Source.records` gives them with the same mapping, or plain dicts.
    mapping : Mapping, optional
        Names the value when it is ``reward:<criterion>`` or ``gold_reward:<criterion>``.
    criterion : str
        Which of them is meant.

    Examples
    --------
    >>> next(verdicts([{"task_id": 7, "label": 1, "reason": "paid"}]))
    Given(identity='7', value=1, reason='paid', problem='')
    """
    key = _value_key(mapping, criterion)
    for entry in entries:
        identity = key_of(entry)
        value, problem = _value(entry, key)
        if not identity:
            problem = "names no row (give key, rollout_id, or task_id and rollout_index)"
        reason = entry.get("reason")
        yield Given(identity, value, rows.as_text(reason) if reason is not None else None, problem)


def key_of(entry: dict) -> str:
    """The row that an entry names, ``""`` when it names none."""
    get = entry.get
    if _is_set(get("key")):
        return rows.as_text(entry["key"])
    named = get("rollout_id")
    if _is_set(named) and not rows.as_text(named).startswith("row:"):
        return rows.as_text(named)
    task = next((entry[k] for k in ("scenario_id", "task_id") if _is_set(get(k))), None)
    if task is None:
        task = next((v for k, v in entry.items() if plain(k) in ANY_ID and _is_set(v)), None)
    if task is not None:
        index = next((entry[k] for k in INDEX if _is_set(get(k))), None)
        name = rows.as_text(task)
        return name if index is None else f"{name}#{rows.as_text(index)}"
    if _is_set(get("prompt")):
        return rows.identity({"prompt": entry["prompt"], "final_text": get("final_text")})
    return ""


def _value_key(mapping: Mapping | None, criterion: str) -> str | None:
    if mapping is None:
        return None
    for base in ("reward", "gold_reward"):
        found = mapping.verdict_keys(base)
        if criterion in found:
            return found[criterion]
    return None


def _value(entry: dict, key: str | None) -> tuple[int | float | None, str]:
    if key is None:
        key = next((name for name in VALUE_KEYS if name in entry), None)
    if key is None:
        return None, f"has no verdict (give one of {', '.join(VALUE_KEYS[:3])})"
    value = entry.get(key)
    if isinstance(value, bool):
        return int(value), ""
    if isinstance(value, str):
        number = number_of(value)
        if number is None:
            return None, f"{key} is {value[:40]!r}, not 0 or 1: say what it means with --map"
        return number, ""
    if value is None:
        return None, ""
    if isinstance(value, (int, float)):
        return value, ""
    return None, f"{key} is a list or an object, not 0 or 1"


def _is_set(value: object) -> bool:
    return value is not None and value != ""
