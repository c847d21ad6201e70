"""Instants: how others write them, and how the store does."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

_EPOCH = re.compile(r"-?\d{9,}(\.\d*)?")
"""Text that is seconds (or finer) since 1970; eight digits are a date."""

_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""An epoch above the first number counts so many units a second: 1e11 s is the year 5138."""


def utc(value: str | int | float | None) -> str | None:
    """An instant as written elsewhere, in UTC: ISO 8601 with a zone, or epoch (s, ms, us, ns).

    A time without a zone is taken as UTC, as the store writes it.

    Raises
    ------
    ValueError
        The value is no instant.

    Examples
    --------
    >>> utc("2023-03-01T12:00:00+05:45")
    '2023-03-01T06:15:00.000+00:00'
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            value = value.strip()
            moment = _since_1970(float(value)) if _EPOCH.fullmatch(value) else _iso(value)
        elif isinstance(value, bool):
            raise ValueError
        else:
            moment = _since_1970(float(value))
    except (ValueError, OverflowError, OSError, TypeError):
        raise ValueError(
            f"{value!r} is no time: write it as 2023-03-01T12:00:00+05:45, or as seconds since 1970."
        ) from None
    return moment.isoformat(timespec="milliseconds")


def _since_1970(number: float) -> datetime:
    if not math.isfinite(number):
        raise ValueError
    per_second = next((unit for above, unit in _UNITS if abs(number) > above), 1)
    return datetime.fromtimestamp(number / per_second, UTC)


def _iso(text: str) -> datetime:
    text = re.sub(r"\s*(Z|z|UTC|GMT)$", "+00:00", text)
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
