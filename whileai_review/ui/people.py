"""Who labels: remembered in a cookie of the browser, never part of an address."""

from urllib.parse import unquote

import streamlit as st

from whileai_review.store import RefusedError, Store
from whileai_review.ui import state
from whileai_review.ui.data import warn
from whileai_review.ui.text import visible

COOKIE = "wr_annotator"


def annotator(store: Store) -> str:
    """Return the annotator's name; ask for it, and end the page there, while it is unknown."""
    name = st.session_state.get(state.ANNOTATOR)
    if name is None:
        cookie = st.context.cookies.get(COOKIE)
        name = unquote(cookie) if isinstance(cookie, str) else ""
    if name:
        return name
    _ask_name(store)
    st.stop()


def forget_annotator() -> None:
    """Ask anew who labels in this tab."""
    st.session_state[state.ANNOTATOR] = ""


def _ask_name(store: Store) -> None:
    with st.form("who", width=420):
        name = st.selectbox(
            "Who labels? The name stands on your labels and is kept in this browser.",
            store.people(),
            index=None,
            accept_new_options=True,
            placeholder="Pick or type a name",
            format_func=visible,
        )
        pressed = st.form_submit_button("Start", type="primary")
    if not pressed:
        return
    try:
        st.session_state[state.ANNOTATOR] = store.add_person(name or "")
    except RefusedError as error:
        warn(str(error))
    else:
        st.rerun()
