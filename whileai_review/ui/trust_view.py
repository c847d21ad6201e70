"""The parts of the Trust page: each takes a report and draws one thing."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from whileai_review import work
from whileai_review.charts.checks import check_notes, gold_notes, trust_checks
from whileai_review.charts.confusion import confusion_figure
from whileai_review.charts.coverage import coverage_bar, coverage_words
from whileai_review.charts.pass_rate import pass_rate_notes, pass_rates
from whileai_review.charts.slices import MEASURES, floor_words, slices_figure
from whileai_review.intervals import quoted, wider
from whileai_review.report import (
    count,
    interval_percent,
    interval_points,
    number2,
    p_value,
    percent,
    plural,
    points,
)
from whileai_review.store import RefusedError, Store
from whileai_review.ui import cache
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.figures import is_dark, show_figure
from whileai_review.ui.pickers import Picked, known_reader, select
from whileai_review.ui.tables import (
    Column,
    link,
    show_checks,
    show_table,
    struck,
    term,
    two_by_two,
)
from whileai_review.ui.text import html_text, plain, visible
from whileai_review.work.headlines import weighting_lines

CELLS = {"fp": "false pass", "fn": "false alarm", "tp": "right pass", "tn": "right fail"}
CELLS_MANY = {
    "fp": "false passes",
    "fn": "false alarms",
    "tp": "right passes",
    "tn": "right fails",
}
MEASURE_WORDS = {
    "false_pass": "False passes",
    "error": "Reward given in error",
    "agreement": "Agreement",
}
FIRST_LABELS = 30
"""Labels that tell a hopeless judge from one that is worth measuring."""

_CORRECTED = (
    "The judge’s pass rate on all rows plus its mean error on the labelled ones, the judge "
    "weighted by how much it helps (PPI++, Angelopoulos et al. 2023), interval by task. Holds for "
    "labels of rows drawn at random."
)

MOST_SLICES = 200
"""Lines of the table of slices; the values with the most false passes come first."""


def hides_interim(store: Store, report: Mapping[str, Any]) -> bool:
    """Whether the figures so far wait until the reader asks for them.

    Who labels a queue is asked first: the figures, and when to stop, leak into the labels.
    """
    plan = report["interim"]
    if not plan or st.session_state.get(_asked(plan)):
        return False
    return store.progress(plan["queue"], known_reader())["done"] > 0


def show_interim(store: Store, report: Mapping[str, Any], hidden: bool) -> None:
    """Draw the way back to a queue that is under way, ask its annotators, and how to end it."""
    plan = report["interim"]
    if not plan:
        return
    left = plural(plan["planned"] - plan["labelled"], "row")
    st.page_link(
        "pages/label.py",
        label=f"Label the {left} left of “{plain(visible(plan['name']))}”",
        icon=":material/arrow_forward:",
        query_params={"queue": str(plan["queue"])},
    )
    if hidden:
        quiet(
            "You label this queue. What is known so far can sway your next answers, so it is "
            "not shown until you ask for it."
        )
        if st.button("Show the figures so far", key=f"{_asked(plan)}_button"):
            st.session_state[_asked(plan)] = True
            st.rerun()
        return
    with st.popover("End the queue here"):
        quiet(
            "The verdict is then set on the labels that are there, and says that it came early. "
            "Ending a queue because its figures look good makes them look better than they are."
        )
        ending = f"End it at {count(plan['labelled'])} of {count(plan['planned'])} labels"
        if st.button(ending, key=f"{_asked(plan)}_end"):
            store.close_queue(plan["queue"], known_reader())
            st.rerun()


def _asked(plan: Mapping[str, Any]) -> str:
    return f"wr_interim_{plan['queue']}"


def show_next_act(store: Store, report: Mapping[str, Any]) -> None:
    """Draw the one button of the page: what to do next; of a queue under way that is a link."""
    if report["interim"]:
        return
    run, cells = report["run_id"], report["n_cells"]
    if report["state"] == "not_measured":
        if report["grader"] is None:
            st.page_link(
                "pages/runs.py", label="Load a judge’s verdicts", query_params={"run": run}
            )
        elif not report["agreement"]["n"] or not report["agreement"]["ok"]:
            _offer_first_labels(store, report)
        return
    cell = "fp" if cells["fp"] else "fn" if cells["fn"] else None
    if cell is None:
        _offer_first_labels(store, report)
        return
    words = plural(cells[cell], CELLS[cell], CELLS_MANY[cell])
    icon = ":material/arrow_forward:"
    if st.button(f"Read the {words}", type="primary", icon=icon, key="wr_next_act"):
        open_cell(run, cell)


def open_cell(run: int, cell: str, field: str | None = None, value: str | None = None) -> None:
    """Go to the rows of a cell."""
    said = {"run": run, "cell": cell, "field": field, "value": value}
    st.switch_page(
        "pages/queue.py", query_params={k: str(v) for k, v in said.items() if v is not None}
    )


def show_coverage(report: Mapping[str, Any]) -> None:
    """Draw how much of the run has gold."""
    kind = report["gold_kind"]
    words = coverage_words(report["coverage"], kind, report["weighting"]["scope"])
    st.html(
        f'<div style="max-width:620px">{coverage_bar(report["coverage"], kind)}'
        f'<p class="wr-sub">{html_text(words)}</p></div>'
    )


def show_checks_of(report: Mapping[str, Any]) -> None:
    """Draw the table of checks."""
    st.markdown("##### Checks")
    checks = trust_checks(report)
    if report["interim"]:  # no verdict before the last planned label, in no line either
        checks = [check._replace(way="", state="") for check in checks]
    show_checks(checks, report["run_id"], report["n_cells"])
    for note in check_notes(report, checks):
        quiet(note)
    if not report["interim"]:
        quiet("▲ the whole interval holds its floor · ▼ all of it misses · ○ not shown")
    for line in weighting_lines(report):
        quiet(line)


def show_pass_rate(report: Mapping[str, Any]) -> None:
    """Draw what share of the run passes: corrected by labels, by labels alone, by the judge."""
    rates = pass_rates(report)
    if not rates:
        return
    lines: list[list[object]] = [list(rate[:5]) for rate in rates]
    lines[0][0] = term(rates[0].name, _CORRECTED)
    for line, rate in zip(lines, rates, strict=True):
        if not rate.counts:
            line[1:3] = [struck(str(cell)) for cell in line[1:3]]
    st.markdown("##### How much of this run passes?")
    heads = [Column("by", "wrap"), Column("value", "number"), Column("95%", "number")]
    show_table([*heads, Column("rows", "number"), Column("tasks", "number")], lines)
    for note in pass_rate_notes(report):
        quiet(note)


def show_confusion(report: Mapping[str, Any]) -> None:
    """Draw the two bars, and the same cells as links for the keyboard."""
    run, cells = report["run_id"], report["n_cells"]
    st.markdown("##### Of what gold says, what did the judge say?")
    with st.skeleton(height=140):
        show_figure(
            confusion_figure(report, is_dark()),
            alt=report["headline"]["bold"],
            key=f"confusion_{run}_{report['revision']}",
            on_click=lambda cell: open_cell(run, cell),
        )
    with st.container(horizontal=True, gap="medium"):
        for cell, name in CELLS_MANY.items():
            if cells[cell]:
                st.page_link(
                    "pages/queue.py",
                    label=f"{count(cells[cell])} {name}",
                    query_params={"run": str(run), "cell": cell},
                )


@st.fragment
def show_slices(store: Store, picked: Picked, report: Mapping[str, Any]) -> None:
    """Draw the slices of a field that a person names, as a forest and as a table."""
    fields = cache.group_fields(picked.run)
    if not fields:
        return
    st.markdown("##### Where does it leak?")
    first = cache.first_field(store, picked.run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        field = select("Field", "field", fields, default=first, width=260)
        measure = select(
            "Share",
            "share",
            [*MEASURE_WORDS],
            words=MEASURE_WORDS.__getitem__,
            default="false_pass",
            width=260,
        )
    if field is None or measure is None:
        return
    found = cache.slices(store, report, field)
    rule = floor_words(measure)
    quiet(
        f"{MEASURES[measure].title.capitalize()} · criterion {visible(report['criterion'])}"
        + "".join(f" · {words}" for words in (rule, *gold_notes(report)) if words)
    )
    show_figure(
        slices_figure(found, measure, is_dark(), visible),
        alt=f"{MEASURES[measure].title}, by {visible(field)}",
        key=f"slices_{report['run_id']}_{measure}_{field}_{report['revision']}",
        on_click=lambda value: open_cell(report["run_id"], "fp", field, value),
    )
    _slices_table(report["run_id"], field, found["rows"])
    if field != first:
        quiet(
            "These intervals hold for a field that was named before its figures were seen. For one "
            "that was picked because it looks bad, see “Find slices”."
        )


def show_person_against_rule(store: Store, report: Mapping[str, Any]) -> None:
    """Draw people's labels against the rule's, where rows have both; the verdict stays."""
    both = cache.person_against_rule(store, report)
    if not both["n"]:
        return
    st.markdown("##### People against the rule")
    quiet(
        f"{plural(both['n'], 'row')} labelled by both, {count(len(both['differ']))} differ. "
        "The verdict above rests on the gold chosen above alone."
    )
    table = two_by_two(
        both["table"], ("person: pass", "person: fail"), ("rule: pass", "rule: fail")
    )
    st.html(f'<div style="max-width:420px">{table}</div>')


def show_the_rest(report: Mapping[str, Any]) -> None:
    """Draw what else a trust report holds, folded, and the report as it prints."""
    with st.expander("Warnings, halves, length, skipped rows, probes"):
        for warning in report["warnings"]:
            quiet(f"! {warning}")
        show_table(
            [Column("part", "wrap"), Column("value", "number"), Column("n", "number")],
            _rest_lines(report),
        )
    with st.expander("print(report)"):
        st.code(visible(report["text"]), language=None, wrap_lines=True)


def _offer_first_labels(store: Store, report: Mapping[str, Any]) -> None:
    n = min(FIRST_LABELS, report["n_rows"])
    if not st.button(f"Label {plural(n, 'row')}", type="primary", key="wr_first_labels"):
        return
    by = known_reader()
    try:
        queue = work.draw_queue(
            store, report["run_id"], "one_per_task", n, criterion=report["criterion"], by=by
        )
    except RefusedError as error:
        warn(str(error))
        return
    st.switch_page("pages/label.py", query_params={"queue": str(queue["id"])})


def _slices_table(run: int, field: str, lines: list[dict]) -> None:
    columns = [
        Column(visible(field), "wrap"),
        Column("rows", "number"),
        Column("tasks", "number"),
        Column("false passes", "number"),
        Column("false-pass rate", "number"),
        Column("95%", "number"),
        Column("reward in error", "number"),
        Column("95%", "number"),
    ]
    show_table(
        columns,
        [
            [
                visible(line["value"]),
                count(line["n"]),
                count(line["n_tasks"]),
                _read_link(run, field, line),
                *_share(line["false_passes"], line["n_gold_fail"], line, "false_pass"),
                *_share(line["wrong_passes"], line["n_judge_pass"], line, "error"),
            ]
            for line in lines[:MOST_SLICES]
        ],
    )
    if len(lines) > MOST_SLICES:
        quiet(f"{count(len(lines) - MOST_SLICES)} more values are not drawn.")


def _read_link(run: int, field: str, line: dict) -> object:
    n = count(line["false_passes"])
    if not line["false_passes"]:
        return n
    return link(n, "queue", run=run, cell="fp", field=field, value=line["value"])


def _share(hits: int, n: int, line: dict, name: str) -> tuple[str, str]:
    """The share and its interval; under ten the counts alone."""
    text = percent(line[f"{name}_rate"], n)
    if " of " in text or not n:
        return f"{count(hits)} of {count(n)}", ""
    return f"{text} of {count(n)}", interval_percent(
        wider(line[f"{name}_ci95"], line[f"{name}_ci95_tasks"]), n
    )


def _rest_lines(report: Mapping[str, Any]) -> list[list[str]]:
    lines = []
    for name, half in report["held_out_halves"].items():
        value = percent(half["agreement"], half["n"])
        if half["n"]:
            value += f" {interval_percent(quoted(half), half['n'])}"
        lines.append([f"Agreement on half {name} of the tasks", value, count(half["n"])])
    for key, words in (("gold_1", "gold passes"), ("gold_0", "gold failures")):
        part = report["length_sensitivity"][key]
        value = part.get("note", "")
        if "p_value" in part:
            gap = points(part["gap_long_minus_short"])
            bounds = interval_points(part["gap_ci95"]) if part["gap_ci95"] else ""
            value = f"{gap} points {bounds}, {p_value(part['p_value'])}".replace(" ,", ",")
        lines.append([f"Judge’s pass rate, longer minus shorter, {words}", value, count(part["n"])])
    skipped = report["skipped"]
    value = f"{count(skipped['fractional'])} of {count(skipped['n_gold'])}"
    limit = f"at most {number2(skipped['floor'])} of them"
    lines.append([f"Labelled rows left out for a fractional reward ({limit})", value, ""])
    lines.append(["Labelled rows without a verdict", count(skipped["unscored"]), ""])
    fails = report["judge_fail_right"]
    value = f"{percent(fails['value'], fails['n'])} {interval_percent(quoted(fails), fails['n'])}"
    lines.append(["A “fail” of the judge is right", value, count(fails["n"])])
    return lines + _attack_lines(report)


def _attack_lines(report: Mapping[str, Any]) -> list[list[str]]:
    again, probes = report["perturbation"], report["probes"]
    if not again and not probes:
        return [["Judged again, filler, probes", "not run: needs the judge itself", ""]]
    lines = []
    if again and again["n"]:
        for name, key in (
            ("Flips when judged again", "consistency"),
            ("Flips with filler", "filler"),
        ):
            lines.append(_rate_line(name, again[key]))
    for name, probe in (probes or {}).get("probes", {}).items():
        if "skipped" in probe:
            lines.append([f"Probe {visible(name)}", f"skipped: {visible(probe['skipped'])}", ""])
        else:
            about = {**probe, "value": probe["exploit_rate"], "n": probe["denominator"]}
            lines.append(_rate_line(f"Probe {visible(name)}", about))
    return lines


def _rate_line(name: str, rate: Mapping[str, Any]) -> list[str]:
    """A share of `task_share` as a line: value, the wider interval, rows and tasks."""
    if not rate["n"]:
        return [name, "not measured", ""]
    value = f"{percent(rate['value'], rate['n'])} {interval_percent(quoted(rate), rate['n'])}"
    return [name, f"{value}, {plural(rate['n_tasks'], 'task')}", count(rate["n"])]
