"""Slices that nobody named: the worst of many, with what the search costs."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from whileai_review import work
from whileai_review.report import (
    MINUS,
    SMALL_N,
    count,
    interval_percent,
    percent,
    plural,
)
from whileai_review.score.slices import MEASURES, quoted_worst, worst_words
from whileai_review.store import Store
from whileai_review.ui.data import quiet
from whileai_review.ui.pickers import param, select, set_params
from whileai_review.ui.tables import Column, link, show_table, term
from whileai_review.ui.text import html_text, visible

MOST_LINES = 15
"""Lines of the table at first; the worst come first."""

MORE_LINES = 100

ADDRESS = "found"
"""What the address says once the slices were searched: the measure by which they are sorted."""

SORTED_BY = {name: words for name, (words, _) in MEASURES.items()}

_RATES = {"false_pass": "false-pass rate", "error": "reward in error"}

_AGAIN = (
    "The rate pulled towards that of all rows, by as much as slices differ here beyond chance "
    "(beta-binomial). New rows of this slice should show about this; the rate itself is too bad "
    "because the slice was picked for it."
)
_BEYOND = (
    "False passes beyond those that the rate of all rows predicts for this many rows. Sorted by "
    "this and not by the rate, which is highest where there are fewest rows."
)


def show_found_slices(store: Store, report: Mapping[str, Any]) -> None:
    """Draw the search for slices: a button first, then the worst of all of them."""
    st.markdown("##### Find slices")
    if param(ADDRESS) not in SORTED_BY:
        quiet(
            "Searches every short field of the run (2 to 50 values) for slices with more false "
            "passes than expected. A slice that is found this way is the worst of many: its "
            "interval is corrected for the search."
        )
        if st.button("Find slices", key="wr_find_slices"):
            set_params(**{ADDRESS: "false_pass"})
            st.rerun()
        return
    with st.spinner("Searching the slices", show_time=True):
        found = work.found_slices(
            store,
            report["run_id"],
            report["grader_id"] or None,
            report["gold"],
            report["criterion"],
        )
    _show(found, report)


@st.fragment
def _show(found: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    quiet(_searched(found))
    for measure in MEASURES:
        st.html(f"<p>{html_text(visible(worst_words(found, measure)))}</p>")
    for warning in found["warnings"]:
        quiet(f"! {warning}")
    if not found["slices"]:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = select(
            "Sort by what is beyond expected",
            ADDRESS,
            [*SORTED_BY],
            words=SORTED_BY.__getitem__,
            default="false_pass",
            width=280,
        )
        several = len(found["slices"]) > MOST_LINES
        more = several and st.toggle("More lines", key="wr_found_more")
    lines = sorted(found["slices"], key=lambda line: -line[by or "false_pass"]["excess"])
    shown = lines[: MORE_LINES if more else MOST_LINES]
    _table(found, report, shown)
    if found["k"] > len(shown):
        quiet(f"{count(found['k'] - len(shown))} more slices have fewer beyond the expected.")


def _searched(found: Mapping[str, Any]) -> str:
    words = (
        f"{plural(found['k'], 'slice')} of {plural(len(found['fields']), 'field')} searched, "
        f"criterion {visible(found['criterion'])}, {plural(found['n'], 'row')} of "
        f"{plural(found['n_tasks'], 'task')}."
    )
    if found["named"]:
        words += (
            f" {visible(found['named'])} is not among them: it is named in advance and has its "
            "plain intervals under “Where does it leak?”."
        )
    if found["left_out"]:
        gone = ", ".join(f"{visible(each['field'])} ({each['why']})" for each in found["left_out"])
        words += f" Not searched: {gone}."
    return words


def _table(found: Mapping[str, Any], report: Mapping[str, Any], lines: list) -> None:
    k = found["k"]
    columns = [Column("slice", "wrap"), Column("rows", "number"), Column("tasks", "number")]
    columns.append(Column("false passes", "number"))
    for measure in MEASURES:
        columns += [
            Column("beyond expected", "number"),
            Column(_RATES[measure], "number"),
            Column(f"95% for all {count(k)}", "number"),
            Column("expect again", "number"),
        ]
    show_table(columns, [_cells(line, report["run_id"]) for line in lines])
    with st.container(horizontal=True, gap="medium"):
        st.html(str(term("beyond expected", _BEYOND)))
        st.html(
            str(
                term(
                    f"95% for all {count(k)}",
                    f"Holds for all {count(k)} slices at once (Bonferroni), the wider of rows and "
                    f"tasks. Under {SMALL_N} rows there is a count and no rate.",
                )
            )
        )
        st.html(str(term("expect again", _AGAIN)))


def _cells(line: Mapping[str, Any], run: int) -> list[object]:
    name = f"{visible(line['field'])} = {visible(line['value'])}"
    for field, value in line["same_as"]:
        name += f" (the same rows: {visible(field)} = {visible(value)})"
    n = count(line["false_passes"])
    shown: object = n
    if line["false_passes"]:
        shown = link(n, "queue", run=run, cell="fp", field=line["field"], value=line["value"])
    cells: list[object] = [name, count(line["n"]), count(line["n_tasks"]), shown]
    for measure in MEASURES:
        share = line[measure]
        cells += [_beyond(share["excess"]), *_share(share)]
    return cells


def _share(share: Mapping[str, Any]) -> tuple[str, str, str]:
    """Rate, corrected interval and what to expect; under ten rows the counts alone."""
    n = share["n"]
    if n < SMALL_N:
        return f"{count(share['hits'])} of {count(n)}", "", ""
    mark = "▼ " if share["stands_out"] else ""
    return (
        f"{percent(share['value'], n)} of {count(n)}",
        mark + interval_percent(quoted_worst(share), n),
        percent(share["expect_again"], n),
    )


def _beyond(excess: float) -> str:
    text = f"{excess:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", MINUS)
