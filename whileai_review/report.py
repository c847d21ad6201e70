"""How a report prints itself, and how a number is written, once for text and pages."""

from __future__ import annotations

import html

NONE = "–"
"""What stands where there is no number. It is not zero."""

MINUS = "−"
"""The sign, as wide as a plus."""

MANY = 1_000
"""Denominator over which a percent has a decimal."""

SMALL_N = 10
"""Denominator under which a share is written as a count ("5 of 6")."""


class Report(dict):
    """A dict of results that prints as the block a person reads.

    Values are plain ``int float str bool list tuple dict None``; it equals its plain
    dict and survives pickle and copy.
    """

    def as_text(self) -> str:
        """The block; a subclass overrides it with its own format."""
        return "\n".join(f"{key}: {value}" for key, value in self.items())

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.as_text())}</pre>"


def percent(x: float | None, n: int | None = None) -> str:
    """A share as whole percents; of more than 1,000 with a decimal, of under 10 as a count.

    Examples
    --------
    >>> percent(0.629), percent(0.629, n=5_000), percent(5 / 6, n=6), percent(None)
    ('63%', '62.9%', '5 of 6', '–')
    """
    if x is None:
        return NONE
    if n is not None and 0 < n < SMALL_N:
        return f"{round(x * n)} of {n}"
    return f"{_signed(f'{x * 100:.{_decimals(n)}f}')}%"


def interval_percent(interval: tuple | list | None, n: int | None = None) -> str:
    """Bounds of a share in percents, with as many decimals as the share of `n` has.

    Examples
    --------
    >>> interval_percent((0.563, 0.69)), interval_percent((0.6201, 0.6379), n=5_000)
    ('[56, 69]', '[62.0, 63.8]')
    """
    if interval is None:
        return NONE
    low, high = interval
    d = _decimals(n)
    return f"[{_signed(f'{low * 100:.{d}f}')}, {_signed(f'{high * 100:.{d}f}')}]"


def _decimals(n: int | None) -> int:
    return 1 if n is not None and n > MANY else 0


def number2(x: float | None) -> str:
    """A coefficient with two digits and a true minus.

    Examples
    --------
    >>> number2(0.049), number2(-0.09), number2(None)
    ('0.05', '−0.09', '–')
    """
    return NONE if x is None else _signed(f"{x:.2f}")


def interval2(interval: tuple | list | None) -> str:
    """Bounds of a coefficient.

    Examples
    --------
    >>> interval2((-0.06, 0.16))
    '[−0.06, 0.16]'
    """
    return NONE if interval is None else f"[{number2(interval[0])}, {number2(interval[1])}]"


def points(x: float | None) -> str:
    """A difference of two shares in percent points, always with its sign.

    Examples
    --------
    >>> points(0.041), points(-0.05), points(0.0)
    ('+4', '−5', '0')
    """
    if x is None:
        return NONE
    text = f"{x * 100:+.0f}"
    return "0" if text in ("+0", "-0") else _signed(text)


def interval_points(interval: tuple | list | None) -> str:
    """Bounds of a difference in percent points.

    Examples
    --------
    >>> interval_points((-0.014, 0.095))
    '[−1, +10]'
    """
    return NONE if interval is None else f"[{points(interval[0])}, {points(interval[1])}]"


def p_value(p: float | None) -> str:
    """A p-value as journals write it.

    Examples
    --------
    >>> p_value(0.1996), p_value(0.0215), p_value(0.002), p_value(0.00002), p_value(1.0)
    ('p=.20', 'p=.02', 'p=.002', 'p<.001', 'p=1.00')
    """
    if p is None:
        return NONE
    if p < 0.001:
        return "p<.001"
    text = f"{p:.2f}" if p >= 0.01 else f"{p:.3f}"
    return f"p={text.removeprefix('0')}"


def count(n: int | None) -> str:
    """A count with thousands set apart.

    Examples
    --------
    >>> count(1234)
    '1,234'
    """
    return NONE if n is None else f"{n:,}".replace("-", MINUS)


def plural(n: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(1200, "row"), plural(2, "reply", "replies")
    ('1 row', '1,200 rows', '2 replies')
    """
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def _signed(text: str) -> str:
    # "-0" and "-0.00" are zero.
    if text.startswith("-") and not text.strip("-0."):
        return text[1:]
    return text.replace("-", MINUS)
