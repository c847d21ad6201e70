"""Rows come from anywhere: whatever their keys hold, reading them never raises."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_review import rows

KEYS = [
    "rollout_id",
    "scenario_id",
    "rollout_index",
    "task_id",
    "prompt",
    "final_text",
    "messages",
    "steps",
    "tool_trace",
    "tools",
    "reward",
    "gold_reward",
    "gold_kind",
    "gold_labels",
    "role",
    "content",
    "tool_calls",
    "function_call",
    "function",
    "name",
    "tool",
    "arguments",
    "result",
    "status",
    "error",
    "id",
    "tool_call_id",
    "type",
    "text",
    "kind",
    "label",
]
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-3, 700)
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["assistant", "tool", "tool_use", "ok", "error", "{", '{"a": 1}', "\ud800"])
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=12,
)
odd_rows = st.dictionaries(st.sampled_from(KEYS), values, max_size=8)

READERS = {
    "identity": str,
    "task_key": str,
    "reply": str,
    "reply_chars": int,
    "messages": list,
    "steps": list,
    "declared_tools": list,
    "tool_counts": dict,
    "identity_keys": list,
    "gold_labels": list,
    "gold_kind": str,
    "mixed_is_trusted": bool,
}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=150, deadline=None)
@given(row=odd_rows)
def test_no_odd_row_makes_a_reader_raise_or_change_type(name, row):
    assert isinstance(getattr(rows, name)(row), READERS[name])


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("entry", [None, 3, "text", [1], float("nan")])
def test_an_entry_that_is_no_dict_reads_as_an_empty_row(name, entry):
    assert isinstance(getattr(rows, name)(entry), READERS[name])


@given(value=values)
def test_a_verdict_is_zero_one_or_nothing(value):
    assert rows.verdict(value) in (0, 1, None)


def test_a_reply_of_a_megabyte_is_counted_and_kept_whole():
    text = "x" * 1_000_000
    assert rows.reply_chars({"final_text": text}) == 1_000_000
    assert rows.reply({"final_text": text}) == text


def test_arguments_nested_ten_thousand_deep_stay_text():
    deep = "[" * 10_000 + "]" * 10_000
    found = rows.steps({"steps": [{"tool": "t", "arguments": deep}]})[0].arguments
    assert found == deep or isinstance(found, list)


def test_rows_are_not_changed_by_reading_them():
    row = {
        "steps": [{"tool": "t", "arguments": "{}"}],
        "messages": [{"role": "assistant", "content": ["a", {"text": "b"}]}],
        "tools": ["t"],
    }
    before = json.dumps(row)
    for name in READERS:
        getattr(rows, name)(row)
    assert json.dumps(row) == before
