"""What the gold of a Trust page is worth: its audit, a second reading, what nobody could tell."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from whileai_review import work
from whileai_review.report import count, number2, percent, plural
from whileai_review.score.gold import RATE_NAMES, audit_words, unclear_share
from whileai_review.store import RefusedError, Store
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.pickers import known_reader
from whileai_review.ui.tables import Column, show_table
from whileai_review.work.drawing import AUDIT_N
from whileai_review.work.headlines import reread_words


def show_gold(store: Store, report: Mapping[str, Any]) -> None:
    """Draw the audit of a program's gold with its one button, and the bounds of what is open."""
    audit, unclear, again = report["gold_audit"], report["unclear"], report["reread"]
    if not report["agreement"]["n"] or not (audit or unclear["n"] or again):
        return
    st.markdown("##### How far can this gold be believed?")
    if audit:
        _show_audit(store, report, audit)
    if again:
        quiet(_sentence(reread_words(again)))
    if unclear["n"]:
        _show_unclear(report, unclear)


def audit_under_way(store: Store, report: Mapping[str, Any]) -> bool:
    """Whether rows of an audit are still to be answered: till then nothing compares the two."""
    audit = report["gold_audit"]
    return bool(audit) and _left(store, report, audit)[1] > 0


def _left(
    store: Store, report: Mapping[str, Any], audit: Mapping[str, Any]
) -> tuple[list[dict], int]:
    """The audits that were drawn, and how many rows are left of them."""
    # A queue that was drawn and not begun is not in the report yet.
    drawn = store.audits(report["run_id"], report["gold"], report["criterion"])
    return drawn, sum(queue["n"] for queue in drawn) - audit["answered"]


def _show_audit(store: Store, report: Mapping[str, Any], audit: Mapping[str, Any]) -> None:
    words = _sentence(audit_words(audit))
    drawn, left = _left(store, report, audit)
    if not audit["planned"]:
        words += (
            " Its labels are a program’s: a person who labels some of these rows blind shows how "
            "often it is right."
        )
    elif audit["n"] > audit.get("agree", 0):
        words += (
            f" The program alone passed {count(audit['passed_wrong'])} and failed "
            f"{count(audit['failed_wrong'])}."
        )
    quiet(words)
    if audit.get("n_seen_first"):
        rows = plural(audit["n_seen_first"], "row was", "rows were")
        quiet(f"{rows} answered with the judge’s verdict in view: not counted.")
    if left:
        _show_way_back(drawn, left)
        return
    more = "more rows" if drawn else "rows"
    n = min(AUDIT_N, report["agreement"]["n"] - audit["planned"])
    if n < 1 or not st.button(f"Audit the gold: label {n} {more} blind", key="wr_audit"):
        return
    try:
        queue = work.audit_queue(
            store,
            report["run_id"],
            report["grader_id"] or None,
            report["gold"],
            report["criterion"],
            n,
            by=known_reader(),
        )
    except RefusedError as error:
        warn(str(error))
        return
    st.switch_page("pages/label.py", query_params={"queue": str(queue["id"])})


def _show_way_back(audits: Sequence[Mapping[str, Any]], left: int) -> None:
    newest = next((queue for queue in audits if queue["closed_at"] is None), None)
    if newest is not None:
        st.page_link(
            "pages/label.py",
            label=f"Go on with the audit, {plural(left, 'row')} left",
            icon=":material/arrow_forward:",
            query_params={"queue": str(newest["id"])},
        )


def _show_unclear(report: Mapping[str, Any], unclear: Mapping[str, Any]) -> None:
    says = warn if unclear["flagged"] else quiet
    over = ", over 5%" if unclear["flagged"] else ""
    says(
        f"Can’t tell on {plural(unclear['n'], 'row')}, {unclear_share(unclear)}"
        f"{over}: the judge passed {count(unclear['judge_passed'])} of them and failed "
        f"{count(unclear['judge_failed'])}. Left out, they keep the easy rows; each rate lies "
        "between what it is if they all speak against it and if they all speak for it."
    )
    lines = []
    for name, bounds in unclear["bounds"].items():
        if bounds is None:
            continue
        form = number2 if name == "j" else percent
        title = RATE_NAMES[name]
        value = _value(report, name)
        lines.append(
            [
                title[0].upper() + title[1:],
                "" if value is None else form(value),
                f"{form(bounds[0])} to {form(bounds[1])}",
            ]
        )
    heads = [Column("rate", "wrap"), Column("without them", "number")]
    with st.container(width=620):
        show_table([*heads, Column("whatever they are", "number")], lines)


def _value(report: Mapping[str, Any], name: str) -> float | None:
    if name in ("agreement", "gold_pass_rate"):
        return report["agreement"][name]
    return report[name]["value"]


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
