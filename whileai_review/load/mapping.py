"""What somebody else's keys mean: from their row to ours."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from whileai_review.load._finish import finish
from whileai_review.load._names import OURS
from whileai_review.load._parse import NO_VALUE, kind_name
from whileai_review.load._types import Ledger, RowRefusedError

VERDICTS = ("reward", "gold_reward")
"""Keys that hold a verdict; ``"reward:<criterion>"`` names further ones."""

UNKNOWN = "unknown value, read as no verdict"

TEXT_FORMS = {"true": 1, "false": 0}
"""Words that are verdicts without being told; numbers in text are read as numbers."""

DIRECTIONS = ("", "up", "down")

_MISSING = object()
_Op = Callable[[dict, dict, "Ledger | None"], None]


@dataclass(frozen=True)
class Mapping:
    """How the keys of a file become the keys of a row.

    Attributes
    ----------
    keys : dict
        Ours -> theirs; theirs may be a dotted path (``"metric_input.user_input"``).
        ``"reward:<criterion>"`` and ``"gold_reward:<criterion>"`` name further verdicts
        and labels.
    values : dict
        Ours -> text of their value -> 1, 0 or None (no verdict), for verdict keys.
    metrics : dict
        Their numeric columns -> ``{"unit": str, "direction": "up" | "down" | ""}``.

    Examples
    --------
    >>> mapping = Mapping({"prompt": "q", "reward": "ok"}, {"reward": {"approve": 1}})
    >>> row = mapping.apply({"q": "Refund me", "ok": "approve", "n": 3})
    >>> row["prompt"], row["reward"], row["n"]
    ('Refund me', 1, 3)
    """

    keys: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, int | None]] = field(default_factory=dict)
    metrics: dict[str, dict[str, str]] = field(default_factory=dict)
    _ops: tuple[_Op, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for ours in (*self.keys, *self.values):
            check_ours(ours)
        for ours in self.values:
            if not is_verdict_key(ours):
                raise ValueError(f"only reward and gold_reward take values, not {ours!r}.")
        for column, said in self.metrics.items():
            if said.get("direction", "") not in DIRECTIONS:
                raise ValueError(f"the direction of {column!r} is up, down or nothing.")
        object.__setattr__(self, "_ops", tuple(_compile(self)))

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple:
        return Mapping, (self.keys, self.values, self.metrics)

    def apply(self, obj: dict) -> dict:
        """The row for one object: our keys set, all others kept; `obj` stays as it was.

        Besides the keys that it names, a mapping puts messages into shape, takes ask and
        reply from them where the row has none, and gives a row that neither ids nor text
        would tell from others a `rollout_id` (see `finish`).

        Raises
        ------
        RowRefusedError
            A verdict is a list or an object.
        """
        return self.apply_noting(obj, None)

    def apply_noting(self, obj: dict, ledger: Ledger | None) -> dict:
        """`apply`, counting in the ledger what was read as no value."""
        row = obj.copy()
        for op in self._ops:
            op(obj, row, ledger)
        return finish(row, obj)

    def to_json(self) -> str:
        """The mapping as JSON text, the same for equal mappings."""
        said = {"keys": self.keys, "values": self.values, "metrics": self.metrics}
        return json.dumps(
            {name: part for name, part in said.items() if part}, ensure_ascii=False, sort_keys=True
        )

    @classmethod
    def from_json(cls, text: str) -> Mapping:
        """The mapping that `to_json` wrote.

        Raises
        ------
        ValueError
            The text is no mapping.
        """
        said = json.loads(text or "{}")
        if not isinstance(said, dict) or set(said) - {"keys", "values", "metrics"}:
            raise ValueError("a mapping is a JSON object with keys, values and metrics.")
        if not all(isinstance(part, dict) for part in said.values()):
            raise ValueError("keys, values and metrics of a mapping are JSON objects.")
        return cls(**said)

    def merged(self, other: Mapping) -> Mapping:
        """What `other` says on top of this; a key named anew forgets its old values."""
        values = {ours: table for ours, table in self.values.items() if ours not in other.keys}
        return Mapping(
            {**self.keys, **other.keys},
            {**values, **other.values},
            {**self.metrics, **other.metrics},
        )

    def verdict_keys(self, base: str = "reward") -> dict[str, str]:
        """Criterion -> key of the row, for verdicts (or ``base="gold_reward"`` for labels)."""
        found = {}
        for ours in self.keys:
            if ours == base:
                found["overall"] = ours
            elif ours.startswith(base + ":"):
                found[ours.removeprefix(base + ":")] = ours
        return found


def is_verdict_key(ours: str) -> bool:
    """Whether a key of ours holds a verdict or a label."""
    return ours.partition(":")[0] in VERDICTS


def check_ours(ours: str) -> None:
    """Refuse a key that a row does not have.

    Raises
    ------
    ValueError
        Names the keys there are.
    """
    base, colon, criterion = ours.partition(":")
    if base in OURS and not colon:
        return
    if colon and base in VERDICTS and criterion.strip():
        return
    if colon and base in VERDICTS:
        raise ValueError(f"{ours!r} lacks the criterion after the colon.")
    raise ValueError(
        f"{ours!r} is no key of a row. Keys: {', '.join(OURS)}, reward:<criterion>, "
        "gold_reward:<criterion>."
    )


def find(obj: dict, path: str) -> Any:
    """The value at a key or dotted path; `None` when it is not there."""
    value = _getter(path)(obj)
    return None if value is _MISSING else value


def has(obj: dict, path: str) -> bool:
    """Whether the key or dotted path is there."""
    return _getter(path)(obj) is not _MISSING


def _compile(mapping: Mapping) -> list[_Op]:
    ops: list[_Op] = []
    for ours, theirs in mapping.keys.items():
        if is_verdict_key(ours):
            ops.append(_verdict_op(ours, theirs, mapping.values.get(ours)))
        elif ours != theirs:
            ops.append(_copy_op(ours, theirs))
    return ops + [_metric_op(column) for column in mapping.metrics]


def _getter(path: str) -> Callable[[dict], Any]:
    if "." not in path:
        return lambda obj: obj.get(path, _MISSING)
    parts = path.split(".")

    def walk(obj: dict) -> Any:
        if path in obj:
            return obj[path]
        value: Any = obj
        for part in parts:
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
            else:
                return _MISSING
        return value

    return walk


def _copy_op(ours: str, theirs: str) -> _Op:
    get = _getter(theirs)

    def copy(obj: dict, row: dict, ledger: Ledger | None) -> None:
        value = get(obj)
        if value is not _MISSING:
            row[ours] = value

    return copy


def _verdict_op(ours: str, theirs: str, table: dict[str, int | None] | None) -> _Op:
    get = _getter(theirs)

    def judge(obj: dict, row: dict, ledger: Ledger | None) -> None:
        value = get(obj)
        if value is _MISSING:
            return
        kind = type(value)
        if table is None and (kind is int or kind is float or value is None):
            row[ours] = value
            return
        if kind is list or kind is dict:
            raise RowRefusedError(
                f"{theirs} is {kind_name(value)}; a verdict is 0, 1, true, false or a number"
            )
        row[ours] = _read_verdict(ours, value, table, ledger)

    return judge


def _read_verdict(ours: str, value: Any, table: dict | None, ledger: Ledger | None) -> Any:
    if table is not None:
        for text in texts_of(value):
            if text in table:
                return table[text]
        known: Any = None
    else:
        known = _number_or_word(value)
    if known is None and value is not None and ledger is not None:
        ledger.note(UNKNOWN, f"{ours} = {str(value)[:40]!r}")
    return known


def texts_of(value: Any) -> tuple[str, ...]:
    """The texts by which a value map may name a value: 1, 1.0 and true are what they look like."""
    if value is None:
        return ("null", "")
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, str):
        return value, value.strip()
    if isinstance(value, float) and value.is_integer():
        return str(value), str(int(value))
    return (str(value),)


def _number_or_word(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        word = TEXT_FORMS.get(value.strip().lower())
        return number_of(value) if word is None else word
    return value


def number_of(text: str) -> int | float | None:
    """The finite number that a text is; None for any other text, NaN and Infinity too.

    Examples
    --------
    >>> number_of("1"), number_of("0.5"), number_of("nan"), number_of("1_0")
    (1, 0.5, None, None)
    """
    try:
        if text.isascii() and text.lstrip("+-").isdecimal():
            return int(text)
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _metric_op(column: str) -> _Op:
    def measure(obj: dict, row: dict, ledger: Ledger | None) -> None:
        value = obj.get(column)
        if type(value) is str:
            number = number_of(value)
            if number is not None:
                row[column] = number
            elif ledger is not None and value.strip().lower() in ("nan", "inf", "-inf", "infinity"):
                ledger.note(NO_VALUE, column)

    return measure
