"""What goes wrong, by name: notes get codes, codes are counted, and reading on may end."""

import streamlit as st

from whileai_review.ui import codes_view as view
from whileai_review.ui.cache import code_counts
from whileai_review.ui.data import page_of_store
from whileai_review.ui.pickers import pick
from whileai_review.ui.tables import inject_css

inject_css()
with page_of_store() as store:
    picked = pick(store)
    found = code_counts(store, picked.run["id"])
    view.show_top(store, picked, found)
    shown = view.show_filters(store, picked, found)
    left, right = st.columns([6, 5], gap="large")
    with left:
        view.show_notes(store, picked, shown)
    with right:
        view.show_open_note(store, picked)
        view.show_codes(store, picked, found, shown)
        view.show_code(store, picked, found, shown)
        view.show_history(store, picked)
