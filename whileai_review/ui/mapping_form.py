"""What do the columns of a file mean? A form with what was recognised and a live preview."""

from itertools import islice
from typing import Any, NamedTuple

import streamlit as st

from whileai_review import rows
from whileai_review.load import Mapping, Sniff, UnreadableError, open_source
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.tables import Column, show_table
from whileai_review.ui.text import cut, plain, visible

TEXT_KEYS = {
    "prompt": "the ask",
    "final_text": "the reply",
    "messages": "the conversation",
    "steps": "the tool calls",
    "scenario_id": "the task",
    "rollout_id": "the rollout’s id",
    "rollout_index": "number of the repeat",
    "reason": "the judge’s reason",
    "judge_name": "the judge’s name",
}
"""Ours, and what it is called in the form."""

SAID = ("prompt", "final_text", "messages")
"""Without one of these there is nothing to read on a row."""

ORIGINS = {"": "not gold", "human": "a person", "program": "a program", "model": "a model"}
VALUES: dict[str, int | None] = {"pass": 1, "fail": 0, "no verdict": None}
DIRECTIONS = {"": "says nothing", "up": "more is better", "down": "less is better"}
MAX_VALUES = 12
"""Distinct values of a column up to which each can be called pass or fail."""

ZERO_ONE = {"0", "1", "true", "false", "True", "False", "0.0", "1.0", "null", ""}
PREVIEW_ROWS = 5
CELL_CHARS = 90


class Answers(NamedTuple):
    """What a person said about a file."""

    mapping: Mapping
    origins: dict[str, dict[str, str]]
    open: list[str]
    """What has to be said before it can be loaded."""


def ask_mapping(source: Any, sniff: Sniff, key: str) -> Answers:
    """Draw the form; return the mapping as it stands.

    Parameters
    ----------
    key
        Names the file, so that the answers for another one are asked anew.
    """
    open_ones = [question.key for question in sniff.questions]
    keys = dict(sniff.mapping.keys)
    values: dict[str, dict[str, int | None]] = {}
    unread = not any(ours in keys or ours in sniff.columns for ours in SAID)
    with st.expander(
        "What the columns are", expanded=bool(open_ones or sniff.label_columns or unread)
    ):
        if unread:
            quiet("? No column is known to hold the ask, the reply or the conversation: pick them.")
        for question in sniff.questions:
            quiet(f"? {question.why}")
        left, right = st.columns(2, gap="large")
        with left:
            reward = _verdict(sniff, keys, values, open_ones, key)
            origins = _labels(sniff, keys, values, reward, key)
            _more_verdicts(sniff, keys, key)
        with right:
            _texts(sniff, keys, open_ones, key)
            metrics = _metrics(sniff, key)
    try:
        mapping = Mapping(keys, values, metrics)
    except ValueError as error:
        warn(str(error))
        return Answers(sniff.mapping, {}, ["columns that go together"])
    _preview(source, mapping)
    return Answers(mapping, origins, _still_open(keys, values, sniff))


def _verdict(sniff: Sniff, keys: dict, values: dict, open_ones: list[str], key: str) -> str | None:
    column = _column("The judge’s verdict", "reward", sniff, keys, key)
    if column is not None:
        _value_map(sniff, "reward", column, values, key)
    elif "reward" not in open_ones:
        quiet("Without a verdict the rows can be labelled, and no judge is measured.")
    return column


def _labels(
    sniff: Sniff, keys: dict, values: dict, reward: str | None, key: str
) -> dict[str, dict[str, str]]:
    origins: dict[str, dict[str, str]] = {}
    for column in sniff.label_columns:
        if column == reward:
            continue
        said = st.selectbox(
            plain(f"“{cut(column, 60).text}” looks like labels. Who gave them?"),
            [*ORIGINS],
            format_func=ORIGINS.__getitem__,
            key=f"origin_{key}_{column}",
        )
        if not said:
            continue
        criterion = st.text_input(
            "on the criterion", _criterion_of(column), key=f"criterion_{key}_{column}"
        ).strip()
        ours = "gold_reward" if criterion in ("", "overall") else f"gold_reward:{criterion}"
        if ours in keys and ours in origins:
            warn(f"Two label columns on the criterion {criterion or 'overall'}: name another one.")
            continue
        keys[ours] = column
        origins[ours] = {"kind": said}
        _value_map(sniff, ours, column, values, key)
    return origins


def _more_verdicts(sniff: Sniff, keys: dict, key: str) -> None:
    if not sniff.verdict_columns:
        return
    chosen = st.multiselect(
        "Further verdicts of the judge, each a criterion of its own",
        sniff.verdict_columns,
        format_func=visible,
        key=f"more_{key}",
    )
    for column in chosen:
        keys[f"reward:{_criterion_of(column)}"] = column


