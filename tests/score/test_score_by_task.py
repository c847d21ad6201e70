"""Reports know that rollouts of a task resemble each other."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from whileai_review import judge_agreement, judge_trust
from whileai_review.intervals import cluster_wilson, wilson

BILLING = Path(__file__).parents[1] / "conformance" / "rows" / "billing.jsonl"


def rows_of(tasks):
    """Rows of tasks, each a list of (judge, gold)."""
    return [
        {"task_id": f"t{n}", "rollout_index": i, "reward": judge, "gold_reward": gold}
        | {"gold_kind": "human"}
        for n, rollouts in enumerate(tasks)
        for i, (judge, gold) in enumerate(rollouts)
    ]


def test_eight_copies_of_a_rollout_are_one_task_each():
    tasks = [[(1, 1)] * 8] * 16 + [[(1, 0)] * 8] * 4
    agreement = judge_agreement(rows_of(tasks))
    assert agreement["ci95"] == wilson(128, 160)
    assert agreement["n_tasks"] == 20
    # By hand: V = 20/19 * (16 * 1.6^2 + 4 * 6.4^2) / 160^2 = .0084211; p q / n = .001; 8.42.
    assert agreement["deff"] == pytest.approx(8.4211, abs=1e-4)
    low, high = agreement["ci95_tasks"]
    assert low < agreement["ci95"][0] - 0.1 and high > agreement["ci95"][1]


def test_every_share_of_the_recipe_says_its_tasks():
    rows = [json.loads(line) for line in BILLING.read_text().splitlines()]
    report = judge_trust(rows)
    shares = [report[name] for name in ("tpr", "tnr", "reward_in_error", "judge_fail_right")]
    assert [share["n"] for share in shares] == [148, 73, 182, 39]
    by_task = {}
    for row in rows:
        if row.get("gold_reward") in (0, 1) and row.get("reward") in (0, 1):
            cell = by_task.setdefault(row["scenario_id"], [0, 0])
            cell[0] += row["reward"] == 1 and row["gold_reward"] == 0
            cell[1] += row["reward"] == 1
    expected = cluster_wilson(*zip(*by_task.values(), strict=True))
    assert report["reward_in_error"]["ci95_tasks"] == expected[:2]
    assert report["reward_in_error"]["n_tasks"] == expected.n_tasks
    # statistics.md 2 has 67% [60, 73] for the constant: the interval by task.
    assert [round(x, 2) for x in report["baseline"]["ci95_tasks"]] == [0.60, 0.73]


def test_all_rows_of_one_task_have_no_interval_by_task():
    report = judge_trust(rows_of([[(1, 1)] * 40 + [(1, 0)] * 20 + [(0, 0)] * 20]))
    assert report["agreement"]["ci95_tasks"] is None
    assert report["j"]["ci95_tasks"] is None
    assert report["tnr"]["n_tasks"] == 1


@given(st.lists(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=4)))
def test_any_tasks_give_bounds_around_the_share(tasks):
    report = judge_trust(rows_of(tasks))
    for name in ("tpr", "tnr", "reward_in_error", "judge_fail_right"):
        share = report[name]
        if share["ci95_tasks"] is not None:
            low, high = share["ci95_tasks"]
            assert 0 <= low <= share["value"] <= high <= 1
            assert share["deff"] >= 1


def test_the_paired_test_against_the_constant_knows_tasks():
    # The judge is wrong on all four rollouts of five of 20 tasks, where "pass" is right.
    tasks = [[(0, 1)] * 4] * 5 + [[(1, 1)] * 4] * 12 + [[(0, 0)] * 4] * 3
    base = judge_trust(rows_of(tasks))["baseline"]
    # By row 20 against 12 (exact McNemar .22), by task 5 against 3 (sign test .73).
    assert base["discordant"] == [20, 12]
    assert round(base["p_value"], 2) == 0.22
    assert base["p_value_tasks"] == pytest.approx(binomtest(5, 8).pvalue)
    low, high = base["difference_ci95_tasks"]
    assert low < base["difference_ci95"][0] < 0.1 < base["difference_ci95"][1] < high


def test_a_good_judge_at_the_same_base_rate_is_beside_kappa():
    # statistics.md 3: TPR .95, TNR .92 give kappa .75 where 90% pass.
    report = judge_trust(rows_of([[(1, 1)]] * 90 + [[(1, 0)]] * 10))
    assert round(report["kappa_of_a_good_judge"], 2) == 0.75
    assert judge_trust(rows_of([[(1, 1)]] * 9))["kappa_of_a_good_judge"] is None


def test_the_length_gap_of_the_recipe_has_the_published_interval():
    # statistics.md 10, task bootstrap: +30 [19, 41], n=148; +25 [6, 44], n=73. Linearised with
    # Student's t the bounds are a point wider.
    rows = [json.loads(line) for line in BILLING.read_text().splitlines()]
    found = judge_trust(rows)["length_sensitivity"]
    assert found["gold_1"]["gap_ci95"] == pytest.approx((0.19, 0.41), abs=0.015)
    assert found["gold_0"]["gap_ci95"] == pytest.approx((0.06, 0.44), abs=0.015)


def test_a_gap_without_variation_has_an_interval_all_the_same():
    # Short replies all fail and long ones all pass: nothing to resample, so Newcombe's.
    rows = [
        {"task_id": str(i), "reward": i % 2, "gold_reward": 1, "gold_kind": "human"}
        | {"final_text": "x" * (5 + 40 * (i % 2))}
        for i in range(60)
    ]
    part = judge_trust(rows)["length_sensitivity"]["gold_1"]
    assert part["gap_long_minus_short"] == 1.0
    low, high = part["gap_ci95"]
    assert (round(low, 2), high) == (0.84, 1.0)
