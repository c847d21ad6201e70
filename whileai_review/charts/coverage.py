"""How much of a run has gold, and how its rows were chosen: one bar of 8 pixels.

HTML and no figure: a table of runs shows dozens of them, and a first figure costs seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from whileai_review.charts.theme import PASS, UNCLEAR
from whileai_review.report import count

HEIGHT_PX = 8


class Segment(NamedTuple):
    """A part of the bar."""

    key: str
    words: str
    style: str
    """CSS of its background."""


SEGMENTS = (
    Segment("random", "gold, drawn", f"background:{PASS}"),
    Segment("group", "gold, drawn of some groups only", f"background:{PASS};opacity:.8"),
    Segment("imported", "gold, from a file", f"background:{PASS};opacity:.6"),
    Segment(
        "picked",
        "picked or seen first, outside every estimate",
        f"background:repeating-linear-gradient(45deg,{PASS} 0 2px,transparent 2px 5px)",
    ),
    Segment(
        "shown",
        "of tasks that the judge was shown, outside every estimate",
        f"background:repeating-linear-gradient(90deg,{PASS} 0 2px,transparent 2px 5px)",
    ),
    Segment("unclear", "can’t tell", f"box-shadow:inset 0 0 0 1.5px {UNCLEAR}"),
    Segment("none", "no gold", "background:rgba(128,134,142,.22)"),
)
"""In the order of the bar. What may enter an estimate is solid."""


def coverage_segments(coverage: Mapping[str, int]) -> list[tuple[Segment, int]]:
    """Return the parts that hold a row, with their rows.

    Parameters
    ----------
    coverage : mapping
        ``coverage`` of a trust report; every row counts once among the keys read here.
    """
    return [(part, coverage[part.key]) for part in SEGMENTS if coverage.get(part.key)]


def coverage_words(
    coverage: Mapping[str, int], gold_kind: str | None = None, scope: str = ""
) -> str:
    """Return the bar in words.

    Parameters
    ----------
    gold_kind
        ``gold_kind`` of the report: a rule's labels were not drawn.
    scope
        What the estimates are about where that is not the whole run: "rows of regime BIG only".

    Examples
    --------
    >>> coverage_words({"random": 30, "unclear": 2, "none": 1028})
    '30 gold, drawn · 2 can’t tell · 1,028 no gold'
    """
    parts = [
        f"{count(n)} {_words(part, gold_kind, scope)}" for part, n in coverage_segments(coverage)
    ]
    return " · ".join(parts) or "no rows"


def _words(part: Segment, gold_kind: str | None, scope: str = "") -> str:
    if part.key == "group" and scope:
        return f"gold, {scope}"
    by_rule = part.key == "random" and gold_kind == "program"
    return "gold, by a rule" if by_rule else part.words


def coverage_bar(coverage: Mapping[str, int], gold_kind: str | None = None) -> str:
    """Return the bar as HTML; holds numbers and our own words only."""
    words = coverage_words(coverage, gold_kind)
    pieces = "".join(
        # A minimum width: one label among a million rows is seen.
        f'<i style="flex:{n} 1 0;min-width:2px;{part.style}"></i>'
        for part, n in coverage_segments(coverage)
    )
    return (
        f'<div role="img" aria-label="{words}" title="{words}" '
        f'style="display:flex;height:{HEIGHT_PX}px;min-width:90px;gap:1px">{pieces}</div>'
    )
