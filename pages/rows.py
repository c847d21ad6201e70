"""Every row of a run, to be found: by its words, by what is known of it, by both."""

import streamlit as st

from whileai_review.ui import rows_view as view
from whileai_review.ui import trust_plan
from whileai_review.ui.cache import measured
from whileai_review.ui.data import page_of_store
from whileai_review.ui.pickers import param, pick
from whileai_review.ui.tables import inject_css

inject_css()
with page_of_store() as store:
    picked = pick(store)
    if param("cell"):
        trust_plan.ask_first(store, measured(store, *picked.key))
    place = st.container()
    view.show_search()
    view.show_filters(store, picked)
    found = view.find(store, picked)
    with place:
        view.show_headline_of(picked, found)
    if found is not None:
        view.show_list_and_row(store, picked, found)
