"""Who labels: remembered in a cookie of the browser, never part of an address."""

from urllib.parse import unquote

import streamlit as st

from whileai_review.store import RefusedError, Store
from whileai_review.ui import state
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.text import plain, visible

COOKIE = "wr_annotator"

MAX_NAMES = 30
"""Names that are offered; somebody else types theirs."""


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
    with st.form("who", width=460):
        # Plain text and no select box: the list of one would lie on the button.
        name = st.text_input(
            "Who labels? The name stands on your labels and is kept in this browser.",
            placeholder="Your name",
        )
        pressed = st.form_submit_button("Start labelling", type="primary")
    known = store.people()[:MAX_NAMES]
    if known:
        quiet("or, if you have labelled here before:")
        with st.container(horizontal=True):
            for person in known:
                if st.button(plain(visible(person)), key=f"who_{person}"):
                    name, pressed = person, True
    if not pressed:
        return
    try:
        st.session_state[state.ANNOTATOR] = store.add_person(name or "")
    except RefusedError as error:
        warn(str(error))
    else:
        st.rerun()
