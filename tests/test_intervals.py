"""Intervals and tests against statsmodels, scipy and published numbers."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betaln
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    proportion_confint,
    proportions_ztest,
)

from whileai_review import intervals

counts = st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_wilson_agrees_with_statsmodels(kn):
    k, n = kn
    assert intervals.wilson(k, n) == pytest.approx(
        proportion_confint(k, n, method="wilson"), abs=1e-12
    )


@given(counts, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_wilson_bounds_lie_in_the_unit_interval_and_around_the_share(kn, level):
    k, n = kn
    low, high = intervals.wilson(k, n, level)
    assert 0.0 <= low <= k / n <= high <= 1.0


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        # statistics.md section 2 and the recipe: 63% [56, 69], 79% [69, 87], 18 of 18 [.824, 1]
        (139, 221, 0.5636, 0.6899),
        (58, 73, 0.69, 0.87),
        (18, 18, 0.824, 1.0),
        (39, 51, 0.632, 0.860),
        (0, 5, 0.0, 0.4345),
        (1, 10, 0.018, 0.404),
    ],
)
def test_wilson_reproduces_published_intervals(k, n, low, high):
    assert intervals.wilson(k, n) == pytest.approx((low, high), abs=0.005)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (5, 5), (1, 1), (10**7, 10**7)])
def test_wilson_at_the_ends_has_exact_bounds(k, n):
    """Statsmodels #2742: bounds at -1e-17 and 1.0000000002."""
    low, high = intervals.wilson(k, n)
    assert (low == 0.0) == (k == 0)
    assert (high == 1.0) == (k == n)


def test_no_trials_are_no_data():
    assert intervals.wilson(0, 0) is None
    assert intervals.newcombe_difference(0, 0, 1, 2) is None
    assert intervals.paired_difference(0, 0, 0, 0) is None


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (math.nan, 3)])
def test_impossible_counts_raise(k, n):
    with pytest.raises(ValueError, match="0 <= k <= n"):
        intervals.wilson(k, n)


def test_quantiles_agree_with_scipy():
    assert intervals.z_quantile(0.95) == pytest.approx(stats.norm.ppf(0.975), abs=1e-12)
    assert intervals.t_quantile(0.95, 2) == pytest.approx(4.302653, abs=1e-6)  # any t table
    with pytest.raises(ValueError, match="level"):
        intervals.z_quantile(95)
    with pytest.raises(ValueError, match="df"):
        intervals.t_quantile(0.95, 0)


@pytest.mark.parametrize(
    "table", [(56, 70, 48, 80), (9, 10, 3, 10), (10, 10, 0, 20), (0, 10, 0, 10)]
)
def test_the_difference_of_two_shares_is_newcombes(table):
    # First and third: Newcombe (1998) table II rows (a) and (g).
    k1, n1, k2, n2 = table
    expected = confint_proportions_2indep(k1, n1, k2, n2, compare="diff", method="newcomb")
    assert intervals.newcombe_difference(*table) == pytest.approx(expected, abs=1e-9)


def test_the_sum_of_rates_gives_youdens_interval_of_the_recipe():
    # statistics.md section 2: J = 0.04, -0.06 to 0.16, from 124 of 148 and 15 of 73.
    tpr, tnr = 124 / 148, 15 / 73
    low, high = intervals.newcombe_sum(
        tpr - 1, tuple(b - 1 for b in intervals.wilson(124, 148)), tnr, intervals.wilson(15, 73)
    )
    assert (round(low, 2), round(high, 2)) == (-0.06, 0.16)


def test_the_paired_difference_of_the_recipe_reads_plus_four():
    # statistics.md section 2: constant judge minus judge +4 points, -1 to +10.
    low, high = intervals.paired_difference(124, 24, 15, 58)
    assert (round(100 * low), round(100 * high)) == (-1, 10)


@given(st.tuples(*[st.integers(0, 60)] * 4).filter(any))
def test_a_paired_difference_lies_in_range_and_turns_with_its_sides(cells):
    both, first, second, neither = cells
    n = sum(cells)
    low, high = intervals.paired_difference(*cells)
    assert -1 <= low <= (first - second) / n + 1e-12
    assert (first - second) / n - 1e-12 <= high <= 1
    back = intervals.paired_difference(both, second, first, neither)
    assert (-back[1], -back[0]) == pytest.approx((low, high), abs=1e-12)


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_agrees_with_statsmodels(b, c):
    expected = mcnemar([[5, b], [c, 5]], exact=True).pvalue if b + c else 1.0
    assert intervals.mcnemar_p(b, c) == pytest.approx(min(expected, 1.0), abs=1e-9)


