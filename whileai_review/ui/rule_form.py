"""Program labels: a rule is written, shown on the rows, and only then labels them."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from whileai_review import work
from whileai_review.report import count, plural
from whileai_review.store import Store, StoreError
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.pickers import LAST_LOAD, known_reader
from whileai_review.ui.tables import Column, Markup, show_table
from whileai_review.ui.text import cut, html_text, visible
from whileai_review.ui.transcript import all_of_it
from whileai_review.work.rules import Rule, RuleError, parse_rule

PREVIEW = "rule_preview"
"""Session key: (run, name, rule as a dict) whose preview is on the screen."""

OUTCOMES = {"pass": "▲ pass", "fail": "▼ fail", "no_label": "○ no label"}
HELP = (
    "called(tool), completed(tool), failed(tool), calls(tool) >= 2, result(tool, key) > 200, "
    'argument(tool, key) == "x", "text" in reply, matches(reply, "pattern"), exists(value), '
    "joined by and, or, not and brackets. Rows for which “when” does not hold get no label."
)


def show_rule(store: Store, line: Mapping[str, Any]) -> None:
    """Draw the form for a rule on the picked run, its preview, and the button that writes."""
    run_id = line["id"]
    with st.expander("Label by a rule (program labels)"):
        quiet(HELP)
        known = {f"{r['name']} · {r['criterion']} · {r['version'][:6]}": r for r in store.rules()}
        start: Mapping[str, Any] = {}
        if known:
            chosen = st.selectbox(
                "Start from a rule that was used",
                [*known],
                index=None,
                format_func=visible,
                key=f"rule_from_{run_id}",
            )
            start = known.get(chosen or "", {})
        _form(run_id, start)
        asked = st.session_state.get(PREVIEW)
        if asked and asked[0] == run_id:
            _preview(store, line, asked[1], asked[2])


def _form(run_id: int, start: Mapping[str, Any]) -> None:
    key = f"{run_id}_{start.get('id', 'new')}"
    with st.form(f"rule_{key}", border=False):
        with st.container(horizontal=True):
            name = st.text_input("Name", start.get("name", ""), max_chars=60)
            criterion = st.text_input("Criterion", start.get("criterion", "overall"))
        when = st.text_area("A row has a label when (empty: always)", start.get("when_text") or "")
        passes = st.text_area("It passes when", start.get("pass_text") or "")
        pressed = st.form_submit_button("Preview")
    if not pressed:
        return
    st.session_state.pop(PREVIEW, None)
    try:
        rule = parse_rule(when, passes, criterion=criterion.strip() or "overall", name=name.strip())
    except RuleError as error:
        warn(str(error))
        return
    if not name.strip():
        warn("Give the rule a name: its labels are signed with it.")
        return
    st.session_state[PREVIEW] = (run_id, name.strip(), rule.to_dict())


def _preview(store: Store, line: Mapping[str, Any], name: str, said: dict) -> None:
    rule = Rule.from_dict(said)
    try:
        with st.spinner("Reading the rows"):
            counts = work.label_by_rule(store, line["id"], rule, name, dry_run=True)
    except (RuleError, StoreError) as error:
        warn(str(error))
        return
    quiet(
        f"{plural(counts['n'], 'row')}: {count(counts['n_pass'])} pass, "
        f"{count(counts['n_fail'])} fail, {count(counts['n_no_label'])} without a label."
    )
    examples = [
        [
            words,
            _example(each),
        ]
        for outcome, words in OUTCOMES.items()
        for each in counts["examples"][outcome]
    ]
    show_table([Column("the rule says"), Column("row", "wrap")], examples)
    labelled = counts["n_pass"] + counts["n_fail"]
    quiet("Labels that this rule gave before are replaced; labels of people and others stay.")
    if not st.button(f"Label {plural(labelled, 'row')}", type="primary", disabled=not labelled):
        return
    try:
        with st.spinner("Labelling"):
            got = work.label_by_rule(store, line["id"], rule, name, by=known_reader())
    except (RuleError, StoreError) as error:
        warn(str(error))
        return
    st.session_state.pop(PREVIEW, None)
    st.session_state[LAST_LOAD] = {
        "line": f"rule {name}: {count(got['new'])} labels new, {count(got['changed'])} changed, "
        f"{count(got['unchanged'])} as they were, {count(got['withdrawn'])} withdrawn",
        "notes": [],
        "label_columns": [],
    }
    st.rerun()


def _example(example: Mapping[str, Any]) -> Markup:
    """The row's name, leading to the row as text in another tab: the form stays as it is."""
    name = html_text(cut(example["row"], 60).text)
    address = all_of_it(str(example["row_id"]))
    return Markup(f'<a href="{address}" target="_blank" rel="noopener">{name}</a>')
