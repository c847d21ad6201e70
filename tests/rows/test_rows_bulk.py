"""Reading many rows gives what reading each of them gives."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_review import rows
from whileai_review.rows import _bulk

leaves = st.sampled_from(
    [None, True, False, 0, 1, 0.0, 1.0, 0.5, 7, -2, 10**400, math.nan, math.inf, "", "1", "mixed"]
    + ["verifier", "human", "assistant", [], {}, ["a"], {"text": "b"}]
)
messages = st.lists(
    st.dictionaries(st.sampled_from(["role", "content"]), leaves, max_size=2)
    | st.sampled_from([None, 3, "text"])
    | st.just({"role": "assistant", "content": "same"}),
    max_size=3,
)
odd = st.fixed_dictionaries(
    {},
    optional={
        "scenario_id": leaves,
        "task_id": leaves,
        "reward": leaves,
        "gold_kind": leaves,
        "judge_name": leaves,
        "final_text": leaves | st.just("same"),
        "messages": messages | leaves,
        "gold_labels": st.lists(
            st.fixed_dictionaries({"label": leaves, "kind": leaves}), max_size=2
        ),
    },
)


@settings(max_examples=300, deadline=None)
@given(st.lists(odd, max_size=5))
def test_many_rows_read_as_each_of_them(many):
    raw = _bulk.raw_columns(many, "reward", "task_id")
    assert raw.task_keys == [rows.task_key(row) for row in many]
    assert raw.lengths == [rows.reply_chars(row) for row in many]
    assert raw.labelled == [row for row in many if "gold_labels" in row]
    assert repr(raw.golds) == repr([row.get("task_id") for row in many])
    values = [row.get("reward") for row in many]
    assert repr(raw.rewards) == repr(values)
    codes, fractions = _bulk.verdict_codes(values)
    assert codes.tolist() == [-1 if (v := rows.verdict(x)) is None else v for x in values]
    for value, code, fraction in zip(values, codes, fractions, strict=True):
        is_fraction = rows.is_number(value) and code < 0
        assert np.isfinite(fraction) == is_fraction
    for kind, row in zip(raw.kinds, many, strict=True):
        trusted = rows.gold_kind(row) == "mixed" and rows.mixed_is_trusted(row)
        assert kind == ("human+program" if trusted else rows.gold_kind(row))
    assert raw.signatures == [rows.as_text(row.get("judge_name")) for row in many]


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_an_integer_beyond_any_float_is_no_verdict_and_no_crash(value):
    codes, _ = _bulk.verdict_codes([1, value, None])
    assert codes.tolist() == [1, -1, -1]


def test_a_final_text_equal_to_the_last_message_counts_once_though_it_is_another_object():
    text, twin = "".join(["the ", "reply"]), "".join(["the re", "ply"])
    assert text is not twin
    row = {"final_text": text, "messages": [{"role": "assistant", "content": twin}]}
    assert _bulk.raw_columns([row], "reward", "gold").lengths == [len(text)]
