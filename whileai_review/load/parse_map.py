"""The text of `--map`, as it is typed on a command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from whileai_review.load._names import OURS
from whileai_review.load.mapping import DIRECTIONS, Mapping, check_ours, is_verdict_key

NO_VERDICT = frozenset({"none", "null", "-", ""})
"""What stands in a value map for "no verdict"."""


def parse_map(texts: Iterable[str]) -> Mapping:
    """A mapping from texts like ``prompt=question`` and ``reward=verdict:approve=1,reject=0``.

    ``OURS=THEIRS`` names a column; ``:VALUE=1,VALUE=0,VALUE=none`` after it says what its
    values mean. ``reward:action=judge_action`` is a verdict on the criterion `action`, and
    ``metric=latency:unit=s,direction=down`` keeps a numeric column as a metric. A name with
    ``:`` or ``,`` in it is put in double quotes.

    Raises
    ------
    ValueError
        One line that names the text and what is wrong with it.

    Examples
    --------
    >>> parse_map(["prompt=question", "reward=verdict:approve=1,reject=0"]).values
    {'reward': {'approve': 1, 'reject': 0}}
    """
    keys: dict[str, str] = {}
    values: dict[str, dict[str, int | None]] = {}
    metrics: dict[str, dict[str, str]] = {}
    for text in texts:
        ours, theirs, pairs = _cut(text)
        if ours == "metric":
            metrics[theirs] = _metric(text, pairs)
            continue
        _check(text, ours)
        if ours in keys:
            raise ValueError(f"--map names {ours!r} twice: {keys[ours]!r} and {theirs!r}.")
        keys[ours] = theirs
        if pairs is not None:
            values[ours] = _values(text, ours, pairs)
    return Mapping(keys, values, metrics)


def _cut(text: str) -> tuple[str, str, dict[str, str] | None]:
    """Ours, theirs, and the pairs behind theirs."""
    ours, equals, rest = text.partition("=")
    ours, rest = ours.strip(), rest.strip()
    if not equals or not ours or not rest:
        raise ValueError(f"--map {text!r} reads as nothing. Write OURS=THEIRS, as prompt=question.")
    theirs, tail = _first_name(text, rest)
    if tail is None:
        return ours, theirs, None
    pairs: dict[str, str] = {}
    for part in _split(text, tail):
        name, equals, said = part.rpartition("=")
        name = name.strip()
        if not equals:
            raise ValueError(f"--map {text!r}: {part!r} is no VALUE=1 or VALUE=0.")
        name = name[1:-1] if len(name) > 1 and name[0] == name[-1] == '"' else name
        if name in pairs:
            raise ValueError(f"--map {text!r} names the value {name!r} twice.")
        pairs[name] = said.strip()
    return ours, theirs, pairs


def _first_name(text: str, rest: str) -> tuple[str, str | None]:
    if rest.startswith('"'):
        end = rest.find('"', 1)
        if end < 2:
            raise ValueError(f"--map {text!r}: the quote is never closed.")
        theirs, tail = rest[1:end], rest[end + 1 :].strip()
        if tail and not tail.startswith(":"):
            raise ValueError(f"--map {text!r}: after the quoted name comes nothing or a colon.")
        return theirs, tail[1:] if tail else None
    name, colon, tail = rest.partition(":")
    if not colon or "=" not in tail:  # a colon inside a column's name
        return rest, None
    return name.strip(), tail


def _split(text: str, tail: str) -> list[str]:
    """Parts between commas; a comma inside double quotes is part of a value."""
    parts, current, quoted = [], "", False
    for letter in tail:
        quoted = quoted != (letter == '"')
        if letter == "," and not quoted:
            parts.append(current)
            current = ""
        else:
            current += letter
    if quoted:
        raise ValueError(f"--map {text!r}: the quote is never closed.")
    return [*parts, current]


def _check(text: str, ours: str) -> None:
    try:
        check_ours(ours)
    except ValueError as error:
        close = difflib.get_close_matches(ours, OURS, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise ValueError(f"--map {text!r}: {error}{hint}") from None


def _values(text: str, ours: str, pairs: dict[str, str]) -> dict[str, int | None]:
    if not is_verdict_key(ours):
        raise ValueError(f"--map {text!r}: only reward and gold_reward take values.")
    table: dict[str, int | None] = {}
    for name, said in pairs.items():
        if said in ("0", "1"):
            table[name] = int(said)
        elif said.lower() in NO_VERDICT:
            table[name] = None
        else:
            raise ValueError(f"--map {text!r}: {name!r} is 1, 0 or none, not {said!r}.")
    return table


def _metric(text: str, pairs: dict[str, str] | None) -> dict[str, str]:
    said = {"unit": "", "direction": "", **(pairs or {})}
    if set(said) != {"unit", "direction"}:
        raise ValueError(f"--map {text!r}: a metric takes unit= and direction=.")
    if said["direction"] not in DIRECTIONS:
        raise ValueError(f"--map {text!r}: the direction is up or down, not {said['direction']!r}.")
    return said
