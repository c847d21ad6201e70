"""The label bar over a store made of one text file: one line a label.

``?log=name`` takes another file, so that tests can share a server and store apart.
"""

import fcntl
import json
import os
import time
from pathlib import Path

import streamlit as st

from whileai_review.ui.keys import label_bar
from whileai_review.ui.style import inject_css

name = st.query_params.get("log")
LOG = Path(os.environ["WHILEAI_REVIEW_DB"] + (f".{name}" if name else ""))
SETTINGS = Path(str(LOG) + ".settings")


def setting(name, default):
    return json.loads(SETTINGS.read_text()).get(name, default) if SETTINGS.exists() else default


def labels():
    return [json.loads(line) for line in LOG.read_text().splitlines()] if LOG.exists() else []


def store(press):
    with open(LOG, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        known = labels()
        if any(label["nonce"] == press.nonce for label in known):
            return None
        if setting("fail", False):
            return "not saved: the disk is full. Free some space, then press again"
        if press.action != "undo" and press.row_id != current(known):
            return f"not saved: {press.row_id} has its label"
        file.write(json.dumps({**press._asdict(), "at": time.time()}) + "\n")
        file.flush()
    return None


def current(known):
    done = []
    for label in known:
        if label["action"] == "undo":
            done.pop()
        else:
            done.append(label["row_id"])
    return f"r{len(done)}"


st.set_page_config(layout="wide", initial_sidebar_state="collapsed")
inject_css()
row_id = current(labels())


def draw_record():
    steps = "".join(
        f'<div class="wr-step" data-wr-step="{i}"><details><summary>step {i}</summary>'
        "<pre>result</pre></details></div>"
        for i in range(3)
    )
    st.html(
        f'<div class="wr" data-wr-row="{row_id}"><p>row {row_id}</p>{steps}'
        "<div data-wr-reply>reply</div></div>"
    )


def draw_bar():
    with st.bottom:
        label_bar(
            row_id,
            str(len(labels())),
            store,
            progress=f"{len(labels())} of 1000",
            saved="saved",
            can_undo=bool(labels()),
        )


parts = [draw_record, draw_bar]
if setting("late", False):
    parts.reverse()
st.text_input("other field")
with st.container():
    parts[0]()
    time.sleep(setting("sleep", 0))
    parts[1]()
