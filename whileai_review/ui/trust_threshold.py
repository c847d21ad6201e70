"""A judge that gives scores: what each threshold is worth, and the act of declaring one."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from whileai_review import work
from whileai_review.charts.strip import strip_figure, strip_words
from whileai_review.intervals import quoted
from whileai_review.report import (
    SMALL_N,
    count,
    interval2,
    interval_percent,
    number2,
    percent,
    plural,
)
from whileai_review.score.thresholds import score_words
from whileai_review.store import RefusedError, Store
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.figures import is_dark, show_figure
from whileai_review.ui.pickers import Picked, known_reader, select
from whileai_review.ui.tables import Column, show_table, term
from whileai_review.ui.text import visible

_HALVES = (
    "The tasks are parted in two by a hash of their key, always the same way. The best of several "
    "thresholds looks better than it is on the labels that chose it, so it is chosen on half a "
    "and reported on half b."
)


def show_threshold(store: Store, picked: Picked, report: Mapping[str, Any]) -> None:
    """Draw the thresholds of a judge that gives scores; nothing for one that gives verdicts."""
    grader = picked.grader
    if grader is None:
        return
    if grader["scores_of"] is not None:
        _show_declared(store, picked, report)
        return
    revision = store.verdict_revision(report["run_id"])
    if not _has_scores(store, str(store.path), grader["id"], report["criterion"], revision):
        return
    st.markdown("##### From which score on does a reply pass?")
    found = _measured(store, report)
    _show_reading(report, found)
    for each in found["declared"]:
        day = each["created_at"][:10]
        quiet(
            f"Declared: {visible(each['name'])}, by {visible(each['declared_by'])} on {day}. "
            "It is a judge of its own: choose it above to measure it."
        )
    if not found["thresholds"]:
        quiet(f"No threshold: {visible(found['reason'])}.")
        return
    _show_choice(store, report, found)


@st.fragment
def _show_choice(store: Store, report: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    options = [score_words(line["threshold"]) for line in found["thresholds"]]
    chosen = None if found["chosen"] is None else score_words(found["chosen"])
    if chosen is None:
        quiet(f"None is chosen: {visible(found['reason'])}.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        said = select(
            "Threshold: a reply passes from this score on",
            "threshold",
            options,
            words=lambda each: f"≥ {each}" + (" (chosen on half a)" if each == chosen else ""),
            default=chosen or options[len(options) // 2],
            width=320,
        )
        place = options.index(said) if said in options else 0
        line = found["thresholds"][place]
        by = known_reader()
        if by == "reader":  # it is dated and signed
            by = st.text_input("Your name", key="wr_threshold_by", width=180)
        if st.button(f"Declare ≥ {options[place]} and measure it", key="wr_declare_threshold"):
            _declare(store, report, line["threshold"], by)
    if found["n_labeled"]:
        _show_half_b(found, line, options[place], chosen)
    if found["bins"]:
        left, right = st.columns([7, 13], gap="medium")
        with left:
            quiet(strip_words(found))
            show_figure(
                strip_figure(found, line["threshold"], is_dark()),
                alt=f"Scores by gold; from {options[place]} on a reply passes",
                key=f"strip_{report['run_id']}_{report['revision']}_{options[place]}",
            )
        with right:
            _show_table(found, place)
    for warning in found["warnings"]:
        quiet(f"! {visible(warning)}")


def _show_table(found: Mapping[str, Any], place: int) -> None:
    a = found["halves"]["a"]
    labels = f"{plural(a['n_gold_pass'], 'gold pass', 'gold passes')}, {plural(a['n_gold_fail'], 'gold failure')}"
    rows = f"On half a: {plural(a['n'], 'row')}, {plural(a['n_tasks'], 'task')}, {labels}"
    st.html(str(term(rows, _HALVES)))
    columns = [Column("passes from", "number")]
    for name in ("passes passed", "failures caught", "J", "reward in error"):
        columns += [Column(name, "number"), Column("95%", "number")]
    show_table(
        columns,
        [[f"≥ {score_words(x['threshold'])}", *_cells(x["a"])] for x in found["thresholds"]],
        chosen=place,
    )


def _show_half_b(
    found: Mapping[str, Any], line: Mapping[str, Any], words: str, chosen: str | None
) -> None:
    b = found["halves"]["b"]
    rates = line["b"]
    if not b["n"]:
        quiet("No labelled row lies in half b: nothing can be reported.")
        return
    text = (
        f"≥ {words} on half b ({plural(b['n'], 'row')}, {plural(b['n_tasks'], 'task')}): passes "
        f"passed {_one(rates['tpr'])}, failures caught {_one(rates['tnr'])}, J "
        f"{number2(rates['j']['value'])} {interval2(_bounds(rates['j']))}, reward in error "
        f"{_one(rates['reward_in_error'])}. {percent(line['pass_rate'])} of "
        f"{plural(found['n_scored'], 'scored row')} pass."
    )
    st.markdown(f"**{text}**")
    if chosen is not None and words != chosen:
        quiet(
            f"Half a chose ≥ {chosen}. Looking at several thresholds on half b and keeping the best "
            "makes that one look better than it is."
        )


def _show_reading(report: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Say what the figures above make of the scores while no threshold is declared."""
    skipped = report["skipped"]
    words = (
        f"{visible(found['grader'])} gives scores from {score_words(found['low'])} to "
        f"{score_words(found['high'])}."
    )
    if skipped["n_gold"]:
        words += (
            f" Without a threshold {count(skipped['fractional'])} of "
            f"{plural(skipped['n_gold'], 'labelled row')} are left out as fractional."
        )
    if found["high"] is not None and found["high"] > 1 and skipped["n_used"]:
        words += (
            f" {plural(skipped['n_used'], 'row')} with a score of exactly 0 or 1 were read as "
            "fail or pass, which on this scale they are not."
        )
    quiet(words)