@pytest.mark.parametrize(
    ("b", "c", "p"),
    [(3, 5, 0.73), (9, 1, 0.0215), (6, 4, 0.75), (24, 15, 0.20)],  # the recipe's tables
)
def test_mcnemar_reproduces_the_recipe(b, c, p):
    assert intervals.mcnemar_p(b, c) == pytest.approx(p, abs=0.005)


@pytest.mark.parametrize(("b", "c"), [(1001, 1001), (1050, 960), (30_000, 29_500)])
def test_many_discordant_pairs_stay_close_to_the_exact_value(b, c):
    expected = stats.binomtest(min(b, c), b + c).pvalue
    assert intervals.mcnemar_p(b, c) == pytest.approx(expected, abs=2e-4)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_two_proportion_test_agrees_with_statsmodels(k1, k2):
    p = intervals.two_proportion_p(k1, 40, k2, 40)
    if 0 < k1 + k2 < 80:
        assert p == pytest.approx(proportions_ztest([k1, k2], [40, 40])[1], abs=1e-9)
    else:
        assert p == 1.0


tasks = st.lists(st.integers(1, 8).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))))


@given(tasks.filter(lambda found: len(found) > 1))
def test_a_cluster_interval_has_the_robust_variance_of_statsmodels(found):
    successes, sizes = map(list, zip(*found, strict=True))
    k, n = sum(successes), sum(sizes)
    bounds = intervals.cluster_wilson(successes, sizes)
    assert bounds.n_tasks == len(found)
    if k in (0, n):
        deff = n / len(found)  # statistics.md 5: as many rows as tasks
    else:
        values = [float(i < s) for s, m in found for i in range(m)]
        groups = [task for task, (_, m) in enumerate(found) for _ in range(m)]
        fit = OLS(values, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": groups})
        deff = max(1.0, fit.bse[0] ** 2 / (k / n * (1 - k / n) / n))
    assert bounds.deff == pytest.approx(deff, rel=1e-9)
    # Wilson's bounds solve |share - p| = t sqrt(p (1 - p) / n_eff).
    for bound in bounds[:2]:
        if 0 < bound < 1:
            width = stats.t.ppf(0.975, len(found) - 1) * math.sqrt(bound * (1 - bound) * deff / n)
            assert abs(k / n - bound) == pytest.approx(width, rel=1e-6)


@given(tasks, st.randoms())
def test_the_order_of_tasks_changes_no_bit_of_a_cluster_interval(found, random):
    shuffled = random.sample(found, len(found))
    columns = [list(zip(*each, strict=True)) or [(), ()] for each in (found, shuffled)]
    assert intervals.cluster_wilson(*columns[0]) == intervals.cluster_wilson(*columns[1])


def test_tasks_without_rows_count_for_nothing_and_one_task_says_nothing():
    assert intervals.cluster_wilson([2], [3]) is None
    assert intervals.cluster_wilson([2, 0], [3, 0]) is None
    some = intervals.cluster_wilson([2, 0, 3], [3, 0, 3])
    assert some == intervals.cluster_wilson([2, 3], [3, 3])


def test_the_interval_to_quote_is_the_wider():
    assert intervals.quoted({"ci95": (0.2, 0.6), "ci95_tasks": (0.1, 0.5)}) == (0.1, 0.6)
    assert intervals.quoted({"ci95": (0.2, 0.6), "ci95_tasks": None}) == (0.2, 0.6)
    assert intervals.quoted({"ci95": None}) is None


@pytest.mark.simulation
@pytest.mark.parametrize(("n_tasks", "size"), [(66, 3), (25, 8)])
@pytest.mark.parametrize("icc", [0.1, 0.3, 0.6])
def test_a_judge_at_the_floor_passes_in_at_most_three_percent(n_tasks, size, icc):
    # statistics.md 5, 20,000 studies a cell: row Wilson 3.1 to 19%, this one 2.1 to 3.0%.
    rng = np.random.default_rng(5)
    a = 0.8 * (1 - icc) / icc
    shares = rng.beta(a, a / 4, size=(3_000, n_tasks))
    studies = rng.binomial(size, shares)
    sizes = np.full(n_tasks, size)
    by_task = [intervals.cluster_wilson(study, sizes).low >= 0.8 for study in studies]
    by_row = [intervals.wilson(int(k), n_tasks * size).low >= 0.8 for k in studies.sum(axis=1)]
    # 3% and two standard errors of 3,000 draws.
    assert np.mean(by_task) <= 0.0365
    assert icc == 0.1 or np.mean(by_row) > np.mean(by_task) + 0.015


def test_whole_tasks_change_sign():
    # By hand: the 8 patterns of 2, 1, 1 give 4, 2, 2, 0 and their negatives; 2 is seen.
    assert intervals.sign_flip_p(np.array([2, 1, -1])) == pytest.approx(6 / 8)
    assert intervals.sign_flip_p(np.array([])) == 1.0
    assert intervals.sign_flip_p(np.array([0, 0])) == 1.0


@given(st.lists(st.integers(-4, 4), max_size=10))
def test_the_sign_flip_is_the_count_of_all_patterns(differences):
    sums = [
        sum(sign * d for sign, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = np.mean([abs(total) >= abs(sum(differences)) for total in sums])
    assert intervals.sign_flip_p(np.array(differences)) == pytest.approx(expected)


@given(st.integers(0, 300), st.integers(0, 300))
def test_with_one_row_a_task_the_sign_flip_is_mcnemar(first, second):
    found = intervals.sign_flip_p(np.array([1] * first + [-1] * second))
    assert found == pytest.approx(intervals.mcnemar_p(first, second), rel=1e-9)


def test_many_tasks_have_the_normal_value():
    rng = np.random.default_rng(3)
    differences = rng.integers(-2, 4, size=3_900)
    flips = rng.choice([-1, 1], size=(4_000, len(differences))) @ differences
    mean = np.abs(flips) >= 150
    differences[: abs(differences.sum() - 150)] -= np.sign(differences.sum() - 150)
    assert differences.sum() == 150
    assert intervals.sign_flip_p(differences) == pytest.approx(mean.mean(), abs=0.02)


@given(tasks.filter(lambda found: len(found) > 1))
def test_a_cluster_difference_has_the_robust_variance_of_statsmodels(found):
    differences, sizes = map(list, zip(*found, strict=True))
    low, high = intervals.cluster_difference(differences, sizes)
    values = [float(i < d) for d, m in found for i in range(m)]
    groups = [task for task, (_, m) in enumerate(found) for _ in range(m)]
    if 0 < sum(differences) < sum(sizes):
        fit = OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": groups})
        half = stats.t.ppf(0.975, len(found) - 1) * fit.bse[0]
        mean = sum(differences) / sum(sizes)
        assert (low, high) == pytest.approx((max(mean - half, -1), min(mean + half, 1)))


@given(counts)
def test_a_confidence_sequence_is_wider_than_wilson_and_around_the_share(kn):
    k, n = kn[0] % 5_000, 5_000
    low, high = intervals.confidence_sequence(k, n)
    wilson = intervals.wilson(k, n)
    assert 0 <= low <= wilson.low <= k / n <= wilson.high <= high <= 1
    # Its bounds solve ln B(1+k, 1+n-k) - k ln p - (n-k) ln(1-p) = ln 20.
    for p in (low, high):
        if 0 < p < 1:
            value = betaln(1 + k, 1 + n - k) - k * math.log(p) - (n - k) * math.log(1 - p)
            assert value == pytest.approx(math.log(20), abs=1e-5)


def test_a_confidence_sequence_reads_as_published():
    # statistics.md 6: 71 of 82 gives [.71, .96] instead of [.78, .92].
    low, high = intervals.confidence_sequence(71, 82)
    assert (round(low, 2), round(high, 2)) == (0.71, 0.96)
    assert intervals.confidence_sequence(0, 0) is None
    for k, n, alpha in ((3, 2, 0.05), (-1, 2, 0.05), (1, 2, 0.0), (1, 2, 1.0)):
        with pytest.raises(ValueError, match="need 0 <= k <= n|alpha"):
            intervals.confidence_sequence(k, n, alpha)


@pytest.mark.simulation
def test_a_judge_at_the_floor_hardly_ever_passes_however_often_one_looks():
    # statistics.md 6: ever at .80 over 1,200 looks 0.8%; Wilson at every look over 10%.
    rng = np.random.default_rng(6)
    looks = range(20, 401)
    totals = (rng.random((400, 400)) < 0.8).cumsum(axis=1)
    ever = [
        any(intervals.confidence_sequence(int(t[n - 1]), n).low >= 0.8 for n in looks[::5])
        for t in totals[:150]
    ]
    naive = [any(intervals.wilson(int(t[n - 1]), n).low >= 0.8 for n in looks) for t in totals]
    assert np.mean(ever) <= 0.05
    assert np.mean(naive) > 0.10


@pytest.mark.parametrize("n", [0.3, 1.0, 1.0 + 1e-9, 2.0, 2.5])
@pytest.mark.parametrize("share", [1e-300, 1e-12, 0.02, 0.5, 0.98, 1 - 1e-12])
def test_a_confidence_sequence_of_few_trials_knows_next_to_nothing(n, share):
    # Of one trial that is no whole hit, the limit is nearer to 0 or 1 than a number can be.
    low, high = intervals.confidence_sequence(share * n, n)
    assert 0 <= low <= share <= high <= 1
    mirrored = intervals.confidence_sequence(n - share * n, n)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((low, high), abs=1e-9)
