"""What judge, gold and steps say of the open row, side by side, for whoever reads it."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from whileai_review import claimed_actions, rows, work
from whileai_review.report import plural
from whileai_review.store import Store
from whileai_review.ui.text import cut, html_text

WORDS = {1: "▲ pass", 0: "▼ fail", None: "○ no verdict"}
LABEL_WORDS = {"pass": "▲ pass", "fail": "▼ fail", "unclear": "○ can’t tell"}
PATTERNS = {
    "announced": "announced and never called",
    "wrong_tool": "another tool was called than the one named",
    "silent": "no action taken, none claimed",
}
REASON_CHARS = 2_000
MAX_LABELS = 8


def show_facts(
    store: Store, row: Mapping[str, Any], report: Mapping[str, Any], tools: Sequence[str]
) -> None:
    """Draw the judge's verdict and reason, the gold and who gave it, named against called."""
    judged = _judged(store, row, report)
    gold = work.gold_of_row(store, row["id"], report["gold"], report["criterion"])
    named = claimed_actions(dict(row["row"]) | {"reason": judged["reason"]}, list(tools) or None)
    parts = [
        _section("Judge", WORDS[judged["verdict"]], html_text(judged["reason"])),
        _section("Gold", WORDS[gold["label"]], _who(gold["by"])),
        _section("Named, called", *_named(named)),
    ]
    st.html(f'<div class="wr wr-facts">{"".join(parts)}</div>')


def _judged(store: Store, row: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    verdicts = [
        each
        for each in store.verdicts_of(row["id"])
        if each["grader_id"] == report["grader_id"] and each["criterion"] == report["criterion"]
    ]
    found = verdicts[0] if verdicts else {"verdict": None, "reason": None}
    reason = found["reason"]
    if reason is None:
        reason = rows.as_text(row["row"].get("reason"))
    short = cut(reason, REASON_CHARS)
    return {"verdict": found["verdict"], "reason": short.text + (" …" if short.left else "")}


def _who(labels: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for label in labels[:MAX_LABELS]:
        note = f": {label['note']}" if label["note"] else ""
        said = LABEL_WORDS.get(label["verdict"], "")
        lines.append(html_text(cut(f"{said} by {label['annotator']}{note}", 400).text))
    if len(labels) > MAX_LABELS:
        lines.append(f"and {len(labels) - MAX_LABELS} more")
    return "<br>".join(lines)


def _named(found: Mapping[str, Any]) -> tuple[str, str]:
    """The pattern in words, and each tool that was named and never called."""
    lines = []
    for tool, seen in found["tools"].items():
        where = [
            words
            for key, words in (("in_reply", "the reply"), ("in_reason", "the judge"))
            if seen[key]
        ]
        if where and not seen["called"]:
            lines.append(f"{html_text(tool)}: named by {' and '.join(where)}, called 0 times")
        elif where:
            lines.append(f"{html_text(tool)}: named, called {plural(seen['called'], 'time')}")
    head = PATTERNS.get(
        found["pattern"] or "", "what is named was called" if lines else "nothing named"
    )
    return head, "<br>".join(lines)


def _section(title: str, head: str, body: str) -> str:
    return (
        f"<section><h6>{html_text(title)}</h6><b>{html_text(head)}</b>"
        f'<div class="wr-say wr-fact">{body}</div></section>'
    )
