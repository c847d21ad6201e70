"""Rows of equal identity in a file, and files of verdicts for a loaded run."""

from __future__ import annotations

import io
import json

import pytest

from whileai_review import load, rows
from whileai_review.load import Duplicates, Given, Mapping, parse_map, verdicts


def named(*objects: dict) -> io.BytesIO:
    file = io.BytesIO("".join(json.dumps(o) + "\n" for o in objects).encode())
    file.name = "rows.jsonl"
    return file


A = {"task_id": "a", "correct": True}
A_LATER = {"task_id": "a", "correct": False}
B = {"task_id": "b", "correct": True}


@pytest.mark.parametrize(
    ("policy", "kept", "dropped"),
    [
        ("keep", [A, B, A, A_LATER, A], 0),
        ("collapse", [A, B, A_LATER], 2),
        ("last", [B, A], 3),
    ],
)
def test_what_each_policy_keeps(policy, kept, dropped):
    found, report = load.read(named(A, B, A, A_LATER, A), duplicates=policy)
    assert [(r["task_id"], r["correct"]) for r in found] == [
        (o["task_id"], o["correct"]) for o in kept
    ]
    twins = report["duplicates"]
    assert (twins["n_exact"], twins["n_conflicting"], twins["n_dropped"]) == (2, 1, dropped)
    assert twins["examples"] == {"a": [1, 3, 4, 5]}


def test_rows_without_duplicates_report_none():
    _, report = load.read(named(A, B))
    assert report["duplicates"]["n_exact"] == report["duplicates"]["n_conflicting"] == 0


def test_7_and_text_7_are_one_row_and_007_is_another():
    _, report = load.read(named({"task_id": 7}, {"task_id": "7"}, {"task_id": "007"}))
    assert report["duplicates"]["n_conflicting"] == 1


def test_the_report_prints_what_came_in_and_what_did_not():
    text = str(load.read(named(A, A_LATER, A))[1])
    assert text.splitlines()[0] == "rows.jsonl: 3 rows, 0 lines refused"
    assert "1 exact copies, 1 that differ; 0 dropped" in text


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="keep, collapse or last"):
        Duplicates("first")
    with pytest.raises(ValueError, match="source.duplicates"):
        Duplicates("last")


# Verdicts and labels for a loaded run


@pytest.mark.parametrize(
    ("entry", "identity"),
    [
        ({"key": "k", "rollout_id": "r", "label": 1}, "k"),
        ({"rollout_id": 7, "label": 1}, "7"),
        ({"scenario_id": "a", "rollout_index": 0, "label": 1}, "a#0"),
        ({"task_id": "a", "trial": 2, "label": 1}, "a#2"),
        ({"task_id": "007", "label": 1}, "007"),
        ({"id": 2**65, "label": 1}, str(2**65)),
        ({"label": 1}, ""),
    ],
)
def test_how_an_entry_names_its_row(entry, identity):
    (given,) = verdicts([entry])
    assert given.identity == identity
    assert bool(given.problem) is (identity == "")


def test_ask_and_reply_name_a_row_too():
    row = {"prompt": "Hi", "final_text": "Yes"}
    assert next(verdicts([{**row, "reward": 0}])).identity == rows.identity(row)


def test_entries_answer_to_the_rows_of_a_file_that_was_loaded():
    loaded, _ = load.read(
        named({"id": "x", "reply": "Yes", "trial": 1}, {"id": "y", "reply": "No", "trial": 1})
    )
    given = next(verdicts([{"task_id": "x", "rollout_index": "1", "label": 1}]))
    assert [given.identity in rows.identity_keys(row) for row in loaded] == [True, False]


@pytest.mark.parametrize(
    ("entry", "value", "problem"),
    [
        ({"label": 1}, 1, ""),
        ({"reward": False}, 0, ""),
        ({"gold_reward": "1"}, 1, ""),
        ({"label": 0.5}, 0.5, ""),
        ({"label": None}, None, ""),
        ({"label": "good"}, None, "say what it means with --map"),
        ({"label": [1]}, None, "list or an object"),
        ({"other": 1}, None, "has no verdict"),
    ],
)
def test_how_the_value_is_read(entry, value, problem):
    given = next(verdicts([{"task_id": "a", **entry}]))
    assert given.value == value
    assert problem in given.problem
    assert bool(given.problem) is bool(problem)


def test_a_mapping_says_where_the_value_is_and_what_it_means():
    mapping = parse_map(["reward=opinion:yes=1,no=0", "reward:tone=tone", "reason=why"])
    entries = [mapping.apply({"task_id": "a", "opinion": "yes", "tone": 0, "why": "paid"})]
    assert list(verdicts(entries, mapping)) == [Given("a", 1, "paid")]
    assert next(verdicts(entries, mapping, "tone")).value == 0


def test_rows_told_apart_by_content_alone_name_no_row_elsewhere():
    (given,) = verdicts([Mapping().apply({"label": 1})])
    assert given.problem.startswith("names no row")
