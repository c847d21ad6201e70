"""One row of a JSON file as the Label page draws it, and every kind of label of a widget.

``?rows=name`` names the file, in the folder of the store, so that tests can share a server.
"""

import json
import os
from pathlib import Path

import streamlit as st

from whileai_review.ui.keys import label_bar, min_ms
from whileai_review.ui.style import inject_css
from whileai_review.ui.text import plain, visible
from whileai_review.ui.transcript import show_record

store = Path(os.environ["WHILEAI_REVIEW_DB"])
rows = json.loads((store.parent / st.query_params.get("rows", store.name)).read_text())
st.set_page_config(layout="wide", initial_sidebar_state="collapsed")
inject_css()
at = int(st.query_params.get("i", 0))
row = rows[at]
if st.query_params.get("widgets"):
    name = plain(row["prompt"])
    st.button(name)
    st.caption(name)
    st.error(name)
    st.metric(name, name)
    st.table({"a": [name]})
    st.tabs([name])
    st.radio("choice", [name])
    st.segmented_control("control", [name])
    st.expander(name)
    st.progress(0.5, name)
    st.toast(name)
    st.checkbox(name, help=name)
    st.dataframe({"a": [visible(row["prompt"])]})
    st.selectbox("select", [visible(row["prompt"])])
    st.code(visible(row["prompt"]), language=None)
record = show_record(row, str(at), declared=["lookup_invoice", "escalate_to_human", "issue_credit"])
with st.bottom:
    label_bar(
        str(at),
        "0",
        lambda press: None,
        min_ms=min_ms(record.characters),
        progress="63 of 150 · random, one a task · blind · 41/h",
        saved="saved 14:02:11",
    )