def _show_declared(store: Store, picked: Picked, report: Mapping[str, Any]) -> None:
    grader = picked.grader or {}
    names = {each["id"]: each["name"] for each in picked.run["graders"]}
    of = visible(names.get(grader["scores_of"], "another judge"))
    quiet(
        f"A declared threshold: a row passes where the score of {of} is at least "
        f"{score_words(grader['threshold'])}; by {visible(grader['declared_by'])} on "
        f"{grader['created_at'][:10]}. {_left_words(report)}"
    )


def _left_words(report: Mapping[str, Any]) -> str:
    n = report["weighting"]["n_shown"]
    if not n:
        return "No label was looked at to choose it."
    return (
        f"{plural(n, 'labelled row')} of tasks that were looked at to choose it are left out of "
        "the figures below."
    )


def _declare(store: Store, report: Mapping[str, Any], threshold: float, by: str) -> None:
    try:
        made = work.declare_threshold(
            store,
            report["run_id"],
            threshold,
            by,
            report["grader_id"],
            report["gold"],
            report["criterion"],
        )
    except RefusedError as error:
        warn(str(error))
        return
    store.choose(report["run_id"], grader=made["id"], by=by)
    st.rerun()


def _measured(store: Store, report: Mapping[str, Any]) -> Mapping[str, Any]:
    with st.spinner("Measuring each threshold", show_time=True):
        return work.score_thresholds(
            store, report["run_id"], report["grader_id"], report["gold"], report["criterion"]
        )


@st.cache_data(max_entries=64, show_spinner=False)
def _has_scores(_store: Store, path: str, grader: int, criterion: str, revision: int) -> bool:
    return _store.has_scores(grader, criterion)


def _cells(rates: Mapping[str, Any]) -> list[str]:
    cells: list[str] = []
    for key in ("tpr", "tnr", "j", "reward_in_error"):
        share = rates[key]
        if key == "j":
            cells += [number2(share["value"]), interval2(_bounds(share))]
        elif share["n"] < SMALL_N:
            hits = round((share["value"] or 0) * share["n"])
            cells += [f"{count(hits)} of {count(share['n'])}", ""]
        else:
            of = f" of {count(share['n'])}" if key == "reward_in_error" else ""
            cells += [
                percent(share["value"], share["n"]) + of,
                interval_percent(quoted(share), share["n"]),
            ]
    return cells


def _one(share: Mapping[str, Any]) -> str:
    n = share["n"]
    if n < SMALL_N:
        return f"{count(round((share['value'] or 0) * n))} of {count(n)}"
    return f"{percent(share['value'], n)} {interval_percent(quoted(share), n)} of {count(n)}"


def _bounds(share: Mapping[str, Any]) -> tuple | None:
    return None if share["ci95"] is None else quoted(share)
