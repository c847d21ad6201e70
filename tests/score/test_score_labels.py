"""attach_labels and annotator_agreement beyond the published cases."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_review import annotator_agreement, attach_labels


def make_rows(n=3):
    return [{"rollout_id": f"r{i}", "prompt": f"p{i}", "reward": 1} for i in range(n)]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([{"key": "r0", "label": 1}, 7], "int"),
        ([{"key": "r0", "label": 1, "kind": "person"}], "person"),
        ([{"key": "x", "label": 1}], "r0"),
        (5, "int"),
    ],
)
def test_whatever_raises_changes_no_row(labels, words):
    rows = make_rows()
    before = copy.deepcopy(rows)
    with pytest.raises(ValueError, match=words):
        attach_labels(rows, labels)
    assert rows == before


def test_a_broken_line_of_a_file_is_named(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text('{"key": "r0", "label": 1}\n\n{"key": "r1", \n', encoding="utf-8")
    with pytest.raises(ValueError, match="line 3"):
        attach_labels(make_rows(), path)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"key": "r0", "label": 1}\r\n')
    _, report = attach_labels(make_rows(), str(path))
    assert report["matched"] == 1


def test_a_label_that_names_no_row_at_all_matches_none():
    blank = [{"reward": 1}, {"rollout_id": "r0"}]
    _, report = attach_labels(blank, [{"key": "r0", "label": 1}, {"label": 1}])
    assert (report["matched"], report["unmatched"]) == (1, 1)


def test_numbers_and_text_name_the_same_row():
    rows, _ = attach_labels([{"rollout_id": 7}, {"rollout_id": "007"}], {"7": 1, "007": 0})
    assert [row["gold_reward"] for row in rows] == [1, 0]


def test_rows_that_share_a_label_list_do_not_share_what_is_added():
    shared: list = []
    rows = [{"rollout_id": "a", "gold_labels": shared}, {"rollout_id": "b", "gold_labels": shared}]
    attach_labels(rows, {"a": 1})
    assert len(rows[0]["gold_labels"]) == 1
    assert rows[1]["gold_labels"] == []


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=20))
def test_gold_is_the_majority_of_all_labels(given_labels):
    rows = make_rows(5)
    _, report = attach_labels(rows, [{"key": f"r{i}", "label": v} for i, v in given_labels])
    for i, row in enumerate(rows):
        votes = [v for j, v in given_labels if j == i]
        ones = sum(votes)
        if not votes or 2 * ones == len(votes):
            assert "gold_reward" not in row and "gold_kind" not in row
        else:
            assert row["gold_reward"] == (2 * ones > len(votes))
    assert report["labels"] == report["matched"] == len(given_labels)
    json.dumps([rows, report])


def test_the_pair_with_most_shared_rows_has_the_kappa():
    def record(name, label):
        return {"annotator": name, "label": label, "kind": "human"}

    both = [
        {"gold_labels": [record("b", v), record("c", w)]}
        for v, w in [(1, 1), (1, 0), (0, 0), (0, 0)]
    ]
    report = annotator_agreement([*both, {"gold_labels": [record("a", 1), record("b", 1)]}])
    assert report["pair"] == ["b", "c"]
    # By hand: p_o = 3/4; p_e = 2/4 x 1/4 + 2/4 x 3/4 = 1/2; kappa = (3/4 - 1/2) / (1/2).
    assert report["kappa"] == pytest.approx(0.5)
    assert report["unanimous"] == pytest.approx(4 / 5)


def test_odd_label_lists_are_read_without_raising():
    rows = [{"gold_labels": x} for x in (None, 3, "x", [None, {"label": 2}, {}], {"label": 1})]
    report = annotator_agreement([*rows, None])
    assert (report["per_annotator"], report["multi_labeled"]) == ({}, 0)
    assert "0 rows" in str(report)
