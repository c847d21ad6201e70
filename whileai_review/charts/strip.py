"""Which scores did the judge give to what gold passes, and to what it fails?

Each labelled row is a dot over its score, in one of two bands. Dots of one score stand on each
other, so that nothing depends on a random shift and none hides another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whileai_review.charts.theme import FAIL, FLOOR, INK, PASS, base_figure, nothing_to_draw
from whileai_review.report import count, plural
from whileai_review.score.thresholds import score_words

if TYPE_CHECKING:
    import plotly.graph_objects as go

BAND_PX = 104
MOST_DOTS = 12
"""Dots on each other; where a score has more rows a dot stands for several."""

BANDS = (("pass", "gold pass", PASS, "circle"), ("fail", "gold fail", FAIL, "diamond"))


def rows_a_dot(report: Mapping[str, Any]) -> int:
    """How many rows a dot stands for.

    Examples
    --------
    >>> rows_a_dot({"bins": [{"pass": 3, "fail": 25}]})
    3
    """
    most = max((max(each["pass"], each["fail"]) for each in report["bins"]), default=0)
    return max(1, -(-most // MOST_DOTS))


def strip_words(report: Mapping[str, Any]) -> str:
    """What the figure shows, for the line above it."""
    each = rows_a_dot(report)
    dot = "a dot is a labelled row" if each == 1 else f"a dot is up to {each} labelled rows"
    return f"Score of the judge on half a of the tasks; {dot}"


def strip_figure(
    report: Mapping[str, Any], threshold: float | None = None, dark: bool = False
) -> go.Figure:
    """Draw the labelled rows of half a by score and gold, and where a threshold cuts them.

    Parameters
    ----------
    report : mapping
        Of :func:`whileai_review.score.thresholds.thresholds_from_columns`.
    threshold : float, optional
        Drawn as a line: what stands right of it passes.
    """
    bins = report["bins"]
    if not bins:
        return nothing_to_draw("no labelled row has a score", dark)
    figure = base_figure(len(BANDS), dark, row_px=BAND_PX)
    each = rows_a_dot(report)
    step = 1 / (MOST_DOTS + 2)
    names = []
    for place, (key, name, colour, symbol) in enumerate(BANDS):
        base = len(BANDS) - 1 - place
        names.append((base + 0.02, f"{name}  {count(sum(one[key] for one in bins))}"))
        x, y, hover = [], [], []
        for one in bins:
            n = -(-one[key] // each)
            x += [one["score"]] * n
            y += [base + step * (dot + 0.7) for dot in range(n)]
            hover += [f"score {score_words(one['score'])}: {plural(one[key], 'row')}, {name}"] * n
        figure.add_scatter(
            x=x,
            y=y,
            mode="markers",
            name=name,
            marker={"color": colour, "symbol": symbol, "size": 7},
            text=hover,
            hovertemplate="%{text}<extra></extra>",
        )
        figure.add_hline(y=base, line={"color": FLOOR, "width": 0.5})
    figure.update_yaxes(
        range=[-0.05, len(BANDS)],
        tickvals=[at for at, _ in names],
        ticktext=[name for _, name in names],
        tickfont_color=INK[dark],
    )
    low, high = report["low"], report["high"]
    room = (high - low) * 0.04
    figure.update_xaxes(range=[low - room, high + room], title_text="score")
    if len(bins) <= MOST_DOTS:  # few scores: each has its tick
        values = [one["score"] for one in bins]
        figure.update_xaxes(tickvals=values, ticktext=[score_words(value) for value in values])
    if threshold is not None:
        at = _between(report, threshold)
        figure.add_vline(x=at, line={"color": INK[dark], "width": 1.5, "dash": "dash"})
        figure.add_annotation(
            text=f"≥ {score_words(threshold)} passes",
            x=at,
            y=1,
            yref="paper",
            xanchor="left" if at < (low + high) / 2 else "right",
            xshift=4 if at < (low + high) / 2 else -4,
            yanchor="bottom",
            showarrow=False,
            font={"color": INK[dark]},
        )
        figure.update_layout(margin={"t": 26})
    return figure


def _between(report: Mapping[str, Any], threshold: float) -> float:
    """Where the cut is drawn: between two scores where each has its place."""
    below = [one["score"] for one in report["bins"] if one["score"] < threshold]
    is_place = any(one["score"] == threshold for one in report["bins"])
    return (max(below) + threshold) / 2 if below and is_place else threshold