def _texts(sniff: Sniff, keys: dict, open_ones: list[str], key: str) -> None:
    for ours, words in TEXT_KEYS.items():
        if ours in keys or ours in open_ones or ours not in sniff.columns:
            _column(words.capitalize(), ours, sniff, keys, key)


def _metrics(sniff: Sniff, key: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for column in sniff.mapping.metrics:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if not st.checkbox(
                plain(cut(column, 40).text), value=True, key=f"metric_{key}_{column}"
            ):
                continue
            unit = st.text_input("unit", key=f"unit_{key}_{column}", width=90)
            way = st.selectbox(
                "direction",
                [*DIRECTIONS],
                format_func=DIRECTIONS.__getitem__,
                key=f"way_{key}_{column}",
                width=160,
            )
        found[column] = {"unit": unit.strip(), "direction": way or ""}
    return found


def _column(label: str, ours: str, sniff: Sniff, keys: dict, key: str) -> str | None:
    """Ask which column a key of ours is, and put it into `keys`."""
    now = keys.pop(ours, None)
    likely = [c for q in sniff.questions if q.key == ours for c in q.candidates]
    options = list(dict.fromkeys([*likely, *sniff.columns]))
    if now is not None and now not in options:
        options.insert(0, now)  # a dotted path that was recognised
    chosen = st.selectbox(
        label,
        options,
        index=options.index(now) if now in options else None,
        format_func=visible,
        placeholder="no column",
        key=f"column_{key}_{ours}",
    )
    if chosen is not None and (chosen != ours or ours.startswith("reward")):
        keys[ours] = chosen
    return chosen


def _value_map(sniff: Sniff, ours: str, column: str, values: dict, key: str) -> None:
    """Ask of each value of a column that is not 0 or 1 whether it passes."""
    seen = list(sniff.values.get(column, {}))
    if not seen or set(seen) <= ZERO_ONE or len(seen) > MAX_VALUES:
        return
    table: dict[str, int | None] = {}
    with st.container(horizontal=True):
        for value in seen:
            said = st.selectbox(
                plain(cut(value, 30).text) or "(empty)",
                [*VALUES],
                index=None,
                placeholder="pass or fail?",
                key=f"value_{key}_{ours}_{value}",
                width=150,
            )
            if said is not None:
                table[value] = VALUES[said]
    if table:
        values[ours] = table


def _still_open(keys: dict, values: dict, sniff: Sniff) -> list[str]:
    """Questions without an answer, and columns of words of which no value passes or fails."""
    left = [
        TEXT_KEYS.get(question.key, "the judge’s verdict")
        for question in sniff.questions
        if question.blocks and question.key not in keys and question.key not in sniff.columns
    ]
    for ours, column in keys.items():
        seen = set(sniff.values.get(column, {}))
        worded = ours.startswith(("reward", "gold_reward")) and seen and not seen <= ZERO_ONE
        if worded and len(seen) <= MAX_VALUES and not values.get(ours):
            numbers = all(_is_number(value) for value in seen)
            if not numbers:
                left.append(f"which values of {cut(column, 40).text} pass")
    return left


def _preview(source: Any, mapping: Mapping) -> None:
    try:
        found = [
            record.row for record in islice(open_source(source).records(mapping), PREVIEW_ROWS)
        ]
    except (UnreadableError, OSError) as error:
        warn(str(error))
        return
    golds = list(mapping.verdict_keys("gold_reward").values())
    columns = [
        Column("ask", "wrap"),
        Column("reply", "wrap"),
        Column("calls", "number"),
        Column("judge"),
    ]
    show_table(
        [*columns, *(Column(visible(_gold_head(key))) for key in golds)],
        [
            [
                _short(row.get("prompt")),
                _short(rows.reply(row)),
                str(len(rows.steps(row))),
                _said(row.get("reward")),
                *(_said(row.get(key)) for key in golds),
            ]
            for row in found
        ],
    )


def _gold_head(ours: str) -> str:
    """``gold_reward:action`` as the head of a column: "gold, action"."""
    return ", ".join(["gold", *ours.split(":", 1)[1:]])


def _said(value: Any) -> str:
    verdict = rows.verdict(value)
    if verdict is not None:
        return ("▼ fail", "▲ pass")[verdict]
    return "no verdict" if value is None else _short(value)


def _short(value: Any) -> str:
    text = cut(" ".join(rows.as_text(value).split()), CELL_CHARS)
    return visible(text.text) + ("…" if text.left else "")


def _criterion_of(column: str) -> str:
    """The criterion that a column's name speaks of: ``gold_action`` of the action.

    Examples
    --------
    >>> _criterion_of("gold_action"), _criterion_of("gold_reward"), _criterion_of("judge_tone")
    ('action', 'overall', 'tone')
    """
    name = column
    for start in ("gold_", "human_", "judge_", "reward_", "annotator_"):
        name = name.removeprefix(start)
    overall = ("reward", "gold", "label", "human_label", "verdict", "expected", "score", column)
    return "overall" if name in overall and not column.startswith("judge_") else name


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
