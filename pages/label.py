"""Does this rollout meet the rule? One key a row, blind."""

import streamlit as st

from whileai_review.ui.data import page_of_store, quiet
from whileai_review.ui.labelling import show_labelling
from whileai_review.ui.people import annotator
from whileai_review.ui.pickers import number_param
from whileai_review.ui.queues import open_queue, pick_queue

with page_of_store() as store:
    if not store.runs():
        quiet("Nothing is loaded yet, so there is nothing to label.")
        st.page_link("pages/runs.py", label="Load a run")
        st.stop()
    who = annotator(store)
    asked = number_param("queue")
    if asked is not None:
        show_labelling(store, asked, who)
    else:
        made = pick_queue(store, who)
        if made is not None:
            open_queue(made)
            st.rerun()
