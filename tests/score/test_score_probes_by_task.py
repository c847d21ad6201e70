"""Rates of false passes, false alarms, flips and probes know that rows come in tasks.

Expected values: by hand with the formula of statistics.md 5, and statsmodels for Wilson.
"""

from math import sqrt

import pytest
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from whileai_review import judge_agreement, judge_probes, judge_trust


def by_hand(successes, sizes):
    """statistics.md 5: V = T/(T-1) sum (s - m p)^2 / n^2, Wilson at n/deff with t of T-1."""
    tasks, k, n = len(sizes), sum(successes), sum(sizes)
    p, q = k / n, student.ppf(0.975, tasks - 1)
    if k in (0, n):
        deff = n / tasks
    else:
        squares = sum((s - m * p) ** 2 for s, m in zip(successes, sizes, strict=True))
        deff = max(1.0, tasks / (tasks - 1) * squares / n**2 / (p * (1 - p) / n))
    m = n / deff
    centre = (p + q * q / (2 * m)) / (1 + q * q / m)
    half = q / (1 + q * q / m) * sqrt(p * (1 - p) / m + q * q / (4 * m * m))
    return max(0.0, centre - half), min(1.0, centre + half), deff


def rows_in_tasks(cells):
    """One task an entry: [(judge, gold), ...]."""
    return [
        {"task_id": f"t{task}", "reward": judge, "gold_reward": gold, "gold_kind": "human",
         "final_text": f"{task} {i}"}
        for task, pairs in enumerate(cells)
        for i, (judge, gold) in enumerate(pairs)
    ]  # fmt: skip


def test_false_passes_and_false_alarms_by_task():
    """Gold failures of 6 tasks, 3 a task: the judge passes all of a task or none of it."""
    cells = [[(1, 0)] * 3] * 4 + [[(0, 0)] * 3] * 2 + [[(0, 1), (1, 1), (1, 1)]] * 5
    report = judge_agreement(rows_in_tasks(cells))
    leak, alarm = report["false_pass"], report["false_alarm"]
    assert leak["value"] == report["pass_when_gold_fail"] == 12 / 18
    assert leak["ci95"] == pytest.approx(proportion_confint(12, 18, method="wilson"))
    low, high, deff = by_hand([3] * 4 + [0] * 2, [3] * 6)
    # By hand: p = 2/3; sum of squares 4 x 1 + 2 x 4 = 12; V = 6/5 x 12/324; deff = V x 81 = 3.6.
    assert deff == pytest.approx(3.6) and leak["deff"] == pytest.approx(3.6)
    assert leak["ci95_tasks"] == pytest.approx((low, high))
    assert (leak["n"], leak["n_tasks"]) == (18, 6)
    assert alarm["value"] == report["fail_when_gold_pass"] == 5 / 15
    low, high, deff = by_hand([1] * 5, [3] * 5)
    assert deff == 1.0 and alarm["ci95_tasks"] == pytest.approx((low, high))


def fooled(row):
    """Passes what passed, and whatever claims success in an even task."""
    return int(row["reward"] or ("verified" in row["final_text"] and int(row["task_id"][1:]) % 2))


def test_an_additive_probe_by_task():
    """10 tasks of 3 failing rows; in five of them all three are hacked: 15 of 30, deff 3.33."""
    rows = rows_in_tasks([[(0, 0)] * 3] * 10)
    probe = judge_probes(rows, fooled, ["success_claim"])["probes"]["success_claim"]
    assert (probe["net_flips"], probe["denominator"], probe["n_tasks"]) == (15, 30, 10)
    assert probe["ci95"] == pytest.approx(proportion_confint(15, 30, method="wilson"))
    low, high, deff = by_hand([3, 0] * 5, [3] * 10)
    assert deff == pytest.approx(10 / 3)
    assert probe["deff"] == pytest.approx(deff)
    assert probe["ci95_tasks"] == pytest.approx((low, high))
    assert probe["ci95_tasks"][0] < probe["ci95"][0]


def test_the_net_count_of_a_task_can_be_below_nothing():
    """What falls in passing rows is taken off in its own task: s = (3, -1, 2), m = (3, 2, 3)."""

    def judge(row):
        if "verified" not in row["final_text"]:
            return row["reward"]
        return {"t0": 1, "t1": 0, "t2": 1}[row["task_id"]]

    rows = rows_in_tasks([[(0, 0)] * 3, [(0, 0), (0, 0), (1, 1)], [(0, 0)] * 3])
    rows[-1]["final_text"] += " x"
    probe = judge_probes(rows, judge, ["success_claim"])["probes"]["success_claim"]
    assert (probe["flips_up"], probe["flips_down"], probe["denominator"]) == (6, 1, 8)
    low, high, deff = by_hand([3, -1, 3], [3, 2, 3])
    assert probe["deff"] == pytest.approx(deff)
    assert probe["ci95_tasks"] == pytest.approx((low, high))


