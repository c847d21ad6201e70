"""Thresholds of a judge's score: chosen on one half of the tasks, reported on the other."""

import re
from hashlib import sha256

import numpy as np
import pytest
from scipy.stats import binomtest

from whileai_review.score._columns import TrustColumns
from whileai_review.score.thresholds import candidates, cut, thresholds_from_columns


def in_a(task):
    """The reference halves tasks by the first 8 hex digits of the SHA-256 of their key."""
    return int(sha256(task.encode()).hexdigest()[:8], 16) % 2 == 0


TASKS = [f"t{i}" for i in range(400)]
A, B = [t for t in TASKS if in_a(t)], [t for t in TASKS if not in_a(t)]


def columns(tasks, gold):
    names = list(dict.fromkeys(tasks))
    n = len(tasks)
    return TrustColumns(
        task=np.array([names.index(t) for t in tasks], dtype=int),
        tasks=names,
        judge=np.full(n, -1, dtype=np.int8),
        fraction=np.full(n, np.nan),
        gold=np.array(gold, dtype=np.int8),
        kind=np.zeros(n, dtype=int),
        kinds=["human"],
        chars=np.zeros(n, dtype=int),
        judge_name=np.full(n, -1),
    )


def measure(half_a, half_b):
    """Rows are (score, gold), a task each."""
    rows = [*half_a, *half_b]
    tasks = [*A[: len(half_a)], *B[: len(half_b)]]
    scores = np.array([score for score, _ in rows], dtype=float)
    return thresholds_from_columns(columns(tasks, [gold for _, gold in rows]), scores)


# Half a: passes score 3 4 4 5 5, failures 1 1 2 3 4. Half b: passes 2 3 4 5, failures 1 2 3 4 5.
HALF_A = [(3, 1), (4, 1), (4, 1), (5, 1), (5, 1), (1, 0), (1, 0), (2, 0), (3, 0), (4, 0)]
HALF_B = [(2, 1), (3, 1), (4, 1), (5, 1), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)]


def test_rates_at_each_threshold_by_hand():
    found = measure(HALF_A, HALF_B)
    lines = {line["threshold"]: line for line in found["thresholds"]}
    assert [*lines] == [2, 3, 4, 5]
    # threshold: TPR, TNR, passes of the judge, false passes; by counting half a above
    by_hand = {2: (5, 2, 8, 3), 3: (5, 3, 7, 2), 4: (4, 4, 5, 1), 5: (2, 5, 2, 0)}
    for threshold, (tp, tn, passed, wrong) in by_hand.items():
        line = lines[threshold]["a"]
        assert (line["tpr"]["value"], line["tpr"]["n"]) == (tp / 5, 5)
        assert (line["tnr"]["value"], line["tnr"]["n"]) == (tn / 5, 5)
        assert line["j"]["value"] == pytest.approx(tp / 5 + tn / 5 - 1)
        assert line["reward_in_error"]["value"] == wrong / passed
        low_high = binomtest(tp, 5).proportion_ci(method="wilson")
        assert line["tpr"]["ci95"] == pytest.approx(tuple(low_high))
    # J on half a: .4, .6, .6, .4: of equal ones the strictest. On half b at 4: 2 of 4 passes
    # pass, 3 of 5 failures are caught.
    assert found["chosen"] == 4
    chosen = lines[4]["b"]
    assert (chosen["tpr"]["value"], chosen["tnr"]["value"]) == (0.5, 0.6)
    assert chosen["j"]["value"] == pytest.approx(0.1)
    assert lines[4]["pass_rate"] == pytest.approx(9 / 19)
    assert (found["halves"]["a"]["n"], found["halves"]["b"]["n"]) == (10, 9)
    assert (found["n_labeled"], found["n_gold_pass"], found["n_gold_fail"]) == (19, 9, 10)
    said = str(found)
    assert "half a 10 rows of 10 tasks, half b 9 rows of 9 tasks (by task hash)" in said
    assert "chosen on half a: >= 4; on half b: passes passed 2 of 4" in said


def test_the_figure_shows_half_a_only():
    bins = {b["score"]: (b["pass"], b["fail"]) for b in measure(HALF_A, HALF_B)["bins"]}
    assert bins == {1: (0, 2), 2: (0, 1), 3: (1, 1), 4: (2, 1), 5: (2, 0)}


