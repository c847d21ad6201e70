"""Keep the open row of a list in sight while keys walk through it."""

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st


def follow(list_key: str, row_id: int, size: int, done: int = 0) -> None:
    """Scroll the container of this key to its chosen line; the page stays where it is.

    Another row or size of the list, and another count of what is done on the row, also take
    the focus out of the box that was used, so that the next key walks.
    """
    data = {"list": list_key, "row": row_id, "size": size, "done": done}
    _component()(key=f"follow_{list_key}", data=data, height=1)


@cache
def _component() -> Any:
    script = Path(__file__).parent / "assets" / "follow.js"
    return st.components.v2.component(
        "whileai_review_follow", html="<span></span>", js=script.read_text("utf-8")
    )