def test_more_falls_than_rises_are_no_hits():
    rows = rows_in_tasks([[(1, 1), (0, 0)]] * 6)
    probe = judge_probes(rows, lambda row: 0, ["success_claim"])["probes"]["success_claim"]
    assert (probe["net_flips"], probe["exploit_rate"]) == (0, 0.0)
    low, high, deff = by_hand([0] * 6, [1] * 6)
    assert probe["ci95_tasks"] == pytest.approx((low, high)) and probe["deff"] == deff == 1.0


def test_a_replacement_probe_by_task():
    """Refusals pass in two of eight tasks, all three rows of each."""

    def judge(row):
        return int(row["task_id"] in ("t0", "t1"))

    rows = rows_in_tasks([[(1, 1)] * 3] * 8)
    probe = judge_probes(rows, judge, ["refusal"])["probes"]["refusal"]
    low, high, deff = by_hand([3, 3] + [0] * 6, [3] * 8)
    assert (probe["exploit_rate"], probe["denominator"], probe["n_tasks"]) == (0.25, 24, 8)
    assert probe["ci95_tasks"] == pytest.approx((low, high)) and probe["deff"] == pytest.approx(
        deff
    )


def test_flips_by_task_and_what_is_printed():
    """Judged again, one task of ten changes its mind on all three rows: 3 of 30."""

    def judge(row):
        return 1 - row["reward"] if row["task_id"] == "t0" else row["reward"]

    report = judge_trust(rows_in_tasks([[(1, 1)] * 3] * 5 + [[(0, 0)] * 3] * 5), judge=judge)
    again = report["perturbation"]
    low, high, deff = by_hand([3] + [0] * 9, [3] * 10)
    assert again["consistency"]["value"] == again["consistency_flip_rate"] == 0.1
    assert again["consistency"]["ci95_tasks"] == pytest.approx((low, high))
    assert again["consistency"]["deff"] == pytest.approx(deff)
    line = next(line for line in str(report).splitlines() if line.startswith("re-judge"))
    ends = f"{100 * low:.0f}%..{100 * high:.0f}%"
    assert line == f"re-judge flips 10%, filler flips 10% (n=30); 95% {ends}, {ends}"


def test_the_print_quotes_the_wider_and_its_tasks():
    rows = rows_in_tasks([[(0, 0)] * 3] * 10)
    report = judge_trust(rows, judge=fooled, probes=["success_claim"])
    low, high, _ = by_hand([3, 0] * 5, [3] * 10)
    line = next(line for line in str(report).splitlines() if "success_claim  " in line)
    assert f"50% [{100 * low:.0f}%..{100 * high:.0f}%]" in line and line.endswith("n=30, 10 tasks")
    warned = next(line for line in report["warnings"] if "can be hacked" in line)
    assert f"15 of 30, 10 tasks; 95% {100 * low:.0f}%..{100 * high:.0f}%" in warned
    # Every failing task failed as a whole: 0 of 30 false passes, worth 10 rows.
    low, high, _ = by_hand([0] * 10, [3] * 10)
    assert f"false passes 0% [0%..{100 * high:.0f}%] (n=30, 10 tasks)" in str(report)


def test_a_probe_is_only_said_to_work_by_its_wider_interval():
    """5 of 40 rows, of one task: Wilson's lower bound is .055, by task it is nearly nothing."""
    rows = rows_in_tasks([[(0, 0)] * 10] * 4)

    def judge(row):
        return int("verified" in row["final_text"] and row["task_id"] == "t0")

    report = judge_trust(rows, judge=judge, probes=["success_claim"])
    probe = report["probes"]["probes"]["success_claim"]
    assert probe["ci95"][0] > report["floors"]["flip_flag"] > probe["ci95_tasks"][0]
    assert "success_claim works on" not in report["state_reason"]


def test_one_task_has_no_interval_by_task():
    probe = judge_probes(rows_in_tasks([[(0, 0)] * 30]), fooled, ["success_claim"])
    found = probe["probes"]["success_claim"]
    assert found["ci95_tasks"] is None and found["n_tasks"] == 1 and found["deff"] == 1.0
    assert "n=30, 1 task" in str(probe)
