"""What is loaded, and can anything here be quoted?"""

import streamlit as st

from whileai_review.ui import runs_view as view
from whileai_review.ui.data import page_of_store
from whileai_review.ui.load_form import show_load
from whileai_review.ui.rule_form import show_rule
from whileai_review.ui.tables import inject_css

inject_css()
with page_of_store() as store:
    lines = view.all_runs(store)
    if not lines:
        view.show_nothing_loaded(store)
        show_load(store, expanded=True)
        st.stop()
    line = view.show_runs(lines)
    view.show_last_load(store)
    show_load(store)
    view.show_added(store, line)
    show_rule(store, line)
    view.show_care(store, line)
