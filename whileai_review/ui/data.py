"""What every page asks first: the store, and one line when it cannot answer."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from zoneinfo import ZoneInfo

import streamlit as st

from whileai_review.store import Store, StoreError, open_store
from whileai_review.ui.server import DB_VARIABLE
from whileai_review.ui.text import html_text


def the_store() -> Store:
    """Return the store that the server was started with, opened once a process."""
    return _opened(os.environ.get(DB_VARIABLE, "review.db"))


@contextmanager
def page_of_store() -> Iterator[Store]:
    """Give a page its store; what the store refuses is one line, and the page ends there."""
    try:
        yield the_store()
    except StoreError as error:
        warn(str(error))
        # What is mended elsewhere (a file put back, a disk with room) needs no new tab here.
        st.button("Try again", key="wr_try_again")
        st.stop()


def warn(text: str) -> None:
    """Say in one line what is wrong and how to mend it."""
    st.html(f'<p class="wr-warn">▼ {html_text(text)}</p>')


def quiet(text: str) -> None:
    """Write a grey line of our own words or of data."""
    st.html(f'<p class="wr-note">{html_text(text)}</p>')


def clock(utc_text: str | None) -> str:
    """Write an instant of the store as the clock on the reader's wall."""
    if not utc_text:
        return ""
    moment = datetime.fromisoformat(utc_text)
    try:
        return moment.astimezone(ZoneInfo(st.context.timezone or "UTC")).strftime("%H:%M:%S")
    except (KeyError, ValueError, OSError):
        return moment.strftime("%H:%M:%S UTC")


@st.cache_resource(show_spinner=False)
def _opened(path: str) -> Store:
    return open_store(path)
