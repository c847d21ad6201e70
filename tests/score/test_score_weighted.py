"""Estimates from rows with unequal chances: by hand, by simulation, and equal ones unchanged."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from statsmodels.stats.inter_rater import cohens_kappa

from whileai_review import judge_trust
from whileai_review.score._columns import TrustColumns
from whileai_review.score.judge_trust import trust_from_columns
from whileai_review.score.weighted import row_weights, weighted_measures

TP, FP, FN, TN = range(4)


def cells_of(*counts):
    return np.repeat(np.arange(4), counts)


# By hand


def test_shares_of_two_strata_are_those_of_their_rows():
    # Judge passes: 400 rows, 20 labelled, 15 right; judge fails: 100 rows, 20 labelled, 12 right.
    # tp 300, fp 100, fn 40, tn 60 of 500 rows; by labels alone 27 of 40.
    cell = cells_of(15, 5, 8, 12)
    stratum = (cell >= FN).astype(int)
    found = weighted_measures(np.arange(40), cell, np.where(stratum, 5.0, 20.0), stratum)
    assert found["confusion"] == pytest.approx({"tp": 300, "fp": 100, "fn": 40, "tn": 60})
    expected = {
        "agreement": 360 / 500, "judge_pass_rate": 0.8, "gold_pass_rate": 340 / 500,
        "tpr": 300 / 340, "tnr": 60 / 160, "reward_in_error": 0.25, "judge_fail_right": 0.6,
    }  # fmt: skip
    assert {name: found[name]["value"] for name in expected} == pytest.approx(expected)
    assert found["j"]["value"] == pytest.approx(300 / 340 + 60 / 160 - 1)
    # statsmodels, of the table that the labels stand for.
    kappa = cohens_kappa(np.array([[300, 100], [40, 60]])).kappa
    assert found["kappa"]["value"] == pytest.approx(kappa)
    assert found["baseline"]["verdict"] == "pass"
    assert found["baseline"]["difference"] == pytest.approx(340 / 500 - 360 / 500)
    assert (found["agreement"]["n"], found["tnr"]["n"], found["tpr"]["n"]) == (40, 17, 23)
    assert found["n_effective"] == pytest.approx(500**2 / (20 * 20**2 + 20 * 5**2))


def test_the_variance_is_the_textbook_one_of_a_stratified_share():
    # Lohr 2022, 3.2: V = sum of (W_h)^2 s_h^2 / n_h, s_h^2 with n_h - 1, one row a task.
    # The interval is Wilson at p (1 - p) / V rows, with the t of T - 1 tasks.
    cell = cells_of(30, 10, 16, 24)
    stratum = (cell >= FN).astype(int)
    n = len(cell)
    # The frame's own term is left out by a frame so large that it has none.
    found = weighted_measures(
        np.arange(n), cell, np.where(stratum, 1e6 / 40, 4e6 / 40), stratum,
        np.arange(n, n + 500_000), np.repeat([0, 0, 0, 0, 1], 100_000),
    )["agreement"]  # fmt: skip
    s2 = [p * (1 - p) * 40 / 39 for p in (0.75, 0.6)]
    variance = n / (n - 1) * (0.8**2 * s2[0] / 40 + 0.2**2 * s2[1] / 40)
    p, q = 0.72, student.ppf(0.975, n - 1)
    rows = p * (1 - p) / variance
    centre = (p + q * q / (2 * rows)) / (1 + q * q / rows)
    half = q / (1 + q * q / rows) * math.sqrt(p * (1 - p) / rows + q * q / (4 * rows * rows))
    assert found["ci95"] == pytest.approx((centre - half, centre + half), abs=1e-4)


def test_rows_of_one_task_count_as_one_where_they_say_the_same():
    cell = np.array([TP, FP] * 20)
    alone = weighted_measures(np.arange(40), cell, np.ones(40))["agreement"]
    pairs = weighted_measures(np.repeat(np.arange(10), 4), np.repeat([TP, FP] * 5, 4), np.ones(40))[
        "agreement"
    ]
    width = [b["ci95"][1] - b["ci95"][0] for b in (alone, pairs)]
    assert width[1] > 1.8 * width[0]  # four rows a task that say the same: sqrt(4), and t
    assert pairs["deff"] == pytest.approx(4 * 10 / 9)


# Nothing new where the chances are equal


@settings(max_examples=80, deadline=None)
@given(st.tuples(*[st.integers(0, 12)] * 4), st.floats(0.01, 1e6))
def test_equal_weights_give_the_unweighted_values(counts, weight):
    cell = cells_of(*counts)
    found = weighted_measures(np.arange(len(cell)), cell, np.full(len(cell), weight))
    rows = [
        {"task_id": str(i), "reward": int(c < 2), "gold_reward": int(c in (TP, FN)),
         "gold_kind": "human"}
        for i, c in enumerate(cell)
    ]  # fmt: skip
    plain = judge_trust(rows)
    assert plain["weighted"] is None
    near = {"abs": 1e-9}
    for name in ("tpr", "tnr", "reward_in_error", "judge_fail_right", "j"):
        expected = plain[name]["value"]
        assert found[name]["value"] == (
            None if expected is None else pytest.approx(expected, **near)
        )
    if len(cell):
        agreement = plain["agreement"]
        assert found["agreement"]["value"] == pytest.approx(agreement["agreement"], **near)
        assert found["kappa"]["value"] == pytest.approx(agreement["kappa"], **near)
        assert found["baseline"]["difference"] == pytest.approx(
            plain["baseline"]["difference"], **near
        )


def columns_of(task, judge, gold):
    rows = [
        {"task_id": str(t), "reward": int(j), "gold_kind": "human",
         **({"gold_reward": int(g)} if g >= 0 else {})}
        for t, j, g in zip(task, judge, gold, strict=True)
    ]  # fmt: skip
    return TrustColumns.from_rows(rows)


def test_with_equal_weights_the_report_is_the_one_without():
    rng = np.random.default_rng(5)
    judge, gold = rng.integers(0, 2, 60), rng.integers(-1, 2, 60)
    columns = columns_of(np.arange(60) // 3, judge, gold)
    weights = row_weights(columns.compared, columns.judge >= 0)
    assert weights.equal
    report = trust_from_columns(columns, weights=weights)
    assert report == trust_from_columns(columns)


def test_the_state_is_that_of_the_weighted_estimate():
    # The judge is right on what it passes and wrong on half of what it fails; it fails one row in
    # ten, and half of the labels are of those. By labels alone agreement is 75%.
    judge = np.repeat([1, 0], [900, 100])
    gold = np.full(1000, -1)
    gold[:99], gold[99] = 1, 0
    gold[900:] = np.tile([1, 0], 50)
    columns = columns_of(np.arange(1000), judge, gold)
    before = repr(columns.judge)
    weights = row_weights(columns.compared, columns.judge >= 0, [judge])
    report = trust_from_columns(columns, weights=weights)
    assert repr(columns.judge) == before
    plain = trust_from_columns(columns)
    assert plain["agreement"]["agreement"] == 149 / 200 and plain["weighted"] is None
    shown = report["agreement"]
    assert shown["agreement"] == pytest.approx((0.99 * 900 + 50) / 1000)
    assert shown["confusion"] == plain["agreement"]["confusion"] and shown["n"] == 200
    assert shown["weighted"] and "weighted" not in plain["agreement"]
    assert shown["false_pass"]["value"] == pytest.approx(9 / 59)
    assert report["tnr"]["value"] == pytest.approx(50 / 59)  # 9 false passes of 900, 50 of 100
    assert plain["state_reason"].startswith("agreement 74%")
    assert "agreement" not in report["state_reason"]  # 94% clears its floor
    assert "weighted by the chance of each row" in str(report)
    assert "weighted" not in str(plain)


# Draws of several kinds


def test_a_stratified_and_a_random_draw_are_pooled_by_stratum():
    # 100 passes (5 labelled, from either draw), 300 fails (10 labelled).
    judge = np.repeat([1, 0], [100, 300])
    labelled = np.zeros(400, bool)
    labelled[:5] = labelled[100:110] = True
    weights = row_weights(labelled, np.ones(400, bool), [judge])
    assert set(weights.weight[:5]) == {20.0} and set(weights.weight[100:110]) == {30.0}
    assert weights.weight.sum() == 400 and weights.n_outside == 0 and not weights.equal


def test_two_classifications_are_crossed_and_a_cell_without_label_is_outside():
    judge, group = np.tile([0, 1], 200), np.repeat([0, 1], 200)
    labelled = np.zeros(400, bool)
    labelled[[0, 1, 2, 200]] = True  # (0,0) twice, (1,0) once, (0,1) once; none of (1,1)
    weights = row_weights(labelled, np.ones(400, bool), [judge, group])
    assert weights.weight[[0, 1, 2, 200]].tolist() == [50, 100, 50, 100]
    assert weights.n_outside == 100
    assert (weights.stratum[(judge == 1) & (group == 1)] == -1).all()


def test_chances_within_a_stratum_may_differ():
    # One a task first: a row of a task of 4 has a quarter of the chance of a task of 1.
    weights = row_weights(np.ones(5, bool), np.ones(5, bool), base=np.array([1.0, 4, 4, 4, 4]))
    assert weights.weight == pytest.approx(5 * np.array([1, 4, 4, 4, 4]) / 17)


@pytest.mark.parametrize("odd", [0.0, -1.0, math.nan, math.inf])
def test_a_weight_that_is_none_is_refused(odd):
    with pytest.raises(ValueError, match="not a number above 0"):
        row_weights(np.ones(2, bool), np.ones(2, bool), base=np.array([1.0, odd]))


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1), (5, 0, 0, 0),
                                    (0, 5, 0, 0), (3, 0, 0, 3), (0, 3, 3, 0)])  # fmt: skip
def test_few_rows_and_one_class_give_numbers_or_none(counts):
    cell = cells_of(*counts)
    stratum = (cell >= FN).astype(int)
    found = weighted_measures(np.arange(len(cell)), cell, 1.0 + 3 * stratum, stratum)
    for name, share in found.items():
        if isinstance(share, dict) and share.get("ci95"):
            low, high = share["ci95"]
            assert -1 <= low <= share["value"] <= high <= 1, name
    if sum(counts) > 1:
        low, high = found["agreement"]["ci95"]
        assert high - low > 0.3  # what a handful shows is not known for sure


# By simulation

MEASURES = (
    "agreement", "gold_pass_rate", "tpr", "tnr", "reward_in_error", "judge_fail_right", "j",
    "kappa",
)  # fmt: skip


def simulated(tasks, rollouts, base, tpr, tnr, icc, n_pass, n_fail, studies=400):
    """Estimates and hits of many studies: rows drawn by verdict, truth of a beta task rate."""
    rng = np.random.default_rng(11)
    n = tasks * rollouts
    table = np.array([[base * tpr, (1 - base) * (1 - tnr)], [base * (1 - tpr), (1 - base) * tnr]])
    (tp, fp), (fn, tn) = table
    truth = {
        "agreement": tp + tn, "gold_pass_rate": base, "tpr": tpr, "tnr": tnr,
        "reward_in_error": fp / (tp + fp), "judge_fail_right": tn / (tn + fn),
        "j": tpr + tnr - 1, "kappa": cohens_kappa(table * 1e6).kappa,
    }  # fmt: skip
    values, hits = {m: [] for m in MEASURES}, dict.fromkeys(MEASURES, 0)
    plain = []
    for _ in range(studies):
        of_task = rng.beta(base * (1 - icc) / icc, (1 - base) * (1 - icc) / icc, tasks)
        gold = rng.random(n) < np.repeat(of_task, rollouts)
        judge = np.where(gold, rng.random(n) < tpr, rng.random(n) > tnr).astype(int)
        task, cell = np.repeat(np.arange(tasks), rollouts), 3 - 2 * judge - gold
        labelled = np.zeros(n, bool)
        for verdict, size in ((1, n_pass), (0, n_fail)):
            labelled[rng.permutation(np.flatnonzero(judge == verdict))[:size]] = True
        w = row_weights(labelled, np.ones(n, bool), [judge])
        found = weighted_measures(
            task[labelled], cell[labelled], w.weight[labelled], w.stratum[labelled],
            task, w.stratum,
        )  # fmt: skip
        plain.append(gold[labelled].mean())
        for name in MEASURES:
            values[name].append(found[name]["value"])
            low, high = found[name]["ci95"]
            hits[name] += low <= truth[name] <= high
    means = {name: float(np.mean(v)) for name, v in values.items()}
    return truth, means, {name: k / studies for name, k in hits.items()}, float(np.mean(plain))


@pytest.mark.parametrize(
    "world",
    [
        (666, 3, 0.65, 0.84, 0.21, 0.3, 50, 50),
        (120, 3, 0.65, 0.90, 0.80, 0.3, 75, 75),
        (666, 3, 0.65, 0.95, 0.92, 0.3, 50, 50),
        (100, 8, 0.65, 0.90, 0.80, 0.6, 100, 100),
    ],
)
def test_drawn_by_verdict_the_estimates_are_unbiased_and_cover(world):
    truth, means, coverage, plain = simulated(*world)
    for name in MEASURES:
        assert means[name] == pytest.approx(truth[name], abs=0.012), name
        # 93% to 97%, and two standard errors of 400 studies; small denominators lie above.
        assert 0.93 - 0.022 <= coverage[name] <= 0.97 + 0.02, (name, coverage[name])
    assert 0.93 <= float(np.mean(list(coverage.values()))) <= 0.97
    assert abs(plain - truth["gold_pass_rate"]) > 0.02  # what unweighted shares would say
