"""Intervals and tests against statsmodels, scipy and published numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
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
