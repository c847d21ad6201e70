"""The few rules of style that Streamlit's theme cannot express."""

from functools import cache
from pathlib import Path

import streamlit as st


def inject_css() -> None:
    """Put ``assets/app.css`` into the page."""
    st.html(f"<style>{_css()}</style>")


@cache
def _css() -> str:
    return (Path(__file__).parent / "assets" / "app.css").read_text("utf-8")
