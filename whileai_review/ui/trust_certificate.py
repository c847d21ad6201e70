"""The certificate of a measurement on Trust: issue it, export it, sign it off."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

import streamlit as st

from whileai_review import work
from whileai_review.report import count, interval_percent, percent
from whileai_review.score._gate_text import sign_off_words
from whileai_review.score.certificate import (
    EXIT,
    WORDS,
    binding_lines,
    day,
    gate,
    moved,
    short,
)
from whileai_review.store import RefusedError, Store
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.pickers import known_reader
from whileai_review.ui.tables import Column, show_table
from whileai_review.ui.text import visible

MOST_LINES = 20
"""Certificates in the list; the newest come first."""

SHAPES = {"passes": "▲", "fails": "▼"}

_DECISIONS = {"accept": "Accept", "hold": "Hold"}


def show_certificate(store: Store, report: Mapping[str, Any]) -> None:
    """Draw what the gate says, the act of issuing, and every certificate of the run."""
    if report["grader"] is None or not report["agreement"]["n"]:
        return
    there = work.issued(store, report["run_id"])
    mine = [each for each in there if _of(each, report)]
    st.markdown("##### Certificate and gate")
    _gate_line(store, report, certified=bool(mine))
    _moved_line(report, mine)
    _issue(store, report, mine)
    if there:
        _list(report, there)
        _one(store, report["run_id"], there)


def _of(certificate: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    """Whether it is of the judge, criterion and gold that the page is about."""
    return (
        certificate["judge"].get("name") == report["grader"]
        and certificate["criterion"] == report["criterion"]
        and certificate["gold"].get("name") == report["gold"]
    )


def _gate_line(store: Store, report: Mapping[str, Any], certified: bool) -> None:
    state = "interim" if report["interim"] else report["state"]
    command = ["whileai-review", "gate", report["run"]]
    quiet(
        f"Measured here, the gate says {WORDS[state]}: exit status {EXIT[state]}. "
        "0 lets a job go on, 1 and 3 stop it."
    )
    for each in [] if certified else _elsewhere(store, report):
        on = work.judged_run(store, report["run_id"], report["grader_id"] or None)
        said = gate(each, on)
        if said["decision"] == "other_policy":
            quiet(
                f"By the certificate {short(each['hash'])} it says {said['word']}: {said['reason']}."
                f" Exit status {said['exit']}."
            )
            break
    with st.popover("The gate in a job"):
        st.code(visible(shlex.join(command)), language=None)
        quiet("--markdown writes the summary of a CI job, --json what a program reads.")


def _elsewhere(store: Store, report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Certificates of this judge that were measured on other runs, newest first."""
    about = (report["grader"], report["criterion"])
    return [
        line["certificate"]
        for line in store.certificates()
        if line["run_id"] != report["run_id"]
        and (line["certificate"]["judge"].get("name"), line["certificate"]["criterion"]) == about
    ]


def _moved_line(report: Mapping[str, Any], mine: list[dict[str, Any]]) -> None:
    if mine and moved(mine[0], report):
        newest = mine[0]
        now = "INTERIM" if report["interim"] else WORDS[report["state"]]
        quiet(
            f"The measurement has moved since the certificate of {day(newest)} "
            f"({short(newest['hash'])}): {WORDS[newest['state']]} then, "
            f"n={count(newest['n_rows'])}; {now} now, n={count(report['agreement']['n'])}."
        )


def _issue(store: Store, report: Mapping[str, Any], mine: list[dict[str, Any]]) -> None:
    if report["interim"]:
        quiet("No certificate before the last planned label.")
        return
    if report["state"] == "not_measured":
        quiet("Nothing to certify yet.")
        return
    if mine and not moved(mine[0], report):
        quiet(f"Certified on {day(mine[0])} as {short(mine[0]['hash'])}; nothing has moved since.")
        return
    with st.popover("Issue a certificate"):
        quiet("It binds the numbers of this page to:")
        bound = work.binding_of(store, report)
        show_table([Column("what"), Column("by", "wrap")], binding_lines(bound))
        if st.button("Issue it", type="primary", key=f"wr_issue_{report['run_id']}"):
            try:
                work.issue(
                    store,
                    report["run_id"],
                    report["grader_id"] or None,
                    report["gold"],
                    report["criterion"],
                    known_reader(),
                )
            except RefusedError as error:
                warn(str(error))
            else:
                st.rerun()


def _list(report: Mapping[str, Any], there: list[dict[str, Any]]) -> None:
    columns = [
        Column("measured"),
        Column("state"),
        Column("agreement", "number"),
        Column("95%", "number"),
        Column("rows", "number"),
        Column("tasks", "number"),
        Column("judge · criterion", "wrap"),
        Column("certificate"),
        Column("sign-off", "wrap"),
    ]
    show_table(columns, [_cells(each) for each in there[:MOST_LINES]])
    if len(there) > MOST_LINES:
        quiet(f"{count(len(there) - MOST_LINES)} older ones are not drawn.")


def _cells(certificate: Mapping[str, Any]) -> list[object]:
    agreement, state = certificate["bounds"]["agreement"], certificate["state"]
    n, signed = agreement["n"], certificate["sign_offs"]
    return [
        day(certificate),
        f"{SHAPES.get(state, '○')} {WORDS[state]}",
        percent(agreement["value"], n),
        interval_percent((agreement["low"], agreement["high"]), n),
        count(n),
        count(certificate["n_tasks"]),
        visible(f"{certificate['judge'].get('name')} · {certificate['criterion']}"),
        short(certificate["hash"]),
        visible(sign_off_words(signed[-1], state)) if signed else "none",
    ]


def _one(store: Store, run_id: int, there: list[dict[str, Any]]) -> None:
    by_hash = {each["hash"]: each for each in there[:MOST_LINES]}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Certificate",
            [*by_hash],
            format_func=lambda each: f"{day(by_hash[each])} · {short(each)}",
            key=f"wr_certificate_{run_id}",
            width=260,
        )
        certificate = by_hash[chosen]
        st.download_button(
            "Download it",
            json.dumps(certificate, indent=1),
            file_name=f"certificate-{short(chosen)}.json",
            mime="application/json",
            on_click="ignore",
        )
        with st.popover("Sign off"):
            _sign_off(store, certificate)
    for each in certificate["sign_offs"][:-1]:
        quiet(f"earlier: {sign_off_words(each, certificate['state'])}")


def _sign_off(store: Store, certificate: Mapping[str, Any]) -> None:
    hash_, state = certificate["hash"], certificate["state"]
    quiet(
        f"A decision on {short(hash_)}, with its reason. The last one counts, all are kept and "
        "exported with the certificate; none can be changed."
    )
    if state != "passes":
        quiet(f"This one does not pass. Accepting it leaves the gate at {WORDS[state]}.")
    with st.form(f"wr_sign_off_{hash_}", border=False, enter_to_submit=False):
        decision = st.radio(  # none chosen: a decision is not to be a default
            "Decision", [*_DECISIONS], index=None, format_func=_DECISIONS.__getitem__
        )
        reason = st.text_area("Reason", height=80)
        name = known_reader()
        by = st.text_input("Your name", value="" if name == "reader" else name)
        pressed = st.form_submit_button("Sign off", type="primary")
    if not pressed:
        return
    try:
        if decision is None:
            raise RefusedError("Say accept or hold.")
        work.sign_off(store, hash_, decision, reason, by)
    except RefusedError as error:
        warn(str(error))
    else:
        st.rerun()
