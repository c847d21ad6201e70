"""Where does the judge leak? Each value of a field as a line of a forest.

The numbers stand in a column of their own at the right, so that what is drawn need not be
read off an axis: estimate, interval, and the counts behind them.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_review.charts.theme import (
    FAIL,
    FLOOR,
    INK,
    MONO,
    MONO_PX,
    PASS,
    QUIET,
    SHAPES,
    UNCLEAR,
    base_figure,
    nothing_to_draw,
)
from whileai_review.defaults import LEAK_WARN, MIN_AGREEMENT
from whileai_review.intervals import wider
from whileai_review.report import SMALL_N, count, interval_percent, percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

NUMBERS_PX = 216
"""Room for ``100% [100, 100]  1,234 of 1,234`` at the right; longer numbers get more."""

MONO_WIDTH = 0.62
"""Width of a letter by its height."""

NAME_CHARS = 18
MOST_LINES = 30
"""Lines of a figure; a table beside it has the rest."""


class Measure(NamedTuple):
    """A share that a slice has, and the keys of a line of ``work.slices`` that hold it."""

    title: str
    rate: str
    interval: str
    hits: str | None
    n: str
    floor: float | None
    more_is_better: bool


MEASURES = {
    "false_pass": Measure(
        "share of gold failures that the judge passed",
        "false_pass_rate",
        "false_pass_ci95",
        "false_passes",
        "n_gold_fail",
        LEAK_WARN,
        False,
    ),
    "error": Measure(
        "share of the judge’s passes that gold fails",
        "error_rate",
        "error_ci95",
        "wrong_passes",
        "n_judge_pass",
        None,
        False,
    ),
    "agreement": Measure(
        "share of rows on which judge and gold agree",
        "agreement",
        "agreement_ci95",
        None,
        "n",
        MIN_AGREEMENT,
        True,
    ),
}


def slices_figure(
    report: Mapping[str, Any],
    measure: str = "false_pass",
    dark: bool = False,
    show: Callable[[object], str] = str,
) -> go.Figure:
    """Draw the slices of a field, all rows first; a click gives the value as ``customdata``.

    Parameters
    ----------
    report : mapping
        ``rows``: lines of ``work.slices``. An ``all`` beside them, a line of the same keys,
        is drawn first and apart.
    measure : {"false_pass", "error", "agreement"}
        ``agreement`` draws a tick where a judge that always passes would be, for lines that
        have ``always_pass``.
    show
        Makes a value of the field readable before it is escaped.
    """
    what = MEASURES[measure]
    whole, lines = report.get("all"), list(report["rows"])[:MOST_LINES]
    drawn = [*([dict(whole)] if whole else []), *lines]
    if not lines:
        return nothing_to_draw("no row with this field has both a verdict and a label", dark)
    places = _places(bool(whole), len(lines))
    longest = max(
        len(_text(each[what.n], each[what.rate], _quoted(each, what), _hits(each, what)))
        for each in drawn
    )
    right = max(NUMBERS_PX, round(longest * MONO_PX * MONO_WIDTH) + 20)
    figure = base_figure(max(places) + 1, dark, right=right)
    figure.update_xaxes(
        # Padded, so that no interval touches the numbers.
        range=[-0.05, 1.05],
        tickvals=[0, 0.25, 0.5, 0.75, 1],
        # No word at the quarters and none turned: a narrow screen has 60 pixels for them.
        ticktext=["0%", "", "50%", "", "100%"],
        tickangle=0,
    )
    names = [html.escape(_short(show(line["value"]))) for line in drawn]
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=[_id(place) for place in range(max(places), -1, -1)],
        tickvals=[_id(place) for place in places],
        ticktext=names,
        range=[-0.6, max(places) + 0.6],
        tickfont_color=INK[dark],
    )
    # Every place gets its category, the gap too.
    figure.add_scatter(
        x=[None] * (max(places) + 1),
        y=[_id(place) for place in range(max(places), -1, -1)],
        hoverinfo="skip",
    )
    for place, line, name in zip(places, drawn, names, strict=True):
        _line(figure, _id(place), line, name, what, dark)
    if what.floor is not None:
        figure.add_vline(x=what.floor, line={"color": FLOOR, "width": 1.5})
    return figure


def _quoted(line: Mapping[str, Any], what: Measure) -> Any:
    return wider(line[what.interval], line.get(f"{what.interval}_tasks"))


def floor_words(measure: str) -> str:
    """Return what the vertical line of the figure is, for the line above it.

    Examples
    --------
    >>> floor_words("false_pass"), floor_words("error")
    ('line at 10%: over it a report warns', '')
    >>> floor_words("agreement")
    'line at 80%: the floor'
    """
    what = MEASURES[measure]
    if what.floor is None:
        return ""
    meaning = "the floor" if what.more_is_better else "over it a report warns"
    return f"line at {percent(what.floor)}: {meaning}"


def direction(interval: Sequence[float] | None, floor: float | None, more_is_better: bool) -> str:
    """Return on which side of its floor an interval lies: ``up`` good, ``down`` bad, ``unclear``.

    Examples
    --------
    >>> direction((0.69, 0.87), 0.1, False), direction((0.05, 0.2), 0.1, False)
    ('down', 'unclear')
    >>> direction((0.85, 0.95), 0.8, True), direction(None, 0.8, True)
    ('up', 'unclear')
    """
    if interval is None or floor is None:
        return "unclear"
    low, high = interval
    if more_is_better:
        return "up" if low >= floor else "down" if high < floor else "unclear"
    return "down" if low >= floor else "up" if high < floor else "unclear"


def _id(place: int) -> str:
    # Not a number: plotly takes the text "0" of an annotation for a position.
    return f"line {place}"


def _places(has_whole: bool, n: int) -> list[int]:
    """Rows of the figure: all rows, a gap, then the slices."""
    return [0, *range(2, n + 2)] if has_whole else list(range(n))


def _line(figure: go.Figure, y: str, line: Mapping, name: str, what: Measure, dark: bool) -> None:
    n, rate, interval = line[what.n], line[what.rate], _quoted(line, what)
    hits = _hits(line, what)
    if n >= SMALL_N and interval is not None:
        _mark(figure, y, line, name, what)
    _numbers(figure, y, n, rate, interval, hits, dark)


def _mark(figure: go.Figure, y: str, line: Mapping, name: str, what: Measure) -> None:
    rate, (low, high) = line[what.rate], _quoted(line, what)
    way = direction((low, high), what.floor, what.more_is_better)
    colour = {"up": PASS, "down": FAIL, "unclear": UNCLEAR}[way]
    n = line[what.n]
    hover = f"{name}: {percent(rate, n)} {interval_percent((low, high), n)}<extra></extra>"
    figure.add_scatter(
        x=[low, high],
        y=[y, y],
        mode="lines",
        line={"color": colour, "width": 2},
        name="interval",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[rate],
        y=[y],
        mode="markers",
        marker={
            "color": colour,
            "symbol": SHAPES[way],
            "size": 11,
            "line": {"width": 2, "color": colour},
        },
        name="rate",
        customdata=[line["value"]],
        hovertemplate=hover,
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    always = line.get("always_pass")
    if what.more_is_better and always is not None:
        figure.add_scatter(
            x=[always],
            y=[y],
            mode="markers",
            marker={"symbol": "line-ns", "size": 14, "line": {"width": 2, "color": UNCLEAR}},
            name="always pass",
            hovertemplate=f"{name}: always “pass” agrees {percent(always)}<extra></extra>",
        )


def _numbers(
    figure: go.Figure,
    y: str,
    n: int,
    rate: float | None,
    interval: tuple | list | None,
    hits: int | None,
    dark: bool,
) -> None:
    text = _text(n, rate, interval, hits)
    figure.add_annotation(
        text=text.replace(" ", "\u00a0"),
        x=1.02,
        xref="paper",
        xanchor="left",
        y=y,
        showarrow=False,
        align="left",
        font={"family": MONO, "size": MONO_PX, "color": INK[dark] if n >= SMALL_N else QUIET[dark]},
    )


def _hits(line: Mapping, what: Measure) -> int | None:
    return line[what.hits] if what.hits else None


def _text(n: int, rate: float | None, interval: tuple | list | None, hits: int | None) -> str:
    counts = f"n={count(n)}" if hits is None else f"{count(hits)} of {count(n)}"
    if not n:
        return "not measured: none here"
    if n < SMALL_N:
        return f"{'too few':<15}{counts}"
    return f"{percent(rate, n):>4} {interval_percent(interval, n):<9} {counts}"


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "…"
