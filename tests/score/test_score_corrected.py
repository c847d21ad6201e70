"""The pass rate corrected by labels: figures, coverage, edges, and ppi-python as an oracle."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

from whileai_review import corrected_pass_rate
from whileai_review.intervals import quoted
from whileai_review.score._columns import TrustColumns
from whileai_review.score.corrected import corrected_from_columns, helps_words, rogan_gladen

BILLING = Path(__file__).parents[1] / "conformance" / "rows" / "billing.jsonl"
BASE = 0.67


def study(rng, tpr, tnr, n, size=1, n_rows=2_000):
    """Columns of a run with `n` labels; rollouts of a task of several share its difficulty."""
    n_tasks = n_rows // size
    hard = rng.beta(1.5 * BASE, 1.5 * (1 - BASE), n_tasks) if size > 1 else BASE
    task = np.repeat(np.arange(n_tasks), size)
    truth = (rng.random(n_rows) < (hard[task] if size > 1 else hard)).astype(np.int8)
    says = np.where(truth == 1, rng.random(n_rows) < tpr, rng.random(n_rows) >= tnr)
    gold = np.full(n_rows, -1, dtype=np.int8)
    own = rng.choice(n_rows, n, replace=False)
    gold[own] = truth[own]
    return TrustColumns(
        task=task,
        tasks=list(map(str, range(n_tasks))),
        judge=says.astype(np.int8),
        fraction=np.full(n_rows, np.nan),
        gold=gold,
        kind=np.zeros(n_rows, dtype=np.intp),
        kinds=["human"],
        chars=np.zeros(n_rows, dtype=np.int64),
        judge_name=np.full(n_rows, -1),
    )


@pytest.mark.simulation
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(
    ("tpr", "tnr", "n", "width"),
    [
        # Issue 3, part 7: judges and median widths, 2,000 rows.
        (0.838, 0.205, 50, 0.263),
        (0.838, 0.205, 200, 0.132),
        (0.90, 0.80, 50, 0.186),
        (0.90, 0.80, 200, 0.099),
        (0.95, 0.92, 50, 0.136),
        (0.95, 0.92, 200, 0.074),
    ],
)
def test_the_interval_covers_and_is_no_wider_than_that_of_labels_alone(tpr, tnr, n, width, size):
    rng = np.random.default_rng(7)
    reports = [corrected_from_columns(study(rng, tpr, tnr, n, size)) for _ in range(200)]
    covered = [r["ci95"][0] <= BASE <= r["ci95"][1] for r in reports]
    widths = [r["ci95"][1] - r["ci95"][0] for r in reports]
    alone = [quoted(r["labels_only"]) for r in reports]
    # 200 draws have a standard error of 1.5%; tests/bench/sim_corrected.py draws 600
    # a setting: 93.5% to 96.3% for these judges.
    assert np.mean(covered) >= 0.90
    if size == 1:
        assert np.median(widths) == pytest.approx(width, rel=0.05)
    assert np.median(widths) <= 1.02 * np.median([high - low for low, high in alone])


def test_the_recipe_gets_no_help_from_its_judge():
    rows = [json.loads(line) for line in BILLING.read_text().splitlines()]
    before = copy.deepcopy(rows)
    report = corrected_pass_rate(rows)
    assert rows == before
    # statistics.md 10: labels 67% [60, 73]; judge 82%; "the judge helps 0%"; raw struck through.
    assert str(report).splitlines() == [
        "pass rate, corrected: 67% [60, 73] (221 labels, 222 judged rows, 74 tasks)",
        "labels only:          67% [60, 73] (n=221); the judge helps 0%",
        "judge, raw:           82% [77, 87] (n=222); do not quote it: "
        "J 0.04 [−0.06, 0.16] is not above 0",
    ]
    assert not report["judge"]["counts"]


def test_a_row_a_task_gives_what_ppi_python_gives():
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed")
    rng = np.random.default_rng(0)
    for tpr, tnr, n in ((0.9, 0.8, 200), (0.95, 0.92, 400), (0.7, 0.6, 300)):
        columns = study(rng, tpr, tnr, n)
        own = columns.gold >= 0
        truth, judge = columns.gold[own].astype(float), columns.judge.astype(float)
        point = ppi.ppi_mean_pointestimate(truth, judge[own], judge[~own])[0]
        low, high = (float(b[0]) for b in ppi.ppi_mean_ci(truth, judge[own], judge[~own], 0.05))
        report = corrected_from_columns(columns)
        assert report["value"] == pytest.approx(point, abs=0.004)
        assert report["ci95"][1] - report["ci95"][0] == pytest.approx(high - low, rel=0.04)


def test_unequal_chances_are_weighted():
    # By hand: 10 rows of stratum A (all pass) drawn at 1/10, 10 of B (all fail) at 1/2: the
    # population has 100 and 20, so 100/120 pass; unweighted it would read 50%.
    rows = [{"task_id": str(i), "reward": 1} for i in range(120)]
    for i, row in enumerate(rows[:20]):
        row |= {"gold_reward": int(i < 10), "gold_kind": "human", "p": 0.1 if i < 10 else 0.5}
    report = corrected_pass_rate(rows, inclusion="p")
    assert report["labels_only"]["value"] == pytest.approx(100 / 120)
    assert report["value"] == pytest.approx(100 / 120)
    assert corrected_pass_rate(rows)["value"] == pytest.approx(0.5)


@pytest.mark.parametrize("chance", [0, 1.5, -1, None, "half", float("nan")])
def test_a_chance_that_is_none_is_refused_in_one_line(chance):
    rows = [{"task_id": str(i), "reward": 1, "gold_reward": 1, "p": chance} for i in range(3)]
    with pytest.raises(ValueError, match="p: the chance of a labelled row"):
        corrected_pass_rate(rows, inclusion="p")


def test_all_rows_labelled_is_the_mean_of_the_labels():
    rows = [{"task_id": str(i // 2), "reward": i % 2, "gold_reward": i % 3 > 0} for i in range(90)]
    rows = [row | {"gold_reward": int(row["gold_reward"]), "gold_kind": "program"} for row in rows]
    report = corrected_pass_rate(rows)
    assert report["value"] == pytest.approx(60 / 90)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "no judged row has a label"),
        ([{"reward": 1}], "no judged row has a label"),
        ([{"reward": None, "gold_reward": 1, "gold_kind": "human"}], "no judged row has a label"),
        ([{"reward": 1, "gold_reward": 1, "gold_kind": "model"}] * 3, "of kind model"),
        ([{"reward": 1, "gold_reward": 1, "gold_kind": "human", "task_id": "a"}], "of one task"),
    ],
)
def test_where_nothing_can_be_said_the_reason_is(rows, words):
    report = corrected_pass_rate(rows)
    assert not report["ok"] and report["ci95"] is None
    assert any(words in line for line in report["warnings"])
    assert words in str(report)


def test_rogan_gladen_inverts_the_judges_errors_and_refuses_a_coin():
    # By hand: .6 pass, TPR .9, TNR .8: the judge says .9 * .6 + .2 * .4 = .62.
    assert rogan_gladen(0.62, 0.9, 0.8) == pytest.approx(0.6)
    assert rogan_gladen(0.1, 0.9, 0.8) == 0.0
    with pytest.raises(ValueError, match="does not depend on the truth"):
        rogan_gladen(0.6, 0.5, 0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        rogan_gladen(1.2, 0.9, 0.8)


def test_the_words_say_how_many_labels_the_judge_is_worth():
    assert helps_words(0.5).endswith("100% more labels")
    assert helps_words(None) == "how much the judge helps is not known"


@pytest.mark.parametrize("n", [9, 10, 11, 49, 221])
def test_labels_that_all_pass_leave_room_for_doubt_and_get_no_help(n):
    # The mean of ten ones rounds to 1 - 1e-16: it read [100, 100]. By hand: Wilson's lower bound
    # at n of n is n / (n + t^2), t of n - 1 tasks from scipy.
    rows = [{"task_id": str(i), "reward": i % 2, "gold_reward": 1} for i in range(n)]
    report = corrected_pass_rate([row | {"gold_kind": "human"} for row in rows])
    t = scipy.stats.t.ppf(0.975, n - 1)
    assert report["value"] == 1
    assert report["ci95"] == pytest.approx((n / (n + t * t), 1))
    assert report["helps"] == report["lam"] == 0
    assert "J is not known" in str(report)


@pytest.mark.parametrize("inclusion", [None, "p"])
def test_tasks_that_all_pass_alike_are_no_proof(inclusion):
    # Three tasks with 2 of 3 each: no spread between tasks, and the interval was a point. By hand:
    # Wilson of 6 of 9 rows (of 2 of 3 tasks where rows have weights), t of 2 degrees from scipy.
    rows = [{"task_id": str(i // 3), "reward": 1, "gold_reward": int(i % 3 > 0)} for i in range(9)]
    rows = [row | {"gold_kind": "human", "p": 0.5} for row in rows]
    t2 = scipy.stats.t.ppf(0.975, 2) ** 2
    n = 9 if inclusion is None else 3
    half = np.sqrt(t2 * (2 / 9) / n + (t2 / (2 * n)) ** 2) / (1 + t2 / n)
    middle = (2 / 3 + t2 / (2 * n)) / (1 + t2 / n)
    report = corrected_pass_rate(rows, inclusion=inclusion)
    assert report["ci95"] == pytest.approx((middle - half, middle + half))
    assert report["labels_only"]["ci95_tasks"] == pytest.approx(report["ci95"])


def test_labels_of_one_task_cannot_weigh_the_judge():
    # One task has no spread between tasks: lambda was rounding noise of 0.65 to 1.
    rows = [{"task_id": "a", "reward": int(i % 5 > 0)} for i in range(97)]
    for i, row in enumerate(rows[:31]):
        row |= {"gold_reward": int(i % 3 > 0), "gold_kind": "human"}
    report = corrected_pass_rate(rows)
    assert report["value"] == pytest.approx(20 / 31)
    assert report["lam"] is None and report["helps"] is None and not report["ok"]


def test_what_is_left_out_is_counted():
    rows = [{"task_id": str(i), "reward": 1, "gold_reward": i % 2} for i in range(9)]
    rows = [row | {"gold_kind": "human"} for row in rows]
    rows[0]["gold_reward"], rows[1]["gold_reward"] = 0.5, "pass"
    rows[2]["reward"] = float("nan")
    report = corrected_pass_rate([*rows, None, 3])
    assert (report["n_labels"], report["n_rows"], report["n_skipped"]) == (6, 8, 1)
    assert report["warnings"] == [
        "1 row without a 0/1 verdict",
        "2 labels not 0/1: left out",
        "2 entries no dict: passed over",
    ]


def test_only_the_kind_that_is_not_trusted_is_blamed():
    kinds = ["human", "model", "human"]
    rows = [{"task_id": k, "reward": 1, "gold_reward": 1, "gold_kind": k} for k in kinds]
    assert corrected_pass_rate(rows)["warnings"] == [
        "labels are of kind model, by no person or program"
    ]
    assert corrected_pass_rate(rows, allow_model_gold=True)["n_labels"] == 3


@pytest.mark.parametrize("chance", [0.0, 1.5, float("nan")])
def test_the_array_layer_refuses_a_chance_that_is_none(chance):
    columns = study(np.random.default_rng(0), 0.9, 0.8, 20, n_rows=100)
    with pytest.raises(ValueError, match="chance of a labelled row"):
        corrected_from_columns(columns, np.full(100, chance))


@example([("a", 0, 0)] + [("c", 0, 0)] * 2 + [("c", 0, 1), ("b", 0, 0), ("c", 0, 0)])
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 1),
                          st.sampled_from([0, 1, None])), max_size=40))  # fmt: skip
def test_fail_for_pass_on_both_sides_mirrors_the_estimate(entries):
    def run(turn):
        rows = [{"task_id": task, "reward": turn(judge), "gold_kind": "human"}
                | ({} if gold is None else {"gold_reward": turn(gold)})
                for task, judge, gold in entries]  # fmt: skip
        return corrected_pass_rate(rows)

    report, mirror = run(lambda x: x), run(lambda x: 1 - x)
    assert (report["value"] is None) == (mirror["value"] is None)
    if report["value"] is not None:
        assert mirror["value"] == pytest.approx(1 - report["value"])
    if report["ci95"] is not None:
        low, high = report["ci95"]
        assert mirror["ci95"] == pytest.approx((1 - high, 1 - low), abs=1e-6)
        assert mirror["lam"] == pytest.approx(report["lam"], abs=1e-6)
        assert high - low > 0.01  # 40 labels never prove a rate to a point
        assert 0 <= report["helps"] <= 1
        if report["lam"] == 0:
            assert report["ci95"] == pytest.approx(report["labels_only"]["ci95_tasks"])


odd = st.sampled_from([0, 1, None, 0.5, "1", float("nan"), True, [], 2])


@given(st.lists(st.fixed_dictionaries({"task_id": st.sampled_from("abcd"), "reward": odd}, optional={
    "gold_reward": odd, "gold_kind": st.sampled_from(["human", "program"])})))  # fmt: skip
def test_odd_rows_never_raise_and_bounds_hold(rows):
    report = corrected_pass_rate([*rows, None, 3])
    str(report)
    if report["ci95"] is not None:
        assert 0 <= report["ci95"][0] <= report["value"] <= report["ci95"][1] <= 1
        assert 0 <= report["lam"] <= 1
    judged = sum(type(row["reward"]) in (int, float) and row["reward"] in (0, 1) for row in rows)
    assert report["n_rows"] == judged
    assert report["n_rows"] + report["n_skipped"] == len(rows)
