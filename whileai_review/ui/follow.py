"""Keep the open row of a list in sight while keys walk through it."""

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st


def follow(list_key: str, row_id: int) -> None:
    """Scroll the container of this key to its chosen line; the page stays where it is."""
    _component()(key=f"follow_{list_key}", data={"list": list_key, "row": row_id}, height=1)


@cache
def _component() -> Any:
    script = Path(__file__).parent / "assets" / "follow.js"
    return st.components.v2.component(
        "whileai_review_follow", html="<span></span>", js=script.read_text("utf-8")
    )
