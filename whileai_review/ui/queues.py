"""Which rows to label: go on with a queue, or draw a new one."""

from typing import Any

import streamlit as st

from whileai_review.store import RefusedError, Store, field_text
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.people import forget_annotator
from whileai_review.ui.pickers import LAST_RUN
from whileai_review.ui.text import plain, visible
from whileai_review.work import draw_queue

HOW = {
    "one_per_task": "one rollout a task first",
    "random": "random rows",
    "stratified": "as many of each kind, weighted",
    "group": "random rows of a group",
    "census": "all rows",
}
"""How rows are drawn, as the annotator reads it; the first is the default."""

HOW_SHORT = {
    "one_per_task": "random, one a task",
    "random": "random",
    "stratified": "random, each kind apart",
    "group": "random in a group",
    "census": "all rows",
    "picked": "picked to be read",
    "imported": "given list",
}

MAX_QUEUES = 20
MAX_GROUPS = 50

VERDICT = ""
"""Kinds are the judge's verdicts; a field has a name."""


def open_queue(queue_id: int | None) -> None:
    """Put a queue, or None for the choice of queues, into the address; Back undoes it."""
    if queue_id is None:
        st.query_params.pop("queue", None)
    else:
        st.query_params["queue"] = str(queue_id)


def how_words(queue: dict) -> str:
    """Return how a queue was drawn, for the strip under the row."""
    if queue["purpose"] == "audit":
        return "random, audit of the gold"
    return HOW_SHORT.get(queue["how"], queue["how"])


def on_criterion(queue: dict) -> list[str]:
    """Return the criterion of a queue, in words; nothing where it is all of the row."""
    if queue["criterion"] == "overall":
        return []
    return [f"criterion: {queue['criterion']}"]


def pick_queue(store: Store, annotator: str) -> int | None:
    """Show the choice of queues; return the one that was just made."""
    with st.container(horizontal=True, vertical_alignment="center"):
        quiet(f"Labelling as {annotator}")
        st.button("not you?", type="tertiary", on_click=forget_annotator)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _show_open(store, annotator)
    with right:
        return _draw_new(store, annotator)


def _show_open(store: Store, annotator: str) -> None:
    queues = store.queues()[:MAX_QUEUES]
    st.markdown("##### Go on")
    if not queues:
        st.caption("No queue yet: draw rows at the right.")
    for queue in queues:
        done = store.progress(queue["id"], annotator)["done"]
        about = [queue["name"], queue["run"], *on_criterion(queue)]
        label = f"{done:,} of {queue['n']:,} · {' · '.join(about)}"
        # Not a page_link: to the page itself it changes the parameters, not the address.
        st.button(
            plain(label),
            key=f"queue_{queue['id']}",
            type="tertiary",
            on_click=open_queue,
            args=(queue["id"],),
        )


def _draw_new(store: Store, annotator: str) -> int | None:
    st.markdown("##### Draw rows")
    runs = {run["id"]: run for run in store.runs()}
    last = st.session_state.get(LAST_RUN)
    start = list(runs).index(last) if last in runs else 0
    run_id: Any = st.selectbox(
        "Run",
        list(runs),
        index=start,
        format_func=lambda each: visible(runs[each]["name"]),
        key="draw_run",
    )
    criterion = _pick_criterion(store, run_id)
    how: Any = st.selectbox("How", [*HOW], format_func=lambda each: HOW[each], key="draw_how")
    field = value = None
    if how == "group":
        field, value = _pick_group(store, run_id)
        if value is None:
            warn("This run has no field with a few values to group by: draw random rows.")
            return None
    if how == "stratified":
        field = _pick_kinds(store, run_id)
    most = runs[run_id]["n_rows"]
    n = most
    if how != "census":
        n = int(st.number_input("Rows", 1, most, min(150, most), key=f"draw_n_{run_id}"))
    if not st.button(f"Label {n:,} rows", type="primary"):
        return None
    try:
        queue = draw_queue(
            store, run_id, how, n=n, criterion=criterion, field=field, value=value, by=annotator
        )
    except RefusedError as error:
        warn(str(error))
        return None
    return queue["id"]


def _pick_criterion(store: Store, run_id: int) -> str:
    """What the rows are answered on: a criterion of the run, or a new one by its name."""
    there, now = store.criteria(run_id), store.run(run_id)["criterion"]
    chosen: Any = st.selectbox(
        "Criterion",
        there,
        index=there.index(now) if now in there else 0,
        format_func=visible,
        key=f"draw_criterion_{run_id}",
        accept_new_options=True,
        help="What a row passes or fails. A new one is typed; overall is all of it.",
    )
    return chosen or now


def _pick_kinds(store: Store, run_id: int) -> str | None:
    """Which kinds are drawn apart: the values of a field, or None for the judge's verdict."""
    fields = _group_fields(store, run_id)
    names = [VERDICT, *fields] if store.run(run_id)["graders"] else fields
    if not names:
        return None
    by: Any = st.selectbox(
        "Kinds",
        names,
        format_func=lambda name: visible(name) if name else "pass and fail of the judge",
        key="draw_by",
    )
    quiet(
        "Equally many of each kind, so that a rare one is labelled often enough. Every label "
        "counts as the rows that it stands for, so the numbers are those of the whole run."
    )
    return by or None


def _group_fields(store: Store, run_id: int) -> list[str]:
    return [
        each["name"]
        for each in store.run(run_id)["fields"]
        if each["kind"] == "group" and (each["n_values"] or 0) <= MAX_GROUPS
    ]


def _pick_group(store: Store, run_id: int) -> tuple[str | None, str | None]:
    fields = _group_fields(store, run_id)
    if not fields:
        return None, None
    field: Any = st.selectbox("Field", fields, format_func=visible, key="draw_field")
    values = sorted({field_text(value) for value in store.field_values(run_id, field)[1]})
    value: Any = st.selectbox("Value", values, format_func=visible, key="draw_value")
    return field, value
