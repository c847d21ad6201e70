"""Disagreements and a share of agreements read again: by hand, and the coin of statistics.md 1."""

import numpy as np
import pytest

from whileai_review.score.two_phase import two_phase_measures


def recipe_counts():
    """judge, gold and second reading of the example of statistics.md 1."""
    judge = np.ones(221, int)
    gold = np.repeat([1, 0], [139, 82])
    return judge, gold, np.repeat([1, 0, -1, 1, 0], [25, 3, 111, 8, 74])


def test_the_recipe_by_hand():
    found = two_phase_measures(np.arange(221), *recipe_counts())
    assert found["agreement"]["value"] == pytest.approx((139 * 25 / 28 + 8) / 221)
    assert found["agreement"]["value"] == pytest.approx(0.598, abs=5e-4)  # statistics.md 1
    assert found["agreeing"] == {"n": 139, "read": 28, "agree": 25}
    assert found["disagreeing"] == {"n": 82, "read": 82, "agree": 8}
    # Double sampling (Cochran 1977, 12.2): V = s2/n + sum of W_h^2 s_h^2 (1/r_h - 1/n_h).
    p, weight = 0.598, 139 / 221
    within = 25 / 28 * 3 / 28
    variance = p * (1 - p) / 221 + weight**2 * within * (1 / 28 - 1 / 139)
    low, high = found["agreement"]["ci95"]
    assert (high - low) / 2 == pytest.approx(1.97 * variance**0.5, rel=0.04)


def test_what_is_read_whole_is_the_share_of_the_second_reading():
    judge, gold = np.array([1, 1, 0, 0] * 5), np.array([1, 0, 0, 1] * 5)
    again = np.array([1, 1, 0, 1] * 5)
    found = two_phase_measures(np.arange(20), judge, gold, again)
    assert found["agreement"]["value"] == pytest.approx(15 / 20)
    assert found["tpr"]["value"] == pytest.approx(10 / 15)


def test_without_a_row_of_the_agreeing_ones_there_is_no_estimate():
    judge, gold, again = recipe_counts()
    again = np.where(judge == gold, -1, again)
    with pytest.raises(ValueError, match="no agreeing row was read again"):
        two_phase_measures(np.arange(221), judge, gold, again)


def test_a_judge_that_agrees_everywhere_needs_no_disagreement():
    ones = np.ones(10, int)
    found = two_phase_measures(np.arange(10), ones, ones, np.repeat([1, -1], 5))
    assert found["agreement"]["value"] == 1 and found["disagreeing"]["n"] == 0


def test_weights_of_the_first_phase_are_kept():
    # Two agreeing rows stand for 1 and 3 rows; both read, the heavy one is now a disagreement.
    judge, gold, again = np.array([1, 1, 1]), np.array([1, 1, 0]), np.array([1, 0, 0])
    found = two_phase_measures(np.arange(3), judge, gold, again, np.array([1.0, 3.0, 4.0]))
    assert found["agreement"]["value"] == pytest.approx(1 / 8)


def coin(rng, n=1_500):
    """A judge that passes 82% whatever the truth; truth and first labels that err in 10%."""
    truth = (rng.random(n) < 0.67).astype(int)
    judge = (rng.random(n) < 0.82).astype(int)
    return truth, judge, np.where(rng.random(n) < 0.9, truth, 1 - truth)


def reader(rng, truth, judge, errs, sides):
    """A second reading that errs as the first did, and sides with the judge this often."""
    own = np.where(rng.random(len(truth)) < errs, 1 - truth, truth)
    return np.where(rng.random(len(truth)) < sides, judge, own)


@pytest.mark.parametrize(("sides", "published"), [(0.0, 0.68), (0.2, 0.74), (0.4, 0.81)])
def test_a_coin_of_which_only_disagreements_are_read_again(sides, published):
    # statistics.md 1: true agreement .61, and what reading disagreements alone makes of it.
    rng, naive, true = np.random.default_rng(3), [], []
    for _ in range(40):
        truth, judge, gold = coin(rng)
        answer = reader(rng, truth, judge, 0.1, sides)
        naive.append(np.where(judge == gold, 1, answer == judge).mean())
        true.append((judge == truth).mean())
    assert np.mean(true) == pytest.approx(0.61, abs=0.005)
    assert np.mean(naive) == pytest.approx(published, abs=0.01)


@pytest.mark.parametrize("errs", [0.0, 0.1])
def test_with_a_share_of_the_agreements_the_coin_stays_a_coin(errs):
    rng, values, expected, hits = np.random.default_rng(7), [], [], 0
    of_reader = 0.82 * 0.67 + 0.18 * 0.33
    of_reader = of_reader * (1 - errs) + (1 - of_reader) * errs
    kappas = []
    for _ in range(120):
        truth, judge, gold = coin(rng, 600)
        answer = reader(rng, truth, judge, errs, 0)
        expected.append((answer == judge).mean())
        agreeing = rng.permutation(np.flatnonzero(judge == gold))
        again = answer.copy()
        again[agreeing[int(0.2 * len(agreeing)) :]] = -1
        found = two_phase_measures(np.arange(600), judge, gold, again)
        values.append(found["agreement"]["value"])
        kappas.append(found["kappa"]["value"])
        low, high = found["agreement"]["ci95"]
        hits += low <= of_reader <= high
    assert np.mean(values) == pytest.approx(of_reader, abs=0.008)
    assert np.mean(values) == pytest.approx(np.mean(expected), abs=0.006)
    assert np.mean(kappas) == pytest.approx(0, abs=0.02)
    assert 0.90 <= hits / 120 <= 0.995
