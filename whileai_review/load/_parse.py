"""One line of JSON as a dict: fast where nothing is odd, exact where something is.

orjson is four times as fast as the standard library, but it turns integers over 64 bits
into floats, refuses NaN, 1e400 and lone surrogates, and lets the last of two equal keys
win without a word. The odd lines are found by cheap tests and read again by `json`.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import orjson

from whileai_review.load._types import Ledger

LONG = 19
"""Digits from which a negative integer may need more than 64 bits; a positive one from 20."""

_ONLY_DIGITS = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))
_LONG_RUN = b"0" * LONG
_LONG_NUMBER = re.compile(rb"[:\[,\s](?:-[0-9]{19}|[0-9]{20})")
_STRIDE = 6  # 19 digits in a row cover three positions in a row that are multiples of 6

NO_VALUE = "NaN, Infinity or a number too large, read as no value"
SURROGATE = "half of a surrogate pair in a text, replaced by U+FFFD"


class NotARowError(ValueError):
    """A line that cannot be read as a JSON object; the message is the reason."""


def parse_line(raw: str | bytes) -> dict:
    """One line of JSON as a dict, with every number as it stands.

    Raises
    ------
    ValueError
        The line is no JSON object, or names a key twice.

    Examples
    --------
    >>> parse_line('{"id": 36893488147419103232, "score": NaN}')
    {'id': 36893488147419103232, 'score': None}
    """
    line = raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")
    try:
        obj = orjson.loads(line)
    except ValueError:
        return parse_exactly(line, None)
    if has_long_number(line) or not same_quotes(line, obj):
        return parse_exactly(line, None)
    return as_object(obj)


def parse_exactly(line: bytes, ledger: Ledger | None) -> dict:
    """The slow way: exact integers, no value for NaN, two equal keys refused."""
    return as_object(load_exactly(line, ledger, refuse_twins=True))


def load_exactly(data: bytes, ledger: Ledger | None, refuse_twins: bool) -> Any:
    """Any JSON, the slow way. With ``refuse_twins=False`` an object with two equal keys is a `Twins`."""
    seen = _Seen(refuse_twins)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise NotARowError(
            f"not UTF-8: byte 0x{byte:02x} at position {error.start + 1:,}"
        ) from None
    try:
        value = json.loads(
            text.removeprefix("\ufeff"),
            parse_float=seen.number,
            parse_constant=seen.constant,
            object_pairs_hook=seen.pairs,
        )
    except NotARowError:
        raise
    except RecursionError:
        raise NotARowError("nested deeper than can be read (about 1,000 levels)") from None
    except ValueError as error:
        raise NotARowError(_reason(data, error)) from None
    if "\\u" in text:
        value, seen.halves = _whole_pairs(value)
    if ledger is not None:
        if seen.no_values:
            ledger.note(NO_VALUE, count=seen.no_values)
        if seen.halves:
            ledger.note(SURROGATE, count=seen.halves)
    return value


class Twins(dict):
    """An object that names a key twice; `key` is that key."""

    key = ""


class _Seen:
    """Hooks of one slow parse, and what they met."""

    def __init__(self, refuse_twins: bool) -> None:
        self.refuse_twins = refuse_twins
        self.no_values = self.halves = 0

    def number(self, text: str) -> float | None:
        value = float(text)
        if math.isfinite(value):
            return value
        self.no_values += 1
        return None

    def constant(self, text: str) -> None:
        self.no_values += 1

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        keys = [key for key, _ in pairs]
        twin = next(key for n, key in enumerate(keys) if key in keys[:n])
        if self.refuse_twins:
            raise NotARowError(twin_reason(twin))
        twins = Twins(found)
        twins.key = twin
        return twins


def twin_reason(key: str) -> str:
    """Why an object with two equal keys is refused."""
    return f"the key {key!r} is there twice: it is not clear which value counts"


def as_object(value: Any) -> dict:
    """The value if it is an object.

    Raises
    ------
    NotARowError
        Says what it is instead.
    """
    if isinstance(value, dict):
        return value
    raise NotARowError(f"{kind_name(value)}, not an object with keys")


def kind_name(value: Any) -> str:
    """A JSON value's kind in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "an object" if isinstance(value, dict) else "a list"


