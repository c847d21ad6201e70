"""The first sentence of a page: a state word, one comparison, and the grey line under it."""

import streamlit as st

from whileai_review.ui.data import quiet
from whileai_review.ui.text import plain

BADGE = {"passes": "blue", "fails": "orange", "not_shown": "gray", "not_measured": "gray"}
"""The one verdict colour of a page."""


def show_headline(bold: str, grey: str = "", word: str = "", state: str = "") -> None:
    """Draw the badge, the bold sentence and the grey line.

    Parameters
    ----------
    word
        The state in our own words ("FAILS"); no badge when empty.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if word:
            st.badge(word, color=BADGE.get(state, "gray"))  # type: ignore[arg-type]
        st.markdown(f"**{plain(bold)}**", width="content")
    if grey:
        quiet(grey)
