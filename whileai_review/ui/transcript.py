"""One rollout on a screen: what was asked at the left, what was done and said at the right.

All of it is one block of escaped HTML: a block an element would cost a message and a
layout each. Nothing here says what a judge or a detector thinks of the row.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import streamlit as st

from whileai_review.ui import _record
from whileai_review.ui._record import Call, Record, Said
from whileai_review.ui.text import cut, html_text

TEXT_CHARS = 20_000
"""Characters drawn of one text; the rest is one link away, with its length."""

TOTAL_CHARS = 300_000
"""Characters drawn of a whole record; what comes later is cut to SHORT_CHARS."""

SHORT_CHARS = 400

ITEMS_HEAD, ITEMS_TAIL = 200, 100
"""Turns and calls drawn from the start and the end of a very long rollout."""

POLICY_CHARS = 1_200
"""A longer policy starts folded."""

MAX_TOOLS = 80


def show_record(
    row: dict,
    row_id: str,
    blind: bool = True,
    declared: Sequence[str] | None = None,
) -> Record:
    """Draw a row and return what was drawn, for its length.

    Parameters
    ----------
    row
        The rollout.
    row_id
        The store's id: the label bar only takes a press while it is on the screen.
    blind
        True shows the rollout alone; False adds the whole row, folded, with whatever
        else the file says about it.
    declared
        Tools of the run, for rows that list none.
    """
    record = _record.read_record(row, declared)
    st.html(record_html(record, row_id, None if blind else row))
    return record


def record_html(record: Record, row_id: str, row: dict | None = None) -> str:
    """Return the block that :func:`show_record` draws."""
    budget = _Budget()
    right = "".join((_steps_html(record, row_id, budget), _reply_html(record, row_id, budget)))
    whole = "" if row is None else _fold("the whole row", _record.in_full(row), row_id, budget)
    return (
        f'<div class="wr wr-two" data-wr-row="{html_text(row_id)}">{_nothing_html(record)}'
        f"<div>{_ask_html(record, row_id, budget)}{_strip_html(record)}</div>"
        f"<div>{right}{whole}</div></div>"
    )


def _nothing_html(record: Record) -> str:
    """Say it where a row has nothing to be judged by, else a verdict on it would be a guess."""
    if (record.ask or "").strip() or record.items or not record.reply_note:
        return ""
    return (
        '<p class="wr-warn wr-both">▼ There is nothing to read in this row: no ask, no step, no '
        "reply. Answer “can’t tell”, or load the file again and say which columns hold them.</p>"
    )


def all_of_it(row_id: str) -> str:
    """Return the address of the whole record as plain text."""
    return f"record/{html_text(row_id)}"


class _Budget:
    """How many characters may still be drawn."""

    def __init__(self) -> None:
        self.left = TOTAL_CHARS

    def take(self, text: str, limit: int = TEXT_CHARS) -> tuple[str, str]:
        """Escaped text, and the announcement of what was cut."""
        part = cut(text, limit if self.left > 0 else min(limit, SHORT_CHARS))
        self.left -= len(part.text)
        return html_text(part.text), part.note


def _ask_html(record: Record, row_id: str, budget: _Budget) -> str:
    if record.ask is None:
        ask = '<p class="wr-quiet">(no ask in this row)</p>'
    elif not record.ask.strip():
        ask = f'<p class="wr-quiet">(an ask of {len(record.ask)} blank characters)</p>'
    else:
        ask = _say(record.ask, row_id, budget)
    out = f"<section><h6>Ask</h6>{ask}</section>"
    if not record.policy:
        return out
    policy = _say(record.policy, row_id, budget)
    if len(record.policy) > POLICY_CHARS:
        first = html_text(" ".join(record.policy[:90].split()))
        policy = f"<details><summary>{first}…</summary>{policy}</details>"
    return out + f"<section><h6>Policy in force</h6>{policy}</section>"


def _strip_html(record: Record) -> str:
    """Every declared tool with its count: what was never called is seen too."""
    if not record.tools:
        return ""
    shown = list(record.tools.items())[:MAX_TOOLS]
    strip = " · ".join(f"<span>{html_text(name)} {count}</span>" for name, count in shown)
    more = len(record.tools) - len(shown)
    tail = f" · and {more} more" if more > 0 else ""
    return f'<section><h6>Tools called</h6><div class="wr-strip">{strip}{tail}</div></section>'


def _steps_html(record: Record, row_id: str, budget: _Budget) -> str:
    if not record.items:
        return '<section><h6>Steps</h6><p class="wr-quiet">(no tool call)</p></section>'
    calls = [item for item in record.items if isinstance(item, Call)]
    open_ones = _record.eventful(calls)
    head, hidden, tail = _middle_out(record.items)
    parts = [*_runs_html(head, open_ones, row_id, budget)]
    if hidden:
        parts.append(
            f'<p class="wr-quiet">{hidden:,} turns and calls in between are not drawn: '
            f"{_link(row_id, 'all of it')}</p>"
        )
    parts += _runs_html(tail, open_ones, row_id, budget)
    title = "Steps" if len(calls) == len(record.items) else "Conversation"
    return f"<section><h6>{title}</h6>{''.join(parts)}</section>"


def _middle_out(items: list[Said | Call]) -> tuple[list[Said | Call], int, list[Said | Call]]:
    if len(items) <= ITEMS_HEAD + ITEMS_TAIL:
        return items, 0, []
    return items[:ITEMS_HEAD], len(items) - ITEMS_HEAD - ITEMS_TAIL, items[-ITEMS_TAIL:]


def _runs_html(
    items: list[Said | Call], open_ones: set[int], row_id: str, budget: _Budget
) -> Iterator[str]:
    """Items in order; neighbours that are folded share one fold."""

    def is_folded(item: Said | Call) -> bool:
        return isinstance(item, Call) and item.number not in open_ones

    for folded, run in groupby(items, key=is_folded):
        group = list(run)
        lines = "".join(_item_html(item, row_id, budget) for item in group)
        yield _group_fold(group, lines) if folded and len(group) > 1 else lines


def _group_fold(group: Sequence[Said | Call], lines: str) -> str:
    calls = [item for item in group if isinstance(item, Call)]
    counts: dict[str, int] = {}
    for call in calls:
        counts[call.step.tool] = counts.get(call.step.tool, 0) + 1
    names = " · ".join(f"{html_text(name)} ×{n}" for name, n in list(counts.items())[:6])
    first, last = calls[0].number + 1, calls[-1].number + 1
    return f"<details><summary>steps {first} to {last}: {names}</summary>{lines}</details>"


def _item_html(item: Said | Call, row_id: str, budget: _Budget) -> str:
    if isinstance(item, Call):
        return _call_html(item, row_id, budget)
    return (
        f'<div class="wr-said"><h6>{html_text(item.role[:40])}</h6>'
        f"{_say(item.text, row_id, budget)}</div>"
    )


def _call_html(call: Call, row_id: str, budget: _Budget) -> str:
    step = call.step
    arguments = cut(_record.call_arguments(step.arguments), _record.ARGUMENT_CHARS)
    result = cut(_record.one_line(step.result), _record.RESULT_CHARS)
    failed = " failed" if step.ok is False else ""
    if isinstance(step.arguments, str) and step.arguments.lstrip()[:1] in ("{", "["):
        failed = f" (arguments are no JSON){failed}"
    none = step.result is None or step.result == ""
    shown = "(no result)" if none else html_text(result.text) + ("…" if result.left else "")
    line = (
        f'<span class="wr-n">{call.number + 1}</span> '
        f"{html_text(step.tool)}({html_text(arguments.text)}{'…' if arguments.left else ''})"
        f"{failed} → {shown}"
    )
    multiline = isinstance(step.result, str) and "\n" in step.result.strip()
    whole = not (arguments.left or result.left or multiline)
    body = (
        f'<div class="wr-line wr-code-line">{line}</div>'
        if whole
        else f"<details><summary>{line}</summary>"
        f"{_code('arguments', step.arguments, row_id, budget)}"
        f"{_code('result', step.result, row_id, budget)}</details>"
    )
    return f'<div class="wr-step" data-wr-step="{call.number}">{body}</div>'


def _code(name: str, value: object, row_id: str, budget: _Budget) -> str:
    if value is None or value == "":
        return ""
    text, note = budget.take(_record.in_full(value))
    return f'<div class="wr-code" title="{name}">{text}</div>{_cut_note(note, row_id)}'


def _fold(title: str, text: str, row_id: str, budget: _Budget) -> str:
    body, note = budget.take(text)
    return (
        f"<section><details><summary>{title}</summary>"
        f'<div class="wr-code">{body}</div>{_cut_note(note, row_id)}</details></section>'
    )


def _reply_html(record: Record, row_id: str, budget: _Budget) -> str:
    body = (
        f'<p class="wr-quiet">{html_text(record.reply_note)}</p>'
        if record.reply_note
        else _say(record.reply, row_id, budget)
    )
    return f"<section data-wr-reply><h6>Reply</h6>{body}</section>"


def _say(text: str, row_id: str, budget: _Budget) -> str:
    body, note = budget.take(text)
    return f'<div class="wr-say">{body}</div>{_cut_note(note, row_id)}'


def _cut_note(note: str, row_id: str) -> str:
    return f'<p class="wr-quiet">{note} · {_link(row_id, "all of it")}</p>' if note else ""


def _link(row_id: str, words: str) -> str:
    return f'<a href="{all_of_it(row_id)}" target="_blank" rel="noopener">{words}</a>'
