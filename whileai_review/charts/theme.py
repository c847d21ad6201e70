"""Colours and what they mean, and the figure that all others start from.

Every meaning has a colour and a shape or a pattern, never green and red: pass and
agreement are blue and solid, failure and error orange and hatched, what nobody can tell
is grey and hollow. Marks look the same on light and dark; only text depends on the theme,
because a browser may report its theme late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_review.report import NONE

if TYPE_CHECKING:
    import plotly.graph_objects as go

PASS, FAIL, UNCLEAR = "#2F86D1", "#D9661F", "#80868E"
"""Marks on both themes: 3.6 to 3.9 to 1 on white, 4.7 to 5.0 to 1 on the dark background."""

GRID = "rgba(128,134,142,.25)"
FLOOR = "rgba(128,134,142,.95)"
NOTHING = "rgba(0,0,0,0)"

INK = {False: "#1B1F24", True: "#E6E9EC"}
QUIET = {False: "#5B626B", True: "#A4ABB3"}
"""Text colours by whether the theme is dark, each at least 4.5 to 1."""

FONT = '"Source Sans", sans-serif'
MONO = '"Source Code Pro", ui-monospace, Menlo, Consolas, monospace'
TEXT_PX, MONO_PX = 13, 13

ROW_PX, FRAME_PX = 28, 54
"""Height of a row of a figure, and of what is round the rows."""

HATCH = {
    "shape": "/",
    "fillmode": "overlay",  # "replace" would turn the bar hollow
    "fgcolor": "rgba(255,255,255,.45)",
    "size": 6,
    "solidity": 0.25,
}
SHAPES = {"up": "triangle-up", "down": "triangle-down", "unclear": "circle-open"}

CONFIG: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False}
"""For ``st.plotly_chart``: no tool bar, and the wheel scrolls the page."""


def base_figure(n_rows: int, dark: bool = False, right: int = 8, row_px: int = ROW_PX) -> go.Figure:
    """Return an empty figure of a height for so many rows.

    Parameters
    ----------
    right
        Pixels kept free at the right, for a column of numbers.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.update_layout(
        height=FRAME_PX + row_px * max(1, n_rows),
        margin={"l": 8, "r": right, "t": 8, "b": 34},
        paper_bgcolor=NOTHING,
        plot_bgcolor=NOTHING,
        showlegend=False,
        dragmode=False,
        bargap=0,
        font={"family": FONT, "size": TEXT_PX, "color": INK[dark]},
        hoverlabel={"font": {"family": FONT, "size": TEXT_PX}},
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        # layout.font does not reach the ticks.
        update(
            zeroline=False,
            gridcolor=GRID,
            fixedrange=True,
            tickfont={"color": QUIET[dark], "size": TEXT_PX},
            title={"font": {"color": QUIET[dark], "size": TEXT_PX}},
        )
    figure.update_yaxes(showgrid=False, ticklabelstandoff=8, automargin=True)
    return figure


def nothing_to_draw(text: str, dark: bool = False) -> go.Figure:
    """Return a figure of one row that says why there is nothing in it."""
    figure = base_figure(1, dark)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.add_annotation(
        text=text or NONE,
        x=0,
        y=0.5,
        xref="paper",
        yref="paper",
        xanchor="left",
        showarrow=False,
        font={"color": QUIET[dark]},
    )
    return figure
