"""Plans: how many labels are missing, against brute force and published figures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from whileai_review.intervals import wilson
from whileai_review.score.planning import (
    Plan,
    intraclass_correlation,
    labels_needed,
    labels_worth,
    plan_from_tasks,
)


def test_the_plan_reads_as_published():
    # look.md: 87% [78, 92], n=82: 48 more if the rate holds, 142 for an 80% chance.
    assert labels_needed(71, 82, 0.80) == Plan(48, 142, False)
    # The recipe: 63% [56, 69] of 221, no number of labels will pass it.
    assert labels_needed(139, 221, 0.80) == Plan(None, None, True)


@settings(max_examples=40)
@given(st.integers(2, 120).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
       st.sampled_from([0.5, 0.7, 0.8, 0.9]))  # fmt: skip
def test_the_plan_is_what_trying_every_number_finds(kn, floor):
    k, n = kn
    plan = labels_needed(k, n, floor)
    assert plan.hopeless == (wilson(k, n).high < floor)
    if plan.if_it_holds is not None and plan.if_it_holds < 400:
        tried = next(
            m for m in range(400) if wilson(min(n + m, round(k / n * (n + m))), n + m).low >= floor
            or math.isclose(wilson(round(k / n * (n + m)), n + m).low, floor)
        )  # fmt: skip
        assert plan.if_it_holds == tried
    if plan.for_power is not None and 0 < plan.for_power < 300:

        def chance(m):
            enough = next((c for c in range(n + m + 1) if wilson(c, n + m).low >= floor), n + m + 1)
            return binom.sf(enough - 1 - k, m, k / n)

        assert chance(plan.for_power) >= 0.8 - 1e-9
        assert chance(plan.for_power - 1) < 0.8 + 1e-9


def test_a_share_at_or_under_its_floor_has_no_plan_and_no_verdict():
    assert labels_needed(8, 10, 0.8) == Plan(None, None, False)
    assert labels_needed(7, 10, 0.8) == Plan(None, None, False)
    assert labels_needed(0, 0, 0.8) == Plan(None, None, False)
    assert (
        labels_needed(0, 3, 0.0) == Plan(0, 0, False) or labels_needed(1, 3, 0.0).if_it_holds == 0
    )


def test_what_has_passed_needs_nothing():
    assert labels_needed(98, 100, 0.8)[:2] == (0, 0)


def test_rows_that_resemble_each_other_need_more():
    alone = labels_needed(87, 100, 0.8, n_tasks=100, deff=1.0)
    together = labels_needed(87, 100, 0.8, n_tasks=25, deff=2.0)
    assert together.if_it_holds > 2 * alone.if_it_holds
    assert together.for_power > alone.for_power
    sizes = np.full(25, 4)
    successes = np.array([4] * 20 + [0] * 1 + [2] * 4)
    assert plan_from_tasks(successes, sizes, 0.8).if_it_holds > alone.if_it_holds


@pytest.mark.parametrize(
    ("k", "n", "floor", "deff"), [(3, 2, 0.8, 1), (-1, 2, 0.8, 1), (1, 2, 1.1, 1), (1, 2, 0.8, 0.5)]
)
def test_what_is_no_share_is_refused_in_one_line(k, n, floor, deff):
    with pytest.raises(ValueError, match="need 0|a floor|a design effect"):
        labels_needed(k, n, floor, deff=deff)


def test_labels_of_a_task_are_worth_less_and_less():
    # statistics.md 5: 74 tasks, ICC .3: worth 74, then 40, then 25.
    worth = [labels_worth(74, n, 0.3) for n in (74, 148, 222)]
    assert [round(x) for x in np.diff([0.0, *worth])] == [74, 40, 25]


def test_the_correlation_is_that_of_the_draw():
    rng = np.random.default_rng(4)
    shares = rng.beta(0.8 * 1.5, 0.2 * 1.5, 20_000)  # ICC 1 / (1 + 1.5) = .4
    found = intraclass_correlation(rng.binomial(4, shares), np.full(20_000, 4))
    assert found == pytest.approx(0.4, abs=0.02)
    assert intraclass_correlation([1, 0, 1], [1, 1, 1]) is None
    assert intraclass_correlation([2, 2], [2, 2]) is None
