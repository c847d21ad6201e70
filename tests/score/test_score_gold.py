"""Audits of a program's labels, and what rows that nobody could tell leave open."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from whileai_review import judge_trust
from whileai_review.score.gold import (
    NOT_AUDITED,
    audit_measures,
    audit_words,
    unclear_bounds,
    unclear_measures,
    unclear_words,
)


def audited(agree, n, unclear=0, tasks=None):
    person = np.concatenate([np.ones(agree, int), np.zeros(n - agree, int), -np.ones(unclear, int)])
    task = np.arange(n + unclear) if tasks is None else np.arange(n + unclear) % tasks
    return audit_measures(task, person, np.ones(n + unclear, int)) | {
        "planned": n + unclear,
        "answered": n + unclear,
        "read": n + unclear,
    }


def test_28_of_30_with_the_interval_of_statsmodels():
    found = audited(28, 30)
    low, high = proportion_confint(28, 30, method="wilson")
    assert (found["agree"], found["n"]) == (28, 30)
    assert found["ci95"] == pytest.approx((low, high), abs=1e-6)
    assert audit_words(found).startswith("program gold audited: 28 of 30 agree [")
    assert (found["passed_wrong"], found["failed_wrong"]) == (2, 0)


def test_none_wrong_of_30_could_still_be_11_percent():
    assert audited(30, 30)["ci95"][0] == pytest.approx(1 - 0.114, abs=1e-3)  # statistics.md 11


def test_rows_of_one_task_widen_it():
    apart, together = audited(24, 30), audited(24, 30, tasks=6)
    assert together["n_tasks"] == 6 and apart["n_tasks"] == 30
    assert together["ci95"] == apart["ci95"]


def test_who_can_not_tell_is_no_agreement_and_is_said():
    found = audited(25, 27, unclear=3)
    assert (found["n"], found["n_unclear"], found["agree"]) == (27, 3, 25)
    assert audit_words(found).endswith("3 can't tell")
    assert "no row could be told, 3 can't tell" in audit_words(audited(0, 0, unclear=3))


def test_before_the_last_row_there_is_no_figure():
    words = audit_words({"planned": 30, "answered": 29, "read": 0, "n": 0})
    assert words == "audit of program gold under way, 29 of 30 rows read"
    assert "agree" not in words
    twice = audited(28, 30) | {"planned": 60, "answered": 41}
    assert audit_words(twice).endswith("; another is under way, 41 of 60 rows read")
    assert "28 of 30 agree" in audit_words(twice)
    assert audit_words(NOT_AUDITED) == "program gold not audited"
    assert audit_words(None) == ""


def test_can_not_tell_of_the_recipe_by_hand():
    # statistics.md 10: 139/221 with 12 unclear rows lies in [.60, .65].
    bounds = unclear_bounds(np.array([124, 58, 24, 15]), 8, 4)
    assert bounds["agreement"] == pytest.approx((139 / 233, 151 / 233))
    assert bounds["tpr"] == pytest.approx((124 / 152, 132 / 156))
    assert bounds["tnr"] == pytest.approx((15 / 81, 19 / 77))
    assert bounds["reward_in_error"] == pytest.approx((58 / 190, 66 / 190))
    assert bounds["judge_fail_right"] == pytest.approx((15 / 43, 19 / 43))
    assert bounds["gold_pass_rate"] == pytest.approx((148 / 233, 160 / 233))
    assert bounds["j"] == pytest.approx((124 / 152 + 15 / 81 - 1, 132 / 156 + 19 / 77 - 1))


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.integers(0, 6)] * 4), st.integers(0, 3), st.integers(0, 3))
def test_the_bounds_are_the_extremes_of_all_that_the_rows_may_be(cells, up, uf):
    bounds = unclear_bounds(np.array(cells), up, uf)
    seen = {name: [] for name in bounds}
    for a, b in itertools.product(range(up + 1), range(uf + 1)):  # gold passes among them
        tp, fp, fn, tn = cells[0] + a, cells[1] + up - a, cells[2] + b, cells[3] + uf - b
        rates = {
            "agreement": (tp + tn, tp + fp + fn + tn), "tpr": (tp, tp + fn), "tnr": (tn, tn + fp),
            "reward_in_error": (fp, tp + fp), "judge_fail_right": (tn, tn + fn),
            "gold_pass_rate": (tp + fn, tp + fp + fn + tn),
        }  # fmt: skip
        for name, (k, n) in rates.items():
            if n:
                seen[name].append(k / n)
        if tp + fn and tn + fp:
            seen["j"].append(tp / (tp + fn) + tn / (tn + fp) - 1)
    for name, pair in bounds.items():
        if pair is not None:
            assert pair == pytest.approx((min(seen[name]), max(seen[name]))), name


@pytest.mark.parametrize(("n", "flagged"), [(5, False), (6, True)])
def test_more_than_one_in_twenty_is_flagged(n, flagged):
    found = unclear_measures(np.array([50, 25, 10, 10]), np.ones(n, int))
    assert found["flagged"] is flagged  # 5 of 100 are 5%, 6 of 101 are more
    assert ("over 5%" in unclear_words(found)) is flagged
    assert f"can't tell on {n} rows" in unclear_words(found)


def test_weights_count_for_rows():
    found = unclear_measures(np.array([50.0, 0, 0, 50.0]), np.array([1, 0]), np.array([10.0, 1.0]))
    assert found["share"] == pytest.approx(11 / 111)
    assert found["bounds"]["agreement"] == pytest.approx((100 / 111, 1))


def test_without_such_a_row_nothing_is_said():
    found = unclear_measures(np.array([5, 5, 5, 5]), np.zeros(0, int))
    assert (found["n"], found["flagged"], found["bounds"]) == (0, False, {})
    assert unclear_words(found) == unclear_words(None) == ""


def test_a_report_on_program_gold_says_that_nobody_audited_it():
    rows = [
        {"task_id": str(i), "reward": 1, "gold_reward": i % 2, "gold_kind": "program"}
        for i in range(40)
    ]
    report = judge_trust(rows)
    assert report["gold_audit"] == NOT_AUDITED
    assert "program gold not audited" in str(report)
    people = judge_trust([row | {"gold_kind": "human"} for row in rows])
    assert people["gold_audit"] is None and "audited" not in str(people)
