"""What is kept between two draws of a page, by the revision of what it was computed from.

The reports themselves are kept in the store (``work.trust``); here are the answers that
walk all rows of a run. The revision is part of every key, so nothing is ever stale.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from whileai_review import rows, work
from whileai_review.store import Store
from whileai_review.ui.text import cut

MAX_ENTRIES = 64

LINE_CHARS = 120
"""Characters of a reply in a list."""


def measured(
    store: Store, run: int, grader: int | None, gold: str | None, criterion: str
) -> Mapping[str, Any]:
    """Return the trust report of what is picked on a run; a first one may take a moment.

    With the gold named, nothing counts the labels of the run again.
    """
    with st.spinner("Measuring the judge", show_time=True):
        return work.trust(store, run, grader, gold, criterion)


def golds(store: Store, run: int, criterion: str) -> list[str]:
    """Return the golds of a run, most labels first."""
    revision = store.label_revision(run, criterion)
    return _golds(store, str(store.path), run, criterion, revision)


def person_against_rule(store: Store, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return people's labels against the rule's, where rows have both."""
    run, criterion = report["run_id"], report["criterion"]
    revision = store.label_revision(run, criterion)
    return _person_against_rule(store, str(store.path), run, criterion, revision)


def slices(store: Store, report: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return the slices of a trust report by a field."""
    return _slices(store, *_key(store, report), field)


def claims(store: Store, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many false passes name an action that they never took."""
    return _claims(store, *_key(store, report))


def cell_rows(
    store: Store,
    report: Mapping[str, Any],
    cell: str,
    field: str | None = None,
    value: str | None = None,
) -> list[int]:
    """Return ids of the rows of a cell, in the order of the file."""
    return _cell_rows(store, *_key(store, report), cell, field, value)


def group_fields(run: Mapping[str, Any]) -> list[str]:
    """Return the fields of a run that group its rows."""
    return [each["name"] for each in run["fields"] if each["kind"] == "group"]


def first_field(store: Store, run: Mapping[str, Any]) -> str | None:
    """Return the field to slice by first: one that every row has and that is no verdict."""
    return work.first_field(run, lambda field: group_values(store, run["id"], field))


def group_values(store: Store, run: int, field: str) -> list[str]:
    """Return the values that a field takes in a run, as addresses write them."""
    return _values(store, str(store.path), run, field)


def list_lines(store: Store, ids: tuple[int, ...]) -> dict[int, str]:
    """Return one line for each row of a list: its task and how its reply begins."""
    return _list_lines(store, str(store.path), ids)


def columns(store: Store, run: int) -> dict[str, dict]:
    """Return the columns of a run that rows can be filtered by, with their values."""
    return _columns(store, str(store.path), run)


def row_briefs(
    store: Store, ids: tuple[int, ...], grader: int | None, criterion: str, run: int
) -> list[dict[str, Any]]:
    """Return ``id``, ``task``, ``verdict`` and how the ``reply`` begins, for each row of a list."""
    revision = store.verdict_revision(run)
    return _row_briefs(store, str(store.path), ids, grader, criterion, revision)


def gold_of_rows(store: Store, picked: Any, ids: tuple[int, ...]) -> dict[int, str]:
    """Return the picked gold of each of these rows, in words; rows without gold are left out."""
    run, _, gold, criterion = picked.key
    revision = store.label_revision(run, criterion)
    return _gold_of_rows(store, str(store.path), ids, gold, criterion, revision)


def code_counts(store: Store, run: int) -> Mapping[str, Any]:
    """Return what the codes of a run say; a first count of many notes may take a moment."""
    with st.spinner("Counting codes", show_time=True):
        return work.code_counts(store, run)


def note_list(
    store: Store,
    run: int,
    reasons: bool,
    code: int | str | None,
    text: str | None,
    field: str | None,
    value: str | None,
) -> list[dict]:
    """Return the notes of a run that meet all of this, or its reviewed rows without one.

    The list is shared between sessions and never changed.
    """
    revision = store.code_revision(run)
    return _note_list(store, str(store.path), run, revision, reasons, code, text, field, value)


def _key(store: Store, report: Mapping[str, Any]) -> tuple[str, int, int, str, str, str]:
    """Path, run, grader, gold, criterion and revision: together they name the numbers."""
    return (
        str(store.path),
        report["run_id"],
        report["grader_id"],
        report["gold"] or "",
        report["criterion"],
        report["revision"],
    )


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _slices(
    _store: Store,
    path: str,
    run: int,
    grader: int,
    gold: str,
    criterion: str,
    revision: str,
    field: str,
) -> dict[str, Any]:
    return work.slices(_store, run, field, grader or None, gold or None, criterion)


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _claims(
    _store: Store, path: str, run: int, grader: int, gold: str, criterion: str, revision: str
) -> dict[str, Any]:
    return work.claims(_store, run, grader=grader or None, gold=gold or None, criterion=criterion)


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _cell_rows(
    _store: Store,
    path: str,
    run: int,
    grader: int,
    gold: str,
    criterion: str,
    revision: str,
    cell: str,
    field: str | None,
    value: str | None,
) -> list[int]:
    return work.cell_rows(_store, run, grader or None, gold or None, criterion, cell, field, value)


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _values(_store: Store, path: str, run: int, field: str) -> list[str]:
    # Rows of a run never change, so neither do the values of a field.
    return sorted(_store.field_texts(run, field))


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _list_lines(_store: Store, path: str, ids: tuple[int, ...]) -> dict[int, str]:
    lines = {}
    for brief in _store.briefs(ids, None, ""):
        reply = " ".join(cut(rows.reply(brief["row"]), LINE_CHARS).text.split())
        lines[brief["id"]] = f"{cut(brief['task'], 40).text} · {reply or '(no reply)'}"
    return {row_id: lines.get(row_id, "(deleted)") for row_id in ids}


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _columns(_store: Store, path: str, run: int) -> dict[str, dict]:
    return work.columns_of(_store, run)


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _row_briefs(
    _store: Store,
    path: str,
    ids: tuple[int, ...],
    grader: int | None,
    criterion: str,
    revision: int,
) -> list[dict[str, Any]]:
    return [
        {
            "id": brief["id"],
            "task": cut(brief["task"], 40).text,
            "verdict": brief["verdict"],
            "reply": " ".join(cut(rows.reply(brief["row"]), LINE_CHARS).text.split()),
        }
        for brief in _store.briefs(ids, grader, criterion)
    ]


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _gold_of_rows(
    _store: Store,
    path: str,
    ids: tuple[int, ...],
    gold: str | None,
    criterion: str,
    revision: int,
) -> dict[int, str]:
    words = {1: "▲ pass", 0: "▼ fail"}
    found = {i: work.gold_of_row(_store, i, gold, criterion)["label"] for i in ids}
    return {i: words[label] for i, label in found.items() if label in words}


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _golds(_store: Store, path: str, run: int, criterion: str, revision: int) -> list[str]:
    return work.golds(_store, run, criterion)


@st.cache_data(max_entries=MAX_ENTRIES, show_spinner=False)
def _person_against_rule(
    _store: Store, path: str, run: int, criterion: str, revision: int
) -> dict[str, Any]:
    return work.person_against_rule(_store, run, criterion)


@st.cache_resource(max_entries=8, show_spinner=False)  # a copy of 100,000 notes takes 0.3 s
def _note_list(
    _store: Store,
    path: str,
    run: int,
    revision: str,
    reasons: bool,
    code: int | str | None,
    text: str | None,
    field: str | None,
    value: str | None,
) -> list[dict]:
    if reasons:
        return work.reason_list(_store, run, field, value)
    return work.note_list(_store, run, code, text, field, value)
