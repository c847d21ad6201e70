"""Page titles, their order and the look that all share. Started by `whileai-review serve`."""

import streamlit as st

from whileai_review.ui.style import inject_css

st.set_page_config(page_title="whileai-review", layout="wide", initial_sidebar_state="collapsed")
inject_css()
# Flat while there are few: a group is a menu, and a menu is a second click.
st.navigation(
    [
        st.Page("pages/runs.py", title="Runs", url_path="runs", default=True),
        st.Page("pages/label.py", title="Label", url_path="label"),
        st.Page("pages/queue.py", title="Queue", url_path="queue"),
        st.Page("pages/rows.py", title="Rows", url_path="rows"),
        st.Page("pages/codes.py", title="Codes", url_path="codes"),
        st.Page("pages/trust.py", title="Trust", url_path="trust"),
    ],
    position="top",
).run()
