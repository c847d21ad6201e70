"""JSON: a list of objects, or an object that holds one such list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from whileai_review.load._bytes import Stream, utf8_blocks
from whileai_review.load._foreign import foreign_json
from whileai_review.load._parse import (
    NotARowError,
    Twins,
    as_object,
    block_has_long_number,
    block_has_same_quotes,
    dumps,
    kind_name,
    load_exactly,
    twin_reason,
)
from whileai_review.load._types import Ledger, Parsed, UnreadableError

PARTS_OF_A_ROW = frozenset(
    "messages traj trajectory conversation conversations steps tool_trace tool_calls tools "
    "gold_labels history choices".split()
)
"""Keys whose list of objects belongs to one row and is no list of rows."""


def read_json(stream: Stream, ledger: Ledger) -> Iterator[Parsed]:
    """Rows of a JSON file; what is not an object is refused by its number."""
    data = b"".join(utf8_blocks(stream))
    if not data.strip():
        raise UnreadableError(f"{stream.name} is empty.")
    value, checked = _load(data, stream.name, ledger)
    del data
    for number, entry in enumerate(rows_of(value, stream.name), start=1):
        ledger.n_lines += 1
        try:
            obj = as_object(entry)
            if checked and (twin := _first_twin(obj)):
                raise NotARowError(twin_reason(twin))
            raw = dumps(obj)
        except NotARowError as reason:
            ledger.refuse(number, str(reason), _excerpt(entry))
            continue
        yield Parsed(number, raw, obj)


def _load(data: bytes, name: str, ledger: Ledger) -> tuple[Any, bool]:
    """The value, and whether it was read the slow way (and may hold `Twins`)."""
    try:
        value = orjson.loads(data)
    except ValueError:
        pass
    else:
        if not block_has_long_number(data) and block_has_same_quotes(data, [value]):
            return value, False
    try:
        return load_exactly(data, ledger, refuse_twins=False), True
    except NotARowError as reason:
        raise UnreadableError(f"{name} is {reason}.") from None


def rows_of(value: Any, name: str) -> list:
    """The list of rows in a JSON value.

    Raises
    ------
    UnreadableError
        Says what the value is when it is a scalar, another tool's container, or holds no
        list of objects or several.
    """
    if reason := foreign_json(value):
        raise UnreadableError(f"{name} is {reason}")
    if isinstance(value, list):
        return _list_of_rows(value, name)
    if not isinstance(value, dict):
        raise UnreadableError(
            f"{name} is a JSON scalar ({kind_name(value)}), not rows. "
            "Give a list of objects, or one object a line."
        )
    lists = [key for key, inner in value.items() if _is_list_of_objects(key, inner)]
    if len(lists) == 1:
        return value[lists[0]]
    keys = ", ".join(list(value)[:6])
    if lists:
        raise UnreadableError(
            f"{name} holds several lists of objects ({', '.join(lists[:6])}): it is not clear "
            "which are the rows. Save the one you mean as a list of its own."
        )
    raise UnreadableError(
        f"{name} is one JSON object with no list of rows in it (keys: {keys}). "
        "Give a list of objects, or one object a line."
    )


def _list_of_rows(value: list, name: str) -> list:
    if not value:
        raise UnreadableError(f"{name} holds an empty list: no rows.")
    if not any(isinstance(entry, dict) for entry in value):
        raise UnreadableError(
            f"{name} is a bare list whose first entry is {kind_name(value[0])}: nothing says "
            "which row each belongs to. Give objects with keys (task_id, label, ...)."
        )
    return value


def _is_list_of_objects(key: str, value: Any) -> bool:
    return (
        key not in PARTS_OF_A_ROW
        and isinstance(value, list)
        and bool(value)
        and any(isinstance(entry, dict) for entry in value)
    )


def _first_twin(obj: dict) -> str | None:
    todo: list[Any] = [obj]
    while todo:
        value = todo.pop()
        if isinstance(value, Twins):
            return value.key
        if isinstance(value, (dict, list)):
            todo.extend(value.values() if isinstance(value, dict) else value)
    return None


def _excerpt(entry: Any) -> str:
    try:
        return dumps(entry)
    except NotARowError:
        return ""
