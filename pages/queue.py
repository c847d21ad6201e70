"""What goes wrong, and where to read first: the rows on which judge and gold differ."""

import streamlit as st

from whileai_review.ui import reading as view
from whileai_review.ui import trust_plan
from whileai_review.ui.cache import measured
from whileai_review.ui.data import page_of_store
from whileai_review.ui.labelling import show_labelling
from whileai_review.ui.people import annotator
from whileai_review.ui.pickers import number_param, pick
from whileai_review.ui.tables import inject_css

inject_css()
with page_of_store() as store:
    asked = number_param("queue")
    if asked is not None:
        show_labelling(store, asked, annotator(store))
        st.stop()
    picked = pick(store)
    report = measured(store, *picked.key)
    trust_plan.ask_first(store, report)
    found = view.show_filters(store, picked, report)
    view.show_list_and_row(store, picked, report, found)
