"""The plan of labels on Trust: verdicts with their dates, looks, what is missing, extending."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from whileai_review import work
from whileai_review.intervals import quoted
from whileai_review.report import count, interval_percent, percent, plural
from whileai_review.store import RefusedError, Store
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.headline import show_headline
from whileai_review.ui.pickers import known_reader
from whileai_review.ui.tables import Column, show_table, term
from whileai_review.ui.text import visible
from whileai_review.ui.trust_view import hides_interim, show_interim
from whileai_review.work.extending import EXTENDABLE, labels_to, longest_plan, seen_words
from whileai_review.work.plans import repeats_words

KEY = "wr_extend"

MORE = 50
"""Labels that an extension offers where the planner has no number."""

MOST_LINES = 5
"""Verdicts and extensions that stand open; older ones are folded."""

_FIXED = (
    "The usual 95% interval. It holds when the number of labels was fixed before and somebody looks "
    "once. Looked at again and again, it clears any floor in the end."
)
_VALID = (
    "A confidence sequence (Robbins 1970): all its intervals together hold with 95%, however often "
    "anybody looks and whenever they stop. It is wider for that. Rollouts of a task count as if "
    "they always agreed."
)


def ask_first(store: Store, report: Mapping[str, Any]) -> None:
    """End a page that counts cells of a queue under way until its annotator asks for them."""
    if not report["interim"] or not report["agreement"]["n"]:
        return
    if hides_interim(store, report):
        said = report["headline"]
        show_headline(said["bold"], "", said["word"], said["state"])
        show_interim(store, report, hidden=True)
        st.stop()
    _write_down(store, report)


def _write_down(store: Store, report: Mapping[str, Any]) -> None:
    """Figures of a queue under way are drawn: that is a look."""
    if work.note_look(store, report, known_reader()):
        seen = {"queue": report["interim"]["queue"], "n_labels": report["interim"]["labelled"]}
        report["plan_history"]["looks"].append(seen)


def show_plan(store: Store, report: Mapping[str, Any], hidden: bool) -> None:
    """Draw the verdicts so far and, unless `hidden`, what was seen and what is missing.

    Drawing figures of a queue under way is a look, and is written down.
    """
    lines = work.verdict_lines(report, figures=not hidden)
    if len(lines) > MOST_LINES:
        with st.expander(f"Earlier verdicts and extensions ({count(len(lines) - MOST_LINES)})"):
            for line in lines[:-MOST_LINES]:
                quiet(visible(line))
    for line in lines[-MOST_LINES:]:
        quiet(visible(line))
    if hidden or not report["agreement"]["n"] or report["state"] == "not_measured":
        return
    _write_down(store, report)
    if report["interim"]:
        _show_two_intervals(report)
    _show_lines(report)
    _show_act(store, report, known_reader())


def _show_two_intervals(report: Mapping[str, Any]) -> None:
    """Draw the interval of a fixed plan beside the one that holds at every look."""
    agreement, valid = report["agreement"], report["always_valid"]
    n, floor = agreement["n"], report["floors"]["min_agreement"]
    value = percent(agreement["agreement"], max(n, 10))
    lines: list[list[object]] = [
        [
            term("Fixed plan", _FIXED),
            value,
            interval_percent(quoted(agreement), n),
            f"≥ {percent(floor)}",
            "one look, after the last planned label",
        ]
    ]
    if valid["ci95"] is None:
        _table(lines)
        quiet("Rows drawn with unequal chances have no interval that holds at every look.")
        return
    lines.append(
        [
            term("At every look", _VALID),
            value,
            interval_percent(valid["ci95"], n),
            f"≥ {percent(floor)}",
            "every look, whenever you stop",
        ]
    )
    _table(lines)
    low, high = valid["ci95"]
    if low >= floor:
        quiet(
            f"At every look agreement is shown to reach {percent(floor)}: for it alone the queue may "
            "end here without the looks counting against it."
        )
    elif high < floor:
        quiet(
            f"At every look agreement is shown to lie under {percent(floor)}: the queue may end here."
        )
    else:
        quiet(f"At every look the interval still has {percent(floor)} in it: go on labelling.")


def _table(lines: list[list[object]]) -> None:
    with st.container(width=760):
        show_table(_HEADS, lines)


_HEADS = [
    Column("agreement so far", "wrap"),
    Column("value", "number"),
    Column("95%", "number"),
    Column("floor", "number"),
    Column("holds for", "wrap"),
]


def _show_lines(report: Mapping[str, Any]) -> None:
    looks = work.looks_words(report)
    if looks:
        quiet(looks)
    if not (report["state"] == "fails" and report["plan"]["hopeless"]):  # the headline says it
        quiet(work.planner_words(report))
    repeats = repeats_words(report)
    if repeats:
        quiet(repeats)


def _show_act(store: Store, report: Mapping[str, Any], by: str) -> None:
    """Draw the one click that makes the queue, or makes the one that is there longer."""
    plan = report["plan_history"].get("plan")
    if report["gold"] == "human" and plan is not None:
        _show_extending(store, report, plan, by)
        return
    here = report["plan"]["here"]
    missing = here and (here["for_power"] or here["if_it_holds"])
    if not missing or report["grader"] is None:
        return
    # A rule's or a file's labels are a gold of their own: people's labels begin at none.
    total = min(report["agreement"]["n"] + missing, report["n_rows"])
    n = missing if report["gold"] == "human" else total
    if st.button(f"Label {plural(n, 'row')} as planned", key="wr_plan_label"):
        try:
            queue = work.plan_more(store, report, n, by)
        except RefusedError as error:
            warn(str(error))
            return
        st.switch_page("pages/label.py", query_params={"queue": str(queue["id"])})


@st.fragment
def _show_extending(
    store: Store, report: Mapping[str, Any], plan: Mapping[str, Any], by: str
) -> None:
    """Draw the popover; only when it is open is the longer draw looked at."""
    queue = store.queue(plan["queue"])
    if queue["how"] not in EXTENDABLE or plan["planned"] >= report["n_rows"]:
        return
    popover = st.popover("Extend the queue", on_change="rerun", key=f"{KEY}_{plan['queue']}")
    if not popover.open:
        return
    with popover:
        _extending(store, report, plan, by)


def _extending(store: Store, report: Mapping[str, Any], plan: Mapping[str, Any], by: str) -> None:
    most = longest_plan(store, plan["queue"])
    if plan["planned"] >= most:
        quiet("Every row that this queue is drawn from is in it.")
        return
    here = report["plan"]["here"]
    missing = (here and (here["for_power"] or here["if_it_holds"])) or MORE
    still = max(plan["planned"] - plan["labelled"], 0) if not plan["closed_at"] else 0
    offered = labels_to(store, plan["queue"], missing - still if missing > still else MORE)
    quiet(
        f"“{visible(plan['name'])}” is planned for {plural(plan['planned'], 'label')}. More rows "
        "are drawn by the same draw, none is picked. Who extends it, when and what this page "
        "says now are kept; the longer plan gets a verdict of its own, under the one before."
    )
    to_n = st.number_input(
        "Planned labels in all",
        min_value=1,
        max_value=most,
        value=min(max(offered, plan["planned"] + 1), most),
        key=f"{KEY}_n_{plan['queue']}_{plan['planned']}",
    )
    pressed = st.button(
        f"Extend it to {count(int(to_n))} labels",
        type="primary",
        key=f"{KEY}_do_{plan['queue']}",
    )
    if not pressed:
        return
    try:
        work.extend_queue(store, plan["queue"], int(to_n), by, seen_words(report))
    except RefusedError as error:
        warn(str(error))
    else:
        st.rerun()
