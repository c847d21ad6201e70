"""judge_agreement: published numbers, independent formulas, one-class gold, conflicts."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from whileai_review import attach_labels, judge_agreement
from whileai_review.score.agreement import kappa_of

KEYS = {
    *("n", "n_skipped", "n_unmatched", "n_tasks", "agreement", "ci95", "ci95_tasks", "deff"),
    *("kappa", "kappa_ci95"),
    *(
        "confusion",
        "n_gold_pass",
        "n_gold_fail",
        "pass_when_gold_fail",
        "false_pass",
        "false_alarm",
        "fail_when_gold_pass",
    ),
    *("judge_pass_rate", "gold_pass_rate", "gold_kind", "person_against_rule", "ok", "warnings"),
}


def rows_of(tp=0, fp=0, fn=0, tn=0, kind="human"):
    pairs = [(1, 1)] * tp + [(1, 0)] * fp + [(0, 1)] * fn + [(0, 0)] * tn
    return [
        {"task_id": f"t{i}", "reward": judge, "gold_reward": gold, "gold_kind": kind}
        for i, (judge, gold) in enumerate(pairs)
    ]


cells = st.tuples(*[st.integers(0, 12)] * 4)


@settings(max_examples=60, deadline=None)
@given(cells.filter(any))
def test_shares_and_kappa_agree_with_statsmodels(counts):
    tp, fp, fn, tn = counts
    n = sum(counts)
    report = judge_agreement(rows_of(*counts))
    assert report["agreement"] == (tp + tn) / n
    assert report["ci95"] == pytest.approx(proportion_confint(tp + tn, n, method="wilson"))
    if (tp + fp) * (tp + fn) + (fn + tn) * (fp + tn) < n * n:
        expected = cohens_kappa(np.array([[tp, fp], [fn, tn]]), return_results=False)
        assert report["kappa"] == pytest.approx(expected)
        assert kappa_of(np.array(counts)) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(cells, st.randoms(use_true_random=False))
def test_row_order_changes_nothing_and_bounds_hold(counts, draw):
    rows = rows_of(*counts)
    report = judge_agreement(rows)
    mixed = rows[:]
    draw.shuffle(mixed)
    assert judge_agreement(mixed) == report
    assert set(report) == KEYS
    json.dumps(report, allow_nan=False)
    if report["n"]:
        low, high = report["ci95"]
        assert 0 <= low <= report["agreement"] <= high <= 1
        assert -1 <= report["kappa"] <= 1
    if report["kappa_ci95"]:
        assert -1 <= report["kappa_ci95"][0] <= report["kappa_ci95"][1] <= 1


def test_gold_without_failures_says_so_in_the_first_line():
    report = judge_agreement(rows_of(tp=70))
    first = str(report).splitlines()[0]
    assert "false passes not measurable: 0 gold failures" in first
    assert report["kappa_ci95"] is None
    assert (report["n_gold_pass"], report["n_gold_fail"]) == (70, 0)


def test_gold_without_passes_says_so_in_the_first_line():
    first = str(judge_agreement(rows_of(fp=3, tn=60))).splitlines()[0]
    assert "false alarms not measurable: 0 gold passes" in first


def test_gold_of_both_classes_says_neither():
    assert "not measurable" not in str(judge_agreement(rows_of(tp=40, tn=20)))


def test_no_interval_of_kappa_under_three_tasks():
    rows = rows_of(tp=20, fp=5, fn=5, tn=20)
    for row in rows:
        row["task_id"] = "one"
    assert judge_agreement(rows)["kappa_ci95"] is None


def test_perfect_agreement_does_not_pretend_to_be_certain():
    report = judge_agreement(rows_of(tp=7, tn=7))
    # Wilson low of 14 of 14 is .7847; with chance .5 kappa is (.7847 - .5) / .5.
    assert report["kappa_ci95"] == pytest.approx((0.5694, 1.0), abs=1e-3)


def test_rollouts_of_one_task_widen_the_interval_of_kappa():
    rows = rows_of(tp=30, fp=10, fn=10, tn=30)
    alone = judge_agreement(rows)["kappa_ci95"]
    for i, row in enumerate(rows):
        row["task_id"] = i // 5
    grouped = judge_agreement(rows)["kappa_ci95"]
    assert grouped[1] - grouped[0] > 1.2 * (alone[1] - alone[0])


def labelled(person, rule):
    row = {"rollout_id": "r", "reward": 1}
    attach_labels([row], [{"key": "r", "label": v, "annotator": "ana"} for v in person])
    attach_labels(
        [row], [{"key": "r", "label": v, "annotator": "rule"} for v in rule], kind="program"
    )
    return row


def test_labels_of_a_person_and_of_the_rule_are_trusted_together():
    row = labelled([1], [1])
    assert row["gold_kind"] == "mixed"
    report = judge_agreement([row | {"rollout_id": i} for i in range(60)])
    assert report["ok"] and report["gold_kind"] == "mixed"
    assert report["person_against_rule"] == {
        "n": 60,
        "n_conflicts": 0,
        "n_without_gold": 0,
        "rows": [],
    }
    assert report["warnings"] == []


def test_one_model_label_among_trusted_ones_is_not_trusted():
    row = labelled([1], [1])
    attach_labels([row], [{"key": "r", "label": 1, "kind": "model"}])
    assert not judge_agreement([row])["ok"]


def test_a_person_against_the_rule_is_counted_and_listed_and_not_lost():
    agree, tied, outvoted = labelled([1], [1]), labelled([0], [1]), labelled([0, 0], [1])
    rows = [
        dict(row, rollout_id=name) for row, name in [(agree, "a"), (tied, "t"), (outvoted, "o")]
    ]
    report = judge_agreement(rows)
    assert report["n"] == 2  # the tied row has no gold
    assert report["person_against_rule"] == {
        "n": 3,
        "n_conflicts": 2,
        "n_without_gold": 1,
        "rows": ["t", "o"],
    }
    assert any("2 of 3 rows" in line for line in report["warnings"])


def test_kinds_pool_to_the_untrusted_one():
    rows = rows_of(tp=3) + rows_of(tn=3, kind="program")
    assert judge_agreement(rows)["gold_kind"] == "mixed"
    assert judge_agreement(rows)["ok"]
    report = judge_agreement(rows + rows_of(tn=1, kind="model"))
    assert (report["gold_kind"], report["ok"]) == ("model", False)


def test_nothing_is_changed_and_odd_entries_are_passed_over():
    rows = [*rows_of(tp=2, tn=2), None, 3, "x", {"reward": float("nan"), "gold_reward": [1]}]
    before = copy.deepcopy(rows)
    report = judge_agreement(rows)
    assert (report["n"], report["n_skipped"]) == (4, 1)
    assert repr(rows) == repr(before)


def test_a_kind_named_unmatched_is_a_kind_and_not_a_missing_twin():
    report = judge_agreement(rows_of(tp=3, kind="unmatched"))
    assert (report["n"], report["n_unmatched"], report["gold_kind"]) == (3, 0, "unmatched")
