"""Figures on a page: drawn in the reader's theme, and a click that leads somewhere."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from whileai_review.charts.theme import CONFIG


def is_dark() -> bool:
    """Return whether the reader's theme is dark; only text colours depend on it."""
    return st.context.theme.type == "dark"


def show_figure(
    figure: Any, alt: str, key: str, on_click: Callable[[Any], None] | None = None
) -> None:
    """Draw a figure; ``on_click`` gets the ``customdata`` of a point that was clicked.

    Parameters
    ----------
    alt
        What the figure shows, in a sentence, for those who do not see it.
    """
    if on_click is None:
        st.plotly_chart(figure, theme=None, key=key, config=CONFIG, alt=alt)
        return
    event = st.plotly_chart(
        figure,
        theme=None,
        key=key,
        config=CONFIG,
        alt=alt,
        on_select="rerun",
        selection_mode="points",
    )
    chosen = _clicked(event)
    if chosen is not None:
        on_click(chosen)


def _clicked(event: Any) -> Any:
    points = event["selection"]["points"] if event else []
    data = points[0].get("customdata") if points else None
    return data[0] if isinstance(data, list | tuple) and data else data