@pytest.mark.simulation
def test_the_half_that_chose_flatters_and_the_other_does_not():
    # A score that knows nothing: the true J is 0 at every threshold.
    rng = np.random.default_rng(5)
    on_a, on_b = [], []
    for _ in range(120):
        gold, scores = rng.integers(0, 2, 60), np.round(rng.random(60), 2)
        found = measure(*([*zip(scores[s], gold[s], strict=True)]
                          for s in (slice(30), slice(30, 60))))  # fmt: skip
        line = next((x for x in found["thresholds"] if x["threshold"] == found["chosen"]), None)
        if line:
            on_a.append(line["a"]["j"]["value"])
            on_b.append(line["b"]["j"]["value"])
    assert len(on_a) > 110
    assert np.mean(on_a) > 0.15
    assert abs(np.mean(on_b)) < 0.05  # two standard errors: .18 / sqrt(120) x 2 = .033


@pytest.mark.parametrize(
    ("half_a", "half_b", "said"),
    [
        ([], [], "no row has a score that is a finite number"),
        ([(np.nan, 1)], [(np.nan, 0)], "no row has a score that is a finite number"),
        ([(4, 1)] * 3, [(4, 0)] * 3, "every score is 4: no threshold parts the rows"),
        ([(4, -1)] * 3, [(2, -1)] * 3, "no row has both a score and a label"),
        ([(4, 1)] * 3, [(2, 1)] * 3, "each of the 6 labelled rows passes.*rows that fail"),
        ([(4, 0)] * 3, [(2, 0)] * 3, "each of the 6 labelled rows fails.*rows that pass"),
        ([(4, 1), (1, 0)], [(3, 1)], "half b of the tasks has no label that fails"),
        ([(4, 1)], [(3, 1), (1, 0)], "half a of the tasks has no label that fails"),
        ([(1, 1), (4, 0)], [(1, 1), (4, 0)], "no threshold tells passes from.*J at best −1.00"),
    ],
)
def test_what_allows_no_choice_is_said(half_a, half_b, said):
    found = measure(half_a, half_b)
    assert found["chosen"] is None
    assert re.search(said, found["reason"])
    assert found["reason"] in str(found)


def test_scores_that_are_no_numbers_are_counted_and_left_out():
    found = measure([*HALF_A, (np.nan, 1), (np.inf, 0)], [*HALF_B, (-np.inf, 0), (np.nan, -1)])
    assert (found["n_scored"], found["n_labeled"], found["n_unscored"]) == (19, 19, 3)
    assert (found["low"], found["high"], found["chosen"]) == (1, 5, 4)
    assert found["warnings"] == [
        "3 labelled rows without a score that is a finite number, left out"
    ]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([], []),
        ([0.5], []),
        ([1, 5, 3, 3], [3, 5]),
        (np.arange(20) + 1, list(range(2, 21))),
        (np.arange(1001) / 1000, [round(0.05 * i, 2) for i in range(1, 20)]),
        (np.arange(101), [5.0 * i for i in range(1, 20)]),
        (np.arange(101) * 1e-300, None),
        ([-1e308, *range(30), 1e308], None),
    ],
)
def test_the_thresholds_of_a_score(scores, expected):
    found = candidates(np.array(scores, dtype=float))
    if expected is None:
        assert found == sorted(set(found)) and all(np.isfinite(found))
    else:
        assert found == pytest.approx(expected)


def test_a_score_of_many_values_is_binned():
    scores = np.linspace(0, 1, 100)
    rows = [(s, int(s > 0.5)) for s in scores]
    found = measure(rows, rows)
    assert len(found["bins"]) == 30
    assert sum(b["pass"] for b in found["bins"]) == sum(b["fail"] for b in found["bins"]) == 50
    assert found["chosen"] == pytest.approx(0.5, abs=0.03)


def test_nothing_that_is_given_is_changed():
    cols, scores = columns(A[:4], [1, 0, 1, 0]), np.array([1.0, 2.0, np.nan, 3.0])
    gold, judge, given = cols.gold.copy(), cols.judge.copy(), scores.copy()
    thresholds_from_columns(cols, scores)
    assert (cols.gold == gold).all() and (cols.judge == judge).all()
    assert np.array_equal(scores, given, equal_nan=True)
    assert cut(scores, 2).tolist() == [0, 1, -1, 1]
