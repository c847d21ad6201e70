"""One queue, one row at a time: what is on the screen is always a question to the store."""

import streamlit as st

from whileai_review.store import NotFoundError, Store, StoreError
from whileai_review.ui.data import clock, quiet, warn
from whileai_review.ui.keys import Press, label_bar, last_error, min_ms
from whileai_review.ui.pickers import gold_words
from whileai_review.ui.queues import how_words, on_criterion, open_queue
from whileai_review.ui.text import cut, plain, visible
from whileai_review.ui.transcript import show_record
from whileai_review.work import answer, review_result, settings, trust
from whileai_review.work.headlines import reread_words, review_words

PACE_FROM = 5
"""Answers before a pace is shown."""


def show_labelling(store: Store, queue_id: int, annotator: str) -> None:
    """Draw the row to answer now, blind, and the bar that answers it."""
    try:
        queue = store.queue(queue_id)
    except NotFoundError as error:
        warn(last_error() or str(error))
        st.button("other rows", type="tertiary", on_click=open_queue, args=(None,))
        return
    progress = store.progress(queue_id, annotator)
    following = store.next_row(queue_id, annotator)
    if following is None:
        _show_done(store, queue, progress, annotator)
        row_id, least = "", 0
    else:
        row_id = str(following["row_id"])
        least = _show_row(store, queue, following["row_id"])
    with st.bottom, st.container(horizontal=True, vertical_alignment="center"):
        label_bar(
            row_id,
            f"{queue_id}.{progress['last_label'] or 0}",
            lambda press: _store_press(store, annotator, press),
            min_ms=least,
            progress=_strip(queue, progress),
            saved=f"saved {clock(progress['last_ts'])}" if progress["last_ts"] else "",
            can_undo=progress["last_label"] is not None,
            annotator=annotator,
        )
        st.button("other rows", type="tertiary", on_click=open_queue, args=(None,))


def _show_row(store: Store, queue: dict, row_id: int) -> int:
    found = store.row(row_id)
    for asked in on_criterion(queue):  # a key answers this, and nothing else of the row
        st.markdown(f"**{plain(cut(asked, 200).text)}**")
    record = show_record(
        found["row"], str(row_id), blind=True, declared=store.run(found["run_id"])["tools"]
    )
    return min_ms(record.characters)


def _strip(queue: dict, progress: dict) -> str:
    """Return "63 of 150 · random, one a task · blind · 41/h"."""
    parts = [f"{progress['done']:,} of {progress['n']:,}", how_words(queue), "blind"]
    if progress["later"]:
        parts.append(f"{progress['later']:,} later")
    if progress["per_hour"] and progress["done"] >= PACE_FROM:
        parts.append(f"{progress['per_hour']:.0f}/h")
    return " · ".join(parts)


def _show_done(store: Store, queue: dict, progress: dict, annotator: str) -> None:
    unclear = f", {progress['unclear']:,} of them can't tell" if progress["unclear"] else ""
    st.markdown(f"**All {progress['n']:,} rows of this queue are answered{unclear}.**")
    run_id = queue["run_id"]
    run = {"run": str(run_id)}
    if queue["purpose"] == "review":
        quiet(review_words(review_result(store, queue["id"])))
        quiet(_estimate_words(store, queue))
        quiet("U takes the last answer back.")
        st.page_link("pages/queue.py", label="Back to the rows to read", query_params=run)
        return
    of = "gold" if queue["purpose"] == "audit" else "judge"
    quiet(f"U takes the last answer back. What the labels say of the {of} is on Trust.")
    criterion = queue["criterion"]
    if criterion != store.run(run_id)["criterion"]:
        # Trust is about one criterion, and nothing switches it but a person.
        short = plain(cut(visible(criterion), 60).text)
        if st.button(f"See what they say of the {of} on “{short}”", key="wr_measure_criterion"):
            store.choose(run_id, criterion=criterion, by=annotator)
            st.switch_page("pages/trust.py", query_params=run)
        return
    gold = settings(store, run_id)[2]
    if queue["purpose"] == "label" and gold not in (None, "human"):
        # Beside a rule's or a file's gold these labels are a gold of their own.
        if st.button(f"See what they say of the {of}", key="wr_measure_people"):
            store.choose(run_id, gold="human", by=annotator)
            st.switch_page("pages/trust.py", query_params=run)
        quiet(f"Trust rests on {gold_words(gold)} now: this makes it rest on people’s.")
        return
    st.page_link(
        "pages/trust.py",
        label=f"See what they say of the {of}",
        query_params=run,
    )


def _estimate_words(store: Store, queue: dict) -> str:
    """What a review makes of the agreement, or why it is no estimate."""
    about = (queue["grader_id"], queue["gold"], queue["criterion"])
    try:
        found = trust(store, queue["run_id"], *about)["reread"]
    except NotFoundError:  # judge or gold were taken away meanwhile
        found = None
    if not found or found["queue"] != queue["id"]:
        return "Not all disagreements were drawn into this queue: counts, no estimate."
    words = reread_words(found)
    return words[0].upper() + words[1:] + "."


def _store_press(store: Store, annotator: str, press: Press) -> str | None:
    # Queue and last label are those of the screen, as the row is: what the server thinks of by
    # now may not have been drawn yet.
    queue_id, _, last = press.revision.partition(".")
    try:
        answer(
            store,
            int(queue_id),
            annotator,
            int(press.row_id or 0),
            press.action,
            press.nonce,
            note=press.note,
            step=press.step,
            shown_ms=press.shown_ms,
            last_label=int(last),
        )
    except StoreError as error:
        text = str(error)
        return text if text.startswith("Not saved") else f"Not saved: {text}"
    except ValueError:
        return "Not saved: this page is out of date. Reload it."
    return None