def dumps(obj: Any) -> str:
    """JSON text of an object on one line, every integer exact.

    Raises
    ------
    NotARowError
        Nested too deeply.
    """
    try:
        return orjson.dumps(obj).decode()
    except (TypeError, ValueError):
        pass
    try:
        return json.dumps(obj, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise NotARowError("nested deeper than can be read (about 1,000 levels)") from None


# The cheap tests. `*_block` look at many lines at once.


def has_long_number(line: bytes) -> bool:
    """Whether a number of more than 64 bits may stand in the line."""
    return _LONG_RUN in line.translate(_ONLY_DIGITS) and _LONG_NUMBER.search(line) is not None


def block_has_long_number(block: bytes) -> bool:
    """`has_long_number` of many lines: every sixth byte first, then the runs found that way."""
    is_digit = (np.frombuffer(block, np.uint8) - 48) < 10
    sixth = is_digit[::_STRIDE]
    if len(sixth) < 3:
        return has_long_number(block)
    seeds = np.flatnonzero(sixth[2:] & sixth[1:-1] & sixth[:-2]) * _STRIDE
    if not seeds.size:
        return False
    # A run of 19 over a seed starts at one of the 6 bytes before it, or at it.
    window = seeds[:, None] + np.arange(-_STRIDE, LONG)
    inside = (window >= 0) & (window < len(block))
    run = np.cumsum(is_digit[np.clip(window, 0, len(block) - 1)] & inside, axis=1)
    ends = run[:, LONG - 1 :].copy()
    ends[:, 1:] -= run[:, :_STRIDE]
    starts = seeds[(ends == LONG).any(axis=1)]
    return any(_LONG_NUMBER.search(block, max(0, at - 27), at + 27) for at in starts.tolist())


def same_quotes(line: bytes, value: Any) -> bool:
    r"""Whether the parsed value, written again, has as many quotes as the line.

    A key that came twice is written once, so the line has more. ``\u0022`` is written
    as a quote and is counted as one.
    """
    try:
        again = orjson.dumps(value)
    except (TypeError, ValueError):
        return False
    return line.count(b'"') + line.count(b"\\u0022") == again.count(b'"')


def block_has_same_quotes(block: bytes, values: list) -> bool:
    """`same_quotes` of all lines of a block in one go."""
    try:
        again = orjson.dumps(values)
    except (TypeError, ValueError):
        return False
    letters = np.frombuffer(block, np.uint8)
    if _may_escape_a_quote(letters) and b"\\u0022" in block:
        return False
    return int(np.count_nonzero(letters == 34)) == _quotes(again)


def _may_escape_a_quote(letters: np.ndarray) -> bool:
    r"""Whether any ``\u`` is there; several times as fast as looking for ``\u0022`` itself."""
    at = np.flatnonzero(letters[:-1] == 92)
    return bool(at.size) and bool(np.any(letters[at + 1] == 117))


def _quotes(data: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 34))


def _reason(data: bytes, error: ValueError) -> str:
    """Why this is not JSON, in orjson's words: it names a trailing comma, for one."""
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as first:
        if "infinity" not in first.msg and "surrogate" not in first.msg:
            return f"not JSON: {first.msg} (column {first.colno:,})"
    except ValueError:
        pass
    if "4300 digits" in str(error):
        return "a number of more than 4,300 digits"
    return f"not JSON: {error}"


def _whole_pairs(value: Any) -> tuple[Any, int]:
    """The value with lone surrogates replaced: no file, page or database can hold them."""
    halves = 0

    def mend(text: str) -> str:
        nonlocal halves
        try:
            text.encode()
        except UnicodeEncodeError:
            halves += 1
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text

    top = [value]
    todo: list[Any] = [top]
    while todo:
        holder = todo.pop()
        if isinstance(holder, dict):
            if not all(map(_encodable, holder)):
                fixed = {mend(key): inner for key, inner in holder.items()}
                holder.clear()
                holder.update(fixed)
            places: Any = list(holder.items())
        else:
            places = list(enumerate(holder))
        for place, inner in places:
            if isinstance(inner, str):
                holder[place] = mend(inner)
            elif isinstance(inner, (dict, list)):
                todo.append(inner)
    return top[0], halves


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
