"""Of what gold says, what did the judge say? Two bars of 100%, one a class of gold.

A two-by-two of numbers hides what this shows at a glance: how much of the lower bar, the
failures, the judge let through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_review.charts.theme import (
    FAIL,
    HATCH,
    INK,
    PASS,
    QUIET,
    base_figure,
    nothing_to_draw,
)
from whileai_review.report import SMALL_N, count, percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_PX = 62
"""A bar with its counts under it."""

BAR = 0.34
"""Thickness of a bar, as a share of its row."""


class Part(NamedTuple):
    """One piece of a bar."""

    cell: str
    """As in ``n_cells``: tp, fp, fn, tn."""
    words: str
    good: bool


BARS: tuple[tuple[str, str, tuple[Part, Part]], ...] = (
    (
        "gold pass",
        "n_gold_pass",
        (Part("tp", "judge passed", True), Part("fn", "judge failed: false alarm", False)),
    ),
    (
        "gold fail",
        "n_gold_fail",
        (Part("tn", "judge failed", True), Part("fp", "judge passed: false pass", False)),
    ),
)
"""Name, size and pieces of each bar; the piece where judge and gold agree comes first."""


def confusion_figure(report: Mapping[str, Any], dark: bool = False) -> go.Figure:
    """Draw the confusion of a trust report; a click gives the cell as ``customdata``.

    Parameters
    ----------
    report : mapping
        A report of :func:`~whileai_review.judge_trust`.
    """
    agreement = report["agreement"]
    if not agreement["n"]:
        return nothing_to_draw("no row has both a verdict of the judge and a gold label", dark)
    shares = part_shares(report)
    figure = base_figure(len(BARS), dark, row_px=ROW_PX)
    figure.update_layout(barmode="stack", margin={"b": 8}, height=16 + ROW_PX * len(BARS))
    figure.update_xaxes(visible=False, range=[0, 1])
    names = [f"{name}  {count(agreement[size])}" for name, size, _ in BARS]
    figure.update_yaxes(
        type="category", categoryorder="array", categoryarray=names[::-1], tickfont_color=INK[dark]
    )
    for name, (_, size, parts) in zip(names, BARS, strict=True):
        for place, part in enumerate(parts):
            _piece(figure, name, part, shares[part.cell], agreement, dark)
            _words(figure, name, part, shares[part.cell], agreement, size, bool(place), dark)
    return figure


def part_shares(report: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the share of its class of gold that each cell is, as the report has it."""
    agreement = report["agreement"]
    return {
        "tp": report["tpr"]["value"],
        "fn": agreement["fail_when_gold_pass"],
        "tn": report["tnr"]["value"],
        "fp": agreement["pass_when_gold_fail"],
    }


def _piece(
    figure: go.Figure, name: str, part: Part, share: float | None, agreement: dict, dark: bool
) -> None:
    n = agreement["confusion"][part.cell]
    figure.add_bar(
        x=[share or 0],
        y=[name],
        orientation="h",
        width=BAR,
        name=part.cell,
        customdata=[part.cell],
        marker={
            "color": PASS if part.good else FAIL,
            "line": {"width": 0},
            "pattern": None if part.good else HATCH,
        },
        # A chosen piece must not fade the others: the click leads away.
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        hovertemplate=f"{count(n)} {part.words}<br>click to read them<extra></extra>",
    )


def _words(
    figure: go.Figure,
    name: str,
    part: Part,
    share: float | None,
    agreement: dict,
    size: str,
    right: bool,
    dark: bool,
) -> None:
    n, of = agreement["confusion"][part.cell], agreement[size]
    text = f"{count(n)} {part.words}"
    if of >= SMALL_N:
        text += f" ({percent(share)})"
    elif not of:
        text = "" if right else "not measurable: no such row has gold"
    figure.add_annotation(
        text=f"<b>{text}</b>" if right and n else text,
        x=1 if right else 0,
        xref="x",
        xanchor="right" if right else "left",
        y=name,
        yshift=-20,
        showarrow=False,
        font={"color": INK[dark] if n else QUIET[dark]},
    )
